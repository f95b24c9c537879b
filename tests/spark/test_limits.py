"""A limit that a worker exceeds: Spark's exception is readable, gives the error back, harms no other call."""

from __future__ import annotations

import pickle
import time

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import fyke
from fyke.errors import LimitError
from tests.engine import test_limits as on_tables
from tests.random.blow_ups import blow_ups
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


@pytest.mark.parametrize("limit, value, text", on_tables.LIMITS[1:], ids=["buffer_bytes", "matches", "steps"])
def test_a_limit_reads_as_on_a_table(spark: SparkSession, limit: str, value: int, text: str) -> None:
    frame = frame_of(spark, on_tables.EVENTS)
    options = {"time": "t", "type": "kind", "engine": "automaton", "techniques": on_tables.APART}
    query, limits = on_tables.BY_SYMBOL, fyke.Limits(**{limit: value})
    with pytest.raises(LimitError) as caught:
        fyke.match(frame, query, limits=limits, **options).collect()
    assert (caught.value.limit, caught.value.value) == (limit, value)
    assert str(caught.value) == text.format(where="the partition symbol = 'IBM'", key=on_tables.KEYS[query])


def test_the_steps_of_robust_name_it_and_what_to_do(spark: SparkSession) -> None:
    many = pa.table({"kind": ["A"] * 500, "t": list(range(500))})
    query = "PATTERN AND(A+ a[], A b) WHERE robust_skip_till_next_match { sum(a[].t) < b.t - 900 }"
    limits = fyke.Limits(steps=100_000)
    told = []
    for events, found in ((many, lambda rows: rows), (frame_of(spark, many), lambda rows: rows.collect())):
        with pytest.raises(LimitError) as caught:
            found(fyke.match(events, query, time="t", type="kind", limits=limits))
        told.append(str(caught.value))
    assert told[0] == told[1]
    assert "by robust_skip_till_next_match, which goes back as long as it finds no match" in told[1]
    assert "choose skip_till_next_match, which never goes back" in told[1]


@pytest.mark.long
@pytest.mark.parametrize("number", [1, 12, 19, 43])  # of many kinds, and quick; see tests/random
def test_what_explodes_ends_soon(spark: SparkSession, number: int) -> None:
    case = blow_ups()[number]
    results, began = [], time.monotonic()
    for events in (case.events(), frame_of(spark, case.events())):
        try:
            found = fyke.match(events, case.query, **case.options())
            results.append(found.num_rows if isinstance(found, pa.Table) else found.count())
        except LimitError as error:
            results.append(error.limit)
    assert time.monotonic() - began < 90  # both of them; a session may be starting its workers
    assert results[0] == results[1]
    few = case.events(6)
    again = fyke.match(frame_of(spark, few), case.query, **case.options())
    assert again.count() == fyke.match(few, case.query, **case.options()).num_rows


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
