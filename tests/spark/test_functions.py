"""Spark SQL functions in conditions: any of one event on a DataFrame, refused on a table; none runs code."""

from __future__ import annotations

import datetime
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import IntegerType

import fyke
from fyke.errors import FykeError, TypeClashError, UnknownFunctionError, UnknownNameError
from tests.spark.tables import assert_same, frame_of, on_table, settings

pytestmark = pytest.mark.spark

OPTIONS: dict[str, Any] = {"time": "t", "type": "kind"}
START = datetime.datetime(2026, 1, 31, 23, tzinfo=datetime.timezone.utc)
# The strings of B are no numbers, and its lists and divisors are empty, null or zero.
EVENTS = pa.table(
    {
        "kind": ["A", "B"] * 6,
        "t": pa.array([START + datetime.timedelta(minutes=10 * number) for number in range(12)]),
        "s": ["4", "nought", "17", "", "05", "x", "-3", "y", "44", "z", "8", "w"],
        "other": ["5", "naught", "71", "", "5", "x", "30", "yy", "44", "z", "8", "w"],
        "tags": [["x", "y"], [], ["y"], None] * 3,
        "n": pa.array([3, 0, 5, 0, 0, 1, 0, 2, 7, 0, 1, 0], pa.int32()),
        "big": pa.array([2**62, 0, 1, 2**63 - 1, -(2**63), 5] * 2, pa.int64()),
    }
)

# Name: (condition in Spark SQL, which rows of type A meet it)
ONE_EVENT = {
    "regexp_like": ("regexp_like(a.s, '^[0-9]{2}$')", ["17", "05", "44"]),
    "date_format": ("date_format(a.t, 'dd HH') = '01 00'", ["-3", "44", "8"]),
    "levenshtein": ("levenshtein(a.s, a.other) <= 1", ["4", "05", "44", "8"]),
    "array_contains": ("array_contains(a.tags, 'x')", ["4", "05", "44"]),
    "int": ("int(a.s) > 5", ["17", "44", "8"]),
    "sha2": ("length(sha2(a.s, 256)) = 64 AND a.n > 4", ["17", "44"]),
    "try_to_number": ("try_to_number(a.s, '99') BETWEEN 4 AND 8", ["4", "05", "8"]),
}


@pytest.mark.parametrize("function", ONE_EVENT)
def test_any_function_of_one_event(spark: SparkSession, function: str) -> None:
    condition, rows = ONE_EVENT[function]
    query = f"PATTERN A a WHERE {{ {condition} }}"
    found = fyke.match(frame_of(spark, EVENTS), query, **OPTIONS).toArrow()
    assert sorted(row["s"] for row in found["a"].to_pylist()) == sorted(rows)
    with pytest.raises(UnknownFunctionError, match=f"unknown function '{function}'"):
        on_table(EVENTS, query, **OPTIONS)


def test_the_value_of_such_a_function_is_compared_across_events(spark: SparkSession) -> None:
    numbered = EVENTS.append_column(
        "int", pa.array([4, None, 17, None, 5, None, -3, None, 44, None, 8, None])
    )
    query = (
        "PATTERN SEQ(A a, A b) WHERE {{ {a} < {b} AND b.n > 0 }} WITHIN 1 hour RETURN a.s AS low, b.s AS high"
    )
    found = fyke.match(
        frame_of(spark, numbered), query.format(a="int(a.s)", b="int(b.s) + 1"), **OPTIONS
    ).toArrow()
    expected = on_table(numbered, query.format(a="a.int", b="b.int + 1"), **OPTIONS)
    assert expected.num_rows > 0
    assert (
        found.select(["low", "high"]).sort_by("low").equals(expected.select(["low", "high"]).sort_by("low"))
    )


@pytest.mark.parametrize(
    "condition",
    [
        "10 / a.n > 1 AND b.n >= 0",
        "10 % b.n = 0",
        "a.big + a.big IS NULL AND b.big * 2 IS NULL",
        "a.big - 1 < b.big AND -a.big IS NOT NULL",
        "mod(a.big, b.n) IS NULL",
        "a.n * 2000000000 > 5000000000",
        "abs(a.big) IS NULL OR round(b.big, -2) IS NULL",
    ],
)
@pytest.mark.parametrize("ansi", ["true", "false"])
def test_division_by_zero_and_overflow_give_null(spark: SparkSession, condition: str, ansi: str) -> None:
    query = f"PATTERN SEQ(A a, B b) WHERE skip_till_any_match {{ {condition} }}"
    expected = on_table(EVENTS, query, **OPTIONS)
    assert expected.num_rows > 0
    with settings(spark, {"spark.sql.ansi.enabled": ansi}):
        assert_same(fyke.match(frame_of(spark, EVENTS), query, **OPTIONS).toArrow(), expected)


