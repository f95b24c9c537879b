"""Host side of the join-tree kernel, for one tree of one alternative: gives it room, raises limits."""

from __future__ import annotations

import numpy as np

from fyke.engine.candidates.candidates import Candidates
from fyke.engine.conditions.arrays import condition_arrays
from fyke.engine.conditions.program import Program
from fyke.engine.counters import Counters
from fyke.engine.kernels import layout as L
from fyke.engine.kernels.arrays import Array, Data
from fyke.engine.kernels.tree import layout as T
from fyke.engine.kernels.tree.arena import TreeArena
from fyke.engine.kernels.tree.join import run_tree
from fyke.engine.limits import LimitReached
from fyke.engine.match_output import MatchOutput, PartitionCounts
from fyke.engine.matchset import MatchSet
from fyke.engine.meter import Meter, first_row
from fyke.engine.tree.tables import TreeTables
from fyke.plan.search import PAIR, ROW

_ROWS, _BINDINGS, _LONGEST = 256, 1 << 16, 64


class TreeCall:
    """A tree that reads the new events of all segments, in chunks."""

    def __init__(
        self,
        tables: TreeTables,
        segments: Array,
        data: Data,
        ranks: dict[str, int],
        reach: Array,
        meter: Meter,
        counted: PartitionCounts,
        rows: int = _ROWS,
    ) -> None:
        self.program: Program = tables.program
        self.candidates: Candidates = tables.candidates
        self.data, self.reach, self.meter = data, reach, meter
        self.segments = np.ascontiguousarray(segments)
        self.code, self.constants = self.program.pack(ranks)
        self.tree = tables.pack()
        self.widths = [node[T.NODE_WIDTH] for node in tables.nodes]
        self.hashed = [node[T.NODE_KEY] < node[T.NODE_KEY_END] for node in tables.nodes]
        self.keys = tables.keys.array()
        self.cursor = np.zeros(T.AT_SIZE, np.int64)
        self.cursor[L.CURSOR_SEGMENT] = self.cursor[T.AT_OUTER] = -1
        self.observed = np.zeros((len(self.program.condition_rows) + 1, 2), np.int64)
        self.buffers = np.zeros((len(self.widths), T.BUFFER_SIZE), np.int64)
        self.longest = _LONGEST * max(1, self.program.positives)
        self.output = MatchOutput(_BINDINGS)
        self.counted = counted
        meter.release("rows")
        self.done = False
        self._lay_out([rows] * len(self.widths))
        self.arena = self._arena()

    def _lay_out(self, capacities: list[int]) -> None:
        """Give every node room for its rows and their buckets, and keep the rows it has."""
        old = (self.buffers.copy(), getattr(self, "rows", None))
        sizes = [capacity * width for capacity, width in zip(capacities, self.widths, strict=True)]
        self.rows = np.empty(sum(sizes) + 1, np.int64)  # a row is written before it is read
        buckets = [
            capacity if hashed else 0 for capacity, hashed in zip(capacities, self.hashed, strict=True)
        ]
        self.buckets = np.full(sum(buckets) + 1, -1, np.int64)
        self.buffers[:, T.BUFFER_BEGIN] = np.concatenate(([0], np.cumsum(sizes)[:-1]))
        self.buffers[:, T.BUFFER_CAPACITY] = capacities
        self.buffers[:, T.BUFFER_BUCKETS] = np.concatenate(([0], np.cumsum(buckets)[:-1]))
        self.buffers[:, T.BUFFER_MASK] = np.array(buckets) - 1
        self.buffers[:, T.BUFFER_STALE] = 1
        if old[1] is None:
            return
        for node, width in enumerate(self.widths):
            count = int(self.buffers[node, T.BUFFER_TAIL]) * width
            source, target = int(old[0][node, T.BUFFER_BEGIN]), int(self.buffers[node, T.BUFFER_BEGIN])
            self.rows[target : target + count] = old[1][source : source + count]

    def _arena(self) -> TreeArena:
        """Return everything the kernel works on."""
        return TreeArena(
            **condition_arrays(
                self.program, self.code, self.constants, self.data, 2 * self.longest, self.meter.work
            ),
            **self.output.arrays,
            segments=self.segments,
            cursor=self.cursor,
            tree=self.tree,
            candidates=self.candidates.positions,
            ranks=self.candidates.ranks,
            keys=self.keys,
            reach=self.reach,
            buffers=self.buffers,
            rows=self.rows,
            buckets=self.buckets,
            observed=self.observed,
            prefix=np.zeros(2 * self.longest, np.int64),
        )

    def advance(self) -> bool:
        """Read until the end, or until a chunk has been read; say whether it was the end."""
        while True:
            status = int(run_tree(self.arena))
            self._drain()
            self._check()
            self.done = status == L.DONE
            if self.done or status in (T.LOOK, L.PAUSE):
                self.arena.update(**self.output.arrays)  # matches may have taken them along
                if status == L.PAUSE:
                    continue
                return self.done
            self._provide(status)
            self.arena = self._arena()

    def _row(self) -> int:
        """Return a row of the partition that is being read."""
        return first_row(self.segments, int(self.cursor[L.CURSOR_SEGMENT]))

    def _check(self) -> None:
        """Raise the limits on work and on rows, if they are reached."""
        self.meter.check(self._row())
        if int(self.cursor[T.AT_PEAK]) > self.meter.limits.runs:
            raise LimitReached("runs", self._row())

    def _provide(self, status: int) -> None:
        """Give the kernel what it asks for, if there is enough memory."""
        if status == L.NEED_SCRATCH:
            self.longest *= 2
        elif status == L.NEED_OUTPUT:
            if self.longest > self.output.room:
                self.output.make_room(2 * self.longest)
        else:
            capacities = self.buffers[:, T.BUFFER_CAPACITY].tolist()
            capacities[int(self.cursor[L.CURSOR_DETAIL])] *= 2
            size = 8 * int(np.dot(capacities, [width + 1 for width in self.widths]))
            self.meter.hold("rows", size, self._row())
            self._lay_out(capacities)

    def _drain(self) -> None:
        """Take the matches written so far out of the kernel's arrays."""
        before = len(self.output.pieces)
        self.output.keep(self.cursor, self.meter)
        for piece in self.output.pieces[before:]:
            self.counted.add(piece)

    def work(self) -> float:
        """Return the work done so far in the unit of the planner, from pairs looked at and rows made."""
        tried = self.cursor[L.CURSOR_TRIED] + self.cursor[L.CURSOR_STEPS]
        return float(PAIR * tried + ROW * self.buffers[:, T.BUFFER_MADE].sum())

    def room(self) -> int:
        """Return the number of rows that its largest node has room for."""
        return int(self.buffers[:, T.BUFFER_CAPACITY].max())

    def left(self) -> Array:
        """Return the segments with their unread events."""
        segments, segment = self.segments.copy(), int(self.cursor[L.CURSOR_SEGMENT])
        segments[:segment, 1] = segments[:segment, 2]
        segments[segment, 1] = self.cursor[T.AT_EVENT]
        return segments

    def result(self) -> MatchSet:
        """Return the matches found so far."""
        return self.output.result()

    def counters(self) -> Counters:
        """Return what the tree has counted."""
        cursor = self.cursor
        return Counters(
            condition_evaluations=int(cursor[L.CURSOR_EVALUATIONS]),
            bindings_tried=int(cursor[L.CURSOR_TRIED] + (0 if self.done else cursor[L.CURSOR_STEPS])),
            runs_created=int(self.buffers[:, T.BUFFER_MADE].sum()),
            peak_runs=int(cursor[T.AT_PEAK]),
            buffer_peak=8 * len(self.rows),
            intermediate_matches=self.output.matches,
        )
