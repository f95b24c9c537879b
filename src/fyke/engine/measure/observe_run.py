"""Statistics of the events a run has read, from stretches spread over all of them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fyke.engine.found import Found
from fyke.engine.input.order import order_rows, times
from fyke.engine.input.prepare import prepare
from fyke.engine.kernels import layout as L
from fyke.engine.kernels.arrays import Array
from fyke.engine.measure.sample import Measuring, measure_ordered
from fyke.plan.plan import Plan
from fyke.plan.statistics import Statistics, Sums

_STRETCHES, _LEAST, _MOST = 8, 2_048, 1 << 16
_WAITING = 4 * _STRETCHES


class RunObserver:
    """Observes a run: samples the rows it reads, and measures the samples when asked to.

    Pairs of events are drawn regardless of other conditions, so that the selectivities do not depend on the
    plan that has run.  For conditions that do not compare two events, a join tree reports how often they
    held; the other engines do not count decisions by condition.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._decided: dict[str, tuple[int, int]] = {}
        self._sums = plan.sums()
        self._waiting: list[tuple[pa.Table, bool, float]] = []  # rows, whether prepared, what windows miss

    def look(self, found: Found) -> None:
        """Sample stretches of the rows that a call of ``advance`` has read."""
        for text, (tried, held) in found.decided.items():
            before = self._decided.get(text, (0, 0))
            self._decided[text] = (before[0] + tried, before[1] + held)
        if found.counters.events_read:
            codes = found.events[L.EVENT_SEGMENT][: None if self.plan.reads_apart else 0]
            bounds = np.concatenate(([0], np.flatnonzero(codes[1:] != codes[:-1]) + 1, [found.rows.num_rows]))
            held = self._held(found.events[L.EVENT_END], bounds)
            # Copies, since slices would keep all rows in memory.
            self._waiting += [
                (found.rows.take(pa.array(np.arange(first, end))), True, scale)
                for first, end, scale in _stretches(found.rows.num_rows, held, 2)
            ]
        if len(self._waiting) > _WAITING:
            self._measure()

    def look_at_input(self, table: pa.Table) -> None:
        """Sample stretches of an input in order of time, for a run that did not get all of its rows ([L] 4).

        The rows that it did get are all near rare events, and would make these look frequent.
        """
        ends = times(table.column(self.plan.schema.end))
        # Windows of a partition that reach beyond a stretch are not known as such: let there be few.
        stretches = _stretches(len(ends), self._held(ends, np.array([0, len(ends)])), 8)
        self._waiting += [(table.slice(first, end - first), False, scale) for first, end, scale in stretches]

    def sums(self) -> Sums:
        """Return all that has been seen, as sums."""
        self._measure()
        for text, (tried, held) in self._decided.items():
            self._sums.decided(text, tried, held)
        return self._sums

    def statistics(self) -> Statistics:
        """Return all that has been seen."""
        return self.sums().statistics()

    def _measure(self) -> None:
        plan, measuring = self.plan, Measuring(self.plan)
        for table, prepared, scale in self._waiting:
            rows = table if prepared else prepare(table, plan)
            if rows.num_rows:
                ordered = order_rows(rows, plan, sorted_rows=prepared)
                self._sums.add(measure_ordered(measuring, ordered, scale))
        self._waiting = []

    def _held(self, ends: Array, bounds: Array) -> int:
        """Return the most rows that a window holds, estimated from a few; partitions end at ``bounds``."""
        window, most = self.plan.window, 0
        for first in np.linspace(0, max(0, len(ends) - 1), min(_STRETCHES, len(ends))).astype(np.int64):
            end = int(bounds[np.searchsorted(bounds, first, "right")])
            held = end - int(first)
            if not window.bounded:
                held = end - int(bounds[np.searchsorted(bounds, first, "right") - 1])
            elif window.counts_events:
                held = min(held, window.length)
            else:
                last = min(int(ends[first]) + window.length, 2**63 - 1)
                held = int(np.searchsorted(ends[first:end], last, "right"))
            most = max(most, held)
        return most


def _stretches(rows: int, held: int, windows: int) -> list[tuple[int, int, float]]:
    """Return stretches of a few windows, spread over the rows: first row, end, how many times too short."""
    if rows == 0:
        return []
    length = min(rows, max(_LEAST, min(windows * held, _MOST)))
    count = min(_STRETCHES if length <= 4 * _LEAST else 2, -(-rows // length))
    scale = max(1.0, held / length) if length < rows else 1.0
    return [(int(first), int(first) + length, scale) for first in np.linspace(0, rows - length, count)]
