"""CAST over Arrow columns: the value in another type, null where it has none (SEMANTICS 3)."""

from __future__ import annotations

import math
import re
from decimal import ROUND_DOWN, Decimal

import pyarrow as pa

from fyke.engine.conditions.arithmetic import compare
from fyke.engine.conditions.columns import EXACT, Column, cast, nulls, rounded, rows
from fyke.logical.kinds import Kind, kind_of
from fyke.logical.value_types import wide

_BLANK = " \t\r\n"
_WHOLE = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,6})?")
_TRUTHS = {**dict.fromkeys(("t", "true", "y", "yes", "1"), True)}
_TRUTHS |= dict.fromkeys(("f", "false", "n", "no", "0"), False)


def convert(value: Column, kind: pa.DataType) -> Column:
    """Return ``CAST(value AS kind)``; analysis has refused what cannot be."""
    if pa.types.is_null(value.type):
        return nulls(kind, [value])
    source, target = kind_of(value.type), kind_of(kind)
    if source is Kind.STRING and target is not Kind.STRING:
        return _from_text(value, kind, target)
    if target is Kind.BOOLEAN:
        return value if source is Kind.BOOLEAN else compare("!=", value, pa.scalar(0, pa.int64()))
    if source is Kind.BOOLEAN and target is not Kind.STRING:
        value = value.cast(pa.int64())
    if target is Kind.INTEGER:
        return _to_whole(value, kind)
    if target is Kind.FLOAT:
        return cast(value, pa.float64()).cast(kind, safe=False)
    if target is Kind.DECIMAL:
        return _to_decimal(value, kind)
    if target is Kind.STRING:
        return _to_text(value, source)
    if target is Kind.DATE:
        return value if source is Kind.DATE else _day(value)
    return value if source is Kind.TIMESTAMP else cast(value, kind)


def _from_text(value: Column, kind: pa.DataType, target: Kind) -> Column:
    if target is Kind.BOOLEAN:
        return rows(
            lambda text: _TRUTHS.get(text.strip(_BLANK).lower()) if text.isascii() else None, kind, value
        )
    pattern = _WHOLE if target is Kind.INTEGER else _NUMBER

    def number(text: str) -> int | float | Decimal | None:
        digits = text.strip(_BLANK)
        if pattern.fullmatch(digits) is None:
            return None
        if target is Kind.FLOAT:
            return float(digits)
        return _within(int(digits), kind) if target is Kind.INTEGER else _fitted(Decimal(digits), kind)

    return rows(number, kind, value)


def _within(number: int, kind: pa.DataType) -> int | None:
    limit = 2 ** (kind.bit_width - 1)
    return number if -limit <= number < limit else None


def _fitted(number: Decimal, kind: pa.DataType) -> Decimal | None:
    if number and number.adjusted() > kind.precision:
        return None
    if number and number.adjusted() < -kind.scale - 2:
        number = Decimal(0)
    return rounded(number, kind)


def _to_whole(value: Column, kind: pa.DataType) -> Column:
    """Return numbers without what is behind the point."""
    if pa.types.is_integer(value.type) and kind.bit_width == 64:
        return cast(value, kind)

    def whole(number: int | float | Decimal) -> int | None:
        if isinstance(number, float):
            return _within(math.trunc(number), kind) if math.isfinite(number) else None
        return _within(int(Decimal(number).to_integral_value(ROUND_DOWN, EXACT)), kind)

    return rows(whole, kind, value)


def _to_decimal(value: Column, kind: pa.DataType) -> Column:
    if not pa.types.is_floating(value.type):
        return cast(value, kind)

    def exact(number: float) -> Decimal | None:
        return _fitted(Decimal(repr(number)), kind) if math.isfinite(number) else None

    return rows(exact, kind, cast(value, wide(value.type)))


def _to_text(value: Column, source: Kind) -> Column:
    if source is Kind.DECIMAL:
        return rows(lambda number: format(number, "f"), pa.string(), value)
    return value.cast(pa.string())


def _day(value: Column) -> Column:
    """Return the day of a time, by the clock of its zone."""
    return rows(lambda moment: moment.date(), pa.date32(), value)
