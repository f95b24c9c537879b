"""A clause as analysis leaves it: the nouns that engines and the reference work on.

A condition or measure is a :class:`RowValue`: a scalar expression over numbered inputs, each of which is one
value found by looking at rows of the match.  The scalar part has no navigation and no aggregate left in it:
its leaves are literals, references ``Reference("", ("$0",))`` to input 0 and so on, and, in measures,
``Call("match_number", ())``.  The same holds inside an input: its own expression is over the columns of
one row, ``Reference("", path)``, with ``Call("classifier", ())`` for that row's label.  What one row decides
is in one input as a whole: ``price > 10 AND name = 'a'`` is a single input of the current row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

import pyarrow as pa

from fyke.language.ast import Call, Expression, Reference, walk
from fyke.language.row_patterns import OrderItem, RowPattern, RowPatternQuery, Rows, SkipTo


class From(Enum):
    """Where the way to the row of an input starts."""

    CURRENT = "current row"  # DEFINE only: the row whose condition it is, always there
    FIRST = "first row"  # of the labels, among the rows that are seen
    LAST = "last row"  # of the labels, among the rows that are seen


@dataclass(frozen=True, slots=True)
class Located:
    """The value of an expression at one row; null if there is no such row.

    From the first or last seen row that has one of ``labels`` (None: any row of the match) go ``logical``
    rows on, or back, among the rows of these labels, then ``physical`` rows on (negative: back) in the
    partition, where the row may be outside the match.  ``labels`` is None and ``logical`` 0 from CURRENT.

    Seen are, in DEFINE, the rows up to and with the current one; in a measure the rows of the match up to and
    with the row that is put out, or with ``final`` all of them.  For one row per match the last row is put
    out, so both are the same.  The label of a row outside the match is null; in DEFINE rows behind the
    current one have no label yet, in a measure all rows of the match have theirs.
    """

    value: Expression
    type: pa.DataType
    start: From
    labels: frozenset[str] | None = None
    logical: int = 0
    physical: int = 0
    final: bool = False


@dataclass(frozen=True, slots=True)
class Aggregated:
    """An aggregate over the seen rows that have one of ``labels`` (None: any row of the match), in order.

    ``value`` is None for a count of rows.  Nulls are left out, except by array_agg, which keeps them.  Over
    no value count is 0, array_agg the empty list, and everything else null.
    """

    function: str
    value: Expression | None
    type: pa.DataType
    labels: frozenset[str] | None = None
    final: bool = False


Input = Located | Aggregated


@dataclass(frozen=True, slots=True)
class RowValue:
    """A condition or measure; ``expression`` is over :func:`input_name` of each of ``inputs``."""

    expression: Expression
    inputs: tuple[Input, ...]
    type: pa.DataType

    @property
    def of_neighbours(self) -> bool:
        """Whether a condition is decided by its row and rows at fixed distances, whatever was matched before.

        Then all inputs start from CURRENT and no label is asked for: one column, evaluated once per row.
        """
        return all(
            isinstance(each, Located) and each.start is From.CURRENT and not asks_for_label(each.value)
            for each in self.inputs
        )


def input_name(number: int) -> str:
    """Return the name that stands for an input in the expression of a :class:`RowValue`."""
    return f"${number}"


def asks_for_label(expression: Expression) -> bool:
    """Say whether an expression over one row needs the row's label."""
    return any(isinstance(node, Call) and node.function == "classifier" for node in walk(expression))


@dataclass(frozen=True, slots=True)
class RowOutputColumn:
    """A column of the result: measure number ``measure``, or the input column ``column`` of the row.

    For one row per match the input columns are those of PARTITION BY.  With neither it is what ``timeouts``
    adds: ``reached``, how many rows the match or attempt has, or ``status``, which of both it is.
    """

    name: str
    type: pa.DataType
    column: str | None = None
    measure: int | None = None


@dataclass(frozen=True, slots=True)
class AnalysedRowPattern:
    """All that an engine is told about a clause.

    ``conditions`` has the variables of DEFINE; any other variable is true of every row, and a condition that
    is null is false.  ``window`` is WITHIN in units of the first ORDER BY column (floored, inclusive), whose
    values at the first and last row differ by at most that; a row where this value is null is in no match.
    ``skip_labels`` are the labels that SKIP TO FIRST or LAST looks for.  Measures of rows in no match, which
    WITH UNMATCHED ROWS puts out, are null.  The measures of an empty match see no row; its own row, in ALL
    ROWS PER MATCH, has the columns of the row where it starts.

    With ``timeouts`` attempts that expire are told like matches, but without a number.
    """

    query: RowPatternQuery
    columns: Mapping[str, pa.DataType]
    pattern: RowPattern
    variables: tuple[str, ...]
    conditions: Mapping[str, RowValue]
    measures: tuple[RowValue, ...]
    partition: tuple[str, ...]
    order: tuple[OrderItem, ...]
    rows: Rows
    skip_to: SkipTo
    skip_labels: frozenset[str] | None
    window: int | None
    output: tuple[RowOutputColumn, ...]
    timeouts: bool = False

    @property
    def of_neighbours(self) -> bool:
        """Whether every condition is decided by its row and its neighbours: history plays no part."""
        return all(condition.of_neighbours for condition in self.conditions.values())

    @property
    def needed(self) -> tuple[str, ...]:
        """The input columns that conditions, measures, order and output need, in the order of the input."""
        values = (*self.conditions.values(), *self.measures)
        used = {*self.partition, *(item.column for item in self.order)}
        used |= {each.column for each in self.output if each.column is not None}
        for value in values:
            for each in value.inputs:
                used |= set(_columns(each.value)) if each.value is not None else set()
        return tuple(name for name in self.columns if name in used)

    @property
    def schema(self) -> pa.Schema:
        """The columns of the result."""
        return pa.schema([(each.name, each.type) for each in self.output])


def _columns(expression: Expression) -> Iterator[str]:
    for node in walk(expression):
        if isinstance(node, Reference):
            yield node.path[0]
