"""Results: aggregates of RETURN by the rules of conditions, and identifiers that tell every match apart."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import fyke
from fyke import reference
from tests.random.results import difference
from tests.spark.tables import frame_of

LARGEST = 2**63 - 1


def events(**columns: list[Any]) -> pa.Table:
    count = len(next(iter(columns.values())))
    return pa.table({"kind": ["A"] * count, "t": list(range(count)), **columns})


def returned(table: pa.Table, query: str, engine: str = "auto", **options: Any) -> pa.Table:
    """Return the result of the engine, which must be that of the reference."""
    found = fyke.match(table, query, time="t", type="kind", engine=engine, **options)
    differing = difference(found, reference.match(table, query, time="t", type="kind", **options))
    assert differing is None, differing
    return found


@pytest.mark.parametrize("item", ["{}(a[].v)", "{}(b.v)"])
def test_nan_is_greatest(item: str) -> None:
    table = events(v=[1.0, math.nan, math.inf])
    pattern = "A{3} a[]" if "a[]" in item else "A b"
    for name, expected in {"max": math.nan, "min": 1.0}.items():
        (value,) = returned(table, f"PATTERN {pattern} WITHIN 9 RETURN {item.format(name)} AS r")[
            "r"
        ].to_pylist()
        assert value == expected or (math.isnan(value) and math.isnan(expected))


@pytest.mark.parametrize("item", ["sum(a[].x)", "sum(b.x)"])
def test_a_sum_that_leaves_int64_is_null_and_one_that_comes_back_is_not(item: str) -> None:
    pattern = "A{3} a[]" if "a[]" in item else "A b"
    query = f"PATTERN {pattern} WITHIN 9 RETURN {item} AS r"
    assert returned(events(x=[LARGEST, LARGEST, 1]), query)["r"].to_pylist() == [None]
    assert returned(events(x=[LARGEST, 1, -2]), query)["r"].to_pylist() == [LARGEST - 1]


def test_averages_of_decimals_are_floats() -> None:
    table = events(x=[1, 2]).append_column("d", pa.array([1, 2], pa.decimal128(9, 2)))
    assert returned(table, "PATTERN A b WITHIN 9 RETURN avg(b.d) AS r")["r"].to_pylist() == [1.5]


def test_a_partition_of_nan_is_one_partition() -> None:
    table = events(v=[math.nan, math.nan, 0.0, -0.0])
    found = returned(table, "PATTERN A a WHERE { [v] } WITHIN 9 RETURN count(*) AS r0")
    assert sorted(found["r0"].to_pylist()) == [2, 2]


def test_counts_of_no_match() -> None:
    table = events(x=[1])
    found = returned(table, "PATTERN B a WITHIN 9 RETURN count(*) AS n, count(a.x) AS m, sum(a.x) AS s")
    assert found.to_pylist() == [{"n": 0, "m": 0, "s": None}]


def test_an_operand_that_is_compared_several_times() -> None:
    table = events(x=[1, 2])
    query = "PATTERN A+ a[] WHERE skip_till_any_match { %s } WITHIN 9 RETURN a.len AS n"
    assert returned(table, query % "sum(a[].x) IN (1, 3, 7)")["n"].to_pylist() == [1, 2]
    assert returned(table, query % "max(a[].x) BETWEEN 2 AND avg(a[].x)")["n"].to_pylist() == [1]


def test_twins_make_matches_of_their_own() -> None:
    twins = pa.table({"kind": ["A", "A"], "t": [1, 1]})
    found = returned(twins, "PATTERN AND(A? a, A? b) WHERE skip_till_any_match { a.t >= 0 } WITHIN 9")
    assert found.num_rows == 6
    assert len(set(found["match_id"].to_pylist())) == 6


def test_groups_of_many_twins_are_told_apart() -> None:
    """Hashes of twins must not be so alike that the first and last add up to those between them."""
    twins = pa.table({"kind": ["A"] * 10, "t": [1] * 10})
    query = "PATTERN A+ a[] WHERE skip_till_any_match { a.t >= 0 } WITHIN 9"
    for engine in ("automaton", "lazy_chain"):
        found = fyke.match(twins, query, time="t", type="kind", engine=engine)
        assert len(set(found["match_id"].to_pylist())) == found.num_rows > 0


def test_identifiers_know_which_variable_an_event_is_bound_to() -> None:
    table = events(x=[1, 2, 3])
    found = returned(table, "PATTERN AND(A a, A b, A c) WHERE skip_till_any_match { a.x > 0 } WITHIN 9")
    assert found.num_rows == 6
    assert len(set(found["match_id"].to_pylist())) == 6


@pytest.mark.parametrize(
    "pattern, names",
    [
        ("SEQ(A? a, B b, C c)", "abc"),
        ("AND(A? a, OR(C c, B b))", "acb"),
        ("SEQ(C? c, A* a[], ~B b, B d)", "cad"),
    ],
)
def test_columns_are_in_the_order_of_the_pattern(pattern: str, names: str) -> None:
    """An optional variable is missing in the first alternative, and still comes where it is written."""
    table = pa.table({"kind": list("ABC"), "t": [1, 2, 3]})
    found = returned(table, f"PATTERN {pattern} WITHIN 9")
    assert found.column_names == ["match_id", "start", "end", *names]


@pytest.mark.parametrize("engine", ["automaton", "lazy_chain", "lazy_tree", "tree"])
def test_non_overlap_takes_matches_alike_in_the_order_of_the_pattern(engine: str) -> None:
    """The optional variable is compared first: it has the first of three events that are equal."""
    twins = pa.table({"kind": list("AAA"), "t": [1, 1, 1], "x": [7, 8, 9]})
    query = "PATTERN AND(A? a, A b, A c) WHERE skip_till_any_match { } WITHIN 9"
    found = returned(twins, query, output="non_overlap", engine=engine)
    assert [[row[name]["x"] for name in "abc"] for row in found.to_pylist()] == [[7, 8, 9]]


@pytest.mark.spark
def test_columns_and_matches_without_overlap_on_spark_alike(spark: SparkSession) -> None:
    twins = pa.table({"kind": list("AAA"), "t": [1, 1, 1], "x": [7, 8, 9]})
    query = "PATTERN AND(A? a, A b, A c) WHERE skip_till_any_match { } WITHIN 9"
    options: dict[str, Any] = {"time": "t", "type": "kind", "output": "non_overlap"}
    found = fyke.match(frame_of(spark, twins), query, **options)
    assert found.columns == ["match_id", "start", "end", "a", "b", "c"]
    assert found.toArrow().to_pylist() == fyke.match(twins, query, **options).to_pylist()


def test_events_of_a_dict_have_the_columns_of_their_type() -> None:
    tables = {
        "A": pa.table({"t": [1, 2], "x": pa.array([1, 2], pa.int32()), "s": ["p", "q"]}),
        "B": pa.table(
            {"t": pa.array([3, 4], pa.int32()), "x": [2.0, 1.0], "v": pa.array(["p", "q"], pa.string_view())}
        ),
    }
    for query in (
        "PATTERN SEQ(A a, B b) WHERE skip_till_any_match { [x] }",
        "PATTERN AND(ANY a, B+ b[])",
        "PATTERN OR(A a, B a) RETURN a, a.x",
    ):
        found, expected = (match(tables, query, time="t") for match in (fyke.match, reference.match))
        differing = difference(found, expected)
        assert differing is None, differing
        assert found.num_rows
