"""ClickHouse's ``windowFunnel`` by chdb: which keys go through a sequence in time."""

from __future__ import annotations

import importlib
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import fyke
from bench.fetch import fetched
from bench.peer_cases import CASES, OPTIONS, cores, faster, on_threads, typed
from bench.report import CannotRun, Line, interleaved, keep_memory, show

PACKAGE = "chdb-core==26.9.0"
CASE = CASES[0]
FUNNEL = f"""
    SELECT key FROM (
        SELECT key, windowFunnel({CASE.window})(toUInt64(t), kind = 'A', kind = 'B', kind = 'C') AS level
        FROM events WHERE kind IN ('A', 'B', 'C') GROUP BY key)
    WHERE level = 3 SETTINGS max_threads = {{threads}}
"""


def clickhouse() -> Any:
    """Return the package, fetched if need be."""
    sys.path.insert(0, str(fetched("chdb", PACKAGE)))
    try:
        return importlib.import_module("chdb.session")
    except ImportError as error:
        raise CannotRun(f"{PACKAGE} cannot be imported: {error}") from None


def compare(rows: int, keys: int, threads: int, times: int) -> Line:
    """Compare both on which keys go through the funnel; few of many keys do, most of a few."""
    events = typed(rows, keys=keys)
    connection = clickhouse().Session()
    connection.query("CREATE DATABASE IF NOT EXISTS bench")
    connection.query("CREATE OR REPLACE TABLE bench.events (t Int64, kind String, key Int64) ENGINE = Memory")
    with tempfile.TemporaryDirectory(prefix="bench-funnel-") as folder:
        file = Path(folder) / "events.parquet"
        pq.write_table(events, file)
        connection.query(f"INSERT INTO bench.events SELECT t, kind, key FROM file('{file}', Parquet)")
    sql = FUNNEL.format(threads=threads).replace("FROM events", "FROM bench.events")
    options = {**OPTIONS, **on_threads(threads)}

    def funnel() -> np.ndarray[Any, Any]:
        reader = pa.ipc.open_file(pa.BufferReader(connection.query(sql, "Arrow").bytes()))
        return np.sort(reader.read_all().column("key").to_numpy())

    def mine() -> np.ndarray[Any, Any]:
        counted = fyke.match(events, CASE.counting, **options)
        return np.sort(counted.column("key").to_numpy()[counted.column("n").to_numpy() > 0])

    found, theirs = mine(), funnel()
    assert np.array_equal(found, theirs), f"{len(found)} keys, {len(theirs)} by ClickHouse"
    assert len(found) > 0, "no key goes through"
    works: dict[str, Callable[[], Any]] = {"funnel": funnel, "fyke": mine}
    timed = interleaved(times, works, clock=time.process_time if threads == 1 else time.perf_counter)
    where = "one core" if threads == 1 else f"{threads} cores"
    note = f"{len(found):,} of {keys:,} keys, {rows:,} events"
    what = f"funnel of three, {keys:,} keys, {where}: ClickHouse / Fyke"
    return faster(what, timed, "funnel", "fyke", None, note)


def main(*, quick: bool = False) -> bool:
    """Run the benchmark; return whether every bar holds."""
    keep_memory()
    rows, times = (500_000, 3) if quick else (5_000_000, 5)
    pa.set_cpu_count(1)
    lines = [compare(rows, keys, 1, times) for keys in (1_000, rows // 20)]
    if cores() > 1:
        pa.set_cpu_count(cores())
        lines += [compare(rows, keys, cores(), times) for keys in (1_000, rows // 20)]
    remarks = "Fyke counts the matches of each key; a funnel keeps one number for each."
    return show(f"ClickHouse's windowFunnel, {PACKAGE}", lines, remarks=remarks)
