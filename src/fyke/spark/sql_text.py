"""Texts of Spark SQL that name DataFrames of Python in places where a table stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from fyke.errors import SparkError


def named_frame(number: int) -> str:
    """Return the name of a DataFrame, as :func:`run_sql` takes it."""
    return f"fyke{number}"


def placeholder(number: int) -> str:
    """Return what stands for a DataFrame in a text."""
    return f"{{{named_frame(number)}}}"


def plain_text(sql: str) -> str:
    """Return a text without DataFrames in such a way that braces in it are just braces."""
    return sql.replace("{", "{{").replace("}", "}}")


def run_sql(
    spark: SparkSession, sql: str, parameters: Mapping[str, Any], frames: Mapping[str, DataFrame]
) -> DataFrame:
    """Return the result of a statement in which placeholders stand for DataFrames; errors are Spark's own.

    Spark knows each DataFrame by a random name while it analyses the statement.  On classic sessions that is
    a temporary view, which is dropped then; on Connect nothing is registered at all.
    """
    # Spark looks for placeholders only if there is something to put in their place.
    text = sql if frames else sql.replace("{{", "{").replace("}}", "}")
    return spark.sql(text, args=dict(parameters) or None, **frames)


def read_table(
    spark: SparkSession, sql: str, parameters: Mapping[str, Any], frames: Mapping[str, DataFrame]
) -> DataFrame:
    """Return what :func:`run_sql` returns for a query.

    Raises
    ------
    SparkError
        With the first line of what Spark says.
    """
    try:
        frame = run_sql(spark, sql, parameters, frames)
        frame.schema  # noqa: B018 - Connect analyses it only now
    except PySparkException as error:
        raise SparkError(next(line for line in str(error).split("\n") if line.strip())) from error
    return frame
