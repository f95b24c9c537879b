"""Expressions over a substitution, evaluated literally (SEMANTICS 3) for the naive reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from types import MappingProxyType

import pyarrow as pa

from fyke.errors import AggregateError, UnsupportedQueryError
from fyke.language.ast import (
    Between,
    Binary,
    Call,
    Cast,
    Duration,
    Expression,
    In,
    Index,
    IsNull,
    Length,
    Like,
    Literal,
    Reference,
    Timestamp,
    Unary,
    map_references,
    walk,
)
from fyke.reference.functions import call
from fyke.reference.values import (
    AGGREGATES,
    COMPARISONS,
    Value,
    aggregate,
    arithmetic,
    cast,
    comparison,
    conjunction,
    disjunction,
    like,
    literal,
    negation,
    negative,
)


@dataclass(frozen=True, slots=True, eq=False)
class Occurrence:
    """One event of the input; two identical rows are two occurrences (SEMANTICS 1).

    ``position`` is its place in processing order over the whole input, ``start`` and ``end`` are in
    units of the time column, ``tie`` holds the values of the tie-breaker columns (None: none given).
    """

    position: int
    type: str | None
    start: int
    end: int
    tie: tuple[Value, ...] | None
    values: Mapping[str, Value]


Bindings = Mapping[str, tuple[Occurrence, ...]]
"""A substitution, partial or not: variable to events in processing order; a single has one."""

Cursors = Mapping[str, int]
"""Which element of a variable is meant, from 0.  A single variable always has the cursor 0."""

Functions = Mapping[str, Callable[..., Value]]
"""User functions by name."""

NO_FUNCTIONS: Functions = MappingProxyType({})


def evaluate(
    expression: Expression, bindings: Bindings, cursors: Cursors, functions: Functions = NO_FUNCTIONS
) -> Value:
    """Return the value of an expression; None is null, and unknown for a condition.

    ``a.x`` and ``a[i].x`` mean the element of ``a`` at its cursor; without a cursor, as for a group in
    RETURN, the list over all elements.  A variable that is not bound (it belongs to another
    alternative) is null, and so is everything said of it.
    """

    def value(part: Expression) -> Value:
        return evaluate(part, bindings, cursors, functions)

    match expression:
        case Literal():
            return literal(expression.value)
        case Duration():
            return _length(expression.nanoseconds)
        case Timestamp():
            return _moment(expression.text)
        case Reference():
            return _referred(expression, bindings, cursors)
        case Length():
            return len(bindings[expression.variable]) if expression.variable in bindings else None
        case Unary():
            operand = value(expression.operand)
            return negation(operand) if expression.operator == "NOT" else negative(operand)
        case Binary():
            return _binary(expression.operator, value(expression.left), value(expression.right))
        case Call() if expression.function in AGGREGATES:
            return _aggregated(expression, bindings, cursors, functions)
        case Call():
            return call(expression.function, [value(part) for part in expression.arguments], functions)
        case Cast():
            return cast(value(expression.operand), expression.type)
        case In() | Between() | Like() | IsNull():
            truth = _predicate(expression, value)
            return negation(truth) if expression.negated else truth
        case _:
            raise UnsupportedQueryError(f"{type(expression).__name__} has no value of its own")


def _length(nanoseconds: int) -> timedelta:
    microseconds, between = divmod(nanoseconds, 1000)
    if not between:
        return timedelta(microseconds=microseconds)
    exact: timedelta = pa.scalar(nanoseconds, pa.duration("ns")).as_py()  # pandas has finer ones than Python
    return exact


def _moment(text: str) -> datetime:
    """Return a point in time, which is in UTC unless the text has an offset."""
    moment = datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
    return moment.astimezone(timezone.utc) if moment.tzinfo else moment.replace(tzinfo=timezone.utc)


def _binary(operator: str, left: Value, right: Value) -> Value:
    if operator == "AND":
        return conjunction(left, right)
    if operator == "OR":
        return disjunction(left, right)
    if operator in COMPARISONS:
        return comparison(operator, left, right)
    return arithmetic(operator, left, right)


def _predicate(expression: In | Between | Like | IsNull, value: Callable[[Expression], Value]) -> bool | None:
    """Evaluate IN, BETWEEN, LIKE or IS NULL as if not negated."""
    operand = value(expression.operand)
    match expression:
        case In():
            return disjunction(*(comparison("=", operand, value(option)) for option in expression.options))
        case Between():
            above = comparison(">=", operand, value(expression.low))
            return conjunction(above, comparison("<=", operand, value(expression.high)))
        case Like():
            return like(operand, value(expression.pattern))
        case IsNull():
            return operand is None


def _aggregated(expression: Call, bindings: Bindings, cursors: Cursors, functions: Functions) -> Value:
    """Evaluate an aggregate of a group: its argument for each element of the range, then the function."""
    references = [node for node in walk(expression.arguments[0]) if isinstance(node, Reference)]
    ranges = [node for node in references if node.index in (Index.ALL, Index.BEFORE)]
    if not ranges:
        raise AggregateError(f"{expression.function}() here runs over matches, not over the events of one")
    group = ranges[0].variable
    if group not in bindings:
        return None
    count = len(bindings[group]) if ranges[0].index is Index.ALL else cursors[group]
    argument = map_references(expression.arguments[0], lambda node: replace(node, index=Index.EACH))
    elements = [evaluate(argument, bindings, {**cursors, group: k}, functions) for k in range(count)]
    return aggregate(expression.function, elements)


def _referred(reference: Reference, bindings: Bindings, cursors: Cursors) -> Value:
    """Return what a reference means: a value, or a list over the elements it ranges over."""
    elements = bindings.get(reference.variable)
    if elements is None:
        return None
    cursor = cursors.get(reference.variable)
    chosen: tuple[Occurrence, ...]
    match reference.index:
        case Index.FIRST | Index.LAST:
            chosen = elements if reference.index is Index.FIRST else elements[::-1]
            there = reference.offset < len(chosen)
            return _attribute(chosen[reference.offset], reference.path) if there else None
        case Index.NONE | Index.EACH if cursor is not None:
            return _attribute(elements[cursor], reference.path)
        case Index.PREVIOUS:
            return _attribute(elements[cursor - 1], reference.path) if cursor else None
        case _:
            chosen = elements
    return [_attribute(element, reference.path) for element in chosen]


def _attribute(event: Occurrence, path: tuple[str, ...]) -> Value:
    """Return the attribute at ``path``, digging into structs; the event itself for an empty path."""
    if not path:
        return event
    found: Value = event.values
    for name in path:
        found = None if found is None else found.get(name)
    return found
