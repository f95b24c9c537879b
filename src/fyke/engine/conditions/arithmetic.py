"""Comparison and arithmetic of Arrow columns with the language's SQL meaning (SEMANTICS 1 and 3).

Where Arrow differs from SQL (NaN, division by zero, overflow, digits of decimals) it is made up for here.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fyke.engine.conditions.columns import (
    EXACT,
    INT64,
    Column,
    cast,
    counted,
    multiplied,
    rounded,
    rows,
    rows_within,
    ticks,
)
from fyke.logical.kinds import NUMERIC, TEMPORAL, Kind, kind_of
from fyke.logical.value_types import MOST_DIGITS, arithmetic_type, as_decimal, common_type, finest, wide

_COMPARE = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_PYTHON: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}
_CHECKED = {"+": pc.add_checked, "-": pc.subtract_checked, "*": pc.multiply_checked}
_DECIMAL = {"+": pc.add, "-": pc.subtract, "*": pc.multiply}
_QUOTIENT = Decimal((0, (1,), -MOST_DIGITS))


# --- comparison -----------------------------------------------------------------------------


def compare(symbol: str, left: Column, right: Column) -> Column:
    """Compare with SQL's nulls and Spark's NaN: equal to itself and greater than everything else."""
    if {kind_of(left.type), kind_of(right.type)} <= TEMPORAL | {Kind.DURATION} and left.type != right.type:
        return _compare_times(symbol, left, right)
    left, right = _comparable(left, right)
    result = _COMPARE[symbol](left, right)
    if pa.types.is_floating(left.type) and (_may_have_nan(left) or _may_have_nan(right)):
        odd_left, odd_right = pc.is_nan(left), pc.is_nan(right)
        if not _any_true(pc.or_(odd_left, odd_right)):
            return result
        rank_left, rank_right = pc.cast(odd_left, pa.int8()), pc.cast(odd_right, pa.int8())
        return pc.if_else(pc.or_(odd_left, odd_right), _COMPARE[symbol](rank_left, rank_right), result)
    return result


def _may_have_nan(value: Column) -> bool:
    """Say whether a value may be NaN: their sum is, if one is, and it takes half the time to add them up."""
    total = value if isinstance(value, pa.Scalar) else pc.sum(value)
    return total.is_valid and math.isnan(total.as_py())


def _any_true(value: Column) -> bool:
    return bool(value.as_py() if isinstance(value, pa.Scalar) else pc.any(value).as_py())


def _comparable(left: Column, right: Column) -> tuple[Column, Column]:
    kinds = {kind_of(left.type), kind_of(right.type)}
    if kinds <= {Kind.DECIMAL, Kind.INTEGER} and Kind.DECIMAL in kinds:
        return _aligned(left, right)
    both = common_type([left.type, right.type])
    return cast(left, both), cast(right, both)


def _aligned(left: Column, right: Column) -> tuple[Column, Column]:
    """Return decimals and whole numbers in one type that holds all digits of both."""
    if left.type == right.type:
        return left, right
    kinds = as_decimal(left.type), as_decimal(right.type)
    scale = max(kind.scale for kind in kinds)
    digits = max(kind.precision - kind.scale for kind in kinds) + scale
    wide_left, wide_right = cast(left, kinds[0]), cast(right, kinds[1])
    both = pa.decimal128(digits, scale) if digits <= MOST_DIGITS else pa.decimal256(digits, scale)
    return wide_left.cast(both), wide_right.cast(both)


def _compare_times(symbol: str, left: Column, right: Column) -> Column:
    unit = finest([left.type, right.type])
    (one, size), (other, other_size) = counted(left, unit), counted(right, unit)
    try:
        return _COMPARE[symbol](multiplied(one, size), multiplied(other, other_size))
    except pa.ArrowInvalid:
        # A time that is too far away for ticks of this size is still before or after another one.
        exact = _PYTHON[symbol]
        return rows(lambda x, y: exact(x * size, y * other_size), pa.bool_(), one, other)


# --- arithmetic -----------------------------------------------------------------------------


def arithmetic(symbol: str, left: Column, right: Column) -> Column:
    """Return ``left symbol right`` for ``+ - * / %``; null for division by zero and overflow."""
    kind = arithmetic_type(symbol, left.type, right.type)
    kinds = {kind_of(left.type), kind_of(right.type)}
    if not kinds <= NUMERIC:
        return _time_arithmetic(symbol, left, right, kind)
    if pa.types.is_decimal(kind):
        return _decimal_arithmetic(symbol, left, right, kind)
    left, right = cast(left, kind), cast(right, kind)
    if symbol == "/":
        return pc.divide(left, _no_zero(right))
    if symbol == "%":
        return _remainder(left, _no_zero(right))
    return checked(symbol, left, right)


def checked(symbol: str, left: Column, right: Column) -> Column:
    """Return ``left symbol right`` of whole numbers or floats; a whole number beyond 64 bits is null."""
    try:
        return _CHECKED[symbol](left, right)
    except pa.ArrowInvalid:
        return rows_within(_PYTHON[symbol], left, right)


def negative(value: Column) -> Column:
    """Return ``-value``; null for the one whole number whose negative is too large."""
    if pa.types.is_duration(value.type):
        return checked("-", pa.scalar(0, pa.int64()), value.cast(pa.int64())).cast(value.type)
    value = cast(value, wide(value.type))
    return pc.negate(value) if not pa.types.is_integer(value.type) else checked("-", pa.scalar(0), value)


def magnitude(value: Column) -> Column:
    """Return ``abs(value)``; null for the one whole number whose magnitude is too large."""
    value = cast(value, wide(value.type))
    if not pa.types.is_integer(value.type):
        return pc.abs(value)
    smallest = pc.equal(value, pa.scalar(INT64[0], pa.int64()))
    return pc.abs(pc.if_else(smallest, pa.scalar(None, pa.int64()), value))


def _no_zero(value: Column) -> Column:
    zero = pa.scalar(0, value.type)
    return pc.if_else(pc.equal(value, zero), pa.scalar(None, value.type), value)


def _remainder(left: Column, right: Column) -> Column:
    """Remainder with the sign of the dividend, as SQL has it."""
    if pa.types.is_floating(left.type):
        return by_numpy(np.fmod, left, right)  # Arrow has none, and a quotient would round
    # Truncating division is what Arrow does for integers; -1 is set apart for the smallest int64.
    one = pc.if_else(pc.equal(right, pa.scalar(-1, pa.int64())), pa.scalar(1, pa.int64()), right)
    return pc.subtract(left, pc.multiply(pc.divide(left, one), one))


def by_numpy(function: Callable[..., Any], *values: Column) -> Column:
    """Apply a NumPy function to floats; null where one of them is."""
    missing = [value.is_null() if isinstance(value, pa.Array) else not value.is_valid for value in values]
    numbers = [
        value.fill_null(1.0).to_numpy(zero_copy_only=False)
        if isinstance(value, pa.Array)
        else value.as_py() or 0.0
        for value in values
    ]
    with np.errstate(all="ignore"):
        result = function(*numbers)
    if np.ndim(result) == 0:
        return pa.scalar(None if any(missing) else float(result), pa.float64())
    mask = np.zeros(len(result), bool)
    for each in missing:
        mask |= np.asarray(each)
    return pa.array(result, pa.float64(), mask=mask)


def _decimal_arithmetic(symbol: str, left: Column, right: Column, kind: pa.DataType) -> Column:
    left, right = (cast(value, as_decimal(value.type)) for value in (left, right))
    if symbol in _DECIMAL and kind.precision < MOST_DIGITS:
        return _DECIMAL[symbol](left, right)

    def exact(x: Decimal, y: Decimal) -> Decimal | None:
        if symbol in "/%":
            if y == 0:
                return None
            # Spark rounds quotients to 38 digits behind the point first.
            whole = EXACT.divide(x, y).quantize(_QUOTIENT, ROUND_HALF_UP, EXACT) if symbol == "/" else None
            return rounded(EXACT.remainder(x, y) if whole is None else whole, kind)
        return rounded({"+": EXACT.add, "-": EXACT.subtract, "*": EXACT.multiply}[symbol](x, y), kind)

    return rows(exact, kind, left, right)


def _time_arithmetic(symbol: str, left: Column, right: Column, kind: pa.DataType) -> Column:
    sides = kind_of(left.type), kind_of(right.type)
    if symbol in "*/":
        number = left if sides[0] in NUMERIC else right
        return _scaled(symbol, right if number is left else left, number, kind)
    return checked(symbol, ticks(left, kind.unit), ticks(right, kind.unit)).cast(kind)


def _scaled(symbol: str, duration: Column, number: Column, kind: pa.DataType) -> Column:
    """Return a duration multiplied or divided, rounded half up to whole ticks."""

    def scaled(count: int, factor: int | float | Decimal) -> int | None:
        if isinstance(factor, float):
            product = count * factor if symbol == "*" else count / factor if factor else np.nan
            exact = Decimal(product)
        elif symbol == "*":
            exact = EXACT.multiply(Decimal(count), Decimal(factor))
        else:
            exact = EXACT.divide(Decimal(count), Decimal(factor)) if factor else Decimal("nan")
        fits = exact.is_finite() and exact.adjusted() <= 20
        return int(exact.quantize(Decimal(1), ROUND_HALF_UP, EXACT)) if fits else None

    return rows_within(scaled, ticks(duration, kind.unit), number).cast(kind)
