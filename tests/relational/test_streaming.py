"""Relational queries on streams: in the end the rows of the batch, and watermarks as heartbeats."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import fyke
from fyke.errors import InputError
from tests.relational.cases import CASES
from tests.relational.test_spark import clocked, table
from tests.spark.tables import assert_same

pytestmark = pytest.mark.spark

KIND = pa.timestamp("us", tz="UTC")
OPTIONS: dict[str, Any] = {"time": ("start", "end"), "type": "kind"}
# An event of a type that no query names, long after all others: it brings nothing but the time.
HEARTBEAT = {"start": 10_000, "end": 10_000, "kind": "heartbeat", "name": None, "price": None}


def write(batches: list[pa.Table], source: Path) -> None:
    """Write batches as files a second apart: Spark reads them in the order of their times."""
    source.mkdir()
    for number, batch in enumerate(batches):
        pq.write_table(batch, source / f"{number}.parquet")
        os.utime(source / f"{number}.parquet", (1_700_000_000 + number,) * 2)


def streamed(
    spark: SparkSession,
    folder: Path,
    batches: list[pa.Table],
    query: Callable[[DataFrame], DataFrame],
    delay: str = "1 second",
) -> pa.Table:
    """Return the rows that a query on the stream of these batches, a file each, has brought in the end."""
    source, sink = folder / "source", folder / "sink"
    write(batches, source)
    schema = spark.read.parquet(str(source)).schema
    events = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(source))
    result = query(events.withWatermark("end", delay))
    writer = result.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    running = writer.outputMode("append").trigger(availableNow=True).start(str(sink))
    running.awaitTermination()
    return spark.read.schema(result.schema).parquet(str(sink)).toArrow()


def later(events: pa.Table) -> pa.Table:
    """Return the events as of 2001: for Spark's first watermark everything before 1970 is late."""
    seconds = {name: pc.add(events.column(name), 1_000_000_000) for name in ("start", "end")}
    columns = {name: events.column(name) for name in events.column_names}
    return clocked(pa.table({**columns, **seconds}), KIND)


