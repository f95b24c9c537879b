"""Host side of the automaton kernel: gives it room, builds states on demand, raises limits, saves runs."""

from __future__ import annotations

import numpy as np

from fyke.engine.automaton.program import AutomatonProgram
from fyke.engine.automaton.saved_runs import SavedRuns, numbered_states, save_runs
from fyke.engine.conditions.arrays import condition_arrays
from fyke.engine.counters import Counters
from fyke.engine.feed import Feed
from fyke.engine.kernels import layout as L
from fyke.engine.kernels.arrays import Array, Data, Runs
from fyke.engine.kernels.automaton.arena import AutomatonArena
from fyke.engine.kernels.automaton.backtrack import run_backtrack
from fyke.engine.kernels.automaton.breadth_first import run_automaton
from fyke.engine.kernels.automaton.candidate_windows import COUNTED_SIZE
from fyke.engine.kernels.automaton.dead_ends import FUTURE_SIZE
from fyke.engine.kernels.automaton.graphs import GRAPH_SIZE, write_graphs
from fyke.engine.kernels.automaton.match_buffer import NEVER, release_nodes
from fyke.engine.kernels.automaton.matches import write_matches
from fyke.engine.limits import LimitReached
from fyke.engine.match_output import MatchOutput
from fyke.engine.matchset import MatchSet
from fyke.engine.meter import Meter, first_row
from fyke.engine.output.graphs import GraphSet

_RUNS, _NODES, _BINDINGS, _LONGEST, _HEADS = 1_024, 1 << 15, 1 << 16, 64, 1 << 15
_FOUND, _PIECE = 1 << 12, 1 << 20
_NODE_BYTES = 8 * L.NODE_SIZE
_FEW_STATES = 64
_HELD = ("runs", "nodes", "saved runs", "scratch")
_DEAD = 1 << 18
_MOVE_STEPS, _ENTRY_BYTES = 2_000, 24  # what a transition costs to build, and a number in Python's lists


