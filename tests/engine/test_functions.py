"""User functions in conditions across events."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest

import fyke
from fyke import reference


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
