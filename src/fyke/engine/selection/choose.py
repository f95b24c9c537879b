"""Which matches of the positive part are reported: robust selection, absences, union of alternatives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fyke.engine.compiled import CompiledQuery
from fyke.engine.feed import Feed
from fyke.engine.kernels.arrays import NUMBER, Array
from fyke.engine.matchset import MatchSet
from fyke.engine.searcher import Searcher
from fyke.engine.selection.absences import absences_left, without_absent
from fyke.engine.selection.complete import in_complete_windows
from fyke.engine.selection.robust import robust_matches
from fyke.engine.selection.union import repeated_matches
from fyke.language.ast import Strategy
from fyke.plan.open_absences import open_sides

_ROBUST_BYTES = 80  # of a match, while robust ones are chosen from all


class Chooser:
    """Chooses among the matches that a searcher has found."""

    def __init__(self, compiled: CompiledQuery, searcher: Searcher) -> None:
        plan = compiled.plan
        self.plan = plan
        self.programs = searcher.programs
        by_search = plan.techniques.robust == "backtracking"  # the search itself selects them
        self.picks_robust = plan.strategy is Strategy.ROBUST and not by_search
        self.left = [
            absences_left(program, searcher.decided_early(number))
            for number, program in enumerate(self.programs)
        ]
        complete = plan.complete_windows
        self.open = [open_sides(each) if complete else (False, False) for each in plan.alternatives]
        self.local = [np.full(len(compiled.names), -1, NUMBER) for _ in self.programs]
        for numbers, program in zip(self.local, self.programs, strict=True):
            numbers[compiled.numbering(program)] = np.arange(program.positives)

    def choose(self, matches: MatchSet, feed: Feed) -> MatchSet:
        """Return the matches that are reported.

        Raises
        ------
        LimitReached
        """
        chosen = self.picks_robust or len(self.left[0]) or any(self.open[0])
        if len(self.programs) == 1 and not chosen:
            return matches
        keep = np.ones(len(matches), bool)
        for number in range(len(self.programs)):
            mine = np.flatnonzero(matches.alternative == number)
            if len(mine):
                keep[mine] = self._chosen(number, matches.select(mine), feed)
        if not keep.all():
            matches = matches.select(keep)
        if len(self.programs) > 1 and len(matches):
            matches = matches.select(~repeated_matches(matches))
        return matches

    def _chosen(self, number: int, matches: MatchSet, feed: Feed) -> Array:
        """Say which matches of an alternative are reported."""
        if self.picks_robust:
            feed.meter.hold("robust", _ROBUST_BYTES * len(matches), int(matches.positions[0]), "matches")
            chosen = robust_matches(matches)
            feed.meter.release("robust")
        else:
            chosen = np.ones(len(matches), bool)
        ahead, back = self.open[number]
        if ahead or back:
            chosen &= in_complete_windows(self.plan, matches, feed, ahead=ahead, back=back)
        if len(self.left[number]):
            own = replace(matches, variables=self.local[number][matches.variables])
            chosen &= without_absent(
                self.programs[number], self.left[number], own, feed.segments, feed.data, feed.ranks,
                feed.meter,
            )  # fmt: skip
        return chosen
