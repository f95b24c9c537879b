"""Conditions on elements of a group by number: ``a[2]``, ``a[a.len-1]``; each engine, and the reference."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import fyke
from fyke import pattern as p
from fyke import reference
from tests.spark.tables import assert_same, frame_of

OPTIONS: dict[str, Any] = {"time": "t", "type": "kind"}
NOON = datetime(2026, 1, 31, 12)
EVENTS = pa.table(
    {
        "kind": list("AAABAABAC"),
        "t": range(9),
        "x": [1, 2, 5, 2, 4, 3, 4, None, 1],
        "s": ["p", "q", "é", "q", None, "p", "p", "q", "q"],
        "d": pa.array([Decimal(f"{10**30 + k % 3}.5") for k in range(9)], pa.decimal128(38, 1)),
        "at": [NOON + timedelta(seconds=k * k % 5) for k in range(9)],
    }
)
ENGINES = {"skip_till_any_match": ("automaton", "lazy_chain", "lazy_tree", "tree")}


def groups(pattern: str, strategy: str, condition: str, events: pa.Table = EVENTS) -> list[list[int]]:
    """Return the times of the elements of ``a`` in each match, the same for the reference and all engines."""
    query = f"PATTERN {pattern} WHERE {strategy} {{ {condition} }} WITHIN 20"
    expected = reference.match(events, query, **OPTIONS)
    for engine in ("auto", *ENGINES.get(strategy, ("automaton",))):
        assert_same(fyke.match(events, query, **OPTIONS, engine=engine), expected)
    return sorted([event["t"] for event in group] for group in expected["a"].to_pylist())


@pytest.mark.parametrize(
    "condition, expected",
    [
        ("a[2].x > a[1].x", [[0, 1], [0, 1, 2], [0, 2], [1, 2]]),
        ("a[2].x = 2", [[0, 1], [0, 1, 2]]),
        ("a[3].x = 5", [[0, 1, 2]]),
        ("a[4].x = 5", []),
        ("b.x = a[a.len-1].x", [[0, 1, 2], [1, 2]]),
        ("a[a.len-2].x < a[2].x", [[0, 1, 2]]),
        ("a[2].x IS NULL", [[0], [1], [2]]),
        ("coalesce(a[2].x, 5) = 5", [[0], [0, 2], [1], [1, 2], [2]]),
        ("NOT (a[2].x = 2)", [[0, 2], [1, 2]]),
        ("a[2].x = 2 OR a[1].x = 5", [[0, 1], [0, 1, 2], [2]]),
        ("a[i].x <= a[2].x", [[0, 1], [0, 2], [1, 2]]),
        ("a[i].x < a[i-1].x + a[a.len-1].x + 1", [[0], [0, 1], [1], [2]]),
        ("a[2].s = 'q'", [[0, 1], [0, 1, 2]]),
        ("upper(a[2].s) = 'Q' AND a[a.len-1].s = b.s", [[0, 1, 2]]),
        ("a[2].s LIKE 'q%' OR a[2].s IS NULL", [[0], [0, 1], [0, 1, 2], [1], [2]]),
        ("a[2].d > a[1].d", [[0, 1], [0, 1, 2], [0, 2], [1, 2]]),
        ("a[3].d > a[2].d", [[0, 1, 2]]),
        ("a[a.len-1].at < b.at", [[0, 1, 2], [0, 1], [0, 2], [1, 2]]),
    ],
)
def test_every_group_before_a_b(condition: str, expected: list[list[int]]) -> None:
    events = EVENTS.slice(0, 4)
    assert groups("SEQ(A+ a[], B b)", "skip_till_any_match", condition, events) == sorted(expected)


@pytest.mark.parametrize(
    "strategy, expected",
    [
        # The second element is taken only if it is greater than the first; further ones as they come.
        ("skip_till_next_match", [[0, 1, 2], [0, 1, 2, 4, 5], [1, 2], [1, 2, 4, 5]]),
        ("greedy_skip_till_next_match", [[0, 1, 2], [1, 2]]),
        ("robust_skip_till_next_match", [[0, 1, 2], [1, 2]]),
        ("partition_contiguity", [[0, 1, 2], [1, 2]]),
        ("greedy_strict_contiguity", [[0, 1, 2], [1, 2]]),
    ],
)
def test_an_element_is_decided_as_soon_as_it_is_there(strategy: str, expected: list[list[int]]) -> None:
    assert groups("SEQ(A+ a[], B b)", strategy, "a[2].x > a[1].x") == expected


def test_an_element_that_does_not_fit_is_passed_over() -> None:
    """Decided only when the group is closed, the run would have taken the 2 and lost the match."""
    assert groups("SEQ(A+ a[], B b)", "skip_till_next_match", "a[1].t = 0 AND a[2].x = 5 AND b.t = 3") == [
        [0, 2]
    ]


def test_a_group_at_the_end() -> None:
    """It is a match once the element is there, and whenever it grows from then on."""
    assert groups("A+ a[]", "skip_till_next_match", "a[1].t = 0 AND a[3].x = 4") == [
        [0, 1, 4],
        [0, 1, 4, 5],
        [0, 1, 4, 5, 7],
    ]
    assert groups("A{1,3} a[]", "skip_till_next_match", "a[1].t = 0 AND a[a.len-1].x = 2") == [[0, 1, 2]]


def test_groups_that_grow_side_by_side() -> None:
    found = groups("AND(A{1,2} a[], B+ b[])", "skip_till_next_match", "a[1].t < 3 AND b[2].x > a[2].x")
    assert found == [[0, 1]]


def test_in_an_absence() -> None:
    strategy = "skip_till_any_match"
    inside = "SEQ(A{1,1} a[], ~SEQ(A+ g[], B b), C c)"
    assert groups(inside, strategy, "g[2].x > 4 AND g[1].t > a[1].t") == [[1], [2], [4], [5], [7]]
    assert groups(inside, strategy, "g[g.len-1].x = 4 AND g[1].t > a[1].t") == [[4], [5], [7]]
    assert groups(inside, strategy, "g[2].x = a[1].x") == [[0], [1], [2], [4], [5], [7]]


def test_far_from_either_end() -> None:
    events = pa.table({"kind": ["A"] * 60 + ["B"], "t": range(61), "x": [*range(60), 0]})
    query = "PATTERN SEQ(A+ a[], B b) WHERE partition_contiguity {{ {} }} RETURN a.len AS n"
    for condition, expected in (
        ("a[50].x = 55", [54]),
        ("a[a.len-30].x - a[1].x = 10", [41]),
        ("a[61].x > 0 OR a[a.len-60].x >= 0", []),
        ("a[60].x > a[a.len-59].x", [60]),
        ("a[999999999].x IS NULL AND a.len = 7", [7]),
    ):
        assert fyke.match(events, query.format(condition), **OPTIONS)["n"].to_pylist() == expected


@pytest.mark.parametrize("condition", ["a[2].x = 1", "a[a.len-1].x = b.x", "b.x != a[2].x"])
def test_runs_that_agree_in_the_element_are_one(condition: str) -> None:
    """Sixty events A are 2⁶⁰ groups; what is asked of two of their elements leaves few different runs."""
    events = pa.table({"kind": ["A"] * 60 + ["B"], "t": range(61), "x": [k % 2 for k in range(61)]})
    query = f"PATTERN SEQ(A+ a[], B b) WHERE skip_till_any_match {{ {condition} }} WITHIN 99"
    metrics = fyke.Metrics()
    fyke.match(events, query, **OPTIONS, output="compressed", engine="automaton", metrics=metrics)
    assert metrics.get()["peak_runs"] < 50


def test_explained() -> None:
    query = "PATTERN SEQ(A+ a[], B b) WHERE { a[3].x > a[2].x AND a[a.len-1].x = b.x }"
    told = fyke.explain(EVENTS, query, **OPTIONS)
    assert "a[3].x > a[2].x  (when a has 3 elements or is closed)" in told
    assert "a[a.len-1].x = b.x  (when a is closed)" in told


def test_built_in_python() -> None:
    a, b = p.variable("a"), p.variable("b")
    where = [a.element(2).x > a.first.x, b.x == a.element(-2).x]
    built = p.query(p.seq(p.event("A", "a").plus(), p.event("B", "b")), where=where)
    text = "PATTERN SEQ(A+ a[], B b) WHERE { a[2].x > a[1].x AND b.x = a[a.len-1].x }"
    assert built == fyke.parse(text) == fyke.parse(str(built))


@pytest.mark.spark
def test_on_spark(spark: SparkSession) -> None:
    frame = frame_of(spark, EVENTS)
    for condition in (
        "a[2].x > a[1].x AND a[a.len-1].x = b.x",
        "a[2].x IS NULL OR md5(a[2].s) = md5(b.s)",
        "coalesce(a[3].x, 0) < a[a.len-1].x",
    ):
        query = f"PATTERN SEQ(A+ a[], B b) WHERE skip_till_any_match {{ {condition} }} WITHIN 20"
        found = fyke.match(frame, query, **OPTIONS).toArrow()
        assert found.num_rows
        without = re.sub(r"md5\((.*?)\)", r"\1", query)  # a function of Spark, which tables lack
        expected = fyke.match(EVENTS, without, **OPTIONS)
        if without != query:  # identifiers tell queries of another meaning apart
            found, expected = (each.drop_columns("match_id") for each in (found, expected))
        assert_same(found, expected)
