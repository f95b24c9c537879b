"""The Arrow types of the items of RETURN, as docs/results.md has them, and values of these types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from decimal import Decimal

import pyarrow as pa

from fyke.language.ast import (
    Binary,
    Call,
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
from fyke.reference.values import AGGREGATES, COMPARISONS, Value

Attribute = Callable[[Reference], pa.DataType]

_INT64 = (-(2**63), 2**63 - 1)
_DIGITS = {8: 3, 16: 5, 32: 10, 64: 19}
_RESULTS = {Kind.BOOLEAN: pa.bool_(), Kind.INTEGER: pa.int64(), Kind.FLOAT: pa.float64()}
_UNITS = ("s", "ms", "us", "ns")


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
            return item_type(item.operand, attribute)
        case Binary() if item.operator not in ("AND", "OR", *COMPARISONS):
            left, right = (item_type(each, attribute) for each in (item.left, item.right))
            return _arithmetic(item.operator, left, right)
        case Call() if item.function in AGGREGATES:
            argument = item.arguments[0]
            counted = isinstance(argument, Star)
            return _aggregate(item.function, pa.int64() if counted else item_type(argument, attribute))
        case Call():
            return _call(item.function, [item_type(argument, attribute) for argument in item.arguments])
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
    if isinstance(value, int) and not isinstance(value, bool):
        return pa.int64() if _INT64[0] <= value <= _INT64[1] else pa.float64()
    return pa.scalar(value).type


def _aggregate(function: str, kind: pa.DataType) -> pa.DataType:
    if function == "count":
        return pa.int64()
    if function in ("avg", "stddev"):
        return pa.float64()
    if function == "sum" and pa.types.is_decimal(kind):
        return _decimal(76 if pa.types.is_decimal256(kind) else 38, kind.scale, kind)
    if function == "sum" and not pa.types.is_null(kind):
        return pa.int64() if pa.types.is_integer(kind) else pa.float64()
    return kind


def _call(function: str, kinds: Sequence[pa.DataType]) -> pa.DataType:
    if function == "mod":
        return _arithmetic("%", *kinds)
    if function == "if":
        return _common(kinds[1:])
    if function in ("least", "greatest", "coalesce"):
        return _common(kinds)
    if function in ("floor", "ceil") and pa.types.is_integer(kinds[0]):
        return kinds[0]
    if function == "concat":
        return pa.string()
    known = FUNCTIONS.get(function)
    if known is None:  # one of the user's
        return pa.float64()
    return _RESULTS.get(known.result, kinds[0]) if known.result is not None else kinds[0]


def _arithmetic(operator: str, left: pa.DataType, right: pa.DataType) -> pa.DataType:
    if pa.types.is_null(left) or pa.types.is_null(right):
        return right if pa.types.is_null(left) else left
    if _is_time(left) or _is_time(right):
        return _time_arithmetic(operator, left, right)
    if operator == "/" or pa.types.is_floating(left) or pa.types.is_floating(right):
        return pa.float64()
    if pa.types.is_decimal(left) or pa.types.is_decimal(right):
        return _decimal_arithmetic(operator, left, right)
    return pa.int64()


def _decimal_arithmetic(operator: str, left: pa.DataType, right: pa.DataType) -> pa.DataType:
    if operator == "%":
        return pa.float64()
    (whole, scale), (other_whole, other_scale) = _digits(left), _digits(right)
    if operator == "*":
        digits, behind = whole + scale + other_whole + other_scale + 1, scale + other_scale
    else:
        behind = max(scale, other_scale)
        digits = max(whole, other_whole) + behind + 1
    return _decimal(digits, behind, left, right)


def _digits(kind: pa.DataType) -> tuple[int, int]:
    """Return how many digits numbers of a type have before and behind the point."""
    if pa.types.is_decimal(kind):
        return kind.precision - kind.scale, kind.scale
    return 20 if pa.types.is_uint64(kind) else _DIGITS[kind.bit_width], 0


def _decimal(precision: int, scale: int, *kinds: pa.DataType) -> pa.DataType:
    wide = any(pa.types.is_decimal256(kind) for kind in kinds)
    return pa.decimal256(precision, scale) if wide else pa.decimal128(precision, scale)


def _is_time(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind) or pa.types.is_duration(kind))


def _time_arithmetic(operator: str, left: pa.DataType, right: pa.DataType) -> pa.DataType:
    durations = [kind for kind in (left, right) if pa.types.is_duration(kind)]
    instants = [kind for kind in (left, right) if _is_time(kind) and kind not in durations]
    if len(durations) == 2:
        return pa.duration("us")
    if len(instants) == 2:
        return pa.duration(_finest("us", *instants) if "ns" in map(_unit, instants) else "us")
    if not instants:
        return durations[0]
    zone = instants[0].tz if pa.types.is_timestamp(instants[0]) else None
    return pa.timestamp(_finest(_unit(instants[0]), *durations), tz=zone)


def _unit(kind: pa.DataType) -> str:
    return "us" if pa.types.is_date(kind) else str(kind.unit)


def _finest(unit: str, *kinds: pa.DataType) -> str:
    return max((unit, *map(_unit, kinds)), key=_UNITS.index)


def _common(kinds: Sequence[pa.DataType]) -> pa.DataType:
    """Return the one type of values of which one is chosen."""
    kinds = list(dict.fromkeys(kind for kind in kinds if not pa.types.is_null(kind))) or [pa.null()]
    if len(kinds) == 1:
        return kinds[0]
    if any(pa.types.is_floating(kind) for kind in kinds):
        return pa.float64()
    if any(pa.types.is_decimal(kind) for kind in kinds):
        digits = [_digits(kind) for kind in kinds]
        whole, scale = (max(each) for each in zip(*digits, strict=True))
        return _decimal(whole + scale, scale, *kinds)
    if all(pa.types.is_integer(kind) for kind in kinds):
        return pa.int64()
    if all(pa.types.is_duration(kind) for kind in kinds):
        return pa.duration("ns")
    if all(map(_is_time, kinds)):
        return pa.timestamp(_finest("us", *kinds), tz="UTC")
    if pa.large_binary() in kinds:
        return pa.large_binary()
    return pa.large_string()
