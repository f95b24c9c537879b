"""A pattern on a streaming DataFrame: watermark, rows to buckets, the stateful operator, rows of matches."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from fyke.engine.output.builders import builder_of
from fyke.plan.plan import Plan
from fyke.spark.expression import quote
from fyke.spark.prepare import arrow_columns, prepared, relevant, row_columns
from fyke.spark.session import arrange_workers
from fyke.spark.stream.buckets import BUCKET, MESSAGE, PACKED, pack_rows
from fyke.spark.stream.checks import check_plan, with_watermark
from fyke.spark.stream.processor import COUNTS, MatchProcessor

BUCKETS = 16
PROGRESS = "fyke"  # the name of the counts in the progress of a query
_STORE = "spark.sql.streaming.stateStore.providerClass"
_ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def match_stream(frame: DataFrame, plan: Plan, watermark: str | None) -> DataFrame:
    """Return the matches of a streaming DataFrame as a streaming DataFrame.

    A match is reported in the first micro-batch whose watermark makes it certain.
    """
    check_plan(plan)
    timed = with_watermark(frame, plan.schema.end, watermark)
    spark = frame.sparkSession
    arrange_workers(spark)
    if spark.conf.get(_STORE, "") != _ROCKS:
        spark.conf.set(_STORE, _ROCKS)  # the only one that this operator works with
    rows = relevant(prepared(timed, plan), plan)
    names = row_columns(plan)
    columns = arrow_columns(rows.select(*(F.col(quote(name)) for name in names)))
    schema = pa.schema(list(columns.items()))
    plain = rows.select(*(F.col(quote(name)).alias(f"c{number}") for number, name in enumerate(names)))
    packed = plain.mapInArrow(pack_rows(schema, plan.keys, BUCKETS), PACKED)
    counts = ", ".join(f"{name} bigint" for name in COUNTS)
    told = packed.groupBy(BUCKET).transformWithStateInPandas(
        MatchProcessor(plan, schema, uuid.uuid4().hex),
        f"{MESSAGE} binary, {counts}",
        "Append",
        "EventTime",
    )
    told = told.observe(PROGRESS, *(F.sum(name).alias(name) for name in COUNTS))
    result = builder_of(plan).schema
    kinds = from_arrow_schema(result, prefer_timestamp_ntz=True)
    return told.select(MESSAGE).mapInArrow(_unpack(result), kinds)


def _unpack(schema: pa.Schema) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that makes rows of messages."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for message in batch.column(0).to_pylist():
                if message:
                    table = pa.ipc.open_stream(message).read_all()
                    yield from table.cast(schema).to_batches()

    return run
