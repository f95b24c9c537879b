"""The bars of the lazy engines: DuckDB, the eager automaton, rates that change, a billion matches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb
import numpy as np
import pyarrow as pa

import fyke
from bench.report import Line, best_of, show

RATES = {"A": 1000, "B": 300, "C": 30, "D": 3}
EVENTS, WINDOW = 200_000, 150


@dataclass(frozen=True, slots=True)
class Scenario:
    """A query, and SQL for the same count: joins in a good order, on buckets of time."""

    name: str
    pattern: str
    where: str
    window: int
    sql: str

    def query(self, returned: str = "") -> str:
        head = f"PATTERN {self.pattern} WHERE skip_till_any_match {{ {self.where} }}"
        return f"{head} WITHIN {self.window} {returned}"


def skewed(rows: int = EVENTS, seed: int = 0, rates: dict[str, int] | None = None) -> pa.Table:
    """Return events of types with very different rates, one a time unit."""
    rates = rates or RATES
    rng = np.random.default_rng(seed)
    share = np.array(list(rates.values()), float)
    kinds = np.array(list(rates))[rng.choice(len(rates), rows, p=share / share.sum())]
    return pa.table({"t": np.arange(rows), "kind": kinds, "x": rng.random(rows), "y": rng.random(rows)})


def equal_rates(rows: int = EVENTS, seed: int = 0) -> pa.Table:
    """Return six types at equal rates with three attributes, as [T] chapter 6 has them."""
    rng = np.random.default_rng(seed)
    columns = {name: rng.integers(0, 1000, rows) for name in ("price", "type", "volume")}
    kinds = np.array(list("ABCDEF"))[rng.integers(0, 6, rows)]
    return pa.table({"t": np.arange(rows), "kind": kinds, **columns})


def _typed(names: Sequence[str], window: int, spread: Sequence[str]) -> str:
    """SQL for a table per type with its bucket of time, and tables that stand in both buckets they reach."""
    parts = []
    for name in names:
        parts.append(
            f"{name} AS (SELECT *, t // {window + 1} AS k FROM events WHERE kind = '{name.upper()}')"
        )
    for each in spread:
        table, *shifts = each.split()
        columns = ", ".join(f"unnest([k, k {shift}]) AS k{n}" for n, shift in enumerate(shifts[:1]))
        text = f"SELECT *, {columns} FROM {table}"
        for n, shift in enumerate(shifts[1:], start=1):
            text = f"SELECT *, unnest([k, k {shift}]) AS k{n} FROM ({text})"
        parts.append(f"{table}x AS ({text})")
    return "WITH " + ", ".join(parts)


def skewed_scenarios() -> list[Scenario]:
    """The patterns over skewed rates, with pair conditions that about a tenth of the pairs satisfy."""
    w = WINDOW
    three = f"""{_typed("abc", w, ["c -1 -1"])} SELECT count(*) FROM cx AS c
        JOIN b ON b.k = c.k0 AND b.t < c.t AND c.t - b.t <= {w} AND b.x < c.y * 0.2
        JOIN a ON a.k = c.k1 AND a.t < b.t AND c.t - a.t <= {w} AND a.x < b.y * 0.2"""
    four = f"""{_typed("abcd", w, ["d -1 -1 -1"])} SELECT count(*) FROM dx AS d
        JOIN c ON c.k = d.k0 AND c.t < d.t AND d.t - c.t <= {w} AND c.x < d.y * 0.2
        JOIN b ON b.k = d.k1 AND b.t < c.t AND d.t - b.t <= {w} AND b.x < c.y * 0.2
        JOIN a ON a.k = d.k2 AND a.t < b.t AND d.t - a.t <= {w} AND a.x < b.y * 0.2"""
    both = f"""{_typed("bcd", w, ["d -1"])}, dd AS (SELECT *, unnest([k - 1, k, k + 1]) AS m FROM d),
        ddd AS (SELECT *, unnest([k - 1, k, k + 1]) AS n FROM dd) SELECT count(*) FROM ddd AS d
        JOIN c ON c.k = d.m AND abs(c.t - d.t) <= {w} AND c.x < d.y * 0.2
        JOIN b ON b.k = d.n AND abs(b.t - d.t) <= {w} AND abs(b.t - c.t) <= {w} AND b.x < c.y * 0.2"""
    lacking = f"""{_typed("abc", w, ["c -1 -1"])} SELECT count(*) FROM cx AS c
        JOIN b ON b.k = c.k0 AND b.t < c.t AND c.t - b.t <= {w} AND b.x < c.y * 0.2
        JOIN a ON a.k = c.k1 AND a.t < b.t AND c.t - a.t <= {w} AND a.x < b.y * 0.2
        WHERE NOT EXISTS (SELECT 1 FROM events AS n WHERE n.kind = 'D' AND n.t > a.t AND n.t < b.t)"""
    pair = "a.x < b.y * 0.2 AND b.x < c.y * 0.2"
    return [
        Scenario("SEQ of 3", "SEQ(A a, B b, C c)", pair, w, three),
        Scenario("SEQ of 4", "SEQ(A a, B b, C c, D d)", pair + " AND c.x < d.y * 0.2", w, four),
        Scenario("AND of 3", "AND(B b, C c, D d)", "b.x < c.y * 0.2 AND c.x < d.y * 0.2", w, both),
        Scenario("SEQ with absence", "SEQ(A a, ~D n, B b, C c)", pair, w, lacking),
    ]


def equal_scenarios() -> list[Scenario]:
    """Queries 10 and 11 of [T]: six variables, three conditions, apart or interleaved."""
    found = []
    conditions = {
        "query 10": "a.volume < b.volume AND c.price < d.price AND e.type < f.type",
        "query 11": "a.volume < d.volume AND c.price < f.price AND b.type < e.type",
    }
    for name, where in conditions.items():
        for w in (10, 20, 40):
            tables = _typed("abcdef", w, ["a +1 +1 +1 +1 +1"])
            joins = ["FROM ax AS a"]
            bound = ["a"]
            for n, letter in enumerate("bcdef"):
                before = bound[-1]
                bound.append(letter)
                own = [
                    each
                    for each in where.split(" AND ")
                    if f"{letter}." in each and all(f"{x}." not in each for x in "bcdef"[n + 1 :])
                ]
                tests = [f"{letter}.k = a.k{n}", f"{letter}.t > {before}.t", f"{letter}.t - a.t <= {w}", *own]
                joins.append(f"JOIN {letter} ON {' AND '.join(tests)}")
            sql = f"{tables} SELECT count(*) {' '.join(joins)}"
            found.append(Scenario(f"{name}, window {w}", "SEQ(A a, B b, C c, D d, E e, F f)", where, w, sql))
    return found


def duck(events: pa.Table, sql: str, repeats: int = 3) -> tuple[float, int, str]:
    """Return DuckDB's best time on one thread, its optimizer of join orders on or off, and the count."""
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    connection.register("source", events)
    connection.execute("CREATE TABLE events AS SELECT * FROM source")
    best, count, mode = float("inf"), -1, ""
    for setting in ("", "join_order", "join_order,build_side_probe_side"):
        connection.execute(f"SET disabled_optimizers = '{setting}'")
        seconds, count = best_of(1, lambda: connection.execute(sql).fetchall()[0][0])
        if seconds < 4 * best:
            again, count = best_of(repeats, lambda: connection.execute(sql).fetchall()[0][0])
            seconds = min(seconds, again)
        if seconds < best:
            best, mode = seconds, "optimizer off" if setting else "optimizer on"
    return best, count, mode


