"""The Arrow types of the items of RETURN, as docs/results.md has them, and values of these types."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from decimal import Decimal

import pyarrow as pa

from fyke.language.ast import (
    Binary,
    Call,
    Cast,
    Duration,
    Expression,
    Length,
    Literal,
    Reference,
    Star,
    Timestamp,
    Unary,
)
from fyke.logical.kinds import FUNCTIONS, Kind
from fyke.reference.values import AGGREGATES, COMPARISONS, INSTANT, Value

Attribute = Callable[[Reference], pa.DataType]

_INT64 = (-(2**63), 2**63 - 1)
_RESULTS = {Kind.BOOLEAN: pa.bool_(), Kind.INTEGER: pa.int64(), Kind.FLOAT: pa.float64()}
_CASTS = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "STRING": pa.string(),
    "DATE": pa.date32(),
}


def item_type(item: Expression, attribute: Attribute) -> pa.DataType:
    """Return the type of an item; ``attribute`` knows those of references."""
    match item:
        case Literal():
            return _literal(item.value)
        case Duration():
            return pa.duration("ns" if item.nanoseconds % 1000 else "us")
        case Timestamp():
            return pa.timestamp("us", tz="UTC")
        case Reference():
            kind = attribute(item)
            return kind.value_type if pa.types.is_dictionary(kind) else kind
        case Length():
            return pa.int64()
        case Unary() if item.operator == "-":
            return _wide(item_type(item.operand, attribute))
        case Cast():
            return _cast(item.type, item_type(item.operand, attribute))
        case Binary() if item.operator not in ("AND", "OR", *COMPARISONS):
            left, right = (item_type(each, attribute) for each in (item.left, item.right))
            return _arithmetic(item.operator, left, right)
        case Call() if item.function in AGGREGATES:
            argument = item.arguments[0]
            counted = isinstance(argument, Star)
            return _aggregate(item.function, pa.int64() if counted else item_type(argument, attribute))
        case Call():
            return _call(item, [item_type(argument, attribute) for argument in item.arguments])
        case _:
            return pa.bool_()


def typed_array(values: Sequence[Value], kind: pa.DataType) -> pa.Array:
    """Return computed values as an array of the type of their item."""
    return pa.array([None if value is None else _fitting(value, kind) for value in values], kind)


def _fitting(value: Value, kind: pa.DataType) -> Value:
    """Return a value in the form Arrow takes for a type: which of several it was, it does not tell."""
    if pa.types.is_floating(kind):
        return float(value)
    if pa.types.is_decimal(kind) and not isinstance(value, Decimal):
        return Decimal(value)
    if pa.types.is_timestamp(kind) and not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day)
    return value


def _literal(value: object) -> pa.DataType:
    if isinstance(value, Decimal):
        _, digits, exponent = value.as_tuple()
        return pa.decimal128(max(len(digits), -int(exponent), 1), -int(exponent))
    if isinstance(value, int) and not isinstance(value, bool):
        return pa.int64() if _INT64[0] <= value <= _INT64[1] else pa.decimal128(len(str(abs(value))), 0)
    return pa.scalar(value).type


def _wide(kind: pa.DataType) -> pa.DataType:
    """Return the type of what is computed from a number; others stay what they are."""
    if pa.types.is_integer(kind):
        return pa.int64()
    return pa.float64() if pa.types.is_floating(kind) else kind


def _cast(name: str, kind: pa.DataType) -> pa.DataType:
    if name == "TIMESTAMP":
        return kind if pa.types.is_timestamp(kind) else pa.timestamp("us")
    if name == INSTANT:
        return pa.timestamp(_unit(kind), tz="UTC")
    if name.startswith("DECIMAL"):
        return pa.decimal128(*(int(part) for part in re.findall("[0-9]+", name)))
    return _CASTS[name]


def _aggregate(function: str, kind: pa.DataType) -> pa.DataType:
    if function in ("count", "count_distinct"):
        return pa.int64()
    if function == "collect":
        return pa.list_(kind)
    if function in ("avg", "stddev", "median"):
        return pa.float64()
    if function == "sum" and pa.types.is_decimal(kind):
        return pa.decimal128(38, kind.scale)
    return _wide(kind) if function == "sum" else kind


def _call(node: Call, kinds: Sequence[pa.DataType]) -> pa.DataType:
    function = node.function
    if function == "mod":
        return _arithmetic("%", *kinds)
    if function == "if":
        return _common(kinds[1:])
    if function in ("least", "greatest", "coalesce"):
        return _common(kinds)
    if function == "nullif":
        return kinds[0]
    if function == "element_at":
        return kinds[0] if pa.types.is_null(kinds[0]) else kinds[0].value_type
    if function == "round" and pa.types.is_decimal(kinds[0]):
        digits = node.arguments[1].value if len(kinds) > 1 else 0  # type: ignore[union-attr]
        return _rounded(kinds[0], digits)  # type: ignore[arg-type]
    known = FUNCTIONS.get(function)
    if known is None:  # one of the user's
        return pa.float64()
    if known.result is Kind.STRING:
        return pa.large_string() if pa.large_string() in kinds else pa.string()
    return _wide(kinds[0]) if known.result is None else _RESULTS[known.result]


def _rounded(kind: pa.DataType, digits: int) -> pa.DataType:
    """A digit more before the point, for 9.9 is 10, and no more behind it than asked for."""
    whole, scale = kind.precision - kind.scale + 1, min(kind.scale, max(0, digits))
    return pa.decimal128(min(38, max(whole, 1 - digits) + scale), scale)


def _arithmetic(operator: str, left: pa.DataType, right: pa.DataType) -> pa.DataType:
    if pa.types.is_null(left) or pa.types.is_null(right):
        return _wide(right if pa.types.is_null(left) else left)
    if _is_time(left) or _is_time(right):
        return _time_arithmetic(left, right)
    if pa.types.is_floating(left) or pa.types.is_floating(right):
        return pa.float64()
    if pa.types.is_decimal(left) or pa.types.is_decimal(right):
        return _decimal_arithmetic(operator, left, right)
    return pa.float64() if operator == "/" else pa.int64()


def _decimal_arithmetic(operator: str, left: pa.DataType, right: pa.DataType) -> pa.DataType:
    """Digits before and behind the point, as Spark SQL has them."""
    (whole, scale), (other_whole, other_scale) = _digits(left), _digits(right)
    if operator == "*":
        return _decimal(whole + other_whole + 1, scale + other_scale)
    if operator == "/":
        return _decimal(whole + other_scale, max(6, scale + other_whole + other_scale + 1))
    behind = max(scale, other_scale)
    return _decimal(min(whole, other_whole) if operator == "%" else max(whole, other_whole) + 1, behind)


def _digits(kind: pa.DataType) -> tuple[int, int]:
    """Return how many digits numbers of a type have before and behind the point."""
    return (kind.precision - kind.scale, kind.scale) if pa.types.is_decimal(kind) else (20, 0)


def _decimal(whole: int, scale: int) -> pa.DataType:
    """Return a decimal of at most 38 digits: those behind the point are dropped first, down to six."""
    if whole + scale > 38:
        whole, scale = 38 - max(38 - whole, min(scale, 6)), max(38 - whole, min(scale, 6))
    return pa.decimal128(whole + scale, scale)


def _is_time(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind) or pa.types.is_duration(kind))


def _time_arithmetic(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    instants = [kind for kind in (left, right) if pa.types.is_timestamp(kind) or pa.types.is_date(kind)]
    unit = _unit(left, right)
    if len(instants) != 1:
        return pa.duration(unit)
    return pa.timestamp(unit, tz=instants[0].tz if pa.types.is_timestamp(instants[0]) else None)


def _unit(*kinds: pa.DataType) -> str:
    """Times are computed with in microseconds, or in nanoseconds if one of them is."""
    return "ns" if any(_is_time(kind) and getattr(kind, "unit", "") == "ns" for kind in kinds) else "us"


def _common(kinds: Sequence[pa.DataType]) -> pa.DataType:
    """Return the one type of values of which one is chosen."""
    kinds = list(dict.fromkeys(kind for kind in kinds if not pa.types.is_null(kind))) or [pa.null()]
    if len(kinds) == 1:
        return kinds[0]
    if any(pa.types.is_floating(kind) for kind in kinds):
        return pa.float64()
    if any(pa.types.is_decimal(kind) for kind in kinds):
        whole, scale = (max(each) for each in zip(*map(_digits, kinds), strict=True))
        return pa.decimal128(min(38, whole + scale), min(scale, 38 - whole))
    if all(pa.types.is_integer(kind) for kind in kinds):
        return pa.int64()
    if all(pa.types.is_duration(kind) for kind in kinds):
        return pa.duration(_unit(*kinds))
    if all(map(_is_time, kinds)):
        return pa.timestamp(_unit(*kinds), tz="UTC")
    bytes_of = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
    return pa.large_binary() if any(test(kinds[0]) for test in bytes_of) else pa.large_string()
