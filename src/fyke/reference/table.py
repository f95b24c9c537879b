"""The naive twin of ``fyke.match`` on a table: the same arguments, the same result, none of the speed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from fyke.engine.input.prepare import derived_types
from fyke.engine.kernels import layout as L
from fyke.engine.kernels.arrays import NUMBER
from fyke.engine.matchset import MatchSet
from fyke.engine.output.identity import match_ids
from fyke.engine.output.rows import ResultBuilder
from fyke.language.ast import Call, Expression, Literal, Reference, Star, map_children
from fyke.language.relational import RelationalQuery
from fyke.language.text import AnyQuery, parse
from fyke.limits import Limits
from fyke.logical.analyse import Analysed, analyse
from fyke.logical.check import over_matches
from fyke.logical.normal_form import Absence, Variable
from fyke.logical.relational import analyse_relational
from fyke.logical.returns import END, MATCH_ID, START
from fyke.logical.schema import EventSchema, make_schema
from fyke.plan.plan import make_plan
from fyke.reference.expression import Functions, Occurrence, evaluate
from fyke.reference.matches import Match, matches, non_overlap, partition_key, return_value
from fyke.reference.relational import relational_rows, relational_types
from fyke.reference.values import aggregate, compare


def match(
    table: pa.Table,
    query: str | AnyQuery,
    *,
    time: str | Sequence[str],
    type: str | None = None,
    tie_breaker: str | Sequence[str] | None = None,
    output: str = "all",
    limits: Limits = Limits(),
    time_unit: str | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> pa.Table:
    """Return what ``fyke.match`` must return, found naively."""
    columns = dict(zip(table.schema.names, table.schema.types, strict=True))
    schema = make_schema(columns, time=time, type_column=type, tie_breaker=tie_breaker, time_unit=time_unit)
    arities = {name: function.__code__.co_argcount for name, function in (functions or {}).items()}
    parsed = parse(query, limits) if isinstance(query, str) else query
    if isinstance(parsed, RelationalQuery):
        return _match_relational(table, parsed, schema)
    analysed = analyse(parsed, schema, limits, functions=arities)
    return match_analysed(table, analysed, output, functions or {})


def _match_relational(table: pa.Table, query: RelationalQuery, schema: EventSchema) -> pa.Table:
    """Return the result of a relational query; a stream is the rows of its type, or all if they have none."""
    schemas = {stream.alias: schema for stream in query.streams}
    analysed = analyse_relational(query, schemas)
    every = occurrences(processing_order(table, schema), schema)
    streams = {
        stream.alias: [event for event in every if schema.type_column is None or event.type == stream.name]
        for stream in query.streams
    }
    types = relational_types(dict.fromkeys(streams, table), analysed)
    return _typed(relational_rows(streams, analysed), types)


def match_analysed(table: pa.Table, analysed: Analysed, output: str, functions: Functions) -> pa.Table:
    """Return the result of an analysed query."""
    ordered = processing_order(table, analysed.schema)
    named = {variable.type for variable in _variables(analysed)} - {None}
    only = next(iter(named), None)  # without a type column the one type named stands for the whole stream
    found = matches(analysed.form, occurrences(ordered, analysed.schema, only), analysed.window, functions)
    if output == "non_overlap":
        found = non_overlap(analysed.form, found)
    plan = make_plan(analysed, derived_types, output)
    builder = ResultBuilder(plan)
    if analysed.output.over_matches:
        rows = _aggregated(found, analysed, functions)
        return pa.Table.from_pylist(rows, builder.finish(builder.schema.empty_table()).schema)
    names = list(builder.variables)
    ids = _ids(found, names, ordered, plan.needed, analysed)
    rows = [
        _row(each, analysed, functions, builder) | {MATCH_ID: id_}
        for each, id_ in zip(found, ids, strict=True)
    ]
    return _typed(rows, builder.schema)


def processing_order(table: pa.Table, schema: EventSchema) -> pa.Table:
    """Sort the rows by order key, then by all other columns; rows without a proper time are left out."""
    starts, ends = (_ticks(table.column(name)) for name in schema.time)
    keyed = [
        (tuple(_Key(row[name]) for name in schema.order_columns()), k)
        for k, row in enumerate(table.to_pylist())
        if starts[k] is not None and ends[k] is not None and starts[k] <= ends[k]
    ]
    return table.take(pa.array([k for _, k in sorted(keyed)], pa.int64()))


class _Key:
    """A value that sorts as Spark sorts: null first, NaN last, structs field by field."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = [_Key(item) for item in value.values()] if isinstance(value, dict) else value

    def __lt__(self, other: _Key) -> bool:
        if self.value is None or other.value is None:
            return self.value is None and other.value is not None
        if isinstance(self.value, list):
            return bool([_Key(v) for v in self.value] < [_Key(v) for v in other.value])
        return compare(self.value, other.value) < 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and not self < other and not other < self


