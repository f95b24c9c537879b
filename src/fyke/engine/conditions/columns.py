"""Arrow columns in the types of the language: casts that lose nothing in silence, and work row by row."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fyke.errors import InputError
from fyke.logical.value_types import as_decimal

Column: TypeAlias = Any  # pa.Array | pa.Scalar: pyarrow has no types of its own

INT64 = (-(2**63), 2**63 - 1)
EXACT = Context(prec=200)
_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_DAY = 86_400 * 10**9
_EXACT_FLOAT = 2**53
_EXACT_POWER = 22  # the largest power of ten that a float holds


def plain(column: Column) -> Column:
    """Decode a dictionary column, so that the compute functions take it."""
    return column.dictionary_decode() if isinstance(column, pa.DictionaryArray) else column


def nulls(kind: pa.DataType, values: list[Column]) -> Column:
    """Return nulls, as many as the longest of the values has rows."""
    length = next((len(value) for value in values if isinstance(value, pa.Array)), None)
    return pa.scalar(None, kind) if length is None else pa.nulls(length, kind)


def rows(function: Callable[..., object], kind: pa.DataType, *values: Column) -> Column:
    """Apply a Python function row by row; null where one of the values is."""
    return apply(lambda *row: None if None in row else function(*row), kind, *values)


def apply(function: Callable[..., object], kind: pa.DataType, *values: Column) -> Column:
    """Apply a Python function that takes nulls row by row; used where no column of Arrow's can do it."""
    length = next((len(value) for value in values if isinstance(value, pa.Array)), None)
    if length is None:
        return pa.scalar(function(*(value.as_py() for value in values)), kind)
    lists = [v.to_pylist() if isinstance(v, pa.Array) else [v.as_py()] * length for v in values]
    return pa.array([function(*row) for row in zip(*lists, strict=True)], kind)


def cast(value: Column, kind: pa.DataType) -> Column:
    """Return a value in a type of the same kind, or of a wider one; what no decimal type holds is null."""
    if value.type == kind:
        return value
    if pa.types.is_null(value.type):
        return nulls(kind, [value])
    if pa.types.is_decimal(value.type) and pa.types.is_floating(kind):
        return _decimal_to_float(value, kind)
    if pa.types.is_decimal(kind):
        return to_decimal(value, kind)
    if pa.types.is_uint64(value.type) and pa.types.is_int64(kind):
        return _signed(value)
    if pa.types.is_timestamp(kind):
        return _to_timestamp(value, kind)
    if pa.types.is_duration(kind) and pa.types.is_duration(value.type):
        return ticks(value, kind.unit).cast(kind)
    # An integer that no float holds exactly is rounded, as in SQL.
    return value.cast(kind, safe=not (pa.types.is_floating(kind) and pa.types.is_integer(value.type)))


def _signed(value: Column) -> Column:
    try:
        return value.cast(pa.int64())
    except pa.ArrowInvalid as error:
        raise InputError(
            f"a whole number is above {INT64[1]}, the largest there is in a query",
            remedy="Cast the column before matching, to decimal(20, 0) or to float64.",
        ) from error


# --- decimals -------------------------------------------------------------------------------


def rounded(value: Decimal, kind: pa.DataType) -> Decimal | None:
    """Return a decimal with the digits of a type, rounded half up; null if it has more before the point."""
    result = value.quantize(Decimal((0, (1,), -kind.scale)), ROUND_HALF_UP, EXACT)
    return None if len(result.as_tuple().digits) > kind.precision and result else result


def to_decimal(value: Column, kind: pa.DataType) -> Column:
    """Return whole numbers or decimals in a decimal type, rounded half up; what is too large is null."""
    if pa.types.is_integer(value.type):
        value = cast(value, pa.int64())
    own = as_decimal(value.type)
    holds = kind.scale >= own.scale and kind.precision - kind.scale >= own.precision - own.scale
    if holds:
        return value.cast(kind)
    return rows(lambda number: rounded(Decimal(number), kind), kind, value)


def _decimal_to_float(value: Column, kind: pa.DataType) -> Column:
    """Return the nearest floats; Arrow's own cast may miss them by a digit."""
    if not isinstance(value, pa.Array):
        return pa.scalar(None if not value.is_valid else float(value.as_py()), kind)
    wide = value.cast(pa.decimal128(value.type.precision, value.type.scale))
    words = np.frombuffer(wide.buffers()[1] or b"", np.int64).reshape(-1, 2)
    words = words[wide.offset : wide.offset + len(wide)]
    missing = wide.is_null().to_numpy(zero_copy_only=False)
    scale = wide.type.scale
    small = (
        (words[:, 1] == words[:, 0] >> 63) & (np.abs(words[:, 0]) <= _EXACT_FLOAT) & (words[:, 0] > INT64[0])
    )
    # Dividing two numbers that are exact rounds once, to the nearest.
    result = words[:, 0] / 10.0 ** min(scale, _EXACT_POWER)
    for at in np.flatnonzero(~missing & ~(small & (scale <= _EXACT_POWER))):
        result[at] = float(wide[int(at)].as_py())
    return pa.array(result, pa.float64(), mask=missing).cast(kind)


# --- times ----------------------------------------------------------------------------------


def ticks(value: Column, unit: str) -> Column:
    """Return times, dates or durations as whole numbers of a unit; what does not fit 64 bits is null."""
    numbers, size = counted(value, unit)
    try:
        return multiplied(numbers, size)
    except pa.ArrowInvalid:
        return rows_within(lambda number: number * size, numbers)


def counted(value: Column, unit: str) -> tuple[Column, int]:
    """Return times, dates or durations as whole numbers of their own unit, and its size in ``unit``."""
    size = _DAY if pa.types.is_date(value.type) else _NANOSECONDS[value.type.unit]
    if pa.types.is_date(value.type):
        value = value.cast(pa.date32()).cast(pa.int32())
    return value.cast(pa.int64()), size // _NANOSECONDS[unit]


def multiplied(numbers: Column, size: int) -> Column:
    """Return whole numbers multiplied; ArrowInvalid if one does not fit 64 bits."""
    return numbers if size == 1 else pc.multiply_checked(numbers, pa.scalar(size, pa.int64()))


def rows_within(function: Callable[..., int | None], *values: Column) -> Column:
    """Apply a function of whole numbers row by row; a result that does not fit 64 bits is null."""

    def within(*row: int) -> int | None:
        result = function(*row)
        return result if result is not None and INT64[0] <= result <= INT64[1] else None

    return rows(within, pa.int64(), *values)


def _to_timestamp(value: Column, kind: pa.DataType) -> Column:
    """Return an instant; a time without a zone is taken as UTC."""
    return ticks(value, kind.unit).cast(kind)
