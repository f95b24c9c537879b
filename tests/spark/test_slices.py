"""Slices of time on Spark: patterns without a key, and hot keys, give the rows of a table on many tasks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import fyke
from fyke.spark import slices
from tests.spark.tables import assert_same, frame_of, on_table, settings

pytestmark = pytest.mark.spark

OPTIONS = {"time": "at", "type": "kind"}
ROWS = 6_000
PATTERNS = {
    "any": "PATTERN SEQ(A a, B b, C c) WHERE skip_till_any_match { a.v < b.v } WITHIN 8",
    "absence": "PATTERN SEQ(~D d, A a, B b, ~C c) WHERE skip_till_next_match { b.v > a.v } WITHIN 6",
    "greedy": "PATTERN SEQ(A a, B+ b[], C c) WHERE greedy_skip_till_next_match { a.v < c.v } WITHIN 9",
    "robust": "PATTERN SEQ(A a, B b, C c) WHERE robust_skip_till_next_match { a.v < c.v } WITHIN 9",
    "contiguity": "PATTERN SEQ(A a, B b) WHERE partition_contiguity { a.v < 2 } WITHIN 9",
    "over matches": "PATTERN SEQ(A a, B b) WHERE skip_till_next_match { a.v < b.v } WITHIN 9 "
    "RETURN avg(a.v) AS v",
}


def events(rows: int = ROWS, *, hot: float = 0.0) -> pa.Table:
    random = np.random.default_rng(rows)
    at = np.arange(rows) // 2 - rows // 8  # ties, and times before the epoch
    return pa.table(
        {
            "kind": pa.array(np.array(list("ABCDE"))[random.integers(0, 5, rows)]),
            "k": np.where(random.random(rows) < hot, 3, random.integers(0, 20, rows)),
            "v": random.random(rows),
            "n": np.arange(rows),
            "at": random.permutation(at),
        }
    )


def tasks(frame: DataFrame) -> int:
    """Return how many tasks hold rows at the end."""
    return frame.groupBy(F.spark_partition_id()).count().count()


@pytest.mark.parametrize("name", PATTERNS)
def test_without_a_key_many_tasks_find_the_rows_of_a_table(spark: SparkSession, name: str) -> None:
    table = events()
    expected = on_table(table, PATTERNS[name], **OPTIONS)
    assert expected.num_rows > 0
    with settings(spark, {"spark.sql.shuffle.partitions": "5"}):
        found = fyke.match(frame_of(spark, table), PATTERNS[name], **OPTIONS)
        assert_same(found.toArrow(), expected)
        if "RETURN" not in PATTERNS[name]:
            assert tasks(found) == 5


@pytest.mark.parametrize("kind", ["timestamp[us, tz=UTC]", "timestamp[us]", "date32[day]"])
def test_times_of_every_kind(spark: SparkSession, kind: str) -> None:
    """A clock that is set back does not come between slices."""
    table = events(1_000)
    times = {"date32[day]": table["at"].cast(pa.int32()).cast(pa.date32())}
    hours = pa.array(table["at"].to_numpy() * 1_800_000_000 + 1_698_541_200_000_000)
    times["timestamp[us]"] = hours.cast(pa.timestamp("us"))
    times["timestamp[us, tz=UTC]"] = hours.cast(pa.timestamp("us", tz="UTC"))
    table = table.set_column(4, "at", times[kind])
    query = PATTERNS["any"].replace("WITHIN 8", "WITHIN 8 days" if "date" in kind else "WITHIN 4 hours")
    zone = {"spark.sql.shuffle.partitions": "3", "spark.sql.session.timeZone": "Europe/Berlin"}
    expected = on_table(table, query, **OPTIONS)
    with settings(spark, zone):
        found = fyke.match(frame_of(spark, table), query, **OPTIONS)
        assert sorted(found.toArrow()["match_id"].to_pylist()) == sorted(expected["match_id"].to_pylist())


@pytest.fixture
def hot(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DataFrame:
    """Return a file in which one of twenty keys has most rows; more of it is sampled than of a long one."""
    monkeypatch.setattr(slices, "_SAMPLE", 0.5)
    pq.write_table(events(hot=0.8), tmp_path / "events.parquet", row_group_size=1_000)
    return spark.read.parquet(str(tmp_path / "events.parquet"))


KEYED = "PATTERN SEQ(A a, B b, C c) WHERE skip_till_next_match { [k] AND a.v < c.v } WITHIN 20"


def test_a_hot_key_is_cut_and_the_others_are_not(spark: SparkSession, hot: DataFrame) -> None:
    expected = on_table(events(hot=0.8), KEYED, **OPTIONS)
    with settings(spark, {"spark.sql.shuffle.partitions": "6"}):
        found = fyke.match(hot, KEYED, **OPTIONS)
        assert_same(found.toArrow(), expected)
        placed = found.select("k", F.spark_partition_id().alias("task"))
        by_task = placed.groupBy("k").agg(F.count_distinct("task").alias("tasks")).collect()
        spread = {row.k: row.tasks for row in by_task}
    assert spread.pop(3) > 2
    assert set(spread.values()) == {1}


def test_one_key_has_everything(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "_SAMPLE", 0.5)
    pq.write_table(events(hot=1.0), tmp_path / "events.parquet", row_group_size=1_000)
    with settings(spark, {"spark.sql.shuffle.partitions": "6"}):
        found = fyke.match(spark.read.parquet(str(tmp_path / "events.parquet")), KEYED, **OPTIONS)
        assert tasks(found) > 2
        assert_same(found.toArrow(), on_table(events(hot=1.0), KEYED, **OPTIONS))


def test_counts_of_rows_are_those_on_a_table(hot: DataFrame) -> None:
    table, frame = fyke.Metrics(), fyke.Metrics()
    fyke.match(events(hot=0.8), KEYED, metrics=table, **OPTIONS)
    fyke.match(hot, KEYED, metrics=frame, **OPTIONS).count()
    for name in ("rows", "events_read", "events_filtered", "tied_rows", "matches"):
        assert frame.get()[name] == table.get()[name] > 0, name


def test_a_window_longer_than_the_data(spark: SparkSession) -> None:
    table, query = events(200), PATTERNS["any"].replace("WITHIN 8", "WITHIN 9000000000000000000")
    assert_same(
        fyke.match(frame_of(spark, table), query, **OPTIONS).toArrow(), on_table(table, query, **OPTIONS)
    )


def pairs(*moments: int) -> pa.Table:
    """Return an A and a B three units later, for each moment."""
    times = [each for moment in moments for each in (moment, moment + 3)]
    return pa.table({"kind": list("AB") * len(moments), "at": pa.array(times, pa.int64())})


@pytest.mark.parametrize(
    "moments",
    [
        range(0, 10**15, 10**13),  # each pair in a slice of its own, and empty ones between
        (-(2**63), -(2**63) + 221, -2, 2**63 - 4),  # the ends of 64 bits, and slices that a pair is across
    ],
    ids=["more slices than events", "the ends of 64 bits"],
)
@pytest.mark.parametrize("window", [2, 3, 7])
def test_times_far_apart(spark: SparkSession, moments: Sequence[int], window: int) -> None:
    table, query = pairs(*moments), f"PATTERN SEQ(A a, B b) WITHIN {window}"
    expected = on_table(table, query, **OPTIONS)
    assert expected.num_rows == (len(moments) if window >= 3 else 0)
    assert_same(fyke.match(frame_of(spark, table), query, **OPTIONS).toArrow(), expected)


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_tiny_input(spark: SparkSession, rows: int) -> None:
    frame = frame_of(spark, events(100).slice(0, rows))
    assert fyke.match(frame, PATTERNS["any"], **OPTIONS).count() == 0


@pytest.mark.parametrize("rows", [0, 1, 2, 3])
def test_tiny_input_with_a_key(spark: SparkSession, tmp_path: Path, rows: int) -> None:
    """A sample of so few rows finds no hot key, or nothing at all; three events of one key are a match."""
    table = pa.table(
        {
            "kind": ["A", "B", "C"],
            "k": [7, 7, 7],
            "v": [0.1, 0.5, 0.9],
            "n": [0, 1, 2],
            "at": [0, 1, 2],
        }
    ).slice(0, rows)
    pq.write_table(table, tmp_path / "events.parquet")
    expected = on_table(table, KEYED, **OPTIONS)
    assert expected.num_rows == (1 if rows == 3 else 0)
    for frame in (spark.read.parquet(str(tmp_path)), frame_of(spark, table)):
        assert_same(fyke.match(frame, KEYED, **OPTIONS).toArrow(), expected)


def test_rows_that_are_computed_are_not_computed_twice(hot: DataFrame) -> None:
    assert slices._is_scan(hot.where("v > 0.5").select("k"))
    assert not slices._is_scan(hot.groupBy("k").agg(F.max("v")))
    assert not slices._is_scan(hot.join(hot.select("k").distinct(), "k"))


@pytest.mark.parametrize(
    "plan, is_scan",
    [
        ("Project [k#1]\n+- HiveTableRelation [`spark_catalog`.`default`.`events`, ...]", True),
        ("Filter (v#2 > 0.5)\n+- RelationV2[k#1, v#2] events", True),
        ("Union\n:- Relation [k#1] parquet\n+- LocalRelation <empty>, [k#1]", True),
        ("Project [k#1]\n+- Generate explode(v#2), false, [k#1]\n   +- OneRowRelation", False),
    ],
)
def test_tables_of_every_kind_are_read(
    hot: DataFrame, monkeypatch: pytest.MonkeyPatch, plan: str, is_scan: bool
) -> None:
    monkeypatch.setattr(slices, "_optimized", lambda _: plan)
    assert slices._is_scan(hot) is is_scan


@pytest.mark.parametrize(
    "query, pieces",
    [
        (PATTERNS["any"], "by time, with a window of overlap"),
        (KEYED, "by k; a hot key by time, with a window of overlap"),
        (PATTERNS["contiguity"].replace("partition", "strict"), "one: the whole input is read as one"),
        (
            PATTERNS["any"].replace("WITHIN 8", "WITHIN 8 EVENTS"),
            "one: events are counted, and only the task that has all of them can do so",
        ),
    ],
)
def test_explain_says_what_is_cut(hot: DataFrame, query: str, pieces: str) -> None:
    assert f"\n  pieces   {pieces}\n" in fyke.explain(hot, query, **OPTIONS)


def test_explain_says_that_computed_events_are_not_searched_for_hot_keys(hot: DataFrame) -> None:
    computed = hot.dropDuplicates(["n"])
    said = "by k; a hot key is not cut: to find one, the events would be computed twice"
    assert f"\n  pieces   {said}\n" in fyke.explain(computed, KEYED, **OPTIONS)
    said = "by time, with a window of overlap"
    assert f"\n  pieces   {said}\n" in fyke.explain(computed, PATTERNS["any"], **OPTIONS)