def _variables(analysed: Analysed) -> Iterator[Variable]:
    def absent(absences: tuple[Absence, ...]) -> Iterator[Variable]:
        for absence in absences:
            yield from absence.variables
            yield from absent(absence.absences)

    for alternative in analysed.form.alternatives:
        yield from alternative.variables
        yield from absent(alternative.absences)


def occurrences(table: pa.Table, schema: EventSchema, only_type: str | None = None) -> list[Occurrence]:
    """Return the rows of a table in processing order as the events of the reference."""
    starts, ends = (_ticks(table.column(name)) for name in schema.time)
    return [
        Occurrence(
            position,
            only_type if schema.type_column is None else row[schema.type_column],
            starts[position],
            ends[position],
            tuple(row[name] for name in schema.tie_breaker) if schema.tie_breaker else None,
            row,
        )
        for position, row in enumerate(table.to_pylist())
    ]


def _ticks(column: pa.ChunkedArray) -> list[int]:
    if pa.types.is_date32(column.type):
        column = column.cast(pa.int32())
    return list(column.cast(pa.int64()).to_pylist())


def _row(found: Match, analysed: Analysed, functions: Functions, builder: ResultBuilder) -> dict[str, Any]:
    first = found.events[0]
    row: dict[str, Any] = {name: first.values[name] for name in analysed.form.partition}
    row |= {START: found.start, END: found.end}
    for column in analysed.output.columns:
        row[column.name] = _value(column.expression, found, analysed, functions, builder)
    return row


def _value(
    expression: Expression, found: Match, analysed: Analysed, functions: Functions, builder: ResultBuilder
) -> Any:
    if isinstance(expression, Reference) and expression.variable == "":
        return found.events[0].values[expression.path[0]]
    if isinstance(expression, Reference) and not expression.path:
        variable = builder.variables[expression.variable]
        events = found.bindings.get(expression.variable, ())
        structs = [{name: event.values[name] for name in variable.attributes} for event in events]
        return None if not structs else structs if variable.group else structs[0]
    return return_value(analysed.form, found, expression, functions)


def _aggregated(found: list[Match], analysed: Analysed, functions: Functions) -> list[dict[str, Any]]:
    partition = analysed.form.partition
    groups: dict[Any, list[Match]] = {} if partition else {(): []}
    for each in found:
        groups.setdefault(partition_key(analysed.form, each.events[0]), []).append(each)

    def value(node: Expression, key: tuple[Any, ...], members: list[Match]) -> Expression:
        if over_matches(node):
            assert isinstance(node, Call)
            argument = node.arguments[0]
            counted = isinstance(argument, Star)
            values = [1 if counted else return_value(analysed.form, m, argument, functions) for m in members]
            return Literal(aggregate(node.function, values))
        if isinstance(node, Reference):
            return Literal(key[partition.index(node.path[0])])
        return map_children(node, lambda child: value(child, key, members))

    rows = []
    for members in groups.values():
        key = tuple(members[0].events[0].values[name] for name in partition) if members else ()
        row: dict[str, Any] = dict(zip(partition, key, strict=True))
        for column in analysed.output.columns:
            row[column.name] = evaluate(value(column.expression, key, members), {}, {}, functions)
        rows.append(row)
    return rows


def _ids(
    found: list[Match], names: list[str], ordered: pa.Table, needed: tuple[str, ...], analysed: Analysed
) -> list[str]:
    """Return the identifiers of matches, by the one definition there is of them."""
    bindings = [
        sorted(
            (event.position, names.index(name)) for name, events in each.bindings.items() for event in events
        )
        for each in found
    ]
    flat = [pair for each in bindings for pair in each]
    offsets = np.cumsum([0, *map(len, bindings)]).astype(np.int64)
    pairs = np.array(flat, np.int64).reshape(-1, 2)
    matches_ = MatchSet(pairs[:, 0].copy(), pairs[:, 1].astype(NUMBER), offsets, np.zeros(len(found), NUMBER))
    events = np.zeros((L.EVENT_SIZE, ordered.num_rows), np.int64)
    events[L.EVENT_END] = _ticks(ordered.column(analysed.schema.end))
    return list(match_ids(matches_, ordered, needed, events, analysed.form.fingerprint).to_pylist())


def _typed(rows: list[dict[str, Any]], schema: pa.Schema) -> pa.Table:
    """Return rows as a table; ``start`` and ``end`` are still ticks of their columns."""
    arrays = []
    for field in schema:
        values = [row[field.name] for row in rows]
        if field.name in (START, END):
            ticks = pa.array(values, pa.int32() if pa.types.is_date32(field.type) else pa.int64())
            arrays.append(ticks.cast(field.type))
        else:
            arrays.append(pa.array(values, field.type))
    return pa.Table.from_arrays(arrays, schema=schema)
