"""What a call of ``match`` has done: exact counts of rows and work, and, apart from them, clocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from fyke.engine.counters import Counters
from fyke.engine.measure.clock import Clock
from fyke.engine.measure.observe_run import RunObserver
from fyke.plan.plan import Plan
from fyke.plan.statistics import Statistics
from fyke.spark.observe import Observed

_WORK = ("condition_evaluations", "memory_operations")


class RejectedRowsWarning(UserWarning):
    """Rows without a time were left out, and no :class:`Metrics` was given to count them."""


class Metrics:
    """Filled by ``fyke.match(..., metrics=metrics)``.

    On a table it is filled when the call returns.  On a DataFrame it is filled by the first action on
    the result, and :meth:`get` waits for that.

    >>> metrics = Metrics()
    >>> metrics.get()
    {}
    """

    def __init__(self) -> None:
        self._values: dict[str, int | float] = {}
        self._observed: Observed | None = None
        self._seen: RunObserver | None = None

    def get(self) -> dict[str, int | float]:
        """Return the counts by name, then the seconds of each phase, whose names begin with ``seconds_``.

        Counts are exact and the same in every run; seconds are not.  On a DataFrame a count adds up
        what the tasks have counted (of a peak it is the highest), and seconds are those of all tasks.
        """
        return dict(self._values) if self._observed is None else self._observed.get()

    def per_event(self) -> dict[str, float]:
        """Return the conditions evaluated and memory operations for each event with a time ([L] 8).

        >>> Metrics().per_event()
        {}
        """
        counts = self.get()
        return _shared(counts, counts.get("rows", 0) - counts.get("rejected_rows", 0))

    def per_match(self) -> dict[str, float]:
        """Return the conditions evaluated and memory operations for each match; nothing if there is none."""
        counts = self.get()
        return _shared(counts, counts.get("matches", 0))

    def statistics(self) -> Statistics:
        """Return what a run of a pattern query has seen of its events, for ``match(..., statistics=...)``.

        Stretches spread over all rows read are looked at.  The rates of all variables are there, and the
        selectivities of comparisons of two events; of other conditions only where a join tree has run,
        which counts its decisions.  Without such a run nothing is known, and usual values are assumed.

        >>> print(Metrics().statistics())
        assumed statistics
        """
        if self._observed is not None:
            return self._observed.statistics()
        return Statistics() if self._seen is None else self._seen.statistics()

    def set_counters(
        self, rows: int, rejected_rows: int, counters: Counters, clock: Clock, seen: RunObserver | None = None
    ) -> None:
        """Take the counts of a call on a table."""
        self._observed, self._seen = None, seen
        self._values = {"rows": rows, "rejected_rows": rejected_rows, **asdict(counters), **clock.seconds}

    def observe(self, plan: Plan) -> Observed:
        """Return what is to be filled by a call on a DataFrame."""
        self._observed = Observed(plan)
        return self._observed


def _shared(counts: Mapping[str, int | float], among: int | float) -> dict[str, float]:
    return {name: counts[name] / among for name in _WORK if among and name in counts}
