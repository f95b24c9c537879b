"""MATCH_RECOGNIZE on a table, naively: partitions, order, matches, rows of the result."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from fyke.language.row_patterns import OrderItem, RowPatternQuery, Rows
from fyke.logical.row_patterns.analyse import analyse_row_pattern
from fyke.logical.row_patterns.analysed import AnalysedRowPattern
from fyke.logical.row_patterns.check import RowNames
from fyke.reference.events import plain_table, ticks
from fyke.reference.expression import Functions
from fyke.reference.row_expressions import Row, RowEvaluator, Sight
from fyke.reference.row_patterns import RowMatch, RowSearch
from fyke.reference.types import typed_array
from fyke.reference.values import Value, compare

_Put = tuple[int, list[Value]]
"""A row of the result: a row of the input, and the values of the measures, of ``reached`` and ``status``."""


def match_rows_of(
    given: pa.Table, query: RowPatternQuery, functions: Functions, *, timeouts: bool = False
) -> pa.Table:
    """Return the result of a clause on a table, partition by partition in the order they first appear."""
    table = plain_table(given)
    columns = dict(zip(table.schema.names, table.schema.types, strict=True))
    arities = {name: function.__code__.co_argcount for name, function in functions.items()}
    analysed = analyse_row_pattern(query, columns, functions=arities, timeouts=timeouts)
    query = _spelled(query, columns)
    evaluator = RowEvaluator(query, columns, functions)
    rows = table.to_pylist()
    times = (
        ticks(table.column(analysed.order[0].column)) if analysed.window is not None else [None] * len(rows)
    )
    put: list[_Put] = []
    for positions in _partitions(rows, analysed.partition):
        ordered = _sorted(rows, positions, analysed.order)
        search = RowSearch(
            query,
            {each.variable: each.condition for each in query.define},
            evaluator,
            [rows[position] for position in ordered],
            [times[position] for position in ordered],
            analysed.window,
            partition_name(analysed.partition, rows[ordered[0]]),
            timeouts,
        )
        put += [(ordered[row], values) for row, values in _rows(search)]
    return _table(table, analysed, put)


def partition_name(columns: Sequence[str], row: Row) -> str:
    """Return what an error calls a partition."""
    values = ", ".join(f"{name} = {row[name]!r}" for name in columns)
    return f"of the partition {values}" if values else "of the input"


def _spelled(query: RowPatternQuery, columns: Mapping[str, pa.DataType]) -> RowPatternQuery:
    names = RowNames(query, columns)
    return replace(
        query,
        measures=tuple(replace(each, expression=names.spelled(each.expression)) for each in query.measures),
        define=tuple(replace(each, condition=names.spelled(each.condition)) for each in query.define),
    )


# --- partitions and order -------------------------------------------------------------------------


def _partitions(rows: Sequence[Row], columns: Sequence[str]) -> list[list[int]]:
    found: dict[Any, list[int]] = {}
    for position, row in enumerate(rows):
        found.setdefault(tuple(_alike(row[name]) for name in columns), []).append(position)
    return list(found.values())


def _alike(value: Value) -> Any:
    """Return what values have in common that are not distinct: NaN is NaN, and null is null."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return repr(value) if isinstance(value, (list, dict)) else value


def _sorted(rows: Sequence[Row], positions: list[int], order: Sequence[OrderItem]) -> list[int]:
    """Return positions in the order of ORDER BY; rows that it does not tell apart stay as they are."""

    def verdict(left: int, right: int) -> int:
        for item in order:
            one, other = rows[left][item.column], rows[right][item.column]
            if one is None or other is None:
                found = int(one is None) - int(other is None)
                found = -found if item.nulls_first else found
            else:
                found = compare(_listed(one), _listed(other)) * (-1 if item.descending else 1)
            if found:
                return found
        return 0

    return sorted(positions, key=functools.cmp_to_key(verdict))


def _listed(value: Value) -> Value:
    return [_listed(each) for each in value.values()] if isinstance(value, dict) else value


# --- rows of the result ---------------------------------------------------------------------------


def _rows(search: RowSearch) -> Iterator[_Put]:
    """Yield the rows that the matches of a partition put out."""
    query = search.query
    nothing: list[Value] = [None] * (len(query.measures) + 2)
    found = list(search.matches())
    if query.rows.per_match:
        for match in found:
            yield min(match.start, len(search.rows) - 1), _measures(search, match, len(match.labels))
        return
    matched = {row for match in found for row in range(match.start, match.end)}
    matched |= {match.start for match in found if not match.labels}
    free = [row for row in range(len(search.rows)) if row not in matched]
    done = 0
    for match in found:
        while query.rows is Rows.WITH_UNMATCHED and done < len(free) and free[done] < match.start:
            yield free[done], nothing
            done += 1
        yield from _rows_of(search, match)
    if query.rows is Rows.WITH_UNMATCHED:
        yield from ((row, nothing) for row in free[done:])


def _rows_of(search: RowSearch, match: RowMatch) -> Iterator[_Put]:
    if not match.labels and search.query.rows is not Rows.OMIT_EMPTY:
        yield match.start, _measures(search, match, 0)
    for number in range(len(match.labels)):
        if number not in match.excluded:
            yield match.start + number, _measures(search, match, number + 1)


def _measures(search: RowSearch, match: RowMatch, seen: int) -> list[Value]:
    sight = Sight(search.rows, match.start, match.labels, seen, match.number)
    values = [search.evaluator.value(each.expression, sight) for each in search.query.measures]
    return [*values, len(match.labels), "timeout" if match.number is None else "match"]


def _table(table: pa.Table, analysed: AnalysedRowPattern, put: Sequence[_Put]) -> pa.Table:
    rows = pa.array([row for row, _ in put], pa.int64())
    columns = []
    for column in analysed.output:
        if column.column is not None:
            columns.append(table.column(column.column).take(rows).cast(column.type))
        else:
            at = {"reached": -2, "status": -1}[column.name] if column.measure is None else column.measure
            columns.append(typed_array([values[at] for _, values in put], column.type))
    return pa.table(columns, schema=analysed.schema)
