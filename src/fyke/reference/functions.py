"""The functions of the language as the naive reference has them."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import ROUND_HALF_UP, Context, Decimal

from fyke.errors import InputError, UnknownFunctionError, near_misses
from fyke.logical.regular_expressions import PYTHON, translated
from fyke.reference.values import (
    INT64_MAX,
    INT64_MIN,
    Value,
    aggregate,
    arithmetic,
    comparison,
    in_range,
    mean,
)

_FARTHEST = 2**31 - 1


def call(name: str, arguments: Sequence[Value], registered: Mapping[str, Callable[..., Value]]) -> Value:
    """Return the value of a scalar function.

    A function is null if an argument is, except the built-in ones that are about nulls.  A registered
    function takes floats, and is null where it raises.
    """
    if name in _ABOUT_NULLS:
        return _ABOUT_NULLS[name](*arguments)
    if name in registered:
        return _registered(registered[name], arguments)
    function = _STRICT.get(name)
    if function is not None:
        return None if any(argument is None for argument in arguments) else function(*arguments)
    known = (*_ABOUT_NULLS, *_STRICT, *registered)
    raise UnknownFunctionError(f"unknown function {name!r}.{near_misses(name, known)}")


def _registered(function: Callable[..., Value], arguments: Sequence[Value]) -> float | None:
    """Return what a user function makes of numbers; null where it raises."""
    try:
        return None if None in arguments else float(function(*map(float, arguments)))
    except Exception:
        return None


def _least(*arguments: Value) -> Value:
    return aggregate("min", arguments)


def _greatest(*arguments: Value) -> Value:
    return aggregate("max", arguments)


def _coalesce(*arguments: Value) -> Value:
    return next((argument for argument in arguments if argument is not None), None)


def _nullif(value: Value, other: Value) -> Value:
    return None if comparison("=", value, other) is True else value


def _if(condition: bool | None, then: Value, otherwise: Value) -> Value:
    return then if condition is True else otherwise


def _sign(value: Value) -> float:
    return float(value) if math.isnan(value) or value == 0 else math.copysign(1.0, value)


def _sqrt(value: Value) -> float:
    return math.nan if value < 0 else math.sqrt(value)


def _exp(value: Value) -> float:
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf


def _logarithm(function: Callable[[float], float], value: Value) -> float | None:
    return None if value <= 0 else function(float(value))


def _power(base: Value, exponent: Value) -> float:
    """Power as Java has it: NaN where C says 1, infinity where Python raises."""
    x, y = float(base), float(exponent)
    if math.isnan(y) or (abs(x) == 1 and math.isinf(y)):
        return math.nan
    odd = y.is_integer() and y % 2 == 1
    try:
        return math.pow(x, y)
    except OverflowError:
        return -math.inf if x < 0 and odd else math.inf
    except ValueError:  # a zero to a negative power, or a negative number to a fraction
        return math.nan if x != 0 else math.copysign(math.inf, x) if odd else math.inf


def _whole(toward: Callable[[Value], int], value: Value) -> int | None:
    """Floor and ceiling as Spark casts them: a float saturates, NaN is 0."""
    if not isinstance(value, float):
        return None if in_range(toward(value)) is None else toward(value)
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return INT64_MAX if value > 0 else INT64_MIN
    return min(max(toward(value), INT64_MIN), INT64_MAX)


def _round(value: Value, digits: int = 0) -> Value:
    """Round half away from zero, on the digits a float prints with."""
    if isinstance(value, float) and not math.isfinite(value):
        return value
    exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if digits >= -int(exact.as_tuple().exponent):
        return value
    rounded = exact.quantize(Decimal((0, (1,), -digits)), ROUND_HALF_UP, Context(prec=1000))
    return in_range(type(value)(rounded))


def _substring(text: str, start: int, length: int | None = None) -> str:
    """Substring from 1; a negative start counts from the end, and 0 means 1.

    A number beyond 32 bits is as far as there is.
    """
    start = min(max(start, -_FARTHEST), _FARTHEST)
    begin = start - 1 if start > 0 else len(text) + start if start < 0 else 0
    end = len(text) if length is None else begin + min(max(length, -_FARTHEST), _FARTHEST)
    return text[max(begin, 0) : max(end, 0)]


def _correlation(left: Sequence[Value], right: Sequence[Value]) -> float | None:
    """Pearson's coefficient of two lists; null if one is empty or constant, or has a null in it."""
    if not left or not right or None in left or None in right:
        return None
    if len(left) != len(right):
        raise InputError(f"corr compares lists of one length, found {len(left)} and {len(right)} numbers")
    left_mean, right_mean = mean(left), mean(right)
    products, left_squares, right_squares = 0.0, 0.0, 0.0
    for one, other in zip(left, right, strict=True):
        x, y = float(one) - left_mean, float(other) - right_mean
        products, left_squares, right_squares = products + x * y, left_squares + x * x, right_squares + y * y
    spread = math.sqrt(left_squares * right_squares)
    return None if spread == 0 else products / spread


def _element_at(values: Sequence[Value], place: int) -> Value:
    """Return an element by its number from 1, or from -1 back from the end; null if there is none."""
    if place == 0 or abs(place) > len(values):
        return None
    return values[place - 1 if place > 0 else place]


def _part(name: str) -> Callable[[date], int]:
    return lambda value: int(getattr(value, name, 0))  # a date has no hour: it is midnight


_ABOUT_NULLS: Mapping[str, Callable[..., Value]] = {
    "least": _least,
    "greatest": _greatest,
    "coalesce": _coalesce,
    "nullif": _nullif,
    "if": _if,
}
_STRICT: Mapping[str, Callable[..., Value]] = {
    "abs": lambda value: value.copy_abs() if isinstance(value, Decimal) else in_range(abs(value)),
    "sign": _sign,
    "sqrt": _sqrt,
    "exp": _exp,
    "ln": functools.partial(_logarithm, math.log),
    "log10": functools.partial(_logarithm, math.log10),
    "log2": functools.partial(_logarithm, math.log2),
    "pow": _power,
    "power": _power,
    "floor": functools.partial(_whole, math.floor),
    "ceil": functools.partial(_whole, math.ceil),
    "round": _round,
    "mod": functools.partial(arithmetic, "%"),
    "upper": str.upper,
    "lower": str.lower,
    "trim": lambda text: text.strip(" "),
    "length": len,
    "substring": _substring,
    "concat": lambda *texts: "".join(texts),
    "startswith": str.startswith,
    "endswith": str.endswith,
    "contains": lambda text, part: part in text,
    "rlike": lambda text, pattern: re.search(translated(pattern, PYTHON), text) is not None,
    **{name: _part(name) for name in ("year", "month", "day", "hour", "minute", "second")},
    "corr": _correlation,
    "size": len,
    "element_at": _element_at,
}
