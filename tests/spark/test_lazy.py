"""Building a result runs nothing; filters and columns reach the files."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import fyke
from tests.spark.streams import OPTIONS, QUERIES, stream
from tests.spark.tables import assert_same, frame_of, on_table

pytestmark = pytest.mark.spark

STREAM = stream(60)


@pytest.mark.parametrize("name", ["next", "strict contiguity", "derived", "over matches"])
def test_building_the_result_runs_no_job(spark: SparkSession, name: str) -> None:
    query, _ = QUERIES[name]
    frame = frame_of(spark, STREAM)
    context = spark.sparkContext
    group = f"building {name}"
    context.setJobGroup(group, "what building the result runs")
    try:
        result = fyke.match(frame, query, metrics=fyke.Metrics(), **OPTIONS)
        fyke.rejected(frame, time="ts")
        assert result.columns
        assert list(context.statusTracker().getJobIdsForGroup(group)) == []
        result.count()
        assert list(context.statusTracker().getJobIdsForGroup(group)) != []
    finally:
        context.setLocalProperty("spark.jobGroup.id", "")


def test_a_row_that_fails_fails_only_when_it_is_read(spark: SparkSession) -> None:
    @F.udf("long")
    def failing(value):  # type: ignore[no-untyped-def]
        raise ValueError("read")

    frame = frame_of(spark, STREAM).withColumn("x", failing("n"))
    result = fyke.match(frame, "PATTERN SEQ(A a, B b) WHERE { a.x < b.x } WITHIN 1 hour", **OPTIONS)
    with pytest.raises(PySparkException, match="ValueError: read"):
        result.count()


@pytest.fixture(scope="module")
def stored(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    path: Path = tmp_path_factory.mktemp("stored") / "events.parquet"
    pq.write_table(STREAM, path)
    return spark.read.parquet(str(path))


def _scan(result: DataFrame) -> tuple[str, set[str]]:
    """Return the filters that the scan of a plan pushes down, and the columns it reads."""
    plan = result._jdf.queryExecution().explainString(
        result.sparkSession._jvm.org.apache.spark.sql.execution.ExplainMode.fromString("formatted")
    )
    pushed = re.search(r"PushedFilters: \[(.*)\]", plan)
    schema = re.search(r"ReadSchema: struct<(.*)>", plan)
    assert schema is not None, plan
    return pushed[1] if pushed else "", {column.split(":")[0] for column in schema[1].split(",")}


def test_plain_conditions_reach_the_files(stored: DataFrame) -> None:
    query = (
        "PATTERN SEQ(A a, B b) WHERE { [k] AND a.x > 5 AND b.s IN ('p', 'q') AND a.x < b.x } WITHIN 1 hour"
    )
    pushed, _ = _scan(fyke.match(stored, query, **OPTIONS))
    assert "IsNotNull(ts)" in pushed
    assert "IsNotNull(k)" in pushed
    assert "Or(And(EqualTo(kind,A),GreaterThan(x,5)),And(EqualTo(kind,B),In(s, [p,q])))" in pushed
    assert_same(fyke.match(stored, query, **OPTIONS).toArrow(), on_table(STREAM, query, **OPTIONS))


def test_types_reach_the_files_beside_other_conditions(stored: DataFrame) -> None:
    query = "PATTERN SEQ(A a, B b) WHERE { sqrt(a.x) > 2 } WITHIN 1 hour"
    pushed, _ = _scan(fyke.match(stored, query, **OPTIONS))
    assert "Or(EqualTo(kind,A),EqualTo(kind,B))" in pushed


@pytest.mark.parametrize("roles, all_of_them", [(24, True), (25, False)])
def test_of_many_roles_only_the_types_reach_the_files(
    stored: DataFrame, roles: int, all_of_them: bool
) -> None:
    """The JVM does not compile a condition on each of so many; above the scan rows are filtered by all."""
    several = [f"{'AB'[k % 2]} v{k}" for k in range(roles)]
    own = " AND ".join(f"v{k}.x > {k}" for k in range(roles))
    query = f"PATTERN OR({', '.join(several)}) WHERE {{ {own} }} WITHIN 1 hour"
    pushed, _ = _scan(fyke.match(stored, query, **OPTIONS))
    assert ("EqualTo(kind,A)" in pushed) is all_of_them
    assert ("GreaterThan(x,4)" in pushed) is all_of_them
    assert ("In(kind, [A,B])" in pushed) is not all_of_them
    expected = on_table(STREAM, query, **OPTIONS)
    assert expected.num_rows > 0
    assert_same(fyke.match(stored, query, **OPTIONS).toArrow(), expected)


@pytest.mark.parametrize(
    "query",
    [
        "PATTERN SEQ(A a, B b) WHERE strict_contiguity { a.x > 5 } WITHIN 1 hour",
        "PATTERN SEQ(A a, B b) WHERE partition_contiguity { [k] AND a.x > 5 } WITHIN 1 hour",
        "PATTERN SEQ(A a, B b) WHERE { a.x > 5 } WITHIN 10 EVENTS",
    ],
)
def test_no_row_is_filtered_where_every_row_counts(stored: DataFrame, query: str) -> None:
    pushed, _ = _scan(fyke.match(stored, query, **OPTIONS))
    assert "kind" not in pushed
    assert "x" not in pushed.replace("EqualTo", "")


def test_only_needed_columns_are_read(stored: DataFrame) -> None:
    query = "PATTERN SEQ(A a, B b) WHERE skip_till_any_match { [k] AND a.x > 5 } WITHIN 1 hour RETURN b.s"
    _, columns = _scan(fyke.match(stored, query, **OPTIONS))
    assert columns == {"kind", "ts", "k", "x", "s"}
    assert_same(fyke.match(stored, query, **OPTIONS).toArrow(), on_table(STREAM, query, **OPTIONS))


@pytest.mark.parametrize(
    "query",
    [
        "PATTERN SEQ(A a, B b) WHERE skip_till_any_match WITHIN 1 hour",
        "PATTERN SEQ(A a, B b) WHERE skip_till_next_match WITHIN 1 hour RETURN b.s",
        "PATTERN SEQ(A a, B+ b[]) WHERE skip_till_any_match WITHIN 1 hour RETURN a.s",
    ],
)
def test_every_column_is_read_that_is_returned_or_breaks_ties(stored: DataFrame, query: str) -> None:
    result = fyke.match(stored, query, **OPTIONS)
    _, columns = _scan(result)
    assert columns == set(STREAM.column_names)
    if "RETURN" in query:
        # What only breaks ties goes no further than the sort.
        plan = result._jdf.queryExecution().optimizedPlan().toString()
        sent = re.search(r"MapInArrow run\((.*?)\)", plan)
        assert sent is not None
        assert sent[1].count(",") < len(STREAM.column_names) - 1


def test_explain_runs_nothing_and_speaks_of_spark(stored: DataFrame) -> None:
    text = fyke.explain(stored, "PATTERN SEQ(A a, B b) WHERE { [k] } WITHIN 1 hour", **OPTIONS)
    assert "Spark" in text
