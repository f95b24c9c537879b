"""Seconds per phase of a call.  They differ from run to run, and only ``metrics`` reads them."""

from __future__ import annotations

from time import perf_counter

from fyke.engine.kernels.jit import seconds_compiling

PHASES = {
    "seconds_prepare": "roles, conditions on one event and derived columns",
    "seconds_order": "bringing rows into processing order",
    "seconds_encode": "columns as the kernels want them",
    "seconds_search": "reading events: runs and their bindings",
    "seconds_plan": "of a join tree: looking at what comes, planning and building, first and anew",
    "seconds_choose": "robust selection, absences, union of alternatives, overlap",
    "seconds_rows": "matches to rows of the result",
    "seconds_compile": "compiling kernels, or loading them: once a process, and part of no other phase",
}


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
