"""RANGE without a unit, for times that are plain numbers, and the semicolon that ends a query."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import fyke
from fyke import reference
from fyke.errors import QuerySyntaxError, WindowError, WindowUnitError
from tests.spark.tables import assert_same, frame_of

OPTIONS: dict[str, Any] = {"time": "t", "type": "kind"}
EVENTS = pa.table({"kind": ["A", "B", "A", "B"], "t": [1, 2, 10, 14], "x": [1, 2, 3, 4]})


@pytest.mark.spark
@pytest.mark.parametrize(
    "text, seconds",
    [
        ("SELECT A.x, B.x AS y FROM [RANGE 4] A; B", "[RANGE 4 SEC]"),
        ("SELECT SUM(x) AS total FROM [RANGE 10] A", "[RANGE 10 SEC]"),
        ("SELECT SUM(x) AS total FROM [RANGE 10 SLIDE 5] A", "[RANGE 10 SEC SLIDE 5 SEC]"),
        (
            "SELECT a.x, b.x AS y PATTERN ab FROM [RANGE 4] A: a; B: b WHERE SKIP_TIL_ANY(a, b)",
            "[RANGE 4 SEC]",
        ),
    ],
)
def test_as_with_the_unit_given_apart(spark: SparkSession, text: str, seconds: str) -> None:
    found = fyke.match(EVENTS, text, **OPTIONS)
    named = text.replace(text[text.index("[") : text.index("]") + 1], seconds)
    expected = fyke.match(EVENTS, named, time_unit="s", **OPTIONS)
    assert found.num_rows
    drop = [name for name in ("match_id",) if name in found.column_names]
    assert_same(found.drop_columns(drop), expected.drop_columns(drop))
    assert_same(reference.match(EVENTS, text, **OPTIONS), found)
    assert_same(fyke.match(frame_of(spark, EVENTS), text, **OPTIONS).toArrow(), found)
    query = fyke.parse(text)
    assert fyke.parse(str(query)) == query


@pytest.mark.parametrize(
    "text, options, error, message",
    [
        (
            "SELECT x FROM [RANGE 4] A",
            {"time_unit": "s"},
            WindowUnitError,
            "RANGE 4 has no unit, but the time",
        ),
        ("SELECT x FROM [RANGE 4 SEC] A", {}, WindowUnitError, "RANGE is a length of time"),
        ("SELECT x FROM [RANGE 1.5] A", {}, WindowUnitError, "RANGE 1.5 has no unit"),
        ("SELECT SUM(x) FROM [RANGE 10 SLIDE 5 SEC] A", {}, WindowUnitError, "are not of one kind"),
        ("SELECT SUM(x) FROM [RANGE 10 SLIDE 20] A", {}, WindowError, "SLIDE 20 is longer than RANGE 10"),
        ("SELECT x FROM [RANGE 0] A", {}, WindowError, "must be longer than zero"),
    ],
)
def test_refused_by_name(text: str, options: dict[str, Any], error: type[WindowError], message: str) -> None:
    with pytest.raises(error, match=message):
        fyke.match(EVENTS, text, **OPTIONS, **options)


@pytest.mark.parametrize("ending", [";", " ; ", ";\n", "; -- the end", ";;", "/* c */;"])
@pytest.mark.parametrize(
    "text", ["PATTERN A a", "SELECT x FROM [RANGE 4] A", "PATTERN A a WHERE { a.s = ';' }"]
)
def test_a_query_may_end_with_a_semicolon(text: str, ending: str) -> None:
    assert fyke.parse(text + ending) == fyke.parse(text)


@pytest.mark.parametrize(
    "text", [";", "PATTERN A a; PATTERN B b", "; PATTERN A a", "PATTERN A; a", "PATTERN A a ';"]
)
def test_elsewhere_it_is_a_slip(text: str) -> None:
    with pytest.raises(QuerySyntaxError):
        fyke.parse(text)
