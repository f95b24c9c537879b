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


class StoredBucket:
    """The state of one bucket as it was read; nothing is written back."""

    def __init__(self, small: bytes, chunks: Mapping[int, bytes]) -> None:
        self._small, self._chunks = small, chunks

    def small(self) -> bytes | None:
        """Return the part that every batch changes."""
        return self._small

    def set_small(self, data: bytes | None) -> None:
        """Write nothing."""

    def chunks(self) -> Mapping[int, bytes]:
        """Return all chunks of rows."""
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
    schema = stored_schema(frame, plan)

    def finish() -> Callable[[StoredBucket], pa.Table]:
        states, builder = StoredStates(Engine(plan), schema), builder_of(plan)
        return lambda stored: builder.rows(states.advance(states.load(stored), schema.empty_table(), None)[1])

    return finished_buckets(frame.sparkSession, checkpoint, finish, builder_of(plan).schema)


def finished_buckets(
    spark: SparkSession,
    checkpoint: str,
    finish: Callable[[], Callable[[StoredBucket], pa.Table]],
    result: pa.Schema,
) -> DataFrame:
    """Return the rows that the state of each bucket gives when nothing more comes.

    ``finish`` makes, once a task, the function that ends a bucket.

    Raises
    ------
    InputError
        If there is no state at the checkpoint.
    """
    arrange_workers(spark)
    small = _variable(spark, checkpoint, "small").select(F.col("key.*"), F.col("value.data").alias("small"))
    chunks = (
        _variable(spark, checkpoint, "chunks")
        .select(F.col("key.*"), F.col("user_map_key.number"), F.col("user_map_value.data"))
        .groupBy("bucket")
        .agg(F.collect_list("number").alias("numbers"), F.collect_list("data").alias("chunks"))
    )
    whole = small.join(chunks, "bucket", "left").select("small", "numbers", "chunks")
    kinds = from_arrow_schema(result, prefer_timestamp_ntz=True)
    return whole.mapInArrow(_ending(finish), kinds)


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


def _ending(
    finish: Callable[[], Callable[[StoredBucket], pa.Table]],
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that ends the buckets of a task."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with carrying():
            end = finish()
            for batch in batches:
                for row in batch.to_pylist():
                    chunks = dict(zip(row["numbers"] or [], row["chunks"] or [], strict=True))
                    yield from end(StoredBucket(row["small"], chunks)).to_batches()

    return run