@pytest.mark.parametrize(
    "over", ["sum(a.big)", "sum(a.big) + 1", "avg(a.big)", "sum(a.n) / sum(b.n)", "max(a.n) % 0"]
)
def test_aggregates_over_matches_that_overflow(spark: SparkSession, over: str) -> None:
    query = f"PATTERN SEQ(A a, B b) WHERE {{ a.big > 0 }} RETURN {over} AS value"
    found = fyke.match(frame_of(spark, EVENTS), query, **OPTIONS).toArrow()
    assert found.num_rows == 1
    if "big" not in over:
        assert_same(found, on_table(EVENTS, query, **OPTIONS))
    elif "sum" in over:
        assert found["value"].to_pylist() == [None]


def test_functions_of_python_numbers(spark: SparkSession) -> None:
    where = "WHERE skip_till_any_match { far(a.n, b.n) > 4 AND half(a.n) < 3 }"
    query = f"PATTERN SEQ(A a, B b) {where} RETURN half(a.n) AS h"
    options = {**OPTIONS, "functions": {"far": lambda x, y: abs(x - y), "half": lambda x: x / 2}}
    expected = on_table(EVENTS, query, **options)
    assert expected.num_rows > 0
    assert_same(fyke.match(frame_of(spark, EVENTS), query, **options).toArrow(), expected)


def test_functions_registered_in_spark(spark: SparkSession) -> None:
    spark.udf.register("fyke_test_reversed", lambda text: text[::-1])
    spark.udf.register("fyke_test_length", len, IntegerType())
    query = "PATTERN A a WHERE { fyke_test_reversed(a.s) = '71' AND fyke_test_length(a.s) = 2 }"
    found = fyke.match(frame_of(spark, EVENTS), query, **OPTIONS).toArrow()
    assert [row["s"] for row in found["a"].to_pylist()] == ["17"]


@pytest.mark.parametrize(
    "call",
    [
        "reflect('java.lang.System', 'getenv', 'HOME')",
        "java_method('java.lang.Runtime', 'getRuntime', a.s)",
        "try_reflect('java.lang.System', 'exit', a.n)",
        "rand(a.n)",
        "no_such_function(a.s)",
        '"length(s)) OR (length"(a.s)',
        '"x`) OR reflect(`y"(a.s)',
        '"${env:HOME}"(a.s)',
    ],
)
def test_functions_that_are_out_of_reach(spark: SparkSession, call: str) -> None:
    with pytest.raises(UnknownNameError, match="unknown function"):
        fyke.match(frame_of(spark, EVENTS), f"PATTERN A a WHERE {{ {call} = '1' }}", **OPTIONS)


@pytest.mark.parametrize(
    "call, says",
    [
        ("explode(a.tags)", "UNSUPPORTED_GENERATOR"),
        ("collect_list(a.s)", "INVALID_WHERE_CONDITION"),
        ("row_number(a.s)", "WRONG_NUM_ARGS"),
        ("date_format(a.s)", "WRONG_NUM_ARGS"),
        ("array_contains(a.s, 'x')", "DATATYPE_MISMATCH"),
    ],
)
def test_functions_that_spark_refuses(spark: SparkSession, call: str, says: str) -> None:
    with pytest.raises(TypeClashError) as caught:
        fyke.match(frame_of(spark, EVENTS), f"PATTERN A a WHERE {{ {call} = 'x' }}", **OPTIONS)
    assert caught.value.column == len("PATTERN A a WHERE { ") + 1
    assert call in str(caught.value)
    assert says in str(caught.value)


def test_a_literal_reads_no_environment(spark: SparkSession) -> None:
    table = pa.table({"t": [1, 2], "s": ["${env:HOME}", "${spark.app.name}"]})
    query = "PATTERN E a WHERE { a.s IN ('${env:HOME}', '${spark.app.name}') } RETURN a.s AS s"
    found = fyke.match(frame_of(spark, table), query, time="t").toArrow()
    assert sorted(found["s"].to_pylist()) == ["${env:HOME}", "${spark.app.name}"]


def test_a_spark_function_in_return(spark: SparkSession) -> None:
    for item, expected in (
        ("levenshtein(a.s, a.other) + b.n", [1, 2, 2, 4, 0, 0]),
        ("upper(sha(b.s))", None),
    ):
        query = f"PATTERN SEQ(A a, B b) WITHIN 10 minutes RETURN a.t AS t, {item} AS value"
        found = fyke.match(frame_of(spark, EVENTS), query, **OPTIONS).toArrow().sort_by("t")
        assert found.num_rows == 6
        assert expected is None or found["value"].to_pylist() == expected
        with pytest.raises(UnknownFunctionError, match="unknown function"):
            on_table(EVENTS, query, **OPTIONS)


