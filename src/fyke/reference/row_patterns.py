"""The naive twin of MATCH_RECOGNIZE: all ways to match in preference order, of which the first is taken."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations

from fyke.errors import SkipError
from fyke.language.ast import Expression
from fyke.language.row_patterns import (
    Alternation,
    Anchor,
    Concatenation,
    Empty,
    Excluded,
    Permutation,
    Quantified,
    RowPattern,
    RowPatternQuery,
    Rows,
    SkipTo,
    Variable,
)
from fyke.reference.row_expressions import Row, RowEvaluator, Sight


@dataclass(frozen=True, slots=True)
class RowMatch:
    """A match from row ``start`` on: a label for each of its rows; ``excluded`` are numbers of rows.

    ``number`` is None of an attempt that expired.  ``at_end``: the way has passed ``$``, so no row
    follows; ``excluding``: it is inside an exclusion.
    """

    start: int
    labels: tuple[str, ...] = ()
    excluded: frozenset[int] = frozenset()
    number: int | None = 0
    at_end: bool = False
    excluding: bool = False

    @property
    def end(self) -> int:
        """The row behind the last one."""
        return self.start + len(self.labels)


@dataclass(frozen=True, slots=True)
class RowSearch:
    """One partition to be searched; ``times`` are the values that WITHIN is about, ``window`` its length.

    With ``timeouts`` a start without a match is told if the window, or the end of the rows, cut off a way
    that no row had contradicted: as far as the preferred one of these had come.
    """

    query: RowPatternQuery
    conditions: Mapping[str, Expression]
    evaluator: RowEvaluator
    rows: Sequence[Row]
    times: Sequence[int | None]
    window: int | None
    name: str = ""
    timeouts: bool = False
    cut_off: list[RowMatch] = field(default_factory=list)

    def matches(self) -> Iterator[RowMatch]:
        """Yield the matches of the partition in order, numbered from 1, and attempts that expired."""
        number = 0
        at = 0
        every = self.query.rows is Rows.MATCHES
        while at < len(self.rows):
            self.cut_off.clear()
            found = list(dict.fromkeys(self._ways(at))) if every else [*self._first(at)]
            for match in found:
                number += 1
                yield RowMatch(match.start, match.labels, match.excluded, number)
            if self.timeouts and not found and self.cut_off:
                yield replace(self.cut_off[0], number=None)
            at = at + 1 if every or not found else self._after(found[0])

    def _ways(self, start: int) -> Iterator[RowMatch]:
        """Yield all ways to match from a row: the same labels are the same match."""
        for way in self._walk(self.query.pattern, RowMatch(start)):
            yield RowMatch(start, way.labels)

    def _first(self, start: int) -> Iterator[RowMatch]:
        for way in self._walk(self.query.pattern, RowMatch(start)):
            yield way
            return

    def _after(self, match: RowMatch) -> int:
        """Return the row where the search goes on."""
        skip = self.query.skip
        if not match.labels or skip.to is SkipTo.NEXT_ROW:
            return match.start + 1
        if skip.variable is None:
            return match.end
        wanted = self.query.labels(skip.variable)
        rows = [match.start + k for k, label in enumerate(match.labels) if label in wanted]
        written = f"{skip.to.value} {skip.variable}"
        if not rows:
            raise SkipError.missing(written, self.name)
        target = rows[0] if skip.to is SkipTo.FIRST else rows[-1]
        if target == match.start:
            raise SkipError.stays(written, self.name)
        return target

    # --- preference order -----------------------------------------------------------------------

    def _walk(self, node: RowPattern, way: RowMatch) -> Iterator[RowMatch]:
        """Yield the ways in which a way goes on through a part of the pattern, the preferred one first."""
        match node:
            case Variable():
                if self._takes(node.name, way):
                    excluded = {len(way.labels)} if way.excluding else set[int]()
                    labels = (*way.labels, node.name)
                    yield replace(way, labels=labels, excluded=way.excluded | excluded)
            case Empty():
                yield way
            case Anchor():
                if way.end == (0 if node.start else len(self.rows)):
                    yield way if node.start else replace(way, at_end=True)
            case Concatenation():
                yield from self._sequence(node.parts, way)
            case Alternation():
                for part in node.parts:
                    yield from self._walk(part, way)
            case Permutation():
                for order in permutations(node.parts):
                    yield from self._sequence(order, way)
            case Quantified():
                yield from self._repeat(node, way, 0)
            case Excluded():
                for further in self._walk(node.part, replace(way, excluding=True)):
                    yield replace(further, excluding=way.excluding)

    def _sequence(self, parts: Sequence[RowPattern], way: RowMatch) -> Iterator[RowMatch]:
        if not parts:
            yield way
            return
        for further in self._walk(parts[0], way):
            yield from self._sequence(parts[1:], further)

    def _repeat(self, node: Quantified, way: RowMatch, count: int) -> Iterator[RowMatch]:
        enough = count >= node.minimum
        if enough and not node.greedy:
            yield way
        if node.maximum is None or count < node.maximum:
            for further in self._walk(node.part, way):
                if enough and further.end == way.end:
                    yield further  # a repetition that takes no row ends the loop
                else:
                    yield from self._repeat(node, further, count + 1)
        if enough and node.greedy:
            yield way

    def _takes(self, variable: str, way: RowMatch) -> bool:
        """Say whether the next row can have a label."""
        row = way.end
        if row >= len(self.rows) or not self._is_within(way.start, row):
            if way.labels and not way.at_end and not self.cut_off:
                self.cut_off.append(way)
            return False
        if variable not in self.conditions:
            return True
        labels = (*way.labels, variable)
        sight = Sight(self.rows, way.start, labels, len(labels), 0)
        return self.evaluator.value(self.conditions[variable], sight) is True

    def _is_within(self, first: int, last: int) -> bool:
        if self.window is None:
            return True
        start, end = self.times[first], self.times[last]
        return start is not None and end is not None and abs(end - start) <= self.window
