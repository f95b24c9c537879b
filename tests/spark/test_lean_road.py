"""The physical plans of matches on Spark, pinned: what is read, filtered, shuffled and sent to Python."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import fyke
from fyke.call.events import take_events
from fyke.call.options import check_options
from fyke.call.pattern import PatternCall
from fyke.engine.output.rows import ResultBuilder
from fyke.spark import slices
from fyke.spark.batch import matcher
from fyke.spark.prepare import arranged, prepared, relevant, together
from tests.spark.tables import assert_same, on_table, settings
from tests.spark.test_slices import KEYED, OPTIONS, PATTERNS, events

pytestmark = pytest.mark.spark

TABLE = events(3_000)
NARROW = f"{KEYED} RETURN a.v AS first, c.v AS last"


@pytest.fixture(scope="module")
def frame(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    path = tmp_path_factory.mktemp("lean") / "events.parquet"
    pq.write_table(TABLE, path)
    return spark.read.parquet(str(path))


def nodes(frame: DataFrame) -> list[str]:
    """Return the operators of a physical plan from the top, without its subqueries."""
    lines = str(frame._jdf.queryExecution().executedPlan()).splitlines()  # type: ignore[operator]
    main = [line for line in lines if not re.match(r"^[ :]*: ", line)]
    return [re.sub(r"^[ :+*-]*(\(\d+\) )?", "", line) for line in main if line.strip()]


def names(frame: DataFrame) -> list[str]:
    return [re.split(r"[ (]", node)[0] for node in nodes(frame)]


def test_a_keyed_pattern_is_one_exchange_with_the_filter_below_it(frame: DataFrame) -> None:
    found = names(fyke.match(frame, KEYED, **OPTIONS))
    assert found.count("Exchange") == found.count("Sort") == found.count("MapInArrow") == 1
    order = [found.index(each) for each in ("MapInArrow", "Sort", "Exchange", "Filter", "FileScan")]
    assert order == sorted(order)


def test_a_pattern_without_a_key_is_one_exchange_by_slice(frame: DataFrame) -> None:
    found = fyke.match(frame, PATTERNS["any"], **OPTIONS)
    assert names(found).count("Exchange") == 1
    exchange = next(node for node in nodes(found) if node.startswith("Exchange"))
    assert exchange.startswith("Exchange hashpartitioning(__fyke_slice#")


def test_parquet_reads_the_columns_that_matter_and_skips_what_no_role_takes(frame: DataFrame) -> None:
    query = NARROW.replace("a.v < c.v", "a.v < c.v AND a.v > 0.5")
    scan = nodes(fyke.match(frame, query, unique_order=True, tie_breaker="n", **OPTIONS))[-1]
    assert scan.startswith("FileScan parquet")
    assert "PushedFilters: [IsNotNull(at), " in scan
    assert re.search(r"Or\(.*EqualTo\(kind,A\),GreaterThan\(v,0\.5\)", scan)
    assert re.search(r"ReadSchema: struct<kind:string,k:bigint,v:double,n:bigint,at:bigint>$", scan)
    scan = nodes(fyke.match(frame, PATTERNS["any"] + " RETURN a.v AS v", **OPTIONS))[-1]
    assert scan.endswith("ReadSchema: struct<kind:string,v:double,at:bigint>")


def test_python_gets_the_columns_that_the_engine_reads(frame: DataFrame) -> None:
    sent = next(node for node in nodes(fyke.match(frame, NARROW, **OPTIONS)) if node.startswith("MapInArrow"))
    # The slice, k, v, at and the roles, which tell the type.
    assert re.search(r"run\(__fyke_slice#\w+, c0#\w+, c1#\w+, c2#\w+, c3#\w+\)", sent), sent


@pytest.fixture
def bucketed(spark: SparkSession, frame: DataFrame, tmp_path: Path) -> Iterator[DataFrame]:
    writer = frame.write.bucketBy(4, "k").sortBy("k", "at").option("path", str(tmp_path / "buckets"))
    writer.saveAsTable("bucketed_events")
    yield spark.table("bucketed_events")
    spark.sql("DROP TABLE bucketed_events")


def test_a_bucketed_table_is_not_shuffled(bucketed: DataFrame) -> None:
    found = fyke.match(bucketed, KEYED, **OPTIONS)
    assert "Exchange" not in names(found)
    assert "Bucketed: true" in nodes(found)[-1]
    assert_same(found.toArrow(), on_table(TABLE, KEYED, **OPTIONS))
    said = "by k, without a shuffle: the table has its events in buckets; a hot key is not cut"
    assert f"\n  pieces   {said}\n" in fyke.explain(bucketed, KEYED, **OPTIONS)


AGAIN = "PATTERN SEQ(ANY x, ANY y) WHERE skip_till_next_match { [k] } WITHIN 100"


def test_the_result_of_a_match_in_buckets_is_not_shuffled_either(bucketed: DataFrame) -> None:
    first = fyke.match(bucketed, KEYED, **OPTIONS)
    second = fyke.match(first, AGAIN, time=("start", "end"))
    assert "Exchange" not in names(second)
    expected = on_table(on_table(TABLE, KEYED, **OPTIONS), AGAIN, time=("start", "end"))
    assert expected.num_rows > 0
    assert sorted(second.toArrow()["match_id"].to_pylist()) == sorted(expected["match_id"].to_pylist())
    said = "by k, without a shuffle: an earlier match has brought its events together; a hot key is not cut"
    assert f"\n  pieces   {said}\n" in fyke.explain(first, AGAIN, time=("start", "end"))


def test_buckets_of_another_key_do_not_help(bucketed: DataFrame) -> None:
    query = KEYED.replace("[k]", "[n]").replace("A a, B b, C c", "A a, ANY b, ANY c")
    found = fyke.match(bucketed, query, **OPTIONS)
    assert names(found).count("Exchange") == 1
    assert_same(found.toArrow(), on_table(TABLE, query, **OPTIONS))


def test_the_result_of_a_match_is_not_shuffled_again(
    frame: DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slices, "_is_scan", lambda _: False)  # hot keys would be spread over tasks
    first = fyke.match(frame, KEYED, **OPTIONS)
    second = fyke.match(first, AGAIN, time=("start", "end"))
    assert names(second).count("Exchange") == 1
    expected = on_table(on_table(TABLE, KEYED, **OPTIONS), AGAIN, time=("start", "end"))
    assert expected.num_rows > 0
    assert second.count() == expected.num_rows
    assert sorted(second.toArrow()["match_id"].to_pylist()) == sorted(expected["match_id"].to_pylist())
    by_other_key = fyke.match(
        first.withColumnRenamed("k", "kk"), AGAIN.replace("[k]", "[kk]"), time=("start", "end")
    )
    assert names(by_other_key).count("Exchange") == 2


def test_counting_a_result_counts_its_rows(frame: DataFrame) -> None:
    result = fyke.match(frame, KEYED, **OPTIONS)
    assert result.count() == len(result.collect()) == on_table(TABLE, KEYED, **OPTIONS).num_rows > 0
    assert result.where("a.v > 2").count() == 0
    assert fyke.match(frame.where("v > 2"), KEYED, **OPTIONS).count() == 0


def test_counting_a_result_makes_no_rows(
    spark: SparkSession, frame: DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here the function of the tasks runs in this process, where making rows is an error."""
    plan = PatternCall(take_events(frame), check_options(KEYED, **OPTIONS)).plan()
    with settings(spark, {"spark.sql.shuffle.partitions": "1"}):
        rows = arranged(together(relevant(prepared(frame, plan), plan), plan), plan).toArrow()

    expected = on_table(TABLE, KEYED, **OPTIONS).num_rows

    def fails(*_: object) -> None:
        raise AssertionError("rows were made")

    monkeypatch.setattr(ResultBuilder, "rows", fails)
    (counted,) = matcher(plan, counts=True)(iter(rows.to_batches()))
    assert counted.to_pylist() == [{"matches": expected}]
    with pytest.raises(AssertionError, match="rows were made"):
        list(matcher(plan)(iter(rows.to_batches())))