def test_a_spark_function_of_several_events_in_return_is_refused(spark: SparkSession) -> None:
    query = "PATTERN SEQ(A a, B b) RETURN levenshtein(a.s, b.s) AS far"
    with pytest.raises(FykeError, match="levenshtein"):
        fyke.match(frame_of(spark, EVENTS), query, **OPTIONS)


@pytest.mark.parametrize(
    "query, expected",
    [
        (
            "PATTERN SEQ(A a, B b) WHERE { a.n = 7 } RETURN reverse(a.s) AS x, reverse(b.s) AS y",
            [("44", "z")],
        ),
        (
            "PATTERN SEQ(B a, A b) WHERE { a.n = 2 AND b.n = 7 } RETURN reverse(a.s) AS x, reverse(b.s) AS y",
            [("y", "44")],
        ),
        (
            "PATTERN OR(A a, B a) WHERE { a.big = 5 OR a.big = 1 } RETURN reverse(a.s) AS x, 'y' AS y",
            [("44", "y"), ("71", "y"), ("w", "y"), ("x", "y")],
        ),
        (
            "PATTERN SEQ(A+ a[], B b) WHERE greedy_skip_till_next_match { a[1].n = 7 } "
            "RETURN reverse(a[1].s) AS x, reverse(b.s) AS y",
            [("44", "z")],
        ),
    ],
)
def test_one_function_of_events_of_several_types_is_returned(
    spark: SparkSession, query: str, expected: list[tuple[str, str]]
) -> None:
    found = fyke.match(frame_of(spark, EVENTS), query, **OPTIONS).toArrow()
    assert sorted({(row["x"], row["y"]) for row in found.to_pylist()}) == expected


WIDE = """
    SELECT 'A' AS kind, 1 AS t, 2 AS n, 3L AS m, array(5, 6) AS arr, 'hello,world' AS s,
           DATE '2024-01-05' AS d, map('k', 1) AS mp, struct(1 AS p) AS st
"""


@pytest.mark.parametrize(
    "call, value",
    [
        ("date_add(a.d, 1)", datetime.date(2024, 1, 6)),
        ("date_add(a.d, -1)", datetime.date(2024, 1, 4)),
        ("date_add(a.d, a.n)", datetime.date(2024, 1, 7)),
        ("date_add(a.d, CAST(a.m + 1 AS INT))", datetime.date(2024, 1, 9)),
        ("element_at(a.arr, 1)", 5),
        ("element_at(a.arr, -1)", 6),
        ("try_element_at(a.mp, 'k')", 1),
        ("split_part(a.s, ',', 2)", "world"),
        ("lpad(left(a.s, 2), 4, '*')", "**he"),
        ("regexp_extract(a.s, '(l+)', 1)", "ll"),
        ("shiftleft(a.n, 3)", 16),
    ],
)
def test_functions_that_want_narrow_numbers(spark: SparkSession, call: str, value: Any) -> None:
    found = fyke.match(spark.sql(WIDE), f"PATTERN A a RETURN {call} AS x", time="t", type="kind")
    assert [row["x"] for row in found.collect()] == [value]


@pytest.mark.parametrize(
    "query, text",
    [
        ("A a RETURN date_add(a.d, a.n + 1) AS x", r"write CAST\(\.\.\. AS INT\)"),
        ("A a RETURN to_date('2024-01-01') AS x", "mentions no event"),
        ("AND(A a, A b) WHERE { a.n + b.n > factorial(3) }", "mentions no event"),
        ("A a RETURN explode(a.arr) AS x", "as a function of one event"),
        ("A a RETURN make_interval(a.n) AS x", "not supported in conversion to Arrow"),
        ("A a RETURN rand() AS x", "unknown function 'rand'"),
    ],
)
def test_functions_that_are_not_of_one_event(spark: SparkSession, query: str, text: str) -> None:
    with pytest.raises(fyke.FykeError, match=text):
        fyke.match(spark.sql(WIDE), f"PATTERN {query}", time="t", type="kind")


def test_a_field_that_is_never_null_of_an_event_that_is_not_bound(spark: SparkSession) -> None:
    frame = spark.sql(WIDE)
    assert not frame.schema["st"].dataType["p"].nullable
    (row,) = fyke.match(
        frame, "PATTERN AND(A a, B? b) RETURN a.st AS x, b.st AS y, b", time="t", type="kind"
    ).collect()
    assert (row["x"]["p"], row["y"], row["b"]) == (1, None, None)
