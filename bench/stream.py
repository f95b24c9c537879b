"""Streams on Spark: matching beside an operator that only counts, and what is written to state."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
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
from bench.report import Line, Spread, show
from bench.sessions import session
from fyke.call.events import take_events
from fyke.call.options import check_options
from fyke.call.pattern import PatternCall
from fyke.engine.output.builders import builder_of
from fyke.spark.stream.buckets import BUCKET
from fyke.spark.stream.match import advanced, matched_rows, packed_rows, stored_schema
from fyke.spark.stream.processor import call_row

EVENTS, KEYS = 100_000, 20_000
QUERY = "PATTERN SEQ(A a, B b, C c) WHERE { [key] } WITHIN 10 minutes"
OPTIONS = {"time": "ts", "type": "kind"}
DELAY = "1 minute"
_SECOND = 1_000_000


class CountRows(StatefulProcessor):
    """Keeps a number for each key, and returns no match; one that ``tells`` counts its calls."""

    def __init__(self, *, tells: bool) -> None:
        self.tells = tells

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.count = handle.getValueState("count", "n bigint")

    def handleInputRows(
        self, key: Any, rows: Iterable[pd.DataFrame], timerValues: TimerValues
    ) -> Iterator[pd.DataFrame]:
        new = sum(len(frame) for frame in rows)
        held = self.count.get()
        self.count.update(((0 if held is None else held[0]) + new,))
        if self.tells:
            yield call_row(b"", calls=1, events=new)

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
    packed = packed_rows(frame, plan, stored_schema(frame, plan), DELAY, "counted")
    result = builder_of(plan).schema
    timed = frame.withWatermark("ts", DELAY).where("kind IN ('A', 'B', 'C')")
    return {
        "matched": fyke.match(frame, QUERY, **OPTIONS, watermark=DELAY),
        "counted by bucket": matched_rows(advanced(packed, BUCKET, CountRows(tells=True), "Append"), result),
        "counted by key": advanced(timed, "key", CountRows(tells=False), "Append"),
    }


def throughput(spark: SparkSession, root: Path, batches: int) -> list[Line]:
    """Compare the time of a micro-batch: matching, counting by bucket, counting by key."""
    write_files(root / "many", EVENTS, KEYS, batches, seconds=60)
    reader = spark.readStream.schema("ts timestamp, kind string, key bigint").option("maxFilesPerTrigger", 1)
    times: dict[str, list[float]] = {}
    for turn in range(3):
        for name, frame in ways(reader.parquet(str(root / "many"))).items():
            seconds, _ = run(spark, frame, root / f"{name} {turn}")
            if turn:  # a stream runs for days; in the first turn the JVM compiles, for whoever comes first
                times.setdefault(name, []).extend(seconds[2:])  # the first ones start workers
    typical = {name: median(each) for name, each in times.items()}
    note = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in typical.items())
    return [
        Line(
            f"{EVENTS:,} events of {KEYS:,} keys a micro-batch: throughput of matching / of counting",
            _ratio(times, "counted by bucket", "matched"), 0.6, "x", note, at_least=True,
        ),
        Line(
            "the same: one state call per key / matching in buckets",
            _ratio(times, "counted by key", "matched"), 5, "x", at_least=True,
        ),
    ]  # fmt: skip


def _ratio(times: dict[str, list[float]], one: str, other: str) -> Spread:
    """Return how much longer one way takes for a micro-batch, over all of them."""
    return Spread(x / y for x, y in zip(times[one], times[other], strict=True))


def written(spark: SparkSession, root: Path, batches: int) -> list[Line]:
    """Compare what is written to state with what a micro-batch brings, with a window of many of them."""
    write_files(root / "long", 10_000, 2_000, batches, seconds=60)
    spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", "1000")
    reader = spark.readStream.schema("ts timestamp, kind string, key bigint").option("maxFilesPerTrigger", 1)
    query = "PATTERN SEQ(A a, B b, ~C c) WHERE { [key] } WITHIN 1 hour"
    frame = fyke.match(reader.parquet(str(root / "long")), query, **OPTIONS, watermark="1 second")
    _, counts = run(spark, frame, root / "long checkpoint")
    late = counts[-20:]
    brought, alive = (sum(each[name] for each in late) for name in ("event_bytes", "run_bytes"))
    total = sum(each["written_bytes"] for each in late)
    note = (
        f"{total / len(late):,.0f} bytes a micro-batch, which brings {brought / len(late):,.0f} and keeps "
        f"{alive / len(late):,.0f} of runs alive; {late[-1]['state_rows']:,} rows are held"
    )
    return [
        Line(
            "bytes written to state / bytes of new rows and live runs, in a window of 60 micro-batches",
            total / (brought + alive),
            3,
            "x",
            note,
        )
    ]


def main(*, quick: bool = False) -> bool:
    """Run the benchmark; return whether every bar holds."""
    with session(2) as spark, tempfile.TemporaryDirectory(prefix="bench-stream-") as folder:
        root = Path(folder)
        lines = throughput(spark, root, 4 if quick else 8)
        if not quick:
            lines += written(spark, root, 90)
    remarks = "What is written to state takes 90 micro-batches, and only the full run." if quick else ""
    return show("streams", lines, remarks=remarks)
