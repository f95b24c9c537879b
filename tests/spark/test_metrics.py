"""Counts and clocks of a call on Spark: those of the call on a table, filled by the first action."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import fyke
from tests.spark.streams import OPTIONS, QUERIES, stream
from tests.spark.tables import assert_same, frame_of, on_table, settings

pytestmark = pytest.mark.spark

STREAM = stream(60)
UNTIMED = STREAM["ts"].null_count
Counts = dict[str, int | float]


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    return frame_of(spark, STREAM)


def on_table_and_frame(frame: DataFrame, query: str, options: dict[str, Any]) -> tuple[Counts, Counts]:
    """Return the metrics of both; of the result on Spark only the rows are asked for."""
    table, spark = fyke.Metrics(), fyke.Metrics()
    found = fyke.match(STREAM, query, metrics=table, **options)
    result = fyke.match(frame, query, metrics=spark, **options)
    assert result.count() == found.num_rows
    return table.get(), spark.get()


def exact(metrics: Counts) -> Counts:
    return {name: value for name, value in metrics.items() if not name.startswith("seconds_")}


@pytest.mark.parametrize(
    "name",
    ["next", "two keys", "strict contiguity", "or", "over matches", "over no match", "non overlap", "events"],
)
def test_the_work_is_that_on_a_table(frame: DataFrame, name: str) -> None:
    query, more = QUERIES[name]
    # A planner that knows the statistics of a table may take another engine than one that does not.
    table, spark = on_table_and_frame(frame, query, {**OPTIONS, "engine": "automaton", **more})
    assert list(spark) == list(table)
    # A task holds the bindings of its own partitions only.
    assert 0 <= spark.pop("buffer_peak") <= table.pop("buffer_peak")
    assert exact(spark) == exact(table)
    assert (spark["rows"], spark["rejected_rows"]) == (STREAM.num_rows, UNTIMED)
    assert {name: type(value) for name, value in spark.items()} == {
        name: type(value) for name, value in table.items()
    }


def test_seconds_are_those_of_the_tasks(frame: DataFrame) -> None:
    query = "PATTERN SEQ(ANY a, ANY b) WHERE skip_till_any_match { [k] } WITHIN 10 days"
    _, spark = on_table_and_frame(frame, query, OPTIONS)
    assert spark["matches"] > 0
    assert spark["seconds_search"] > 0
    assert spark["seconds_rows"] > 0
    assert spark["seconds_prepare"] == 0  # Catalyst prepares, among its other work


@pytest.mark.parametrize("adaptive", ["false", "true"])
@pytest.mark.parametrize("rows, type", [("n >= 0", "Unheard"), ("n < -1", "A")])
def test_no_relevant_rows(spark: SparkSession, frame: DataFrame, adaptive: str, rows: str, type: str) -> None:
    query = f"PATTERN SEQ({type} a, {type} b) WHERE {{ [k] }} WITHIN 5 minutes"
    some, metrics = frame.where(rows), fyke.Metrics()
    expected = some.where("ts IS NOT NULL").count()
    with settings(spark, {"spark.sql.adaptive.enabled": adaptive}):
        assert fyke.match(some, query, metrics=metrics, **OPTIONS).collect() == []
        counts = exact(metrics.get())
    assert counts.pop("rows") - counts.pop("rejected_rows") == expected == counts.pop("events_filtered")
    assert counts.pop("missing_types") == (type == "Unheard")
    assert counts == dict.fromkeys(counts, 0)


def test_the_rows_of_several_inputs(frame: DataFrame) -> None:
    metrics = fyke.Metrics()
    query = "PATTERN SEQ(A a, B b) WITHIN 1 hour"
    fyke.match({"A": frame, "B": frame}, query, time="ts", metrics=metrics).collect()
    assert (metrics.get()["rows"], metrics.get()["rejected_rows"]) == (2 * STREAM.num_rows, 2 * UNTIMED)


@pytest.mark.parametrize("name", ["two keys", "over matches", "no match"])
def test_metrics_change_no_row_and_no_type(frame: DataFrame, name: str) -> None:
    query, more = QUERIES[name]
    result = fyke.match(frame, query, metrics=fyke.Metrics(), **OPTIONS, **more)
    assert result.schema == fyke.match(frame, query, **OPTIONS, **more).schema
    assert_same(result.toArrow(), on_table(STREAM, query, **OPTIONS, **more))


def test_a_part_of_the_result_does_not_change_what_was_filtered(frame: DataFrame) -> None:
    whole, part = fyke.Metrics(), fyke.Metrics()
    fyke.match(frame, QUERIES["two keys"][0], metrics=whole, **OPTIONS).collect()
    fyke.match(frame, QUERIES["two keys"][0], metrics=part, **OPTIONS).limit(1).collect()
    assert whole.get()["events_filtered"] == part.get()["events_filtered"] > 0


@pytest.mark.parametrize("engine", ["automaton", "lazy_chain", "lazy_tree", "tree"])
def test_statistics_of_a_run_are_about_those_on_a_table(frame: DataFrame, engine: str) -> None:
    query = """
        PATTERN SEQ(A a, ANY b, ANY c)
        WHERE skip_till_any_match { [k] AND a.n < b.n AND b.n + a.n > c.n }
        WITHIN 5 minutes
    """
    table, spark = fyke.Metrics(), fyke.Metrics()
    options = {**OPTIONS, "engine": engine}
    fyke.match(STREAM, query, metrics=table, **options)
    fyke.match(frame, query, metrics=spark, **options).collect()
    here, there = table.statistics(), spark.statistics()
    assert here.rows == there.rows == table.get()["events_read"] > 0
    # A window that a stretch of rows ends in is left out, and each task has such stretches of its own.
    assert there.window_rows == pytest.approx(here.window_rows)
    assert there.rates == pytest.approx(here.rates, rel=0.25)
    assert there.selectivities == pytest.approx(here.selectivities, abs=0.15)
    assert list(here.selectivities) == ["a.n < b.n"] + ["b.n + a.n > c.n"] * (engine == "tree")
    text = fyke.explain(frame, query, metrics=spark, statistics=there, **options)
    assert "estimated against observed" in text
    assert str(there).replace("\n", "\n  ") in text


def test_statistics_of_no_rows_are_assumed(frame: DataFrame) -> None:
    metrics = fyke.Metrics()
    fyke.match(
        frame.where("n < -1"), "PATTERN SEQ(A a, B b) WITHIN 1 hour", metrics=metrics, **OPTIONS
    ).count()
    assert metrics.statistics() == fyke.Statistics()


def test_ties_and_missing_types_are_told(frame: DataFrame) -> None:
    query = "PATTERN SEQ(ANY a, ANY b, ~CC c) WHERE skip_till_any_match { a.n > 5 } WITHIN 5 minutes"
    table, spark = on_table_and_frame(frame, query, {**OPTIONS, "engine": "automaton"})
    assert table["tied_successors"] == spark["tied_successors"] > 0
    assert table["missing_types"] == spark["missing_types"] == 1
    swapped = fyke.Metrics()
    fyke.match(frame, "PATTERN SEQ(a A, b B) WITHIN 1 hour", metrics=swapped, **OPTIONS).count()
    assert swapped.missing_types == {
        "a": " 'A' is a type: the type comes first, as in A a.",
        "b": " 'B' is a type: the type comes first, as in B b.",
    }
    nothing = fyke.Metrics()
    fyke.match(frame.limit(0), query, metrics=nothing, **OPTIONS).count()
    assert (nothing.missing_types, nothing.get()["missing_types"]) == ({}, 0)


def test_statistics_name_missing_types(frame: DataFrame) -> None:
    query = "PATTERN SEQ(A a, b B) WITHIN 30 minutes"
    known = fyke.statistics(frame, query, **OPTIONS)
    assert known.missing_types == {"b": " 'B' is a type: the type comes first, as in B b."}
    text = fyke.explain(frame, query, statistics=known, **OPTIONS)
    assert "no event is of type 'b'. 'B' is a type: the type comes first, as in B b." in text
    assert fyke.statistics(frame, "PATTERN SEQ(A a, B b) WITHIN 1 hour", **OPTIONS).missing_types == {}
    rare = "PATTERN SEQ(A a, B b) WHERE { b.x > 1000 } WITHIN 1 hour"
    assert fyke.statistics(frame, rare, **OPTIONS).missing_types == {}
