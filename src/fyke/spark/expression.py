"""Expressions over one row to Spark SQL, so that Catalyst evaluates them (and may push them into Parquet).

Where Spark SQL differs from the language the difference is made up for here: overflow and division by
zero give null, integers have 64 bits and floats are doubles, a duration is elapsed time (Spark adds and
subtracts wall-clock time of the session's zone), and a time without a zone is UTC.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from enum import Enum, auto
from fractions import Fraction

import pyarrow as pa

from fyke.engine.conditions.evaluate import parse_timestamp
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
from fyke.logical.check import COMPARISONS
from fyke.logical.kinds import FUNCTIONS, Kind, kind_of

# Functions that a query must not reach: they run code, make more rows, or have a new value at every call.
FORBIDDEN = frozenset(
    {
        *("reflect", "try_reflect", "java_method"),
        *("rand", "randn", "random", "randstr", "uniform", "uuid", "shuffle"),
        *("monotonically_increasing_id", "spark_partition_id"),
        *("input_file_name", "input_file_block_start", "input_file_block_length"),
        *("window", "session_window"),
    }
)
# Spark's own operators raise on overflow and division by zero.
_ARITHMETIC = {"+": "try_add", "-": "try_subtract", "*": "try_multiply", "/": "try_divide", "%": "try_mod"}
_RENAMED = {"size": "array_size"}  # size(NULL) is -1 without ANSI mode
_OF_ONE_TYPE = frozenset({"coalesce", "nullif", "if", "least", "greatest"})
_EPOCH = "TIMESTAMP_NTZ '1970-01-01 00:00:00'"


class _Sort(Enum):
    """What arithmetic and comparison must know of a part; OTHER is left to Spark."""

    INTEGER = auto()
    FLOAT = auto()
    DECIMAL = auto()
    ZONED = auto()
    ZONELESS = auto()
    DATE = auto()
    DURATION = auto()
    OTHER = auto()


_NUMBERS = frozenset({_Sort.INTEGER, _Sort.FLOAT, _Sort.DECIMAL})
_TIMES = frozenset({_Sort.ZONED, _Sort.ZONELESS, _Sort.DATE})
_SORTS = {
    Kind.INTEGER: _Sort.INTEGER,
    Kind.FLOAT: _Sort.FLOAT,
    Kind.DECIMAL: _Sort.DECIMAL,
    Kind.DATE: _Sort.DATE,
    Kind.DURATION: _Sort.DURATION,
}


@dataclass(frozen=True, slots=True)
class _Part:
    """The SQL of a sub-expression; ``moment`` and ``micros`` are there for literal times and durations."""

    sql: str
    sort: _Sort
    moment: datetime | None = None
    micros: int | None = None


def quote(name: str) -> str:
    """Quote a column name for methods that take column names."""
    return "`" + name.replace("`", "``") + "`"


def identifier(name: str) -> str:
    """Write a name in SQL text.

    Spark replaces ``${name}`` in SQL text, quoted or not, by settings and environment variables.
    """
    quoted = quote(name)
    return f"IDENTIFIER({text_literal(quoted)})" if "$" in name else quoted


def text_literal(text: str) -> str:
    """Write a string as a Spark SQL literal, of which Spark takes no part for anything else."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("$", "\\u0024")
    return f"'{escaped}'"


def to_sql(node: Expression, columns: Mapping[str, pa.DataType]) -> str:
    """Return the Spark SQL of an expression over one row with these columns."""
    return _part(node, columns).sql


def _part(node: Expression, columns: Mapping[str, pa.DataType]) -> _Part:
    def part(child: Expression) -> _Part:
        return _part(child, columns)

    if isinstance(node, Literal):
        return _literal(node.value)
    if isinstance(node, Duration):
        return _duration(node.nanoseconds)
    if isinstance(node, Timestamp):
        return _timestamp(parse_timestamp(node.text))
    if isinstance(node, Reference):
        return _Part(".".join(map(identifier, node.path)), _sort(_type_at(node.path, columns)))
    if isinstance(node, Unary):
        return _unary(node.operator, part(node.operand))
    if isinstance(node, Binary):
        return _binary(node.operator, part(node.left), part(node.right))
    if isinstance(node, Call):
        return _call(node.function, [part(argument) for argument in node.arguments])
    assert isinstance(node, (In, Between, Like, IsNull))
    return _Part(_predicate(node, part), _Sort.OTHER)


def _type_at(path: tuple[str, ...], columns: Mapping[str, pa.DataType]) -> pa.DataType | None:
    arrow = columns.get(path[0])
    for name in path[1:]:
        if arrow is None:
            return None
        arrow = arrow.field(name).type
    return arrow


def _sort(arrow: pa.DataType | None) -> _Sort:
    if arrow is not None and pa.types.is_timestamp(arrow):
        return _Sort.ZONELESS if arrow.tz is None else _Sort.ZONED
    return _Sort.OTHER if arrow is None else _SORTS.get(kind_of(arrow), _Sort.OTHER)