class AutomatonCall:
    """One call of the kernel for one alternative, resumed until all its events are read."""

    def __init__(
        self,
        program: AutomatonProgram,
        ranks: dict[str, int],
        data: Data,
        meter: Meter,
        *,
        graph_bytes: int | None = None,
    ) -> None:
        """Prepare a call; with ``graph_bytes``, what a node takes, matches leave as graphs."""
        self.graph_bytes, self.graph_nodes = graph_bytes, 0
        self.graphs: list[GraphSet] = []
        self.program, self.ranks, self.data, self.meter = program, ranks, data, meter
        meter.release(*_HELD)
        self.cursor = np.zeros(L.CURSOR_SIZE, np.int64)
        self.counters = Counters()
        self.output = MatchOutput(1)
        self.longest = _LONGEST
        self.heads = np.zeros(_HEADS, np.int64)
        self.path, self.branches = np.zeros(_LONGEST, np.int64), np.zeros(_LONGEST, np.int64)
        self.cursor[L.CURSOR_NODE] = L.FRESH
        self.cursor[L.CURSOR_COUNTED_OF] = -2
        self.loaded, self.saved, self.runs = self._rows(1), self._rows(1), self._rows(_RUNS)
        self.nodes = np.zeros((1, L.NODE_SIZE), np.int64)
        self.seen = np.zeros(0, np.int64)
        self.ahead = np.zeros(len(program.everything), np.int64)
        self.counted = np.zeros((len(program.needs), COUNTED_SIZE), np.int64)
        self.futures = np.full((_RUNS if program.search == "robust" else 1, FUTURE_SIZE), -1, np.int64)
        dead = min(_DEAD, _power_of_two(64 * data.events.shape[1] + 64)) if program.buries else 1
        self.dead = np.full((dead, FUTURE_SIZE), -1, np.int64)
        self._pack()

    def _pack(self) -> None:
        self.code, self.constants = self.program.pack(self.ranks)
        self.packed = self.written = self.program.sizes()

    def _rows(self, count: int) -> Runs:
        return Runs(
            np.zeros((count, self.program.run_integers), np.int64),
            np.zeros((count, self.program.run_floats), np.float64),
        )

    def _arena(self, segments: Array) -> AutomatonArena:
        """Return everything the kernels work on."""
        program, limits, work = self.program, self.meter.limits, self.meter.work
        runs, robust = len(self.runs.integers), program.search == "robust"
        if len(self.seen) < 2 * runs:
            self.seen = np.full(_power_of_two(2 * runs), -1, np.int64)
        else:
            self.seen.fill(-1)
        self.held = AutomatonArena(
            **condition_arrays(program, self.code, self.constants, self.data, self.longest, work),
            segments=np.ascontiguousarray(segments),
            cursor=self.cursor,
            limits=np.array([limits.runs, limits.matches], np.int64),
            **self.output.arrays,
            runs_i=self.runs.integers,
            runs_f=self.runs.floats,
            nodes=self.nodes,
            loaded_i=self.loaded.integers,
            loaded_f=self.loaded.floats,
            saved_i=self.saved.integers,
            saved_f=self.saved.floats,
            heads=self.heads,
            path=self.path,
            branches=self.branches,
            seen=self.seen,
            ahead=self.ahead,
            counted=self.counted,
            futures=self.futures if robust else self.futures[:1],
            dead=self.dead,
        )
        return self.held

    def run(self, feed: Feed, before: SavedRuns) -> tuple[MatchSet, SavedRuns]:
        """Read the events of a feed, starting from saved runs; return matches and the runs to save."""
        self.segments = feed.segments.copy()
        self._load(before)
        self.cursor[L.CURSOR_EVENT] = -1
        arena = self._arena(self.segments)
        while True:
            status = self._search(arena, feed)
            arena = self._write(arena)
            self.meter.check(self._row())
            if status == L.DONE:
                break
            if self._provide(status):
                arena = self._arena(self.segments)
        # A robust search reads an event when its window has passed; others read all that are complete.
        self.read_to = self.segments[:, 1] if self.program.search == "robust" else None
        return self._finish()

    def _search(self, arena: AutomatonArena, feed: Feed) -> int:
        if self.program.search == "breadth_first":
            return int(run_automaton(arena, feed.flush, feed.now))
        return int(run_backtrack(arena, feed.flush, feed.now, self.program.search == "robust"))

    def _write(self, arena: AutomatonArena) -> AutomatonArena:
        """Read the matches noted so far out of the buffer; return the arena, grown where it had to be."""
        if self.graph_bytes is not None:
            self._write_graphs(arena, self.graph_bytes)
            return arena
        while (status := write_matches(arena)) != L.DONE:
            head = self.nodes[self.heads[self.cursor[L.CURSOR_HEAD]]]
            if status == L.LIMIT_MATCHES:
                raise LimitReached("matches", int(head[L.NODE_EVENT]))
            self.meter.check_clock(int(head[L.NODE_EVENT]))
            if status == L.NEED_SCRATCH:
                self.path = np.zeros(4 * head[L.NODE_DEPTH] + 4, np.int64)
                self.branches = np.zeros(4 * head[L.NODE_UNIONS] + 4, np.int64)
            else:
                self.output.keep(self.cursor, self.meter)
                room = max(min(2 * self.output.room, _PIECE), 2 * int(head[L.NODE_DEPTH]) + 2)
                if room > self.output.room:
                    self.output.make_room(room)
            arena = self._arena(self.segments)
        return arena

    def _write_graphs(self, arena: AutomatonArena, node_bytes: int) -> None:
        """Take the matches noted so far out of the buffer as graphs, whose nodes take so many bytes."""
        used = int(self.cursor[L.CURSOR_NODES])
        marks, ways = np.zeros(used, np.int64), np.zeros(used, np.int64)
        while self.cursor[L.CURSOR_HEADS]:
            noted, row = int(self.cursor[L.CURSOR_HEADS]), self._row()
            self.meter.check_clock(row, "graphs")
            self.meter.hold("scratch", 8 * (2 + GRAPH_SIZE) * used, row, "graphs")
            nodes = np.empty((max(used, min(4 * used, _PIECE), _FOUND), GRAPH_SIZE), np.int64)
            lasts, rows = np.empty(noted, np.int64), np.empty((noted, 4), np.int64)
            filled = np.zeros(2, np.int64)
            count = write_graphs(arena, marks, ways, nodes, lasts, rows, filled)
            rows = rows[:count]
            self.graphs.append(
                GraphSet(
                    nodes[: filled[0]].copy(), rows[:, 1].copy(), lasts[: filled[1]],
                    rows[:, 2].copy(), rows[:, 0].copy(), rows[:, 3].copy(),
                )
            )  # fmt: skip
            self.graph_nodes += int(filled[0])
            self.meter.add(int(filled[0]))
            self.meter.release("scratch")
            self.meter.hold(self, self.graph_nodes * node_bytes, int(rows[-1, 0]), "graphs")

    def _load(self, before: SavedRuns) -> None:
        """Take up saved runs, sorted by partition; the program has their states from now on."""
        self.nodes = np.zeros((_NODES, L.NODE_SIZE), np.int64)
        self.segments[:, 3:5] = 0
        if len(before):
            count = len(before.nodes)
            self.nodes = np.zeros((max(_NODES, 2 * count), L.NODE_SIZE), np.int64)
            self.nodes[:count] = before.nodes
            integers = numbered_states(self.program, before)
            self._pack()
            segment = np.searchsorted(self.segments[:, 0], integers[:, L.RUN_FIRST], side="right") - 1
            order = np.argsort(segment, kind="stable")
            self.loaded = Runs(integers[order], before.floats[order])
            numbers = np.arange(len(self.segments))
            self.segments[:, 3] = np.searchsorted(segment[order], numbers, side="left")
            self.segments[:, 4] = np.searchsorted(segment[order], numbers, side="right")
            self.cursor[L.CURSOR_NODES] = count
            self.cursor[L.CURSOR_LOADED] = len(integers)
            # About as many runs will be saved as there were.
            self.saved = self._rows(len(integers) + len(integers) // 4 + 16)
        self.output.make_room(_BINDINGS)

    def _provide(self, status: int) -> bool:
        """Give the kernel what it asks for, or raise the limit it has reached; say whether arrays changed."""
        if status == L.NEED_STATE:
            return self._add_state(int(self.cursor[L.CURSOR_DETAIL]))
        elif status == L.NEED_RUNS:
            self._grow_runs()
        elif status == L.NEED_NODES:
            return self._grow_nodes()
        elif status == L.NEED_SAVED:
            count = 4 * len(self.saved.integers)
            self.meter.hold("saved runs", count * self._run_bytes(), self._row())
            self.saved = self._larger(self.saved, count)
        elif status in (L.NEED_OUTPUT, L.PAUSE):
            return False  # the noted matches have been written
        elif status == L.NEED_SCRATCH:
            self.longest *= 2
        else:
            assert status == L.LIMIT_RUNS
            raise LimitReached("runs", self._row())
        return True

    def _row(self) -> int:
        """Return a row of the partition that is being read."""
        return first_row(self.segments, int(self.cursor[L.CURSOR_SEGMENT]))

    def _run_bytes(self) -> int:
        return 8 * (self.program.run_integers + self.program.run_floats)

    def _add_state(self, state: int) -> bool:
        """Build the transitions of a state; say whether the program had to be laid out anew."""
        known = self.program.sizes()
        self.program.expand(state)
        if len(self.program.state_rows) > _FEW_STATES:
            self.meter.add(_MOVE_STEPS * (sum(self.program.sizes()) - sum(known)))
        self.meter.hold(self.program, _ENTRY_BYTES * self.program.entries(), self._row())
        self.meter.check(self._row())
        if self.program.add_state(state, self.code, self.packed, self.written):
            self.written = self.program.sizes()
            return False
        self._pack()
        return True

    def _larger(self, runs: Runs, count: int) -> Runs:
        grown = self._rows(count)
        grown.integers[: len(runs.integers)] = runs.integers
        grown.floats[: len(runs.floats)] = runs.floats
        return grown

    def _grow_runs(self) -> None:
        waiting = int((self.loaded.integers.shape[0]) + 2)
        old = len(self.runs.integers)
        count = max(2 * old, waiting)
        robust = self.program.search == "robust"
        self.meter.hold("runs", count * (self._run_bytes() + 32 + 24 * robust), self._row())
        grown = self._larger(self.runs, count)
        if robust:
            futures = np.zeros((count, FUTURE_SIZE), np.int64)
            futures[: len(self.futures)] = self.futures
            self.futures = futures
        # The empty run stands in the last row.
        grown.integers[-1], grown.floats[-1] = self.runs.integers[-1], self.runs.floats[-1]
        self.runs = grown

    def _grow_nodes(self) -> bool:
        """Release what no run needs any more; make more room, and say so, if too little is free then."""
        cursor = self.cursor
        segment = self.held.segments[cursor[L.CURSOR_SEGMENT]]
        event = min(int(cursor[L.CURSOR_EVENT]), int(segment[2]) - 1)
        cursor[L.CURSOR_NODES_PEAK] = max(cursor[L.CURSOR_NODES_PEAK], cursor[L.CURSOR_NODES])
        used = int(cursor[L.CURSOR_NODES])
        cursor[L.CURSOR_NODES] = kept = release_nodes(
            self.nodes, used, np.empty(used, np.int64), self.runs.integers, int(cursor[L.CURSOR_LIVE]),
            self._oldest(event), self.saved.integers, int(cursor[L.CURSOR_SAVED]),
            self.loaded.integers, int(segment[4]), int(cursor[L.CURSOR_LOADED]),
        )  # fmt: skip
        size = len(self.nodes)
        if kept > size // 2:
            self.meter.hold("nodes", 2 * size * _NODE_BYTES, self._row())
            nodes = np.zeros((2 * size, L.NODE_SIZE), np.int64)
            nodes[:kept] = self.nodes[:kept]
            self.nodes = nodes
            return True
        return False

    def _oldest(self, event: int) -> int:
        """Return the least age that fits into one window with an event."""
        window, events = self.program.settings.window, self.data.events
        if not window.bounded:
            return -(2**63)
        if window.counts_events:
            return int(events[L.EVENT_INDEX, event]) - window.length + 1
        return max(int(events[L.EVENT_END, event]) - window.length, -(2**63))

    def _finish(self) -> tuple[MatchSet, SavedRuns]:
        self.output.keep(self.cursor, self.meter)
        cursor, counters = self.cursor, self.counters
        counters.condition_evaluations = int(cursor[L.CURSOR_EVALUATIONS])
        counters.bindings_tried = int(cursor[L.CURSOR_TRIED])
        counters.runs_created = int(cursor[L.CURSOR_CREATED])
        counters.peak_runs = int(cursor[L.CURSOR_PEAK])
        counters.runs_merged = int(cursor[L.CURSOR_MERGED])
        counters.starts_skipped = int(cursor[L.CURSOR_SKIPPED])
        counters.events_reread = int(cursor[L.CURSOR_REREAD])
        counters.buffer_peak = int(max(cursor[L.CURSOR_NODES_PEAK], cursor[L.CURSOR_NODES])) * _NODE_BYTES
        counters.intermediate_matches = self.output.matches
        saved = int(cursor[L.CURSOR_SAVED])
        kept, used = 0, int(cursor[L.CURSOR_NODES])
        if saved:
            kept = release_nodes(
                self.nodes, used, np.empty(used, np.int64), self.runs.integers, 0, NEVER,
                self.saved.integers, saved, self.loaded.integers, 0, 0,
            )  # fmt: skip
        runs = (
            self.saved.integers[:saved].copy(),
            self.saved.floats[:saved].copy(),
            self.nodes[:kept].copy(),
        )
        return self.output.result(), save_runs(self.program, *runs)


def _power_of_two(least: int) -> int:
    return 1 << (least - 1).bit_length()
