"""Analysis: what the names of a clause mean, which rows its expressions look at, and what its result is."""

from __future__ import annotations

import pyarrow as pa
import pytest

import fyke
from fyke.language.ast import Binary, Literal, Reference, Unary
from fyke.language.row_patterns import RowPatternQuery, SkipTo
from fyke.logical.row_patterns.analyse import analyse_row_pattern
from fyke.logical.row_patterns.analysed import Aggregated, AnalysedRowPattern, From, Located, RowValue

COLUMNS = {
    "region": pa.string(),
    "ts": pa.timestamp("ms"),
    "Price": pa.float64(),
    "n": pa.int32(),
    "cost": pa.decimal128(10, 2),
    "loc": pa.struct([("lat", pa.float64())]),
    "history": pa.list_(pa.int64()),
}


def analysed(text: str) -> AnalysedRowPattern:
    query = fyke.parse(f"MATCH_RECOGNIZE ({text})")
    assert isinstance(query, RowPatternQuery)
    return analyse_row_pattern(query, COLUMNS)


def condition(text: str) -> RowValue:
    return analysed(f"PATTERN (A B*) SUBSET U = (A, B), V = (B) DEFINE A AS {text}").conditions["A"]


def measure(text: str) -> RowValue:
    return analysed(f"MEASURES {text} AS m PATTERN (A B*) DEFINE A AS TRUE").measures[0]


PRICE = Reference("", ("Price",))
X = Reference("", ("$0",))


def test_columns_are_found_in_any_case_and_spelled_as_the_rows_do() -> None:
    made = analysed(
        "PARTITION BY REGION ORDER BY TS MEASURES LAST(LOC.LAT) AS y PATTERN (A) DEFINE A AS PRICE > 1"
    )
    assert (made.partition, made.order[0].column) == (("region",), "ts")
    assert made.conditions["A"].inputs[0].value == Binary(">", PRICE, Literal(1))
    assert made.measures[0].inputs[0].value == Reference("", ("loc", "lat"))


def test_what_the_current_row_decides_is_one_input() -> None:
    value = condition("price > 1 AND A.n = 2 AND CLASSIFIER() = 'A'")
    assert len(value.inputs) == 1
    assert value.expression == X
    assert value.of_neighbours


def test_neighbours_are_inputs_of_their_own() -> None:
    value = condition("price < PREV(price) AND NEXT(LAST(U.price), 2) > 1")
    current, previous, following = value.inputs
    assert isinstance(current, Located)
    assert (current.start, current.physical, current.value) == (From.CURRENT, 0, PRICE)
    assert isinstance(previous, Located)
    assert (previous.start, previous.physical) == (From.CURRENT, -1)
    assert isinstance(following, Located)
    assert (following.physical, following.value) == (2, Binary(">", PRICE, Literal(1)))
    assert value.of_neighbours


@pytest.mark.parametrize(
    "text",
    [
        "price > V.price",
        "price > FIRST(price)",
        "price > LAST(price, 1)",
        "price > avg(A.price)",
        "PREV(CLASSIFIER()) = 'A'",
        "count(*) < 3",
    ],
)
def test_conditions_with_a_history(text: str) -> None:
    assert not condition(text).of_neighbours


def test_a_missing_row_is_null_before_the_function_that_looks_at_nulls() -> None:
    value = condition("coalesce(PREV(price), 0) = 0")
    assert [each.value for each in value.inputs] == [PRICE]
    value = condition("-PREV(price) > 0")
    assert [each.value for each in value.inputs] == [Binary(">", Unary("-", PRICE), Literal(0))]


def test_labels_of_variables_and_subsets() -> None:
    value = condition("price > FIRST(V.price, 2) AND count(U.*) > 1")
    first, total = value.inputs[1:]
    assert isinstance(first, Located)
    assert (first.start, first.labels, first.logical) == (From.FIRST, {"B"}, 2)
    assert isinstance(total, Aggregated)
    assert (total.value, total.labels) == (None, {"A", "B"})


@pytest.mark.parametrize(
    "text, kind",
    [
        ("price", pa.float64()),
        ("n", pa.int32()),
        ("n + 1", pa.int64()),
        ("sum(n)", pa.int64()),
        ("sum(cost)", pa.decimal128(38, 2)),
        ("avg(n)", pa.float64()),
        ("max(ts)", pa.timestamp("ms")),
        ("FINAL LAST(ts) - FIRST(ts)", pa.duration("us")),
        ("array_agg(n)", pa.list_(pa.int32())),
        ("count(B.*)", pa.int64()),
        ("CLASSIFIER()", pa.string()),
        ("MATCH_NUMBER()", pa.int64()),
        ("cost * 1.5", pa.decimal128(13, 3)),
        ("n > 1", pa.bool_()),
        ("coalesce(B.n, 0)", pa.int64()),
    ],
)
def test_types_of_measures(text: str, kind: pa.DataType) -> None:
    assert measure(text).type == kind


def test_final_and_running() -> None:
    inputs = measure("FINAL LAST(price) - LAST(price) + RUNNING sum(price) + FINAL sum(price)").inputs
    assert [each.final for each in inputs] == [True, False, False, True]


def names(text: str) -> list[str]:
    clause = f"PARTITION BY region ORDER BY ts MEASURES count(*) AS m {text} PATTERN (A) DEFINE A AS TRUE"
    return analysed(clause).schema.names


def test_columns_of_the_result() -> None:
    assert names("ONE ROW PER MATCH") == ["region", "m"]
    assert names("ALL MATCHES") == ["region", "m"]
    every = ["region", "ts", "m", "Price", "n", "cost", "loc", "history"]
    for rows in ("", "SHOW EMPTY MATCHES", "OMIT EMPTY MATCHES", "WITH UNMATCHED ROWS"):
        assert names(f"ALL ROWS PER MATCH {rows}") == every


def test_needed_columns() -> None:
    made = analysed("PARTITION BY region ORDER BY ts MEASURES sum(n) AS s PATTERN (A) DEFINE A AS price > 1")
    assert made.needed == ("region", "ts", "Price", "n")


def test_skip_and_window() -> None:
    made = analysed(
        "ORDER BY ts AFTER MATCH SKIP TO U PATTERN (A B) WITHIN 2 minutes SUBSET U = (A, B) DEFINE A AS TRUE"
    )
    assert (made.skip_to, made.skip_labels, made.window) == (SkipTo.LAST, {"A", "B"}, 120_000)
    assert analysed("ORDER BY n PATTERN (A) WITHIN 5 DEFINE A AS TRUE").window == 5
