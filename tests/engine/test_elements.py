"""Elements and lists in RETURN: of groups by number, of arrays, all values, different ones, the middle."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import fyke
from fyke import pattern as p
from fyke import reference
from fyke.errors import AggregateError, FykeError, SingleAsGroupError, TypeClashError, UnsupportedQueryError
from tests.spark.tables import assert_same, frame_of

OPTIONS: dict[str, Any] = {"time": "t", "type": "kind"}
NAN = float("nan")
EVENTS = pa.table(
    {
        "kind": ["A", "B", "B", "B", "B", "A", "B", "C"],
        "t": range(8),
        "x": [1, 5, 5, None, 3, 2, 7, 8],
        "f": [0.5, -0.0, 0.0, NAN, 2.5, 1.0, NAN, None],
        "d": pa.array([Decimal(k) / 4 for k in range(8)], pa.decimal128(5, 2)),
        "s": ["a", "b", "c", None, "b", "d", "e", "f"],
        "list": pa.array([[1, 2], [3], [], None, [4, None, 6], [7], [8], [9]], pa.list_(pa.int64())),
    }
)
QUERY = "PATTERN SEQ(A a, B+ b[], C+ c[]) WHERE greedy_skip_till_next_match WITHIN 20 RETURN "


def returned(items: str) -> pa.Table:
    query = QUERY + "a.t AS t, " + items
    found = fyke.match(EVENTS, query, **OPTIONS).sort_by("t")
    assert_same(found, reference.match(EVENTS, query, **OPTIONS))
    return found


@pytest.mark.parametrize(
    "item, expected",
    [
        ("b[2].x", [5, None]),
        ("b[4].s", ["b", None]),
        ("b[6].x", [None, None]),
        ("b[b.len-1].x", [3, None]),
        ("b[b.len-1].s", ["b", None]),
        ("b[b.len-4].t", [1, None]),
        ("first(b.x)", [5, 7]),
        ("last(b.x)", [7, 7]),
        ("c[2].x", [None, None]),
        ("b[].x", [[5, 5, None, 3, 7], [7]]),
        ("c[].x", [[8], [8]]),
        ("size(b[].x)", [5, 1]),
        ("b[].list", [[[3], [], None, [4, None, 6], [8]], [[8]]]),
        ("element_at(b[].s, -2)", ["b", None]),
        ("a.list[1]", [1, 7]),
        ("a.list[2] + 1", [3, None]),
        ("a.list[a.x]", [1, None]),
        ("element_at(a.list, -1)", [2, 7]),
        ("element_at(a.list, 0)", [None, None]),
        ("b[4].list[3]", [6, None]),
        ("count(DISTINCT b[].x)", [3, 1]),
        ("count(DISTINCT b[].f)", [3, 1]),
        ("count(DISTINCT b[].s)", [3, 1]),
        ("median(b[].x)", [5.0, 7.0]),
        ("median(b[].f)", [2.5, "nan"]),
        ("median(b[].d)", [0.75, 1.5]),
        ("median(b[].x * 2) + 1", [11.0, 15.0]),
    ],
)
def test_values(item: str, expected: list[Any]) -> None:
    found = returned(f"{item} AS value")["value"].to_pylist()
    assert ["nan" if value != value else value for value in found] == expected


def test_of_a_group_that_is_not_bound() -> None:
    query = "PATTERN SEQ(A a, B* b[]) WHERE { a.t = 0 AND b.x > 99 } "
    query += "RETURN b[].x AS l, median(b[].x) AS m, b[2].x AS e"
    for match in (fyke.match, reference.match):
        assert match(EVENTS, query, **OPTIONS).select(["l", "m", "e"]).to_pylist() == [
            {"l": None, "m": None, "e": None}
        ]


def test_an_element_as_an_event() -> None:
    found = returned("b[1] AS one, b[b.len] AS last, b[2] AS two")
    assert [each and each["t"] for each in found["one"].to_pylist()] == [1, 6]
    assert [each and each["t"] for each in found["last"].to_pylist()] == [6, 6]
    assert [each and each["t"] for each in found["two"].to_pylist()] == [2, None]


def test_over_matches() -> None:
    query = (
        "PATTERN SEQ(A a, B b) WHERE skip_till_any_match RETURN count(DISTINCT b.x) AS n, median(b.x) AS m"
    )
    found = fyke.match(EVENTS, query, **OPTIONS)
    assert found.to_pylist() == [{"n": 3, "m": 5.0}]
    assert found.equals(reference.match(EVENTS, query, **OPTIONS))
    none = query.replace("any_match", "any_match { FALSE }")
    assert fyke.match(EVENTS, none, **OPTIONS).to_pylist() == [{"n": 0, "m": None}]


@pytest.mark.spark
def test_on_spark(spark: SparkSession) -> None:
    frame = frame_of(spark, EVENTS)
    group = QUERY + (
        "a.t AS t, b[2].x AS e, b[b.len-1].s AS l, b[].x AS all, b[].s AS texts, count(DISTINCT b[].x) AS n, "
        "median(b[].f) AS m, a.list[2] AS k, b[1] AS event, element_at(b[].x, 1) AS first, "
        "first(b.x) AS begin, last(b.s) AS ending"
    )
    rows = "PATTERN A a WHERE { a.list[1] > 0 AND element_at(a.list, -1) < 7 AND a.list[a.x] IS NOT NULL }"
    over = "PATTERN SEQ(A a, B b) WHERE skip_till_any_match RETURN count(DISTINCT b.f) AS n, median(b.f) AS m"
    for query in (group, rows, over):
        found = fyke.match(EVENTS, query, **OPTIONS)
        assert found.num_rows
        assert_same(fyke.match(frame, query, **OPTIONS).toArrow(), found)


def test_one_meaning_has_one_text() -> None:
    b = p.variable("b")
    built = p.query(
        p.event("B", "b").plus(),
        returns=[
            b.element(2).x,
            b.element(-2).x,
            b.all.x,
            p.count_distinct(b.all.x),
            p.median(b.all.x),
            b.element(1).x,
        ],
    )
    text = "PATTERN B+ b[] RETURN b[2].x, b[b.len-1].x, b[].x, count(DISTINCT b[].x), median(b[].x), b[1].x"
    assert fyke.parse(text) == built == fyke.parse(str(built))
    assert str(built).endswith(text.removeprefix("PATTERN B+ b[] "))
    assert (
        fyke.parse("PATTERN B+ b[] RETURN count(distinct (b[].x)), COUNT(DISTINCT(b[].x)) AS n").returns
        is not None
    )


@pytest.mark.parametrize(
    "query, error, message",
    [
        (
            "PATTERN B+ b[] WHERE { b[b.len-1001].x > 1 }",
            UnsupportedQueryError,
            r"b\[b.len-1001\].x is more than 1,000 elements before the last",
        ),
        (
            "PATTERN SEQ(A a, B+ b[]) WHERE { corr(a.list, b[2].list) > 0 }",
            UnsupportedQueryError,
            "corr takes the first and the last of a group, no other by number",
        ),
        (
            "PATTERN B+ b[] WHERE { median(b[].x) > 1 }",
            UnsupportedQueryError,
            r"median\(b\[\].x\) is known when",
        ),
        (
            "PATTERN B+ b[] WHERE { count(DISTINCT b[].x) > 1 }",
            UnsupportedQueryError,
            "is known when a match is",
        ),
        ("PATTERN A a RETURN a[2].x", SingleAsGroupError, "uses 'a' as a group"),
        ("PATTERN B+ b[] RETURN b[0].x", FykeError, "there is no index"),
        ("PATTERN B+ b[] RETURN b[].x + 1 AS y", TypeClashError, r"b\[\].x\) is list|is list"),
        ("PATTERN B+ b[] RETURN sum(DISTINCT b[].x)", FykeError, "only count takes DISTINCT"),
        ("PATTERN A a RETURN a.x[1]", TypeClashError, "element_at takes a list, but a.x is integer"),
        ("PATTERN B+ b[] RETURN b[].x, count(*)", AggregateError, "differs from match to match"),
    ],
)
def test_refused_by_name(query: str, error: type[FykeError], message: str) -> None:
    with pytest.raises(error, match=message):
        fyke.match(EVENTS, query, **OPTIONS)
