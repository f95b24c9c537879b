"""MATCH_RECOGNIZE on tables: beside loops in Numba, and beside DuckDB's best SQL for the same rows."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

import fyke
from bench.peer_cases import ROOM, cores
from bench.report import Line, best_of, interleaved, keep_memory, show
from bench.row_loops import ACCEPT, JUMP, SPLIT, TAKE, go_back, pairs, streaks, v_shapes

Array = np.ndarray[Any, Any]


# --- one thread, beside loops in Numba --------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Shape:
    """A clause over some rows, and the loop that it is measured against."""

    name: str
    rows: Callable[[int], pa.Table]
    clause: str
    loop: Callable[[pa.Table], pa.Table]
    goes_back: bool = True  # the loop reads rows again, if it is one that can go back


def ticks(rows: int) -> pa.Table:
    """Return times, prices that go up and down, and numbers from 0 to 1."""
    rng = np.random.default_rng(rows)
    return pa.table({"t": np.arange(rows), "price": np.cumsum(rng.normal(size=rows)), "x": rng.random(rows)})


def runs(rows: int) -> pa.Table:
    """Return a few letters 0, a few letters 1, a few letters 2, and so on."""
    rng = np.random.default_rng(rows)
    lengths = rng.integers(4, 12, rows // 4)
    letters = np.repeat(np.arange(len(lengths)) % 3, lengths)[:rows]
    return pa.table({"t": np.arange(rows), "letter": letters})


def mixed(rows: int) -> pa.Table:
    """Return a dozen letters 0 and 1, then a 4, now and then a 2; a 3 never."""
    rng = np.random.default_rng(rows)
    letters = rng.integers(0, 2, rows)
    ends = np.cumsum(rng.integers(8, 18, rows // 8))
    ends = ends[ends < rows]
    letters[ends] = np.where(rng.random(len(ends)) < 0.1, 2, 4)
    return pa.table({"t": np.arange(rows), "letter": letters})


SHAPES = (
    Shape(
        "A B",
        ticks,
        """MATCH_RECOGNIZE (ORDER BY t MEASURES low.t AS a, high.t AS b
           PATTERN (low high) DEFINE low AS x < 0.3, high AS x > 0.7)""",
        pairs,
    ),
    Shape(
        "V shape",
        ticks,
        """MATCH_RECOGNIZE (ORDER BY t MEASURES FIRST(t) AS a, LAST(down.t) AS b, LAST(t) AS c
           PATTERN (s down+ up+) DEFINE down AS price < PREV(price), up AS price > PREV(price))""",
        v_shapes,
    ),
    Shape(
        "streak",
        ticks,
        """MATCH_RECOGNIZE (ORDER BY t MEASURES FIRST(t) AS a, LAST(t) AS b, count(*) AS n
           PATTERN (s up{3,}) DEFINE up AS price > PREV(price))""",
        streaks,
    ),
)


def _of_letters(pattern: str) -> str:
    define = ", ".join(f"{name} AS letter = {k}" for k, name in enumerate("ABCR") if name in pattern)
    return (
        "MATCH_RECOGNIZE (ORDER BY t MEASURES FIRST(t) AS a, count(*) AS n "
        f"PATTERN ({pattern}) DEFINE {define})"
    )


def _program(*instructions: tuple[int, ...]) -> Callable[[pa.Table], pa.Table]:
    program = [(*each, 0, 0)[:3] for each in (*instructions, (ACCEPT,))]
    return functools.partial(go_back, program=program)


GOING_BACK = (
    Shape(
        "A+ B+ C+ R without an R",
        runs,
        _of_letters("A+ B+ C+ R"),
        _program((TAKE, 0), (SPLIT, 0, 2), (TAKE, 1), (SPLIT, 2, 4), (TAKE, 2), (SPLIT, 4, 6), (TAKE, 3)),
    ),
    Shape(
        "(A|B)* C",
        mixed,
        _of_letters("(A|B)* C"),
        _program((SPLIT, 1, 6), (SPLIT, 2, 4), (TAKE, 0), (JUMP, 0), (TAKE, 1), (JUMP, 0), (TAKE, 2)),
    ),
    Shape(
        "A{3,5} B?, without a bar: nothing is read again",
        runs,
        _of_letters("A{3,5} B?"),
        _program(
            *[(TAKE, 0)] * 3, (SPLIT, 4, 7), (TAKE, 0), (SPLIT, 6, 7), (TAKE, 0), (SPLIT, 8, 9), (TAKE, 1)
        ),
        goes_back=False,
    ),
)


def beside_loop(shape: Shape, rows: int, times: int, *, by_hand: bool) -> Line:
    """Compare one shape on one thread, from table to table."""
    table = shape.rows(rows)
    works: dict[str, Callable[[], pa.Table]] = {
        "fyke": functools.partial(fyke.match, table, shape.clause, threads=1, limits=ROOM),
        "loop": functools.partial(shape.loop, table),
    }
    mine = works["fyke"]().combine_chunks()
    assert mine.equals(works["loop"]()), f"{shape.name}: the loop has other rows"
    timed = interleaved(times, works)
    at_best = f"{timed.best('fyke') * 1e3:.0f} ms beside {timed.best('loop') * 1e3:.0f} ms at best"
    note = f"{rows:,} rows, {mine.num_rows:,} matches, {at_best}"
    if by_hand:
        return Line(f"{shape.name}: Fyke / a loop by hand", timed.ratio("fyke", "loop"), 3, "x", note)
    bar = 3 if shape.goes_back else None
    ratio = timed.ratio("loop", "fyke")
    return Line(f"{shape.name}: a loop that goes back / Fyke", ratio, bar, "x", note, at_least=True)


# --- DuckDB -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Question:
    """A clause over a table, and ways to ask for the same rows in SQL."""

    name: str
    events: Callable[[int], pa.Table]
    clause: str
    ways: dict[str, str]


def funnel_events(rows: int) -> pa.Table:
    """Return the steps of visitors, ten rows each: one of ten kinds, of which three are asked for."""
    rng = np.random.default_rng(rows)
    steps = pa.array(["view", "cart", "pay", "help", "search", "login", "back", "home", "mail", "share"])
    return pa.table(
        {
            "visitor": rng.integers(0, max(1, rows // 10), rows),
            "t": np.arange(rows),
            "step": steps.take(pa.array(rng.integers(0, len(steps), rows))),
        }
    )


def session_events(rows: int) -> pa.Table:
    """Return clicks of users, a thousand each."""
    rng = np.random.default_rng(rows)
    return pa.table({"visitor": rng.integers(0, max(1, rows // 1_000), rows), "t": np.arange(rows)})


QUESTIONS = (
    Question(
        "funnel of three steps",
        funnel_events,
        """MATCH_RECOGNIZE (
           PARTITION BY visitor ORDER BY t
           MEASURES view.t AS viewed, cart.t AS carted, pay.t AS paid
           PATTERN (^ any_row*? view any_row*? cart any_row*? pay)
           DEFINE view AS step = 'view', cart AS step = 'cart', pay AS step = 'pay')""",
        {
            "grouped joins": """
                WITH v AS (SELECT visitor, min(t) AS t FROM events WHERE step = 'view' GROUP BY visitor),
                c AS (SELECT visitor, v.t AS viewed, min(e.t) AS t
                      FROM events e JOIN v USING (visitor)
                      WHERE step = 'cart' AND e.t > v.t GROUP BY ALL),
                p AS (SELECT visitor, viewed, c.t AS carted, min(e.t) AS t
                      FROM events e JOIN c USING (visitor)
                      WHERE step = 'pay' AND e.t > c.t GROUP BY ALL)
                SELECT visitor, viewed, carted, t AS paid FROM p""",
            "lists": """
                SELECT visitor, viewed, carted, list_min(list_filter(pays, lambda t: t > carted)) AS paid
                FROM (SELECT visitor, viewed, pays,
                             list_min(list_filter(carts, lambda t: t > viewed)) AS carted
                      FROM (SELECT visitor, min(t) FILTER (step = 'view') AS viewed,
                                   list(t) FILTER (step = 'cart') AS carts,
                                   list(t) FILTER (step = 'pay') AS pays
                            FROM events WHERE step IN ('view', 'cart', 'pay') GROUP BY visitor))
                WHERE paid IS NOT NULL""",
            "windows": """
                SELECT visitor, viewed, carted, min(t) AS paid FROM (
                    SELECT *, min(CASE WHEN step = 'cart' AND t > viewed THEN t END)
                                  OVER (PARTITION BY visitor) AS carted
                    FROM (SELECT *, min(CASE WHEN step = 'view' THEN t END)
                                        OVER (PARTITION BY visitor) AS viewed
                          FROM events WHERE step IN ('view', 'cart', 'pay')))
                WHERE step = 'pay' AND t > carted GROUP BY ALL""",
        },
    ),
    Question(
        "sessions by gap",
        session_events,
        """MATCH_RECOGNIZE (
           PARTITION BY visitor ORDER BY t
           MEASURES FIRST(t) AS start, LAST(t) AS stop, count(*) AS clicks
           PATTERN (click more*) DEFINE more AS t - PREV(t) <= 10000)""",
        {
            "lag and a running sum": """
                SELECT visitor, min(t) AS start, max(t) AS stop, count(*) AS clicks FROM (
                    SELECT *, sum(new) OVER (PARTITION BY visitor ORDER BY t
                                             ROWS UNBOUNDED PRECEDING) AS session
                    FROM (SELECT *, CASE WHEN t - lag(t) OVER (PARTITION BY visitor ORDER BY t) <= 10000
                                         THEN 0 ELSE 1 END AS new FROM events))
                GROUP BY visitor, session""",
            "edges": """
                SELECT visitor, t AS start,
                       coalesce(lead(before) OVER w, last) AS stop,
                       coalesce(lead(number) OVER w, rows + 1) - number AS clicks
                FROM (SELECT visitor, t, lag(t) OVER w AS before, row_number() OVER w AS number,
                             max(t) OVER (PARTITION BY visitor) AS last,
                             count(*) OVER (PARTITION BY visitor) AS rows
                      FROM events WINDOW w AS (PARTITION BY visitor ORDER BY t))
                WHERE before IS NULL OR t - before > 10000
                WINDOW w AS (PARTITION BY visitor ORDER BY t)""",
        },
    ),
)


def _numbers(table: pa.Table) -> Array:
    """Return rows of whole numbers in order."""
    rows = np.stack([column.to_numpy().astype(np.int64) for column in table.columns], axis=1)
    return rows[np.lexsort(rows.T[::-1])]


def beside_duckdb(question: Question, rows: int, threads: int, times: int) -> Line:
    """Compare the rows of one question, and the time until they are an Arrow table."""
    events = question.events(rows)
    connection = duckdb.connect(config={"threads": threads})
    connection.register("source", events)
    connection.execute("CREATE TABLE events AS SELECT * FROM source")
    mine = _numbers(fyke.match(events, question.clause, threads=threads, limits=ROOM))
    took = {}
    for name, sql in question.ways.items():
        work = functools.partial(_rows, connection, sql)
        took[name], theirs = best_of(1, work)
        assert np.array_equal(mine, _numbers(theirs)), f"{question.name}: DuckDB has other rows by {name}"
        del theirs
    best = min(took, key=lambda name: took[name])
    works: dict[str, Callable[[], pa.Table]] = {
        "fyke": functools.partial(fyke.match, events, question.clause, threads=threads, limits=ROOM),
        "duckdb": functools.partial(_rows, connection, question.ways[best]),
    }
    timed = interleaved(times, works, clock=time.process_time if threads == 1 else time.perf_counter)
    connection.close()
    at_best = f"{timed.best('fyke') * 1e3:,.0f} ms beside {timed.best('duckdb') * 1e3:,.0f} ms at best"
    note = f"{rows:,} rows, {len(mine):,} matches, DuckDB by {best}, {at_best}"
    where = "one thread" if threads == 1 else f"{threads} threads"
    return Line(f"{question.name}, {where}: DuckDB / Fyke", timed.ratio("duckdb", "fyke"), 1, "x", note, True)


def _rows(connection: duckdb.DuckDBPyConnection, sql: str) -> pa.Table:
    return connection.sql(sql).to_arrow_table()


def recognizes() -> str:
    """Return why DuckDB cannot run MATCH_RECOGNIZE, or nothing if it can."""
    connection = duckdb.connect()
    connection.execute("CREATE TABLE events (visitor BIGINT, t BIGINT)")
    try:
        connection.execute(f"EXPLAIN SELECT * FROM events {QUESTIONS[1].clause}")
    except duckdb.Error as error:
        return str(error).splitlines()[0]
    return ""


def main(*, quick: bool = False) -> bool:
    """Run the benchmark; return whether every bar holds."""
    keep_memory()
    rows = 2_000_000  # with fewer, planning the query would count
    many, times = (1_000_000, 5) if quick else (10_000_000, 9)
    pa.set_cpu_count(1)
    lines = [beside_loop(shape, rows, 2 * times, by_hand=True) for shape in SHAPES]
    lines += [beside_loop(shape, rows, times, by_hand=False) for shape in GOING_BACK]
    passed = show("row patterns: loops", lines)
    reason = recognizes()
    known = QUESTIONS
    if not reason:
        known = tuple(
            replace(each, ways={**each.ways, "MATCH_RECOGNIZE": f"SELECT * FROM events {each.clause}"})
            for each in QUESTIONS
        )
    lines = []
    for threads in sorted({1, min(2, cores())}):
        pa.set_cpu_count(threads)
        lines += [beside_duckdb(question, many, threads, times // 2) for question in known]
    remarks = f"DuckDB {duckdb.__version__} has no MATCH_RECOGNIZE: {reason}" if reason else ""
    return show("row patterns: DuckDB", lines, remarks=remarks) and passed
