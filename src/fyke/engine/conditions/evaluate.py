"""Expressions over whole Arrow columns, with the language's SQL meaning (SEMANTICS 1 and 3).

Used on tables for what looks at one event only, and everywhere for items of RETURN.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from fyke.engine.conditions.arithmetic import arithmetic, compare, negative
from fyke.engine.conditions.casts import convert
from fyke.engine.conditions.columns import Column, cast, nulls, plain
from fyke.engine.conditions.functions import call
from fyke.errors import InputError
from fyke.language.ast import (
    Between,
    Binary,
    Call,
    Cast,
    Duration,
    Expression,
    In,
    IsNull,
    Length,
    Like,
    Literal,
    Reference,
    Timestamp,
    Unary,
)
from fyke.logical.check_operators import COMPARISONS
from fyke.logical.value_types import arithmetic_type, cast_type, literal_type

Resolve = Callable[[Expression], Column]


def evaluate(node: Expression, resolve: Resolve) -> Column:
    """Return the value of an expression for every row.

    ``resolve`` gives the column of a reference, of ``a.len`` and of calls it knows better (an
    aggregate of a group); it returns None for other calls.
    """
    if isinstance(node, Literal):
        return _literal(node)
    if isinstance(node, Duration):
        fine = node.nanoseconds % 1000 != 0
        return pa.scalar(node.nanoseconds // (1 if fine else 1000), pa.duration("ns" if fine else "us"))
    if isinstance(node, Timestamp):
        return pa.scalar(parse_timestamp(node.text), pa.timestamp("us", tz="UTC"))
    if isinstance(node, (Reference, Length)):
        return plain(resolve(node))
    if isinstance(node, Unary):
        value = evaluate(node.operand, resolve)
        if node.operator == "NOT":
            return pc.invert(cast(value, pa.bool_()))
        return value if pa.types.is_null(value.type) else negative(value)
    if isinstance(node, Binary):
        return _binary(node.operator, evaluate(node.left, resolve), evaluate(node.right, resolve))
    if isinstance(node, Call):
        known = resolve(node)
        if known is not None:
            return plain(known)
        return call(node, [evaluate(argument, resolve) for argument in node.arguments])
    if isinstance(node, Cast):
        return convert(evaluate(node.operand, resolve), cast_type(node.type))
    assert isinstance(node, (In, Between, Like, IsNull))
    return _predicate(node, resolve)


def _literal(node: Literal) -> Column:
    kind = literal_type(node)
    value = Decimal(node.value) if pa.types.is_decimal(kind) else node.value  # type: ignore[arg-type]
    return pa.scalar(value, kind)


def parse_timestamp(text: str) -> datetime.datetime:
    """Read the text of a TIMESTAMP literal; without an offset it means UTC."""
    try:
        parsed = datetime.datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
    except ValueError as error:
        raise InputError(
            f"{text!r} is not a timestamp", remedy="Write TIMESTAMP '2026-01-31 12:00:00'."
        ) from error
    return parsed if parsed.tzinfo is not None else parsed.replace(tzinfo=datetime.timezone.utc)


def _binary(symbol: str, left: Column, right: Column) -> Column:
    if symbol == "AND":
        return pc.and_kleene(cast(left, pa.bool_()), cast(right, pa.bool_()))
    if symbol == "OR":
        return pc.or_kleene(cast(left, pa.bool_()), cast(right, pa.bool_()))
    if pa.types.is_null(left.type) or pa.types.is_null(right.type):
        kind = pa.bool_() if symbol in COMPARISONS else arithmetic_type(symbol, left.type, right.type)
        return nulls(kind, [left, right])
    return (compare if symbol in COMPARISONS else arithmetic)(symbol, left, right)


def _predicate(node: In | Between | Like | IsNull, resolve: Resolve) -> Column:
    operand = evaluate(node.operand, resolve)
    if isinstance(node, IsNull):
        result = pc.is_null(operand)
    elif isinstance(node, Like):
        assert isinstance(node.pattern, Literal)
        result = _like(operand, str(node.pattern.value))
    elif isinstance(node, Between):
        low, high = evaluate(node.low, resolve), evaluate(node.high, resolve)
        result = pc.and_kleene(_binary(">=", operand, low), _binary("<=", operand, high))
    else:
        result = pa.scalar(False)
        for option in node.options:
            result = pc.or_kleene(result, _binary("=", operand, evaluate(option, resolve)))
    return pc.invert(result) if node.negated else result


def _like(text: Column, pattern: str) -> Column:
    if pa.types.is_null(text.type):
        return nulls(pa.bool_(), [text])
    if "\\" not in pattern:
        return pc.match_like(text, pattern)
    # Arrow knows a backslash before '%' and '_' only.
    wild = {"%": ".*", "_": "."}
    tokens = re.findall(r"\\.|.", pattern, re.DOTALL)
    regex = "".join(wild[token] if token in wild else _quoted(token[-1]) for token in tokens)
    return pc.match_substring_regex(text, rf"(?s)\A(?:{regex})\z")


def _quoted(character: str) -> str:
    return character if character.isalnum() else rf"\x{{{ord(character):x}}}"
