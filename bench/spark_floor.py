"""Spark end to end against its floor: the same read, filter, shuffle and sort, and an empty result."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import fyke
from bench.peer_cases import CASES, OPTIONS, cores, typed
from bench.report import Line, interleaved, show
from bench.sessions import session

AT_MOST = 1.3  # times the floor
PART = 1_000_000  # rows made at once
WARM = 3  # runs before those that count: Spark compiles what it runs often
CASE = CASES[0]


def write_events(file: Path, rows: int, *, keys: int = 1_000) -> None:
    """Write events part by part, so that no more than one part is in memory."""
    writer = None
    for number, begin in enumerate(range(0, rows, PART)):
        part = typed(min(PART, rows - begin), keys=keys, seed=number).drop_columns(["x", "y"])
        part = part.set_column(0, "t", pa.array(range(begin, begin + part.num_rows), pa.int64()))
        writer = writer or pq.ParquetWriter(file, part.schema)
        writer.write_table(part, row_group_size=PART // 4)
    if writer is not None:
        writer.close()


def _nothing(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield batch.slice(0, 0).select([0])


def floor(spark: SparkSession, file: Path) -> int:
    """Bring the rows that a keyed sequence of three needs to Python, in order, and return nothing."""
    frame = spark.read.parquet(str(file)).where("kind IN ('A', 'B', 'C')").select("t", "kind", "key")
    frame = frame.repartition("key").sortWithinPartitions("key", "t")
    return frame.mapInArrow(_nothing, "t bigint").count()


def compare(spark: SparkSession, folder: Path, rows: int, times: int) -> Line:
    """Compare three in sequence, counted, with the floor."""
    file = folder / f"{rows}.parquet"
    write_events(file, rows)
    found = 0

    def matched() -> int:
        nonlocal found
        found = fyke.match(spark.read.parquet(str(file)), CASE.query, **OPTIONS).count()
        return found

    for _ in range(WARM):
        matched(), floor(spark, file)
    works = {"floor": lambda: floor(spark, file), "fyke": matched}
    timed = interleaved(times, works, clock=time.perf_counter)
    note = f"{found:,} matches, {timed.best('fyke'):.1f} s beside {timed.best('floor'):.1f} s at best"
    what = f"three in sequence, keyed, {rows:,} rows: Spark end to end / floor"
    return Line(what, timed.ratio("fyke", "floor"), AT_MOST, "x", note)


def main(*, quick: bool = False) -> bool:
    """Run the benchmark; return whether every bar holds."""
    sizes = {2_000_000: 3} if quick else {5_000_000: 5, 50_000_000: 3}
    with session(cores()) as spark, tempfile.TemporaryDirectory(prefix="bench-floor-") as folder:
        lines = [compare(spark, Path(folder), rows, times) for rows, times in sizes.items()]
    return show("Spark against its floor", lines)
