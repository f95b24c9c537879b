"""why_not on DataFrames: what it finds is what it finds on a table, and of many rows it takes a part."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import fyke
from fyke.datasets import as_dataframe
from fyke.spark import gather
from tests.diagnosis.cases import CASES, POINTS, RUN, STAMPED, STAMPS, Case
from tests.diagnosis.test_causes import asked
from tests.diagnosis.test_why_not import MISTAKES, many

pytestmark = pytest.mark.spark

SOME = [
    next(case for case in CASES if case.cause == cause) for cause in ("tie", "null_key", "between", "no_time")
]


def as_frames(spark: SparkSession, events: Any) -> Any:
    if isinstance(events, dict):
        return {name: as_dataframe(spark, table) for name, table in events.items()}
    return as_dataframe(spark, events)


def as_tables(frames: Any) -> Any:
    """Return what Spark has made of the events: its timestamps have a zone."""
    if isinstance(frames, dict):
        return {name: frame.toArrow() for name, frame in frames.items()}
    return frames.toArrow()


def same(spark: SparkSession, case: Case) -> None:
    events, options = asked(case)
    frames = as_frames(spark, events)
    on_spark = fyke.why_not(frames, case.wrong, **options, **case.ask, seconds=60)
    on_table = fyke.why_not(as_tables(frames), case.wrong, **options, **case.ask, seconds=60)
    assert str(on_spark) == str(on_table)
    assert on_spark.to_table() == on_table.to_table()


@pytest.mark.parametrize("case", SOME, ids=lambda case: case.name.replace(" ", "_"))
def test_a_frame_gives_the_findings_of_a_table(spark: SparkSession, case: Case) -> None:
    same(spark, case)


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "_"))
def test_every_case_gives_the_findings_of_a_table(spark: SparkSession, case: Case) -> None:
    same(spark, case)


def test_spark_filters_by_key_and_interval(spark: SparkSession) -> None:
    """Rows that the question is not about, and that no window reaches, stay where they are."""
    frame = as_dataframe(spark, STAMPED)
    ask = {"key": "m1", "between": ("2026-03-01 08:00:00", "2026-03-01 08:10:00")}
    found = fyke.why_not(frame, RUN, **ask, **STAMPS)
    assert found.cause == "between"
    assert set(found.events.full["unit"].to_pylist()) == {"m1"}
    assert found.selection.whole == STAMPED.num_rows
    with pytest.raises(fyke.FykeError, match="key has 5 for 'unit'"):
        fyke.why_not(frame, RUN, key=5, **STAMPS)


def looked_at(found: fyke.WhyNot) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = found.events.table.to_pylist()
    return rows


@pytest.mark.parametrize(
    "cause, said",
    [
        ("condition", "partitions of user that have most of the types"),
        ("missing_type", "partitions of user that have most of the types"),
        ("absence", "a stretch of time around the first of type"),
    ],
)
def test_many_rows_are_sampled_the_same_way_each_time(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, cause: str, said: str
) -> None:
    monkeypatch.setattr(gather, "MOST", 4_000)
    events = many(20_000)
    events = events.append_column("more", pa.array(["not needed"] * events.num_rows))
    one, seven = (
        fyke.why_not(as_dataframe(spark, events).repartition(parts), MISTAKES[cause], seconds=60, **POINTS)
        for parts in (1, 7)
    )
    assert one.cause == cause
    assert "Looked at a part of" in str(one)
    assert said in str(one)
    assert 500 < one.events.full.num_rows <= 5_000, "about as many as can be looked at"
    assert looked_at(one) == looked_at(seven)
    assert str(one) == str(seven)


def test_of_many_rows_only_the_types_of_the_query_are_collected(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gather, "MOST", 15_000)
    monkeypatch.setattr(gather, "_FEW", 100)
    events = many(20_000).append_column("more", pa.array(["not needed"] * 20_000))
    found = fyke.why_not(as_dataframe(spark, events), MISTAKES["condition"], seconds=60, **POINTS)
    assert found.cause == "condition"
    assert "Looked at the events of A, B, C only." in str(found)
    assert set(found.events.full["kind"].to_pylist()) == {"A", "B", "C"}
    assert found.events.full.column_names == ["kind", "user", "x", "at"]
