"""All fifteen queries of [T] run, on tables and on Spark, and give the answers worked out by hand."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import fyke
from fyke.language.ast import Strategy
from tests.relational.paper_queries import QUERIES, table
from tests.spark.tables import assert_same, frame_of

OPTIONS: dict[str, Any] = {"time": "t", "type": "stream", "time_unit": "s"}


def answers(result: pa.Table) -> list[Any]:
    """Return the ids of the events of each match, or the values of each row."""
    if "match_id" not in result.column_names:
        rows = [row.values() for row in result.to_pylist()]
        return [tuple(value["id"] if isinstance(value, dict) else value for value in row) for row in rows]
    found = []
    for row in result.drop_columns(["match_id", "start", "end"]).to_pylist():
        groups = [value if isinstance(value, list) else [value] for value in row.values()]
        found.append(" ".join(event["id"] for group in groups for event in group))
    return sorted(found)


@pytest.mark.parametrize("number", QUERIES)
def test_answer_worked_out_by_hand(number: int) -> None:
    query = QUERIES[number]
    assert answers(fyke.match(table(query.events), query.text, **OPTIONS)) == query.expected


@pytest.mark.spark
@pytest.mark.parametrize("number", QUERIES)
def test_spark_gives_the_same(spark: SparkSession, number: int) -> None:
    events, text = table(QUERIES[number].events), QUERIES[number].text
    found = fyke.match(frame_of(spark, events), text, **OPTIONS).toArrow()
    assert_same(found, fyke.match(events, text, **OPTIONS))


@pytest.mark.parametrize("number", QUERIES)
def test_text_comes_back(number: int) -> None:
    query = fyke.parse(QUERIES[number].text)
    assert fyke.parse(str(query)) == query
    assert (query.label is None) == (number != 1)


def test_pattern_form_is_the_same_query_as_in_the_other_language() -> None:
    sase = """
        PATTERN SEQ(S a, S+ b[], S c)
        WHERE skip_till_any_match(a, b[], c) { a.name = 'IBM' AND b.name = 'Sun' AND c.name = 'Oracle' }
        WITHIN 2 seconds
    """
    assert fyke.parse(QUERIES[2].text) == fyke.parse(sase)


@pytest.mark.parametrize(
    "text, same",
    [
        (
            "SELECT * PATTERN ab FROM [RANGE 2 SEC] S: a,b",
            "PATTERN SEQ(S a, S b) WHERE strict_contiguity WITHIN 2 s",
        ),
        (
            "SELECT a.x, SUM(b.x), COUNT(b) PATTERN ab+ FROM [RANGE 1 min] S: a; T: b "
            "WHERE STRICT(a, b) { a.x > 1 }",
            "PATTERN SEQ(S a, T+ b[]) WHERE strict_contiguity { a.x > 1 } WITHIN 1 min "
            "RETURN a.x, sum(b[].x), b.len",
        ),
        (
            "SELECT * PATTERN a+b FROM [RANGE 2 SEC] S: a,b WHERE SKIP_TILL_NEXT { a.x[i-1] < a.x[i] }",
            "PATTERN SEQ(S+ a[], S b) WHERE skip_till_next_match { a[i-1].x < a[i].x } WITHIN 2 s",
        ),
        (
            "Up: SELECT e1.x PATTERN e1 e2+ e3 FROM [RANGE 9 EVENTS] : S: e1, e2, e3 WHERE SKIP_TIL_ANY",
            "Up: PATTERN SEQ(S e1, S+ e2[], S e3) WHERE skip_till_any_match WITHIN 9 EVENTS RETURN e1.x",
        ),
        (
            'SELECT * PATTERN a FROM [RANGE 2 SEC] S: a WHERE {a.x = "b"}',
            "PATTERN S a WHERE strict_contiguity {a.x = 'b'} WITHIN 2 s",
        ),
        (
            "SELECT * PATTERN a+ FROM [RANGE 2 SEC] S: a WHERE GREEDY_STRICT_CONTIGUITY {a.x = 1}",
            "PATTERN S+ a[] WHERE greedy_strict_contiguity {a.x = 1} WITHIN 2 s",
        ),
        (
            "SELECT * PATTERN a+ FROM [RANGE 2 SEC] S: a WHERE greedy_partition_contiguity",
            "PATTERN S+ a[] WHERE greedy_partition_contiguity WITHIN 2 s",
        ),
    ],
)
def test_pattern_form(text: str, same: str) -> None:
    assert fyke.parse(text) == fyke.parse(same)


def test_default_is_strict() -> None:
    query = fyke.parse("SELECT * PATTERN ab FROM [RANGE 2 SEC] S: a,b")
    assert isinstance(query, fyke.Query)
    assert query.strategy is Strategy.STRICT


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM [RANGE 1 SEC] `my stream`; T AS `a b` WHERE `my stream`.x = `a b`.`select` AND T = 1",
        'L: SELECT "text", price, loc.lat AS "from" FROM [RANGE 1 SEC] S WHERE [x, y] AND price IN (1, 2)',
        "SELECT SUM(x) + 1 AS one FROM [RANGE 90 min SLIDE 30] : S WHERE (x > 1 OR y LIKE 'a%') AND x != 3",
    ],
)
def test_canonical_text_of_a_relational_query_comes_back(text: str) -> None:
    query = fyke.parse(text)
    assert isinstance(query, fyke.RelationalQuery)
    assert fyke.parse(str(query)) == query
