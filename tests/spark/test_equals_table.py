"""Local table = Spark batch: any number of partitions, rows in any order, every operator; several inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import fyke
from fyke.datasets import chemo, companies, food, regions, rfid, stocks
from tests.spark.streams import FIRST_READ, OPTIONS, QUERIES, SIMULTANEOUS, stream
from tests.spark.tables import assert_same, frame_of, on_table, settings

pytestmark = pytest.mark.spark

STREAM = stream()
SHUFFLED = [
    STREAM.take(pa.array(np.random.default_rng(seed).permutation(STREAM.num_rows))) for seed in (1, 2, 3)
]
EMPTY = {"no match"}


@pytest.mark.parametrize("name", QUERIES)
def test_a_dataframe_gives_what_a_table_gives(spark: SparkSession, name: str) -> None:
    query, own = QUERIES[name]
    options = {**OPTIONS, **own}
    expected = on_table(STREAM, query, **options)
    assert (expected.num_rows > 0) is (name not in EMPTY)
    for partitions, table in zip((1, 2, 7), SHUFFLED, strict=True):
        frame = frame_of(spark, table)
        if partitions == 7:
            frame = frame.repartition(3)
        with settings(spark, {"spark.sql.shuffle.partitions": str(partitions)}):
            assert_same(fyke.match(frame, query, **options).toArrow(), expected)


@pytest.mark.parametrize("query", FIRST_READ)
def test_columns_that_the_query_does_not_name_break_ties(spark: SparkSession, query: str) -> None:
    found = fyke.match(frame_of(spark, SIMULTANEOUS), query, time="t", type="kind").toArrow()
    assert sorted(found["x"].to_pylist()) == FIRST_READ[query]
    assert_same(found, on_table(SIMULTANEOUS, query, time="t", type="kind"))


def test_adaptive_execution_changes_nothing(spark: SparkSession) -> None:
    query, _ = QUERIES["next"]
    with settings(spark, {"spark.sql.adaptive.enabled": "true"}):
        found = fyke.match(frame_of(spark, STREAM), query, **OPTIONS).toArrow()
    assert_same(found, on_table(STREAM, query, **OPTIONS))


DATASETS: dict[str, tuple[pa.Table, str, dict[str, Any]]] = {
    "chemo": (chemo.generate(400, seed=1), chemo.QUERY, {"time": "T", "type": "L"}),
    "rfid": (rfid.generate(800, seed=1, shoplifted=0.1).table, rfid.QUERY, {"time": "ts", "type": "kind"}),
    "food": (food.generate(300, seed=1).table, food.QUERY, {"time": "ts", "type": "kind"}),
    "stocks": (stocks.generate(2_000, seed=1), stocks.QUERY, {"time": "ts", "type": "kind"}),
    "companies": (
        companies.generate(500, seed=1, highest=1),
        companies.QUERY,
        {"time": "ts", "type": "name"},
    ),
    "regions": (regions.generate(600, seed=1), regions.QUERY, {"time": "ts", "type": "region"}),
}


@pytest.mark.parametrize("name", DATASETS)
def test_a_dataset_gives_what_its_table_gives(spark: SparkSession, name: str) -> None:
    table, query, options = DATASETS[name]
    expected = on_table(table, query, **options)
    assert expected.num_rows > 0
    assert_same(fyke.match(frame_of(spark, table), query, **options).toArrow(), expected)


def _inputs() -> dict[str, pa.Table]:
    """Tables of different schemas: ``x`` is int32, int64 and float64, ``note`` and ``site`` in one each."""
    times = pa.array(np.arange(0, 60_000_000, 1_000_000)).cast(pa.timestamp("us", tz="UTC"))
    random = np.random.default_rng(3)
    return {
        "Order": pa.table(
            {
                "at": times[:20],
                "key": random.integers(0, 3, 20),
                "x": pa.array(random.integers(0, 9, 20), pa.int32()),
                "note": [f"note {number}" for number in range(20)],
            }
        ),
        "Pay ment": pa.table(
            {"key": random.integers(0, 3, 30), "x": random.normal(4, 2, 30), "at": times[10:40]}
        ),
        "Ship": pa.table(
            {
                "at": times[30:],
                "x": random.integers(0, 9, 30),
                "key": random.integers(0, 3, 30),
                "place": pa.array([{"site": f"s{number % 4}", "floor": number} for number in range(30)]),
            }
        ),
    }


@pytest.mark.parametrize(
    "query",
    [
        'PATTERN SEQ(Order a, "Pay ment"+ b[], Ship c) WHERE { [key] AND a.x > b[i].x } WITHIN 1 minute',
        'PATTERN SEQ(Order a, ~"Pay ment" b, Ship c) '
        "WHERE { [key] AND b.x > 7 AND c.place.site = 's1' AND a.note != '' } "
        "WITHIN 1 minute RETURN a.note, c.place.floor AS floor, a.x + c.x AS total",
        "PATTERN SEQ(ANY a, ANY b) WHERE { [key] AND a.x < b.x } WITHIN 3 seconds",
    ],
)
def test_several_inputs_give_what_several_tables_give(spark: SparkSession, query: str) -> None:
    tables = _inputs()
    expected = on_table(tables, query, time="at")
    assert expected.num_rows > 0
    frames = {name: frame_of(spark, table) for name, table in tables.items()}
    assert_same(fyke.match(frames, query, time="at").toArrow(), expected)


def test_a_column_called_type_is_told_from_the_type(spark: SparkSession) -> None:
    tables = {name: pa.table({"at": [number], "Type": [name * 2]}) for number, name in enumerate("AB")}
    frames = {name: frame_of(spark, table) for name, table in tables.items()}
    query = "PATTERN SEQ(A a, B b) WHERE { b.Type = 'BB' }"
    expected = on_table(tables, query, time="at")
    assert expected["a"].to_pylist() == [{"at": 0, "Type": "AA"}]
    assert_same(fyke.match(frames, query, time="at").toArrow(), expected)


def test_matcher_is_for_transform(spark: SparkSession) -> None:
    query, _ = QUERIES["two keys"]
    found = frame_of(spark, STREAM).transform(fyke.matcher(query, **OPTIONS)).toArrow()
    assert_same(found, on_table(STREAM, query, **OPTIONS))


def test_a_label_makes_matches_events_of_another_query(spark: SparkSession) -> None:
    pairs = "PATTERN SEQ(A a, B b) WHERE { [k] } WITHIN 5 minutes RETURN a.x AS x"
    chained = "PATTERN SEQ(Pair p, Pair q) WHERE { [k] AND p.x < q.x } WITHIN 30 minutes"
    options = {"time": ("start", "end")}
    first = on_table(STREAM, pairs, **OPTIONS)
    expected = on_table({"Pair": first}, chained, **options)
    assert expected.num_rows > 0
    frame = fyke.match(frame_of(spark, STREAM), pairs, **OPTIONS)
    assert_same(fyke.match({"Pair": frame}, chained, **options).toArrow(), expected)
