"""Spark end to end against its own floor, on one and two cores: keyed, without a key, one hot key; ``auto``.

The floor is the same read, filter, shuffle and sort, and a function that looks at every batch and returns its
number of rows.  Each number of cores has a Spark of its own, in a process that is kept to these cores.  They
take turns.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import fyke
from bench.processes import keep_to
from bench.report import CannotRun, Line, Spread, show
from bench.sessions import need_java
from fyke.language.sase import parse
from fyke.plan.engines import ENGINES

OPTIONS = {"time": "t", "type": "kind", "unique_order": True}
HEAD = "PATTERN SEQ(A a, B b, C c) WHERE skip_till_any_match"
QUERIES = {
    "keyed": f"{HEAD} {{ [key] AND a.x < b.x }} WITHIN 20000",
    "no key": f"{HEAD} {{ a.x < b.x AND b.x < c.x }} WITHIN 30",
    "one hot key": f"{HEAD} {{ [hot] AND a.x < b.x AND b.x < c.x }} WITHIN 40",
}
# More patterns, for ``auto`` beside the engines that can evaluate them.
OTHERS = {
    "next match": "PATTERN SEQ(A a, B b, C c) WHERE skip_till_next_match { [key] } WITHIN 20000",
    "absence": "PATTERN SEQ(A a, ~C n, B b) WHERE skip_till_any_match { [key] AND a.x < b.x } WITHIN 10000",
    "group": "PATTERN SEQ(A a, B+ b[], C c) WHERE skip_till_any_match { [key] AND a.x < c.x } WITHIN 10000",
    "conjunction": "PATTERN AND(A a, B b, C c) "
    "WHERE skip_till_any_match { [key] AND a.x < b.x AND b.x < c.x } WITHIN 10000",
}
_SLICE = 1 << 20
_WARM = 3  # runs before those that count


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


def engines(query: str) -> list[str]:
    """Return the engines that evaluate the strategy of a query."""
    strategy = parse(query).strategy
    return [name for name, each in ENGINES.items() if strategy in each.strategies]


def _works(frame: DataFrame) -> dict[str, Callable[[], int]]:
    works: dict[str, Callable[[], int]] = {"floor": lambda: _floor(frame, "key")}
    for name, query in {**QUERIES, **OTHERS}.items():
        works[name] = lambda query=query: fyke.match(frame, query, **OPTIONS).count()
        for engine in engines(query):
            works[f"{name}, {engine}"] = lambda query=query, engine=engine: fyke.match(
                frame, query, engine=engine, **OPTIONS
            ).count()
        works[f"{name}, digest"] = lambda query=query: _digest(fyke.match(frame, query, **OPTIONS))
    works["memory"] = lambda: _worker_memory(frame)
    return works


def _digest(matches: DataFrame) -> int:
    """Return a number that is another one, very likely, if any match is another one."""
    hashes = F.xxhash64("match_id").cast("decimal(38,0)")
    return int(matches.agg(F.coalesce(F.sum(hashes), F.lit(0))).collect()[0][0])


def _worker_memory(frame: DataFrame) -> int:
    """Return the most memory, in MB, that a Python worker has held so far: the worst of all that live."""

    def look(_: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        peaks = [
            peak for parent, peak in map(_process, Path("/proc").glob("[0-9]*")) if parent == os.getppid()
        ]
        yield pa.record_batch({"mb": pa.array([max(peaks) // 1024], pa.int64())})

    found = frame.limit(1).mapInArrow(look, "mb long")
    return int(found.agg(F.max("mb")).collect()[0][0])


def _process(folder: Path) -> tuple[int, int]:
    """Return the parent of a process, and the most memory it has held, in KB; zeros if it has ended."""
    try:
        lines = (folder / "status").read_text().splitlines()
    except OSError:
        return 0, 0
    said = dict(line.split(":", 1) for line in lines)
    return int(said["PPid"]), int(said.get("VmHWM", "0 kB").split()[0])


def serve(cores: int) -> None:
    """Do what lines of the standard input ask for, and print what it gave and how long it took."""
    builder = SparkSession.builder.master(f"local[{cores}]").config("spark.ui.enabled", "false")
    spark = (
        builder.config("spark.sql.shuffle.partitions", "8").config("spark.driver.memory", "6g").getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        work = _works(spark.read.parquet(asked["path"]))[asked["work"]]
        print(json.dumps(_told(work)), flush=True)
    spark.stop()


def _told(work: Callable[[], int]) -> dict[str, Any]:
    """Return the result of a work with its seconds, or why Spark or Fyke gave it up."""
    begin = time.perf_counter()
    try:
        result = work()
    except (fyke.FykeError, PySparkException) as error:
        said = str(error).strip().splitlines() or [type(error).__name__]
        return {"failed": next((line for line in said if "fyke.errors" in line), said[-1])}
    return {"result": result, "seconds": time.perf_counter() - begin}


# --- the measuring process --------------------------------------------------------------------------------


class GaveUp(Exception):
    """A work that Spark or Fyke gave up, such as at a limit."""


class Server:
    """A process with a Spark on so many cores.

    Raises
    ------
    CannotRun
        If its Spark does not start, with the last that it said.
    """

    def __init__(self, cores: int) -> None:
        command = [sys.executable, "-m", "bench.spark_cores", str(cores)]
        self.cores = cores
        self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - as long as the process
        # Spark on one core would otherwise use another one beside it: for Python, and to collect garbage.
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True,
            preexec_fn=functools.partial(keep_to, cores),
        )  # fmt: skip

    def wait(self) -> None:
        """Wait until Spark has started."""
        if not self._heard():
            raise CannotRun(self._cause())

    def ask(self, path: Path, work: str) -> tuple[int, float]:
        """Return the result of a work, and its seconds."""
        assert self.process.stdin is not None
        line = json.dumps({"path": str(path), "work": work})
        with contextlib.suppress(BrokenPipeError):  # of a process that has ended: its cause is told below
            self.process.stdin.write(f"{line}\n")
            self.process.stdin.flush()
        said = self._heard()
        if not said:
            raise RuntimeError(f"{work}: {self._cause()}")
        told = json.loads(said)
        if "failed" in told:
            raise GaveUp(f"{work}: {told['failed']}")
        return int(told["result"]), float(told["seconds"])

    def close(self) -> None:
        """End it."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()
        self.errors.close()

    def _heard(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def _cause(self) -> str:
        code = self.process.wait(60)
        self.errors.seek(0)
        said = [line.strip() for line in self.errors if line.strip()]
        ended = f"Spark on {self.cores} cores ended with code {code}"
        return f"{ended}: {said[-1]}" if said else ended


def _times(server: Server, path: Path, works: list[str], rounds: int) -> dict[str, list[float]]:
    """Return the seconds of works that take turns, after each has run a few times: Spark compiles, too."""
    for work in _WARM * works:
        server.ask(path, work)
    taken: dict[str, list[float]] = {work: [] for work in works}
    for _ in range(rounds):
        for work in works:
            taken[work].append(server.ask(path, work)[1])
    return taken


def _ratio(one: list[float], other: list[float]) -> Spread:
    return Spread(x / y for x, y in zip(one, other, strict=True))


def _against_floor(two: Server, path: Path, rows: int, rounds: int) -> list[Line]:
    taken = _times(two, path, ["floor", "keyed"], rounds)
    note = f"{rows:,} events, two cores"
    return [Line("keyed / floor", _ratio(taken["keyed"], taken["floor"]), 1.3, "x", note)]


def _cores(one: Server, two: Server, path: Path, rows: int, rounds: int) -> list[Line]:
    lines = []
    for name in ("no key", "one hot key"):
        digests = {server.ask(path, f"{name}, digest")[0] for server in (one, two)}
        assert len(digests) == 1, f"{name}: the number of cores changes the matches"
        found = {server.ask(path, name)[0] for server in (one, two)}
        assert len(found) == 1, f"{name}: {found}"
        pairs = [(one.ask(path, name)[1], two.ask(path, name)[1]) for _ in range(rounds)]
        ratio = Spread(x / y for x, y in pairs)
        note = f"{rows:,} events, {found.pop():,} matches, the same by their identifiers"
        lines.append(Line(f"{name}: one core / two", ratio, 1.7, "x", note, at_least=True))
    return lines


def against_engines(two: Server, path: Path, queries: Mapping[str, str], rounds: int) -> list[Line]:
    """Compare what each task chooses with the engine that is the fastest if all tasks are told to take it.

    An engine that gives up, as at a limit, is left out; the line says so.
    """
    lines = []
    for name, query in queries.items():
        forced, given_up = [], []
        for engine in engines(query):
            try:
                two.ask(path, f"{name}, {engine}")
                forced.append(f"{name}, {engine}")
            except GaveUp as reason:
                given_up.append(str(reason))
        taken = _times(two, path, [name, *forced], rounds)
        best = min(forced, key=lambda work: min(taken[work]))
        ratio = _ratio(taken[name], taken[best])
        note = "; ".join([f"best of {len(forced)}: {best.split(', ')[1]}", *given_up])
        lines.append(Line(f"{name}: auto / best engine", ratio, 1.5, "x", note))
    return lines


def _growth(two: Server, paths: Mapping[str, Path], rows: int, rounds: int) -> list[Line]:
    base, tenfold, many = (
        _times(two, paths[name], ["keyed"], rounds)["keyed"] for name in ("small", "large", "many keys")
    )
    return [
        Line("ten times the events", _ratio(tenfold, base), 11, "x", f"from {rows:,}"),
        Line("a million keys / a thousand", _ratio(many, base), 1.5, "x", f"{rows:,} events"),
        *_against_floor(two, paths["large"], 10 * rows, rounds),
    ]


def memory(two: Server, path: Path, rows: int) -> list[Line]:
    """Run each query once, and ask right behind it what Python workers have held at most so far."""
    lines = []
    for name in QUERIES:
        found, seconds = two.ask(path, name)
        note = f"{rows:,} events, {found:,} matches in {seconds:.0f} s; the worst worker since it started"
        peak = two.ask(path, "memory")[0]
        lines.append(Line(f"{name}, {rows:,} events: memory of a Python worker", peak, 1_024, "MB", note))
    return lines


def main(*, quick: bool = False) -> bool:
    """Run the benchmark; return whether every bar holds."""
    rows, rounds = (500_000, 3) if quick else (5_000_000, 5)
    asked = {**QUERIES, **OTHERS}
    if quick:
        asked = {name: asked[name] for name in ("keyed", "next match", "conjunction")}
    need_java()
    servers = [Server(cores) for cores in (1, 2)]
    one, two = servers
    try:
        for server in servers:
            server.wait()
        with tempfile.TemporaryDirectory(prefix="fyke-bench-") as name:
            folder = Path(name)
            path, large = write_events(folder, rows), write_events(folder, 10 * rows)
            paths = {"small": path, "large": large, "many keys": write_events(folder, rows, 1_000_000)}
            lines = _against_floor(two, path, rows, rounds)
            lines += _cores(one, two, path, rows, rounds)
            lines += against_engines(two, path, asked, rounds)
            lines += _growth(two, paths, rows, rounds)
            lines += memory(two, path, rows) + memory(two, large, 10 * rows)
    finally:
        for server in servers:
            server.close()
    return show("spark-cores", lines)


if __name__ == "__main__":
    serve(int(sys.argv[1]))
