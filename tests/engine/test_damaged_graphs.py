"""Compressed results that were changed outside: refused by name before a kernel follows them."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import fyke
from fyke.errors import FykeError, InputError
from tests.spark.tables import frame_of

EVENTS = pa.table({"kind": list("AABAABB"), "t": list(range(7))})
QUERY = "PATTERN SEQ(A+ a[], B b) WHERE skip_till_any_match { a.t >= 0 }"

Row = dict[str, Any]
Change = Callable[[Row], None]


def compressed(engine: str = "automaton") -> pa.Table:
    return fyke.match(EVENTS, QUERY, time="t", type="kind", output="compressed", engine=engine)


def changed(table: pa.Table, change: Change) -> pa.Table:
    rows = table.to_pylist()
    change(rows[-1])
    return pa.Table.from_pylist(rows, schema=table.schema)


def enumerated(table: pa.Table) -> list[Row]:
    return [row for batch in fyke.enumerate_matches(table) for row in batch.to_pylist()]


def setting(*path: Any) -> Change:
    """Return the change that puts the last item at the place that the others lead to."""
    *places, last, value = path

    def change(row: Row) -> None:
        inner: Any = row
        for place in places:
            inner = inner[place]
        inner[last] = value

    return change


def add_event(row: Row) -> None:
    for node in row["nodes"]:
        if node["b"] is not None:
            node["a[]"] = {"kind": "A", "t": 0}


def join_nothing(row: Row) -> None:
    row["nodes"][-1] |= {"a[]": None, "b": None, "previous": []}


DAMAGES: dict[str, tuple[Change, str]] = {
    "a predecessor too large": (setting("nodes", 0, "previous", [10**6]), "predecessor that does not exist"),
    "a predecessor below zero": (setting("nodes", 0, "previous", [-7]), "predecessor that does not exist"),
    "a last node too large": (setting("last", 0, 10**6), "'last' names a node that does not exist"),
    "a last node below zero": (setting("last", 0, -1), "'last' names a node that does not exist"),
    "a node before itself": (setting("nodes", 0, "previous", [0]), "lead in a circle"),
    "a circle": (setting("nodes", -1, "previous", [0]), "lead in a circle"),
    "three predecessors": (setting("nodes", 0, "previous", [1, 1, 1]), "more than 2 predecessors"),
    "a null predecessor": (setting("nodes", 0, "previous", [None]), "a number of a node is null"),
    "no predecessors": (setting("nodes", 0, "previous", None), "a node has no 'previous'"),
    "a null node": (setting("nodes", 0, None), "a node is null"),
    "no nodes": (setting("nodes", None), "a row has no 'nodes'"),
    "no last nodes": (setting("last", None), "a row has no 'last'"),
    "a null last node": (setting("last", 0, None), "a number of a node is null"),
    "a null hash": (setting("nodes", 0, "hash", None), "a hash must have 16 bytes"),
    "a short hash": (setting("nodes", 0, "hash", b"x"), "a hash must have 16 bytes"),
    "a null query": (setting("query", None), "a row has no 'query'"),
    "a short query": (setting("query", b"x"), "'query' must have 16 bytes"),
    "an event without a start": (setting("nodes", 0, "start", None), "an event has no start"),
    "events of two variables": (add_event, "events of two variables"),
    "neither event nor predecessor": (join_nothing, "neither an event nor a predecessor"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damage_is_refused_by_name(name: str) -> None:
    change, told = DAMAGES[name]
    with pytest.raises(InputError, match=told) as caught:
        enumerated(changed(compressed(), change))
    assert "Give what fyke.match(..., output=" in caught.value.remedy


@pytest.mark.spark
@pytest.mark.parametrize("name", ["a predecessor too large", "a circle", "a null node"])
def test_a_worker_refuses_it_by_name(spark: SparkSession, name: str) -> None:
    change, told = DAMAGES[name]
    with pytest.raises(InputError, match=told):
        fyke.enumerate_matches(frame_of(spark, changed(compressed(), change))).collect()


@pytest.mark.parametrize(
    "column, values, told",
    [
        ("last", pa.array([["x"]]), "'last' must be a list of integers, found list"),
        ("nodes", pa.array([[1]]), "'nodes' must be a list of structs, found list"),
        ("nodes", pa.array([[{"previous": [0]}]]), "its nodes must have one field 'start'"),
        ("query", pa.array([1]), "'query' must be binary, found int64"),
        ("end", pa.array(["x"]), "'end' must be a time, found string"),
    ],
)
def test_columns_of_other_types(column: str, values: pa.Array, told: str) -> None:
    table = compressed().slice(0, 1)
    wrong = table.set_column(table.schema.get_field_index(column), column, values)
    with pytest.raises(InputError, match=told):
        enumerated(wrong)


@pytest.mark.parametrize("engine", ["automaton", "lazy_chain", "tree"])
def test_what_an_engine_has_written_is_accepted(engine: str) -> None:
    listed = fyke.match(EVENTS, QUERY, time="t", type="kind")["match_id"].to_pylist()
    assert sorted(row["match_id"] for row in enumerated(compressed(engine))) == sorted(listed)


def test_results_of_two_queries_keep_their_identifiers() -> None:
    other = QUERY.replace(">= 0", ">= 1")
    tables = [fyke.match(EVENTS, each, time="t", type="kind", output="compressed") for each in (QUERY, other)]
    listed = [
        identifier
        for each in (QUERY, other)
        for identifier in fyke.match(EVENTS, each, time="t", type="kind")["match_id"].to_pylist()
    ]
    found = [row["match_id"] for row in enumerated(pa.concat_tables(tables).combine_chunks())]
    assert sorted(found) == sorted(listed)


def test_random_damages_never_crash() -> None:
    """A thousand random changes of numbers: rows, or a typed error."""
    chance, refused = random.Random(3), 0
    table = compressed()
    for _ in range(1_000):
        rows = table.to_pylist()
        row = chance.choice(rows)
        node = chance.choice(row["nodes"])
        number = chance.choice([None, -1, 0, 1, 2, 3, 5, 2**31 - 1, -(2**31)])
        target = chance.choice([row["last"], node["previous"], node["previous"]])
        if target and chance.random() < 0.7:
            target[chance.randrange(len(target))] = number
        else:
            target.append(number)
        try:
            enumerated(pa.Table.from_pylist(rows, schema=table.schema))
        except FykeError:
            refused += 1
    assert 100 < refused < 1_000
