"""Columns of events that have the names of result columns: refused by name, on tables and on Spark."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import fyke
from fyke.errors import InputError, OutputNameError

OPTIONS: dict[str, Any] = {"time": "t", "type": "kind"}


def events(**columns: list[Any]) -> pa.Table:
    return pa.table({"t": [1, 2], "kind": ["A", "B"], **columns})


@pytest.mark.parametrize("name", ["match_id", "start", "end"])
def test_a_partition_attribute_named_as_a_fixed_column_is_refused(name: str) -> None:
    query = f"PATTERN SEQ(A a, B b) WHERE {{ [{name}] }}"
    with pytest.raises(OutputNameError, match=f"two columns named '{name}'") as caught:
        fyke.match(events(**{name: [7, 7]}), query, **OPTIONS)
    assert caught.value.place is not None
    assert "Rename the column" in caught.value.remedy


def test_over_matches_there_are_no_fixed_columns_to_clash_with() -> None:
    query = "PATTERN SEQ(A a, B b) WHERE { [end] } RETURN count(*) AS n"
    assert fyke.match(events(end=[7, 7]), query, **OPTIONS).to_pylist() == [{"end": 7, "n": 1}]


@pytest.mark.parametrize("name", ["end", "matches", "query", "last", "nodes"])
def test_a_partition_attribute_of_a_compressed_result(name: str) -> None:
    query = f"PATTERN SEQ(A a, B b) WHERE skip_till_any_match {{ [{name}] }}"
    with pytest.raises(OutputNameError, match=f"two columns named '{name}'"):
        fyke.match(events(**{name: [7, 7]}), query, output="compressed", **OPTIONS)


@pytest.mark.parametrize("name", ["previous", "hash", "start", '"b[]"'])
def test_a_variable_of_a_compressed_result(name: str) -> None:
    query = f"PATTERN SEQ(B+ b[], A {name}) WHERE skip_till_any_match {{ }}"
    with pytest.raises(
        OutputNameError, match=f"two (fields|columns) named '{name.strip(chr(34))}'".replace("[", r"\[")
    ):
        fyke.match(events(), query, output="compressed", **OPTIONS)


@pytest.mark.parametrize("name", ["__fyke_roles", "__fyke_d0", "__fyke_number", "__FYKE_metrics"])
@pytest.mark.parametrize("role", ["attribute", "time", "type"])
def test_a_column_with_a_name_of_fykes_own_is_refused(name: str, role: str) -> None:
    given = events(x=[1, 2])
    old = {"attribute": "x", "time": "t", "type": "kind"}[role]
    renamed = given.rename_columns([name if each == old else each for each in given.column_names])
    options = {each: name if each == role else OPTIONS[each] for each in OPTIONS}
    with pytest.raises(InputError, match=f"a column '{name}'"):
        fyke.match(renamed, "PATTERN SEQ(A a, B b)", **options)
    inputs = {"A": renamed, "B": renamed}
    with pytest.raises(InputError, match=f"a column '{name}'"):
        fyke.match(inputs, "PATTERN SEQ(A a, B b)", time=options["time"])


@pytest.mark.parametrize(
    "query",
    [
        "PATTERN A a RETURN a.x AS __fyke_item_0",
        "PATTERN A a RETURN max(a.x) AS __fyke_item_0, count(*) AS n",
        "PATTERN A __fyke_metrics",
        "SELECT a.x AS __fyke_x FROM [RANGE 1 SEC] A AS a",
    ],
)
def test_a_result_column_with_a_name_of_fykes_own_is_refused(query: str) -> None:
    with pytest.raises(OutputNameError, match="names that begin with __fyke_ are Fyke's own"):
        fyke.match(events(x=[1, 2]), query, time_unit="s", **OPTIONS)


def test_the_type_column_of_a_dict_finds_a_name() -> None:
    given = pa.table({"t": [1], "type": ["x"], "event_type": ["y"], "fyke_type": ["z"]})
    found = fyke.match({"A": given}, "PATTERN A a RETURN a.type AS own", time="t")
    assert found["own"].to_pylist() == ["x"]


@pytest.mark.parametrize("name", ["start", "end"])
def test_a_partition_attribute_of_a_relational_query(name: str) -> None:
    query = f"SELECT a.t AS first FROM [RANGE 5 SEC] A AS a; B AS b WHERE [{name}]"
    with pytest.raises(OutputNameError, match=f"two columns named '{name}'"):
        fyke.match(events(**{name: [7, 7]}), query, time_unit="s", **OPTIONS)


@pytest.mark.spark
def test_refused_on_spark_alike(spark: SparkSession) -> None:
    frame = spark.createDataFrame(events(end=[7, 7]))
    with pytest.raises(OutputNameError, match="two columns named 'end'"):
        fyke.match(frame, "PATTERN SEQ(A a, B b) WHERE { [end] }", **OPTIONS)
    with pytest.raises(InputError, match="a column '__fyke_number'"):
        fyke.match(frame.withColumnRenamed("end", "__fyke_number"), "PATTERN SEQ(A a, B b)", **OPTIONS)
