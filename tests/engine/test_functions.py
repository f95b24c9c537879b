"""User functions in conditions across events."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import fyke
from fyke import reference
from fyke.errors import AggregateError, OptionError


def distance(x: float, y: float) -> float:
    return math.sqrt((x - y) * (x - y))


def twice(x: float) -> float:
    return 2 * x


def table() -> pa.Table:
    return pa.table({"kind": list("ABBB"), "t": [1, 2, 3, 4], "x": [1.0, 2.5, None, 1.25], "n": [1, 2, 3, 4]})


@pytest.mark.parametrize(
    "condition, expected",
    [
        ("distance(a.x, b.x) < 1", [4]),
        ("distance(a.n, b.n) >= 2", [3, 4]),
        ("twice(a.n + b.n) = 10", [4]),
        ("NOT distance(a.x, b.x) < 1", [2]),
        ("distance(a.x, b.x) IS NULL", [3]),
        ("distance(twice(a.x), b.x) = 0.5", [2]),
    ],
)
def test_user_functions(condition: str, expected: list[int]) -> None:
    query = f"PATTERN SEQ(A a, B b) WHERE skip_till_any_match {{ {condition} }} WITHIN 10 RETURN b.t AS t"
    functions = {"distance": distance, "twice": twice}
    found = fyke.match(table(), query, time="t", type="kind", functions=functions)
    assert sorted(found["t"].to_pylist()) == expected


def test_user_functions_in_the_reference() -> None:
    where = "skip_till_any_match { distance(a.n, b.n) >= 2 }"
    query = f"PATTERN SEQ(A a, B b) WHERE {where} WITHIN 10 RETURN b.t AS t"
    found = reference.match(table(), query, time="t", type="kind", functions={"distance": distance})
    assert sorted(found["t"].to_pylist()) == [3, 4]


def ratio(x: float, y: float) -> float:
    return x / y


def root(x: float) -> float:
    if x < 0:
        raise ValueError("no root")
    return math.sqrt(x)


RAISING = pa.table(
    {"kind": list("ABBB"), "t": [1, 2, 3, 4], "x": [6.0, 0.0, 2.0, -3.0], "n": pa.array([1, 0, 4, -4])}
)
OPTIONS: dict[str, Any] = {"time": "t", "type": "kind", "functions": {"ratio": ratio, "root": root}}


@pytest.mark.parametrize(
    "condition, expected",
    [
        ("ratio(a.x, b.x) IS NULL", [2]),
        ("ratio(a.x, b.x) <= 0", [4]),  # what raises was 0.0
        ("NOT ratio(a.x, b.x) > 100", [3, 4]),
        ("root(b.x - a.n) IS NULL", [2, 4]),
        ("coalesce(root(b.n - a.n), -1.0) < 0", [2, 4]),
        ("ratio(root(b.n), a.x) >= 0", [2, 3]),
    ],
)
@pytest.mark.parametrize("engine", ["automaton", "lazy_chain", "lazy_tree", "tree"])
def test_a_function_that_raises_is_null(condition: str, expected: list[int], engine: str) -> None:
    query = f"PATTERN SEQ(A a, B b) WHERE skip_till_any_match {{ {condition} }} WITHIN 10 RETURN b.t AS t"
    found = fyke.match(RAISING, query, engine=engine, **OPTIONS)
    assert sorted(found["t"].to_pylist()) == expected
    judged = reference.match(RAISING, query, **OPTIONS)
    assert sorted(judged["t"].to_pylist()) == expected


RETURNED = (
    "PATTERN SEQ(A a, B+ b[]) WHERE greedy_skip_till_next_match { a.t > 0 } "
    "RETURN ratio(a.x, b[1].x) AS q, root(b[b.len].n) AS r, ratio(a.n, b[b.len].x) AS s, "
    "sum(root(b[].x)) AS total"
)


def test_a_function_that_raises_is_null_in_return() -> None:
    found = fyke.match(RAISING, RETURNED, **OPTIONS)
    expected = {"q": None, "r": None, "s": 1 / -3, "total": math.sqrt(2)}
    assert found.drop_columns(["match_id", "start", "end"]).to_pylist() == [expected]
    assert found.equals(reference.match(RAISING, RETURNED, **OPTIONS))


@pytest.mark.spark
def test_a_function_that_raises_is_null_on_spark(spark: SparkSession) -> None:
    frame = spark.createDataFrame(RAISING)
    found = fyke.match(frame, RETURNED, **OPTIONS).toArrow()
    assert found.select(["q", "r", "s", "total"]).equals(
        fyke.match(RAISING, RETURNED, **OPTIONS).select(["q", "r", "s", "total"])
    )
    query = "PATTERN SEQ(A a, B b) WHERE skip_till_any_match { ratio(a.x, b.x) IS NULL } RETURN b.t AS t"
    assert fyke.match(frame, query, **OPTIONS).toArrow()["t"].to_pylist() == [2]


def never(x: float) -> float:
    raise ValueError("no number")


def word(x: float) -> str:
    return "far" if x > 1 else "near"


def unknown(x: float) -> float:
    return open(str(x)).fileno()


@pytest.mark.parametrize(
    "function, text",
    [
        (never, "function 'f' returns no number\nIt must return a number for some arguments"),
        (word, "function 'f' returns no number\n"),
        (unknown, "function 'f' cannot be compiled: "),
    ],
)
@pytest.mark.parametrize("use", ["WHERE { f(a.x) > 0 }", "RETURN f(a.x) AS y"])
def test_a_function_without_numbers_is_refused_by_name(function: Any, text: str, use: str) -> None:
    with pytest.raises(OptionError) as caught:
        fyke.match(RAISING, f"PATTERN A a {use}", time="t", type="kind", functions={"f": function})
    assert str(caught.value).startswith(text)
    assert "\x1b" not in str(caught.value)


def test_a_function_of_aggregates_over_matches_is_refused() -> None:
    with pytest.raises(AggregateError, match="calls a function of yours on aggregates over matches"):
        fyke.match(RAISING, "PATTERN SEQ(A a, B b) RETURN root(count(*)) AS x", **OPTIONS)
