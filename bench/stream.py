"""Streams on Spark: matching beside an operator that only counts, and what is written to state."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle, TimerValues

import fyke
from bench.report import Line, show
from fyke.call.events import take_events
from fyke.call.options import check_options
from fyke.call.pattern import PatternCall
from fyke.spark.stream.buckets import BUCKET, MESSAGE
from fyke.spark.stream.match import packed_rows, stored_schema

EVENTS, KEYS, BATCHES = 100_000, 20_000, 8
QUERY = "PATTERN SEQ(A a, B b, C c) WHERE { [key] } WITHIN 10 minutes"
OPTIONS = {"time": "ts", "type": "kind"}
DELAY = "1 minute"
_SECOND = 1_000_000


class CountRows(StatefulProcessor):
    """Keeps a number for each key, and returns nothing."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.count = handle.getValueState("count", "n bigint")

    def handleInputRows(
        self, key: Any, rows: Iterable[pd.DataFrame], timerValues: TimerValues
    ) -> Iterator[pd.DataFrame]:
        new = sum(len(frame) for frame in rows)
        held = self.count.get()
        self.count.update(((0 if held is None else held[0]) + new,))
        return iter(())

    def close(self) -> None:
        pass


def write_files(folder: Path, events: int, keys: int, batches: int, seconds: int) -> None:
    """Write a file for each micro-batch, which covers so many seconds."""
    folder.mkdir(parents=True)
    for number in range(batches):
        rng = np.random.default_rng(number)
        ticks = np.sort(rng.integers(0, seconds * _SECOND, events)) + number * seconds * _SECOND
        rows = pa.table(
            {
                "ts": pa.array(ticks + 10**15, pa.timestamp("us", tz="UTC")),
                "kind": rng.choice(list("ABCDEFGHIJ"), events),
                "key": rng.integers(0, keys, events),
            }
        )
        pq.write_table(rows, folder / f"{number:05}.parquet")


def run(spark: SparkSession, frame: DataFrame, folder: Path) -> tuple[list[float], list[dict[str, Any]]]:
    """Return the seconds that each micro-batch with data has taken, and what was counted in it."""
    query = (
        frame.writeStream.format("noop")
        .option("checkpointLocation", str(folder))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    told = [each for each in query.recentProgress if each.numInputRows]
    counted = [each.observedMetrics.get("fyke") for each in told]
    return (
        [each.durationMs["addBatch"] / 1_000 for each in told],
        [{} if row is None else row.asDict() for row in counted],
    )


def ways(frame: DataFrame) -> dict[str, DataFrame]:
    """Return the same events matched, counted by bucket, and counted by key."""
    options = check_options(QUERY, **OPTIONS, watermark=DELAY)
    plan = PatternCall(take_events(frame), options).plan()
    packed = packed_rows(frame, plan, stored_schema(frame, plan), DELAY)
    timed = frame.withWatermark("ts", DELAY).where("kind IN ('A', 'B', 'C')")
    return {
        "matched": fyke.match(frame, QUERY, **OPTIONS, watermark=DELAY),
        "counted by bucket": packed.groupBy(BUCKET).transformWithStateInPandas(
            CountRows(), f"{MESSAGE} binary", "Append", "EventTime"
        ),
        "counted by key": timed.groupBy("key").transformWithStateInPandas(
            CountRows(), f"{MESSAGE} binary", "Append", "EventTime"
        ),
    }


def throughput(spark: SparkSession, root: Path) -> list[Line]:
    """Compare the time of a micro-batch: matching, counting by bucket, counting by key."""
    write_files(root / "many", EVENTS, KEYS, BATCHES, seconds=60)
    reader = spark.readStream.schema("ts timestamp, kind string, key bigint").option("maxFilesPerTrigger", 1)
    times: dict[str, list[float]] = {}
    for turn in range(2):
        for name, frame in ways(reader.parquet(str(root / "many"))).items():
            seconds, _ = run(spark, frame, root / f"{name} {turn}")
            times.setdefault(name, []).extend(seconds[2:])  # the first ones start workers
    typical = {name: median(each) for name, each in times.items()}
    note = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in typical.items())
    return [
        Line(
            f"{EVENTS:,} events of {KEYS:,} keys a micro-batch: throughput of matching / of counting",
            typical["counted by bucket"] / typical["matched"], 0.6, "x", note, at_least=True,
        ),
        Line(
            "the same: one state call per key / matching in buckets",
            typical["counted by key"] / typical["matched"], 5, "x", at_least=True,
        ),
    ]  # fmt: skip


def written(spark: SparkSession, root: Path, batches: int = 240) -> list[Line]:
    """Compare what is written to state with what a micro-batch brings, with a window of many of them."""
    rows = 2_000
    write_files(root / "long", rows, 500, batches, seconds=15)
    spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", "1000")
    reader = spark.readStream.schema("ts timestamp, kind string, key bigint").option("maxFilesPerTrigger", 1)
    query = "PATTERN SEQ(A a, B b, ~C c) WHERE { [key] } WITHIN 1 hour"
    frame = fyke.match(reader.parquet(str(root / "long")), query, **OPTIONS, watermark="1 second")
    _, counts = run(spark, frame, root / "long checkpoint")
    late = counts[-40:]
    brought = sum(each["events"] for each in late) * 30  # bytes of a row: time, type, key, roles
    alive = sum(each["live_runs"] for each in late) * 100
    total = sum(each["written_bytes"] for each in late)
    note = (
        f"{total / len(late):,.0f} bytes a micro-batch, which brings {brought / len(late):,.0f} and keeps "
        f"{alive / len(late):,.0f} of runs alive; {late[-1]['state_rows']:,} rows are held"
    )
    return [
        Line(
            "bytes written / three times the new rows and live runs",
            total / (3 * brought + alive),
            1,
            "x",
            note,
        )
    ]


def main() -> bool:
    """Run the benchmark; return whether every bar holds."""
    builder = SparkSession.builder.master("local[2]").appName("bench")
    builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.ui.enabled", "false")
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    root = Path(tempfile.mkdtemp(prefix="bench-stream-"))
    try:
        parts: list[Callable[[SparkSession, Path], list[Line]]] = [throughput, written]
        return show("streams", [line for part in parts for line in part(spark, root)])
    finally:
        spark.stop()
        shutil.rmtree(root)
