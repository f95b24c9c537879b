"""Spark end to end against its own floor, on one and two cores: keyed, without a key, one hot key; ``auto``.

The floor is the same read, filter, shuffle and sort, and a function that looks at every batch and returns its
number of rows.  Each number of cores has a Spark of its own, in a process of its own, and they take turns.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import fyke
from bench.report import Line, Spread, show

OPTIONS = {"time": "t", "type": "kind", "unique_order": True}
HEAD = "PATTERN SEQ(A a, B b, C c) WHERE skip_till_any_match"
QUERIES = {
    "keyed": f"{HEAD} {{ [key] AND a.x < b.x }} WITHIN 20000",
    "no key": f"{HEAD} {{ a.x < b.x AND b.x < c.x }} WITHIN 30",
    "one hot key": f"{HEAD} {{ [hot] AND a.x < b.x AND b.x < c.x }} WITHIN 40",
}
ENGINES = ("automaton", "lazy_chain", "lazy_tree", "tree")
_SLICE = 1 << 20


def write_events(folder: Path, rows: int, keys: int = 1_000) -> Path:
    """Write events as Parquet, in files of about five million rows, and return their folder."""
    target = folder / f"events-{rows}-{keys}"
    target.mkdir()
    for number, first in enumerate(range(0, rows, 5_000_000)):
        count = min(5_000_000, rows - first)
        rng = np.random.default_rng(first)
        hot = np.where(rng.random(count) < 0.7, 7, rng.integers(0, keys, count))
        table = pa.table(
            {
                "t": np.arange(first, first + count),
                "kind": np.array(list("ABCDEFGH"))[rng.integers(0, 8, count)],
                "key": rng.integers(0, keys, count),
                "hot": hot,
                "x": rng.random(count),
            }
        )
        pq.write_table(table, target / f"{number:04}.parquet", row_group_size=_SLICE)
    return target


# --- in a process with a Spark of its own -------------------------------------------------------------


def _floor(frame: DataFrame, key: str) -> int:
    """Read, filter, shuffle and sort as a keyed match does, and count the rows in Python."""

    def look(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"rows": pa.array([sum(batch.num_rows for batch in batches)], pa.int64())})

    kept = frame.where(F.col("kind").isin("A", "B", "C")).select("t", "kind", key, "x")
    role = F.when(F.col("kind") == "A", 1).when(F.col("kind") == "B", 2).otherwise(4).cast("long")
    rows = kept.withColumn("role", role).repartition(key).sortWithinPartitions(key, "t")
    return int(rows.mapInArrow(look, "rows long").agg(F.sum("rows")).collect()[0][0])


def _works(frame: DataFrame) -> dict[str, Any]:
    works: dict[str, Any] = {"floor": lambda: _floor(frame, "key")}
    for name, query in QUERIES.items():
        works[name] = lambda query=query: fyke.match(frame, query, **OPTIONS).count()
        for engine in ENGINES:
            works[f"{name}, {engine}"] = lambda query=query, engine=engine: fyke.match(
                frame, query, engine=engine, **OPTIONS
            ).count()
    works["memory"] = lambda: _worker_memory(frame)
    return works


def _worker_memory(frame: DataFrame) -> int:
    """Return the most memory, in MB, that a Python worker has ever held."""

    def look(_: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        lines = Path("/proc/self/status").read_text().splitlines()
        peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
        yield pa.record_batch({"mb": pa.array([peak // 1024], pa.int64())})

    found = frame.limit(64).repartition(8).mapInArrow(look, "mb long")
    return int(found.agg(F.max("mb")).collect()[0][0])


def serve(cores: int) -> None:
    """Do what lines of the standard input ask for, and print what it gave and how long it took."""
    builder = SparkSession.builder.master(f"local[{cores}]").config("spark.ui.enabled", "false")
    spark = (
        builder.config("spark.sql.shuffle.partitions", "8").config("spark.driver.memory", "6g").getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    for line in sys.stdin:
        asked = json.loads(line)
        work = _works(spark.read.parquet(asked["path"]))[asked["work"]]
        begin = time.perf_counter()
        result = work()
        print(json.dumps({"result": result, "seconds": time.perf_counter() - begin}), flush=True)
    spark.stop()


# --- the measuring process --------------------------------------------------------------------------------


class _Server:
    """A process with a Spark on so many cores."""

    def __init__(self, cores: int) -> None:
        command = [sys.executable, "-m", "bench.spark_cores", str(cores)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def ask(self, path: Path, work: str) -> tuple[int, float]:
        """Return the result of a work, and its seconds."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"path": str(path), "work": work}) + "\n")
        self.process.stdin.flush()
        told = json.loads(self.process.stdout.readline())
        return int(told["result"]), float(told["seconds"])

    def close(self) -> None:
        """End it."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(60)


def _times(server: _Server, path: Path, works: list[str], rounds: int) -> dict[str, list[float]]:
    """Return the seconds of works that take turns, after each has run once."""
    for work in works:
        server.ask(path, work)
    taken: dict[str, list[float]] = {work: [] for work in works}
    for _ in range(rounds):
        for work in works:
            taken[work].append(server.ask(path, work)[1])
    return taken


def _ratio(one: list[float], other: list[float]) -> Spread:
    return Spread(x / y for x, y in zip(one, other, strict=True))


def _against_floor(two: _Server, path: Path, rows: int, rounds: int) -> list[Line]:
    taken = _times(two, path, ["floor", "keyed"], rounds)
    note = f"{rows:,} events, two cores"
    return [Line("keyed / floor", _ratio(taken["keyed"], taken["floor"]), 1.3, "x", note)]


def _cores(one: _Server, two: _Server, path: Path, rows: int, rounds: int) -> list[Line]:
    lines = []
    for name in ("no key", "one hot key"):
        found = {server.ask(path, name)[0] for server in (one, two)}
        assert len(found) == 1, f"{name}: {found}"
        pairs = [(one.ask(path, name)[1], two.ask(path, name)[1]) for _ in range(rounds)]
        ratio = Spread(x / y for x, y in pairs)
        note = f"{rows:,} events, {found.pop():,} matches"
        lines.append(Line(f"{name}: one core / two", ratio, 1.7, "x", note, at_least=True))
    return lines


def _engines(two: _Server, path: Path, names: Iterable[str], rounds: int) -> list[Line]:
    """Compare what each task chooses with the engine that is the fastest if all tasks are told to take it."""
    lines = []
    for name in names:
        forced = [f"{name}, {engine}" for engine in ENGINES]
        taken = _times(two, path, [name, *forced], rounds)
        best = min(forced, key=lambda work: min(taken[work]))
        ratio = _ratio(taken[name], taken[best])
        lines.append(Line(f"{name}: auto / best engine", ratio, 1.5, "x", f"best: {best.split(', ')[1]}"))
    return lines


def _growth(two: _Server, folder: Path, small: Path, rows: int, rounds: int) -> list[Line]:
    large, keys = write_events(folder, 10 * rows), write_events(folder, rows, 1_000_000)
    base = _times(two, small, ["keyed"], rounds)["keyed"]
    tenfold, many = (_times(two, path, ["keyed"], rounds)["keyed"] for path in (large, keys))
    return [
        Line("ten times the events", _ratio(tenfold, base), 11, "x", f"from {rows:,}"),
        Line("a million keys / a thousand", _ratio(many, base), 1.5, "x", f"{rows:,} events"),
        *_against_floor(two, large, 10 * rows, rounds),
    ]


def main(*, quick: bool = False) -> bool:
    """Run the benchmark; return whether every bar holds."""
    rows, rounds = (500_000, 3) if quick else (5_000_000, 5)
    servers = [_Server(cores) for cores in (1, 2)]
    one, two = servers
    try:
        with tempfile.TemporaryDirectory(prefix="fyke-bench-") as name:
            folder = Path(name)
            path = write_events(folder, rows)
            lines = _against_floor(two, path, rows, rounds)
            lines += _cores(one, two, path, rows, rounds)
            lines += _engines(two, path, ["keyed"] if quick else QUERIES, rounds)
            lines += _growth(two, folder, path, rows, rounds)
            lines.append(Line("memory of a Python worker", two.ask(path, "memory")[0], 1_024, "MB"))
    finally:
        for server in servers:
            server.close()
    return show("spark-cores", lines)


if __name__ == "__main__":
    serve(int(sys.argv[1]))
