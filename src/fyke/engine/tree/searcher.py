"""Join trees as a searcher: events into matches, with a tree for each alternative.

A tree is planned from given statistics, or from those of the first chunk it reads.  After every chunk the
searcher looks at rates and selectivities.  If they have changed enough and another tree is cheaper, it
builds that tree from the rows of the last window, and the new tree goes on where the old one stopped
([T] 3.5.5).  Every match is found by the tree that reads its last event, so results do not depend on when
that happens.  The memory of the searcher is its current trees and the statistics they were chosen by.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fyke.engine.candidates.candidates import Candidates, find_candidates
from fyke.engine.candidates.keys import Keys
from fyke.engine.candidates.reach import reach_of_read_rows
from fyke.engine.compiled import CompiledQuery
from fyke.engine.conditions.program import Program
from fyke.engine.counters import Counters
from fyke.engine.feed import Feed
from fyke.engine.kernels import layout as L
from fyke.engine.kernels.arrays import NUMBER, Array, Data
from fyke.engine.kernels.tree import layout as T
from fyke.engine.match_output import PartitionCounts
from fyke.engine.matchset import MatchSet, concat
from fyke.engine.measure.clock import Clock
from fyke.engine.measure.selectivity import Sample, draw_selectivities, in_windows
from fyke.engine.meter import Meter
from fyke.engine.searcher import Dump, Reading, RemembersNoRows
from fyke.engine.tree.call import TreeCall
from fyke.engine.tree.tables import TreeOptions, TreeTables
from fyke.engine.window import kernel_window
from fyke.errors import OptionError, StateError
from fyke.language.ast import Strategy
from fyke.plan.adapt import Thresholds, better_tree
from fyke.plan.cost import CostModel
from fyke.plan.pass_down import choose_pass_down, passable
from fyke.plan.search import best_tree
from fyke.plan.statistics import Statistics
from fyke.plan.tree_shape import Shape, leaves, orient, restrict
from fyke.plan.window import Extent

_CHUNK_WINDOWS, _LEAST_CHUNK, _ROWS = 8, 2_500, 256
_LOOK, _REBUILD = 3e6, 1e6  # nanoseconds: work between two looks at the statistics, cost of a new tree
_ENOUGH = 200  # a selectivity from at least this many decisions is believed


@dataclass(frozen=True, slots=True)
class _Input:
    """What a call reads; it is the same for all alternatives and trees."""

    data: Data
    ranks: dict[str, int]
    candidates: Candidates
    reach: Array
    keys: Keys
    meter: Meter
    chunk: int


@dataclass(slots=True)
class TreeMemory:
    """The memory of one alternative: its tree, and the statistics it was chosen by.

    ``usual`` says how often conditions usually hold when this tree decides them; None before the first look.
    """

    shape: Shape
    statistics: Statistics
    usual: dict[str, float] | None = None


TreeMemories = tuple[TreeMemory | None, ...]  # by alternative; None before the first event


class TreeSearcher(RemembersNoRows):
    """The join trees of a plan ([T] chapters 3 and 4)."""

    may_stay = False  # the statistics in the plan shape the first tree

    def __init__(self, compiled: CompiledQuery) -> None:
        self.compiled = compiled
        plan = self.plan = compiled.plan
        self.programs = compiled.programs(Program)
        self.alternatives, self.texts = plan.alternatives, plan.texts
        self.strict = plan.strategy is Strategy.STRICT
        given = plan.techniques.thresholds
        fixed = plan.techniques.tree is not None or given is None
        self.thresholds = None if fixed or given is None else Thresholds(*given)

    def read(self, feed: Feed, memory: TreeMemories, clock: Clock) -> Reading:
        """Find the matches whose last event is new, alternative by alternative."""
        roles = [program.roles[v.name] for program in self.programs for v in program.variables]
        window = self.plan.window
        if window.counts_events and not self.plan.reads_apart:
            window = Extent()  # events are numbered within a partition only
        points = self.plan.schema.points
        reach = reach_of_read_rows(feed.data, feed.segments, *kernel_window(window), points=points)
        candidates, chunk = find_candidates(feed.data, roles), self._chunk(feed, reach)
        given = _Input(feed.data, feed.ranks, candidates, reach, Keys(candidates), feed.meter, chunk)
        found, after = [], []
        decided: dict[str, tuple[int, int]] = {}
        for number, program in enumerate(self.programs):
            matches, trees, told = self._search(number, memory[number], feed, given, clock)
            after.append(trees)
            decided |= {text: _added(decided.get(text, (0, 0)), counts) for text, counts in told.items()}
            found.append(
                replace(
                    matches,
                    variables=self.compiled.numbering(program)[matches.variables],
                    alternative=np.full(len(matches), number, NUMBER),
                )
            )
        return Reading(concat(found), tuple(after), decided=decided)

    def chunks(self, feed: Feed) -> Iterator[MatchSet] | None:
        """Return None: a tree finds all matches in one call, in the order of their ends."""
        return None

    def decided_early(self, alternative: int) -> Sequence[int]:
        """Return nothing: trees check absences on whole matches."""
        return ()

    # --- memory -------------------------------------------------------------------------

    def start(self) -> TreeMemories:
        """Return no trees: they are planned from the first events."""
        return (None,) * len(self.programs)

    def dump(self, memory: TreeMemories) -> Dump:
        """Return shapes and statistics as notes."""
        return Dump(notes=[None if each is None else _noted(each) for each in memory])

    def load(self, dump: Dump, rows: int) -> TreeMemories:
        """Return the trees of a dump, if they fit these alternatives."""
        try:
            memory = tuple(None if each is None else _remembered(each) for each in dump.notes)
        except (TypeError, KeyError, ValueError, OptionError) as error:
            raise StateError.damaged("its join trees cannot be read") from error
        names = [sorted(variable.name for variable in each.variables) for each in self.alternatives]
        known = [None if each is None else sorted(leaves(each.shape)) for each in memory]
        fit = len(known) == len(names) and all(map(lambda k, n: k in (None, n), known, names))
        if dump.arrays or not fit:
            raise StateError.damaged("its join trees are of another pattern")
        return memory

    # --- searching ----------------------------------------------------------------------

    def _chunk(self, feed: Feed, reach: Array) -> int:
        """Return the number of rows between two looks at the statistics, a few windows ([T] 3.5.5)."""
        if self.plan.techniques.chunk is not None:
            return self.plan.techniques.chunk
        if len(feed.segments) == 0:
            return _LEAST_CHUNK
        begin, end = int(feed.segments[0, 1]), int(feed.segments[0, 2])
        held = int(reach[L.REACH_END, begin]) - begin if begin < end else 0
        return max(_LEAST_CHUNK, _CHUNK_WINDOWS * held)

    def _search(
        self, number: int, memory: TreeMemory | None, feed: Feed, given: _Input, clock: Clock
    ) -> tuple[MatchSet, TreeMemory, dict[str, tuple[int, int]]]:
        """Read all segments, with one tree after another; also return how often conditions were decided."""
        clock.lap("search")
        trees = self._begin(number, feed.segments, given) if memory is None else replace(memory)
        counted = PartitionCounts(feed.data.events[L.EVENT_SEGMENT], self.plan.limits.matches)
        call, found = self._call(number, trees, feed.segments, given, counted), []
        decided: dict[str, tuple[int, int]] = {}
        seen, work = np.zeros_like(call.observed), 0.0
        clock.lap("plan")
        while not call.advance():
            if self.plan.techniques.chunk is None and call.work() - work < _LOOK:
                continue
            clock.lap("search")
            if self._replans(number, trees, call, call.observed - seen, given, call.work() - work):
                feed.counters.replans += 1
                self._finish(number, call, feed.counters, decided)
                found.append(call.result())
                call = self._call(number, trees, call.left(), given, counted, call.room())
                seen, work = np.zeros_like(call.observed), 0.0
            else:
                seen, work = call.observed.copy(), call.work()
            clock.lap("plan")
        self._finish(number, call, feed.counters, decided)
        return concat([*found, call.result()]), trees, decided

    def _finish(
        self, number: int, call: TreeCall, counters: Counters, decided: dict[str, tuple[int, int]]
    ) -> None:
        """Add the counts of a tree."""
        counters.merge(call.counters())
        for k, condition in enumerate(self.alternatives[number].conditions):
            text, (tried, held) = self.texts[condition], call.observed[k].tolist()
            decided[text] = _added(decided.get(text, (0, 0)), (tried, held))

    def _begin(self, number: int, segments: Array, given: _Input) -> TreeMemory:
        """Plan the first tree, from given statistics or from the first chunk."""
        alternative, known = self.alternatives[number], self.plan.statistics
        first = int(segments[0, 1]) if len(segments) else 0
        end = min(first + max(given.chunk, _LEAST_CHUNK), given.data.events.shape[1])
        sample = Sample(given.data, given.candidates, given.reach, first, end)
        if known is None:
            techniques = self.plan.techniques
            fixed = techniques.tree is not None and techniques.pass_down is False
            drawn = {} if fixed else self._drawn(number, sample, given)
            known = Statistics(self._rates(number, sample), drawn, 0.0, end - first)
        names = [variable.name for variable in alternative.variables]
        asked = self.plan.techniques.tree
        shape = restrict(asked, names) if asked is not None else None
        if shape is None:
            model = self._model(number, known)
            shape = best_tree(model, pull=self.plan.techniques.propagation == "pull").shape
            assert shape is not None
        return TreeMemory(orient(shape, alternative.order), known)

    def _model(self, number: int, statistics: Statistics) -> CostModel:
        return CostModel(self.alternatives[number], statistics, self.texts)

    def _rates(self, number: int, sample: Sample) -> dict[str, float]:
        names = [variable.name for variable in self.alternatives[number].variables]
        roles = self.programs[number].roles
        return dict(zip(names, in_windows(sample, [roles[name] for name in names]), strict=True))

    def _drawn(self, number: int, sample: Sample, given: _Input) -> dict[str, float]:
        alternative, program = self.alternatives[number], self.programs[number]
        return draw_selectivities(alternative, program, sample, self.texts, given.keys)

    def _replans(
        self, number: int, trees: TreeMemory, call: TreeCall, decided: Array, given: _Input, spent: float
    ) -> bool:
        """Look at what a tree has observed in its last chunk, and say whether to rebuild it.

        Unless the chunk size is given, a new tree must pay for itself within as much work as was ``spent``
        since the last look.
        """
        if self.thresholds is None:
            return False
        end = int(call.cursor[T.AT_EVENT])
        sample = Sample(given.data, given.candidates, given.reach, max(0, end - given.chunk), end)
        rates, held = self._rates(number, sample), self._held(number, decided)
        if self.plan.techniques.chunk is None and not self._stirs(trees, rates, held):
            return False
        # Decisions depend on those made before them, and so on the tree; pairs drawn at random do not.
        selectivities = {
            **trees.statistics.selectivities,
            **held,
            **self._drawn(number, sample, given),
        }
        new = Statistics(rates, selectivities, 0.0, given.chunk)
        if not self.thresholds.exceeded(trees.statistics, new):
            return False
        trees.statistics = new
        pull = self.plan.techniques.propagation == "pull"
        thresholds = self.thresholds
        if self.plan.techniques.chunk is None:
            thresholds = replace(thresholds, total=max(thresholds.total, _REBUILD / spent))
        shape = better_tree(self._model(number, new), trees.shape, thresholds, pull=pull)
        if shape is None:
            return False
        trees.shape, trees.usual = shape, None
        return True

    def _held(self, number: int, decided: Array) -> dict[str, float]:
        """Return how often conditions held, for those that a tree has decided often enough."""
        conditions = enumerate(self.alternatives[number].conditions)
        return {
            self.texts[condition]: min(1.0, (int(decided[k, 1]) + 0.5) / int(decided[k, 0]))
            for k, condition in conditions
            if decided[k, 0] >= _ENOUGH
        }

    def _stirs(self, trees: TreeMemory, rates: Mapping[str, float], held: Mapping[str, float]) -> bool:
        """Say whether something may have changed, judging by what the tree decides anyway; that is quick.

        The first look at a tree always says so: it shows what is usual for this tree.
        """
        assert self.thresholds is not None
        known, usual = trees.statistics, trees.usual
        first = usual is None
        trees.usual = {**held, **(usual or {})}
        seen, then = Statistics(rates, held), Statistics(known.rates, usual or {})
        half = replace(self.thresholds, condition=self.thresholds.condition / 2)
        return first or half.exceeded(then, seen)

    def _call(
        self, number: int, trees: TreeMemory, segments: Array, given: _Input, counted: PartitionCounts,
        rows: int = _ROWS,
    ) -> TreeCall:  # fmt: skip
        techniques = self.plan.techniques
        options = TreeOptions(
            techniques.propagation == "pull",
            self._passed_down(number, trees),
            techniques.candidate_windows,
            self.strict,
            self.plan.schema.points,
            not self.plan.reads_apart,
            given.chunk if self.thresholds is not None else 0,
        )
        tables = TreeTables(
            self.alternatives[number],
            self.programs[number],
            trees.shape,
            given.candidates,
            given.keys,
            options,
        )
        arrays = (given.data, given.ranks, given.reach)
        return TreeCall(tables, segments, *arrays, given.meter, counted, rows)

    def _passed_down(self, number: int, trees: TreeMemory) -> str | None:
        """Return the variable to which conditions with the triggering event are passed down, if any."""
        techniques, alternative = self.plan.techniques, self.alternatives[number]
        if techniques.propagation != "pull" or techniques.pass_down is False:
            return None
        shape, statistics = trees.shape, trees.statistics
        selectivities: dict[frozenset[str], float] = {}
        for condition in alternative.conditions:
            holds = statistics.selectivity(condition, self.texts[condition])
            selectivities[condition.variables] = selectivities.get(condition.variables, 1.0) * holds
        chosen = choose_pass_down(alternative, shape, statistics.rates, selectivities)
        if chosen is None and techniques.pass_down:
            return next(iter(passable(alternative, shape)), None)
        return chosen


def _added(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return one[0] + other[0], one[1] + other[1]


def _noted(memory: TreeMemory) -> dict[str, Any]:
    """Return the memory of an alternative as JSON values."""
    known = memory.statistics
    return {
        "shape": memory.shape,
        "rates": dict(known.rates),
        "selectivities": dict(known.selectivities),
        "window_rows": known.window_rows,
        "rows": known.rows,
        "usual": memory.usual,
    }


def _remembered(notes: Mapping[str, Any]) -> TreeMemory:
    """Return the memory of an alternative from JSON values."""
    usual = notes["usual"]
    statistics = Statistics(
        dict(notes["rates"]), dict(notes["selectivities"]), float(notes["window_rows"]), int(notes["rows"])
    )
    kept = None if usual is None else {str(text): float(share) for text, share in usual.items()}
    return TreeMemory(_shape(notes["shape"]), statistics, kept)


def _shape(noted: Any) -> Shape:
    """Return the shape of a tree, whose pairs are lists in JSON."""
    if isinstance(noted, str):
        return noted
    left, right = noted
    return _shape(left), _shape(right)
