"""Expressions over one event with odd arguments: one answer on a table, on Spark and in the reference."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import fyke
from fyke import reference
from fyke.errors import QuerySyntaxError, TypeClashError
from tests.spark.tables import assert_same, frame_of

OPTIONS: dict[str, Any] = {"time": "t", "type": "kind"}
START = datetime.datetime(2026, 1, 31, tzinfo=datetime.timezone.utc)
EVENTS = pa.table(
    {
        "kind": ["A", "A", "A", "B"],
        "t": [1, 2, 3, 4],
        "s": ["straße", "abcdef", None, "İ"],
        "part": ["stra", "x", "y", None],
        "x": pa.array([2, -3, None, 2**40]),
        "small": pa.array([-(2**31), 5, None, 7], pa.int32()),
        "v": [float("inf"), 1e300, None, 1.005],
        "d": pa.array([Decimal("1.00"), Decimal("9.99"), None, Decimal("-9.95")], pa.decimal128(3, 2)),
        "wide": pa.array([Decimal("9" * 38), Decimal(1), None, Decimal(-2)], pa.decimal128(38, 0)),
        "ts": pa.array([START + datetime.timedelta(minutes=k * k) for k in range(4)]),
    }
)
# Expression, and its values for the four events.
VALUES: dict[str, list[Any]] = {
    "a.d % 0.10": ["0.00", "0.09", None, "-0.05"],
    "ceil(a.d)": [1, 10, None, -9],
    "round(a.d, 1)": ["1.0", "10.0", None, "-10.0"],
    "round(1.005, 2)": [1.01] * 4,
    "round(a.v, 2)": [float("inf"), 1e300, None, 1.01],
    "substring(a.s, -3, 5)": ["aße", "def", None, "İ"],
    "substring(a.s, 1, -1)": ["", "", None, ""],
    "substring(a.s, a.x)": ["traße", "def", None, ""],
    "substring(a.s, NULL)": [None] * 4,
    "substring(a.s, 2, 99999999999)": ["traße", "bcdef", None, ""],
    "upper(a.s)": ["STRASSE", "ABCDEF", None, "İ"],
    "lower(upper(a.s))": ["strasse", "abcdef", None, "i̇"],
    "coalesce(a.x, NULL)": [2, -3, None, 2**40],
    "greatest(NULL, a.x)": [2, -3, None, 2**40],
    "greatest(NULL, NULL)": [None] * 4,
    "greatest(a.ts, TIMESTAMP '2026-01-31 00:02:00')": [
        START + datetime.timedelta(minutes=minutes) for minutes in (2, 2, 4, 9)
    ],
    "least(a.s, a.part)": ["stra", "abcdef", "y", "İ"],
    "startswith(a.s, a.part)": [True, False, None, None],
    "abs(a.small)": [2**31, 5, None, 7],
    "-a.small": [2**31, -5, None, -7],
    "a.wide + 1": [None, "2", None, "-1"],
    "a.wide * a.wide": [None, "1", None, "4"],
    "-a.wide": ["-" + "9" * 38, "-1", None, "2"],
    "a.wide / 3": [None, "0.333333", None, "-0.666667"],
    "9223372036854775807 + 1": [None] * 4,
    "a.x * 9223372036854775807": [None, None, None, None],
    "NULL - NULL": [None] * 4,
    "floor(coalesce(a.v, 1))": [2**63 - 1, 2**63 - 1, 1, 1],
    "a.d / 3": ["0.333333", "3.330000", None, "-3.316667"],
    "a.d * 1.10": ["1.100", "10.989", None, "-10.945"],
    "abs(abs(abs(a.wide)))": ["9" * 38, "1", None, "2"],
    "CAST(a.v AS INT)": [None, None, None, 1],
    "CAST(a.x AS INT)": [2, -3, None, None],
    "CAST(a.small AS TINYINT)": [None, 5, None, 7],
    "CAST(a.d AS BIGINT)": [1, 9, None, -9],
    "CAST(a.d AS DECIMAL(3, 1))": ["1.0", "10.0", None, "-10.0"],
    "CAST(a.d AS DECIMAL(2, 1))": ["1.0", None, None, None],
    "CAST(a.wide AS DOUBLE)": [1e38, 1.0, None, -2.0],
    "concat('x', CAST(a.x AS STRING))": ["x2", "x-3", None, "x1099511627776"],
    "concat('x', CAST(a.d AS STRING))": ["x1.00", "x9.99", None, "x-9.95"],
    "CAST(a.x > 0 AS STRING)": ["true", "false", None, "true"],
    "CAST(a.x AS BOOLEAN)": [True, True, None, True],
    "CAST('12' AS INT) + a.small": [12 - 2**31, 17, None, 19],
}


def _plain(value: Any) -> Any:
    return format(value, "f") if isinstance(value, Decimal) else value


def query() -> str:
    items = ", ".join(f"{text} AS x{number}" for number, text in enumerate(VALUES))
    return f"PATTERN OR(A a, B a) RETURN a.t AS t, {items}"


def test_values_on_a_table() -> None:
    found = fyke.match(EVENTS, query(), **OPTIONS).sort_by("t")
    for number, (text, expected) in enumerate(VALUES.items()):
        assert [_plain(value) for value in found[f"x{number}"].to_pylist()] == expected, text
    assert found.equals(reference.match(EVENTS, query(), **OPTIONS).sort_by("t").select(found.column_names))


@pytest.mark.spark
def test_values_on_spark(spark: SparkSession) -> None:
    found = fyke.match(frame_of(spark, EVENTS), query(), **OPTIONS).toArrow()
    assert_same(found, fyke.match(EVENTS, query(), **OPTIONS))


def conditions() -> list[tuple[str, list[int]]]:
    """Return a condition for each expression and event, and the events that meet it."""
    made = []
    for text, values in VALUES.items():
        for value in values:
            if isinstance(value, (str, int, bool)) and not isinstance(value, datetime.datetime):
                number = isinstance(value, str) and value.replace(".", "").lstrip("-").isdigit()
                literal = value if number else f"'{value}'" if isinstance(value, str) else value
                made.append((f"{text} = {literal}", [k + 1 for k, v in enumerate(values) if v == value]))
    return made


@pytest.mark.spark
def test_conditions_on_spark_and_on_a_table(spark: SparkSession) -> None:
    """One query holds many conditions, each of an alternative of its own."""
    asked = conditions()
    frame = frame_of(spark, EVENTS)
    for start in range(0, len(asked), 60):
        some = asked[start : start + 60]
        pattern = ", ".join(f"ANY v{number}" for number in range(len(some)))
        where = " AND ".join(
            condition.replace("a.", f"v{number}.") for number, (condition, _) in enumerate(some)
        )
        items = ", ".join(f"v{number}.t AS t{number}" for number in range(len(some)))
        text = f"PATTERN OR({pattern}) WHERE {{ {where} }} RETURN {items}"
        found = [
            fyke.match(EVENTS, text, **OPTIONS).to_pydict(),
            fyke.match(frame, text, **OPTIONS).toArrow().to_pydict(),
        ]
        for number, (condition, expected) in enumerate(some):
            for each in found:
                assert sorted(t for t in each[f"t{number}"] if t is not None) == expected, condition


def test_unsigned_columns() -> None:
    table = pa.table({"t": [1, 2], "u": pa.array([5, 2**32 - 1], pa.uint32())})
    text = "PATTERN ANY a WHERE { -a.u < 0 } RETURN -a.u AS x, a.u - 6 AS y"
    found = fyke.match(table, text, time="t").sort_by("y")
    assert found["x"].to_pylist() == [-5, 1 - 2**32]
    assert found["y"].to_pylist() == [-1, 2**32 - 7]


def test_a_whole_number_beyond_64_bits_is_refused_by_name() -> None:
    table = pa.table({"t": [1], "u": pa.array([2**64 - 1], pa.uint64())})
    with pytest.raises(fyke.errors.InputError, match="uint64 and holds 18446744073709551615"):
        fyke.match(table, "PATTERN ANY a WHERE { a.u > 5 }", time="t")


def test_a_date_beyond_nanoseconds_is_still_later() -> None:
    far = datetime.datetime(9000, 1, 1)
    table = pa.table(
        {
            "t": [1],
            "near": pa.array([datetime.datetime(2026, 1, 1)], pa.timestamp("ns")),
            "far": pa.array([far], pa.timestamp("us")),
        }
    )
    found = fyke.match(
        table,
        "PATTERN ANY a WHERE { a.far > a.near AND a.near != a.far } RETURN a.far - a.near AS gap",
        time="t",
    )
    assert found["gap"].to_pylist() == [None]


REFUSED = [
    ("substring(a.s, 1.5)", "substring takes an integer, but 1.5 is float"),
    ("substring(a.s, a.v)", "substring takes an integer, but a.v is float"),
    ("round(a.v, a.x)", "round takes a number of digits from -37 to 300 that is written out, found a.x"),
    ("round(a.v, 1000)", "found 1000"),
    ("CAST(a.v AS STRING)", "but a.v is float"),
    ("CAST(a.s AS TIMESTAMP)", "but a.s is string"),
]


def refusal(events: Any, expression: str) -> str:
    with pytest.raises(TypeClashError) as caught:
        fyke.match(events, f"PATTERN A a RETURN {expression} AS x", **OPTIONS)
    return str(caught.value)


@pytest.mark.parametrize("expression, message", REFUSED)
def test_refused_by_name(expression: str, message: str) -> None:
    assert message in refusal(EVENTS, expression)


@pytest.mark.spark
def test_refused_on_spark_as_on_a_table(spark: SparkSession) -> None:
    frame = frame_of(spark, EVENTS)
    for expression, _ in REFUSED:
        assert refusal(frame, expression) == refusal(EVENTS, expression)


def test_half_a_character_is_refused() -> None:
    with pytest.raises(QuerySyntaxError, match=r"half a character in it, '\\ud800' \(line 1, column 28\)"):
        fyke.match(EVENTS, "PATTERN A a WHERE { a.s = '\ud800' }", **OPTIONS)
    with pytest.raises(QuerySyntaxError, match="half a character"):
        fyke.pattern.variable("a").s == "\udfff"  # noqa: B015


@pytest.mark.spark
def test_aggregates_over_matches(spark: SparkSession) -> None:
    items = (
        "max(b.ts - a.ts) AS longest, min(b.ts - a.ts) AS shortest, sum(a.d) / count(*) AS mean, "
        "floor(max(a.v)) AS top, sum(a.d) * 0.1 AS tenth, greatest(max(a.ts), min(b.ts)) AS late"
    )
    text = f"PATTERN SEQ(A a, B b) WHERE skip_till_any_match {{ a.t > 0 }} RETURN {items}"
    found = fyke.match(EVENTS, text, **OPTIONS)
    minutes = datetime.timedelta(minutes=1)
    assert found.to_pylist() == [
        {
            "longest": 9 * minutes,
            "shortest": 5 * minutes,
            "mean": Decimal("3.663333"),
            "top": 2**63 - 1,
            "tenth": Decimal("1.099"),
            "late": START + 9 * minutes,
        }
    ]
    assert found.equals(reference.match(EVENTS, text, **OPTIONS))
    assert_same(fyke.match(frame_of(spark, EVENTS), text, **OPTIONS).toArrow(), found)


@pytest.mark.spark
def test_what_would_take_too_much_sql_is_refused(spark: SparkSession) -> None:
    nested = "a.v"
    for _ in range(40):
        nested = f"sqrt(floor({nested}))"
    with pytest.raises(fyke.errors.QueryTooLargeError, match="two million characters of Spark SQL"):
        fyke.match(frame_of(spark, EVENTS), f"PATTERN A a WHERE {{ {nested} > 1 }}", **OPTIONS)
