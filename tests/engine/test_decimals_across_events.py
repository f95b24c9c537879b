"""Decimals of several events: compared and computed with exactly, or refused by name."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import fyke
from fyke import reference
from fyke.errors import InputError, UnsupportedQueryError
from tests.engine.pairs import holds
from tests.spark.tables import frame_of

OPTIONS: dict[str, Any] = {"time": "t", "type": "kind"}
CENTS, WIDE, FINE = pa.decimal128(9, 2), pa.decimal128(38, 18), pa.decimal128(18, 8)
LAST_DIGIT = ("12345678901234567890.000000000000000001", "12345678901234567890.000000000000000002")
COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")


@pytest.mark.parametrize(
    "condition, left, right",
    [
        ("a.x * 3 = b.y", "0.10", "0.30"),
        ("a.x * b.y = 0.03", "0.10", "0.30"),
        ("b.y % a.x = 0", "0.10", "0.30"),
        ("mod(b.y, a.x) = 0", "0.10", "0.30"),
        ("-b.y % a.x = -0.05", "0.10", "0.25"),
        ("a.x * 1.1 < b.y", "0.10", "0.12"),
        ("a.x * 1.1 = 0.11 AND b.y > 0", "0.10", "0.12"),
        ("a.x + b.y = 0.4", "0.10", "0.30"),
        ("(a.x + b.y) * (a.x - b.y) = -0.08", "0.10", "0.30"),
        ("abs(a.x - b.y) = 0.2", "0.10", "0.30"),
        ("greatest(a.x, b.y, 0.2) = 0.3", "0.10", "0.30"),
        ("coalesce(a.x - b.y, 1) = -0.2", "0.10", "0.30"),
        ("nullif(a.x * 3, b.y) IS NULL", "0.10", "0.30"),
        ("a.x * 3 BETWEEN b.y AND b.y", "0.10", "0.30"),
        ("a.x * 3 IN (b.y, 7)", "0.10", "0.30"),
        ("CAST(a.x AS DOUBLE) / b.y > 0.3", "0.10", "0.30"),
        ("a.x / 3.0 * b.y >= 0.0099", "0.10", "0.30"),
    ],
)
def test_money_is_exact(condition: str, left: str, right: str) -> None:
    assert holds(condition, Decimal(left), Decimal(right), CENTS)


def test_of_many_digits_the_last_one_counts() -> None:
    one, other = map(Decimal, LAST_DIGIT)
    for left, right, expected in (
        (one, other, {"!=", "<", "<="}),
        (other, one, {"!=", ">", ">="}),
        (one, one, {"=", "<=", ">="}),
        (None, one, set()),
    ):
        found = {operator for operator in COMPARISONS if holds(f"a.x {operator} b.y", left, right, WIDE)}
        assert found == expected


def test_decimals_of_different_scale_and_many_digits() -> None:
    assert holds(
        "a.x < b.y", Decimal(LAST_DIGIT[0]), Decimal("12345678901234567890.1"), WIDE, pa.decimal128(38, 1)
    )
    assert holds("a.x = b.y", Decimal("7"), Decimal("7.0"), pa.decimal128(38, 0), WIDE)
    assert holds("greatest(a.x, b.y) = b.y", Decimal("7"), Decimal("7.5"), WIDE)


def test_a_whole_number_beside_a_decimal() -> None:
    assert holds("a.x + b.y > 0", Decimal("1.00000001"), 10**9, FINE, pa.int64())
    assert holds("a.x + b.y = 1000000001.00000001", Decimal("1.00000001"), 10**9, FINE, pa.int64())
    assert holds("a.x < b.y", Decimal("1.00000001"), 10**18, FINE, pa.int64())
    assert holds("a.x * b.y = 3.75", Decimal("1.25"), 3, CENTS, pa.int32())


def test_decimals_of_many_digits_that_are_small() -> None:
    assert holds("a.x + b.y = 3.5", Decimal("1.5"), Decimal(2), WIDE)
    assert holds("a.x > b.y", Decimal("2.000000000000000001"), 2, WIDE, pa.int64())
    assert holds("-a.x < b.y AND abs(a.x - b.y) = 1", Decimal(1), Decimal("2.00"), WIDE, CENTS)
    assert holds("a.x * b.y = 0.3", Decimal("0.10"), 3, pa.decimal128(30, 2), pa.int32())
    assert holds("a.x % b.y = 0", Decimal("0.30"), Decimal("0.10"), pa.decimal128(30, 2))
    assert holds("a.x <= greatest(b.y, 2)", Decimal("2"), Decimal("1.5"), pa.decimal128(30, 2))


@pytest.mark.parametrize(
    "condition", ["a.x + b.y > 0", "a.x > b.y", "-a.x < b.y", "sum(g[].x) > b.y", "avg(g[].x) > 1"]
)
def test_decimals_of_many_digits_that_are_large(condition: str) -> None:
    pattern = "SEQ(A+ g[], B b)" if "g[]" in condition else "SEQ(A a, B b)"
    query = f"PATTERN {pattern} WHERE {{ {condition} AND b.t > 0 }} WITHIN 9"
    kinds = (WIDE, pa.int64())
    with pytest.raises(InputError, match="would need more than 64 bits"):
        fyke.match(two(Decimal(LAST_DIGIT[0]), 1, kinds), query, **OPTIONS)
    small = two(Decimal("1.5"), 1, kinds)
    assert (
        fyke.match(small, query, **OPTIONS).num_rows == reference.match(small, query, **OPTIONS).num_rows == 1
    )


BEYOND = 9223372036854775808


@pytest.mark.parametrize("operator", COMPARISONS)
@pytest.mark.parametrize("number", [2**63 - 1, -(2**63)])
def test_numbers_that_no_integer_reaches(operator: str, number: int) -> None:
    for literal in (BEYOND, -BEYOND - 1):
        expected = {"=": False, "!=": True, "<": literal > 0, "<=": literal > 0}.get(operator, literal < 0)
        assert holds(f"a.x + b.y {operator} {literal}", number, 0, pa.int64()) == expected
        mirrored = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(operator, operator)
        assert holds(f"{literal} {mirrored} a.x + b.y", number, 0, pa.int64()) == expected


def two(left: Any, right: Any, kinds: tuple[pa.DataType, pa.DataType]) -> pa.Table:
    return pa.table(
        {
            "kind": ["A", "B"],
            "t": [1, 2],
            "x": pa.array([left, None], kinds[0]),
            "y": pa.array([None, right], kinds[1]),
        }
    )


REFUSED = [
    ("a.x / b.y > 2", (CENTS, CENTS), "a.x / b.y divides decimals of several events"),
    ("a.x > b.y", (WIDE, pa.float64()), "a.x > b.y makes a float of a decimal of more than 18 digits"),
    ("a.x + b.y > 0.5", (WIDE, pa.float64()), "a.x + b.y makes a float of a decimal of more than"),
    ("floor(a.x + b.y) = 2", (CENTS, CENTS), "a.x + b.y is decimal"),
    ("a.x * b.y > 1", (FINE, pa.int64()), "a.x * b.y has more digits than there are in 64 bits"),
    ("sqrt(max(g[].x)) > b.y", (WIDE, CENTS), "sqrt(max(g[].x)) makes a float of a decimal of more"),
]


def refusal(events: Any, condition: str) -> UnsupportedQueryError:
    pattern = "SEQ(A+ g[], B b)" if "g[]" in condition else "SEQ(A a, B b)"
    with pytest.raises(UnsupportedQueryError) as caught:
        fyke.match(events, f"PATTERN {pattern} WHERE {{ {condition} }} WITHIN 9", **OPTIONS)
    return caught.value


@pytest.mark.parametrize("condition, kinds, message", REFUSED)
def test_refused_by_name(condition: str, kinds: tuple[pa.DataType, pa.DataType], message: str) -> None:
    error = refusal(two(None, None, kinds), condition)
    assert message in str(error)
    assert "CAST" in error.remedy
    assert error.place is not None


def test_values_too_large_to_be_exact_are_refused_by_name() -> None:
    query = "PATTERN SEQ(A a, B b) WHERE { a.x + b.y > 0 } WITHIN 9"
    kinds = (FINE, pa.int64())
    assert fyke.match(two(Decimal(1), 10**10, kinds), query, **OPTIONS).num_rows == 1
    with pytest.raises(InputError, match=r"a\.x \+ b\.y would need more than 64 bits") as caught:
        fyke.match(two(Decimal(1), 10**11, kinds), query, **OPTIONS)
    assert "CAST(a.x AS DOUBLE)" in caught.value.remedy
    floats = query.replace("a.x", "CAST(a.x AS DOUBLE)")
    assert fyke.match(two(Decimal(1), 10**11, kinds), floats, **OPTIONS).num_rows == 1


def groups(amounts: list[Decimal]) -> pa.Table:
    """Return events A with these amounts, and one B behind them."""
    return pa.table(
        {
            "kind": ["A"] * len(amounts) + ["B"],
            "t": range(len(amounts) + 1),
            "x": pa.array([*amounts, None], pa.decimal128(18, 2)),
            "y": pa.array([None] * len(amounts) + [Decimal(1)], CENTS),
        }
    )


def test_sums_are_exact_or_refused_by_name() -> None:
    query = "PATTERN SEQ(A+ g[], B b) WHERE { sum(g[].x) = 0.30 } WITHIN 99"
    few = groups([Decimal("0.10"), Decimal("0.20")])
    assert fyke.match(few, query, **OPTIONS).num_rows == 1
    assert reference.match(few, query, **OPTIONS).num_rows == 1
    with pytest.raises(InputError, match=r"sum\(g\[\]\.x\) would need more than 64 bits"):
        fyke.match(groups([Decimal(6 * 10**15)] * 16), query, **OPTIONS)


def test_a_whole_number_of_any_size_beside_a_decimal_is_refused_by_name() -> None:
    query = "PATTERN SEQ(A+ g[], B b) WHERE { floor(avg(g[].x)) + b.y > 0 } WITHIN 99"
    with pytest.raises(InputError, match=r"floor\(avg\(g\[\]\.x\)\) \+ b\.y would need more than 64 bits"):
        fyke.match(groups([Decimal(1)]), query, **OPTIONS)


@pytest.mark.spark
def test_on_spark_alike(spark: SparkSession) -> None:
    rows = [("A", "1.10", 0), ("B", "0.30", 1), ("A", "0.10", 2), ("B", "0.30", 3), ("B", "0.31", 4)]
    events = pa.table(
        {
            "kind": [kind for kind, _, _ in rows],
            "t": [t for _, _, t in rows],
            "x": pa.array([Decimal(x) for _, x, _ in rows], CENTS),
            "w": pa.array([Decimal(x) + Decimal(LAST_DIGIT[0]) for _, x, _ in rows], WIDE),
            "last": pa.array([Decimal(LAST_DIGIT[t % 2]) for _, _, t in rows], WIDE),
            "fine": pa.array([Decimal(x) for _, x, _ in rows], FINE),
            "n": [10**9] * len(rows),
        }
    )
    frame = frame_of(spark, events)
    for condition, expected in (
        ("a.x * 3 = b.x", [(2, 3)]),
        ("b.x % a.x = 0", [(2, 3)]),
        ("a.w + 0.2 = b.w", [(2, 3)]),
        ("a.w < b.w", [(2, 3), (2, 4)]),
        ("a.last != b.last", [(0, 1), (0, 3), (2, 3)]),
        ("a.fine + b.n > 1000000001", [(0, 1), (0, 3), (0, 4)]),
    ):
        query = f"PATTERN SEQ(A a, B b) WHERE skip_till_any_match {{ {condition} }} RETURN a.t AS s, b.t AS e"
        tables = [
            fyke.match(events, query, **OPTIONS),
            fyke.match(frame, query, **OPTIONS).toArrow(),
            reference.match(events, query, **OPTIONS),
        ]
        found = [sorted(zip(each["s"].to_pylist(), each["e"].to_pylist(), strict=True)) for each in tables]
        assert found == [expected] * 3, condition


@pytest.mark.spark
def test_refused_on_spark_by_name(spark: SparkSession) -> None:
    """Conditions when the call is made, values when their rows are read."""
    for condition, kinds, message in REFUSED:
        assert message in str(refusal(frame_of(spark, two(None, None, kinds)), condition))
    query = "PATTERN SEQ(A a, B b) WHERE { a.x + b.y > 0 } WITHIN 9"
    large = frame_of(spark, two(Decimal(1), 10**11, (FINE, pa.int64())))
    with pytest.raises(InputError, match=r"a\.x \+ b\.y would need more than 64 bits"):
        fyke.match(large, query, **OPTIONS).collect()