def compare(scenario: Scenario, events: pa.Table, *, eager: float | None) -> list[Line]:
    """Count with both engines and DuckDB, then make rows of the matches."""
    seconds, expected, mode = duck(events, scenario.sql)
    lines = []

    def run(engine: str, returned: str = "RETURN count(*) AS n") -> pa.Table:
        return fyke.match(events, scenario.query(returned), time="t", type="kind", engine=engine)

    times = {}
    for engine in ("lazy_chain", "lazy_tree"):
        run(engine)
        times[engine], counted = best_of(5, lambda: run(engine))  # noqa: B023 - called at once
        assert counted.column("n").to_pylist() == [expected], (scenario.name, counted, expected)
    note = (
        f"{expected:,} matches; {times['lazy_chain'] * 1000:.1f} ms, DuckDB {seconds * 1000:.1f} ms ({mode})"
    )
    lines.append(Line(f"{scenario.name}: chain against DuckDB", times["lazy_chain"] / seconds, 1, "x", note))
    lines.append(Line(f"{scenario.name}: tree against DuckDB", times["lazy_tree"] / seconds, 1, "x"))
    rows, _ = best_of(
        3, lambda: run("lazy_chain", "RETURN a.t AS t" if " a" in scenario.pattern else "RETURN b.t")
    )
    lines.append(Line(f"{scenario.name}: rows against counting", rows / times["lazy_chain"], 2, "x"))
    if eager is not None:
        automaton, counted = best_of(1, lambda: run("automaton"))
        assert counted.column("n").to_pylist() == [expected]
        lines.append(
            Line(f"{scenario.name}: chain against automaton", times["lazy_chain"] / automaton, eager, "x")
        )
    return lines


def main() -> bool:
    """Run the benchmark; return whether every bar holds."""
    lines: list[Line] = []
    events = skewed()
    for scenario in skewed_scenarios():
        lines += compare(scenario, events, eager=0.2)
    events = equal_rates()
    for scenario in equal_scenarios():
        lines += compare(scenario, events, eager=None)
    return show("lazy", lines)
