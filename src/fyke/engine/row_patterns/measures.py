"""What measures see of the rows of a match: values found in rows, aggregates, labels, numbers of matches."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from fyke.engine.conditions.columns import Column, cast
from fyke.engine.conditions.evaluate import evaluate
from fyke.engine.kernels.arrays import Array
from fyke.engine.kernels.row_patterns.labels import locate, number_matches
from fyke.engine.output.aggregates import grouped
from fyke.engine.row_patterns.matches import RowMatches
from fyke.engine.row_patterns.order import OrderedRows
from fyke.language.ast import Call, Expression, Reference
from fyke.logical.kinds import COLLECT
from fyke.logical.row_patterns.analysed import Aggregated, From, Input, Located
from fyke.plan.row_patterns.plan import RowPlan

Labels = frozenset[str] | None


@dataclass(frozen=True, slots=True)
class Sights:
    """From where measures look: a match each, and how many of its rows are seen."""

    matches: Array
    seen: Array


@dataclass(frozen=True, slots=True)
class _Members:
    """The rows of some labels among the rows of all matches.

    ``at`` are their places among these rows; ``before`` says of each place how many are in front of it.
    """

    at: Array
    before: Array


class Measures:
    """Evaluates inputs of measures, each once."""

    def __init__(
        self, plan: RowPlan, ordered: OrderedRows, matches: RowMatches, sights: Sights, before: int
    ) -> None:
        self.plan, self.ordered, self.matches, self.sights = plan, ordered, matches, sights
        self.before = before  # matches of the first partition that are not among these
        self.begins = matches.begins[sights.matches]
        self._members: dict[Labels, _Members] = {}
        self._inputs: dict[Input, pa.Array] = {}

    @cached_property
    def firsts(self) -> Array:
        """Where the rows of each sight's match begin among the rows of all matches."""
        firsts: Array = self.matches.offsets[:-1][self.sights.matches]
        return firsts

    def input(self, each: Input) -> pa.Array:
        """Return an input for each sight."""
        if each not in self._inputs:
            value = self._located(each) if isinstance(each, Located) else self._aggregated(each)
            self._inputs[each] = cast(value, each.type)
        return self._inputs[each]

    def match_numbers(self) -> pa.Array:
        """Return the number of each sight's match in its partition, from 1; null if it has expired."""
        matches, numbers = self.matches, self.matches.numbers
        if numbers is None:
            numbers = np.zeros(len(matches), np.int64)
            numbers[matches.numbered] = self._counted(matches.begins[matches.numbered])
        expired = None if matches.expired is None else matches.expired[self.sights.matches]
        return pa.array(numbers[self.sights.matches], pa.int64(), mask=expired)

    def _counted(self, begins: Array) -> Array:
        """Return the numbers of matches that begin at some rows."""
        numbers, segments = np.zeros(len(begins), np.int64), self.ordered.segments
        if len(begins):
            segment = int(np.searchsorted(segments, begins[0], "right")) - 1
            number_matches(begins, segments, segment, self.before, numbers)
        return numbers

    # --- rows ---------------------------------------------------------------------------------------

    def _seen(self, each: Input) -> Array:
        return self.matches.lengths[self.sights.matches] if each.final else self.sights.seen

    def _label_numbers(self) -> Array:
        """Return the labels of the rows of all matches, by number."""
        assert self.matches.states is not None
        return np.array(self.plan.automaton.labels, np.int64)[self.matches.states]

    def _members_of(self, labels: frozenset[str]) -> _Members:
        if labels not in self._members:
            wanted = np.array([name in labels for name in self.plan.analysed.variables])
            inside = wanted[self._label_numbers()]
            self._members[labels] = _Members(
                np.flatnonzero(inside), np.concatenate(([0], np.cumsum(inside)))
            )  # fmt: skip
        return self._members[labels]

    def _range(self, each: Input) -> tuple[Array, Array]:
        """Return, among the rows of the labels (or of all matches), from where to where each sight sees."""
        seen = self.firsts + self._seen(each)
        if each.labels is None:
            return self.firsts, seen
        before = self._members_of(each.labels).before
        return before[self.firsts], before[seen]

    def _rows_at(self, places: Array, labels: Labels, owner: Array | None = None) -> Array:
        """Return the rows at places among the rows of labels; ``owner`` is the sight of each."""
        at = places if labels is None else self._members_of(labels).at[places]
        begins, firsts = self.begins, self.firsts
        rows: Array = at + (begins - firsts if owner is None else (begins - firsts)[owner])
        return rows

    def _located(self, each: Located) -> pa.Array:
        if self.plan.analysed.rows.per_match and len(self.begins):
            if each.labels is not None:
                rows = self._located_by_label(each)
                return self._moved(each, rows, rows >= 0)
            from_first = each.start is From.FIRST
            rows = self.begins + each.logical if from_first else self.matches.ends - 1 - each.logical
            return self._moved(each, rows, self.matches.lengths > each.logical)
        low, high = self._range(each)
        places = low + each.logical if each.start is From.FIRST else high - 1 - each.logical
        there = (places >= low) & (places < high)
        if not len(there):
            return self._values(each.value, np.zeros(0, np.int64), there, there)
        rows = self._rows_at(np.where(there, places, 0), each.labels) if there.any() else places * 0
        return self._moved(each, rows, there)

    def _located_by_label(self, each: Located) -> Array:
        """Return, for each match, the row that an input starts from; -1 if there is none."""
        assert each.labels is not None
        assert self.matches.states is not None
        names = self.plan.analysed.variables
        wanted = np.array([names[label] in each.labels for label in self.plan.automaton.labels], np.uint8)
        rows = np.empty(len(self.begins), np.int64)
        begins, ends = self.matches.begins, self.matches.ends
        forward = each.start is From.FIRST
        locate(self.matches.states, wanted, begins, ends, forward, each.logical, rows)
        return rows

    def _moved(self, each: Located, rows: Array, there: Array) -> pa.Array:
        """Return an input at the rows it starts from, where these are ``there``."""
        if each.physical:
            rows = rows + each.physical
            segments = self.ordered.segments
            segment = np.searchsorted(segments, self.begins, "right") - 1
            there = there & (rows >= segments[segment]) & (rows < segments[segment + 1])
        rows = rows if there.all() else np.where(there, rows, 0)
        return self._values(each.value, rows, there, np.arange(len(rows)))

    def _values(self, expression: Expression, rows: Array, there: Array, owner: Array) -> pa.Array:
        """Return an expression over one row in the rows of some sights, null where none is ``there``."""
        everywhere = bool(there.all())
        at = pa.array(rows, mask=None if everywhere else ~there)

        def resolve(node: Expression) -> Column | None:
            if isinstance(node, Reference):
                return self.ordered.field(node.path, at)
            assert isinstance(node, Call)
            return self._labels_at(rows, there, owner) if node.function == "classifier" else None

        value = evaluate(expression, resolve)
        if not isinstance(value, pa.Array):
            value = pa.repeat(value, len(rows))
        if everywhere or isinstance(expression, Reference):
            return value
        return value.take(pa.array(np.arange(len(rows)), mask=~there))

    def _labels_at(self, rows: Array, there: Array, owner: Array) -> pa.Array:
        """Return the labels of rows in the matches of their sights, null outside of them."""
        names = pa.array(self.plan.analysed.variables, pa.string())
        places = rows - self.begins[owner]
        inside = there & (places >= 0) & (places < self.matches.lengths[self.sights.matches][owner])
        if not inside.any():
            return pa.nulls(len(rows), pa.string())
        numbers = self._label_numbers()[np.where(inside, self.firsts[owner] + places, 0)]
        return names.take(pa.array(numbers, mask=~inside))

    # --- aggregates -----------------------------------------------------------------------------------

    def _aggregated(self, each: Aggregated) -> pa.Array:
        if each.value is None and each.labels is None:
            return pa.array(self._seen(each), pa.int64())
        low, high = self._range(each)
        if each.value is None:
            return pa.array(high - low, pa.int64())
        lengths = high - low
        owner = np.repeat(np.arange(len(lengths)), lengths)
        ends = np.cumsum(lengths)
        places = np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(low - (ends - lengths), lengths)
        rows = self._rows_at(places, each.labels, owner) if len(places) else places
        values = self._values(each.value, rows, np.ones(len(rows), bool), owner)
        collects = each.function == "array_agg"
        found = grouped(COLLECT if collects else each.function, values, owner, len(lengths))
        if collects and found.null_count:
            return _with_empty_lists(found)
        return found.fill_null(0) if each.function == "count" else found


def _with_empty_lists(lists: pa.Array) -> pa.Array:
    """Return lists, empty ones where they are null."""
    offsets = np.concatenate(
        ([0], np.cumsum(lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)))
    )
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), lists.flatten())
