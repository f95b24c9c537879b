"""Calls on Spark as users make them: views by name, matchers that travel, options that do not fit."""

from __future__ import annotations

import pickle
import time
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import fyke
from fyke.errors import InputError, NotRunError, OptionError, OutputNameError, TimeColumnError
from tests.spark.tables import assert_same, frame_of

pytestmark = pytest.mark.spark

EVENTS = pa.table({"kind": ["A", "B", "A", "B"], "t": [1, 2, 3, 4], "x": [1, 2, 3, 4], "k": [1, 1, 2, 2]})
QUERY = "PATTERN SEQ(A a, B b) WHERE { [k] AND a.x < b.x } WITHIN 9 RETURN a.x, b.x"
OPTIONS: dict[str, Any] = {"time": "t", "type": "kind"}
EXPECTED = fyke.match(EVENTS, QUERY, **OPTIONS)


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    return frame_of(spark, EVENTS)


# --- events -----------------------------------------------------------------------------------------


def test_the_name_of_a_view(frame: DataFrame) -> None:
    frame.createOrReplaceTempView("test_calls_events")
    found = fyke.match("test_calls_events", QUERY, **OPTIONS)
    assert isinstance(found, DataFrame)
    assert_same(found.toArrow(), EXPECTED)
    both = {"A": "test_calls_events", "B": frame}
    assert fyke.match(both, "PATTERN SEQ(A a, B b)", time="t").count() == 3
    assert fyke.rejected("test_calls_events", time="t").count() == 0
    with pytest.raises(InputError) as caught:
        fyke.match("test_calls_evens", QUERY, **OPTIONS)
    assert str(caught.value).startswith(
        "the Spark session has no view or table 'test_calls_evens'\nIt says: "
    )
    with pytest.raises(InputError, match="the Spark session has no view or table"):
        fyke.match("no view; at all", QUERY, **OPTIONS)


