"""Tables to DataFrames and back, and the equality of results that Spark may bring in any order."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

import fyke


def frame_of(spark: SparkSession, table: pa.Table) -> DataFrame:
    """Return a table as a DataFrame; timestamps without a zone stay without one."""
    return spark.createDataFrame(table, from_arrow_schema(table.schema, prefer_timestamp_ntz=True))


def on_table(table: Any, query: str | fyke.Query, **options: Any) -> pa.Table:
    """Match on a table; rejected rows are expected."""
    return fyke.match(table, query, metrics=fyke.Metrics(), **options)


def _plain(value: Any) -> Any:
    """Return a value such that equal values have equal texts; floats within rounding, 0.0 with one sign."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else f"{value + 0.0:.9g}"
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value


def assert_same(found: pa.Table, expected: pa.Table) -> None:
    """Check that two results have the same columns, types and rows, in any order of rows."""
    types = [from_arrow_schema(each.schema, prefer_timestamp_ntz=True) for each in (found, expected)]
    assert [_type(each) for each in types[0]] == [_type(each) for each in types[1]]
    # The session's time zone is but a label of the times.
    rows = [
        Counter(repr(_plain(row)) for row in each.to_pylist())
        for each in (_labelled(found, expected), expected)
    ]
    extra, missing = list((rows[0] - rows[1]).elements()), list((rows[1] - rows[0]).elements())
    assert (extra[:3], missing[:3], len(extra), len(missing)) == ([], [], 0, 0)


def _labelled(found: pa.Table, expected: pa.Table) -> pa.Table:
    return found.cast(expected.schema)


def _type(field: Any) -> tuple[str, str]:
    return field.name, field.dataType.simpleString()


@contextmanager
def settings(spark: SparkSession, values: Mapping[str, str]) -> Iterator[None]:
    """Change settings of the session for a while."""
    before = {name: spark.conf.get(name, None) for name in values}
    try:
        for name, value in values.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, value in before.items():
            if value is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, value)
