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
