"""Values put in place of the parameters of a query: ``a.x > :limit`` with ``params={"limit": 5}``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from fyke.errors import OptionError, ParameterError, listed, near_misses
from fyke.language.ast import Expression, In, Node, Parameter, ReturnItem, map_children, walk
from fyke.language.query import Query
from fyke.language.relational import RelationalQuery
from fyke.language.row_patterns import RowPatternQuery
from fyke.language.terms import node_of

AnyQuery = Query | RelationalQuery


def bind_parameters(query: AnyQuery, values: Mapping[str, Any] | None) -> AnyQuery:
    """Return a query with values in place of its parameters; a list stands for the options of IN.

    Raises
    ------
    OptionError, ParameterError
        If a parameter has no value, or a value no parameter.
    """
    if not values and query.text is not None and ":" not in query.text:
        return query
    given = _given(_parameters(query), values, query.text)
    if not given:
        return query
    # The same query comes again and again; what is worked out for it is found by its identity.
    key = tuple(given.items())
    try:
        return _kept(query, key, repr(key))
    except TypeError:  # values that cannot be hashed
        return _bound(query, key)


def bind_row_parameters(query: RowPatternQuery, values: Mapping[str, Any] | None) -> RowPatternQuery:
    """Return a MATCH_RECOGNIZE clause with values in place of its parameters."""
    trees = [*(each.expression for each in query.measures), *(each.condition for each in query.define)]
    given = _given(_parameters_in(trees), values, query.text)

    def bound(node: Expression) -> Expression:
        return _with_values(node, given, query.text)

    return replace(
        query,
        measures=tuple(replace(each, expression=bound(each.expression)) for each in query.measures),
        define=tuple(replace(each, condition=bound(each.condition)) for each in query.define),
    )


def _given(
    parameters: Iterator[Parameter], values: Mapping[str, Any] | None, text: str | None
) -> dict[str, Any]:
    """Return the value of each parameter; lists and sets as tuples."""
    if values is not None and not isinstance(values, Mapping):
        raise OptionError(
            f"params must be a dict of values by name, found {values!r:.60}",
            remedy="Write, for example, params={'limit': 5}.",
        )
    asked = {parameter.name: parameter for parameter in parameters}
    given = dict(values or {})
    for name in given:
        if name not in asked:
            known = f"The query has {listed(f':{each}' for each in asked)}." if asked else "It has none."
            raise OptionError(
                f"the query has no parameter {name!r}",
                remedy=f"{known}{near_misses(str(name), asked)}",
            )
    for name, parameter in asked.items():
        if name not in given:
            raise ParameterError(
                f"the parameter :{name} has no value",
                place=parameter.place,
                text=text,
                remedy=f"Give it one, as in params={{{name!r}: 5}}.",
            )
    return {name: tuple(value) if isinstance(value, (list, set)) else value for name, value in given.items()}


def _bound(query: AnyQuery, values: tuple[tuple[str, Any], ...], _told_apart: str = "") -> AnyQuery:
    known = dict(values)
    conditions = tuple(_with_values(each, known, query.text) for each in query.conditions)
    if isinstance(query, RelationalQuery):
        items = _items(query.items, known, query.text)
        return replace(query, conditions=conditions, items=items)
    return replace(query, conditions=conditions, returns=_items(query.returns, known, query.text))


# By the texts of the values too: 1, 1.0 and True are equal to Python.
_kept = lru_cache(maxsize=256)(_bound)


def _parameters(query: AnyQuery) -> Iterator[Parameter]:
    items = query.items if isinstance(query, RelationalQuery) else query.returns
    return _parameters_in([*query.conditions, *(items or ())])


def _parameters_in(trees: Sequence[Node]) -> Iterator[Parameter]:
    for tree in trees:
        for node in walk(tree):
            if isinstance(node, Parameter):
                yield node


def _items(
    items: tuple[ReturnItem, ...] | None, values: Mapping[str, Any], text: str | None
) -> tuple[ReturnItem, ...] | None:
    if items is None:
        return None
    return tuple(replace(each, expression=_with_values(each.expression, values, text)) for each in items)


def _with_values(node: Expression, values: Mapping[str, Any], text: str | None) -> Expression:
    if isinstance(node, Parameter):
        return _value(node, values[node.name], text)
    if isinstance(node, In):
        options: list[Expression] = []
        for option in node.options:
            value = values[option.name] if isinstance(option, Parameter) else None
            if isinstance(option, Parameter) and isinstance(value, (tuple, frozenset)):
                options += [_value(option, each, text) for each in value]
            else:
                options.append(_with_values(option, values, text))
        if not options:
            raise ParameterError(
                "IN has no options: the list that was given is empty",
                place=node.place,
                text=text,
                remedy="Give at least one value, or leave the condition out.",
            )
        return replace(node, operand=_with_values(node.operand, values, text), options=tuple(options))
    return map_children(node, lambda child: _with_values(child, values, text))


def _value(parameter: Parameter, value: Any, text: str | None) -> Expression:
    if isinstance(value, (tuple, frozenset)):
        raise ParameterError(
            f"the parameter :{parameter.name} is a list, and one value is needed",
            place=parameter.place,
            text=text,
            remedy=f"A list stands for the options of IN, as in a.x IN (:{parameter.name}).",
        )
    return replace(node_of(value), place=parameter.place)


def bind_together(queries: Mapping[str, AnyQuery], values: Mapping[str, Any] | None) -> dict[str, AnyQuery]:
    """Return queries with values in place of their parameters; each value is for some of them."""
    given = {} if values is None else values
    asked = {label: {each.name for each in _parameters(query)} for label, query in queries.items()}
    used = frozenset().union(*asked.values())
    for name in given:
        if name not in used:
            raise OptionError(f"no query has a parameter {name!r}.{near_misses(str(name), used)}")
    return {
        label: bind_parameters(query, {name: given[name] for name in asked[label] if name in given})
        for label, query in queries.items()
    }
