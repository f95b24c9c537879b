"""Five million events in five hundred micro-batches: state and memory do not grow, and nothing is left."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import fyke
from tests.spark.live import Live, state_rows

pytestmark = [pytest.mark.spark, pytest.mark.long]

BATCHES, EVENTS, SECONDS, WINDOW = 500, 10_000, 20, 30  # the window is that many micro-batches
QUERY = f"PATTERN SEQ(A a, B b, ~C c) WHERE {{ [key] AND a.x < b.x }} WITHIN {WINDOW * SECONDS} seconds"
IDLE = 10  # each of the first micro-batches brings ten thousand keys that never come again


def micro_batch(number: int) -> pa.Table:
    rng = np.random.default_rng(number)
    ticks = np.sort(rng.integers(0, SECONDS * 1_000_000, EVENTS)) + number * SECONDS * 1_000_000
    idle = 10**6 + number * EVENTS + np.arange(EVENTS)
    return pa.table(
        {
            "ts": pa.array(ticks + 10**15, pa.timestamp("us", tz="UTC")),
            "kind": rng.choice(["A", "B", "C", "D", "E"], EVENTS, p=[0.05, 0.05, 0.3, 0.3, 0.3]),
            "key": idle if number < IDLE else rng.integers(0, 500, EVENTS),
            "x": rng.integers(0, 100, EVENTS),
        }
    )


def memory_of_workers() -> int:
    """Return the bytes that the Python workers of this process's Spark have in memory."""
    parents, sizes = {}, {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            status = dict(line.split(":", 1) for line in (path / "status").read_text().splitlines())
            parents[int(path.name)] = int(status["PPid"])
            if b"pyspark.daemon" in (path / "cmdline").read_bytes():
                sizes[int(path.name)] = int(status.get("VmRSS", "0 kB").split()[0]) * 1024
        except OSError:
            continue
    return sum(size for process, size in sizes.items() if _descends(process, parents))


def _descends(process: int, parents: dict[int, int]) -> bool:
    while process > 1 and process != os.getpid():
        process = parents.get(process, 0)
    return process == os.getpid()


def test_state_and_memory_stay_flat_and_nothing_is_left(spark: SparkSession, tmp_path: Path) -> None:
    live = Live(spark, tmp_path, micro_batch(0).schema)
    last = micro_batch(10**6).slice(0, 1)  # much later: every window is past
    batches = [*map(micro_batch, range(BATCHES)), last.set_column(1, "kind", pa.array(["none"]))]
    for batch in batches:
        live.add(batch)
    expected = fyke.match(pa.concat_tables(batches), QUERY, time="ts", type="kind")["match_id"].to_pylist()
    del batches
    spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", "2000")
    matches = fyke.match(live.events(), QUERY, time="ts", type="kind", watermark="5 seconds")
    query = live.start(matches, "out", once=True)
    memory: dict[int, int] = {}
    while query.isActive:
        done = len(query.recentProgress)
        memory[done] = memory_of_workers()
        time.sleep(0.5)
    query.awaitTermination()
    seen = [row.asDict() for each in query.recentProgress if (row := each.observedMetrics.get("fyke"))]
    rows = np.array([each["state_rows"] or 0 for each in seen if each["calls"]])
    assert sum(each["events"] for each in seen) > 0.3 * BATCHES * EVENTS
    assert sum(each["matches"] for each in seen) == len(expected) > 100
    settled, later = rows[IDLE + WINDOW : 250], rows[250:BATCHES]
    assert later.max() <= 1.1 * settled.max()
    # What a worker holds after the first windows is what it holds in the end.
    early = max(size for done, size in memory.items() if 60 <= done < 200)
    assert max(size for done, size in memory.items() if done >= 200) <= 1.15 * early
    assert state_rows(query) == 0
    written = live.written(matches, "out")["match_id"].to_pylist()
    assert sorted(written) == sorted(expected)
    print(f"rows held {settled.max():,} then {later.max():,}; workers {early:,} bytes")
