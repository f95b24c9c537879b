"""Names of columns as the events spell them, for events that do not tell capital from small letters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import pyarrow as pa

from fyke.language.ast import Equivalence, Expression, Reference, ReturnItem, events, map_references
from fyke.language.query import Query
from fyke.language.relational import RelationalQuery


def spelled(name: str, known: Iterable[str]) -> str:
    """Return a name as it is known: the same if it is, or the one that differs in letter case alone.

    >>> spelled("PRICE", ["Price", "at"]), spelled("ab", ["AB", "Ab"]), spelled("x", ["y"])
    ('Price', 'ab', 'x')
    """
    names = list(known)
    alike = [each for each in names if each.lower() == name.lower()]
    return alike[0] if len(alike) == 1 and name not in names else name


def spell_query(query: Query, columns: Mapping[str, pa.DataType]) -> Query:
    """Return a query whose attributes are spelled as the columns are."""
    variables = {event.variable for event in events(query.pattern)}
    returns = None if query.returns is None else _items(query.returns, columns, variables)
    conditions = tuple(_expression(each, columns, variables) for each in query.conditions)
    return replace(query, conditions=conditions, returns=returns)


def spell_relational(query: RelationalQuery, columns: Mapping[str, pa.DataType]) -> RelationalQuery:
    """Return a relational query whose attributes are spelled as the columns are."""
    aliases = {stream.alias for stream in query.streams}
    items = None if query.items is None else _items(query.items, columns, aliases)
    conditions = tuple(_expression(each, columns, aliases) for each in query.conditions)
    return replace(query, conditions=conditions, items=items)


def _items(
    items: tuple[ReturnItem, ...], columns: Mapping[str, pa.DataType], variables: set[str]
) -> tuple[ReturnItem, ...]:
    return tuple(replace(item, expression=_expression(item.expression, columns, variables)) for item in items)


def _expression(node: Expression, columns: Mapping[str, pa.DataType], variables: set[str]) -> Expression:
    if isinstance(node, Equivalence):
        return replace(node, attributes=tuple(spelled(name, columns) for name in node.attributes))

    def change(reference: Reference) -> Expression:
        if reference.path:
            return replace(reference, path=_path(reference.path, columns))
        if reference.variable in variables:
            return reference
        return replace(reference, variable=spelled(reference.variable, columns))

    return map_references(node, change)


def _path(path: tuple[str, ...], columns: Mapping[str, pa.DataType]) -> tuple[str, ...]:
    """Return an attribute, and the fields of its struct, as the events spell them."""
    found: list[str] = []
    known = dict(columns)
    for name in path:
        found.append(spelled(name, known))
        kind = known.get(found[-1])
        inner = kind if kind is not None and pa.types.is_struct(kind) else pa.struct([])
        known = {inner.field(i).name: inner.field(i).type for i in range(inner.num_fields)}
    return tuple(found)
