"""Relational queries on Spark: the rows of the tables, lazily, whatever the type of time."""

from __future__ import annotations

import random
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import fyke
from fyke.errors import OptionError
from tests.relational.cases import CASES, SCHEMA
from tests.spark.tables import assert_same, frame_of, settings

pytestmark = pytest.mark.spark

EPOCH = datetime(1970, 1, 1)


def table(lasting: bool, seed: int = 1, rows: int = 60) -> pa.Table:
    chosen = random.Random(seed)
    events = []
    for _ in range(rows):
        start = chosen.randint(-30, 30)
        length = chosen.randint(0, 3) if lasting else 0
        event: dict[str, Any] = {"start": start, "end": start + length, "kind": chosen.choice("ABC")}
        events.append(
            {**event, "name": chosen.choice(["x", "y", None]), "price": chosen.choice([1, 2, 3, None])}
        )
    return pa.Table.from_pylist(events, SCHEMA)


def clocked(events: pa.Table, kind: pa.DataType) -> pa.Table:
    """Return the events with their seconds as times of another type: a day each for dates."""
    moments: dict[str, pa.Array] = {}
    for name in ("start", "end"):
        seconds = events.column(name).to_pylist()
        if pa.types.is_date(kind):
            values: list[Any] = [date(1970, 1, 1) + timedelta(days=each) for each in seconds]
        else:
            zone = timezone.utc if kind.tz else None
            values = [(EPOCH + timedelta(seconds=each)).replace(tzinfo=zone) for each in seconds]
        moments[name] = pa.array(values, kind)
    columns = {name: events.column(name) for name in events.column_names}
    return pa.table({**columns, **moments})


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("lasting", [False, True], ids=["points", "intervals"])
def test_frame_and_table_have_one_result(spark: SparkSession, name: str, lasting: bool) -> None:
    events = clocked(table(lasting), pa.timestamp("us", tz="UTC"))
    options = {"time": ("start", "end"), "type": "kind"}
    expected = fyke.match(events, CASES[name].text, **options)
    assert expected.num_rows > 0
    found = fyke.match(frame_of(spark, events), CASES[name].text, **options)
    assert_same(found.toArrow(), expected)


@pytest.mark.parametrize("name", ["theta-join", "aggregates of a join"])
@pytest.mark.parametrize("kind", ["integer", "timestamp without zone", "date"])
def test_every_type_of_time(spark: SparkSession, name: str, kind: str) -> None:
    text, options = CASES[name].text, {"time": ("start", "end"), "type": "kind"}
    events = table(lasting=True)
    if kind == "integer":
        options["time_unit"] = "s"
    elif kind == "date":
        events, text = clocked(events, pa.date32()), text.replace("SEC", "days")
    else:
        events = clocked(events, pa.timestamp("us"))
    expected = fyke.match(events, text, **options)
    assert expected.num_rows > 0
    with settings(spark, {"spark.sql.session.timeZone": "America/New_York"}):
        found = fyke.match(frame_of(spark, events), text, **options).toArrow()
    assert_same(found, expected)


@pytest.mark.parametrize("clause", ["A; B WHERE A.price < B.price", "A; B WHERE A.name = B.name"])
def test_days_are_of_24_hours(spark: SparkSession, clause: str) -> None:
    """Across the change to summer time, whatever the zone of the session."""
    moments = [
        datetime(2026, 3, day, 12, minute, tzinfo=timezone.utc)
        for day in (6, 7, 8, 9, 10)
        for minute in (0, 30)
    ]
    rows = [
        {"ts": at, "kind": "AB"[n % 2], "name": "x", "price": n}
        for n, at in enumerate(sorted([*moments, *(at + timedelta(minutes=1) for at in moments)]))
    ]
    events = pa.Table.from_pylist(rows).cast(
        pa.schema(
            [
                ("ts", pa.timestamp("us", tz="UTC")),
                ("kind", pa.string()),
                ("name", pa.string()),
                ("price", pa.int64()),
            ]
        )
    )
    text = f"SELECT A.price, B.price FROM [RANGE 2 days] {clause}"
    with settings(spark, {"spark.sql.session.timeZone": "America/New_York"}):
        found = fyke.match(frame_of(spark, events), text, time="ts", type="kind").toArrow()
    assert_same(found, fyke.match(events, text, time="ts", type="kind"))


def test_streams_of_a_dict_have_schemas_and_time_types_of_their_own(spark: SparkSession) -> None:
    quotes = pa.table({"t": [1, 5, 9], "name": ["x", "y", "x"], "value": [1.5, 2.5, 3.5]})
    orders = pa.table({"t": pa.array([2, 6], pa.int32()), "name": ["x", "x"], "value": ["buy", "sell"]})
    text = "SELECT Quote.value AS price, Ord.value AS side FROM [RANGE 3 SEC] Quote; Ord WHERE [name]"
    options = {"time": "t", "time_unit": "s"}
    expected = fyke.match({"Quote": quotes, "Ord": orders}, text, **options)
    assert expected.to_pylist() == [
        {"name": "x", "start": 1, "end": 2, "price": 1.5, "side": "buy"},
        {"name": "x", "start": 6, "end": 9, "price": 3.5, "side": "sell"},
    ]
    frames = {"Quote": frame_of(spark, quotes), "Ord": frame_of(spark, orders)}
    assert_same(fyke.match(frames, text, **options).toArrow(), expected)


