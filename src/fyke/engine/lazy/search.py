"""Host side of the lazy kernel: chooses the order, gives it room, raises limits ([L] 4, 5, 7)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from fyke.engine.candidates.candidates import find_candidates
from fyke.engine.candidates.keys import Keys
from fyke.engine.candidates.reach import find_reach
from fyke.engine.compiled import CompiledQuery
from fyke.engine.conditions.arrays import condition_arrays
from fyke.engine.conditions.program import Program
from fyke.engine.counters import Counters
from fyke.engine.feed import Feed
from fyke.engine.kernels import layout as L
from fyke.engine.kernels.arena import Arenas
from fyke.engine.kernels.arrays import Array
from fyke.engine.kernels.conditions.arena import ConditionArena
from fyke.engine.kernels.lazy import layout as Z
from fyke.engine.kernels.lazy.arena import LazyArena
from fyke.engine.kernels.lazy.search import run_lazy, run_lazy_counting
from fyke.engine.kernels.lazy.subsets import BLOCKS
from fyke.engine.kernels.selection.absence import FRAME_SIZE, PLACE_SIZE
from fyke.engine.lazy.steps import LazyCompiler, Step, share
from fyke.engine.lazy.tables import Indexes, PlanTables
from fyke.engine.lazy.tally import TallyArrays
from fyke.engine.limits import LimitReached, Part
from fyke.engine.match_output import MatchOutput
from fyke.engine.matchset import MatchSet
from fyke.engine.meter import first_row
from fyke.engine.window import kernel_window
from fyke.errors import CountTooLargeError
from fyke.logical.normal_form import Alternative
from fyke.plan.chain_order import chain_order
from fyke.plan.counting import unbounded_groups

_LEVELS, _BINDINGS = 64, 1 << 18
_FITS = 256  # candidates that are looked at together
_SLICE_WINDOWS = 16  # windows per slice of a tree search; each slice looks at one window twice


class LazySearch:
    """The lazy search of one plan.  It holds no events: every call gets them."""

    def __init__(self, compiled: CompiledQuery, programs: Sequence[Program]) -> None:
        plan = self.plan = compiled.plan
        first_chance = plan.techniques.absence != "post_processing"
        self.tree, self.order = plan.engine == "lazy_tree", plan.techniques.order or plan.order
        self.alternatives = plan.alternatives
        self.compiler = LazyCompiler(
            plan.alternatives, programs, compiled.settings, compiled.names, first_chance
        )
        self.roles = self.compiler.roles

    def call(self, feed: Feed, tally: TallyArrays | None = None) -> LazyCall:
        """Return a search through the new events of a feed; with a tally, matches are only counted."""
        subsets = tally is not None and tally.subsets
        used = [
            bit
            for number, each in enumerate(self.alternatives)
            for name, bit in self.roles[number].items()
            if name in self._searched(number, each)
        ]
        candidates = find_candidates(feed.data, used)
        points = self.plan.schema.points
        reach, distinct = find_reach(feed.data, feed.segments, *kernel_window(self.plan.window), points)
        indexes = Indexes(Keys(candidates), self._window_share(reach))
        tables = PlanTables(indexes, points=points, distinct=distinct)
        if self.tree:
            for number in range(len(self.alternatives)):
                tables.add_tree(number, self.compiler.tree(number))
        else:
            chains = [self._chain(k, candidates.counts, subsets) for k in range(len(self.roles))]
            tables.add_chains(share(chains, groups=not subsets))
        tables.anchor_groups(self._anchored())
        plan = tables.pack(
            count_only=tally is not None,
            accumulates=bool(self.compiler.program.compiler.accumulators),
            slice_windows=_SLICE_WINDOWS if self.tree and self.plan.window.bounded else 0,
            subsets=subsets,
            tallies=[] if tally is None else tally.rows(self.compiler.program.number),
        )
        entries, heads = indexes.arrays()
        shared = {
            "plan": plan, "candidates": candidates.positions, "ranks": candidates.ranks, "reach": reach,
            "keys": indexes.keys.array(), "entries": entries, "index_heads": heads,
        }  # fmt: skip
        if tally is None:
            nothing = np.zeros((1, 1), np.int64)
            shared |= {"values_i": nothing, "values_f": nothing * 1.0, "values_ok": nothing.astype(np.uint8)}
        else:
            shared |= {"values_i": tally.integers, "values_f": tally.floats, "values_ok": tally.valid}
        return LazyCall(self, feed, shared, tables.most_comparisons)

    def _anchored(self) -> set[int]:
        window = self.plan.window.bounded
        anchored = [each for each in self.alternatives if unbounded_groups(each, window=window)]
        numbers = self.compiler.program.number
        return {numbers[v.name] for each in anchored for v in each.variables if v.group}

    def _searched(self, number: int, alternative: Alternative) -> set[str]:
        early = (absence.variables[0].name for absence in self.compiler.absent_events(number))
        return {*(variable.name for variable in alternative.variables), *early}

    def _chain(self, number: int, counts: Mapping[int, int], subsets: bool) -> list[Step]:
        alternative, roles = self.alternatives[number], self.roles[number]
        rates = {variable.name: counts[roles[variable.name]] for variable in alternative.variables}
        order = chain_order(alternative, rates, self.order, groups_in_sequence=subsets)
        return self.compiler.chain(number, order)

    def _window_share(self, reach: Array) -> float:
        """Return the share of the stream that a window holds, estimated from a few rows."""
        rows = reach.shape[1] - 1
        if rows == 0:
            return 0.0
        sample = np.arange(0, rows, max(1, rows // 64))
        held = reach[L.REACH_END, sample] - reach[L.REACH_FIRST, sample]
        part: float = held.sum() / len(sample) / rows
        return part


class LazyCall:
    """One search through the new events, resumed until all matches have left."""

    def __init__(
        self, search: LazySearch, feed: Feed, shared: dict[str, Array], most_comparisons: int
    ) -> None:
        self.program, self.meter = search.compiler.program, feed.meter
        self.feed, self.data, self.shared = feed, feed.data, shared
        self.segments = np.ascontiguousarray(feed.segments)
        self.code, self.constants = self.program.pack(feed.ranks)
        self.cursor = np.zeros(Z.SEEK_SIZE, np.int64)
        self.cursor[L.CURSOR_SEGMENT] = self.cursor[Z.SEEK_LEVEL] = -1
        self.cursor[Z.SEEK_ROOT] = 2**62
        self.counts = np.zeros(len(feed.segments) + 1, np.int64)
        self.tallies = int(shared["plan"][Z.PLAN_TALLY_COUNT])
        self.tally_i = np.zeros((len(feed.segments) + 1, 2 * self.tallies + 1), np.int64)
        self.tally_f = np.zeros((len(feed.segments) + 1, self.tallies + 1), np.float64)
        self._make_subsets(1 if not shared["plan"][Z.PLAN_SUBSETS] else _LEVELS)
        self.interval_width = most_comparisons * Z.INTERVAL_SIZE
        self.longest = len(self.program.everything) + _LEVELS
        self.conditions = condition_arrays(
            self.program, self.code, self.constants, feed.data, self.longest, feed.meter.work
        )
        self._make_levels()
        self.output = MatchOutput(_BINDINGS, alternatives=True)
        programs = [search.compiler.programs[number] for number in search.compiler.beside]
        self.small = self._absence_scratch(programs) | {
            "chosen": np.zeros(len(self.program.everything), np.int64),
            "fits": np.zeros(_FITS, np.int64),
        }
        self.beside = self._arenas_beside(programs, feed.ranks, len(self.small["added"]))
        self._begin_accumulators()

    def _make_levels(self) -> None:
        longest = self.longest
        self.conditions["elements"] = np.zeros(longest, np.int64)
        self.levels = np.zeros((longest, Z.LEVEL_SIZE), np.int64)
        self.intervals = np.zeros((longest, self.interval_width), np.int64)
        self.kept_i = np.zeros((longest + 1, self.program.run_integers), np.int64)
        self.kept_f = np.zeros((longest + 1, self.program.run_floats), np.float64)

    def _make_subsets(self, width: int) -> None:
        self.subset_i = np.zeros((BLOCKS + 6 * (1 + 2 * self.tallies), width), np.int64)
        self.subset_f = np.zeros((max(1, 6 * self.tallies), width), np.float64)

    def _absence_scratch(self, programs: Sequence[Program]) -> dict[str, Array]:
        """Return the stack of a search for absences: room for the bound events and all that may be added."""
        variables = max((len(each.everything) for each in programs), default=0)
        most = 3 * variables + 4 + self.data.events.shape[1] if programs else 1
        return {
            "added": np.empty((most, 2), np.int64),
            "frames": np.empty((most, FRAME_SIZE), np.int64),
            "place": np.zeros(PLACE_SIZE, np.int64),
            "looked": np.zeros(1, np.int64),
        }

    def _arenas_beside(self, programs: Sequence[Program], ranks: dict[str, int], longest: int) -> Arenas:
        """Return the arenas of the programs with absences of several events."""
        packed = [(each, *each.pack(ranks)) for each in programs]
        work = self.meter.work
        return Arenas(
            [ConditionArena(**condition_arrays(*each, self.data, longest, work)) for each in packed]
        )

    def _begin_accumulators(self) -> None:
        """Empty the accumulators at the bottom of the stack: there is no least, greatest or nth value yet."""
        for acc in self.program.compiler.accumulators.values():
            for place in acc.positions:
                self.kept_i[0, place] = -2 - acc.offset if acc.kind == L.ACC_ON else -1

    def _arena(self) -> LazyArena:
        """Return everything the kernel works on."""
        return LazyArena(
            **self.conditions,
            **self.shared,
            **self.output.arrays,
            **self.small,
            beside=self.beside,
            segments=self.segments,
            cursor=self.cursor,
            prefix=np.zeros(2 * self.longest, np.int64),
            levels=self.levels,
            intervals=self.intervals,
            kept_i=self.kept_i,
            kept_f=self.kept_f,
            counts=self.counts,
            subset_i=self.subset_i,
            subset_f=self.subset_f,
            tally_i=self.tally_i,
            tally_f=self.tally_f,
        )

    def chunks(self) -> Iterator[MatchSet]:
        """Search; yield the matches in chunks of bounded size."""
        arena = self._arena()
        subsets = bool(self.shared["plan"][Z.PLAN_SUBSETS])
        while True:
            status = run_lazy_counting(arena) if subsets else run_lazy(arena)
            chunk = self.output.drain(self.cursor)
            if chunk is not None:
                yield chunk
                arena.update(**self.output.arrays)  # the chunk may have taken them along
            if self.cursor[Z.SEEK_WIDE]:
                raise CountTooLargeError()
            self._check("counting" if subsets else "search")
            if status == L.DONE:
                return
            if status == L.PAUSE:
                continue
            if status == L.NEED_SCRATCH:
                self._grow()
                arena = self._arena()
            elif self.longest >= self.output.room:
                self.output.make_room(2 * self.longest)
                arena.update(**self.output.arrays)

    def _check(self, part: Part) -> None:
        """Raise the limits on work and on the stack, if they are reached."""
        row = first_row(self.segments, int(self.cursor[L.CURSOR_SEGMENT]))
        if 2 * int(self.cursor[Z.SEEK_ABSENT]) > int(self.meter.work[L.WORK_DONE]):
            part = "absence"
        self.meter.check(row, part)
        if int(self.cursor[Z.SEEK_DEEPEST]) > self.meter.limits.runs:
            raise LimitReached("runs", row)

    def _grow(self) -> None:
        needed = int(self.cursor[L.CURSOR_DETAIL])
        row = first_row(self.segments, int(self.cursor[L.CURSOR_SEGMENT]))
        if needed:
            self.cursor[L.CURSOR_DETAIL] = 0
            width = len(self.subset_i) + len(self.subset_f)
            self.meter.hold("subsets", 16 * needed * width, row, "counting")
            totals = self.subset_i[:, 0].copy(), self.subset_f[:, 0].copy()
            self._make_subsets(2 * needed)
            self.subset_i[:, 0], self.subset_f[:, 0] = totals
            return
        old = (self.levels, self.intervals, self.kept_i, self.kept_f)
        self.longest *= 2
        self._make_levels()
        for kept, grown in zip(old, (self.levels, self.intervals, self.kept_i, self.kept_f), strict=True):
            grown[: len(kept)] = kept

    def counters(self) -> Counters:
        """Return what the search has counted."""
        cursor = self.cursor
        return Counters(
            condition_evaluations=int(cursor[L.CURSOR_EVALUATIONS]),
            bindings_tried=int(cursor[L.CURSOR_TRIED]),
            runs_created=int(cursor[Z.SEEK_OPENED]),
            peak_runs=int(cursor[Z.SEEK_DEEPEST]),
            memory_operations=int(cursor[Z.SEEK_MEMORY] + cursor[Z.SEEK_BOUND]),
            absence_checks=int(cursor[Z.SEEK_ABSENCES]),
            buffered_events=self.data.events.shape[1],
        )
