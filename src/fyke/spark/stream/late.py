"""Late rows as a stream of their own.

Spark drops rows behind the watermark before most of its operators see them, so they are split off by an
operator that keeps no state: it only asks for the watermark of the micro-batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle, TimerValues

from fyke.spark.expression import quote
from fyke.spark.prepare import arrow_columns
from fyke.spark.session import arrange_workers
from fyke.spark.stream.buckets import BUCKET, MESSAGE, PACKED, from_bytes, packed_batch, to_bytes
from fyke.spark.stream.checks import check_time, is_late, use_rocksdb, watermark_of, with_watermark
from fyke.spark.stream.match import BUCKETS, unpack


class LateProcessor(StatefulProcessor):
    """Lets through the rows that are not after the watermark of their micro-batch."""

    def __init__(self, schema: pa.Schema, time: str) -> None:
        self.schema, self.time = schema, time

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Keep no state."""

    def handleInputRows(
        self, key: Any, rows: Iterable[pd.DataFrame], timerValues: TimerValues
    ) -> Iterator[pd.DataFrame]:
        """Return late rows as one message."""
        table = from_bytes([message for frame in rows for message in frame[MESSAGE]], self.schema)
        late = table.filter(pa.array(is_late(table, self.time, watermark_of(timerValues))))
        if late.num_rows:
            yield pd.DataFrame({MESSAGE: [to_bytes(late)]})

    def close(self) -> None:
        """Keep nothing open."""


def late_rows(frame: DataFrame, time: str, watermark: str | None) -> DataFrame:
    """Return the rows of a stream that come later than its watermark allows, as they are."""
    columns = arrow_columns(frame)
    check_time(time, columns[time])
    timed = with_watermark(frame, time, watermark)
    use_rocksdb(frame.sparkSession)
    arrange_workers(frame.sparkSession)
    schema = pa.schema(list(columns.items()))
    plain = timed.where(F.col(quote(time)).isNotNull()).select(
        *(F.col(quote(name)).alias(f"c{number}") for number, name in enumerate(schema.names))
    )
    packed = plain.mapInArrow(_pack(schema), PACKED)
    told = packed.groupBy(BUCKET).transformWithStateInPandas(
        LateProcessor(schema, time), f"{MESSAGE} binary", "Append", "EventTime"
    )
    return told.mapInArrow(unpack(schema), frame.schema)


def _pack(schema: pa.Schema) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that makes one message of the rows of a task."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        named = [batch.rename_columns(schema.names) for batch in batches if batch.num_rows]
        if named:
            task = TaskContext.get()
            bucket = 0 if task is None else task.partitionId() % BUCKETS
            yield packed_batch(bucket, pa.Table.from_batches(named).cast(schema))

    return run
