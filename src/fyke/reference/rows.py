"""Matches to the rows of the result (SEMANTICS 5): names, types and values of its columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from fyke.language.ast import Call, Expression, Index, Literal, Reference, Star, events, map_children, walk
from fyke.logical.analyse import Analysed
from fyke.logical.check import over_matches
from fyke.logical.normal_form import Absence, Condition, Variable
from fyke.logical.returns import END, MATCH_ID, START
from fyke.reference.events import as_time
from fyke.reference.expression import Functions, evaluate
from fyke.reference.identity import match_ids
from fyke.reference.matches import Match, partition_key, return_value
from fyke.reference.types import item_type, typed_array
from fyke.reference.values import aggregate


def bound_variables(analysed: Analysed) -> dict[str, list[Variable]]:
    """Return the variables that alternatives bind, in the order in which the pattern names them."""
    found: dict[str, list[Variable]] = {event.variable: [] for event in events(analysed.query.pattern)}
    for alternative in analysed.form.alternatives:
        for variable in alternative.variables:
            found[variable.name].append(variable)
    return {name: variables for name, variables in found.items() if variables}


def known_by(analysed: Analysed) -> tuple[str, ...]:
    """Return the columns by which ``match_id`` knows a row, in the order of the events' columns."""
    schema = analysed.schema
    expressions = [column.expression for column in analysed.output.columns]
    expressions += [condition.expression for condition in _conditions(analysed)]
    references = [node for each in expressions for node in walk(each) if isinstance(node, Reference)]
    if not all(reference.path for reference in references):
        return tuple(schema.columns)  # a whole event is returned
    columns = {*analysed.form.partition, *schema.time, *schema.tie_breaker, schema.type_column}
    columns |= {reference.path[0] for reference in references}
    return tuple(name for name in schema.columns if name in columns)


def _conditions(analysed: Analysed) -> Iterator[Condition]:
    def within(absences: tuple[Absence, ...]) -> Iterator[Condition]:
        for absence in absences:
            yield from (*absence.conditions, *within(absence.absences))

    for alternative in analysed.form.alternatives:
        yield from (*alternative.conditions, *within(alternative.absences))


def match_rows(found: Sequence[Match], table: pa.Table, analysed: Analysed, functions: Functions) -> pa.Table:
    """Return one row per match; ``table`` has the events in processing order."""
    schema, variables = analysed.schema, bound_variables(analysed)
    ids = match_ids(found, table, known_by(analysed), list(variables), analysed.form.fingerprint)
    columns = {MATCH_ID: pa.array(ids, pa.string())}
    first = pa.array([each.events[0].position for each in found], pa.int64())
    for name in analysed.form.partition:
        columns[name] = table.column(name).take(first)
    columns[START] = as_time([each.start for each in found], schema.columns[schema.start])
    columns[END] = as_time([each.end for each in found], schema.columns[schema.end])
    for column in analysed.output.columns:
        item = column.expression
        if isinstance(item, Reference) and item.variable and not item.path:
            columns[column.name] = _bound_events(found, table, analysed, variables[item.variable], item)
        else:
            values = [_value(item, each, analysed, functions) for each in found]
            columns[column.name] = typed_array(values, _type(item, analysed))
    return pa.table(columns)


def _bound_events(
    found: Sequence[Match],
    table: pa.Table,
    analysed: Analysed,
    variables: Sequence[Variable],
    item: Reference,
) -> pa.Array:
    """Return the events of a variable: structs of the columns of their type, of a group lists of these.

    An element of a group is one of them, null if there are too few.
    """
    names = list(dict.fromkeys(name for v in variables for name in analysed.schema.attributes(v.type)))
    kind = pa.struct([(name, analysed.schema.columns[name]) for name in names])
    structs = pa.nulls(0, kind)
    if table.num_rows:
        structs = table.select(names).to_struct_array().combine_chunks().cast(kind)
    bound = [[event.position for event in each.bindings.get(variables[0].name, ())] for each in found]
    if item.index is Index.LAST:
        bound = [each[::-1] for each in bound]
    if item.index in (Index.FIRST, Index.LAST):
        bound = [each[item.offset : item.offset + 1] for each in bound]
    elif variables[0].group:
        lists = [[structs[position] for position in each] or None for each in bound]
        return pa.array(lists, pa.list_(kind))
    return structs.take(pa.array([each[0] if each else None for each in bound], pa.int64()))


def _type(item: Expression, analysed: Analysed) -> pa.DataType:
    def attribute(reference: Reference) -> pa.DataType:
        kind = analysed.schema.columns[reference.path[0]]
        for name in reference.path[1:]:
            kind = kind.field(name).type
        return kind

    return item_type(item, attribute)


def _value(item: Expression, match: Match, analysed: Analysed, functions: Functions) -> Any:
    """Return an item for a match; a partition attribute is that of any of its events."""

    def known(node: Expression) -> Expression:
        if isinstance(node, Reference) and node.variable == "":
            return Literal(_of_all([match], node.path[0]))
        return map_children(node, known)

    return return_value(analysed.form, match, known(item), functions)


def aggregated_rows(found: Sequence[Match], analysed: Analysed, functions: Functions) -> pa.Table:
    """Return one row per value of the partition attributes, or one in all, of aggregates over matches."""
    form = analysed.form
    groups: dict[Any, list[Match]] = {} if form.partition else {(): []}
    for each in found:
        groups.setdefault(partition_key(form, each.events[0]), []).append(each)
    columns = {
        name: pa.array([_of_all(each, name) for each in groups.values()], analysed.schema.columns[name])
        for name in form.partition
    }

    def over(node: Expression, members: list[Match]) -> Expression:
        if over_matches(node):
            assert isinstance(node, Call)
            argument = node.arguments[0]
            counted = isinstance(argument, Star)
            return Literal(
                aggregate(
                    node.function,
                    [1 if counted else return_value(form, m, argument, functions) for m in members],
                )
            )
        if isinstance(node, Reference):
            return Literal(_of_all(members, node.path[0]))
        return map_children(node, lambda child: over(child, members))

    for column in analysed.output.columns:
        values = [evaluate(over(column.expression, each), {}, {}, functions) for each in groups.values()]
        columns[column.name] = typed_array(values, _type(column.expression, analysed))
    return pa.table(columns)


def _of_all(members: Sequence[Match], name: str) -> Any:
    """Return the partition attribute on which all events of all members agree."""
    return members[0].events[0].values[name]
