"""Join trees, the planner and statistics on Spark: the rows of a table."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import fyke
from fyke import Statistics, Techniques
from tests.random.results import difference
from tests.spark.tables import frame_of

pytestmark = pytest.mark.spark

OPTIONS = {"time": "t", "type": "kind"}
QUERIES = {
    "groups": "SEQ(A a, B{1,2} b[], C c) WHERE skip_till_any_match { [k] AND a.x < b.x } WITHIN 20",
    "absence": "SEQ(A a, ~B b, C c) WHERE skip_till_any_match { [k] } WITHIN 20",
    "one stream": "SEQ(A a, B b, C c) WHERE skip_till_any_match { a.x < c.x AND b.x < c.x } WITHIN 10",
    "set": "AND(A a, B b, C c) WHERE skip_till_any_match { [k] AND a.x = c.x } WITHIN 20",
    "count": "SEQ(A a, B b) WHERE skip_till_any_match { a.x < b.x } WITHIN 20 RETURN count(*) AS n",
    "strict": "SEQ(A a, B b) WHERE strict_contiguity { a.x < b.x } WITHIN 20",
}


def events(rows: int = 300) -> pa.Table:
    random = np.random.default_rng(3)
    return pa.table(
        {
            "t": np.arange(rows),
            "kind": random.choice(["A", "B", "C"], rows),
            "k": random.integers(0, 4, rows),
            "x": random.integers(0, 50, rows),
        }
    )


@pytest.mark.parametrize("name", QUERIES)
def test_spark_equals_a_table(spark: SparkSession, name: str) -> None:
    table, query = events(), f"PATTERN {QUERIES[name]}"
    expected = fyke.match(table, query, **OPTIONS, engine="automaton")
    frame = frame_of(spark, table)
    anew = Techniques(thresholds=(0.0, 0.0, -1.0), chunk=7)
    for techniques in (Techniques(propagation="push"), Techniques(pass_down=True), anew):
        found = fyke.match(frame, query, **OPTIONS, engine="tree", techniques=techniques).toArrow()
        assert difference(found.cast(expected.schema), expected) is None
    found = fyke.match(frame, query, **OPTIONS).toArrow()
    assert difference(found.cast(expected.schema), expected) is None


def test_statistics_of_a_frame_are_those_of_its_table(spark: SparkSession) -> None:
    table, query = events(), f"PATTERN {QUERIES['one stream']}"
    frame = frame_of(spark, table)
    known = fyke.statistics(frame, query, **OPTIONS)
    assert known == fyke.statistics(table, query, **OPTIONS)
    on_spark, on_table = (fyke.explain(each, query, **OPTIONS, statistics=known) for each in (frame, table))
    near = "  near     where events of the rarest variable are few: rows within a window of one\n"
    assert on_spark == on_table.replace("by Arrow", "by Spark").replace(near, "")
    assert on_table == fyke.explain(table, query, **OPTIONS)
    assert "statistics of 300 rows" in on_spark


@pytest.mark.parametrize("window", ["WITHIN 10", "WITHIN 120", "WITHIN 10000", ""])
def test_windows_longer_than_the_sample(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, window: str
) -> None:
    for module in ("fyke.engine.measure.sample", "fyke.spark.statistics"):
        monkeypatch.setattr(f"{module}.SAMPLE_ROWS", 50)
    table, query = events(), f"PATTERN SEQ(A a, B b, C c) WHERE skip_till_any_match {window}"
    known = fyke.statistics(table, query, **OPTIONS)
    assert fyke.statistics(frame_of(spark, table), query, **OPTIONS) == known
    assert (known.window_rows > 50) == (window != "WITHIN 10")


@pytest.mark.parametrize(
    "engine, planned",
    [
        ("automaton", []),
        ("lazy_chain", ["    each task orders the chain by the events it reads"]),
        ("tree", ["    each task plans its tree on the first rows it reads"]),
    ],
)
def test_explain_says_what_is_not_known_before_a_run(
    spark: SparkSession, engine: str, planned: list[str]
) -> None:
    text = fyke.explain(
        frame_of(spark, events()), f"PATTERN {QUERIES['one stream']}", **OPTIONS, engine=engine
    )
    assert text.splitlines()[-3 - len(planned) :] == [
        "  assumed statistics",
        "    nothing is measured before a run on Spark: engines are compared at usual rates",
        *planned,
        "    statistics=fyke.statistics(events, query, ...) looks at some rows, in a job of its own",
    ]


def test_statistics_choose_the_order_on_spark(spark: SparkSession) -> None:
    """What is believed decides, and here it is wrong, so that it can be told from what is there."""
    frame = frame_of(spark, events())
    query = "PATTERN SEQ(A a, B b, C c) WHERE skip_till_any_match { a.x < b.x AND b.x < c.x } WITHIN 20"

    def work(**options: object) -> tuple[object, object]:
        metrics = fyke.Metrics()
        fyke.match(frame, query, **OPTIONS, metrics=metrics, **options).collect()
        return metrics.get()["matches"], metrics.get()["bindings_tried"]

    orders = [("a", "b", "c"), ("c", "b", "a"), ("b", "a", "c")]
    by_order = [work(engine="lazy_chain", techniques=Techniques(order=order)) for order in orders]
    assert len(set(by_order)) == 3
    for order, expected in zip(orders, by_order, strict=True):
        believed = Statistics(dict(zip(order, (0.001, 5.0, 500.0), strict=True)))
        assert f"lazy_chain {' '.join(order)}:" in fyke.explain(frame, query, **OPTIONS, statistics=believed)
        assert work(engine="lazy_chain", statistics=believed) == expected


def test_statistics_choose_the_engine_on_spark(spark: SparkSession) -> None:
    frame = frame_of(spark, events())
    query = "PATTERN SEQ(A a, B b, C c) WHERE skip_till_any_match { a.x < b.x AND b.x < c.x } WITHIN 20"
    taken = []
    selective = {"a.x < b.x": 0.001, "b.x < c.x": 0.001}
    for rates in ({"a": 2.0, "b": 2.0, "c": 20.0}, {"a": 20.0, "b": 2.0, "c": 2.0}):
        believed = Statistics(rates, selective)
        text = fyke.explain(frame, query, **OPTIONS, statistics=believed)
        engine = next(line.split()[1] for line in text.splitlines() if line.startswith("  engine "))
        metrics = fyke.Metrics()
        fyke.match(frame, query, **OPTIONS, metrics=metrics, statistics=believed).collect()
        forced = fyke.Metrics()
        fyke.match(frame, query, **OPTIONS, engine=engine, metrics=forced).collect()
        assert metrics.get()["bindings_tried"] == forced.get()["bindings_tried"]
        taken.append(engine)
    assert taken == ["automaton", "lazy_tree"]
