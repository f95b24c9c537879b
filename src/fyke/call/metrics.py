"""What a call of ``match`` has done: exact counts of rows and work, and clocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace

from fyke.engine.counters import PEAKS, Counters
from fyke.engine.measure.clock import Clock
from fyke.engine.measure.observe_run import RunObserver
from fyke.errors import InputError, NotRunError, listed
from fyke.html import html_table, paragraph
from fyke.plan.missing_types import told_missing
from fyke.plan.plan import Plan
from fyke.plan.statistics import Statistics
from fyke.spark.observe import Observed, ObservedRows, ObservedTasks

_WORK = ("condition_evaluations", "memory_operations")
_SOON = 1.0  # seconds: Spark tells of an action a moment after it has returned


class Metrics:
    """Filled by ``fyke.match(..., metrics=metrics)``, or by a program.

    On a table it is filled when the call returns.  On a DataFrame it is filled by the first action on
    the result.  For a program, ``queries`` has the metrics of each query by its label, and the counts
    are those of all of them together.

    Examples
    --------
    >>> print(Metrics())
    Metrics: nothing has run yet
    """

    def __init__(self) -> None:
        self.queries: dict[str, Metrics] = {}
        self._values: dict[str, int | float] = {}
        self._observed: ObservedTasks | None = None
        self._seen: RunObserver | None = None
        self._missing: dict[str, str] = {}

    def __repr__(self) -> str:
        """Return the counts and clocks, one a line."""
        if not self.filled:
            return "Metrics: nothing has run yet"
        values = self.get()
        width = max(map(len, values))
        lines = [f"Metrics of {listed(self.queries)}" if self.queries else "Metrics"]
        for name, value in values.items():
            lines.append(f"  {name:<{width}}  {f'{value:,}' if isinstance(value, int) else f'{value:.6f}'}")
        lines += [f"  {told_missing({name: hint})}" for name, hint in self.missing_types.items()]
        if values.get("matches") == 0 and not self.queries:
            lines.append("  No match: fyke.why_not, called with the same arguments, says why.")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        if not self.filled:
            return paragraph(repr(self))
        written = (
            (name, f"{value:,}" if isinstance(value, int) else f"{value:.6f}")
            for name, value in self.get().items()
        )
        missing = [paragraph(told_missing({name: hint})) for name, hint in self.missing_types.items()]
        title = f"Metrics of {listed(self.queries)}" if self.queries else "Metrics"
        return html_table(("count", "value"), written, title) + "".join(missing)

    @property
    def filled(self) -> bool:
        """Whether something has run."""
        return self._waited(_SOON)

    def _waited(self, timeout: float | None) -> bool:
        if self.queries:
            return all(each._waited(timeout) for each in self.queries.values())
        return bool(self._values) if self._observed is None else self._observed.wait(timeout)

    def get(self, timeout: float | None = 10.0) -> dict[str, int | float]:
        """Return the counts by name, then the seconds of each phase, whose names begin with ``seconds_``.

        Counts are exact and the same in every run; seconds are not.  On a DataFrame a count adds up
        what the tasks have counted (of a peak it is the highest), and seconds are those of all tasks.

        Parameters
        ----------
        timeout
            The seconds to wait for an action on a DataFrame that another thread may have begun; None:
            until there is one.

        Raises
        ------
        NotRunError
            If nothing has run by then.
        """
        self._check_filled(timeout)
        if self.queries:
            return _added([each.get() for each in self.queries.values()])
        return dict(self._values) if self._observed is None else self._observed.get()

    def _check_filled(self, timeout: float | None) -> None:
        if self._waited(timeout):
            return
        waiting = [label for label, each in self.queries.items() if not each._waited(0.0)]
        whose = f" of {listed(waiting)}" if waiting else ""
        if waiting or self._observed is not None:
            raise NotRunError(
                f"nothing{whose} has run yet: on a DataFrame the first action on a result fills its metrics",
                remedy="Ask the result for rows first, as in result.count() or result.collect().",
            )
        raise NotRunError(
            "nothing has run yet that would have filled these metrics",
            remedy="Give them to a call, as in fyke.match(events, query, ..., metrics=metrics).",
        )

    @property
    def missing_types(self) -> dict[str, str]:
        """The event types that the query names and no event has, each with what may be meant.

        Raises
        ------
        NotRunError
            If nothing has run.
        """
        self._check_filled(10.0)
        if self.queries:
            return {name: hint for each in self.queries.values() for name, hint in each.missing_types.items()}
        return dict(self._missing) if self._observed is None else self._observed.missing_types()

    def per_event(self) -> dict[str, float]:
        """Return the conditions evaluated and memory operations for each event with a time ([L] 8)."""
        counts = self.get()
        return _shared(counts, counts["rows"] - counts["rejected_rows"])

    def per_match(self) -> dict[str, float]:
        """Return the conditions evaluated and memory operations for each match; nothing if there is none."""
        counts = self.get()
        return _shared(counts, counts["matches"])

    def statistics(self) -> Statistics:
        """Return what a run of a pattern query has seen of its events, for ``match(..., statistics=...)``.

        Stretches spread over all rows read are looked at.  The rates of all variables are there, and the
        selectivities of comparisons of two events; those of other conditions only if a join tree has run,
        which counts its decisions.  For a run that has seen no events, usual values are assumed.

        Raises
        ------
        NotRunError
            If nothing has run.
        """
        self._check_filled(10.0)
        if self.queries:
            raise InputError(
                f"statistics are of one query, and these are the metrics of {listed(self.queries)}",
                remedy="Ask for those of one, as in metrics.queries['label'].statistics().",
            )
        seen = self._seen if self._observed is None else self._observed
        found = Statistics() if seen is None else seen.statistics()
        return replace(found, missing_types=self.missing_types)

    def set_counters(
        self,
        rows: int,
        rejected_rows: int,
        counters: Counters,
        clock: Clock,
        seen: RunObserver | None = None,
        missing: Mapping[str, str] | None = None,
    ) -> None:
        """Take the counts of a call on a table."""
        self.queries, self._observed, self._seen, self._missing = {}, None, seen, dict(missing or {})
        read = {"rows": rows, "rejected_rows": rejected_rows, "missing_types": len(self._missing)}
        self._values = {**read, **asdict(counters), **clock.seconds}

    def observe(self, plan: Plan) -> Observed:
        """Return what is to be filled by a call on a DataFrame."""
        observed = Observed(plan)
        self.queries, self._observed = {}, observed
        return observed

    def observe_rows(self) -> ObservedRows:
        """Return what is to be filled by a clause on a DataFrame."""
        observed = ObservedRows()
        self.queries, self._observed = {}, observed
        return observed

    def set_queries(self, queries: dict[str, Metrics]) -> None:
        """Take the metrics of the queries of a program, by label."""
        self.queries, self._values, self._observed, self._seen = queries, {}, None, None


def _added(counts: list[dict[str, int | float]]) -> dict[str, int | float]:
    """Return the counts of several runs together; of a peak the highest."""
    names = dict.fromkeys(name for each in counts for name in each)
    return {name: (max if name in PEAKS else sum)(each.get(name, 0) for each in counts) for name in names}


def _shared(counts: Mapping[str, int | float], among: int | float) -> dict[str, float]:
    return {name: counts[name] / among for name in _WORK if among}
