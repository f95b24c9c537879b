"""The bars of the first engine: a new query is cheap, and a sequence of three is near DuckDB's ASOF joins."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import duckdb
import numpy as np
import pyarrow as pa

import fyke
from bench.report import Line, Spread, interleaved, keep_memory, show

ROOM = fyke.Limits(steps=2**40, buffer_bytes=2**33)
SEQUENCE = "PATTERN SEQ(A a, B b, C c) WHERE skip_till_next_match { [key] }"
ASOF = """
    WITH a AS (SELECT key, t FROM events WHERE kind = 'A'),
         b AS (SELECT key, t FROM events WHERE kind = 'B'),
         c AS (SELECT key, t FROM events WHERE kind = 'C'),
         ab AS (SELECT a.key, b.t AS bt FROM a ASOF JOIN b ON a.key = b.key AND a.t < b.t)
    SELECT count(*) FROM ab ASOF JOIN c ON ab.key = c.key AND ab.bt < c.t
"""


def stream(rows: int, *, keys: int = 1_000, types: int = 10, seed: int = 0) -> pa.Table:
    """Return events of equally frequent types and keys, one a time unit."""
    rng = np.random.default_rng(seed)
    names = np.array([chr(ord("A") + k) for k in range(types)])
    return pa.table(
        {
            "t": np.arange(rows),
            "kind": names[rng.integers(0, types, rows)],
            "key": rng.integers(0, keys, rows),
        }
    )


def new_query() -> Line:
    """Parse, plan and match a query never seen before, on a table of 1,000 events."""
    table = stream(1_000, keys=10)
    fresh = itertools.count(1)

    def once() -> pa.Table:
        text = f"{SEQUENCE.replace(' }', '')} AND c.t - a.t > {next(fresh)} }} WITHIN 500"
        return fyke.match(table, text, time="t", type="kind", limits=ROOM)

    once()
    timed = interleaved(20, {"new": once})
    rounds = Spread(seconds * 1_000 for seconds in timed.rounds["new"])
    return Line("new query on 1,000 events", rounds, 50, "ms")


def sequence_of_three(rows: int = 5_000_000) -> list[Line]:
    """Count a sequence of three with a key, beside DuckDB's two ASOF joins on one thread."""
    events = stream(rows)
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    connection.register("source", events)
    connection.execute("CREATE TABLE events AS SELECT * FROM source")
    counted = f"{SEQUENCE} RETURN count(*) AS n"
    fyke.match(events.slice(0, 1_000), counted, time="t", type="kind")
    options = {"time": "t", "type": "kind", "limits": ROOM, "threads": 1}
    works: dict[str, Callable[[], int]] = {
        "duck": lambda: int(connection.execute(ASOF).fetchall()[0][0]),
        "count": lambda: sum(fyke.match(events, counted, **options).column("n").to_pylist()),
        "rows": lambda: fyke.match(events, SEQUENCE, **options).num_rows,
    }
    (expected,) = {work() for work in works.values()}  # all find as many
    timed = interleaved(3, works)
    note = f"{expected:,} matches in {rows:,} events"
    return [
        Line("sequence of three, counted, against DuckDB", timed.ratio("count", "duck"), 1, "x", note),
        Line(
            "sequence of three, as rows, against DuckDB counting", timed.ratio("rows", "duck"), 1, "x", note
        ),
    ]


def main(*, quick: bool = False) -> bool:
    """Run the benchmark; return whether every bar holds."""
    rows = 1_000_000 if quick else 5_000_000
    keep_memory()
    return show("foundation", [new_query(), *sequence_of_three(rows)])
