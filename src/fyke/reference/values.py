"""Values as the naive reference sees them: SQL comparison, arithmetic, casts and aggregates.

Null is ``None``.  The rules are SEMANTICS 1 (null, NaN) and 3 (conditions), with Spark SQL's answer
wherever that page says nothing; functions have a file of their own.  Nothing here is shared with an engine.
"""

from __future__ import annotations

import ctypes
import functools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta, timezone
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

Value = Any
"""None, bool, int, float, Decimal, str, datetime, date, timedelta, or a list or dict of values."""

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
_EXACT = Context(prec=200)
_QUOTIENT = Decimal((0, (1,), -38))


def literal(value: Value) -> Value:
    """Return what a literal means: a whole number beyond 64 bits is a decimal."""
    large = isinstance(value, int) and not INT64_MIN <= value <= INT64_MAX
    return Decimal(value) if large else value


# --- comparison -------------------------------------------------------------------------


def compare(left: Value, right: Value) -> int:
    """Return -1, 0 or 1 for two values that are not null, in Spark's order.

    NaN equals itself and is greatest, -0.0 equals 0.0, an integer or a decimal meets a float as a
    float, and instants meet in UTC.  Lists go element by element, a null element first.
    """
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return _compare_lists(left, right)
    if isinstance(left, float) or isinstance(right, float):
        left, right = float(left), float(right)
        if math.isnan(left) or math.isnan(right):
            return int(math.isnan(left)) - int(math.isnan(right))
    if isinstance(left, date) and isinstance(right, date):
        left, right = _instant(left), _instant(right)
    return int(left > right) - int(left < right)


def _compare_lists(left: Sequence[Value], right: Sequence[Value]) -> int:
    for one, other in zip(left, right, strict=False):
        if one is None or other is None:
            verdict = int(one is not None) - int(other is not None)
        else:
            verdict = compare(one, other)
        if verdict:
            return verdict
    return int(len(left) > len(right)) - int(len(left) < len(right))


def _instant(value: date) -> datetime:
    """Return a date or time in UTC: a date is its midnight, a time without a zone is taken for UTC."""
    if not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day, tzinfo=timezone.utc)
    return value.replace(tzinfo=timezone.utc) if value.tzinfo is None else value.astimezone(timezone.utc)


_VERDICTS: Mapping[str, Callable[[int], bool]] = {
    "=": lambda verdict: verdict == 0,
    "!=": lambda verdict: verdict != 0,
    "<": lambda verdict: verdict < 0,
    "<=": lambda verdict: verdict <= 0,
    ">": lambda verdict: verdict > 0,
    ">=": lambda verdict: verdict >= 0,
}
COMPARISONS = frozenset(_VERDICTS)


def comparison(operator: str, left: Value, right: Value) -> bool | None:
    """Return ``left operator right``; unknown (None) if either is null."""
    if left is None or right is None:
        return None
    return _VERDICTS[operator](compare(left, right))


# --- three-valued logic -----------------------------------------------------------------


def conjunction(*truths: bool | None) -> bool | None:
    """AND: false beats unknown, unknown beats true."""
    if False in truths:
        return False
    return None if None in truths else True


def negation(truth: bool | None) -> bool | None:
    """NOT: unknown stays unknown."""
    return None if truth is None else not truth


def disjunction(*truths: bool | None) -> bool | None:
    """OR: true beats unknown, unknown beats false."""
    return negation(conjunction(*map(negation, truths)))


def like(text: str | None, pattern: str | None) -> bool | None:
    r"""LIKE: ``%`` is any text, ``_`` one character, a backslash makes the next character plain."""
    if text is None or pattern is None:
        return None
    tokens: list[str] = re.findall(r"\\.|.", pattern, re.DOTALL)
    wild = {"%": ".*", "_": "."}
    regex = "".join(wild[token] if token in wild else re.escape(token[-1]) for token in tokens)
    return re.fullmatch(regex, text, re.DOTALL) is not None


# --- arithmetic -------------------------------------------------------------------------


