"""What a run has seen of its events: the statistics of stretches spread over all that it has read."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fyke.engine.engine import Engine, Found
from fyke.engine.kernels import layout as L
from fyke.engine.kernels.arrays import Array
from fyke.engine.order import order_rows
from fyke.engine.sample import measure_ordered
from fyke.language.ast import WindowKind
from fyke.plan.plan import reads_apart
from fyke.plan.statistics import Statistics, Sums

_STRETCHES, _LEAST, _MOST = 8, 2_048, 1 << 16
_WAITING = 4 * _STRETCHES


class Seen:
    """Observes a run of one engine: takes some of the rows it reads, and measures them when asked to.

    Pairs of events are drawn whatever else holds for them, so that the selectivities do not depend on the
    plan that has run.  Of conditions that are no comparison of two events, a join tree tells how often it
    found them to hold; the other engines do not count decisions by condition.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._sums = Sums.of(engine.plan.pushed)
        self._waiting: list[tuple[pa.Table, float]] = []

    def look(self, found: Found) -> None:
        """Take stretches of the rows that a call of ``advance`` has read."""
        rows = found.rows.num_rows
        if rows == 0 or found.counters.events_read == 0:
            return
        held = self._held(found.events)
        length = min(rows, max(_LEAST, min(2 * held, _MOST)))
        count = min(_STRETCHES if length <= 4 * _LEAST else 2, -(-rows // length))
        for first in np.linspace(0, rows - length, count).astype(np.int64):
            end = int(first) + length
            # A copy, since a slice would keep all rows in memory.
            table = found.rows.take(pa.array(np.arange(first, end)))
            self._waiting.append((table, max(1.0, held / length)))
        if len(self._waiting) > _WAITING:
            self._measure()

    def sums(self) -> Sums:
        """Return all that has been seen, as sums."""
        self._measure()
        tree = self.engine.tree
        for text, (tried, held) in (tree.decided if tree is not None else {}).items():
            self._sums.decided(text, tried, held)
        return self._sums

    def statistics(self) -> Statistics:
        """Return all that has been seen."""
        return self.sums().statistics()

    def _measure(self) -> None:
        for table, scale in self._waiting:
            ordered = order_rows(table, self.engine.plan, sorted_rows=True)
            self._sums.add(measure_ordered(self.engine, ordered, scale))
        self._waiting = []

    def _held(self, events: Array) -> int:
        """Return how many rows a window holds at most, by the first windows of a few partitions."""
        codes = events[L.EVENT_SEGMENT] if reads_apart(self.engine.plan) else events[L.EVENT_SEGMENT][:0]
        bounds = np.concatenate(([0], np.flatnonzero(codes[1:] != codes[:-1]) + 1, [events.shape[1]]))
        analysed = self.engine.plan.pushed.analysed
        window, most = analysed.form.window, 0
        for place in np.linspace(0, len(bounds) - 2, min(_STRETCHES, len(bounds) - 1)).astype(np.int64):
            first, end = int(bounds[place]), int(bounds[place + 1])
            held = end - first
            if window is not None and analysed.window is not None:
                if window.kind is WindowKind.EVENTS:
                    held = min(held, analysed.window)
                else:
                    ends = events[L.EVENT_END, first:end]
                    last = min(int(ends[0]) + analysed.window, 2**63 - 1)
                    held = int(np.searchsorted(ends, last, "right"))
            most = max(most, held)
        return most
