"""Columns with odd names on Spark: refused where they are Fyke's own, otherwise grouped and ordered by."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import fyke
from fyke.errors import InputError
from fyke.spark.expression import quote
from tests.spark.tables import frame_of

pytestmark = pytest.mark.spark

NAMES = ["a.b", "a`b", '"', "a b", "select", "ä", "a[0]", "x-y"]
OPTIONS: dict[str, Any] = {"time": "t", "type": "kind"}


def events(name: str) -> pa.Table:
    return pa.table({"t": list(range(6)), "kind": list("ABABAB"), name: [1, 1, 2, 2, 2, 2]})


@pytest.mark.parametrize("name", ["__fyke_number", "__fyke_roles", "__FYKE_metrics"])
def test_a_name_of_fykes_own_is_refused(spark: SparkSession, name: str) -> None:
    with pytest.raises(InputError, match=f"a column '{name}'"):
        fyke.match(frame_of(spark, events(name)), "PATTERN SEQ(A a, B b)", **OPTIONS)


@pytest.mark.parametrize(
    "name", [*NAMES[:2], *(pytest.param(name, marks=pytest.mark.long) for name in NAMES[2:])]
)
@pytest.mark.parametrize("metrics", [None, fyke.Metrics()], ids=["plain", "metrics"])
def test_a_result_with_an_odd_name(spark: SparkSession, name: str, metrics: fyke.Metrics | None) -> None:
    table = events(name)
    written = '"' + name.replace('"', '""') + '"'
    query = f"PATTERN SEQ(A a, B b) WHERE skip_till_any_match {{ [{written}] }} WITHIN 9"
    frame = frame_of(spark, table)
    found = fyke.match(frame, query, metrics=metrics, **OPTIONS)
    grouped = (
        found.groupBy(F.col(quote(name))).agg(F.count("*").alias("n")).orderBy(F.col(quote(name)).desc())
    )
    assert [tuple(row) for row in grouped.collect()] == [(2, 3), (1, 1)]
    assert found.orderBy(quote(name), "start").select(quote(name)).first() == (1,)
    inner = found.select(F.col("a").getField(name).alias("x")).groupBy("x").count().orderBy("x")
    assert [tuple(row) for row in inner.collect()] == [(1, 1), (2, 3)]
    counted = fyke.match(frame, f'{query} RETURN count(*) AS {written[:-1]}2", max(b.t) AS last', **OPTIONS)
    rows = counted.orderBy(F.col(quote(name))).collect()
    assert [tuple(row) for row in rows] == [(1, 1, 1), (2, 3, 5)]
    assert counted.columns == [name, f"{name}2", "last"]