# --- literals ---------------------------------------------------------------------------


def _literal(value: int | float | str | bool | None) -> _Part:
    if value is None:
        return _Part("NULL", _Sort.OTHER)
    if isinstance(value, bool):
        return _Part(str(value).upper(), _Sort.OTHER)
    if isinstance(value, str):
        return _Part(text_literal(value), _Sort.OTHER)
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return _Part(f"{value}L", _Sort.INTEGER)
    number = float(value)
    finite = number - number == 0
    return _Part(f"{number!r}D" if finite else f"DOUBLE('{number!r}')", _Sort.FLOAT)


def _duration(nanoseconds: int) -> _Part:
    micros = nanoseconds // 1000
    whole, part = divmod(abs(Fraction(micros, 1_000_000)), 1)
    sign = "-" if micros < 0 else ""
    sql = f"INTERVAL '{sign}{whole}.{int(part * 1_000_000):06d}' SECOND"
    return _Part(sql, _Sort.DURATION, micros=micros)


def _timestamp(moment: datetime) -> _Part:
    return _Part(f"TIMESTAMP '{_wall_clock(moment)}+00:00'", _Sort.ZONED, moment=moment)


def _wall_clock(moment: datetime) -> str:
    # Not strftime: it writes years before 1000 with fewer digits.
    return moment.astimezone(timezone.utc).replace(tzinfo=None).isoformat(sep=" ")


# --- operators --------------------------------------------------------------------------


def _unary(operator: str, operand: _Part) -> _Part:
    if operator == "NOT":
        return _Part(f"(NOT {operand.sql})", _Sort.OTHER)
    if operand.sort is _Sort.DURATION:
        return _Part(f"try_multiply({operand.sql}, -1L)", _Sort.DURATION)
    return _Part(f"try_subtract(0L, {_wide(operand)})", operand.sort)


def _binary(operator: str, left: _Part, right: _Part) -> _Part:
    if operator in ("AND", "OR"):
        return _Part(f"({left.sql} {operator} {right.sql})", _Sort.OTHER)
    if operator in COMPARISONS:
        left, right = _of_one_zone([left, right])
        return _Part(f"({left.sql} {operator} {right.sql})", _Sort.OTHER)
    if left.sort in _TIMES or right.sort in _TIMES:
        return _shifted(operator, left, right)
    if _Sort.DURATION in (left.sort, right.sort):
        return _Part(f"{_ARITHMETIC[operator]}({left.sql}, {right.sql})", _Sort.DURATION)
    return _number_arithmetic(operator, left, right)


def _number_arithmetic(operator: str, left: _Part, right: _Part) -> _Part:
    sorts = {left.sort, right.sort}
    if not sorts <= _NUMBERS:
        return _Part(f"{_ARITHMETIC[operator]}({_wide(left)}, {_wide(right)})", _Sort.OTHER)
    if operator == "/" or _Sort.FLOAT in sorts:
        doubles = ", ".join(f"CAST({each.sql} AS DOUBLE)" for each in (left, right))
        return _Part(f"{_ARITHMETIC[operator]}({doubles})", _Sort.FLOAT)
    sort = _Sort.DECIMAL if _Sort.DECIMAL in sorts else _Sort.INTEGER
    return _Part(f"{_ARITHMETIC[operator]}({_wide(left)}, {_wide(right)})", sort)


def _wide(part: _Part) -> str:
    """Return a number with all the bits the language has."""
    wide = {_Sort.INTEGER: "BIGINT", _Sort.FLOAT: "DOUBLE"}.get(part.sort)
    return part.sql if wide is None or part.sql[-1] in "LD" else f"CAST({part.sql} AS {wide})"


def _shifted(operator: str, left: _Part, right: _Part) -> _Part:
    """Return a time plus or minus a duration, or the time elapsed between two times."""
    if left.sort in _TIMES and right.sort in _TIMES:
        return _Part(f"try_subtract({_utc(left)}, {_utc(right)})", _Sort.DURATION)
    time, span = (left, right) if left.sort in _TIMES else (right, left)
    if time.sort is not _Sort.ZONED or span.sort is not _Sort.DURATION:
        moved = _utc(time) if time.sort is _Sort.DATE else time.sql
        first, second = (moved, span.sql) if time is left else (span.sql, moved)
        return _Part(f"{_ARITHMETIC[operator]}({first}, {second})", _Sort.ZONELESS)
    sign = "-" if operator == "-" else ""
    micros = f"{span.micros}L" if span.micros is not None else _micros(span.sql)
    return _Part(f"timestampadd(MICROSECOND, {sign}({micros}), {time.sql})", _Sort.ZONED)


def _micros(interval: str) -> str:
    return f"CAST(CAST(CAST({interval} AS INTERVAL SECOND) AS DECIMAL(20, 6)) * 1000000 AS BIGINT)"


