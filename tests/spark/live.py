"""Streams of files for tests: what comes in each micro-batch, and what a query has written."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming import StreamingQuery

_BUSY, _TRIES = "Python worker failed to connect back", 30


class Live:
    """A folder that files come into, one a micro-batch, and queries that read it into another."""

    def __init__(self, spark: SparkSession, root: Path, schema: pa.Schema) -> None:
        self.spark, self.root, self.schema = spark, root, schema
        self.count = 0
        (root / "in").mkdir(parents=True)

    def add(self, table: pa.Table) -> None:
        """Let a file come in."""
        # Not beside the others: a source that saw it as new as it is would take all others for too old.
        path = self.root / f"{self.count:04}.parquet"
        pq.write_table(table.cast(self.schema), path)
        os.utime(path, (1_000 + self.count,) * 2)
        path.rename(self.root / "in" / path.name)
        self.count += 1

    def events(self) -> DataFrame:
        """Return the stream."""
        schema = from_arrow_schema(self.schema, prefer_timestamp_ntz=True)
        reader = self.spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
        return reader.parquet(str(self.root / "in"))

    def start(self, frame: DataFrame, name: str, *, once: bool = False) -> StreamingQuery:
        """Write a stream to files; it goes on where it stopped, and ``once`` ends with what is there."""
        writer = frame.writeStream.format("parquet").option("path", str(self.root / name))
        writer = writer.trigger(availableNow=True) if once else writer
        return writer.option("checkpointLocation", str(self.root / f"{name}.checkpoint")).start()

    def written(self, frame: DataFrame, name: str) -> pa.Table:
        """Return what a query has written."""
        return self.spark.read.schema(frame.schema).parquet(str(self.root / name)).toArrow()


def finished(start: Callable[[], StreamingQuery]) -> StreamingQuery:
    """Start a query that ends with what is there, and wait for its end.

    On a very busy machine Spark's worker may not come up in the ten seconds that it is given.  The query is
    then started again, and goes on from its checkpoint.
    """
    for _ in range(_TRIES):
        query = start()
        try:
            query.awaitTermination()
        except StreamingQueryException as error:
            if _BUSY not in str(error):
                raise
        else:
            return query
    raise AssertionError(f"{_BUSY}, {_TRIES} times")


def die_before_the_last_commits(checkpoint: Path, count: int = 2) -> None:
    """Leave a checkpoint as a death after the sink was written, and before that was noted, leaves it."""
    numbers = sorted(int(path.name) for path in (checkpoint / "commits").glob("[0-9]*"))
    for number in numbers[-count:]:
        for name in (f"{number}", f".{number}.crc"):
            (checkpoint / "commits" / name).unlink(missing_ok=True)
    # Spark repeats one micro-batch: those after it have not begun.
    for number in numbers[len(numbers) - count + 1 :]:
        for name in (f"{number}", f".{number}.crc"):
            (checkpoint / "offsets" / name).unlink(missing_ok=True)


def settle(query: StreamingQuery) -> None:
    """Wait until a query has read all files, and has nothing to do without new ones."""
    # The first call may return because of a look at the folder that began before the last file came.
    query.processAllAvailable()
    query.processAllAvailable()


def state_rows(query: StreamingQuery) -> int:
    """Return how many rows the state of a query has."""
    progress: Any = query.lastProgress
    return sum(operator.numRowsTotal for operator in progress.stateOperators)


def counts(query: StreamingQuery) -> dict[str, int]:
    """Return what a query has counted over all its micro-batches."""
    totals: dict[str, int] = {}
    for progress in query.recentProgress:
        row = progress.observedMetrics.get("fyke")
        for name, value in (row.asDict() if row is not None else {}).items():
            totals[name] = totals.get(name, 0) + (value or 0)
    return totals
