"""The functions of the language over Arrow columns, with Spark's answers."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fyke.engine.conditions.arithmetic import arithmetic, compare, magnitude
from fyke.engine.conditions.columns import (
    EXACT,
    INT64,
    Column,
    apply,
    cast,
    nulls,
    plain,
    rounded,
    rows,
    rows_within,
)
from fyke.language.ast import Call, Literal
from fyke.logical.regular_expressions import ARROW, translated
from fyke.logical.value_types import call_type, common_type, round_digits

_FARTHEST = 2**31 - 1
_LONG = Context(prec=800)  # digits of a float, and those it may be rounded to
_EXACT_POWER = 22  # the largest power of ten that a float holds


def call(node: Call, values: list[Column]) -> Column:
    """Return the value of a function of the language."""
    name = node.function
    if name in _ABOUT_NULLS:
        return _ABOUT_NULLS[name](*values)
    kinds = [value.type for value in values]
    if any(pa.types.is_null(kind) for kind in kinds):
        return nulls(call_type(node, kinds), values)
    if name == "rlike":
        assert isinstance(node.arguments[1], Literal)
        return pc.match_substring_regex(values[0], translated(str(node.arguments[1].value), ARROW))
    if name == "round":
        return _round(values[0], round_digits(node), call_type(node, kinds))
    return _STRICT[name](*values)


# --- numbers --------------------------------------------------------------------------------


def _floats(function: Callable[..., Column]) -> Callable[..., Column]:
    return lambda *values: function(*(cast(value, pa.float64()) for value in values))


def _positive(function: Callable[[Column], Column]) -> Callable[..., Column]:
    def logarithm(value: Column) -> Column:
        outside = pc.less_equal(value, pa.scalar(0.0))
        return function(pc.if_else(outside, pa.scalar(None, pa.float64()), value))

    return _floats(logarithm)


def _power(base: Column, exponent: Column) -> Column:
    """Power as Java has it: NaN where C says 1."""
    endless = pc.and_(pc.equal(pc.abs(base), pa.scalar(1.0)), pc.is_inf(exponent))
    undefined = pc.or_(pc.is_nan(exponent), endless)
    return pc.if_else(undefined, pa.scalar(math.nan), pc.power(base, exponent))


def _whole(function: Callable[[Column], Column], rounding: str) -> Callable[..., Column]:
    """Floor and ceiling as Spark casts them: NaN is 0, what is too large is the largest integer."""

    def of_decimal(value: Decimal) -> int:
        return int(value.quantize(Decimal(1), rounding, EXACT))

    def whole(value: Column) -> Column:
        if pa.types.is_integer(value.type):
            return cast(value, pa.int64())
        if pa.types.is_decimal(value.type):
            return rows_within(of_decimal, value)
        exact = function(cast(value, pa.float64()))
        limit = pa.scalar(2.0**63)
        above, below = pc.greater_equal(exact, limit), pc.less(exact, pc.negate(limit))
        inside = pc.if_else(pc.or_(pc.or_(above, below), pc.is_nan(exact)), pa.scalar(0.0), exact)
        result = cast(inside, pa.int64())
        result = pc.if_else(above, pa.scalar(INT64[1]), result)
        return pc.if_else(below, pa.scalar(INT64[0]), result)

    return whole


def _round(value: Column, digits: int, kind: pa.DataType) -> Column:
    """Round half away from zero, floats by the digits they print with."""
    if pa.types.is_decimal(kind):
        return rows(lambda number: rounded(_rounded(number, digits), kind), kind, value)
    value = cast(value, kind)
    if pa.types.is_integer(kind):
        return value if digits >= 0 else rows_within(lambda n: int(_rounded(Decimal(n), digits)), value)
    if isinstance(value, pa.Array) and 0 <= digits <= _EXACT_POWER:
        return _round_floats(value, digits)
    return rows(lambda number: _round_float(number, digits), kind, value)


def _round_floats(value: pa.Array, digits: int) -> pa.Array:
    numbers = value.fill_null(0.0).to_numpy(zero_copy_only=False)
    with np.errstate(all="ignore"):
        scaled = np.abs(numbers) * 10.0**digits
        result = np.copysign(np.floor(scaled + 0.5) / 10.0**digits, numbers)
        # Where scaling may have moved a number across a half, the digits it prints with decide.
        from_half = np.abs(scaled - np.floor(scaled) - 0.5)
        sure = (scaled < 2.0**45) & (from_half > scaled * 2.0**-50)
    for at in np.flatnonzero(~sure):
        result[at] = _round_float(float(numbers[at]), digits)
    return pa.array(result, pa.float64(), mask=value.is_null().to_numpy(zero_copy_only=False))


def _rounded(number: Decimal, digits: int) -> Decimal:
    if digits >= -int(number.as_tuple().exponent):
        return number
    return number.quantize(Decimal((0, (1,), -digits)), ROUND_HALF_UP, _LONG)


def _round_float(number: float, digits: int) -> float:
    return float(_rounded(Decimal(repr(number)), digits)) if math.isfinite(number) else number


def _sign(value: Column) -> Column:
    return cast(pc.sign(cast(value, pa.float64())), pa.float64())


# --- one of several values ------------------------------------------------------------------


def _of_one_type(values: tuple[Column, ...]) -> list[Column]:
    kind = common_type([value.type for value in values])
    return [cast(value, kind) for value in values]


def _extreme(symbol: str) -> Callable[..., Column]:
    """Least or greatest of several, nulls ignored, NaN greatest."""

    def extreme(*values: Column) -> Column:
        best, *others = _of_one_type(values)
        for value in others:
            if pa.types.is_null(value.type):
                continue
            first = pc.or_kleene(compare(symbol, best, value), pc.is_null(value))
            best = pc.if_else(pc.fill_null(first, False), best, value)
        return best

    return extreme


def _coalesce(*values: Column) -> Column:
    return pc.coalesce(*_of_one_type(values))


def _nullif(value: Column, other: Column) -> Column:
    if pa.types.is_null(value.type) or pa.types.is_null(other.type):
        return value
    equal = pc.fill_null(compare("=", value, other), False)
    return pc.if_else(equal, pa.scalar(None, value.type), value)


def _if(test: Column, then: Column, otherwise: Column) -> Column:
    holds = pc.fill_null(cast(test, pa.bool_()), False)
    return pc.if_else(holds, *_of_one_type((then, otherwise)))


# --- texts ----------------------------------------------------------------------------------


def _cased(ascii_only: Callable[[Column], Column], function: Callable[[str], str]) -> Callable[..., Column]:
    """Return a function that changes the case of letters, of all alphabets as Unicode has it."""

    def cased(text: Column) -> Column:
        plain = pc.string_is_ascii(text)
        if isinstance(text, pa.Array) and pc.all(plain, min_count=0).as_py():
            return ascii_only(text)
        return rows(function, text.type, text)

    return cased


def _substring(text: Column, start: Column, length: Column | None = None) -> Column:
    """Substring from 1; a negative start counts from the end, and 0 means 1."""
    constant = isinstance(start, pa.Scalar) and (length is None or isinstance(length, pa.Scalar))
    if constant and start.is_valid and start.as_py() > 0 and (length is None or length.is_valid):
        begin = _near(start.as_py()) - 1
        return pc.utf8_slice_codeunits(
            text, begin, None if length is None else begin + max(0, _near(length.as_py()))
        )

    def part(text: str, start: int, length: int | None = None) -> str:
        start = _near(start)
        begin = start - 1 if start > 0 else len(text) + start if start < 0 else 0
        end = len(text) if length is None else begin + _near(length)
        return text[max(begin, 0) : max(end, 0)]

    return rows(part, text.type, text, start, *(() if length is None else (length,)))


def _near(place: int) -> int:
    return max(-_FARTHEST, min(place, _FARTHEST))


def _joined(*texts: Column) -> Column:
    kind = pa.large_string() if any(text.type == pa.large_string() for text in texts) else pa.string()
    return pc.binary_join_element_wise(*(cast(text, kind) for text in texts), pa.scalar("", kind))


def _searched(
    fast: Callable[..., Column], exact: Callable[[str, str], bool]
) -> Callable[[Column, Column], Column]:
    """Return a test of a text by another one, which Arrow takes if it is the same in all rows."""

    def searched(text: Column, part: Column) -> Column:
        if isinstance(part, pa.Scalar) and part.is_valid:
            return fast(text, part.as_py())
        return rows(exact, pa.bool_(), text, part)

    return searched


# --- times and lists ------------------------------------------------------------------------


def _date_part(function: Callable[[Column], Column]) -> Callable[..., Column]:
    def part(value: Column) -> Column:
        if pa.types.is_date(value.type):
            value = cast(value, pa.timestamp("us"))
        return cast(function(value), pa.int64())

    return part


def _element_at(lists: Column, place: Column) -> Column:
    """Return an element by its number from 1, or from -1 back from the end; null if there is none."""
    if not isinstance(lists, pa.Array):
        lists = pa.repeat(lists, len(place) if isinstance(place, pa.Array) else 1)
    if pa.types.is_fixed_size_list(lists.type):
        lists = lists.cast(pa.list_(lists.type.value_type))
    places = place if isinstance(place, pa.Array) else pa.repeat(place, len(lists))
    whole = rows_within(int, places) if pa.types.is_decimal(places.type) else cast(places, pa.int64())
    number = whole.fill_null(0).to_numpy(zero_copy_only=False)
    lengths = lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    at = np.where(number > 0, number - 1, lengths + number)
    there = (number != 0) & (at >= 0) & (at < lengths)
    starts = lists.offsets.to_numpy(zero_copy_only=False)[:-1].astype(np.int64)
    return plain(lists.values.take(pa.array(np.where(there, starts + at, 0), mask=~there)))


def correlation(left: Column, right: Column) -> Column:
    """Pearson's correlation of two lists, row by row; null where it is not defined."""

    def one(x: list[float | None] | None, y: list[float | None] | None) -> float | None:
        if x is None or y is None or len(x) != len(y) or len(x) < 2 or None in x or None in y:
            return None
        a, b = np.asarray(x, float), np.asarray(y, float)
        a, b = a - a.mean(), b - b.mean()
        spread = float((a * a).sum() * (b * b).sum())
        return float((a * b).sum()) / spread**0.5 if spread > 0 else None

    return apply(one, pa.float64(), left, right)


