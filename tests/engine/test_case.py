"""CASE: a choice among values, in conditions of one event and of several, and in RETURN."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import fyke
from fyke import pattern as p
from fyke import reference
from fyke.errors import QueryTooLargeError, TypeClashError
from tests.spark.tables import assert_same, frame_of

OPTIONS: dict[str, Any] = {"time": "t", "type": "kind"}
EVENTS = pa.table(
    {"kind": ["A", "B", "A", "B"], "t": [1, 2, 3, 4], "x": [1, 2, None, 4], "f": [0.5, 2.5, 1.0, None]}
)
ITEMS = """
    CASE WHEN a.x > 1 THEN 'many' WHEN a.x = 1 THEN 'one' ELSE 'none' END AS size,
    CASE a.x WHEN 1 THEN 10 WHEN 2 THEN 2.5 END AS value,
    case when a.x is null then -1 else case a.kind when 'A' then 1 else 2 end end AS nested
"""


def test_values() -> None:
    query = f"PATTERN ANY a RETURN a.t AS t, {ITEMS}"
    found = fyke.match(EVENTS, query, **OPTIONS).sort_by("t")
    assert found["size"].to_pylist() == ["one", "many", "none", "many"]
    assert found["value"].to_pylist() == [10.0, 2.5, None, None]
    assert found["nested"].to_pylist() == [1, 2, -1, 2]
    assert found.equals(reference.match(EVENTS, query, **OPTIONS).sort_by("t"))


@pytest.mark.spark
def test_conditions_and_spark(spark: SparkSession) -> None:
    query = f"""
        PATTERN SEQ(A a, B b)
        WHERE skip_till_any_match {{
            CASE WHEN a.x IS NULL THEN b.x ELSE a.x + b.x END > 2
            AND CASE b.kind WHEN 'A' THEN FALSE ELSE b.t > 1 END
        }}
        RETURN a.t AS t, b.t AS u, {ITEMS}
    """
    found = fyke.match(EVENTS, query, **OPTIONS)
    assert sorted(zip(found["t"].to_pylist(), found["u"].to_pylist(), strict=True)) == [
        (1, 2),
        (1, 4),
        (3, 4),
    ]
    assert_same(found, reference.match(EVENTS, query, **OPTIONS))
    assert_same(fyke.match(frame_of(spark, EVENTS), query, **OPTIONS).toArrow(), found)


def test_one_meaning_has_one_text() -> None:
    a = p.variable("a")
    built = p.query(p.event("A", "a"), returns=[p.case((a.x > 1, "many"), otherwise="few").alias("size")])
    text = "PATTERN A a RETURN CASE WHEN a.x > 1 THEN 'many' ELSE 'few' END AS size"
    assert fyke.parse(text) == built == fyke.parse(str(built))
    assert str(built).endswith("RETURN if(a.x > 1, 'many', 'few') AS size")


def test_a_variable_may_be_called_case() -> None:
    for text in (
        "RETURN case",
        "RETURN case AS x",
        "RETURN case.x, a",
        "WHERE { case.x > 1 AND a.x > case.x }",
    ):
        query = fyke.parse(f"PATTERN SEQ(A case, B a) {text}")
        assert fyke.parse(str(query)) == query
    fyke.parse("SELECT case FROM [RANGE 10 SEC] S")


def test_refused_by_name() -> None:
    with pytest.raises(TypeClashError, match="if needs one type"):
        fyke.match(EVENTS, "PATTERN A a RETURN CASE WHEN a.x > 1 THEN 'a' ELSE 1 END AS x", **OPTIONS)
    nested = "a.x"
    for _ in range(30):
        nested = f"CASE {nested} WHEN 1 THEN 1 WHEN 2 THEN 2 END"
    with pytest.raises(QueryTooLargeError, match="CASE compares a long expression with 2 values"):
        fyke.parse(f"PATTERN A a WHERE {{ {nested} = 1 }}")
