"""Times in every zone, and every type of column: a DataFrame gives what a table gives."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import fyke
from tests.spark.tables import assert_same, frame_of, on_table, settings

pytestmark = pytest.mark.spark

HOUR = 3_600_000_000
ZONES = ("UTC", "America/New_York", "Asia/Kolkata")
OPTIONS: dict[str, Any] = {"time": "ts", "type": "kind"}


def _hours() -> pa.Table:
    """An event an hour around both changes of New York's clocks, on 2026-03-08 and 2026-11-01."""
    moments = []
    for change in ("2026-03-08T07:00", "2026-11-01T06:00"):
        instant = int(datetime.datetime.fromisoformat(change + "+00:00").timestamp()) * 1_000_000
        moments += [instant + number * HOUR for number in range(-30, 30)]
    ends = np.array(moments)
    starts = ends - np.tile([0, 1, 2, 5, 25], len(ends) // 5) * HOUR
    zoned = pa.timestamp("us", tz="UTC")
    return pa.table(
        {
            "kind": ["A", "B"] * (len(ends) // 2),
            "ts": pa.array(ends).cast(zoned),
            "since": pa.array(starts).cast(zoned),
            "local": pa.array(starts + HOUR // 2).cast(pa.timestamp("us")),
            "day": pa.array(ends // (24 * HOUR), pa.int32()).cast(pa.date32()),
        }
    )


HOURS = _hours()
TIMES = {
    "window": "PATTERN SEQ(A a, B b) WITHIN 3 hours",
    "elapsed": "PATTERN SEQ(A a, B b) "
    "WHERE { a.ts - a.since >= 2 hours AND b.ts - b.since <= a.ts - a.since } "
    "WITHIN 30 hours",
    "shifted": "PATTERN SEQ(A a, B b) WHERE { a.since + 1 days <= b.ts AND a.since - 25 hours < b.since "
    "AND a.ts - (b.ts - b.since) < b.ts AND a.since + (a.ts - a.since) = a.ts } WITHIN 30 hours",
    "literals": "PATTERN SEQ(A a, B b) WHERE { a.ts > TIMESTAMP '2026-03-08 06:30:00' AND "
    "b.ts BETWEEN TIMESTAMP '2026-03-08' AND TIMESTAMP '2026-11-01 01:30:00-05:00' AND "
    "a.ts != TIMESTAMP '2026-11-01T05:00:00Z' } WITHIN 4 hours",
    "zoneless literals": "PATTERN SEQ(A a, B b) WHERE { a.local > TIMESTAMP '2026-03-08 02:30:00' AND "
    "b.day IN (TIMESTAMP '2026-03-08', TIMESTAMP '2026-11-01 00:00:00Z') } WITHIN 4 hours",
    "mixed": "PATTERN SEQ(A a, B b) WHERE { a.local > a.since AND a.local < a.ts AND b.day <= b.since "
    "AND coalesce(b.local, b.ts) < TIMESTAMP '2026-12-01' AND a.ts - a.local < 30 hours } WITHIN 4 hours",
    "returned": "PATTERN SEQ(A a, B b) WITHIN 1 hours "
    "RETURN a.ts, b.ts - a.since AS span, a.local, b.day, b.ts + 1 days AS later",
    "over matches": "PATTERN SEQ(A a, B b) WITHIN 3 hours RETURN min(a.ts) AS first, max(b.local) AS last",
}


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("name", TIMES)
def test_no_zone_of_the_session_changes_a_match(spark: SparkSession, name: str, zone: str) -> None:
    expected = on_table(HOURS, TIMES[name], **OPTIONS)
    assert expected.num_rows > 0
    with settings(spark, {"spark.sql.session.timeZone": zone}):
        found = fyke.match(frame_of(spark, HOURS), TIMES[name], **OPTIONS).toArrow()
    assert_same(found, expected)


def test_calendar_functions_read_the_clock_of_the_session(spark: SparkSession) -> None:
    """As Spark's own functions do; on a table it is the clock of the column's zone."""
    query = (
        "PATTERN SEQ(A a, B b) WHERE { hour(a.ts) = 3 AND day(b.ts) = 8 } RETURN hour(a.ts) AS at, hour(b.ts)"
    )
    zone = "America/New_York"
    local = HOURS.set_column(1, "ts", HOURS["ts"].cast(pa.timestamp("us", tz=zone)))
    expected = on_table(local, query, **OPTIONS)
    assert expected["at"].to_pylist() == [3] * 1
    with settings(spark, {"spark.sql.session.timeZone": zone}):
        assert_same(fyke.match(frame_of(spark, HOURS), query, **OPTIONS).toArrow(), expected)


@pytest.mark.parametrize("zone", ZONES[1:])
@pytest.mark.parametrize(
    "time, window", [("local", "3 hours"), ("day", "2 days"), (("since", "ts"), "30 hours")], ids=str
)
def test_time_columns(spark: SparkSession, time: Any, window: str, zone: str) -> None:
    query = f"PATTERN SEQ(A a, B b) WITHIN {window}"
    expected = on_table(HOURS, query, time=time, type="kind")
    assert expected.num_rows > 0
    with settings(spark, {"spark.sql.session.timeZone": zone}):
        assert_same(fyke.match(frame_of(spark, HOURS), query, time=time, type="kind").toArrow(), expected)


@pytest.mark.parametrize("kind, unit", [(pa.int64(), "ms"), (pa.int32(), "s"), (pa.int16(), None)], ids=str)
def test_integer_time_columns(spark: SparkSession, kind: pa.DataType, unit: str | None) -> None:
    table = pa.table({"t": pa.array(range(40), kind), "k": ["x", "y"] * 20})
    query = f"PATTERN SEQ(ANY a, ANY b) WHERE skip_till_any_match {{ [k] }} WITHIN 3 {unit or ''}"
    options = {"time": "t", "time_unit": unit}
    assert_same(
        fyke.match(frame_of(spark, table), query, **options).toArrow(), on_table(table, query, **options)
    )


def _values() -> pa.Table:
    """Two rows for each value, with odd ones among them."""
    numbers = [0, 1, -1, 2**31 - 1, -(2**31), None]
    texts = [
        "",
        "a",
        "ä€𝄞",
        "it's",
        'say "x"',
        "back\\slash",
        "${env:HOME}",
        "100%",
        "a_b",
        "line\nbreak",
        None,
    ]
    rows = 2 * len(texts)
    random = np.random.default_rng(4)

    def some(values: list[Any], kind: pa.DataType) -> pa.Array:
        return pa.array([values[number] for number in random.integers(0, len(values), rows)], kind)

    floats = [0.0, -0.0, 1.5, -2.25, float("nan"), float("inf"), float("-inf"), None]
    struct = pa.struct([("x", pa.int32()), ("in ner", pa.struct([("y", pa.string())]))])
    return pa.table(
        {
            "kind": pa.array(["A", "B"] * len(texts)),
            "t": pa.array(range(rows), pa.int64()),
            "i8": some([0, 1, 127, -128, None], pa.int8()),
            "i32": some(numbers, pa.int32()),
            "i64": some([0, 1, 2**63 - 1, -(2**63), None], pa.int64()),
            "f32": some([0.0, 0.1, 16_777_216.0, float("nan"), None], pa.float32()),
            "f64": some(floats, pa.float64()),
            "dec": some([Decimal("1.25"), Decimal("-0.50"), Decimal("9999.99"), None], pa.decimal128(9, 2)),
            "wide": some([Decimal("1e20"), Decimal("3"), None], pa.decimal128(38, 4)),
            "text": pa.array([each for each in texts for _ in "AB"], pa.string()),
            "flag": some([True, False, None], pa.bool_()),
            "raw": some([b"", b"\x00\xff", b"abc", None], pa.binary()),
            "nest": some([{"x": 1, "in ner": {"y": "u"}}, {"x": None, "in ner": None}, None], struct),
            "list": some([[1.0, 2.0, 4.0], [3.0, 1.0, 0.5], [], None], pa.list_(pa.float64())),
            "map": some([[("k", 1)], [], None], pa.map_(pa.string(), pa.int64())),
            "odd.na`me ${env:HOME}": some([1, 2, 3], pa.int64()),
        }
    )


VALUES = _values()
EXPRESSIONS = {
    "narrow integers": "a.i8 + b.i8 > 0 AND a.i8 * a.i8 > 100",
    "integers": "a.i32 * a.i32 > 4000000000 AND b.i32 + b.i32 != a.i32 - b.i32",
    "overflow": "a.i64 + 1 > 0 AND -b.i64 < 10 AND abs(b.i64) >= 0 AND b.i64 * 2 IS NULL",
    "division": "a.i32 / b.i32 < 5 AND 7 % a.i8 >= 0 AND (1 / b.i8 IS NULL OR b.i8 > 0) "
    "AND mod(a.i64, 2) = 1",
    "single floats": "a.f32 > 0.05 AND a.f32 + 1 != b.f32 AND b.f32 * 2.0 < 1e9",
    "doubles": "a.f64 >= b.f64 AND a.f64 != 1.5 AND b.f64 <= 1e308",
    "decimals": "a.dec > b.dec AND a.dec + 1 > 0.3 AND b.dec * 2 < 20000 AND a.dec / 2 != 0.625",
    "wide decimals": "a.wide >= b.wide AND a.wide > 2.5",
    "strings": "a.text != b.text AND a.text < 'b' AND b.text >= a.text",
    "string literals": "a.text IN ('', 'it''s', '${env:HOME}', 'back\\slash', 'say \"x\"') "
    "AND length(b.text) > 0",
    "like": r"(a.text LIKE '%\%' OR a.text LIKE 'a\_b' OR a.text LIKE 'b\ack_slash' OR a.text LIKE '%\\%') "
    "AND NOT b.text LIKE '_'",
    "booleans": "a.flag AND NOT b.flag AND a.flag != b.flag",
    "binary": "a.raw != b.raw",
    "structs": "a.nest.x = b.nest.x AND a.nest.`in ner`.y = 'u' AND b.nest IS NOT NULL",
    "lists": "corr(a.list, b.list) < 0.9 AND size(a.list) > 0",
    "odd names": '`a`."odd.na`me ${env:HOME}" < b."odd.na`me ${env:HOME}" '
    'AND a."odd.na`me ${env:HOME}" + 1 > 2',
    "nulls": "a.i32 IS NULL AND b.text IS NOT NULL AND coalesce(b.i32, a.i32, 5) = 5 "
    "AND nullif(b.i8, 1) IS NULL",
    "choices": "if(a.i32 > b.i8, 1, 2.5) > 1 AND least(a.i32, b.i8, 4) < 4 AND greatest(a.f64, a.f32) > 0.05",
    "rounding": "round(a.f64) >= -2 AND floor(b.f64) < 2 AND ceil(a.dec) <= 2 AND round(b.dec, 1) != 9 "
    "AND floor(a.i64) != 5",
    "texts": "upper(a.text) = 'A' OR startswith(a.text, 'it') OR contains(b.text, '$') "
    "AND trim(a.text) != concat(b.text, 'x')",
    "substrings": "substring(a.text, 1, 1) = 'a' OR substring(a.text, -2) = 'ck' OR endswith(a.text, '%')",
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_values_of_every_type(spark: SparkSession, name: str) -> None:
    query = f"PATTERN SEQ(A a, B b) WHERE skip_till_any_match {{ {EXPRESSIONS[name]} }}"
    options = {"time": "t", "type": "kind"}
    expected = on_table(VALUES, query, **options)
    assert 0 < expected.num_rows < 66 or name == "overflow"
    assert_same(fyke.match(frame_of(spark, VALUES), query, **options).toArrow(), expected)


@pytest.mark.parametrize(
    "key", ["i8", "i64", "f32", "f64", "dec", "text", "flag", "raw", "odd.na`me ${env:HOME}"], ids=str
)
def test_keys_of_every_type(spark: SparkSession, key: str) -> None:
    query = f'PATTERN SEQ(ANY a, ANY b) WHERE {{ ["{key}"] }}'
    options = {"time": "t", "type": "kind"}
    expected = on_table(VALUES, query, **options)
    assert expected.num_rows > 0
    assert_same(fyke.match(frame_of(spark, VALUES), query, **options).toArrow(), expected)


def test_strings_are_compared_by_their_bytes_whatever_their_collation(spark: SparkSession) -> None:
    table = pa.table({"t": range(8), "s": ["p", "P", "q", "Q", "p", "Q", "P", "q"]})
    query = "PATTERN SEQ(E a, E b) WHERE { [s] AND a.s != 'Q' }"
    frame = frame_of(spark, table).withColumn("s", F.collate("s", "UTF8_LCASE"))
    expected = on_table(table, query, time="t")
    assert expected.num_rows == 3
    assert_same(fyke.match(frame, query, time="t").toArrow(), expected)


@pytest.mark.parametrize("zone", ZONES)
def test_other_types_of_spark(spark: SparkSession, zone: str) -> None:
    """A column of nulls, intervals, times inside of structs, CHAR."""
    frame = spark.range(6).selectExpr(
        "id",
        "CAST(id % 2 AS CHAR(2)) AS k",
        "NULL AS nothing",
        "make_dt_interval(0, CAST(id AS INT)) AS span",
        "struct(TIMESTAMP_NTZ '2026-03-08 02:30:00' AS local, "
        "TIMESTAMP '2026-03-08 02:30:00Z' AS zoned) AS at",
    )
    query = (
        "PATTERN SEQ(E a, E b) WHERE { [k] AND a.span < b.span AND b.span > 3 hours AND a.nothing IS NULL "
        "AND a.at.local = b.at.zoned AND a.at.local = a.at.zoned }"
    )
    with settings(spark, {"spark.sql.session.timeZone": zone}):
        found = fyke.match(frame, query, time="id").toArrow()
    assert sorted(row["id"] for row in found["b"].to_pylist()) == [4, 4, 5, 5]


@pytest.mark.parametrize("kind", [pa.int64(), pa.bool_(), pa.date32()], ids=str)
def test_types_that_are_no_strings(spark: SparkSession, kind: pa.DataType) -> None:
    values = pa.array([0, 1] * 5).cast(pa.int32()).cast(kind)
    first, second = values.cast(pa.string()).to_pylist()[:2]
    table = pa.table({"kind": values, "t": range(10)})
    query = f'PATTERN SEQ("{first}" a, "{second}" b)'
    options = {"time": "t", "type": "kind"}
    expected = on_table(table, query, **options)
    assert expected.num_rows == 5
    assert_same(fyke.match(frame_of(spark, table), query, **options).toArrow(), expected)
