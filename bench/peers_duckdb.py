"""DuckDB on the same tables: the best SQL a user would write, on one core and on all."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

import fyke
from bench.peer_cases import CASES, OPTIONS, Case, cores, count, faster, in_order, numbers, on_threads, same
from bench.peer_sql import DUCKDB, ways
from bench.report import Line, best_of, interleaved, keep_memory, show

# What the standard says for the first case; DuckDB has it from some release on, or not.
RECOGNIZE = f"""
    SELECT a, b, c FROM (SELECT * FROM events WHERE kind IN ('A', 'B', 'C')) MATCH_RECOGNIZE (
        PARTITION BY key ORDER BY t
        MEASURES a.t AS a, b.t AS b, c.t AS c
        ONE ROW PER MATCH AFTER MATCH SKIP TO NEXT ROW
        PATTERN (a x* b y* c)
        DEFINE a AS kind = 'A', x AS kind <> 'B', b AS kind = 'B', y AS kind <> 'C',
               c AS kind = 'C' AND c.t - a.t <= {CASES[0].window})
"""


def connect(events: pa.Table, threads: int) -> duckdb.DuckDBPyConnection:
    """Return a connection with the events as a table of its own."""
    connection = duckdb.connect()
    connection.execute(f"SET threads = {threads}")
    connection.register("source", events)
    connection.execute("CREATE TABLE events AS SELECT * FROM source")
    return connection


def rows_of(connection: duckdb.DuckDBPyConnection, sql: str) -> np.ndarray[Any, Any]:
    """Return the rows of a query as integers, in order."""
    found = connection.execute(sql).fetchnumpy()
    return in_order([np.asarray(column) for column in found.values()])


def compare(case: Case, rows: int, threads: int, times: int) -> list[Line]:
    """Count with both, and make Fyke's whole rows beside DuckDB's counting."""
    events = case.events(rows)
    connection = connect(events, threads)
    options = {**OPTIONS, **on_threads(threads)}
    mine = numbers(fyke.match(events, case.query, **options))
    known = dict(ways(case, DUCKDB))
    if case.shape == "next" and not recognizes(connection):
        known["MATCH_RECOGNIZE"] = RECOGNIZE
    took = {}
    for name, sql in known.items():
        same(case, f"DuckDB's {name}", mine, rows_of(connection, sql))
        took[name], _ = best_of(1, functools.partial(_count, connection, sql))
    best = min(took, key=lambda name: took[name])
    works: dict[str, Callable[[], Any]] = {
        "duck": functools.partial(_count, connection, known[best]),
        "count": lambda: count(fyke.match(events, case.counting, **options)),
        "rows": lambda: fyke.match(events, case.query, **options),
    }
    assert works["count"]() == works["duck"]() == len(mine)
    timed = interleaved(times, works, clock=time.process_time if threads == 1 else time.perf_counter)
    note = f"DuckDB by {best}, {len(mine):,} matches in {rows:,} events"
    where = "one core" if threads == 1 else f"{threads} cores"
    return [
        faster(f"{case.name}, {where}: whole rows beside DuckDB counting", timed, "duck", "rows", 1, note),
        faster(f"{case.name}, {where}: both count", timed, "duck", "count", None, note),
    ]


def _count(connection: duckdb.DuckDBPyConnection, sql: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM ({sql})").fetchall()[0][0])


def recognizes(connection: duckdb.DuckDBPyConnection) -> str:
    """Return why DuckDB cannot run MATCH_RECOGNIZE, or nothing if it can."""
    try:
        connection.execute(f"EXPLAIN {RECOGNIZE}")
    except duckdb.Error as error:
        return str(error).splitlines()[0]
    return ""


def main(*, quick: bool = False) -> bool:
    """Run the benchmark; return whether every bar holds."""
    keep_memory()
    rows, times = (500_000, 3) if quick else (5_000_000, 5)
    pa.set_cpu_count(1)
    lines = [line for case in CASES for line in compare(case, rows, 1, times)]
    if cores() > 1:
        pa.set_cpu_count(cores())
        lines += [line for case in CASES for line in compare(case, rows, cores(), times)]
    reason = recognizes(connect(CASES[0].events(10), 1))
    remarks = f"DuckDB {duckdb.__version__} has no MATCH_RECOGNIZE: {reason}" if reason else ""
    return show("DuckDB", lines, remarks=remarks)
