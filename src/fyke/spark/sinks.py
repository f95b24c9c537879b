"""Rows of Spark to files, Kafka and Delta: what each of them can hold, and how they are written there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from fyke.spark.local import cancel_jobs, no_connector

_NESTED = ("struct", "array", "map")


def in_format(frame: DataFrame, kind: str) -> DataFrame:
    """Return rows as a format can hold them.

    In CSV, events and groups are JSON texts.  A message of Kafka has the whole row as JSON for its value, and
    for its key the ``match_id``, if there is one.
    """
    quoted = {name: "`" + name.replace("`", "``") + "`" for name in frame.columns}
    if kind == "kafka":
        value = F.to_json(F.struct(*quoted.values())).alias("value")
        keys = [F.col("match_id").cast("string").alias("key")] if "match_id" in frame.columns else []
        return frame.select(*keys, value)
    if kind == "csv":
        nested = [each.name for each in frame.schema.fields if each.dataType.typeName() in _NESTED]
        return frame.selectExpr(
            *(f"to_json({quoted[n]}) AS {quoted[n]}" if n in nested else quoted[n] for n in frame.columns)
        )
    return frame


def write_rows(
    frame: DataFrame, kind: str, path: str | None, options: Mapping[str, str], *, mode: str = "errorifexists"
) -> None:
    """Write a batch.  Whoever stops it gets control back when no task writes any more.

    Raises
    ------
    SparkError
        If Spark has no connector for the format.
    """
    writer = in_format(frame, kind).write.format(kind).options(**_usual(kind), **options)
    try:
        (writer if kind == "kafka" else writer.mode(mode)).save(path)
    except (KeyboardInterrupt, SystemExit):
        cancel_jobs(frame.sparkSession)
        raise
    except (PySparkException, Py4JJavaError) as error:
        raise no_connector(error, kind) or error from None


def start_sink(
    frame: DataFrame,
    kind: str,
    path: str | None,
    options: Mapping[str, str],
    *,
    name: str,
    checkpoint: str | None,
    mode: str,
    trigger: Mapping[str, Any],
    each_batch: Any = None,
) -> Any:
    """Start a stream that writes rows, or hands each micro-batch to ``each_batch``; return its query.

    Raises
    ------
    SparkError
        If Spark has no connector for the format.
    """
    try:
        rows = frame if each_batch is not None else in_format(frame, kind)
        writer = rows.writeStream.queryName(name).outputMode(mode).options(**_usual(kind), **options)
        writer = writer.trigger(**trigger) if trigger else writer
        writer = writer if checkpoint is None else writer.option("checkpointLocation", checkpoint)
        if each_batch is not None:
            return writer.foreachBatch(each_batch).start()
        return writer.format(kind).start(path)
    except (PySparkException, Py4JJavaError) as error:
        raise no_connector(error, kind) or error from None


def check_running(query: Any) -> bool:
    """Say whether a query goes on; raise what it has failed with, as Fyke's own error if it is one."""
    if query.isActive:
        return True
    query.awaitTermination()
    return False


def _usual(kind: str) -> dict[str, str]:
    return {"header": "true"} if kind == "csv" else {}