def test_functions_of_spark_sql_in_conditions_and_items(spark: SparkSession) -> None:
    events = frame_of(spark, clocked(table(lasting=False), pa.timestamp("us", tz="UTC")))
    text = "SELECT reverse(A.name) AS r FROM [RANGE 3 SEC] A; B WHERE soundex(A.name) = 'X000'"
    rows = fyke.match(events, text, time="start", type="kind").collect()
    assert {row.r for row in rows} == {"x"}


def test_join_is_no_product_of_whole_streams(spark: SparkSession) -> None:
    events = frame_of(spark, clocked(table(lasting=False), pa.timestamp("us", tz="UTC")))
    found = fyke.match(events, CASES["theta-join"].text, time="start", type="kind")
    plan = found._jdf.queryExecution().executedPlan().toString()
    assert "NestedLoop" not in plan
    assert "Cartesian" not in plan


def test_whole_events_and_decimals(spark: SparkSession) -> None:
    rows = [{"t": n, "name": "x", "d": Decimal(n) / 4} for n in range(8)]
    events = pa.Table.from_pylist(
        rows, pa.schema([("t", pa.int64()), ("name", pa.string()), ("d", pa.decimal128(10, 2))])
    )
    for text in (
        "SELECT * FROM [RANGE 1 SEC] S AS a; S AS b WHERE a.d < b.d",
        "SELECT SUM(d), AVG(d), MIN(d), COUNT(d), SUM(d) / COUNT(*) AS mean FROM [RANGE 4 SEC SLIDE 2] S",
    ):
        expected = fyke.match(events, text, time="t", time_unit="s")
        assert_same(fyke.match(frame_of(spark, events), text, time="t", time_unit="s").toArrow(), expected)


@pytest.mark.parametrize(
    "values",
    [
        [float("nan"), -0.0, 0.0, float("inf"), None, 1.5, float("nan")],
        ["", "a", "A", "ä", None, "a ", "a"],
        [True, False, None, True, False, None, True],
        [
            datetime(2026, 1, 1),
            datetime(1969, 1, 1),
            None,
            datetime(2026, 1, 1),
            datetime(1, 1, 1),
            None,
            None,
        ],
        [2**63 - 1, -(2**63), None, 0, 0, -1, 2**63 - 1],
        [Decimal("1.10"), Decimal("1.1"), None, Decimal("-0.0"), Decimal("0"), Decimal("2"), Decimal("2.00")],
    ],
    ids=["floats", "strings", "booleans", "timestamps", "integers", "decimals"],
)
def test_equal_values_of_every_type(spark: SparkSession, values: list[Any]) -> None:
    events = pa.table({"t": range(len(values)), "v": values})
    text = "SELECT a.t AS x, b.t AS y FROM [RANGE 9 SEC] S AS a; S AS b WHERE a.v = b.v"
    expected = fyke.match(events, text, time="t", time_unit="s")
    assert expected.num_rows > sum(value is not None for value in values)
    assert_same(fyke.match(frame_of(spark, events), text, time="t", time_unit="s").toArrow(), expected)
    counts = "SELECT COUNT(*) AS n, MIN(v) AS low, MAX(v) AS high FROM [RANGE 4 SEC SLIDE 2] S WHERE [v]"
    expected = fyke.match(events, counts, time="t", time_unit="s")
    assert_same(fyke.match(frame_of(spark, events), counts, time="t", time_unit="s").toArrow(), expected)


def test_numbers_of_different_types_join(spark: SparkSession) -> None:
    left = pa.table({"t": [1, 2, 3], "v": pa.array([1, 2, 3], pa.int32())})
    right = pa.table({"t": [1, 2, 3], "v": [1.0, 2.5, 3.0]})
    text = "SELECT L.v AS v FROM [RANGE 1 SEC] L; R WHERE L.v = R.v"
    expected = fyke.match({"L": left, "R": right}, text, time="t", time_unit="s")
    assert expected.column("v").to_pylist() == [1, 3]
    frames = {"L": frame_of(spark, left), "R": frame_of(spark, right)}
    assert_same(fyke.match(frames, text, time="t", time_unit="s").toArrow(), expected)


def test_metrics_are_for_tables(spark: SparkSession) -> None:
    """Spark drops an input, and the observation of it, when another one is found to be empty."""
    frame = frame_of(spark, clocked(table(lasting=False), pa.timestamp("us", tz="UTC")))
    with pytest.raises(OptionError) as caught:
        fyke.match(frame, CASES["sliding"].text, time="end", type="kind", metrics=fyke.Metrics())
    assert str(caught.value) == (
        "metrics of relational queries are for tables: on DataFrames Spark itself runs them, and may leave "
        "out whole inputs, uncounted\n"
        "Spark's UI shows the rows of each operator; "
        "fyke.rejected(events, time=...) returns the rows without a time."
    )
