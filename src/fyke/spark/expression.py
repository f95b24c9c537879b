"""Expressions over one row to Spark SQL, so that Catalyst evaluates them (and may push them into Parquet)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from fyke.language.ast import (
    Between,
    Binary,
    Call,
    Duration,
    Expression,
    In,
    IsNull,
    Like,
    Literal,
    Reference,
    Timestamp,
    Unary,
)

# Spark's own operators raise on overflow and division by zero; in the language both give null.
_ARITHMETIC = {"+": "try_add", "-": "try_subtract", "*": "try_multiply", "/": "try_divide", "%": "try_mod"}
_RENAMED = {"mod": "try_mod"}


def quote(name: str) -> str:
    """Quote a column name."""
    return "`" + name.replace("`", "``") + "`"


def text_literal(text: str) -> str:
    """Write a string as a Spark SQL literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def to_sql(node: Expression, *, zoneless: bool = False) -> str:
    """Return the Spark SQL of an expression over the columns of one row.

    ``zoneless`` says that the timestamps of the input have no zone, so that literals have none either.
    """

    def sql(part: Expression) -> str:
        return to_sql(part, zoneless=zoneless)

    if isinstance(node, Literal):
        return _literal(node.value)
    if isinstance(node, Duration):
        return f"INTERVAL '{_decimal(node.nanoseconds)}' SECOND"
    if isinstance(node, Timestamp):
        return _timestamp(node.text, zoneless)
    if isinstance(node, Reference):
        return ".".join(quote(name) for name in node.path)
    if isinstance(node, Unary):
        return f"(NOT {sql(node.operand)})" if node.operator == "NOT" else f"try_subtract(0, {sql(node.operand)})"
    if isinstance(node, Binary):
        left, right = sql(node.left), sql(node.right)
        function = _ARITHMETIC.get(node.operator)
        return f"{function}({left}, {right})" if function else f"({left} {node.operator} {right})"
    if isinstance(node, Call):
        name = _RENAMED.get(node.function, node.function)
        return f"{name}({', '.join(map(sql, node.arguments))})"
    assert isinstance(node, (In, Between, Like, IsNull))
    return _predicate(node, sql)


def _predicate(node: In | Between | Like | IsNull, sql: Callable[[Expression], str]) -> str:
    operand, negation = sql(node.operand), "NOT " if node.negated else ""
    if isinstance(node, IsNull):
        return f"({operand} IS {negation}NULL)"
    if isinstance(node, Like):
        return f"({operand} {negation}LIKE {sql(node.pattern)})"
    if isinstance(node, Between):
        return f"({operand} {negation}BETWEEN {sql(node.low)} AND {sql(node.high)})"
    return f"({operand} {negation}IN ({', '.join(map(sql, node.options))}))"


def _literal(value: int | float | str | bool | None) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, str):
        return text_literal(value)
    if isinstance(value, int) and -(2**63) < value < 2**63:
        return f"{value}L"
    return f"{float(value)!r}D"


def _decimal(nanoseconds: int) -> str:
    seconds = Fraction(nanoseconds // 1000, 1_000_000)
    sign = "-" if seconds < 0 else ""
    whole, part = divmod(abs(seconds), 1)
    return f"{sign}{whole}.{int(part * 1_000_000):06d}"


def _timestamp(text: str, zoneless: bool) -> str:
    has_zone = text.rstrip().endswith(("Z", "z")) or "+" in text or text.count("-") > 2
    if zoneless and not has_zone:
        return f"TIMESTAMP_NTZ {text_literal(text)}"
    moment = text.strip() if ":" in text else text.strip() + " 00:00:00"
    return f"TIMESTAMP {text_literal(moment if has_zone else moment + '+00:00')}"
