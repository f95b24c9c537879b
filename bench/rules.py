"""A hundred rules over one stream against one of them, on a table and on Spark: what reading once saves.

The rules are as such sets are: each is about a few of the many types there are, with its own conditions and
window, and most of them are by the same key.  One rule is the first of them in a set of its own, run in the
same way.  ``fyke.match`` of its query need not tell all types apart; the ratio to it is shown as well.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import fyke
from bench.report import Line, interleaved, show
from bench.sessions import session

RULES, KINDS, BAR = 100, 300, 10.0
OPTIONS: dict[str, Any] = {"time": "ts", "type": "kind"}
_SHAPES = (
    "PATTERN SEQ({0} a, {1} b, {2} c) WHERE {{ [user] AND a.x < b.x }} WITHIN {3}",
    "PATTERN SEQ({0} a, ~{1} b, {2} c) WHERE {{ [user] AND c.x > 0.5 }} WITHIN {3}",
    "PATTERN SEQ({0}+ a[], {1} b) WHERE {{ [user] AND a[i].x > a[i-1].x AND a.len >= 2 }} WITHIN {3}",
    "PATTERN AND({0} a, {1} b) WHERE skip_till_any_match {{ [user] AND a.x + b.x > 1.5 }} WITHIN {3}",
)


def events(rows: int) -> pa.Table:
    """Return events of many types and ten thousand users, about ten a second."""
    random = np.random.default_rng(16)
    kinds = pa.array([f"kind{number:03}" for number in range(KINDS)])
    users = pa.array([f"user{number:05}" for number in range(10_000)])
    return pa.table(
        {
            "ts": pa.array(np.arange(rows) * 100_000, pa.timestamp("us", "UTC")),
            "kind": kinds.take(pa.array(random.integers(0, KINDS, rows))),
            "user": users.take(pa.array(random.integers(0, 10_000, rows))),
            "x": random.random(rows),
        }
    )


def texts(count: int) -> dict[str, str]:
    """Return rules by name, four shapes of them in turn, over types chosen at random."""
    random = np.random.default_rng(100)
    found = {}
    for number in range(count):
        kinds = [f"kind{each:03}" for each in random.choice(KINDS, 3, replace=False)]
        window = int(random.integers(1, 48))
        found[f"rule {number}"] = _SHAPES[number % len(_SHAPES)].format(*kinds, f"{window} hours")
    return found


def _sets() -> dict[str, fyke.Rules]:
    """Return all rules, and the first one alone."""
    rules = texts(RULES)
    found = {"one": fyke.rules(dict(list(rules.items())[:1])), "all": fyke.rules(rules)}
    assert not found["all"].broken
    return found


def _on_table(table: pa.Table, rounds: int) -> list[Line]:
    sets, query = _sets(), texts(1)["rule 0"]
    works = {
        "one": lambda: sets["one"].run(table, threads=1, **OPTIONS),
        "all": lambda: sets["all"].run(table, threads=1, **OPTIONS),
        "match": lambda: fyke.match(table, query, threads=1, **OPTIONS),
    }
    together, alone = works["all"](), works["match"]()
    assert together.of("rule 0").equals(alone), "rules that run together change the rows"
    found = sum(each["matches"] for each in together.metrics().values())
    timed = interleaved(rounds, works)
    note = f"{table.num_rows:,} events, {RULES} rules, {found:,.0f} matches"
    return [
        Line("on a table: a hundred rules / a set of one", timed.ratio("all", "one"), BAR, "x", note),
        Line("on a table: a hundred rules / fyke.match of one", timed.ratio("all", "match"), None, "x", note),
        Line("on a table: a set of one / fyke.match of it", timed.ratio("one", "match"), None, "x", note),
    ]


def _on_spark(table: pa.Table, rounds: int) -> list[Line]:
    sets, query = _sets(), texts(1)["rule 0"]
    with tempfile.TemporaryDirectory(prefix="fyke-bench-") as folder, session(2) as spark:
        pq.write_table(table, Path(folder) / "events.parquet")
        frame = spark.read.parquet(folder)
        works = {
            "one": lambda: sets["one"].run(frame, **OPTIONS).all().count(),
            "all": lambda: sets["all"].run(frame, **OPTIONS).all().count(),
            "match": lambda: fyke.match(frame, query, **OPTIONS).count(),
        }
        found = {name: work() for name, work in works.items()}
        assert found["one"] == found["match"], found
        timed = interleaved(rounds, works, clock=time.perf_counter)
    note = f"{table.num_rows:,} events, {RULES} rules, {found['all']:,} matches, two cores"
    return [
        Line("on Spark: a hundred rules / a set of one", timed.ratio("all", "one"), BAR, "x", note),
        Line("on Spark: a hundred rules / fyke.match of one", timed.ratio("all", "match"), None, "x", note),
        Line("on Spark: a set of one / fyke.match of it", timed.ratio("one", "match"), None, "x", note),
    ]


def main(*, quick: bool = False) -> bool:
    """Run the benchmark; return whether every bar holds."""
    table, rounds = events(1_000_000), 3 if quick else 5
    return show("rules", [*_on_table(table, rounds), *_on_spark(table, rounds)])