def arithmetic(operator: str, left: Value, right: Value) -> Value:
    """Return ``left operator right`` for ``+ - * / %``; null for null, division by zero and overflow."""
    if left is None or right is None:
        return None
    if isinstance(left, (date, timedelta)) or isinstance(right, (date, timedelta)):
        return _temporal(operator, left, right)
    if operator in "/%" and right == 0:
        return None
    if isinstance(left, float) or isinstance(right, float):
        return _float_arithmetic(operator, float(left), float(right))
    if isinstance(left, Decimal) or isinstance(right, Decimal):
        return _decimal_arithmetic(operator, Decimal(left), Decimal(right))
    if operator == "/":
        return float(left) / float(right)
    if operator == "%":
        remainder: int = abs(left) % abs(right)
        return -remainder if left < 0 else remainder
    return in_range({"+": left + right, "-": left - right, "*": left * right}[operator])


def negative(value: Value) -> Value:
    """Return ``-value``; null for null and for the one integer whose negative is too large."""
    if isinstance(value, Decimal):
        return value.copy_negate() if value else value  # Python's own minus would round to 28 digits
    return None if value is None else in_range(-value)


def in_range(value: Value) -> Value:
    """Return null for an integer that a 64-bit column cannot hold."""
    return None if isinstance(value, int) and not INT64_MIN <= value <= INT64_MAX else value


def _float_arithmetic(operator: str, left: float, right: float) -> float:
    if operator == "/":
        return left / right
    if operator == "%":
        return math.nan if math.isinf(left) else math.fmod(left, right)
    return {"+": left + right, "-": left - right, "*": left * right}[operator]


def _decimal_arithmetic(operator: str, left: Decimal, right: Decimal) -> Decimal:
    """Exact, but for quotients: they have 38 digits behind the point, as Spark rounds them at first."""
    if operator == "/":
        return _EXACT.divide(left, right).quantize(_QUOTIENT, ROUND_HALF_UP, _EXACT)
    if operator == "%":
        return _EXACT.remainder(left, right)
    return {"+": _EXACT.add, "-": _EXACT.subtract, "*": _EXACT.multiply}[operator](left, right)


def _temporal(operator: str, left: Value, right: Value) -> Value:
    """Arithmetic of instants and durations: elapsed time, never wall-clock time."""
    try:
        if isinstance(left, date) and isinstance(right, date) and operator == "-":
            return _instant(left) - _instant(right)
        if isinstance(left, date) and isinstance(right, timedelta) and operator in "+-":
            moved = _instant(left) + (right if operator == "+" else -right)
            zone = left.tzinfo if isinstance(left, datetime) else None
            return moved if zone is not None else moved.replace(tzinfo=None)
        if isinstance(left, timedelta) and isinstance(right, date) and operator == "+":
            return _temporal("+", right, left)
        if isinstance(left, timedelta) and isinstance(right, timedelta) and operator in "+-":
            return left + right if operator == "+" else left - right
        if isinstance(right, timedelta) and operator == "*":
            return _scaled("*", right, left)
        if isinstance(left, timedelta) and operator in "*/":
            return _scaled(operator, left, right)
    except OverflowError:
        return None
    raise TypeError(f"no {operator!r} between {type(left).__name__} and {type(right).__name__}")


def _scaled(operator: str, duration: timedelta, number: int | float | Decimal) -> timedelta | None:
    """Return a duration multiplied or divided, rounded half up to microseconds; null for no number."""
    micros = duration // timedelta(microseconds=1)
    if operator == "/" and number == 0:
        return None
    if isinstance(number, float):
        exact = Decimal(micros * number if operator == "*" else micros / number)
    else:
        exact = (_EXACT.multiply if operator == "*" else _EXACT.divide)(Decimal(micros), Decimal(number))
    if not exact.is_finite() or exact.adjusted() > 20:
        return None
    whole = in_range(int(exact.quantize(Decimal(1), ROUND_HALF_UP, _EXACT)))
    return None if whole is None else timedelta(microseconds=whole)


# --- casts ------------------------------------------------------------------------------


INSTANT = "INSTANT"  # a time in UTC, which no query can ask for
_BLANKS = " \t\r\n"
_BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
_TRUE, _FALSE = ("t", "true", "y", "yes", "1"), ("f", "false", "n", "no", "0")


