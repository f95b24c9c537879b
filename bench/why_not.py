"""``fyke.why_not`` on a million events: the seconds of an answer that names the true cause."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pyarrow as pa

import fyke
from bench.report import Line, Spread, show
from bench.sessions import session
from fyke.datasets import as_dataframe

BAR, ALLOWED = 10.0, 8.0
OPTIONS: dict[str, Any] = {"time": "at", "type": "kind"}
MISTAKES = {
    "condition": "PATTERN SEQ(A a, B b, C c) WHERE { [user] AND a.x > 1000 } WITHIN 50000",
    "window": "PATTERN SEQ(A a, B b, C c) WHERE { [user] } WITHIN 2",
    "missing_type": "PATTERN SEQ(A a, Bx b, C c) WHERE { [user] } WITHIN 50000",
    "absence": "PATTERN SEQ(A a, ~ANY b, C c) WHERE { a.user = c.user AND c.at - a.at > 100 } WITHIN 50000",
}


PAIR = "PATTERN SEQ(A a, B b) WHERE { [user] } WITHIN 5"
IN_TRIPLES = {
    "tie": PAIR,
    "null_key": PAIR,
    "strategy": PAIR.replace("WHERE", "WHERE strict_contiguity"),
    "order": "PATTERN SEQ(B b, A a) WHERE { [user] } WITHIN 5",
}


def events(rows: int) -> pa.Table:
    """Return events of five types and two thousand users, of one type every time about as many."""
    random = np.random.default_rng(1)
    return pa.table(
        {
            "kind": random.choice(list("ABCDE"), rows),
            "user": random.integers(0, 2_000, rows),
            "x": random.random(rows) * 100,
            "at": np.sort(random.integers(0, 10 * rows, rows)),
        }
    )


def triples(rows: int, cause: str) -> pa.Table:
    """Return an A, an X and a B of each user, which only one mistake keeps from being a pair of A and B."""
    number = np.arange(rows)
    user, place = np.divmod(number, 3)
    return pa.table(
        {
            "kind": np.array(list("AXB"))[place],
            "user": pa.array(user, mask=(place == 2) & (cause == "null_key")),
            "at": 10 * user + (0 if cause == "tie" else place),
        }
    )


def _asked(given: Any, cause: str, query: str, rounds: int) -> Spread:
    """Return the seconds of an answer, by the wall clock; without end if it names another cause."""
    taken = []
    for _ in range(rounds):
        begin = time.perf_counter()
        found = fyke.why_not(given, query, seconds=ALLOWED, **OPTIONS)
        taken.append(time.perf_counter() - begin if found.cause == cause else math.inf)
    return Spread(taken)


def main(*, quick: bool = False) -> bool:
    """Run the benchmark; return whether every bar holds."""
    rows, rounds = (200_000, 1) if quick else (1_000_000, 3)
    few, table = events(2_000), events(rows)
    for query in MISTAKES.values():
        fyke.why_not(few, query, **OPTIONS)  # compiles
    for cause, query in IN_TRIPLES.items():
        fyke.why_not(triples(2_000, cause), query, **OPTIONS)
    note = f"{rows:,} events"
    lines = [
        Line(f"a table: {cause}", _asked(table, cause, query, rounds), BAR, "s", note)
        for cause, query in MISTAKES.items()
    ]
    lines += [
        Line(f"a table: {cause}", _asked(triples(rows, cause), cause, query, rounds), BAR, "s", note)
        for cause, query in IN_TRIPLES.items()
    ]
    with session(2) as spark:
        frame = as_dataframe(spark, table).cache()
        frame.count()
        lines += [
            Line(f"a DataFrame: {cause}", _asked(frame, cause, MISTAKES[cause], rounds), BAR, "s", note)
            for cause in ("condition", "missing_type", "absence")
        ]
    return show("why-not", lines)
