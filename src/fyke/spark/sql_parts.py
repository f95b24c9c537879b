"""Pieces of Spark SQL with their types: names, literals, casts, and times without Spark's wall clocks."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from decimal import Decimal
from fractions import Fraction
from math import isfinite

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_type

from fyke.language.ast import Literal
from fyke.logical.kinds import TEMPORAL, Kind, kind_of
from fyke.logical.value_types import literal_type, wide

# Spark's own operators raise on overflow and division by zero.
ARITHMETIC = {"+": "try_add", "-": "try_subtract", "*": "try_multiply", "/": "try_divide", "%": "try_mod"}
_EPOCH = "TIMESTAMP_NTZ '1970-01-01 00:00:00'"


@dataclass(frozen=True, slots=True)
class Part:
    """The SQL of a sub-expression and its type, None if only Spark knows.

    ``literal``, ``moment`` and ``micros`` are there for literal numbers, times and durations, ``operator``
    for a sum or product.
    """

    sql: str
    type: pa.DataType | None
    literal: int | None = None
    moment: datetime | None = None
    micros: int | None = None
    operator: str = ""

    @property
    def kind(self) -> Kind | None:
        """The kind of the type."""
        return None if self.type is None else kind_of(self.type)


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
    """Write a string as a Spark SQL literal; Spark takes no part of it for anything else."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("$", "\\u0024")
    return f"'{escaped}'"


# --- literals ---------------------------------------------------------------------------


def literal(node: Literal) -> Part:
    """Write a literal, in the type it has in the language."""
    value, kind = node.value, literal_type(node)
    if value is None:
        return Part("NULL", kind)
    if isinstance(value, bool):
        return Part(str(value).upper(), kind)
    if isinstance(value, str):
        return Part(text_literal(value), kind)
    if pa.types.is_decimal(kind):
        return Part(f"{Decimal(value):f}BD", kind)
    if isinstance(value, int):
        return Part(f"{value}L", kind, literal=value)
    number = float(value)
    return Part(f"{number!r}D" if isfinite(number) else f"DOUBLE('{number!r}')", kind)


def duration(nanoseconds: int) -> Part:
    """Write a duration, in microseconds."""
    micros = nanoseconds // 1000
    whole, part = divmod(abs(Fraction(micros, 1_000_000)), 1)
    sign = "-" if micros < 0 else ""
    sql = f"INTERVAL '{sign}{whole}.{int(part * 1_000_000):06d}' SECOND"
    return Part(sql, pa.duration("us"), micros=micros)


def timestamp(moment: datetime) -> Part:
    """Write a point in time, which is the same in every zone."""
    return Part(f"TIMESTAMP '{_wall_clock(moment)}+00:00'", pa.timestamp("us", tz="UTC"), moment=moment)


def _wall_clock(moment: datetime) -> str:
    # Not strftime: it writes years before 1000 with fewer digits.
    return moment.astimezone(timezone.utc).replace(tzinfo=None).isoformat(sep=" ")


# --- types ------------------------------------------------------------------------------


def as_type(part: Part, kind: pa.DataType) -> str:
    """Return the SQL of a part in a type that holds its values."""
    if part.type is None or part.type == kind:
        return part.sql
    if part.literal is not None and pa.types.is_floating(kind):
        return f"{float(part.literal)!r}D"
    return f"CAST({part.sql} AS {type_name(kind)})"


def type_name(kind: pa.DataType) -> str:
    """Write a type."""
    return str(from_arrow_type(kind, prefer_timestamp_ntz=True).simpleString()).upper()


def null(kind: pa.DataType) -> Part:
    """Write the null of a type."""
    return Part("NULL" if pa.types.is_null(kind) else f"CAST(NULL AS {type_name(kind)})", kind)


def wide_sql(part: Part) -> str:
    """Return a number with all the bits the language has."""
    return part.sql if part.type is None else as_type(part, wide(part.type))


# --- times -----------------------------------------------------------------------------


def shifted(operator: str, left: Part, right: Part) -> Part:
    """Return a time plus or minus a duration, or the time elapsed between two times."""
    if left.kind in TEMPORAL and right.kind in TEMPORAL:
        return Part(f"try_subtract({_utc(left)}, {_utc(right)})", pa.duration("us"))
    time, span = (left, right) if left.kind in TEMPORAL else (right, left)
    if not _is_zoned(time) or span.kind is not Kind.DURATION:
        moved = _utc(time) if time.kind is Kind.DATE else time.sql
        first, second = (moved, span.sql) if time is left else (span.sql, moved)
        return Part(f"{ARITHMETIC[operator]}({first}, {second})", pa.timestamp("us"))
    micros = f"{span.micros}L" if span.micros is not None else _micros(span.sql)
    moved = f"{ARITHMETIC[operator]}(unix_micros({time.sql}), {micros})"
    return Part(f"timestamp_micros({moved})", pa.timestamp("us", tz="UTC"))


def _is_zoned(part: Part) -> bool:
    return part.kind is Kind.TIMESTAMP and part.type is not None and part.type.tz is not None


def _micros(interval: str) -> str:
    return f"CAST(CAST(CAST({interval} AS INTERVAL SECOND) AS DECIMAL(20, 6)) * 1000000 AS BIGINT)"


def _utc(time: Part) -> str:
    """Return a time as its wall-clock time in UTC, without a zone."""
    if time.moment is not None:
        return f"TIMESTAMP_NTZ '{_wall_clock(time.moment)}'"
    if _is_zoned(time):
        return f"timestampadd(MICROSECOND, unix_micros({time.sql}), {_EPOCH})"
    return f"CAST({time.sql} AS TIMESTAMP_NTZ)" if time.kind is Kind.DATE else time.sql


def of_one_zone(parts: list[Part]) -> list[Part]:
    """Bring times that are compared with one another to one type; Spark would do it in the session's zone."""
    times = [part for part in parts if part.kind in TEMPORAL and part.moment is None]
    if all(map(_is_zoned, times)):
        return parts
    sorts = {part.kind for part in times} | {_is_zoned(part) for part in times}
    if len(sorts) == 2 and all(part.moment is None for part in parts):
        return parts
    return [Part(_utc(part), pa.timestamp("us")) if part.kind in TEMPORAL else part for part in parts]
