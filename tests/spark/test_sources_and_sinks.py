"""Sources and sinks of Spark around a pattern; what a sink holds after a death between write and commit."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import DataStreamWriter

import fyke
from tests.spark.live import Live, die_before_the_last_commits, finished
from tests.spark.streams import OPTIONS, in_time, stream, the_end
from tests.spark.tables import on_table

pytestmark = [pytest.mark.spark, pytest.mark.long]  # every micro-batch of Spark takes seconds

QUERY = "PATTERN SEQ(A a, B+ b[]) WHERE greedy_skip_till_next_match { [k] } WITHIN 20 minutes"
EVENTS = in_time(stream(120))
EXPECTED = sorted(on_table(EVENTS, QUERY, **OPTIONS)["match_id"].to_pylist())


@pytest.fixture
def live(spark: SparkSession, tmp_path: Path) -> Live:
    """A stream of two files of events, and one that ends every window."""
    source = Live(spark, tmp_path, EVENTS.schema)
    for part in (EVENTS.slice(0, 60), EVENTS.slice(60), the_end(EVENTS)):
        source.add(part)
    return source


def matches(live: Live) -> DataFrame:
    return fyke.match(live.events(), QUERY, **OPTIONS, watermark="1 minute")


def run_again(writer: DataStreamWriter, checkpoint: Path) -> None:
    """Write a stream, die before what was written is noted, and write on from there."""
    started = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    finished(started.start)
    die_before_the_last_commits(checkpoint)
    finished(started.start)


def test_files_have_each_match_once(live: Live, tmp_path: Path) -> None:
    found = matches(live)
    writer = found.writeStream.format("parquet").option("path", str(tmp_path / "out"))
    run_again(writer, tmp_path / "checkpoint")
    assert sorted(live.written(found, "out")["match_id"].to_pylist()) == EXPECTED


def test_a_table_has_each_match_once(spark: SparkSession, live: Live, tmp_path: Path) -> None:
    writer = matches(live).writeStream.format("parquet").option("path", str(tmp_path / "table"))
    writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
    try:
        finished(lambda: writer.toTable("alerts"))
        die_before_the_last_commits(tmp_path / "checkpoint")
        finished(lambda: writer.toTable("alerts"))
        assert sorted(row.match_id for row in spark.table("alerts").select("match_id").collect()) == EXPECTED
    finally:
        spark.sql("DROP TABLE IF EXISTS alerts")


def test_foreach_batch_gets_the_same_rows_under_the_same_number(live: Live, tmp_path: Path) -> None:
    told: list[tuple[int, list[str]]] = []

    def write(batch: DataFrame, number: int) -> None:
        told.append((number, sorted(row.match_id for row in batch.select("match_id").collect())))

    run_again(matches(live).writeStream.foreachBatch(write), tmp_path / "checkpoint")
    numbers = [number for number, _ in told]
    repeated = {number: rows for number, rows in told if numbers.count(number) > 1}
    assert any(repeated.values())
    assert all(rows == repeated[number] for number, rows in told if number in repeated)
    assert sorted(each for rows in dict(told).values() for each in rows) == EXPECTED


@pytest.mark.parametrize("sink", ["memory", "console", "noop"])
def test_sinks_for_tries(spark: SparkSession, live: Live, tmp_path: Path, sink: str) -> None:
    writer = matches(live).writeStream.format(sink).queryName(f"tried_{sink}")
    writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
    query = finished(writer.start)
    assert fyke.progress(query)["matches"] == len(EXPECTED)
    if sink == "memory":
        found = spark.table("tried_memory").select("match_id").collect()
        assert sorted(row.match_id for row in found) == EXPECTED


# --- sources ------------------------------------------------------------------------------------------


def collected(frame: DataFrame, tmp_path: Path, count: int) -> list[Any]:
    """Return the rows of a stream that may have no end, once there are so many."""
    rows: list[Any] = []
    writer = frame.writeStream.foreachBatch(lambda batch, _: rows.extend(batch.collect()))
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    deadline = time.monotonic() + 240
    try:
        while len(rows) < count and query.isActive and time.monotonic() < deadline:
            time.sleep(0.2)
    finally:
        query.stop()
    return rows


def test_rate(spark: SparkSession, tmp_path: Path) -> None:
    """Ten numbers each ten seconds: odd and even ones are events of two types."""
    rate = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10)
    rate = rate.option("startTimestamp", 0).option("advanceMillisPerBatch", 10_000)
    events = rate.load().selectExpr("timestamp AS ts", "IF(value % 2 = 0, 'A', 'B') AS kind", "value AS n")
    pairs = fyke.match(
        events,
        "PATTERN SEQ(A a, B b) WITHIN 30 seconds RETURN b.n - a.n AS gap",
        **OPTIONS,
        watermark="1 second",
    )
    found = collected(pairs, tmp_path, 10)
    # Those of one micro-batch are simultaneous: the first B of the next one follows all five As.
    assert sorted(row.gap for row in found[:10]) == sorted([3, 5, 7, 9, 11] * 2)


@pytest.fixture
def lines() -> Iterator[int]:
    """Serve lines of text on a port: an A and a B for each of ten keys, and one that ends every window."""
    server = socket.create_server(("127.0.0.1", 0))
    told = [f"{kind},{key},{10 * key + later}" for key in range(10) for later, kind in enumerate("AB")]

    def serve() -> None:
        connection, _ = server.accept()
        with connection:
            connection.sendall("".join(f"{line}\n" for line in [*told, "X,0,9999"]).encode())
            done.wait(120)

    done = threading.Event()
    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield server.getsockname()[1]
    done.set()
    thread.join(10)
    server.close()


def test_socket(spark: SparkSession, tmp_path: Path, lines: int) -> None:
    text = spark.readStream.format("socket").option("host", "127.0.0.1").option("port", lines).load()
    cells = F.split("value", ",")
    events = text.select(
        cells[0].alias("kind"),
        cells[1].cast("long").alias("k"),
        F.timestamp_seconds(cells[2].cast("long")).alias("ts"),
    )
    pairs = fyke.match(
        events, "PATTERN SEQ(A a, B b) WHERE { [k] } WITHIN 30 seconds", **OPTIONS, watermark="1 second"
    )
    assert sorted(row.k for row in collected(pairs, tmp_path, 10)) == list(range(10))


# --- what else a stream can return ---------------------------------------------------------------------


def test_compressed_matches_are_enumerated_on_the_stream(live: Live) -> None:
    query = "PATTERN SEQ(A a, B+ b[]) WHERE skip_till_any_match { [k] } WITHIN 20 minutes"
    graphs = fyke.match(live.events(), query, **OPTIONS, output="compressed", watermark="1 minute")
    assert graphs.isStreaming
    listed = fyke.enumerate_matches(graphs)
    finished(lambda: live.start(listed, "listed", once=True))
    finished(lambda: live.start(graphs, "graphs", once=True))
    expected = sorted(on_table(EVENTS, query, **OPTIONS)["match_id"].to_pylist())
    assert len(expected) > 20
    assert sorted(live.written(listed, "listed")["match_id"].to_pylist()) == expected
    later = pa.Table.from_batches(list(fyke.enumerate_matches(live.written(graphs, "graphs"))))
    assert sorted(later["match_id"].to_pylist()) == expected


def test_rejected_rows_are_a_stream_of_their_own(spark: SparkSession, tmp_path: Path) -> None:
    events = stream(120)
    assert events["ts"].null_count > 0
    source = Live(spark, tmp_path, events.schema)
    source.add(events)
    rejected = fyke.rejected(source.events(), time="ts")
    finished(lambda: source.start(rejected, "rejected", once=True))
    assert source.written(rejected, "rejected").num_rows == events["ts"].null_count
