"""Rows and calls that Spark batch refuses: rejected rows are kept and counted, errors are typed."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import fyke
from fyke.errors import (
    InputError,
    MissingColumnError,
    OptionError,
    SchemaClashError,
    TimeColumnError,
    UnknownAttributeError,
    UnknownTypeError,
)
from tests.spark.streams import OPTIONS, QUERIES, stream
from tests.spark.tables import assert_same, frame_of, on_table, settings

pytestmark = pytest.mark.spark

STREAM = stream(60)
QUERY = QUERIES["two keys"][0]
UNTIMED = STREAM["ts"].null_count


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    return frame_of(spark, STREAM)


def test_no_threads_at_all_are_refused_before_anything_is_read(frame: DataFrame) -> None:
    for call in (fyke.match, fyke.explain):
        with pytest.raises(OptionError) as refused:
            call(frame, QUERY, threads=0, **OPTIONS)
        assert str(refused.value) == (
            "threads must be a whole number above zero, found 0\n"
            "Leave it out to take all cores; threads=1 takes one."
        )


def test_rejected_rows_are_returned(frame: DataFrame) -> None:
    assert UNTIMED > 0
    assert_same(fyke.rejected(frame, time="ts").toArrow(), fyke.rejected(STREAM, time="ts"))
    assert fyke.rejected(frame, time=("since", "ts")).count() == UNTIMED
    several = fyke.rejected({"A": frame, "B": frame.limit(0)}, time="ts")
    assert {name: each.count() for name, each in several.items()} == {"A": UNTIMED, "B": 0}


def test_a_stream_without_a_watermark_is_refused_by_name(spark: SparkSession) -> None:
    rate = spark.readStream.format("rate").load()
    for events in (rate, {"A": rate, "B": rate}):
        with pytest.raises(InputError, match="a stream needs a watermark"):
            fyke.match(events, "PATTERN SEQ(A a, A b) WITHIN 1 minute", time="timestamp")


@pytest.mark.parametrize(
    "changed, error, says",
    [
        ({"time": "tss"}, MissingColumnError, r"no column 'tss'[\s\S]*Did you mean 'ts'"),
        ({"time": "T S"}, MissingColumnError, "no column 'T S'"),
        ({"time": ("since", "until")}, MissingColumnError, "no column 'until'"),
        ({"time": "s"}, TimeColumnError, "time column 's' is string"),
        ({"time": ("k", "ts")}, TimeColumnError, "'k' is int32"),
        ({"type": "kinds"}, MissingColumnError, "no column 'kinds'"),
        ({"tie_breaker": ["n", "m"]}, MissingColumnError, "no column 'm'"),
        ({"output": "every"}, OptionError, "output must be one of"),
        ({"engine": "flink"}, OptionError, "engine must be one of"),
    ],
)
def test_calls_that_do_not_fit_the_events(
    frame: DataFrame, changed: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        fyke.match(frame, QUERY, **{**OPTIONS, **changed})


def test_queries_that_do_not_fit_the_events(frame: DataFrame) -> None:
    with pytest.raises(UnknownAttributeError, match="'a' has no attribute 'xx'"):
        fyke.match(frame, "PATTERN A a WHERE { a.xx > 1 }", **OPTIONS)
    with pytest.raises(UnknownTypeError, match="unknown event type 'C'"):
        fyke.match({"A": frame, "B": frame}, "PATTERN SEQ(A a, C c)", time="ts")
    with pytest.raises(OptionError, match="type has no meaning for a dict"):
        fyke.match({"A": frame}, "PATTERN A a", **OPTIONS)
    other = frame.withColumn("x", F.lit("text"))
    with pytest.raises(SchemaClashError, match="column 'x' is int64 in 'A' and string in 'B'"):
        fyke.match({"A": frame, "B": other}, "PATTERN SEQ(A a, B b)", time="ts")


def test_columns_that_spark_does_not_tell_apart(spark: SparkSession, frame: DataFrame) -> None:
    with pytest.raises(InputError, match="'x' and 'x' of the events apart"):
        fyke.match(frame.select("*", "x"), QUERY, **OPTIONS)
    with pytest.raises(InputError, match="'x' and 'X' of the events apart"):
        fyke.match({"A": frame, "B": frame.withColumnRenamed("x", "X")}, "PATTERN SEQ(A a, B b)", time="ts")
    query = "PATTERN SEQ(A a, B b) WHERE { a.x < b.X } WITHIN 1 hour"
    doubled = STREAM.append_column("X", STREAM["n"])
    with settings(spark, {"spark.sql.caseSensitive": "true"}):
        found = fyke.match(frame_of(spark, doubled), query, **OPTIONS).toArrow()
    assert_same(found, on_table(doubled, query, **OPTIONS))


@pytest.mark.parametrize(
    "made",
    ["make_interval(1, 2, 3)", "INTERVAL '1' YEAR", "parse_json('1')", "array(struct(parse_json('1') AS v))"],
)
def test_a_column_that_python_cannot_have(frame: DataFrame, made: str) -> None:
    with pytest.raises(InputError, match=r"the column 'odd' of type \w+[\s\S]*Drop or cast it"):
        fyke.match(frame.withColumn("odd", F.expr(made)), QUERY, **OPTIONS)


def test_limits_reached_in_a_worker_are_named(spark: SparkSession) -> None:
    events = pa.table({"kind": ["A"] * 30, "t": range(30)})
    query = "PATTERN SEQ(A+ a[], A b) WHERE skip_till_any_match"
    frame = frame_of(spark, events)
    result = fyke.match(frame, query, time="t", type="kind", limits=fyke.Limits(matches=1_000))
    with pytest.raises(PySparkException) as caught:
        result.count()
    assert str(caught.value).startswith("limit 'matches' of 1,000 was exceeded")
    assert "fyke.Limits(matches=...)" in str(caught.value)
    assert fyke.match(frame, "PATTERN SEQ(A a, A b)", time="t", type="kind").count() == 29
