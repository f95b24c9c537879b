"""Values in conditions: SQL's nulls, Spark's NaN, exact integers and decimals, times, strings."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import fyke
from fyke import reference
from tests.engine.pairs import holds

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
NAN, INF = math.nan, math.inf
COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")


def truths(left: Any, right: Any, kind: pa.DataType, other: pa.DataType | None = None) -> str:
    """Return the comparison operators that hold between two values."""
    return " ".join(op for op in COMPARISONS if holds(f"a.x {op} b.y", left, right, kind, other))


EQUAL, LESS, GREATER, UNKNOWN = "= <= >=", "!= < <=", "!= > >=", ""

FLOATS = pa.float64()


@pytest.mark.parametrize(
    "left, right, expected",
    [
        (1.0, 2.0, LESS),
        (NAN, NAN, EQUAL),
        (NAN, INF, GREATER),
        (INF, NAN, LESS),
        (-0.0, 0.0, EQUAL),
        (0.0, -0.0, EQUAL),
        (-INF, INF, LESS),
        (INF, INF, EQUAL),
        (5e-324, 0.0, GREATER),
        (None, 1.0, UNKNOWN),
        (NAN, None, UNKNOWN),
        (None, None, UNKNOWN),
    ],
)
def test_floats(left: float | None, right: float | None, expected: str) -> None:
    assert truths(left, right, FLOATS) == expected


@pytest.mark.parametrize(
    "left, right, expected",
    [
        (INT64_MIN, INT64_MAX, LESS),
        (INT64_MAX, INT64_MAX - 1, GREATER),
        (INT64_MIN, INT64_MIN, EQUAL),
        (2**53, 2**53 + 1, LESS),
        (0, None, UNKNOWN),
    ],
)
def test_integers(left: int | None, right: int | None, expected: str) -> None:
    assert truths(left, right, pa.int64()) == expected


def test_an_integer_meets_a_float_as_a_float() -> None:
    assert truths(2**53 + 1, float(2**53), pa.int64(), FLOATS) == EQUAL
    assert truths(1, NAN, pa.int64(), FLOATS) == LESS


@pytest.mark.parametrize("kind", [pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint32()])
def test_narrow_integers_do_not_wrap(kind: pa.DataType) -> None:
    assert holds("a.x + b.y = 200", 100, 100, kind)
    assert holds("a.x * b.y = 10000", 100, 100, kind)
    assert holds("a.x - b.y - a.x = -100", 100, 100, kind)


@pytest.mark.parametrize(
    "expression, left, right",
    [
        ("a.x + b.y", INT64_MAX, 1),
        ("a.x + b.y", INT64_MIN, -1),
        ("a.x - b.y", INT64_MIN, 1),
        ("a.x - b.y", INT64_MAX, -1),
        ("a.x * b.y", INT64_MAX, 2),
        ("a.x * b.y", INT64_MIN, -1),
        ("a.x * b.y", -1, INT64_MIN),
        ("a.x * b.y", 2**32, 2**31),
        ("-(a.x + b.y)", INT64_MIN, 0),
        ("abs(a.x + b.y)", INT64_MIN, 0),
        ("a.x % b.y", 1, 0),
        ("a.x / b.y", 1, 0),
        ("mod(a.x, b.y)", 1, 0),
        ("a.x + b.y", None, 1),
        ("a.x - a.x + b.y", INT64_MAX, None),
    ],
)
def test_what_has_no_value_is_null(expression: str, left: int | None, right: int | None) -> None:
    assert holds(f"({expression}) IS NULL", left, right, pa.int64())


@pytest.mark.parametrize(
    "expression, left, right, value",
    [
        ("a.x + b.y", INT64_MAX, INT64_MIN, "-1"),
        ("a.x * b.y", 2**31, 2**31, str(2**62)),
        ("a.x * b.y", -(2**32), 2**31, str(INT64_MIN)),
        ("a.x % b.y", INT64_MIN, -1, "0"),
        ("a.x % b.y", 7, -3, "1"),
        ("a.x % b.y", -7, 3, "-1"),
        ("a.x % b.y", -7, -3, "-1"),
        ("a.x / b.y", 7, 2, "3.5"),
        ("a.x / b.y", INT64_MIN, -1, "9223372036854775808.0"),
        ("abs(a.x - b.y)", 3, 5, "2"),
        ("floor(a.x / b.y)", -7, 2, "-4"),
        ("ceil(a.x / b.y)", -7, 2, "-3"),
        ("sign(a.x - b.y)", 3, 5, "-1"),
        ("pow(a.x, b.y)", 2, 10, "1024"),
        ("sqrt(a.x * b.y)", 4, 9, "6"),
        ("least(a.x, b.y)", 4, 9, "4"),
        ("greatest(a.x, b.y)", 4, None, "4"),
        ("coalesce(a.x, b.y)", None, 9, "9"),
        ("coalesce(nullif(a.x, b.y), -5)", 9, 9, "-5"),
        ("nullif(a.x, b.y)", 9, 8, "9"),
        ("if(a.x < b.y, a.x, b.y)", 9, 8, "8"),
        ("if(a.x < b.y, a.x, 0.5)", None, 8, "0.5"),
    ],
)
def test_integer_arithmetic(expression: str, left: int | None, right: int | None, value: str) -> None:
    assert holds(f"{expression} = {value}", left, right, pa.int64())
    assert not holds(f"{expression} != {value}", left, right, pa.int64())


@pytest.mark.parametrize(
    "expression, left, right, value",
    [
        ("a.x + b.y", NAN, 1.0, NAN),
        ("a.x - b.y", INF, INF, NAN),
        ("a.x % b.y", 7.5, -2.0, 1.5),
        ("a.x % b.y", -7.5, 2.0, -1.5),
        ("a.x % b.y", INF, 2.0, NAN),
        ("a.x % b.y", 2.0, INF, 2.0),
        ("a.x % b.y", 1e300, 7.0, math.fmod(1e300, 7.0)),
        ("a.x / b.y", 1.0, 4.0, 0.25),
        ("a.x / b.y", 1.0, 0.0, None),
        ("a.x / b.y", 1.0, -0.0, None),
        ("a.x % b.y", 1.0, 0.0, None),
        ("sqrt(a.x - b.y)", 1.0, 2.0, NAN),
        ("ln(a.x - b.y)", 1.0, 2.0, None),
        ("ln(a.x - b.y)", NAN, 2.0, NAN),
        ("log10(a.x * b.y)", 10.0, 10.0, 2.0),
        ("log2(a.x * b.y)", 2.0, 4.0, 3.0),
        ("exp(a.x * b.y)", 1000.0, 1000.0, INF),
        ("pow(a.x, b.y)", 0.0, -1.0, INF),
        ("pow(a.x, b.y)", 1.0, NAN, NAN),
        ("pow(a.x, b.y)", -1.0, INF, NAN),
        ("pow(a.x, b.y)", -8.0, 0.5, NAN),
        ("pow(a.x, b.y)", 10.0, 400.0, INF),
        ("least(a.x, b.y)", NAN, 1.0, 1.0),
        ("greatest(a.x, b.y)", NAN, INF, NAN),
        ("abs(a.x + b.y)", -0.5, -1.0, 1.5),
        ("sign(a.x + b.y)", NAN, -1.0, NAN),
        ("floor(a.x + b.y)", NAN, 1.0, 0),
        ("floor(a.x + b.y)", INF, 1.0, INT64_MAX),
        ("ceil(a.x + b.y)", -INF, 1.0, INT64_MIN),
        ("ceil(a.x + b.y)", 1e19, 1.0, INT64_MAX),
        ("floor(a.x + b.y)", -0.5, 0.25, -1),
    ],
)
def test_float_arithmetic(expression: str, left: float, right: float, value: float | None) -> None:
    if value is None:
        assert holds(f"({expression}) IS NULL", left, right, FLOATS)
        return
    written = "b.y - b.y + a.x - a.x" if value != value else repr(value)
    if isinstance(value, float) and not math.isfinite(value):
        # No literal is NaN or infinite: NaN is what exceeds all else, infinity what equals its double.
        above = f"{expression} > 1.7e308"
        assert holds(above, left, right, FLOATS)
        assert holds(f"({expression}) - ({expression}) = ({expression})", left, right, FLOATS) is (
            value != value
        )
        return
    assert holds(f"{expression} = {written}", left, right, FLOATS)


LOGIC = [
    ("a.x AND b.y", "TT"),
    ("a.x OR b.y", "TT TF TN FT NT"),
    ("NOT (a.x AND b.y)", "TF FT FF FN NF"),
    ("NOT (a.x OR b.y)", "FF"),
    ("a.x = b.y", "TT FF"),
    ("a.x != b.y", "TF FT"),
    ("a.x > b.y", "TF"),
    ("(a.x AND b.y) IS NULL", "TN NT NN"),
    ("(a.x OR b.y) IS NULL", "FN NF NN"),
    ("(a.x = b.y) IS NOT NULL", "TT TF FT FF"),
    ("a.x IN (b.y, TRUE)", "TT TF TN FF"),
    ("a.x NOT IN (b.y, TRUE)", "FT"),
    ("a.x BETWEEN b.y AND TRUE", "TT TF FF"),
    ("a.x NOT BETWEEN b.y AND FALSE", "TT TF TN FT"),
]


@pytest.mark.parametrize("condition, expected", LOGIC)
def test_three_valued_logic(condition: str, expected: str) -> None:
    values = {"T": True, "F": False, "N": None}
    found = [
        left + right
        for left in values
        for right in values
        if holds(condition, values[left], values[right], pa.bool_())
    ]
    assert sorted(found) == sorted(expected.split())


@pytest.mark.parametrize(
    "left, right, expected",
    [
        ("a", "b", LESS),
        ("Z", "a", LESS),
        ("é", "z", GREATER),  # by bytes, not as a dictionary has it
        ("\U0001f600", "\uffff", GREATER),  # UTF-16 would say less
        ("", "a", LESS),
        ("a", "a\x00", LESS),
        ("a", "a ", LESS),
        ("ß", "ss", GREATER),
        ("e\u0301", "é", LESS),  # the same letter, other bytes
        ("a", None, UNKNOWN),
    ],
)
def test_strings_are_ordered_by_their_bytes(left: str, right: str | None, expected: str) -> None:
    assert truths(left, right, pa.string()) == expected


def test_a_string_literal_needs_no_event_that_has_it() -> None:
    assert holds("if(a.x < b.y, a.x, b.y) < 'm'", "b", "z", pa.string())
    assert holds("if(a.x < b.y, a.x, b.y) IN ('b', 'm')", "b", "z", pa.string())
    assert not holds("coalesce(a.x, b.y) = 'm'", None, "z", pa.string())


@pytest.mark.parametrize("kind", [pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_strings_of_other_layouts(kind: pa.DataType) -> None:
    assert truths("a", "é", kind, pa.string()) == LESS
    assert truths("é", "é", kind) == EQUAL


@pytest.mark.parametrize(
    "left, right, expected",
    [
        ("0.10", "0.1", EQUAL),
        ("0.1", "0.2", LESS),
        ("-0.01", "0.00", LESS),
        ("9999999.99", "9999999.98", GREATER),
    ],
)
def test_decimals(left: str, right: str, expected: str) -> None:
    assert truths(Decimal(left), Decimal(right), pa.decimal128(9, 2)) == expected


def test_decimals_are_exact() -> None:
    tenths = pa.decimal128(9, 2)
    assert holds(
        "a.x + a.x + b.y = b.y + b.y + a.x + 0 * 2 + a.x - b.y", Decimal("0.1"), Decimal("0.3"), tenths
    )
    assert holds("a.x + b.y = b.y + a.x", Decimal("0.1"), Decimal("0.2"), tenths)
    assert holds("a.x - b.y + b.y = a.x", Decimal("0.1"), Decimal("1000000.01"), tenths)
    assert truths(Decimal("0.10"), Decimal("0.1000"), pa.decimal128(9, 2), pa.decimal128(9, 4)) == EQUAL
    assert truths(Decimal("2.00"), 2, pa.decimal128(9, 2), pa.int64()) == EQUAL
    assert truths(Decimal("0.5"), 0.5, pa.decimal128(9, 2), FLOATS) == EQUAL


MOMENT = datetime.datetime(2024, 2, 29, 12, 30, 15, 250_000)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamps_of_different_units(unit: str) -> None:
    whole = MOMENT.replace(microsecond=0)
    assert truths(whole, whole, pa.timestamp("us"), pa.timestamp(unit)) == EQUAL
    assert truths(MOMENT, whole, pa.timestamp("ms"), pa.timestamp(unit)) == GREATER
    assert holds("a.x - b.y = 250 milliseconds", MOMENT, whole, pa.timestamp("us"), pa.timestamp(unit))
    assert holds("a.x < b.y + 1 second", MOMENT, whole, pa.timestamp("us"), pa.timestamp(unit))


def test_instants_of_different_zones_and_dates() -> None:
    zoned = MOMENT.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=2)))
    kinds = pa.timestamp("us", tz="Europe/Paris"), pa.timestamp("us", tz="UTC")
    assert truths(zoned, zoned.astimezone(datetime.timezone.utc), *kinds) == EQUAL
    day = datetime.date(2024, 2, 29)
    assert truths(MOMENT, day, pa.timestamp("us"), pa.date32()) == GREATER
    assert truths(datetime.datetime(2024, 2, 29), day, pa.timestamp("us"), pa.date32()) == EQUAL
    assert truths(day, datetime.date(2024, 3, 1), pa.date32()) == LESS
    assert holds("b.y - a.x = 1 day", day, datetime.date(2024, 3, 1), pa.date32())
    assert truths(day, day, pa.date32(), pa.date64()) == EQUAL


def test_timestamps_far_away() -> None:
    first, last = datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59, 999_999)
    assert truths(first, last, pa.timestamp("us")) == LESS
    assert holds("b.y - a.x > 3000 days", first, last, pa.timestamp("us"))


def test_durations() -> None:
    seconds = datetime.timedelta(seconds=90)
    assert truths(seconds, datetime.timedelta(minutes=2), pa.duration("s"), pa.duration("us")) == LESS
    assert holds("a.x + b.y = 3 minutes", seconds, seconds, pa.duration("ms"), pa.duration("s"))


def test_a_null_or_unbound_value_in_a_group() -> None:
    table = pa.table({"kind": list("AAAB"), "t": [1, 2, 3, 4], "x": [1, None, 3, 4]})
    query = (
        "PATTERN SEQ(A+ a[], B b) WHERE skip_till_any_match { %s } WITHIN 10 RETURN a.len AS n, a[1].t AS t"
    )
    expected = {
        "sum(a[].x) = b.x": [(2, 1), (3, 1)],  # 1 + 3, with or without the null between them
        "count(a[].x) = 1 AND a.len = 2": [(2, 1), (2, 2)],
        "avg(a[].x) IS NULL": [(1, 2)],
        "stddev(a[].x) IS NULL AND b.x > 0": [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2)],
        "a[i].x > a[i-1].x": [(1, 1), (1, 2), (1, 3), (2, 1)],
        "min(a[..i-1].x) < b.x": [(1, 1), (1, 2), (1, 3), (2, 1), (2, 1), (3, 1)],
    }
    for condition, rows in expected.items():
        for match in (fyke.match, reference.match):
            found = match(table, query % condition, time="t", type="kind")
            assert sorted(zip(found["n"].to_pylist(), found["t"].to_pylist(), strict=True)) == rows, (
                match,
                condition,
            )


@pytest.mark.parametrize(
    "condition, expected",
    [
        ("sum(a[].x) IS NULL AND b.t > 0", True),  # the sum leaves int64
        ("sum(a[].y) = 9223372036854775803 AND b.t > 0", True),  # it is the total that counts
        ("avg(a[].x) > 9.2e18 AND b.t > 0", True),
        ("max(a[].v) > 1e308 AND min(a[].v) = 1.0 AND b.t > 0", True),  # NaN is greatest
        ("stddev(a[].v) > 1e308 AND b.t > 0", True),  # NaN
        ("sum(a[].v) > 1e308 AND b.t > 0", True),
    ],
)
def test_aggregates_of_odd_values(condition: str, expected: bool) -> None:
    table = pa.table(
        {
            "kind": list("AAAB"),
            "t": [1, 2, 3, 4],
            "x": [INT64_MAX, INT64_MAX, INT64_MAX, 0],
            "y": [INT64_MAX, 1, -5, 0],
            "v": [1.0, NAN, INF, 0.0],
        }
    )
    query = f"PATTERN SEQ(A{{3}} a[], B b) WHERE {{ {condition} }} WITHIN 10 RETURN a.len"
    for match in (fyke.match, reference.match):
        assert (match(table, query, time="t", type="kind").num_rows == 1) is expected, match