def test_a_file_is_a_table_though_there_is_a_session(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(EVENTS, tmp_path / "events.parquet")
    assert fyke.match(tmp_path / "events.parquet", QUERY, **OPTIONS).equals(EXPECTED)


def test_tables_and_frames_together_are_refused(frame: DataFrame) -> None:
    with pytest.raises(
        InputError, match=r"found a dict of DataFrame, Table\nAll inputs of a dict must be tables"
    ):
        fyke.match({"A": frame, "B": EVENTS}, "PATTERN SEQ(A a, B b)", time="t")


def test_pandas_from_a_frame_comes_back_as_pandas(frame: DataFrame) -> None:
    found = fyke.match(frame.toPandas(), QUERY, **OPTIONS)
    assert found.equals(EXPECTED.to_pandas())


# --- matchers ---------------------------------------------------------------------------------------


def test_a_pickled_matcher_transforms_a_frame(frame: DataFrame) -> None:
    for pickled in (pickle, cloudpickle):
        matcher = pickle.loads(pickled.dumps(fyke.matcher(QUERY, **OPTIONS)))
        assert_same(frame.transform(matcher).toArrow(), EXPECTED)


def test_a_matcher_in_foreach_batch(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    pq.write_table(EVENTS, tmp_path / "in" / "1.parquet")
    matcher, found = fyke.matcher(QUERY, **OPTIONS), []
    stream = spark.readStream.schema(frame_of(spark, EVENTS).schema).parquet(str(tmp_path / "in"))

    def take(batch: DataFrame, number: int) -> None:
        found.append(matcher(batch).toArrow())

    running = stream.writeStream.foreachBatch(take).trigger(availableNow=True)
    running.option("checkpointLocation", str(tmp_path / "out")).start().awaitTermination(120)
    assert_same(found[0], EXPECTED)


# --- metrics ----------------------------------------------------------------------------------------


def test_metrics_before_any_action_say_so(frame: DataFrame) -> None:
    metrics = fyke.Metrics()
    result = fyke.match(frame, QUERY, metrics=metrics, **OPTIONS)
    assert repr(metrics) == "Metrics: nothing has run yet"
    begun = time.monotonic()
    with pytest.raises(NotRunError) as caught:
        metrics.get(timeout=0.2)
    assert time.monotonic() - begun < 5
    assert str(caught.value) == (
        "nothing has run yet: on a DataFrame the first action on a result fills its metrics\n"
        "Ask the result for rows first, as in result.count() or result.collect()."
    )
    assert "observed" not in fyke.explain(frame, QUERY, metrics=metrics, **OPTIONS)
    assert result.count() == metrics.get()["matches"] == 2
    assert repr(metrics).splitlines()[1].split() == ["rows", "4"]
    assert metrics.statistics().rows == 4
    assert "estimated against observed" in fyke.explain(frame, QUERY, metrics=metrics, **OPTIONS)


def test_metrics_wait_for_an_action_that_another_thread_has_begun(frame: DataFrame) -> None:
    metrics = fyke.Metrics()
    result = fyke.match(frame, QUERY, metrics=metrics, **OPTIONS)

    def count_later() -> None:
        time.sleep(1.0)
        result.count()

    thread = Thread(target=count_later)
    thread.start()
    assert metrics.get(timeout=None)["matches"] == 2
    thread.join()


def test_metrics_of_a_program(frame: DataFrame) -> None:
    text = """
        Pairs: PATTERN SEQ(A a, B b) WHERE { [k] } WITHIN 9 seconds RETURN b.x AS x;
        Later: PATTERN SEQ(Pairs p, A a) WITHIN 9 seconds;
        Sums: SELECT SUM(x) AS s FROM [RANGE 9 SEC] B
    """
    metrics, options = fyke.Metrics(), {**OPTIONS, "time_unit": "s"}
    results = fyke.program(text).run(frame, metrics=metrics, **options)
    assert list(metrics.queries) == ["Pairs", "Later"]  # what is relational Spark runs by itself
    with pytest.raises(NotRunError, match="nothing of Pairs, Later has run yet"):
        metrics.get(timeout=0.1)
    found = {label: results[label].count() for label in metrics.queries}
    assert found == {"Pairs": 2, "Later": 1}
    assert {label: each.get()["matches"] for label, each in metrics.queries.items()} == found
    assert metrics.get()["matches"] == 3


# --- options and columns ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options, text",
    [
        ({"time": None}, "time must be the name of a column or a pair"),
        ({"time": 5}, "time must be the name of a column or a pair"),
        ({"type": 5}, "type must be the name of a column, found 5"),
        ({"tie_breaker": [5]}, "tie_breaker must be the name of a column or a list of names"),
        ({"functions": {"g": 3}}, "functions must be a dict of functions by name, found 'g': 3"),
        ({"time_unit": 5}, "time_unit must be one of"),
    ],
    ids=str,
)
def test_options_that_are_none(frame: DataFrame, options: dict[str, Any], text: str) -> None:
    with pytest.raises(OptionError, match=text):
        fyke.match(frame, QUERY, **{**OPTIONS, **options})


def test_a_column_in_place_of_its_name(frame: DataFrame) -> None:
    for options in ({"time": F.col("t")}, {"type": F.col("kind")}, {"tie_breaker": F.col("x")}):
        with pytest.raises(OptionError, match=r"must be the name of a column.*found Column<'\w+'>"):
            fyke.match(frame, QUERY, **{**OPTIONS, **options})


@pytest.mark.parametrize(
    "kind, first, second",
    [
        ("int(t)", '"1"', '"2"'),
        ("t = 1 OR t = 3", '"true"', '"false"'),
        ("DATE(timestamp_seconds(t * 86400))", '"1970-01-02"', '"1970-01-03"'),
    ],
)
def test_types_that_are_no_strings(frame: DataFrame, kind: str, first: str, second: str) -> None:
    odd = frame.withColumn("kind", F.expr(kind)).where("t <= 2")
    pattern = f"PATTERN SEQ({first} a, {second} b)"
    found = fyke.match(odd, pattern, **OPTIONS).toArrow()
    assert found.num_rows == 1
    assert_same(found, fyke.match(odd.toArrow(), pattern, **OPTIONS))
    assert fyke.match(odd, "PATTERN SEQ(Unheard a, Of b)", **OPTIONS).count() == 0


@pytest.mark.parametrize("kind", ["array(kind)", "double(t)", "struct(kind)"])
def test_types_without_a_text(frame: DataFrame, kind: str) -> None:
    with pytest.raises(InputError, match="event types are text, whole numbers, booleans or dates"):
        fyke.match(frame.withColumn("kind", F.expr(kind)), QUERY, **OPTIONS)


def test_a_time_with_a_zone_beside_one_without(frame: DataFrame) -> None:
    odd = frame.selectExpr(
        "*", "timestamp_seconds(t) AS z", "CAST(timestamp_seconds(t) AS TIMESTAMP_NTZ) AS n"
    )
    with pytest.raises(
        TimeColumnError, match=r"start 'z' is timestamp\[us, tz=UTC\] and end 'n' is timestamp\[us\]"
    ):
        fyke.match(odd, QUERY.replace("9", "9 seconds"), time=("z", "n"), type="kind")


@pytest.mark.parametrize("name", ["__fyke_roles", "__fyke_number", "__fyke_d0", "__FYKE_x"])
def test_names_that_are_fykes_own(frame: DataFrame, name: str) -> None:
    odd = frame.withColumn(name, F.lit(1))
    for given, more in ((odd, OPTIONS), ({"A": odd, "B": odd}, {"time": "t"})):
        with pytest.raises(InputError, match=f"a column '{name}', and names that begin with __fyke_"):
            fyke.match(given, QUERY, **more)
    for place in ("t", "kind"):  # as the time, as the type
        renamed = {role: name if column == place else column for role, column in OPTIONS.items()}
        with pytest.raises(InputError, match=f"a column '{name}', and names that begin with __fyke_"):
            fyke.match(frame.withColumnRenamed(place, name), "PATTERN SEQ(A a, B b)", **renamed)
    with pytest.raises(OutputNameError, match="names that begin with __fyke_ are Fyke's own"):
        fyke.match(frame, f"PATTERN SEQ(A a, B b) RETURN a.x AS {name}", **OPTIONS)


def test_a_unit_of_times_that_have_one(frame: DataFrame) -> None:
    with pytest.raises(OptionError, match="time_unit='s' has a meaning for integer times"):
        fyke.match(frame.withColumn("t", F.timestamp_seconds("t")), "PATTERN A a", time_unit="s", **OPTIONS)
