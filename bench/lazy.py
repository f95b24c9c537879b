"""The bars of the lazy engines: DuckDB, the eager automaton, rates that change, a billion matches."""

from __future__ import annotations

import functools
import itertools
import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

import fyke
from bench.peer_cases import in_order
from bench.peers_duckdb import connect, rows_of
from bench.report import Line, best_of, interleaved, keep_memory, show

RATES = {"A": 1000, "B": 300, "C": 30, "D": 3}
EVENTS, WINDOW = 200_000, 150
MANY = fyke.Limits(matches=2**40, steps=2**40, buffer_bytes=2**33)
OPTIONS = {"time": "t", "type": "kind"}
EAGER = fyke.Techniques(merging=False, candidate_windows=False)


@dataclass(frozen=True, slots=True)
class Scenario:
    """A query, and SQL for the same count: joins in a good order, on buckets of time.

    A match is known by the times of ``variables``, one letter each.
    """

    name: str
    pattern: str
    where: str
    window: int
    sql: str
    variables: str

    @property
    def sql_of_rows(self) -> str:
        """SQL for the times that each match binds, instead of the count."""
        return self.sql.replace("count(*)", ", ".join(f"{name}.t AS {name}" for name in self.variables))

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


def skewed_scenarios(w: int = WINDOW) -> list[Scenario]:
    """The patterns over skewed rates, with pair conditions that about a tenth of the pairs satisfy."""
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
        Scenario("SEQ of 3", "SEQ(A a, B b, C c)", pair, w, three, "abc"),
        Scenario("SEQ of 4", "SEQ(A a, B b, C c, D d)", pair + " AND c.x < d.y * 0.2", w, four, "abcd"),
        Scenario("AND of 3", "AND(B b, C c, D d)", "b.x < c.y * 0.2 AND c.x < d.y * 0.2", w, both, "bcd"),
        Scenario("SEQ with absence", "SEQ(A a, ~D n, B b, C c)", pair, w, lacking, "abc"),
    ]


def equal_scenarios(windows: Sequence[int]) -> list[Scenario]:
    """Queries 10 and 11 of [T]: six variables, three conditions, apart or interleaved."""
    found = []
    conditions = {
        "query 10": "a.volume < b.volume AND c.price < d.price AND e.type < f.type",
        "query 11": "a.volume < d.volume AND c.price < f.price AND b.type < e.type",
    }
    for name, where in conditions.items():
        for w in windows:
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
            six = "SEQ(A a, B b, C c, D d, E e, F f)"
            found.append(Scenario(f"{name}, window {w}", six, where, w, sql, "abcdef"))
    return found


def same_rows(scenario: Scenario, events: pa.Table, connection: duckdb.DuckDBPyConnection) -> None:
    """Raise unless the matches of DuckDB bind events of the same times, match by match."""
    times = ", ".join(f"{name}.t AS {name}" for name in scenario.variables)
    found = fyke.match(events, scenario.query(f"RETURN {times}"), engine="lazy_chain", limits=MANY, **OPTIONS)
    mine = in_order([found.column(name).to_numpy() for name in scenario.variables])
    theirs = rows_of(connection, scenario.sql_of_rows)
    assert np.array_equal(mine, theirs), f"{scenario.name}: DuckDB finds other matches"


def _best_setting(connection: duckdb.DuckDBPyConnection, sql: str) -> tuple[str, int]:
    """Choose the setting of DuckDB's optimizer of join orders that is faster; return it and the count."""
    best, chosen, count = float("inf"), "", -1
    for setting in ("join_order,build_side_probe_side", "join_order", ""):
        connection.execute(f"SET disabled_optimizers = '{setting}'")
        seconds, count = best_of(1, lambda: connection.execute(sql).fetchall()[0][0])
        if seconds < best:
            best, chosen = seconds, setting
    connection.execute(f"SET disabled_optimizers = '{chosen}'")
    return chosen, count


