"""Lazy engines on Spark: the rows of a table, and tallies that Spark adds up."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import fyke
from tests.random.results import difference
from tests.spark.tables import frame_of

pytestmark = pytest.mark.spark

QUERIES = {
    "rows": "SEQ(A a, B{1,2} b[], C c) WHERE skip_till_any_match { [k] AND a.x < b.x } WITHIN 20",
    "absence": "SEQ(A a, ~B b, C c) WHERE skip_till_any_match { [k] } WITHIN 20",
    "tally": "SEQ(A a, B+ b[], C c) WHERE skip_till_any_match { [k] AND b[i].x > b[i-1].x } WITHIN 20 "
    "RETURN count(*) AS n, avg(b.len) AS length, max(sum(b[].x)) AS most",
    "one count": "SEQ(A a, B b) WHERE skip_till_any_match { a.x < b.x } WITHIN 20 RETURN count(*) AS n",
    "values": "SEQ(A a, B b) WHERE skip_till_any_match { [k] AND a.x < b.x } WITHIN 20 RETURN count(*) AS n, "
    "sum(a.x) AS s, avg(b.x) AS m, min(b.x - a.x) AS least, max(b.t) AS last, count(a.k) AS some",
    "single values": "SEQ(A a, B b) WHERE skip_till_any_match { a.x < b.x } WITHIN 20 RETURN count(*) AS n, "
    "sum(a.x) AS s, avg(b.x) AS m, min(b.x) AS least, max(b.t) AS last",
    "values of alternatives": "SEQ(A a, OR(B b, C c)) WHERE skip_till_any_match { a.x > 3 } WITHIN 9 "
    "RETURN sum(a.x) + 1 AS s, avg(c.x) AS m, max(b.x) AS most",
    "no values": "SEQ(A a, Z z) WHERE skip_till_any_match { a.x < z.x } WITHIN 20 RETURN sum(a.x) AS s",
    "nothing": "SEQ(A a, Z z) WHERE skip_till_any_match { a.x < z.x } WITHIN 20 RETURN count(*) AS n",
}


@pytest.mark.parametrize("name", QUERIES)
def test_spark_equals_a_table(spark: SparkSession, name: str) -> None:
    random = np.random.default_rng(3)
    rows = 300
    table = pa.table(
        {
            "t": np.arange(rows),
            "kind": random.choice(["A", "B", "C"], rows),
            "k": random.integers(0, 4, rows),
            "x": random.integers(0, 50, rows),
        }
    )
    query, options = f"PATTERN {QUERIES[name]}", {"time": "t", "type": "kind"}
    expected = fyke.match(table, query, **options, engine="automaton")
    for engine in ("lazy_chain", "lazy_tree"):
        found = fyke.match(frame_of(spark, table), query, **options, engine=engine).toArrow()
        assert difference(found.cast(expected.schema), expected) is None


@pytest.mark.parametrize(
    "values, total", [([2**63 - 1, 2**63 - 1, -(2**63) + 1], 2**63 - 1), ([2**63 - 1, 1], None)]
)
@pytest.mark.parametrize("value", ["b.x", "b.x + 0"])
def test_whole_sums_are_exact_until_the_end(
    spark: SparkSession, value: str, values: list[int], total: int | None
) -> None:
    kinds = ["A", *["B"] * len(values)]
    table = pa.table({"t": range(len(kinds)), "kind": kinds, "x": [0, *values]})
    pattern = "PATTERN SEQ(A a, B b) WHERE skip_till_any_match { a.t < b.t } WITHIN 20"
    query = f"{pattern} RETURN sum({value}) AS s"
    options = {"time": "t", "type": "kind", "engine": "lazy_chain"}
    assert fyke.match(frame_of(spark, table), query, **options).toArrow().to_pylist() == [{"s": total}]
