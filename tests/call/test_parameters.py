"""Parameters of a query: values that are given with the events."""

from __future__ import annotations

import datetime
import pickle
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import fyke
from fyke import pattern as p
from fyke import reference
from fyke.errors import OptionError, ParameterError, TypeClashError
from tests.spark.tables import assert_same, frame_of

OPTIONS: dict[str, Any] = {"time": "t", "type": "kind"}
EVENTS = pa.table(
    {"kind": ["A", "B", "A", "B"], "t": [1, 2, 3, 4], "x": [1, 2, 3, 4], "s": ["a", "it's", "c", None]}
)
QUERY = """
    PATTERN SEQ(A a, B b) WHERE { b.x - a.x >= :gap AND a.s IN (:names, 'z') } WITHIN 9
    RETURN a.x, b.x * :factor AS y
"""
VALUES: dict[str, Any] = {"gap": 1, "names": ["a", "it's"], "factor": 2.5}


def test_values_stand_where_parameters_are() -> None:
    written = QUERY.replace(":gap", "1").replace(":names", "'a', 'it''s'").replace(":factor", "2.5")
    expected = fyke.match(EVENTS, written, **OPTIONS)
    assert expected.num_rows == 1
    assert fyke.match(EVENTS, QUERY, params=VALUES, **OPTIONS).equals(expected)
    assert reference.match(EVENTS, QUERY, params=VALUES, **OPTIONS).equals(expected)
    assert fyke.match(EVENTS, QUERY, params={**VALUES, "gap": 4}, **OPTIONS).num_rows == 0


@pytest.mark.parametrize(
    "value, text",
    [
        (1, "1"),
        (True, "TRUE"),
        (1.0, "1.0"),
        (None, "NULL"),
        ("'; DROP", "'''; DROP'"),
        (np.int32(-4), "-4"),
        (Decimal("0.10"), "0.1"),
        (datetime.timedelta(minutes=5), "5 minutes"),
        (datetime.datetime(2026, 1, 31, 12), "TIMESTAMP '2026-01-31 12:00:00'"),
    ],
)
def test_values_of_every_kind(value: Any, text: str) -> None:
    told = fyke.explain(
        EVENTS, "PATTERN A a WHERE { coalesce(:v, NULL) IS NULL OR a.x > 0 }", params={"v": value}, **OPTIONS
    )
    assert f"coalesce({text}, NULL)" in told


def test_the_text_keeps_them() -> None:
    query = fyke.parse(QUERY)
    assert ":gap" in str(query)
    assert fyke.parse(str(query)) == query
    a = p.variable("a")
    built = p.query(p.event("A", "a"), where=[a.x > p.parameter("limit")])
    assert fyke.parse("PATTERN A a WHERE { a.x > :limit }") == built
    assert fyke.match(EVENTS, built, params={"limit": 2}, **OPTIONS).num_rows == 1


def test_equal_numbers_of_different_kinds_are_different_values() -> None:
    query = fyke.parse("PATTERN A a RETURN :v AS v")
    kinds = [
        fyke.match(EVENTS, query, params={"v": v}, **OPTIONS).schema.field("v").type for v in (1, True, 1.0)
    ]
    assert kinds == [pa.int64(), pa.bool_(), pa.float64()]


def test_a_matcher_and_a_program_take_them() -> None:
    matcher = fyke.matcher(QUERY, params=VALUES, **OPTIONS)
    assert pickle.loads(pickle.dumps(matcher))(EVENTS).num_rows == 1
    program = fyke.program(
        "High: PATTERN A a WHERE { a.x > :low } RETURN a.x AS x; Near: PATTERN B b WHERE { b.x < :high }"
    )
    results = program.run(EVENTS, params={"low": 2, "high": 3}, **OPTIONS)
    assert [results[label].num_rows for label in ("High", "Near")] == [1, 1]
    with pytest.raises(OptionError, match="no query has a parameter 'hihg'"):
        program.run(EVENTS, params={"low": 2, "hihg": 3}, **OPTIONS)
    with pytest.raises(ParameterError, match="the parameter :high has no value"):
        program.run(EVENTS, params={"low": 2}, **OPTIONS)


@pytest.mark.spark
def test_on_spark_and_in_the_other_language(spark: SparkSession) -> None:
    expected = fyke.match(EVENTS, QUERY, params=VALUES, **OPTIONS)
    assert_same(fyke.match(frame_of(spark, EVENTS), QUERY, params=VALUES, **OPTIONS).toArrow(), expected)
    text = "SELECT x + :more AS y FROM [RANGE 5] A WHERE x > :low"
    found = fyke.match(EVENTS, text, params={"more": 10, "low": 1}, **OPTIONS)
    assert found["y"].to_pylist() == [13]
    assert_same(
        fyke.match(frame_of(spark, EVENTS), text, params={"more": 10, "low": 1}, **OPTIONS).toArrow(), found
    )


@pytest.mark.parametrize(
    "query, params, error, message",
    [
        ("a.x > :limit", None, ParameterError, r"the parameter :limit has no value \(line 1, column 27\)"),
        ("a.x > :limit", {"limti": 1}, OptionError, "the query has no parameter 'limti'"),
        ("a.x > 1", {"limit": 1}, OptionError, "the query has no parameter 'limit'"),
        ("a.x > :limit", {"limit": [1]}, ParameterError, "the parameter :limit is a list"),
        ("a.x IN (:limit)", {"limit": []}, ParameterError, "IN has no options"),
        ("a.x > :limit", {"limit": object()}, TypeClashError, "a query cannot hold a value of type object"),
        ("a.x > :limit", {"limit": "five"}, TypeClashError, "a.x is integer and 'five' is string"),
        ("a.x > :limit", [1], OptionError, "params must be a dict"),
    ],
)
def test_refused_by_name(query: str, params: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        fyke.match(EVENTS, f"PATTERN A a WHERE {{ {query} }}", params=params, **OPTIONS)