def compare(scenario: Scenario, events: pa.Table, *, eager: float | None) -> list[Line]:
    """Count with both engines and DuckDB in turns, then make rows of the matches; all on one thread."""
    connection = connect(events, 1)
    setting, expected = _best_setting(connection, scenario.sql)
    same_rows(scenario, events, connection)

    def run(engine: str, **more: Any) -> pa.Table:
        query = scenario.query("RETURN count(*) AS n")
        return fyke.match(events, query, engine=engine, threads=1, **OPTIONS, **more)

    tasks: dict[str, Callable[[], Any]] = {
        "duck": lambda: connection.execute(scenario.sql).fetchall()[0][0],
        "chain": lambda: run("lazy_chain").column("n").to_pylist()[0],
        "tree": lambda: run("lazy_tree").column("n").to_pylist()[0],
        "rows": functools.partial(whole_rows, scenario, events, 1),
    }
    for name, task in tasks.items():
        assert (found := task()) == expected, (scenario.name, name, found, expected)
    timed = interleaved(6, tasks)
    mode = "optimizer off" if setting else "optimizer on"
    shown = ", ".join(f"{name} {timed.best(name) * 1000:.1f}" for name in tasks)
    notes = {"chain": f"ms: {shown}", "tree": f"{expected:,} matches, {mode}"}
    lines = [
        Line(f"{scenario.name}: {name} / DuckDB", timed.ratio(name, "duck"), 1, "x", note)
        for name, note in notes.items()
    ]
    lines.append(Line(f"{scenario.name}: whole rows / DuckDB", timed.ratio("rows", "duck"), 1, "x"))
    lines.append(Line(f"{scenario.name}: rows / counting", timed.ratio("rows", "chain"), 2, "x"))
    if eager is None:
        return lines
    # The automaton of [L] has neither candidate windows nor merged runs; Fyke's own is shown beside it.
    bars = {"eager automaton": (EAGER, eager), "automaton": (fyke.Techniques(), None)}
    automata = {
        name: functools.partial(run, "automaton", techniques=techniques)
        for name, (techniques, _) in bars.items()
    }
    assert all(work().column("n").to_pylist() == [expected] for work in automata.values())
    timed = interleaved(5, {"chain": tasks["chain"], **automata})
    for name, (_, bar) in bars.items():
        lines.append(Line(f"{scenario.name}: chain / {name}", timed.ratio("chain", name), bar, "x"))
    return lines


def whole_rows(scenario: Scenario, events: pa.Table, threads: int) -> int:
    """Make the whole rows: every event of every match, with all its attributes."""
    return fyke.match(
        events, scenario.query(), engine="lazy_chain", threads=threads, limits=MANY, **OPTIONS
    ).num_rows


def on_two_threads(scenario: Scenario, events: pa.Table) -> Line:
    """Make whole rows on two threads, beside DuckDB that counts on two."""
    connection = connect(events, 2)
    setting, expected = _best_setting(connection, scenario.sql)
    works: dict[str, Callable[[], int]] = {
        "duck": lambda: connection.execute(scenario.sql).fetchall()[0][0],
        "rows": lambda: whole_rows(scenario, events, 2),
    }
    assert works["rows"]() == expected, f"{scenario.name}: two threads change the number of matches"
    timed = interleaved(6, works, clock=time.perf_counter)
    shown = ", ".join(f"{name} {timed.best(name) * 1000:.1f}" for name in works)
    note = f"ms: {shown}, optimizer {'off' if setting else 'on'}"
    return Line(
        f"{scenario.name}, two threads: whole rows / DuckDB", timed.ratio("rows", "duck"), 1, "x", note
    )


def changing_rates(rows: int = 100_000) -> list[Line]:
    """[L] figure 18: the rarest type changes every 100,000 events; chains in every order, and the tree.

    The phases by themselves, and then the stream of all three: there no order is right all the time.
    """
    streams = {
        f"{rare} rare": skewed(rows, number, {kind: 1 if kind == rare else 50 for kind in "ABC"})
        for number, rare in enumerate("CAB")
    }
    lines = []
    for name, events in streams.items():
        work = work_of_orders(events)
        lines.append(Line(f"{name}: tree / best chain, evaluations", work.tree_to_best, 1.2, "x"))
        lines.append(Line(f"{name}: tree / wrong chain, evaluations", work.tree_to_wrong, 0.1, "x"))
        lines.append(Line(f"{name}: tree / fastest chain, time", work.tree_to_fastest, 1.5, "x"))
    joined = pa.concat_tables(streams.values())
    work = work_of_orders(joined.set_column(0, "t", pa.array(np.arange(joined.num_rows))))
    lines.append(Line("changing: tree / best chain, evaluations", work.tree_to_best, 1.2, "x"))
    lines.append(Line("changing: tree / fastest chain, time", work.tree_to_fastest, 1.5, "x"))
    return lines


@dataclass(frozen=True, slots=True)
class OrderWork:
    """The work of the tree, over that of chains: conditions evaluated, and time."""

    tree_to_best: float
    tree_to_wrong: float
    tree_to_fastest: float