def in_order(events: pa.Table, parts: int) -> list[pa.Table]:
    """Return events in order of time, in so many batches."""
    events = events.sort_by("end")
    size = -(-events.num_rows // parts)
    return [events.slice(n * size, size) for n in range(parts)]


@pytest.mark.parametrize(
    "name",
    [
        "equi-join",
        pytest.param("theta-join", marks=pytest.mark.long),
        pytest.param("three streams", marks=pytest.mark.long),
        pytest.param("stream with itself", marks=pytest.mark.long),
    ],
)
def test_join_of_streams_brings_the_rows_of_the_batch(spark: SparkSession, tmp_path: Path, name: str) -> None:
    events = later(table(lasting=False))
    text = CASES[name].text
    found = streamed(
        spark, tmp_path, in_order(events, 3), lambda stream: fyke.match(stream, text, time="end", type="kind")
    )
    assert found.num_rows > 0
    assert_same(found, fyke.match(events, text, time="end", type="kind"))


@pytest.mark.parametrize(
    "name",
    ["sliding", "one after another, by name", pytest.param("aggregates of a join", marks=pytest.mark.long)],
)
def test_aggregates_of_streams_bring_the_rows_of_the_batch(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    events, heartbeat = table(lasting=True), pa.Table.from_pylist([HEARTBEAT], table(lasting=True).schema)
    batches = [*in_order(later(events), 3), later(heartbeat)]
    found = streamed(spark, tmp_path, batches, lambda stream: fyke.match(stream, CASES[name].text, **OPTIONS))
    expected = fyke.match(later(events), CASES[name].text, **OPTIONS)
    assert found.num_rows > 0
    assert_same(found, expected)


def test_window_is_reported_when_a_heartbeat_says_that_it_is_over(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The windows that end after the last watermark are not over yet."""
    text = "SELECT COUNT(*) AS n FROM [RANGE 10 SEC] A"
    base = datetime(2026, 1, 1, tzinfo=timezone.utc)
    rows = [
        {"end": base + timedelta(seconds=s), "kind": k} for s, k in [(1, "A"), (2, "A"), (12, "A"), (15, "B")]
    ]
    events = pa.Table.from_pylist(rows, pa.schema([("end", KIND), ("kind", pa.string())]))
    batches = [events.slice(0, 2), events.slice(2, 1), events.slice(3, 1)]
    found = streamed(
        spark, tmp_path, batches, lambda stream: fyke.match(stream, text, time="end", type="kind")
    )
    assert [(row["start"], row["n"]) for row in found.to_pylist()] == [(base, 2)]


def test_join_forgets_what_no_later_event_can_join(spark: SparkSession, tmp_path: Path) -> None:
    base = datetime(2026, 1, 1, tzinfo=timezone.utc)
    schema = pa.schema([("end", KIND), ("kind", pa.string()), ("price", pa.int64())])
    rows = [{"end": base + timedelta(minutes=n), "kind": "AB"[n % 2], "price": n} for n in range(60)]
    events = pa.Table.from_pylist(rows, schema)
    text = "SELECT A.price, B.price FROM [RANGE 1 min] A; B WHERE A.price < B.price"
    progress: list[Any] = []

    def query(stream: DataFrame) -> DataFrame:
        return fyke.match(stream, text, time="end", type="kind")

    source = tmp_path / "source"
    write(in_order(events, 6), source)
    stream = spark.readStream.schema(spark.read.parquet(str(source)).schema)
    frame = stream.option("maxFilesPerTrigger", 1).parquet(str(source)).withWatermark("end", "1 second")
    writer = query(frame).writeStream.format("noop").option("checkpointLocation", str(tmp_path / "c"))
    running = writer.trigger(availableNow=True).start()
    running.awaitTermination()
    progress = [each["stateOperators"][0]["numRowsTotal"] for each in running.recentProgress]
    assert max(progress) <= 30, progress


def test_stream_needs_a_watermark_and_a_timestamp(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(clocked(table(lasting=False), KIND), tmp_path / "0.parquet")
    schema = spark.read.parquet(str(tmp_path)).schema
    stream = spark.readStream.schema(schema).parquet(str(tmp_path))
    text = "SELECT COUNT(*) FROM [RANGE 10 SEC] A"
    with pytest.raises(InputError) as caught:
        fyke.match(stream, text, time="end", type="kind")
    assert str(caught.value) == (
        "the stream 'A' has no watermark on 'end', so no window of it is ever over\n"
        "Say how late events may be: events.withWatermark('end', '10 minutes')."
    )
    with pytest.raises(InputError, match="and Spark has watermarks for timestamps only"):
        fyke.match(stream, text, time="price", type="kind", time_unit="s")


def test_aggregates_of_aggregates(spark: SparkSession, tmp_path: Path) -> None:
    """A program of relational queries runs on a stream too: the end of a window is an event time."""
    program = fyke.program(
        """
        Total: SELECT SUM(price) AS total FROM [RANGE 5 SEC] A;
        Best: SELECT MAX(total) AS best, COUNT(*) AS n FROM [RANGE 20 SEC] Total
        """
    )
    events = later(table(lasting=False, rows=120))
    heartbeat = pa.Table.from_pylist([HEARTBEAT], table(lasting=False).schema)
    batches = [*in_order(events, 3), later(heartbeat)]
    options: dict[str, Any] = {"time": "end", "type": "kind"}
    found = streamed(
        spark, tmp_path, batches, lambda stream: program.run(stream, outputs=["Best"], **options)["Best"]
    )
    assert found.num_rows > 1
    assert_same(found, program.run(events, **options)["Best"])


PROGRAMS = {
    "aggregate of a join": """
        Pair: SELECT A.price AS a, B.price AS b FROM [RANGE 4 SEC] A; B WHERE A.name = B.name;
        Last: SELECT COUNT(*) AS n, SUM(a) AS total FROM [RANGE 10 SEC SLIDE 5] Pair
    """,
    "join of a join": """
        Pair: SELECT A.price AS a, B.price AS b FROM [RANGE 4 SEC] A; B WHERE A.price < B.price;
        Last: SELECT Pair.a, Pair.b, C.price AS c FROM [RANGE 6 SEC] Pair; C WHERE Pair.a <= C.price
    """,
    "aggregate of a join of a join": """
        Pair: SELECT A.price AS a, B.name AS name FROM [RANGE 4 SEC] A; B WHERE A.price < B.price;
        Three: SELECT Pair.a, C.price AS c FROM [RANGE 6 SEC] Pair; C WHERE Pair.name = C.name;
        Last: SELECT COUNT(*) AS n, SUM(c) AS total FROM [RANGE 10 SEC] Three
    """,
    "aggregate of three streams": """
        Three: SELECT A.price AS a FROM [RANGE 4 SEC] A; B; C WHERE A.price < B.price AND A.name = C.name;
        Last: SELECT COUNT(*) AS n, SUM(a) AS total FROM [RANGE 10 SEC] Three
    """,
    "join of an aggregate": """
        Total: SELECT SUM(price) AS total FROM [RANGE 5 SEC] A;
        Last: SELECT Total.total, B.price FROM [RANGE 8 SEC] Total; B WHERE total > price
    """,
}


QUICK = "aggregate of a join"  # the others take half a minute each


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == QUICK else pytest.mark.long) for name in PROGRAMS]
)
def test_queries_of_a_streaming_program_read_joins(spark: SparkSession, tmp_path: Path, name: str) -> None:
    """The end of a joined event is an event time too, and no event within its delay is lost on the way."""
    program = fyke.program(PROGRAMS[name])
    events = later(table(lasting=False, rows=90))
    delays = np.random.default_rng(7).integers(0, 6_000_000, events.num_rows)
    arrival = np.argsort(events.column("end").cast(pa.int64()).to_numpy() + delays, kind="stable")
    heartbeats = [
        later(pa.Table.from_pylist([{**HEARTBEAT, "start": at, "end": at}], table(lasting=False).schema))
        for at in (10_000, 11_000)
    ]
    size = -(-events.num_rows // 5)
    batches = [events.take(pa.array(arrival[n : n + size])) for n in range(0, events.num_rows, size)]
    options: dict[str, Any] = {"time": "end", "type": "kind"}
    found = streamed(
        spark,
        tmp_path,
        [*batches, *heartbeats],
        lambda stream: program.run(stream, outputs=["Last"], **options)["Last"],
        delay="6 seconds",
    )
    assert found.num_rows > 1
    assert_same(found, program.run(events, **options)["Last"])


def test_pattern_on_a_stream_is_refused_in_a_program_too(spark: SparkSession, tmp_path: Path) -> None:
    write([later(table(lasting=False))], tmp_path / "source")
    schema = spark.read.parquet(str(tmp_path / "source")).schema
    stream = (
        spark.readStream.schema(schema).parquet(str(tmp_path / "source")).withWatermark("end", "1 second")
    )
    program = fyke.program("X: SELECT price FROM [RANGE 1 SEC] A; Y: PATTERN SEQ(X a, X b) WITHIN 1 min")
    with pytest.raises(InputError, match="the events are a stream"):
        program.run(stream, time="end", type="kind")
