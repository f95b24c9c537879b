"""``engine="auto"`` on Spark: each task chooses by the first rows it reads, as a call on a table does."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import fyke
from tests.spark.tables import assert_same, frame_of, on_table

pytestmark = pytest.mark.spark

OPTIONS = {"time": "at", "type": "kind"}
QUERY = "PATTERN SEQ(A a, B b, C c) WHERE skip_till_any_match { [k] AND a.v < b.v AND b.v < c.v } WITHIN 300"


def events(shares: list[float]) -> pa.Table:
    """Return events of which A, B and C have these shares."""
    random = np.random.default_rng(7)
    rows = 1_200
    return pa.table(
        {
            "kind": pa.array(random.choice(list("ABC"), rows, p=shares)),
            "k": random.integers(0, 3, rows),
            "v": random.random(rows),
            "at": np.arange(rows),
        }
    )


FREQUENT, RARE = events([0.34, 0.33, 0.33]), events([0.497, 0.498, 0.005])


def work(frame_or_table: object, engine: str) -> tuple[int, int]:
    metrics = fyke.Metrics()
    found = fyke.match(frame_or_table, QUERY, engine=engine, metrics=metrics, **OPTIONS)
    if not isinstance(found, pa.Table):
        found.collect()
    counts = metrics.get()
    return int(counts["condition_evaluations"]), int(counts["buffered_events"] > 0)


@pytest.mark.parametrize(
    "table",
    [pytest.param(FREQUENT, id="frequent", marks=pytest.mark.long), pytest.param(RARE, id="rare")],
)
def test_a_task_chooses_what_its_rows_speak_for(spark: SparkSession, table: pa.Table) -> None:
    frame = frame_of(spark, table)
    by_engine = {each: work(frame, each) for each in ("automaton", "lazy_chain", "lazy_tree", "tree")}
    chosen = work(frame, "auto")
    assert chosen in by_engine.values()
    known = fyke.statistics(table, QUERY, **OPTIONS)
    text = fyke.explain(table, QUERY, statistics=known, **OPTIONS)
    best = text.split("chosen   ")[1].split(":")[0]
    assert chosen == by_engine[best]
    assert_same(fyke.match(frame, QUERY, **OPTIONS).toArrow(), on_table(table, QUERY, **OPTIONS))


def test_explain_says_that_tasks_choose(spark: SparkSession) -> None:
    text = fyke.explain(frame_of(spark, RARE), QUERY, **OPTIONS)
    assert text.endswith("these are usual rates: each task chooses its engine by the first rows it reads")
    forced = fyke.explain(frame_of(spark, RARE), QUERY, engine="tree", **OPTIONS)
    assert "each task plans its tree on the first rows it reads" in forced
