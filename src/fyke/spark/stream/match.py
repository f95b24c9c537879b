"""A pattern on a streaming DataFrame: watermark, rows to buckets, the stateful operator, rows of matches."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import NoReturn

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from fyke.engine.output.builders import builder_of
from fyke.engine.output.rows import ResultBuilder
from fyke.errors import StreamError
from fyke.plan.plan import Plan
from fyke.spark.expression import quote, rejected_sql
from fyke.spark.prepare import arrow_columns, prepared, relevant, row_columns
from fyke.spark.session import arrange_workers
from fyke.spark.stream.buckets import BUCKET, MESSAGE, PACKED, pack_rows
from fyke.spark.stream.checks import check_plan, use_rocksdb, with_watermark
from fyke.spark.stream.processor import COUNTS, MatchProcessor
from fyke.spark.stream.progress import PROGRESS, REJECTED
from fyke.spark.stream.totals import result_schema

BUCKETS = 16


def match_stream(frame: DataFrame, plan: Plan, watermark: str | None) -> DataFrame:
    """Return the matches of a streaming DataFrame as a streaming DataFrame.

    A match is reported in the first micro-batch whose watermark makes it certain.  Aggregates over matches
    are running totals, in update mode.
    """
    check_plan(plan)
    schema = stored_schema(frame, plan)
    operator = uuid.uuid4().hex
    packed = packed_rows(frame, plan, schema, watermark, operator)
    processor = MatchProcessor(plan, schema, operator)
    told = advanced(packed, BUCKET, processor, "Update" if plan.result.over_matches else "Append")
    builder = builder_of(plan)
    result = result_schema(builder) if isinstance(builder, ResultBuilder) else builder.schema
    matches = matched_rows(told, result)
    if plan.result.over_matches:
        _refuse_aggregates(matches)
    return matches


def _refuse_aggregates(totals: DataFrame) -> None:
    """Let running totals not be aggregated again: Spark would add up each total and the later ones of it."""

    def refuse(*_columns: object, **_options: object) -> NoReturn:
        raise StreamError(
            "running totals over matches cannot be aggregated further on a stream: "
            "each micro-batch returns the totals that have changed, so a match would count again and again",
            remedy="Write the totals to a table, and aggregate what it holds. "
            "Or return the rows of matches, and aggregate them.",
        )

    for name in ("agg", "cube", "groupBy", "groupby", "groupingSets", "rollup"):
        setattr(totals, name, refuse)


def advanced(frame: DataFrame, key: str, processor: StatefulProcessor, mode: str) -> DataFrame:
    """Return what the stateful operator returns; its counts are in Spark's progress."""
    counts = ", ".join(f"{name} bigint" for name in COUNTS)
    told = frame.groupBy(key).transformWithStateInPandas(
        processor, f"{MESSAGE} binary, {counts}", mode, "EventTime"
    )
    return told.observe(PROGRESS, *(F.sum(name).alias(name) for name in COUNTS))


def matched_rows(told: DataFrame, schema: pa.Schema) -> DataFrame:
    """Return the rows of the messages that the operator returns."""
    kinds = from_arrow_schema(schema, prefer_timestamp_ntz=True)
    return told.select(MESSAGE).mapInArrow(unpack(schema), kinds)


def packed_rows(
    frame: DataFrame, plan: Plan, schema: pa.Schema, watermark: str | None, operator: str
) -> DataFrame:
    """Return the rows that a plan looks at as messages, one for each bucket, task and micro-batch."""
    timed = with_watermark(frame, plan.schema.end, watermark)
    arrange_workers(frame.sparkSession)
    use_rocksdb(frame.sparkSession)
    untimed = F.count_if(F.expr(rejected_sql(plan.schema.time)))
    rows = relevant(prepared(timed.observe(REJECTED, untimed.alias("rejected")), plan), plan)
    plain = rows.select(*(F.col(quote(name)).alias(f"c{number}") for number, name in enumerate(schema.names)))
    # A total must not be in several buckets.
    apart = plan.partition if plan.result.over_matches and plan.keys else plan.keys
    return plain.mapInArrow(pack_rows(schema, apart, BUCKETS, operator), PACKED)


def stored_schema(frame: DataFrame, plan: Plan) -> pa.Schema:
    """Return the schema of the rows that the operator reads and keeps."""
    rows = prepared(frame, plan).select(*(F.col(quote(name)) for name in row_columns(plan)))
    return pa.schema(list(arrow_columns(rows).items()))


def unpack(schema: pa.Schema) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that makes rows of messages."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            found = [pa.ipc.open_stream(each).read_all() for each in batch.column(0).to_pylist() if each]
            if found:
                yield from pa.concat_tables(found).cast(schema).combine_chunks().to_batches()

    return run
