"""Seconds per phase of a call.  They differ from run to run, and only ``metrics`` reads them.

``docs/results.md`` says what each phase is.
"""

from __future__ import annotations

from time import perf_counter

from fyke.engine.kernels.jit import seconds_compiling

PHASES = (
    "seconds_prepare",
    "seconds_order",
    "seconds_encode",
    "seconds_search",
    "seconds_plan",
    "seconds_choose",
    "seconds_rows",
    "seconds_compile",
)


class Clock:
    """Adds up the time of each phase, lap by lap.

    >>> clock = Clock()
    >>> clock.lap("search")
    >>> sorted(name for name, seconds in clock.seconds.items() if seconds > 0)
    ['seconds_search']
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = dict.fromkeys(PHASES, 0.0)
        self.restart()

    def restart(self) -> None:
        """Begin a lap here: the time since the last one belongs to no phase."""
        self._since, self._compiled = perf_counter(), seconds_compiling()

    def lap(self, phase: str) -> None:
        """End a lap, which began at the end of the last one, and add it to a phase."""
        began, compiled = self._since, self._compiled
        self.restart()
        compiling = self._compiled - compiled
        self.seconds["seconds_compile"] += compiling
        self.seconds[f"seconds_{phase}"] += self._since - began - compiling

    def add(self, other: Clock) -> None:
        """Add the time of each phase that another clock has measured."""
        for name, seconds in other.seconds.items():
            self.seconds[name] += seconds
