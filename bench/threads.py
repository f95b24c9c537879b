"""Tables on several cores: two threads against one, and against DuckDB on as many, with whole rows built."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import fyke
from bench.peer_cases import in_order
from bench.report import Line, interleaved, show

OPTIONS = {"time": "t", "type": "kind"}
MANY = fyke.Limits(matches=2**40, steps=2**40, buffer_bytes=2**34)
_HOT = 7


@dataclass(frozen=True, slots=True)
class Workload:
    """A query over events, and SQL for the same rows: joins on the key, or on stretches of time."""

    name: str
    events: pa.Table
    query: str
    sql: str


def _events(rows: int, keys: int, *, hot: float = 0.0) -> pa.Table:
    rng = np.random.default_rng(rows)
    kinds = np.array(list("ABCDEFGH"))[rng.integers(0, 8, rows)]
    key = np.where(rng.random(rows) < hot, _HOT, rng.integers(0, keys, rows))
    return pa.table({"t": np.arange(rows), "kind": kinds, "key": key, "x": rng.random(rows)})


def _roles(window: int, *, cut: bool) -> str:
    """Return SQL for the events of each type; with ``cut``, b and c stand in both stretches they reach."""
    own = f"SELECT *, t // {window + 1} AS s FROM events WHERE kind ="
    both = f"SELECT *, unnest([t // {window + 1}, t // {window + 1} - 1]) AS s FROM events WHERE kind ="
    others = both if cut else own
    return f"WITH a AS ({own} 'A'), b AS ({others} 'B'), c AS ({others} 'C')"


def _sql(window: int, joins: str, conditions: str, *, cut: bool) -> str:
    fields = "{{'t': {0}.t, 'kind': {0}.kind, 'key': {0}.key, 'x': {0}.x}} AS {0}"
    rows = ", ".join(fields.format(name) for name in "abc")
    return (
        f'{_roles(window, cut=cut)} SELECT a.t AS start, c.t AS "end", {rows} FROM a '
        f"JOIN b ON {joins.format('a', 'b')} AND b.t > a.t AND b.t <= a.t + {window} "
        f"JOIN c ON {joins.format('a', 'c')} AND c.t > b.t AND c.t <= a.t + {window} WHERE {conditions}"
    )


def workloads(rows: int) -> list[Workload]:
    """Return a keyed pattern, one without a key, and one of whose keys has most of the events."""
    where = "a.x < b.x AND b.x < c.x"
    head = "PATTERN SEQ(A a, B b, C c) WHERE skip_till_any_match"
    by_key, by_time = "{0}.key = {1}.key", "{0}.s = {1}.s"
    both = f"{by_key} AND {by_time}"
    return [
        Workload(
            "keyed",
            _events(rows, 1_000),
            f"{head} {{ [key] AND {where} }} WITHIN 20000",
            _sql(20_000, both, where, cut=True),
        ),
        Workload(
            "no key",
            _events(rows, 1_000),
            f"{head} {{ {where} }} WITHIN 30",
            _sql(30, by_time, where, cut=True),
        ),
        Workload(
            "one hot key",
            _events(rows, 1_000, hot=0.7),
            f"{head} {{ [key] AND {where} }} WITHIN 40",
            _sql(40, both, where, cut=True),
        ),
    ]


def _times(found: pa.Table) -> np.ndarray[Any, Any]:
    """Return the times of the events that each match binds, as sorted rows."""
    bound = (found.column(name).combine_chunks() for name in "abc")
    return in_order([pc.struct_field(each, "t").to_numpy() for each in bound])


def _measure(each: Workload, rounds: int, threads: int) -> list[Line]:
    def by_fyke(count: int) -> pa.Table:
        return fyke.match(each.events, each.query, threads=count, limits=MANY, **OPTIONS)

    connection = duckdb.connect(config={"threads": threads})
    connection.register("events", each.events)

    def by_duckdb() -> pa.Table:
        return connection.sql(each.sql).to_arrow_table()

    one, many, theirs = by_fyke(1), by_fyke(threads), by_duckdb()
    assert many.equals(one), "the number of threads changes the rows"
    assert np.array_equal(_times(theirs), _times(one)), f"{each.name}: DuckDB finds other matches"
    matches = one.num_rows
    del one, many, theirs
    works = {"one": lambda: by_fyke(1), "many": lambda: by_fyke(threads), "duckdb": by_duckdb}
    timed = interleaved(rounds, works, clock=time.perf_counter)
    connection.close()
    note = f"{each.events.num_rows:,} events, {matches:,} matches, {threads} threads"
    return [
        Line(
            f"{each.name}: one thread / {threads}", timed.ratio("one", "many"), 1.7, "x", note, at_least=True
        ),
        Line(f"{each.name}: Fyke / DuckDB, whole rows", timed.ratio("many", "duckdb"), 1.0, "x", note),
    ]


def main(*, quick: bool = False) -> bool:
    """Run the benchmark; return whether every bar holds."""
    rows, rounds = (1_000_000, 3) if quick else (5_000_000, 7)
    return show("threads", [line for each in workloads(rows) for line in _measure(each, rounds, 2)])
