"""What the engine's door does with a join tree: events into matches, a tree for each alternative."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fyke.engine.automaton import Feed
from fyke.engine.join_tree import TreeCall
from fyke.engine.kernels import layout as L
from fyke.engine.kernels.arrays import Array, Data
from fyke.engine.lazy_tables import Candidates, find_candidates, find_reach
from fyke.engine.matchset import MatchSet, concat
from fyke.engine.program import Program
from fyke.engine.state import Counters
from fyke.engine.tree_tables import RowKeys, TreeOptions, TreeTables
from fyke.language.ast import Strategy, WindowKind
from fyke.plan.pass_down import passable
from fyke.plan.plan import Plan, reads_apart
from fyke.plan.tree_shape import Shape, in_sequence, left_deep, orient, restrict


class TreeReader:
    """The join trees of a plan, behind the door of the engine."""

    def __init__(self, plan: Plan, programs: Sequence[Program], names: Sequence[str]) -> None:
        self.plan, self.programs, self.names = plan, programs, names
        form = plan.pushed.analysed.form
        self.alternatives = plan.pushed.alternatives
        self.strict = form.strategy is Strategy.STRICT
        self.kind = L.WINDOW_NONE
        if form.window is not None:
            self.kind = L.WINDOW_EVENTS if form.window.kind is WindowKind.EVENTS else L.WINDOW_TIME

    def read(self, feed: Feed, data: Data, ranks: dict[str, int], counters: Counters) -> MatchSet:
        """Return the matches whose last event is new."""
        roles = [program.roles[v.name] for program in self.programs for v in program.variables]
        candidates = find_candidates(data, roles)
        window = min(self.plan.pushed.analysed.window or 0, 2**63 - 1)
        points = self.plan.pushed.analysed.schema.points
        # Numbers of events rise within a partition only.
        counted = self.kind == L.WINDOW_EVENTS and not reads_apart(self.plan)
        kind = L.WINDOW_NONE if counted else self.kind
        reach = find_reach(data, feed.segments, kind, window, points)
        found = []
        for number in range(len(self.programs)):
            matches = self._search(number, feed.segments, data, ranks, candidates, reach, counters)
            numbering = np.array(
                [self.names.index(v.name) for v in self.programs[number].variables], np.int64
            )
            found.append(
                replace(
                    matches,
                    variables=numbering[matches.variables],
                    alternative=np.full(len(matches), number, np.int64),
                )
            )
        return concat(found)

    def _search(
        self,
        number: int,
        segments: Array,
        data: Data,
        ranks: dict[str, int],
        candidates: Candidates,
        reach: Array,
        counters: Counters,
    ) -> MatchSet:
        techniques = self.plan.techniques
        shape = self._shape(number)
        options = TreeOptions(
            techniques.propagation == "pull",
            self._passed_down(number, shape),
            techniques.candidate_windows,
            self.strict,
            self.plan.pushed.analysed.schema.points,
            not reads_apart(self.plan),
            0,
        )
        tables = TreeTables(
            self.alternatives[number], self.programs[number], shape, candidates, RowKeys(data), options
        )
        call = TreeCall(tables, segments, data, ranks, reach, self.plan.limits)
        while not call.advance():
            pass
        counters.merge(call.counters())
        return call.result()

    def _shape(self, number: int) -> Shape:
        """Return the tree of an alternative: the one asked for, or left-deep."""
        alternative = self.alternatives[number]
        names = [variable.name for variable in alternative.variables]
        given = self.plan.techniques.tree
        shape = restrict(given, names) if given is not None else None
        if shape is None:
            shape = left_deep(in_sequence(names, alternative.order))
        return orient(shape, alternative.order)

    def _passed_down(self, number: int, shape: Shape) -> str | None:
        """Return the variable that conditions with the triggering event are passed down to, if any."""
        techniques = self.plan.techniques
        if techniques.propagation != "pull" or not techniques.pass_down:
            return None
        found = passable(self.alternatives[number], shape)
        return found[0] if found else None