def work_of_orders(events: pa.Table) -> OrderWork:
    """Compare the tree with a chain in every order."""
    query = """PATTERN SEQ(A a, B b, C c)
        WHERE skip_till_any_match { a.x < b.y * 0.2 AND b.x < c.y * 0.2 } WITHIN 100 RETURN count(*) AS n"""
    works: dict[str, Callable[..., Any]] = {"tree": functools.partial(fyke.match, engine="lazy_tree")}
    for order in itertools.permutations("abc"):
        techniques = fyke.Techniques(order=order)
        works["".join(order)] = functools.partial(fyke.match, engine="lazy_chain", techniques=techniques)
    works = {name: functools.partial(work, events, query, **OPTIONS) for name, work in works.items()}
    evaluated = {}
    for name, work in works.items():
        metrics = fyke.Metrics()
        work(metrics=metrics)
        evaluated[name] = metrics.get()["condition_evaluations"]
    timed = interleaved(7, works)
    tree, chains = evaluated.pop("tree"), evaluated.values()
    fastest = min(evaluated, key=timed.best)
    return OrderWork(tree / min(chains), tree / max(chains), timed.ratio("tree", fastest))


def a_billion(streamed: int = 50_000_000) -> list[Line]:
    """Count a billion matches; stream their rows out, as many as patience allows, and look at the memory."""
    kinds = np.repeat(np.array(["A", "B", "C"]), 1_000)
    events = pa.table({"t": np.arange(3_000), "kind": kinds})
    query = "PATTERN SEQ(A a, B b, C c) WHERE skip_till_any_match { a.t >= 0 }"
    fyke.match(events.slice(0, 9), query, engine="lazy_chain", **OPTIONS)  # compiles, or loads, the kernels
    seconds, counted = best_of(
        1, lambda: fyke.match(events, f"{query} RETURN count(*) AS n", engine="lazy_chain", **OPTIONS)
    )
    assert counted.column("n").to_pylist() == [10**9]
    taken, begin = 0, time.perf_counter()
    for batch in fyke.match_batches(
        events, f"{query} RETURN a.t AS t", engine="lazy_chain", limits=MANY, **OPTIONS
    ):
        taken += batch.num_rows
        if taken >= streamed:
            break
    rate = taken / (time.perf_counter() - begin)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    note = f"{taken:,} rows streamed, {rate / 1e6:.1f} million a second"
    return [
        Line("a billion matches counted", seconds, 60, "s"),
        Line("memory of the process after streaming", memory, 1, "GB", note),
    ]


def correlations(rows: int = 20_000) -> Line:
    """Conditions over lists of 20 numbers, beside the automaton."""
    rng = np.random.default_rng(0)
    history = pa.array(list(rng.normal(size=(rows, 20))), pa.list_(pa.float64()))
    events = skewed(rows).append_column("history", history)
    query = """PATTERN SEQ(A a, B b, C c) WHERE skip_till_any_match {
        corr(a.history, b.history) > 0.3 AND corr(b.history, c.history) > 0.3 } WITHIN 150
        RETURN count(*) AS n"""
    works = {
        engine: functools.partial(fyke.match, events, query, engine=engine, **OPTIONS)
        for engine in ("lazy_chain", "automaton")
    }
    (found,) = {work().column("n").to_pylist()[0] for work in works.values()}  # both count as many
    timed = interleaved(3, works)
    note = f"{found:,} matches, {timed.best('lazy_chain') * 1000:.0f} ms"
    return Line("correlations: chain / automaton", timed.ratio("lazy_chain", "automaton"), None, "x", note)


def main(*, quick: bool = False) -> bool:
    """Run the benchmark; return whether every bar holds."""
    pa.set_cpu_count(1)
    lines = a_billion(10_000_000 if quick else 50_000_000)
    keep_memory()
    lines += [*changing_rates(), correlations()]
    events = skewed()
    for window in (WINDOW,) if quick else (100, WINDOW, 200):
        for scenario in skewed_scenarios(window):
            named = replace(scenario, name=f"{scenario.name}, window {window}")
            lines += compare(named, events, eager=0.2)
    events = equal_rates()
    for scenario in equal_scenarios((30,) if quick else (10, 20, 30, 40)):
        lines += compare(scenario, events, eager=None)
    pa.set_cpu_count(2)
    lines += [on_two_threads(scenario, events) for scenario in equal_scenarios((30,))]
    return show("lazy", lines)


def billion() -> bool:
    """Stream a billion matches, all of them; return whether memory stays within its bar."""
    return show("a billion matches", a_billion(10**9))
