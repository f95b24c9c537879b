"""What the engine's door does with a join tree: events into matches, a tree for each alternative.

A tree is planned from the statistics of the first chunk it reads, or those given.  After every chunk
rates and selectivities are looked at; if they have changed enough, and another tree is enough cheaper,
it is built from the rows of the last window and goes on where the old one stopped ([T] 3.5.5).  Every
match is found by the tree that reads its last event, so results do not depend on when that happens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fyke.engine.automaton.call import Feed
from fyke.engine.conditions.program import Program
from fyke.engine.kernels import layout as L
from fyke.engine.kernels.arrays import NUMBER, Array, Data
from fyke.engine.kernels.tree import layout as T
from fyke.engine.lazy.tables import Candidates, find_candidates
from fyke.engine.matchset import MatchSet, concat
from fyke.engine.measure.clock import Clock
from fyke.engine.measure.selectivity import Sample, draw_selectivities, in_windows, reach_of_rows
from fyke.engine.state import Counters
from fyke.engine.tree.call import TreeCall
from fyke.engine.tree.tables import RowKeys, TreeOptions, TreeTables
from fyke.language.ast import Strategy, WindowKind
from fyke.plan.adapt import Thresholds, better_tree
from fyke.plan.cost import CostModel
from fyke.plan.pass_down import choose_pass_down, passable
from fyke.plan.plan import Plan, reads_apart
from fyke.plan.search import best_tree
from fyke.plan.statistics import Statistics
from fyke.plan.tree_shape import Shape, orient, restrict

_CHUNK_WINDOWS, _LEAST_CHUNK, _ROWS = 8, 2_500, 256
_LOOK, _REBUILD = 3e6, 1e6  # nanoseconds: work between two looks at the statistics; what a new tree costs
_ENOUGH = 200  # decisions from which on a condition's selectivity is believed


@dataclass(frozen=True, slots=True)
class _Input:
    """What a call reads, the same for all alternatives and trees."""

    data: Data
    ranks: dict[str, int]
    candidates: Candidates
    reach: Array
    keys: RowKeys
    chunk: int


class TreeReader:
    """The join trees of a plan, behind the door of the engine; it remembers the trees, but no events."""

    def __init__(self, plan: Plan, programs: Sequence[Program], names: Sequence[str]) -> None:
        self.plan, self.programs, self.names = plan, programs, names
        form = plan.pushed.analysed.form
        self.alternatives = plan.pushed.alternatives
        self.texts = plan.pushed.texts
        self.strict = form.strategy is Strategy.STRICT
        self.kind = L.WINDOW_NONE
        if form.window is not None:
            self.kind = L.WINDOW_EVENTS if form.window.kind is WindowKind.EVENTS else L.WINDOW_TIME
        given = plan.techniques.thresholds
        fixed = plan.techniques.tree is not None or given is None
        self.thresholds = None if fixed or given is None else Thresholds(*given)
        self.shapes: dict[int, Shape] = {}
        self.statistics: dict[int, Statistics] = {}
        self.usual: dict[int, dict[str, float]] = {}  # how often conditions hold, as the current trees decide
        self.decided: dict[str, tuple[int, int]] = {}  # by condition: how often decided, and found to hold

    def read(
        self, feed: Feed, data: Data, ranks: dict[str, int], counters: Counters, clock: Clock
    ) -> MatchSet:
        """Return the matches whose last event is new."""
        roles = [program.roles[v.name] for program in self.programs for v in program.variables]
        window = min(self.plan.pushed.analysed.window or 0, 2**63 - 1)
        points = self.plan.pushed.analysed.schema.points
        # Numbers of events rise within a partition only.
        counted = self.kind == L.WINDOW_EVENTS and not reads_apart(self.plan)
        kind = L.WINDOW_NONE if counted else self.kind
        reach = reach_of_rows(data, feed.segments, kind, window, points=points)
        candidates, chunk = find_candidates(data, roles), self._chunk(feed, reach)
        given = _Input(data, ranks, candidates, reach, RowKeys(data), chunk)
        found = []
        for number in range(len(self.programs)):
            matches = self._search(number, feed.segments, given, counters, clock)
            variables = self.programs[number].variables
            numbering = np.array([self.names.index(v.name) for v in variables], NUMBER)
            found.append(
                replace(
                    matches,
                    variables=numbering[matches.variables],
                    alternative=np.full(len(matches), number, NUMBER),
                )
            )
        return concat(found)

    def _chunk(self, feed: Feed, reach: Array) -> int:
        """Return the rows between two looks at the statistics: some windows ([T] 3.5.5)."""
        if self.plan.techniques.chunk is not None:
            return self.plan.techniques.chunk
        if len(feed.segments) == 0:
            return _LEAST_CHUNK
        begin, end = int(feed.segments[0, 1]), int(feed.segments[0, 2])
        held = int(reach[L.REACH_END, begin]) - begin if begin < end else 0
        return max(_LEAST_CHUNK, _CHUNK_WINDOWS * held)

    def _search(
        self, number: int, segments: Array, given: _Input, counters: Counters, clock: Clock
    ) -> MatchSet:
        """Read all segments with one tree after the other."""
        clock.lap("search")
        if number not in self.shapes:
            self._begin(number, segments, given)
        call, found = self._call(number, segments, given), []
        seen, work = np.zeros_like(call.observed), 0.0
        clock.lap("plan")
        while not call.advance():
            if self.plan.techniques.chunk is None and call.work() - work < _LOOK:
                continue
            clock.lap("search")
            if self._replans(number, call, call.observed - seen, given, call.work() - work):
                counters.replans += 1
                self._finish(number, call, counters)
                found.append(call.result())
                call = self._call(number, call.left(), given, call.room())
                seen, work = np.zeros_like(call.observed), 0.0
            else:
                seen, work = call.observed.copy(), call.work()
            clock.lap("plan")
        self._finish(number, call, counters)
        return concat([*found, call.result()])

    def _finish(self, number: int, call: TreeCall, counters: Counters) -> None:
        """Take what a tree has counted."""
        counters.merge(call.counters())
        for k, condition in enumerate(self.alternatives[number].conditions):
            tried, held = self.decided.get(self.texts[condition], (0, 0))
            added = (tried + int(call.observed[k, 0]), held + int(call.observed[k, 1]))
            self.decided[self.texts[condition]] = added

    def _begin(self, number: int, segments: Array, given: _Input) -> None:
        """Plan the first tree from given statistics, or from the first chunk."""
        alternative, known = self.alternatives[number], self.plan.statistics
        first = int(segments[0, 1]) if len(segments) else 0
        end = min(first + max(given.chunk, _LEAST_CHUNK), given.data.events.shape[1])
        sample = Sample(given.data, given.candidates, given.reach, first, end)
        if known is None:
            techniques = self.plan.techniques
            fixed = techniques.tree is not None and techniques.pass_down is False
            drawn = {} if fixed else self._drawn(number, sample, given)
            known = Statistics(self._rates(number, sample), drawn, 0.0, end - first)
        self.statistics[number] = known
        names = [variable.name for variable in alternative.variables]
        asked = self.plan.techniques.tree
        shape = restrict(asked, names) if asked is not None else None
        if shape is None:
            shape = best_tree(self._model(number), pull=self.plan.techniques.propagation == "pull").shape
            assert shape is not None
        self.shapes[number] = orient(shape, alternative.order)

    def _model(self, number: int) -> CostModel:
        return CostModel(self.alternatives[number], self.statistics[number], self.texts)

    def _rates(self, number: int, sample: Sample) -> dict[str, float]:
        names = [variable.name for variable in self.alternatives[number].variables]
        roles = self.programs[number].roles
        return dict(zip(names, in_windows(sample, [roles[name] for name in names]), strict=True))

    def _drawn(self, number: int, sample: Sample, given: _Input) -> dict[str, float]:
        alternative, program = self.alternatives[number], self.programs[number]
        return draw_selectivities(alternative, program, sample, self.texts, given.keys)

    def _replans(self, number: int, call: TreeCall, decided: Array, given: _Input, spent: float) -> bool:
        """Look at what a tree has observed in its last chunk; say whether it is to be rebuilt.

        Unless chunks are given, a new tree must repay itself while as much is done as was ``spent`` since
        the last look.
        """
        if self.thresholds is None:
            return False
        end = int(call.cursor[T.AT_EVENT])
        sample = Sample(given.data, given.candidates, given.reach, max(0, end - given.chunk), end)
        rates, held = self._rates(number, sample), self._held(number, decided)
        if self.plan.techniques.chunk is None and not self._stirs(number, rates, held):
            return False
        # Decisions depend on those made before them, and so on the tree; pairs drawn at random do not.
        selectivities = {
            **self.statistics[number].selectivities,
            **held,
            **self._drawn(number, sample, given),
        }
        new = Statistics(rates, selectivities, 0.0, given.chunk)
        if not self.thresholds.exceeded(self.statistics[number], new):
            return False
        self.statistics[number] = new
        pull = self.plan.techniques.propagation == "pull"
        thresholds = self.thresholds
        if self.plan.techniques.chunk is None:
            thresholds = replace(thresholds, total=max(thresholds.total, _REBUILD / spent))
        shape = better_tree(self._model(number), self.shapes[number], thresholds, pull=pull)
        if shape is None:
            return False
        self.shapes[number] = shape
        self.usual.pop(number, None)
        return True

    def _held(self, number: int, decided: Array) -> dict[str, float]:
        """Return how often conditions held, of those that a tree has decided often enough."""
        conditions = enumerate(self.alternatives[number].conditions)
        return {
            self.texts[condition]: min(1.0, (int(decided[k, 1]) + 0.5) / int(decided[k, 0]))
            for k, condition in conditions
            if decided[k, 0] >= _ENOUGH
        }

    def _stirs(self, number: int, rates: Mapping[str, float], held: Mapping[str, float]) -> bool:
        """Say whether something may have changed, by what a tree decides anyway; drawing pairs takes longer.

        The first look at a tree always goes on to draw them: it is then known what is usual for this tree.
        """
        assert self.thresholds is not None
        known, usual = self.statistics[number], self.usual.get(number)
        first = usual is None
        self.usual[number] = {**held, **(usual or {})}
        seen, then = Statistics(rates, held), Statistics(known.rates, usual or {})
        half = replace(self.thresholds, condition=self.thresholds.condition / 2)
        return first or half.exceeded(then, seen)

    def _call(self, number: int, segments: Array, given: _Input, rows: int = _ROWS) -> TreeCall:
        techniques = self.plan.techniques
        options = TreeOptions(
            techniques.propagation == "pull",
            self._passed_down(number),
            techniques.candidate_windows,
            self.strict,
            self.plan.pushed.analysed.schema.points,
            not reads_apart(self.plan),
            given.chunk if self.thresholds is not None else 0,
        )
        tables = TreeTables(
            self.alternatives[number],
            self.programs[number],
            self.shapes[number],
            given.candidates,
            given.keys,
            options,
        )
        return TreeCall(tables, segments, given.data, given.ranks, given.reach, self.plan.limits, rows)

    def _passed_down(self, number: int) -> str | None:
        """Return the variable that conditions with the triggering event are passed down to, if any."""
        techniques, alternative = self.plan.techniques, self.alternatives[number]
        if techniques.propagation != "pull" or techniques.pass_down is False:
            return None
        shape, statistics = self.shapes[number], self.statistics[number]
        selectivities: dict[frozenset[str], float] = {}
        for condition in alternative.conditions:
            holds = statistics.selectivity(condition, self.texts[condition])
            selectivities[condition.variables] = selectivities.get(condition.variables, 1.0) * holds
        chosen = choose_pass_down(alternative, shape, statistics.rates, selectivities)
        if chosen is None and techniques.pass_down:
            return next(iter(passable(alternative, shape)), None)
        return chosen
