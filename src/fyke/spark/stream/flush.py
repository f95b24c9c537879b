"""The end of a stream that has stopped: the matches that its state still holds open, as a batch.

A stream cannot know that nothing will come any more.  When it has stopped, its state can be read from the
checkpoint with Spark's reader of state stores, and the engine told that this was all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from fyke.engine.engine import Engine
from fyke.engine.output.builders import builder_of
from fyke.engine.stored_state import StoredStates
from fyke.errors import InputError, StreamError
from fyke.plan.plan import Plan
from fyke.spark.session import arrange_workers
from fyke.spark.stream.checks import check_plan
from fyke.spark.stream.match import stored_schema
from fyke.spark.worker_errors import carrying


class _Stored:
    """The state of one bucket as it was read; nothing is written back."""

    def __init__(self, small: bytes, chunks: Mapping[int, bytes]) -> None:
        self._small, self._chunks = small, chunks

    def small(self) -> bytes | None:
        return self._small

    def set_small(self, data: bytes | None) -> None:
        """Write nothing."""

    def chunks(self) -> Mapping[int, bytes]:
        return self._chunks

    def add_chunk(self, number: int, data: bytes) -> None:
        """Write nothing."""

    def drop_chunk(self, number: int) -> None:
        """Write nothing."""


def flush_checkpoint(frame: DataFrame, plan: Plan, checkpoint: str) -> DataFrame:
    """Return the matches that the stream of a checkpoint would report if its events had ended.

    Raises
    ------
    InputError, StreamError
        If there is no state of a pattern at the checkpoint, or it is one of running totals.
    """
    check_plan(plan)
    if plan.result.over_matches:
        raise StreamError(
            "the matches of aggregates over matches cannot be flushed: they are counted, not kept",
            remedy="Let the stream return the matches, flush these, and aggregate both.",
        )
    spark = frame.sparkSession
    arrange_workers(spark)
    small = _variable(spark, checkpoint, "small").select(F.col("key.*"), F.col("value.data").alias("small"))
    chunks = (
        _variable(spark, checkpoint, "chunks")
        .select(F.col("key.*"), F.col("user_map_key.number"), F.col("user_map_value.data"))
        .groupBy("bucket")
        .agg(F.collect_list("number").alias("numbers"), F.collect_list("data").alias("chunks"))
    )
    whole = small.join(chunks, "bucket", "left").select("small", "numbers", "chunks")
    result = builder_of(plan).schema
    kinds = from_arrow_schema(result, prefer_timestamp_ntz=True)
    return whole.mapInArrow(_finish(plan, stored_schema(frame, plan)), kinds)


def _variable(spark: SparkSession, checkpoint: str, name: str) -> DataFrame:
    """Return what a state variable holds."""
    try:
        return spark.read.format("statestore").option("stateVarName", name).load(checkpoint)
    except PySparkException as error:
        raise InputError(
            f"there is no state of a pattern at the checkpoint {checkpoint!r}",
            remedy="Give the checkpointLocation of a stopped query that writes matches. "
            f"Spark says: {str(error).splitlines()[0]}",
        ) from None


def _finish(plan: Plan, schema: pa.Schema) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that ends each bucket."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with carrying():
            states, builder = StoredStates(Engine(plan), schema), builder_of(plan)
            for batch in batches:
                for row in batch.to_pylist():
                    chunks = dict(zip(row["numbers"] or [], row["chunks"] or [], strict=True))
                    held = states.load(_Stored(row["small"], chunks))
                    _, found = states.advance(held, schema.empty_table(), None)
                    yield from builder.rows(found).to_batches()

    return run
