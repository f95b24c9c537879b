"""A clause and the columns of its rows to an :class:`AnalysedRowPattern`: checked, typed, resolved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa

from fyke.errors import (
    OutputNameError,
    Place,
    TypeClashError,
    UnsupportedQueryError,
    WindowError,
    WindowUnitError,
)
from fyke.language.ast import Reference, WindowKind, walk
from fyke.language.row_patterns import Definition, OrderItem, RowPatternQuery
from fyke.language.unparse import unparse_expression, unparse_window
from fyke.logical.funnel import REACHED, STATUS
from fyke.logical.kinds import FUNCTIONS
from fyke.logical.row_patterns.analysed import AnalysedRowPattern, RowOutputColumn, RowValue
from fyke.logical.row_patterns.check import RowChecker, RowNames
from fyke.logical.row_patterns.lower import is_across, lower
from fyke.logical.schema import DAY, NANOSECONDS, orderable
from fyke.logical.scope import InferType


def analyse_row_pattern(
    query: RowPatternQuery,
    columns: Mapping[str, pa.DataType],
    infer: InferType | None = None,
    functions: Mapping[str, int] | None = None,
    *,
    timeouts: bool = False,
) -> AnalysedRowPattern:
    """Check a clause against the columns of its rows.

    ``infer`` asks the input's SQL dialect for the type of a function Fyke does not know, ``functions`` are
    the user's functions with their number of arguments.  With ``timeouts`` attempts that expire are told.

    Raises
    ------
    QueryError
        One of its subclasses, with the place in the clause.
    """
    names = RowNames(query, columns)
    partition = _partition(query, names)
    order = _order(query, names)
    conditions = {}
    for definition in query.define:
        conditions[definition.variable] = _condition(definition, names, infer, functions)
    checker = RowChecker(names, returning=True, infer=infer, functions=functions)
    measures = []
    for measure in query.measures:
        expression = names.spelled(measure.expression)
        checker.kind(expression)
        measures.append(lower(expression, names, None, infer, functions))
    skip = query.skip
    output = _output(query, columns, partition, order, measures)
    return AnalysedRowPattern(
        query,
        columns,
        query.pattern,
        query.variables,
        conditions,
        tuple(measures),
        partition,
        order,
        query.rows,
        skip.to,
        None if skip.variable is None else query.labels(skip.variable),
        _window(query, order, columns),
        (*output, *_attempt_columns(query, output)) if timeouts else output,
        timeouts,
    )


def _condition(
    definition: Definition, names: RowNames, infer: InferType | None, functions: Mapping[str, int] | None
) -> RowValue:
    expression = names.spelled(definition.condition)
    RowChecker(names, returning=False, infer=infer, functions=functions).condition(expression)
    value = lower(expression, names, definition.variable, infer, functions)
    if not value.of_neighbours:
        _check_across(definition, value, names)
    return value


def _check_across(definition: Definition, value: RowValue, names: RowNames) -> None:
    """Check that what must be evaluated while a match is searched, over rows that it has found, can be."""
    for node in walk(value.expression):
        if not is_across(node) and any(isinstance(inner, Reference) for inner in walk(node)):  # type: ignore[arg-type]
            across = sorted(name for name, function in FUNCTIONS.items() if function.across)
            raise UnsupportedQueryError(
                f"the condition of {definition.variable} has an operation over several rows of the match "
                "that is for the columns of one row",
                place=definition.condition.place,
                text=names.query.text,
                remedy=f"Over several rows there are arithmetic, comparisons and {', '.join(across)}.",
            )


# --- PARTITION BY, ORDER BY, WITHIN ---------------------------------------------------------------


def _partition(query: RowPatternQuery, names: RowNames) -> tuple[str, ...]:
    places: tuple[Place | None, ...] = query.partition_places or (None,) * len(query.partition)
    found: dict[str, None] = {}
    for name, place in zip(query.partition, places, strict=True):
        column = names.column(name, "PARTITION BY", place)
        _check_orderable(column, names, "PARTITION BY", place)
        found[column] = None
    return tuple(found)


def _order(query: RowPatternQuery, names: RowNames) -> tuple[OrderItem, ...]:
    found = []
    for item in query.order:
        column = names.column(item.column, "ORDER BY", item.place)
        _check_orderable(column, names, "ORDER BY", item.place)
        found.append(replace(item, column=column))
    return tuple(found)


def _check_orderable(column: str, names: RowNames, clause: str, place: Place | None) -> None:
    kind = names.columns[column]
    if not orderable(kind):
        raise TypeClashError(
            f"{clause} needs values that can be compared, but {column!r} is {kind}",
            place=place,
            text=names.query.text,
            remedy="Name columns of numbers, strings or times.",
        )


def _window(
    query: RowPatternQuery, order: tuple[OrderItem, ...], columns: Mapping[str, pa.DataType]
) -> int | None:
    window = query.window
    if window is None:
        return None
    written = unparse_window(window)
    if not order:
        raise WindowError(
            f"WITHIN {written} is about the first column of ORDER BY, and there is none",
            place=window.place,
            text=query.text,
            remedy="Add ORDER BY with a column of times, or leave WITHIN out.",
        )
    name, kind = order[0].column, columns[order[0].column]
    unit = NANOSECONDS[kind.unit] if pa.types.is_timestamp(kind) else DAY if pa.types.is_date(kind) else None
    if unit is None and not pa.types.is_integer(kind):
        raise WindowUnitError(
            f"WITHIN needs an ORDER BY column of times or whole numbers, but {name!r} is {kind}",
            place=window.place,
            text=query.text,
            remedy="Order by a timestamp, a date or an integer first.",
        )
    if (unit is None) == (window.kind is WindowKind.DURATION):
        has = "is a length of time" if unit is None else "has no unit"
        measures = "is a plain number" if unit is None else "measures time"
        raise WindowUnitError(
            f"WITHIN {written} {has}, but {name!r} {measures}",
            place=window.place,
            text=query.text,
            remedy="Write WITHIN 10 for whole numbers, WITHIN INTERVAL '10' MINUTE for times.",
        )
    return window.amount if unit is None else window.amount // unit


# --- the result -----------------------------------------------------------------------------------


def _output(
    query: RowPatternQuery,
    columns: Mapping[str, pa.DataType],
    partition: tuple[str, ...],
    order: tuple[OrderItem, ...],
    measures: list[RowValue],
) -> tuple[RowOutputColumn, ...]:
    first = dict.fromkeys(partition)
    rest: list[str] = []
    if not query.rows.per_match:
        first |= dict.fromkeys(item.column for item in order)
        rest = [name for name in columns if name not in first]
    taken = {name.lower(): name for name in (*first, *rest)}
    made = []
    for number, (measure, value) in enumerate(zip(query.measures, measures, strict=True)):
        column = taken.get(measure.name.lower())
        if column is not None:
            raise OutputNameError(
                f"the measure {measure.name!r} would have the name of the column {column!r}",
                place=measure.place,
                text=query.text,
                remedy=f"Rename it, as in {unparse_expression(measure.expression)} AS {measure.name}_2.",
            )
        made.append(RowOutputColumn(measure.name, value.type, measure=number))
    copied = {name: RowOutputColumn(name, columns[name], column=name) for name in (*first, *rest)}
    return (*(copied[name] for name in first), *made, *(copied[name] for name in rest))


def _attempt_columns(
    query: RowPatternQuery, output: tuple[RowOutputColumn, ...]
) -> tuple[RowOutputColumn, RowOutputColumn]:
    """Return the columns that tell matches from attempts that expired."""
    made = RowOutputColumn(REACHED, pa.int64()), RowOutputColumn(STATUS, pa.string())
    taken = {column.name.lower(): column.name for column in output}
    for column in made:
        if column.name in taken:
            raise OutputNameError(
                f"timeouts adds the column {column.name!r}, and the result has {taken[column.name]!r}",
                text=query.text,
                remedy="Rename the measure or the column of the rows.",
            )
    return made