def cast(value: Value, target: str) -> Value:
    """Return ``CAST(value AS target)``: null where the value has no such form.

    What is behind the point of a number is cut off, or rounded half up in a decimal.
    """
    if value is None:
        return None
    if isinstance(value, str) and target != "STRING":
        return _read(value.strip(_BLANKS), target)
    if target == "BOOLEAN":
        return value if isinstance(value, bool) else value != 0
    if target == "STRING":
        if isinstance(value, bool):
            return str(value).lower()
        return format(value, "f") if isinstance(value, Decimal) else str(value)
    if target == "DATE":
        return value.date() if isinstance(value, datetime) else value
    if target == INSTANT:
        return _instant(value)
    if target == "TIMESTAMP":
        return value if isinstance(value, datetime) else _instant(value).replace(tzinfo=None)
    return _as_number(int(value) if isinstance(value, bool) else value, target)


def _read(text: str, target: str) -> Value:
    if target == "BOOLEAN":
        return True if text.lower() in _TRUE else False if text.lower() in _FALSE else None
    number = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,6})?"
    if not re.fullmatch(r"[+-]?[0-9]+" if target in _BITS else number, text):
        return None
    return _as_number(float(text) if target in ("DOUBLE", "FLOAT") else Decimal(text), target)


def _single(value: float) -> float:
    """Return the nearest float of 32 bits; beyond the largest there is infinity."""
    return ctypes.c_float(value).value


def _as_number(value: int | float | Decimal, target: str) -> Value:
    if target in ("DOUBLE", "FLOAT"):
        return _single(float(value)) if target == "FLOAT" else float(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if target in _BITS:
        limit = 2 ** (_BITS[target] - 1)
        return math.trunc(value) if -limit <= math.trunc(value) < limit else None
    digits, scale = (int(part) for part in re.findall("[0-9]+", target))
    exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if exact and exact.adjusted() >= digits - scale:
        return None
    rounded = exact.quantize(Decimal((0, (1,), -scale)), ROUND_HALF_UP, Context(prec=2_000_000))
    if rounded and rounded.adjusted() >= digits - scale:
        return None
    return rounded if rounded else rounded.copy_abs()


# --- aggregates of a group --------------------------------------------------------------


def aggregate(name: str, elements: Sequence[Value]) -> Value:
    """Return an aggregate of the elements, which are in processing order.

    All but ``first``, ``last`` and ``collect`` ignore nulls, and all but counts are null over no value.
    Floats are added from the first to the last.
    """
    if name in ("first", "last"):
        return elements[0 if name == "first" else -1] if elements else None
    if name == "collect":
        return list(elements)
    values = [value for value in elements if value is not None]
    if name == "count":
        return len(values)
    if name == "count_distinct":
        return sum(
            not any(compare(value, other) == 0 for other in values[:k]) for k, value in enumerate(values)
        )
    return _AGGREGATES[name](values) if values else None


def _total(values: Sequence[Value]) -> Value:
    if all(isinstance(value, int) for value in values):
        return in_range(sum(values))  # only the total must fit, in whatever order
    return functools.reduce(lambda left, right: arithmetic("+", left, right), values)


def mean(values: Sequence[Value]) -> float:
    """Return the mean of numbers, added as floats from the first to the last."""
    return float(_total([float(value) for value in values])) / len(values)


def _deviation(values: Sequence[Value]) -> float | None:
    if len(values) < 2:
        return None
    middle = mean(values)
    squares = [(float(value) - middle) * (float(value) - middle) for value in values]
    return math.sqrt(float(_total(squares)) / (len(values) - 1))


def _median(values: Sequence[Value]) -> float:
    """Return the value in the middle, or the mean of the two that are."""
    ordered = sorted((float(value) for value in values), key=functools.cmp_to_key(compare))
    low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    return low if low == high else 0.5 * low + 0.5 * high


_AGGREGATES: Mapping[str, Callable[[Sequence[Value]], Value]] = {
    "sum": _total,
    "avg": mean,
    "stddev": _deviation,
    "median": _median,
    "min": lambda values: min(values, key=functools.cmp_to_key(compare)),
    "max": lambda values: max(values, key=functools.cmp_to_key(compare)),
}
AGGREGATES = frozenset({"first", "last", "collect", "count", "count_distinct", *_AGGREGATES})
