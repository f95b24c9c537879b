"""Random expressions over one event and odd values: the table, Spark and the reference give one answer."""

from __future__ import annotations

import datetime
import math
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import fyke
from fyke import reference
from fyke.language.ast import Expression, Reference, map_references
from fyke.language.sase import parse
from fyke.language.unparse import unparse_expression
from fyke.logical.analyse import analyse
from fyke.logical.schema import make_schema
from fyke.logical.value_types import type_of
from fyke.spark.expression import to_sql
from tests.random.expressions import Expressions, odd_table
from tests.spark.tables import frame_of

TABLE = odd_table(40, seed=7)
COLUMNS = dict(zip(TABLE.schema.names, TABLE.schema.types, strict=True))


def texts(count: int, seed: int) -> list[str]:
    maker = Expressions(seed)
    return [unparse_expression(maker.any()) for _ in range(count)]


def query(expressions: list[str]) -> str:
    items = ", ".join(f"{text} AS x{number}" for number, text in enumerate(expressions))
    return f"PATTERN ANY a WHERE {{ a.id >= 0 }} RETURN a.id AS id, {items}"


def values(found: pa.Table, count: int) -> list[list[Any]]:
    """Return the values of each expression, row by row in the order of ``id``; floats within rounding."""
    ordered = found.sort_by("id")
    return [[_plain(value) for value in ordered[f"x{number}"].to_pylist()] for number in range(count)]


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return "nan" if math.isnan(value) else f"{value + 0.0:.9g}"
    if isinstance(value, datetime.datetime) and value.tzinfo is None:
        return value.replace(tzinfo=datetime.timezone.utc)
    return value


def check_table(expressions: list[str]) -> None:
    """Compare what the table gives for each expression with the reference, and its type with the rules."""
    text = query(expressions)
    found = fyke.match(TABLE, text, time="id")
    expected = reference.match(TABLE, text, time="id")
    analysed = analyse(parse(text), make_schema(COLUMNS, time="id"))
    columns = analysed.output.columns[1:]
    pairs = zip(values(found, len(expressions)), values(expected, len(expressions)), strict=True)
    for number, (mine, judged) in enumerate(pairs):
        _compare(expressions[number], mine, judged)
        kinds = {each.schema.field(f"x{number}").type for each in (found, expected)}
        assert kinds == {type_of(columns[number].expression, _type_at)}, expressions[number]


def _type_at(node: Expression) -> pa.DataType | None:
    return COLUMNS[node.path[0]] if isinstance(node, Reference) else None


def check_spark(frame: DataFrame, expressions: list[str]) -> None:
    """Compare what Spark SQL gives for each expression, where a row decides alone, with the reference."""
    text = query(expressions)
    analysed = analyse(parse(text), make_schema(COLUMNS, time="id"))
    asked = [
        F.expr(to_sql(_of_row(column.expression), COLUMNS)).alias(column.name)
        for column in analysed.output.columns
    ]
    found = values(frame.select(*asked).toArrow(), len(expressions))
    expected = values(reference.match(TABLE, text, time="id"), len(expressions))
    for number, (mine, judged) in enumerate(zip(found, expected, strict=True)):
        _compare(expressions[number], mine, judged)


def _of_row(expression: Expression) -> Expression:
    return map_references(expression, lambda reference: Reference("", reference.path))


def _compare(expression: str, found: list[Any], expected: list[Any]) -> None:
    differing = [row for row, (one, other) in enumerate(zip(found, expected, strict=True)) if one != other]
    if differing:
        row = TABLE.slice(differing[0], 1).to_pylist()[0]
        used = {name: value for name, value in row.items() if f"a.{name}" in expression}
        pytest.fail(
            f"{expression}\n  with {used}\n  is {found[differing[0]]!r}, and the reference says "
            f"{expected[differing[0]]!r}; so in {len(differing)} of {len(found)} rows"
        )


@pytest.mark.parametrize("seed", range(6))
def test_table_and_reference(seed: int) -> None:
    check_table(texts(60, seed))


@pytest.mark.spark
@pytest.mark.parametrize("seed", range(4))
def test_spark_and_reference(spark: SparkSession, seed: int) -> None:
    check_spark(frame_of(spark, TABLE), texts(50, 100 + seed))


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.parametrize("seed", range(100))
def test_five_thousand_expressions(spark: SparkSession, seed: int) -> None:
    expressions = texts(50, 1_000 + seed)
    check_table(expressions)
    check_spark(frame_of(spark, TABLE), expressions)
