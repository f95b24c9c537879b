"""The types that values have: 64-bit numbers, and decimals by the rules of Spark SQL.

Whole numbers are int64 and other numbers float64 once anything is computed from them.  An operator on
decimals returns one with the digits it may need, at most 38: beyond them digits behind the point are dropped
first, down to six, rounding half up.  A number that is written out beside a decimal is a decimal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Context, Decimal

import pyarrow as pa

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
    map_children,
)
from fyke.language.rules import COUNT_DISTINCT
from fyke.logical.kinds import AGGREGATES, COLLECT, FUNCTIONS, MEDIAN, NUMERIC, TEMPORAL, Kind, kind_of

MOST_DIGITS = 38
_KEPT_FRACTION = 6
_EXACT = Context(prec=400)
_COMPARISONS = frozenset({"=", "!=", "<", "<=", ">", ">=", "AND", "OR"})
_LARGEST = 2**63
OF_ONE_TYPE = {"coalesce": 0, "least": 0, "greatest": 0, "if": 1}
"""Functions whose arguments, from that one on, are brought to one type."""

TypeAt = Callable[[Expression], "pa.DataType | None"]
"""Gives the type of a reference, and of a call that the language does not know (None: nor anyone else)."""


# --- decimals -------------------------------------------------------------------------------


def decimal(digits: int, scale: int) -> pa.DataType:
    """Return the type of decimals of so many digits, of which ``scale`` are behind the point."""
    return pa.decimal128(digits, scale)


def as_decimal(kind: pa.DataType) -> pa.DataType:
    """Return the decimal type that holds all values of a type of whole numbers or decimals."""
    return decimal(kind.precision, kind.scale) if pa.types.is_decimal(kind) else decimal(20, 0)


def exact_value(value: int | float) -> Decimal | None:
    """Return a number as it is written; None if no decimal holds it."""
    written = Decimal(repr(value))
    if not written.is_finite():
        return None
    if written.as_tuple().exponent > 0:  # type: ignore[operator]
        written = written.quantize(Decimal(1), context=_EXACT)
    digits, scale = _digits(written)
    return written if digits <= MOST_DIGITS and scale <= MOST_DIGITS else None


def decimal_of(value: Decimal) -> pa.DataType:
    """Return the smallest decimal type that holds a value."""
    return decimal(*_digits(value))


def _digits(value: Decimal) -> tuple[int, int]:
    _, digits, exponent = value.as_tuple()
    scale = -int(exponent)
    return max(len(digits), scale, 1), scale


def decimal_result(operator: str, left: pa.DataType, right: pa.DataType) -> pa.DataType:
    """Return the type of ``left operator right`` for decimals and whole numbers."""
    (p, s), (q, t) = ((each.precision, each.scale) for each in (as_decimal(left), as_decimal(right)))
    if operator in "+-":
        scale = max(s, t)
        return _adjusted(max(p - s, q - t) + scale + 1, scale)
    if operator == "*":
        return _adjusted(p + q + 1, s + t)
    if operator == "/":
        scale = max(_KEPT_FRACTION, s + q + 1)
        return _adjusted(p - s + t + scale, scale)
    scale = max(s, t)
    return _adjusted(min(p - s, q - t) + scale, scale)


def _adjusted(digits: int, scale: int) -> pa.DataType:
    if digits <= MOST_DIGITS:
        return decimal(digits, scale)
    whole = digits - scale
    return decimal(MOST_DIGITS, max(MOST_DIGITS - whole, min(scale, _KEPT_FRACTION)))


def rounded_decimal(kind: pa.DataType, digits: int) -> pa.DataType:
    """Return the type of a decimal rounded to so many digits behind the point, or before it if negative."""
    whole = kind.precision - kind.scale + 1
    if digits < 0:
        return decimal(min(max(whole, 1 - digits), MOST_DIGITS), 0)
    scale = min(kind.scale, digits)
    return decimal(min(whole + scale, MOST_DIGITS), scale)


def _wider_decimal(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    """Return the type of either of two decimals: digits before the point are all kept."""
    scale = max(left.scale, right.scale)
    whole = max(left.precision - left.scale, right.precision - right.scale)
    return decimal(min(whole + scale, MOST_DIGITS), min(scale, MOST_DIGITS - whole))


# --- types of operators and functions -------------------------------------------------------


def wide(kind: pa.DataType) -> pa.DataType:
    """Return the type of what is computed from one number."""
    if pa.types.is_dictionary(kind):
        return wide(kind.value_type)
    known = {Kind.INTEGER: pa.int64(), Kind.FLOAT: pa.float64()}
    return known.get(kind_of(kind), as_decimal(kind) if pa.types.is_decimal(kind) else kind)


def common_type(kinds: Sequence[pa.DataType]) -> pa.DataType:
    """Return the type of a value that is one of several; the kinds fit."""
    plain = [each.value_type if pa.types.is_dictionary(each) else each for each in kinds]
    known = list(dict.fromkeys(each for each in plain if not pa.types.is_null(each)))
    if len(known) < 2:
        return known[0] if known else pa.null()
    found = {kind_of(each) for each in known}
    if found <= NUMERIC:
        return _common_number(known, found)
    if found <= TEMPORAL:
        return pa.timestamp(finest(known), tz="UTC")
    if found == {Kind.DURATION}:
        return pa.duration(finest(known))
    if found == {Kind.STRING}:
        return pa.large_string()
    return pa.large_binary() if found == {Kind.BINARY} else known[0]


def _common_number(known: Sequence[pa.DataType], found: set[Kind]) -> pa.DataType:
    if Kind.FLOAT in found:
        return pa.float64()
    if Kind.DECIMAL not in found:
        return pa.int64()
    result = as_decimal(known[0])
    for each in known[1:]:
        result = _wider_decimal(result, as_decimal(each))
    return result


def finest(kinds: Sequence[pa.DataType]) -> str:
    """Return the unit in which times and durations of these types are computed with."""
    return "ns" if any(getattr(kind, "unit", "") == "ns" for kind in kinds) else "us"


def arithmetic_type(operator: str, left: pa.DataType, right: pa.DataType) -> pa.DataType:
    """Return the type of ``left operator right`` for ``+ - * / %``; the kinds fit."""
    if pa.types.is_null(left) or pa.types.is_null(right):
        return wide(right if pa.types.is_null(left) else left)
    kinds = kind_of(left), kind_of(right)
    if set(kinds) <= NUMERIC:
        if Kind.FLOAT in kinds:
            return pa.float64()
        if Kind.DECIMAL in kinds:
            return decimal_result(operator, left, right)
        return pa.float64() if operator == "/" else pa.int64()
    if set(kinds) <= TEMPORAL:
        return pa.duration(finest([left, right]))
    if not set(kinds) & TEMPORAL:
        return pa.duration(finest([left, right]))
    time = left if kinds[0] in TEMPORAL else right
    return pa.timestamp(finest([left, right]), tz=getattr(time, "tz", None))


def type_of(node: Expression, at: TypeAt) -> pa.DataType | None:
    """Return the type of the value of a checked expression; None if only a SQL dialect could tell."""
    if isinstance(node, Literal):
        return literal_type(node)
    if isinstance(node, Duration):
        return pa.duration("ns" if node.nanoseconds % 1000 else "us")
    if isinstance(node, Timestamp):
        return pa.timestamp("us", tz="UTC")
    if isinstance(node, Length):
        return pa.int64()
    if isinstance(node, Reference):
        found = at(node)
        return found.value_type if found is not None and pa.types.is_dictionary(found) else found
    if isinstance(node, (In, Between, Like, IsNull)) or _is_truth(node):
        return pa.bool_()
    if isinstance(node, Unary):
        operand = type_of(node.operand, at)
        return None if operand is None else wide(operand)
    if isinstance(node, Binary):
        left, right = type_of(node.left, at), type_of(node.right, at)
        return None if left is None or right is None else arithmetic_type(node.operator, left, right)
    if isinstance(node, Cast):
        operand = type_of(node.operand, at)
        made = cast_type(node.type)
        return operand if _stays(operand, made) else made
    return _call_type(node, at) if isinstance(node, Call) else None


def _is_truth(node: Expression) -> bool:
    return (isinstance(node, Unary) and node.operator == "NOT") or (
        isinstance(node, Binary) and node.operator in _COMPARISONS
    )


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values of a dictionary; of anything else the type itself."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def literal_type(node: Literal) -> pa.DataType:
    """Return the type of a literal; a whole number beyond 64 bits is a decimal."""
    value = node.value
    if isinstance(value, Decimal):
        return decimal_of(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return pa.int64() if -_LARGEST <= value < _LARGEST else decimal_of(Decimal(value))
    return pa.scalar(value).type


def _call_type(node: Call, at: TypeAt) -> pa.DataType | None:
    if node.function in AGGREGATES:
        return _aggregate_type(node, at)
    if node.function not in FUNCTIONS:
        return at(node)
    kinds = [type_of(argument, at) for argument in node.arguments]
    known = [kind for kind in kinds if kind is not None]
    if len(known) < len(kinds):
        return _RESULTS.get(FUNCTIONS[node.function].result)
    return call_type(node, known)


def call_type(node: Call, kinds: Sequence[pa.DataType]) -> pa.DataType:
    """Return the type of a call of a function of the language whose arguments have these types."""
    name, result = node.function, FUNCTIONS[node.function].result
    if result in _RESULTS:
        return _RESULTS[result]
    if name == "round" and pa.types.is_decimal(kinds[0]):
        return rounded_decimal(kinds[0], round_digits(node))
    if name == "mod":
        return arithmetic_type("%", *kinds)
    if name == "nullif":
        return kinds[0]
    if name == "element_at":
        return kinds[0] if pa.types.is_null(kinds[0]) else plain_type(kinds[0].value_type)
    if name in OF_ONE_TYPE:
        return common_type(kinds[OF_ONE_TYPE[name] :])
    if result is Kind.STRING:
        return pa.large_string() if pa.large_string() in kinds else pa.string()
    return wide(kinds[0])


def round_digits(node: Call) -> int:
    """Return the digits that a call of round keeps behind the point."""
    digits = node.arguments[1] if len(node.arguments) > 1 else Literal(0)
    assert isinstance(digits, Literal)
    assert isinstance(digits.value, int)
    return digits.value


_RESULTS: dict[Kind | None, pa.DataType] = {
    Kind.BOOLEAN: pa.bool_(),
    Kind.INTEGER: pa.int64(),
    Kind.FLOAT: pa.float64(),
}


def _aggregate_type(node: Call, at: TypeAt) -> pa.DataType | None:
    if node.function in ("count", COUNT_DISTINCT):
        return pa.int64()
    if node.function in ("avg", "stddev", MEDIAN):
        return pa.float64()
    kind = type_of(node.arguments[0], at)
    if node.function == COLLECT:
        return None if kind is None else pa.list_(kind)
    if node.function != "sum" or kind is None:
        return kind
    return decimal(MOST_DIGITS, kind.scale) if pa.types.is_decimal(kind) else wide(kind)


_CAST = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "STRING": pa.string(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us"),
}


def cast_type(name: str) -> pa.DataType:
    """Return the type that CAST makes, given its name; a timestamp that was one keeps its own."""
    if name in _CAST:
        return _CAST[name]
    digits, scale = name.removeprefix("DECIMAL(").removesuffix(")").split(",")
    return decimal(int(digits), int(scale))


def _stays(kind: pa.DataType | None, made: pa.DataType) -> bool:
    return kind is not None and pa.types.is_timestamp(kind) and pa.types.is_timestamp(made)


def cast_name(kind: pa.DataType) -> str:
    """Return the name of a type in CAST."""
    known = {each: name for name, each in _CAST.items()}
    return known.get(kind) or f"DECIMAL({kind.precision}, {kind.scale})"


# --- numbers written out beside decimals ----------------------------------------------------


def spell_out_decimals(node: Expression, at: TypeAt) -> Expression:
    """Write numbers that stand beside decimals as decimals, so that nothing is rounded on the way."""
    node = map_children(node, lambda child: spell_out_decimals(child, at))
    if isinstance(node, Binary) and node.operator in ("AND", "OR"):
        return node
    if isinstance(node, (Binary, In, Between)) or (isinstance(node, Call) and node.function in _BESIDE):
        sides = _sides(node)
        kinds = [type_of(each, at) for each in sides if not _is_number(each)]
        if any(kind is not None and pa.types.is_decimal(kind) for kind in kinds):
            return map_children(node, lambda child: _decimal_literal(child) if child in sides else child)
    return node


_BESIDE = frozenset({*OF_ONE_TYPE, "nullif", "mod"})


def _sides(node: Binary | In | Between | Call) -> list[Expression]:
    """Return the operands of a node that meet one another."""
    if isinstance(node, Binary):
        return [node.left, node.right]
    if isinstance(node, Call):
        return list(node.arguments[OF_ONE_TYPE.get(node.function, 0) :])
    return [node.operand, *(node.options if isinstance(node, In) else (node.low, node.high))]


def _is_number(node: Expression) -> bool:
    return (
        isinstance(node, Literal)
        and isinstance(node.value, (int, float))
        and not isinstance(node.value, bool)
    )


def _decimal_literal(node: Expression) -> Expression:
    if not (isinstance(node, Literal) and _is_number(node)):
        return node
    exact = exact_value(node.value)  # type: ignore[arg-type]
    return node if exact is None else Literal(exact, place=node.place)
