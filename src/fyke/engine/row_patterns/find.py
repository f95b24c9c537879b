"""The matches in ordered rows: stretches searched side by side, and put together.

A match is determined by the row it starts from.  So a piece of a long partition can be searched from its
first row on, as if no match came into it from the piece before: if one does, the search goes on behind that
match only until it comes to a row from which the piece was searched, too.  The pass back over nodes is put
together in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from fyke.engine.kernels.arrays import Array
from fyke.engine.limits import LimitReached
from fyke.engine.meter import Budget, Meter
from fyke.engine.row_patterns.matches import RowMatches, all_of
from fyke.engine.row_patterns.neighbours import RowColumns
from fyke.engine.row_patterns.node_search import NodeRows, NodeSearch
from fyke.engine.row_patterns.open_search import telling_search
from fyke.engine.row_patterns.order import OrderedRows
from fyke.engine.row_patterns.search import RowSearch, SkipsNowhere, search_of
from fyke.engine.row_patterns.stretches import Stretch
from fyke.engine.threads import Team
from fyke.plan.row_patterns.plan import RowPlan

_TRIES = 32  # walks behind a match from before, until the rest of a piece is searched anew


@dataclass(slots=True)
class _Searched:
    """A stretch with its search, and the matches it found; None: from a row that is no start, maybe."""

    stretch: Stretch
    search: RowSearch
    offset: int
    matches: RowMatches | None

    def again(self, first: int, last: int) -> RowMatches:
        """Return the matches that start from some rows of the stretch, found anew."""
        with _moved(self.offset):
            return self.search.matches(first - self.offset, last - self.offset).moved(self.offset)


class Finder:
    """Finds the matches of a plan in the stretches of ordered rows."""

    def __init__(self, plan: RowPlan, ordered: OrderedRows, budget: Budget, team: Team) -> None:
        self.plan, self.ordered, self.budget, self.team = plan, ordered, budget, team

    def matches(self, stretches: list[Stretch]) -> list[RowMatches]:
        """Return the matches of each stretch.

        Raises
        ------
        LimitReached, SkipsNowhere
        """
        if self.plan.nodes is None:
            searches = self.team.each(self._search, stretches)
        else:
            rows = NodeRows(self.plan, self.ordered, self.team)
            for _ in self.team.each(lambda each: self._mark(rows, each), stretches):
                pass
            for stretch, behind in zip(reversed(stretches[:-1]), reversed(stretches[1:]), strict=True):
                if behind.joins:
                    rows.mark_part(stretch.first, stretch.last, again=True)
            searches = self.team.each(lambda each: self._walk(rows, each), stretches)
        found: list[RowMatches] = []
        goes_on = 0
        for searched in searches:
            made = _joined(searched, goes_on) if searched.stretch.joins else searched.matches
            assert made is not None
            with _moved(searched.stretch.first):
                searched.search.meter.end()
            found.append(made)
            goes_on = max(goes_on, made.goes_on)
        return found

    # --- conditions as symbols ------------------------------------------------------------------------

    def _mark(self, rows: NodeRows, stretch: Stretch) -> None:
        if self.budget.stopped:
            return
        rows.write_symbols(stretch)
        if stretch.piece:
            rows.mark_part(stretch.first, stretch.last, again=False)
        else:
            rows.mark(self._segments(stretch))

    def _walk(self, rows: NodeRows, stretch: Stretch) -> _Searched:
        search = NodeSearch(self.plan, rows, self._segments(stretch), self._meter(stretch))
        return self._searched(stretch, search, 0)

    def _segments(self, stretch: Stretch) -> Array:
        """Return the partitions of a stretch, or the one that it is a piece of."""
        segments = self.ordered.segments
        first = int(np.searchsorted(segments, stretch.first, "right")) - 1
        last = int(np.searchsorted(segments, stretch.last, "left"))
        return segments[first : last + 1]

    # --- other searches -------------------------------------------------------------------------------

    def _search(self, stretch: Stretch) -> _Searched:
        columns = RowColumns(self.ordered.part(stretch.begin, stretch.end))
        with _moved(stretch.begin):
            search = self._search_of(stretch, columns)
        return self._searched(stretch, search, stretch.begin)

    def _search_of(self, stretch: Stretch, columns: RowColumns) -> RowSearch:
        meter = self._meter(stretch)
        if not self.plan.analysed.timeouts:
            return search_of(self.plan, columns, meter)
        first, last = stretch.first - stretch.begin, stretch.last - stretch.begin
        return telling_search(self.plan, columns, meter, first, last)

    def _searched(self, stretch: Stretch, search: RowSearch, offset: int) -> _Searched:
        searched = _Searched(stretch, search, offset, None)
        try:
            first = stretch.first if stretch.piece else 0
            searched.matches = searched.again(max(first, offset), stretch.last)
        except SkipsNowhere:
            if not stretch.joins:
                raise
        return searched

    def _meter(self, stretch: Stretch) -> Meter:
        name = f"partition {stretch.partition}" if stretch.piece else None
        return Meter(self.plan.limits, stretch.last - stretch.first, self.budget, name)


def _joined(searched: _Searched, goes_on: int) -> RowMatches:
    """Return the matches of a piece whose partition is searched up to row ``goes_on``."""
    stretch, known = searched.stretch, searched.matches
    if known is None:
        return searched.again(max(goes_on, stretch.first), stretch.last)
    if goes_on <= stretch.first:
        return known
    found = [replace(known.part(0, 0), steps=known.steps, evaluations=known.evaluations)]
    tries = 0
    while goes_on < stretch.last:
        number = int(np.searchsorted(known.begins, goes_on))
        stop = int(known.begins[number]) if number < len(known) and tries < _TRIES else stretch.last
        if goes_on < stop:
            found.append(searched.again(goes_on, stop))
            goes_on = max(found[-1].goes_on, goes_on)
        if goes_on <= stop < stretch.last:
            found.append(known.part(number, len(known)))
            goes_on = known.goes_on
            break
        tries += 1
    return replace(all_of(found), goes_on=goes_on)


@contextmanager
def _moved(by: int) -> Iterator[None]:
    """Tell of rows of a part by their places in the whole."""
    try:
        yield
    except LimitReached as reached:
        reached.row += by
        raise
    except SkipsNowhere as nowhere:
        raise SkipsNowhere(nowhere.row + by, stays=nowhere.stays) from None