_ABOUT_NULLS: dict[str, Callable[..., Column]] = {
    "least": _extreme("<="),
    "greatest": _extreme(">="),
    "coalesce": _coalesce,
    "nullif": _nullif,
    "if": _if,
}
_STRICT: dict[str, Callable[..., Column]] = {
    "abs": magnitude,
    "sign": _sign,
    "sqrt": _floats(pc.sqrt),
    "exp": _floats(pc.exp),
    "ln": _positive(pc.ln),
    "log10": _positive(pc.log10),
    "log2": _positive(pc.log2),
    "pow": _floats(_power),
    "power": _floats(_power),
    "floor": _whole(pc.floor, ROUND_FLOOR),
    "ceil": _whole(pc.ceil, ROUND_CEILING),
    "mod": lambda left, right: arithmetic("%", left, right),
    "upper": _cased(pc.ascii_upper, str.upper),
    "lower": _cased(pc.ascii_lower, str.lower),
    "trim": lambda text: pc.utf8_trim(text, " "),
    "length": lambda text: cast(pc.utf8_length(text), pa.int64()),
    "substring": _substring,
    "concat": _joined,
    "startswith": _searched(pc.starts_with, str.startswith),
    "endswith": _searched(pc.ends_with, str.endswith),
    "contains": _searched(pc.match_substring, lambda text, part: part in text),
    "year": _date_part(pc.year),
    "month": _date_part(pc.month),
    "day": _date_part(pc.day),
    "hour": _date_part(pc.hour),
    "minute": _date_part(pc.minute),
    "second": _date_part(pc.second),
    "corr": correlation,
    "size": lambda value: cast(pc.list_value_length(value), pa.int64()),
    "element_at": _element_at,
}