def _utc(time: _Part) -> str:
    """Return a time as its wall-clock time in UTC, without a zone."""
    if time.moment is not None:
        return f"TIMESTAMP_NTZ '{_wall_clock(time.moment)}'"
    if time.sort is _Sort.ZONED:
        return f"timestampadd(MICROSECOND, unix_micros({time.sql}), {_EPOCH})"
    return f"CAST({time.sql} AS TIMESTAMP_NTZ)" if time.sort is _Sort.DATE else time.sql


def _of_one_zone(parts: list[_Part]) -> list[_Part]:
    """Bring times that are compared with one another to one type; Spark would do it in the session's zone."""
    sorts = {part.sort for part in parts if part.sort in _TIMES and part.moment is None}
    if not sorts or sorts == {_Sort.ZONED}:
        return parts
    if len(sorts) == 1 and all(part.moment is None for part in parts):
        return parts
    return [_Part(_utc(part), _Sort.ZONELESS) if part.sort in _TIMES else part for part in parts]


# --- functions and predicates -----------------------------------------------------------


def _call(function: str, arguments: list[_Part]) -> _Part:
    if function == "mod":
        return _number_arithmetic("%", *arguments)
    if function == "abs":
        # Spark's abs raises for the smallest integer.
        value = _wide(arguments[0])
        return _Part(f"if({value} < 0, try_subtract(0L, {value}), {value})", arguments[0].sort)
    if function in ("floor", "ceil", "round") and arguments[0].sort is not _Sort.OTHER:
        return _rounded(function, arguments)
    sort = _Sort.OTHER
    if function in _OF_ONE_TYPE:
        arguments = _of_one_zone(arguments)
        values = arguments[1:] if function == "if" else arguments
        sorts = {each.sort for each in values if each.sql != "NULL"}
        sort = sorts.pop() if len(sorts) == 1 else _Sort.OTHER
    elif function in FUNCTIONS:
        result = FUNCTIONS[function].result
        sort = _Sort.OTHER if result is None else _SORTS.get(result, _Sort.OTHER)
    name = _RENAMED.get(function, function)
    plain = re.fullmatch(r"[a-z_][a-z0-9_]*", name) is not None
    return _Part(f"{name if plain else identifier(name)}({', '.join(each.sql for each in arguments)})", sort)


def _rounded(function: str, arguments: list[_Part]) -> _Part:
    """Return floor, ceil or round; what does not fit into 64 bits saturates (floats) or is null."""
    value, digits = arguments[0], "".join(f", {each.sql}" for each in arguments[1:])
    if value.sort is _Sort.INTEGER:
        whole = f"TRY_CAST({function}(CAST({value.sql} AS DECIMAL(20, 0)){digits}) AS BIGINT)"
        return _Part(whole, _Sort.INTEGER)
    if function == "round":
        return _Part(f"round({_wide(value)}{digits})", value.sort)
    if value.sort is _Sort.DECIMAL:
        return _Part(f"TRY_CAST({function}({value.sql}) AS BIGINT)", _Sort.INTEGER)
    number = _wide(value)
    cases = f"WHEN isnan({number}) THEN 0L WHEN {number} >= {2.0**63}D THEN {2**63 - 1}L "
    cases += f"WHEN {number} < {-(2.0**63)}D THEN {-(2**63)}L ELSE {function}({number})"
    return _Part(f"CASE {cases} END", _Sort.INTEGER)


def _predicate(node: In | Between | Like | IsNull, part: Callable[[Expression], _Part]) -> str:
    operand, negation = part(node.operand), "NOT " if node.negated else ""
    if isinstance(node, IsNull):
        return f"({operand.sql} IS {negation}NULL)"
    if isinstance(node, Like):
        assert isinstance(node.pattern, Literal)
        return f"({operand.sql} {negation}LIKE {text_literal(_like_pattern(str(node.pattern.value)))})"
    others = (node.low, node.high) if isinstance(node, Between) else node.options
    operand, *rest = _of_one_zone([operand, *map(part, others)])
    if isinstance(node, Between):
        return f"({operand.sql} {negation}BETWEEN {rest[0].sql} AND {rest[1].sql})"
    return f"({operand.sql} {negation}IN ({', '.join(each.sql for each in rest)}))"


def _like_pattern(pattern: str) -> str:
    r"""Return a LIKE pattern with backslashes before ``%``, ``_`` and backslashes only, as Spark wants it."""

    def escaped(token: re.Match[str]) -> str:
        char = token[0][-1]
        return token[0] if len(token[0]) == 2 and char in "%_\\" else "\\\\" if char == "\\" else char

    return re.sub(r"\\.|\\$", escaped, pattern, flags=re.DOTALL)


def timed_sql(time: tuple[str, str]) -> str:
    """Return the condition on rows that have a time; a lasting event must not end before it starts."""
    start, end = (identifier(name) for name in time)
    return f"{end} IS NOT NULL" if start == end else f"{start} <= {end}"


def rejected_sql(time: tuple[str, str]) -> str:
    """Return the condition on rows that have no time."""
    return f"NOT coalesce({timed_sql(time)}, FALSE)"
