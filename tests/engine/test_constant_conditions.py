"""Conditions that events have no say in: they mean nothing, leave no match, or are warned of."""

from __future__ import annotations

import warnings
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import fyke
from fyke import reference
from fyke.errors import ContradictionError
from fyke.language.ast import Strategy
from tests.spark.tables import assert_same, frame_of

OPTIONS: dict[str, Any] = {"time": "t", "type": "kind"}
EVENTS = pa.table({"kind": ["A", "A", "B", "A", "B"], "t": [1, 2, 3, 4, 5], "x": [1, None, 3, 4, 5]})
TRUE = ("TRUE", "1 = 1", "NOT FALSE", "TRUE OR NULL", "'a' < 'b'", "2 > 1.5 AND TRUE")
FALSE = ("FALSE", "1 = 2", "NULL", "NOT TRUE", "TRUE AND NULL", "abs(-1) = 2", "upper('a') = 'a'")


def query(condition: str, strategy: str = "skip_till_any_match", pattern: str = "SEQ(A+ a[], B b)") -> str:
    return f"PATTERN {pattern} WHERE {strategy} {{ {condition} }} WITHIN 9"


def ids(table: pa.Table) -> list[str]:
    return sorted(table["match_id"].to_pylist())


@pytest.mark.parametrize("condition", TRUE)
def test_what_always_holds_means_nothing(condition: str) -> None:
    plain = fyke.match(EVENTS, query("b.x > 2"), **OPTIONS)
    found = fyke.match(EVENTS, query(f"b.x > 2 AND ({condition})"), **OPTIONS)
    assert plain.num_rows > 1
    assert ids(found) == ids(plain)


def test_nothing_but_true() -> None:
    plain = fyke.match(EVENTS, "PATTERN SEQ(A+ a[], B b) WHERE skip_till_any_match WITHIN 9", **OPTIONS)
    assert ids(fyke.match(EVENTS, query("TRUE"), **OPTIONS)) == ids(plain)
    assert str(fyke.parse(query("TRUE"))).count("{ TRUE }") == 1


@pytest.mark.parametrize("condition", FALSE)
def test_what_never_holds_leaves_no_match(condition: str) -> None:
    for pattern in ("SEQ(A+ a[], B b)", "OR(A a, B b)", "AND(A? a, B b)", "SEQ(A a, ~B c, B b)"):
        text = query(condition, pattern=pattern)
        assert fyke.match(EVENTS, text, **OPTIONS).num_rows == 0
        assert reference.match(EVENTS, text, **OPTIONS).num_rows == 0


@pytest.mark.parametrize("strategy", [strategy.value for strategy in Strategy])
def test_under_every_strategy(strategy: str) -> None:
    assert fyke.match(EVENTS, query("FALSE", strategy), **OPTIONS).num_rows == 0
    assert ids(fyke.match(EVENTS, query("TRUE", strategy), **OPTIONS)) == ids(
        reference.match(EVENTS, query("1 = 1", strategy), **OPTIONS)
    )


def test_no_match_is_counted_too() -> None:
    text = query("FALSE") + " RETURN count(*) AS n"
    assert fyke.match(EVENTS, text, **OPTIONS).to_pylist() == [{"n": 0}]


@pytest.mark.spark
def test_on_spark(spark: SparkSession) -> None:
    frame = frame_of(spark, EVENTS)
    for condition in ("TRUE", "b.x > 2 AND 1 = 1", "FALSE", "upper('a') = 'a'"):
        text = query(condition)
        assert_same(fyke.match(frame, text, **OPTIONS).toArrow(), fyke.match(EVENTS, text, **OPTIONS))
    with pytest.warns(fyke.NullComparisonWarning, match="b.x = NULL is never true") as caught:
        found = fyke.match(frame, query("b.x = NULL"), **OPTIONS)
    assert [each.filename for each in caught] == [__file__]
    assert found.count() == 0


@pytest.mark.parametrize(
    "condition, message",
    [
        ("b.x = NULL", r"b.x = NULL is never true, .* \(line 1, column 54\); write b.x IS NULL"),
        ("NULL != b.x", "NULL != b.x is never true.*; write b.x IS NOT NULL"),
        ("b.x > 1 OR b.x < NULL", "b.x < NULL is never true.*; leave NULL out"),
        ("b.x NOT IN (1, NULL)", r"b.x NOT IN \(1, NULL\) is never true.*; leave NULL out"),
        ("b.x BETWEEN NULL AND 5", "b.x BETWEEN NULL AND 5 is never true"),
    ],
)
def test_comparisons_with_null_are_warned_of(condition: str, message: str) -> None:
    with pytest.warns(fyke.NullComparisonWarning, match=message) as caught:
        fyke.match(EVENTS, query(condition), **OPTIONS)
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_null_where_it_means_something_is_not_warned_of() -> None:
    text = query("b.x IS NULL OR b.x IN (1, NULL) OR coalesce(b.x, NULL) = 1 OR nullif(b.x, NULL) = 1")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fyke.match(EVENTS, text, **OPTIONS)


# --- alternatives that are impossible ----------------------------------------------------------


IMPOSSIBLE = query("a.x > 5 AND a.x < 2 AND b.x > 2", pattern="OR(A a, B b)")


def test_an_impossible_alternative_beside_a_possible_one() -> None:
    text = IMPOSSIBLE + " RETURN a.x, b.x"
    found = fyke.match(EVENTS, text, **OPTIONS)
    assert sorted(found["b_x"].to_pylist()) == [3, 5]
    assert found["a_x"].to_pylist() == [None, None]
    assert ids(found) == ids(reference.match(EVENTS, text, **OPTIONS))
    lengths = query("a.len = 2", pattern="OR(A{3,4} a[], A{1,2} a[])")
    assert fyke.match(EVENTS, lengths, **OPTIONS).num_rows == 3


@pytest.mark.spark
def test_an_impossible_alternative_on_spark(spark: SparkSession) -> None:
    frame = frame_of(spark, EVENTS)
    for text in (IMPOSSIBLE, IMPOSSIBLE + " RETURN a.x, b.x"):
        found = fyke.match(EVENTS, text, **OPTIONS)
        assert found.num_rows == 2
        assert_same(fyke.match(frame, text, **OPTIONS).toArrow(), found)
    with pytest.raises(ContradictionError):
        fyke.match(frame, query("a.x > 5 AND a.x < 2", pattern="SEQ(A a, B b)"), **OPTIONS)


@pytest.mark.parametrize(
    "pattern, condition",
    [
        ("OR(A a, B b)", "a.x > 5 AND a.x < 2 AND b.x > 2 AND b.x < 1"),
        ("SEQ(OR(A a, B b), A c)", "c.x > 5 AND c.x < 2"),
        ("SEQ(A? a, B b)", "a.x > 5 AND a.x < 2"),
        ("OR(A{3,4} a[], A{5,6} a[])", "a.len = 2"),
    ],
)
def test_where_nothing_can_match_it_is_still_refused(pattern: str, condition: str) -> None:
    with pytest.raises(ContradictionError):
        fyke.match(EVENTS, query(condition, pattern=pattern), **OPTIONS)
