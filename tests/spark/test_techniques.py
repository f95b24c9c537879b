"""Output formats and techniques of evaluation on Spark: the same rows as on a table."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import fyke
from fyke.datasets import chemo, stocks
from tests.random.results import difference
from tests.random.test_techniques import VARIANTS

pytestmark = pytest.mark.spark

STOCKS = stocks.QUERY
ROBUST = chemo.QUERY.replace("greedy_skip", "robust_skip")
CASES = {
    "stocks": (stocks.generate(1_500, seed=3, symbols=5), STOCKS, {"time": "ts", "type": "kind"}),
    "chemo": (chemo.generate(1_000, seed=3), chemo.QUERY, {"time": "T", "type": "L"}),
    "robust": (chemo.generate(1_000, seed=4), ROBUST, {"time": "T", "type": "L"}),
}


def as_table(frame: object) -> pa.Table:
    return frame.toArrow()  # type: ignore[attr-defined, no-any-return]


@pytest.mark.parametrize("name", CASES)
def test_compressed_results_enumerate_to_all_matches(spark: SparkSession, name: str) -> None:
    table, query, options = CASES[name]
    expected = fyke.match(table, query, **options)
    assert expected.num_rows > 0
    frame = spark.createDataFrame(table).repartition(3)
    compressed = fyke.match(frame, query, output="compressed", **options)
    found = as_table(fyke.enumerate_matches(compressed))
    assert sorted(found["match_id"].to_pylist()) == sorted(expected["match_id"].to_pylist())
    again = as_table(fyke.match(frame, query, **options))
    assert difference(found, again) is None


@pytest.mark.parametrize("variant", VARIANTS)
def test_no_technique_changes_the_rows_on_spark(spark: SparkSession, variant: str) -> None:
    table, query, options = CASES["chemo"]
    frame = spark.createDataFrame(table).repartition(3)
    found = as_table(fyke.match(frame, query, techniques=VARIANTS[variant], **options))
    assert difference(found, as_table(fyke.match(frame, query, **options))) is None
