"""A limit that a worker exceeds: Spark's exception is readable, gives the error back, harms no other call."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import fyke
from fyke.errors import LimitError
from tests.spark.tables import frame_of

pytestmark = pytest.mark.spark

EVENTS = pa.table({"kind": ["A"] * 44, "t": list(range(44)), "symbol": ["SUN"] * 4 + ["IBM"] * 40})
QUERY = "PATTERN A+ a[] WHERE skip_till_any_match { [symbol] } RETURN count(*) AS n"


@pytest.mark.parametrize("metrics", [None, fyke.Metrics()], ids=["plain", "metrics"])
def test_a_limit_on_a_worker(spark: SparkSession, metrics: fyke.Metrics | None) -> None:
    frame, limits = frame_of(spark, EVENTS), fyke.Limits(matches=100)
    options = {"time": "t", "type": "kind", "engine": "automaton", "limits": limits}
    result = fyke.match(frame, QUERY, **options, metrics=metrics)
    with pytest.raises(PySparkException) as caught:
        result.collect()
    assert isinstance(caught.value, LimitError)
    with pytest.raises(LimitError) as on_table:
        fyke.match(EVENTS, QUERY, time="t", type="kind", engine="automaton", limits=limits)
    assert str(caught.value) == str(on_table.value)
    assert pickle.loads(pickle.dumps(caught.value)).__dict__ == on_table.value.__dict__
    again = LimitError.found_in(caught.value)
    assert again is not None
    assert {name: again.__dict__[name] for name in on_table.value.__dict__} == on_table.value.__dict__
    assert again.message == (
        "limit 'matches' of 100 was exceeded in the partition symbol = 'IBM' by the matches of the group a[]"
    )
    small = frame.where("t < 8")
    rows = fyke.match(small, QUERY, time="t", type="kind", engine="automaton", limits=limits).collect()
    assert sorted(rows) == [("IBM", 15), ("SUN", 15)]


JOINED = pa.table({"kind": ["A"] * 10 + ["B"] * 10 + ["C"] * 10, "t": list(range(30))})


@pytest.mark.parametrize("engine", ["automaton", "lazy_chain", "lazy_tree", "tree", "auto"])
def test_every_engine_keeps_the_limit_of_runs_in_a_task(spark: SparkSession, engine: str) -> None:
    query = "PATTERN SEQ(A a, B b, C c) WHERE skip_till_any_match { a.t < b.t } WITHIN 100"
    options = {"time": "t", "type": "kind", "engine": engine, "techniques": fyke.Techniques(merging=False)}
    frame = frame_of(spark, JOINED)
    for events, found in ((JOINED, lambda rows: rows), (frame, lambda rows: rows.collect())):
        with pytest.raises(LimitError, match="limit 'runs' of 2 was exceeded"):
            found(fyke.match(events, query, limits=fyke.Limits(runs=2), **options))


def test_the_clock_ends_a_task(spark: SparkSession) -> None:
    many = pa.table({"kind": ["A"] * 500, "t": list(range(500))})
    query = (
        "PATTERN SEQ(A a, A b, A c, A d, A e) WHERE skip_till_any_match { a.t + b.t + c.t + d.t + e.t < 0 }"
    )
    limits = fyke.Limits(seconds=0.5, steps=2**60, buffer_bytes=2**34, runs=2**40)
    result = fyke.match(frame_of(spark, many), query, time="t", type="kind", limits=limits)
    with pytest.raises(LimitError, match=r"limit 'seconds' of 0\.5 was exceeded in the whole input by"):
        result.collect()
