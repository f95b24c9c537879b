"""Expressions over whole Arrow columns, with the language's SQL meaning (SEMANTICS 1 and 3).

Used on tables for what looks at one event only, and for RETURN items.  Where Arrow differs from
SQL (NaN, division by zero, overflow, null in IN) the difference is made up for here.
"""

from __future__ import annotations

import datetime
import operator
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fyke.errors import InputError
from fyke.language.ast import (
    Between,
    Binary,
    Call,
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
from fyke.logical.check import COMPARISONS
from fyke.logical.kinds import Kind, kind_of

Column: TypeAlias = Any  # pa.Array | pa.Scalar: pyarrow has no types of its own
Resolve = Callable[[Expression], Column]

_INT64 = (-(2**63), 2**63 - 1)


def evaluate(node: Expression, resolve: Resolve) -> Column:
    """Return the value of an expression for every row.

    ``resolve`` gives the column of a reference, of ``a.len`` and of calls it knows better (an
    aggregate of a group); it returns None for other calls.
    """
    if isinstance(node, Literal):
        return _literal(node)
    if isinstance(node, Duration):
        return (
            pa.scalar(node.nanoseconds // 1000, pa.duration("us"))
            if node.nanoseconds % 1000 == 0
            else pa.scalar(node.nanoseconds, pa.duration("ns"))
        )
    if isinstance(node, Timestamp):
        return _timestamp(node.text)
    if isinstance(node, (Reference, Length)):
        return plain(resolve(node))
    if isinstance(node, Unary):
        return _unary(node, evaluate(node.operand, resolve))
    if isinstance(node, Binary):
        return _binary(node.operator, evaluate(node.left, resolve), evaluate(node.right, resolve))
    if isinstance(node, Call):
        known = resolve(node)
        if known is not None:
            return plain(known)
        return _call(node.function, [evaluate(argument, resolve) for argument in node.arguments])
    assert isinstance(node, (In, Between, Like, IsNull))
    return _predicate(node, resolve)


def plain(column: Column) -> Column:
    """Decode a dictionary column, so that the compute functions take it."""
    return column.dictionary_decode() if isinstance(column, pa.DictionaryArray) else column


def _literal(node: Literal) -> Column:
    if isinstance(node.value, int) and not isinstance(node.value, bool):
        if not _INT64[0] <= node.value <= _INT64[1]:
            return pa.scalar(float(node.value))
        return pa.scalar(node.value, pa.int64())
    return pa.scalar(node.value)


def parse_timestamp(text: str) -> datetime.datetime:
    """Read the text of a TIMESTAMP literal; without an offset it means UTC."""
    try:
        parsed = datetime.datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
    except ValueError as error:
        raise InputError(
            f"{text!r} is not a timestamp", remedy="Write TIMESTAMP '2026-01-31 12:00:00'."
        ) from error
    return parsed if parsed.tzinfo is not None else parsed.replace(tzinfo=datetime.timezone.utc)


def _timestamp(text: str) -> Column:
    return pa.scalar(parse_timestamp(text), pa.timestamp("us", tz="UTC"))


# --- operators --------------------------------------------------------------------------


def _unary(node: Unary, value: Column) -> Column:
    if node.operator == "NOT":
        return pc.invert(_boolean(value))
    if pa.types.is_duration(value.type):
        return _cast(pc.negate(_cast(value, pa.int64())), value.type)
    return _checked("negate", pc.negate_checked, operator.neg, value)


def _boolean(value: Column) -> Column:
    return _cast(value, pa.bool_()) if pa.types.is_null(value.type) else value


def _binary(symbol: str, left: Column, right: Column) -> Column:
    if symbol == "AND":
        return pc.and_kleene(_boolean(left), _boolean(right))
    if symbol == "OR":
        return pc.or_kleene(_boolean(left), _boolean(right))
    if pa.types.is_null(left.type) or pa.types.is_null(right.type):
        return _nulls_like(left, right, pa.bool_() if symbol in COMPARISONS else None)
    if symbol in COMPARISONS:
        return compare(symbol, left, right)
    return _arithmetic(symbol, left, right)


def _nulls_like(left: Column, right: Column, kind: pa.DataType | None) -> Column:
    kind = kind or (right.type if pa.types.is_null(left.type) else left.type)
    for value in (left, right):
        if isinstance(value, pa.Array):
            return pa.nulls(len(value), kind)
    return pa.scalar(None, kind)


_COMPARE = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def compare(symbol: str, left: Column, right: Column) -> Column:
    """Compare with SQL's nulls and Spark's NaN: equal to itself and greater than everything else."""
    left, right = _same_type(left, right)
    result = _COMPARE[symbol](left, right)
    if pa.types.is_floating(left.type):
        odd_left, odd_right = pc.is_nan(left), pc.is_nan(right)
        if not _any_true(pc.or_(odd_left, odd_right)):
            return result
        rank_left, rank_right = pc.cast(odd_left, pa.int8()), pc.cast(odd_right, pa.int8())
        return pc.if_else(pc.or_(odd_left, odd_right), _COMPARE[symbol](rank_left, rank_right), result)
    return result


def _any_true(value: Column) -> bool:
    return bool(value.as_py() if isinstance(value, pa.Scalar) else pc.any(value).as_py())


def _same_type(left: Column, right: Column) -> tuple[Column, Column]:
    if left.type == right.type:
        return left, right
    if pa.types.is_decimal(left.type) or pa.types.is_decimal(right.type):
        if pa.types.is_floating(left.type) or pa.types.is_floating(right.type):
            return _cast(left, pa.float64()), _cast(right, pa.float64())
        return left, right
    if _is_number(left) and _is_number(right):
        kind = (
            pa.float64()
            if pa.types.is_floating(left.type) or pa.types.is_floating(right.type)
            else pa.int64()
        )
        return _cast(left, kind), _cast(right, kind)
    if _is_text(left) and _is_text(right):
        return _cast(left, pa.large_string()), _cast(right, pa.large_string())
    if kind_of(left.type) is Kind.BINARY:
        return _cast(left, pa.large_binary()), _cast(right, pa.large_binary())
    if pa.types.is_duration(left.type) and pa.types.is_duration(right.type):
        return _cast(left, pa.duration("ns")), _cast(right, pa.duration("ns"))
    return _instants(left, right)


def _instants(left: Column, right: Column) -> tuple[Column, Column]:
    """Bring timestamps and dates to one type; a time without a zone is taken as UTC."""
    kind = pa.timestamp("ns" if "ns" in (_unit(left), _unit(right)) else "us", tz="UTC")
    return _instant(left, kind), _instant(right, kind)


def _unit(value: Column) -> str:
    return value.type.unit if pa.types.is_timestamp(value.type) else "us"


def _instant(value: Column, kind: pa.DataType) -> Column:
    if pa.types.is_date(value.type):
        value = _cast(value, pa.timestamp(kind.unit))
    if value.type.tz is None:
        return _cast(_cast(_cast(value, pa.timestamp(kind.unit)), pa.int64()), kind)
    return _cast(value, kind)


def _is_number(value: Column) -> bool:
    return kind_of(value.type) in (Kind.INTEGER, Kind.FLOAT)


def _is_text(value: Column) -> bool:
    return kind_of(value.type) is Kind.STRING


def _cast(value: Column, kind: pa.DataType) -> Column:
    if value.type == kind:
        return value
    # An integer that no float holds exactly is rounded, as in SQL.
    return value.cast(kind, safe=not (pa.types.is_floating(kind) and pa.types.is_integer(value.type)))


def _arithmetic(symbol: str, left: Column, right: Column) -> Column:
    if not (_is_number(left) and _is_number(right)):
        if pa.types.is_decimal(left.type) or pa.types.is_decimal(right.type):
            return _decimal_arithmetic(symbol, left, right)
        return _time_arithmetic(symbol, left, right)
    floating = symbol == "/" or pa.types.is_floating(left.type) or pa.types.is_floating(right.type)
    kind = pa.float64() if floating else pa.int64()
    left, right = _cast(left, kind), _cast(right, kind)
    if symbol == "/":
        return pc.divide(left, _no_zero(right))
    if symbol == "%":
        return _modulo(left, _no_zero(right), floating)
    checked = {"+": pc.add_checked, "-": pc.subtract_checked, "*": pc.multiply_checked}[symbol]
    exact = {"+": operator.add, "-": operator.sub, "*": operator.mul}[symbol]
    return _checked(symbol, checked, exact, left, right)


def _no_zero(value: Column) -> Column:
    zero = pa.scalar(0, value.type)
    return pc.if_else(pc.equal(value, zero), pa.scalar(None, value.type), value)


def _modulo(left: Column, right: Column, floating: bool) -> Column:
    """Remainder with the sign of the dividend, as SQL has it."""
    if not floating:
        # Truncating division is what Arrow does for integers; -1 is set apart for the smallest int64.
        one = pc.if_else(pc.equal(right, pa.scalar(-1, pa.int64())), pa.scalar(1, pa.int64()), right)
        return pc.subtract(left, pc.multiply(pc.divide(left, one), one))
    return _by_numpy(np.fmod, left, right)  # Arrow has none, and a quotient would round


def _by_numpy(function: Callable[..., Any], *values: Column) -> Column:
    """Apply a NumPy function to floats; null where one of them is."""
    missing = [value.is_null() if isinstance(value, pa.Array) else not value.is_valid for value in values]
    plain = [
        value.fill_null(1.0).to_numpy(zero_copy_only=False)
        if isinstance(value, pa.Array)
        else value.as_py() or 0.0
        for value in values
    ]
    with np.errstate(all="ignore"):
        result = function(*plain)
    if np.ndim(result) == 0:
        return pa.scalar(None if any(missing) else float(result), pa.float64())
    mask = np.zeros(len(result), bool)
    for each in missing:
        mask |= np.asarray(each)
    return pa.array(result, pa.float64(), mask=mask)


def _checked(name: str, fast: Callable[..., Column], exact: Callable[..., object], *values: Column) -> Column:
    """Apply checked integer arithmetic; where a result leaves int64 it is null."""
    try:
        return fast(*values)
    except pa.ArrowInvalid:
        length = max((len(v) for v in values if isinstance(v, pa.Array)), default=1)
        lists = [v.to_pylist() if isinstance(v, pa.Array) else [v.as_py()] * length for v in values]
        results = [None if None in row else exact(*row) for row in zip(*lists, strict=True)]
        fitting = [x if x is not None and _INT64[0] <= x <= _INT64[1] else None for x in results]  # type: ignore[operator]
        return pa.array(fitting, values[0].type)


def _decimal_arithmetic(symbol: str, left: Column, right: Column) -> Column:
    floating = pa.types.is_floating(left.type) or pa.types.is_floating(right.type)
    if floating or symbol in "/%":
        return _arithmetic(symbol, _cast(left, pa.float64()), _cast(right, pa.float64()))
    return {"+": pc.add, "-": pc.subtract, "*": pc.multiply}[symbol](left, right)


def _time_arithmetic(symbol: str, left: Column, right: Column) -> Column:
    if (pa.types.is_duration(left.type) and _is_number(right)) or (
        _is_number(left) and pa.types.is_duration(right.type)
    ):
        return _scaled_duration(symbol, left, right)
    if symbol == "-" and not pa.types.is_duration(left.type) and not pa.types.is_duration(right.type):
        return pc.subtract(*_instants(left, right))
    if kind_of(left.type) is Kind.BINARY:
        return _cast(left, pa.large_binary()), _cast(right, pa.large_binary())
    if pa.types.is_duration(left.type) and pa.types.is_duration(right.type):
        left, right = _cast(left, pa.duration("us")), _cast(right, pa.duration("us"))
    left = _cast(left, pa.timestamp("us")) if pa.types.is_date(left.type) else left
    right = _cast(right, pa.timestamp("us")) if pa.types.is_date(right.type) else right
    return (pc.add if symbol == "+" else pc.subtract)(left, right)


def _scaled_duration(symbol: str, left: Column, right: Column) -> Column:
    duration, factor = (left, right) if pa.types.is_duration(left.type) else (right, left)
    ticks = _cast(_cast(duration, pa.int64()), pa.float64())
    scaled = _arithmetic(symbol, ticks, _cast(factor, pa.float64()))
    return _cast(_cast(pc.trunc(scaled), pa.int64()), duration.type)


# --- predicates and functions -----------------------------------------------------------


def _predicate(node: In | Between | Like | IsNull, resolve: Resolve) -> Column:
    operand = evaluate(node.operand, resolve)
    if isinstance(node, IsNull):
        result = pc.is_null(operand)
    elif isinstance(node, Like):
        assert isinstance(node.pattern, Literal)
        result = pc.match_like(operand, str(node.pattern.value))
    elif isinstance(node, Between):
        low, high = evaluate(node.low, resolve), evaluate(node.high, resolve)
        result = pc.and_kleene(_binary(">=", operand, low), _binary("<=", operand, high))
    else:
        result = pa.scalar(False)
        for option in node.options:
            result = pc.or_kleene(result, _binary("=", operand, evaluate(option, resolve)))
    return pc.invert(result) if node.negated else result


def _floats(function: Callable[..., Column]) -> Callable[..., Column]:
    return lambda *values: function(*(_cast(value, pa.float64()) for value in values))


def _positive(function: Callable[[Column], Column]) -> Callable[..., Column]:
    def logarithm(value: Column) -> Column:
        value = _cast(value, pa.float64())
        return function(
            pc.if_else(pc.less_equal(value, pa.scalar(0.0)), pa.scalar(None, pa.float64()), value)
        )

    return logarithm


def _power(base: Column, exponent: Column) -> Column:
    """Power as Java has it: NaN where C says 1."""
    base, exponent = _cast(base, pa.float64()), _cast(exponent, pa.float64())
    endless = pc.and_(pc.equal(pc.abs(base), pa.scalar(1.0)), pc.is_inf(exponent))
    undefined = pc.or_(pc.is_nan(exponent), endless)
    return pc.if_else(undefined, pa.scalar(float("nan")), pc.power(base, exponent))


def _whole(function: Callable[[Column], Column]) -> Callable[..., Column]:
    """Floor and ceiling as Spark casts them: NaN is 0, what is too large is the largest integer."""

    def whole(value: Column) -> Column:
        if pa.types.is_integer(value.type):
            return value
        if pa.types.is_decimal(value.type):
            return _cast(function(value), pa.int64())
        rounded = function(_cast(value, pa.float64()))
        limit = pa.scalar(2.0**63)
        above, below = pc.greater_equal(rounded, limit), pc.less(rounded, pc.negate(limit))
        inside = pc.if_else(pc.or_(pc.or_(above, below), pc.is_nan(rounded)), pa.scalar(0.0), rounded)
        result = _cast(inside, pa.int64())
        result = pc.if_else(above, pa.scalar(_INT64[1]), result)
        return pc.if_else(below, pa.scalar(_INT64[0]), result)

    return whole


def _round(value: Column, digits: Column | None = None) -> Column:
    if pa.types.is_integer(value.type) and digits is None:
        return value
    return pc.round(
        value, ndigits=0 if digits is None else digits.as_py(), round_mode="half_towards_infinity"
    )


def _choose(function: Callable[..., Column]) -> Callable[..., Column]:
    def choose(*values: Column) -> Column:
        unified = values
        if any(pa.types.is_floating(v.type) for v in values):
            unified = tuple(_cast(v, pa.float64()) for v in values)
        return function(*unified)

    return choose


def _extreme(symbol: str) -> Callable[..., Column]:
    """Least or greatest of several, nulls ignored, NaN greatest."""

    def extreme(*values: Column) -> Column:
        best = values[0]
        for value in values[1:]:
            first = pc.or_kleene(_binary(symbol, best, value), pc.is_null(value))
            left, right = _same_type(best, value) if not pa.types.is_null(value.type) else (best, best)
            best = pc.if_else(pc.fill_null(first, False), left, right)
        return best

    return extreme


def _substring(text: Column, start: Column, length: Column | None = None) -> Column:
    first = start.as_py()
    begin = first - 1 if first > 0 else first
    stop = None if length is None else begin + length.as_py()
    return pc.utf8_slice_codeunits(text, begin, stop if not (begin < 0 and stop == 0) else None)


def _date_part(function: Callable[[Column], Column]) -> Callable[..., Column]:
    def part(value: Column) -> Column:
        if pa.types.is_date(value.type):
            value = _cast(value, pa.timestamp("us"))
        return _cast(function(value), pa.int64())

    return part


def _sign(value: Column) -> Column:
    return _cast(pc.sign(value), pa.float64())


_FUNCTIONS: dict[str, Callable[..., Column]] = {
    "abs": lambda value: _checked("abs", pc.abs_checked, abs, value),
    "sign": _sign,
    "sqrt": _floats(pc.sqrt),
    "exp": _floats(pc.exp),
    "ln": _positive(pc.ln),
    "log10": _positive(pc.log10),
    "log2": _positive(pc.log2),
    "pow": _power,
    "power": _power,
    "floor": _whole(pc.floor),
    "ceil": _whole(pc.ceil),
    "round": _round,
    "mod": lambda left, right: _arithmetic("%", left, right),
    "least": _extreme("<="),
    "greatest": _extreme(">="),
    "coalesce": _choose(pc.coalesce),
    "nullif": lambda left, right: pc.if_else(
        pc.fill_null(_binary("=", left, right), False), pa.scalar(None, left.type), left
    ),
    "if": lambda test, yes, no: pc.if_else(pc.fill_null(test, False), *_same_type(yes, no)),
    "upper": pc.utf8_upper,
    "lower": pc.utf8_lower,
    "trim": lambda text: pc.utf8_trim(text, " "),
    "length": lambda text: _cast(pc.utf8_length(text), pa.int64()),
    "substring": _substring,
    "concat": lambda *texts: pc.binary_join_element_wise(*(_cast(t, pa.string()) for t in texts), ""),
    "startswith": lambda text, start: pc.starts_with(text, start.as_py()),
    "endswith": lambda text, end: pc.ends_with(text, end.as_py()),
    "contains": lambda text, part: pc.match_substring(text, part.as_py()),
    "year": _date_part(pc.year),
    "month": _date_part(pc.month),
    "day": _date_part(pc.day),
    "hour": _date_part(pc.hour),
    "minute": _date_part(pc.minute),
    "second": _date_part(pc.second),
    "corr": lambda left, right: correlation(left, right),
    "size": lambda value: _cast(pc.list_value_length(value), pa.int64()),
}


def correlation(left: Column, right: Column) -> Column:
    """Pearson's correlation of two lists, row by row; null where it is not defined."""

    def one(x: list[float | None] | None, y: list[float | None] | None) -> float | None:
        if x is None or y is None or len(x) != len(y) or len(x) < 2 or None in x or None in y:
            return None
        a, b = np.asarray(x, float), np.asarray(y, float)
        a, b = a - a.mean(), b - b.mean()
        spread = float((a * a).sum() * (b * b).sum())
        return float((a * b).sum()) / spread**0.5 if spread > 0 else None

    return apply(one, [left, right])


def apply(function: Callable[..., object], values: list[Column]) -> Column:
    """Apply a Python function row by row; used where no column of Arrow's can do it."""
    length = next((len(value) for value in values if isinstance(value, pa.Array)), None)
    if length is None:
        return pa.scalar(function(*(value.as_py() for value in values)), pa.float64())
    lists = [v.to_pylist() if isinstance(v, pa.Array) else [v.as_py()] * length for v in values]
    return pa.array([function(*row) for row in zip(*lists, strict=True)], pa.float64())


def _call(function: str, values: list[Column]) -> Column:
    return _FUNCTIONS[function](*values)
