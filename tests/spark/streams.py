"""A stream with everything that goes wrong in data, and queries that together use all of the language."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

SECOND = 1_000_000
START = 1_772_900_000 * SECOND  # two hours before the clocks of New York change

END = 10**6  # seconds: later than everything


def stream(rows: int = 240, seed: int = 5) -> pa.Table:
    """Rows in no order: times that tie or are null, keys that are null, twins, types no query names."""
    random = np.random.default_rng(seed)

    def nulls(share: float) -> Any:
        return random.random(rows) < share

    moment = START + random.integers(0, rows * 2, rows) * 20 * SECOND
    lasting = random.choice([0, 0, 20, 90], rows) * SECOND
    zoned = pa.timestamp("us", tz="UTC")
    table = pa.table(
        {
            "kind": pa.array(random.choice(["A", "B", "C", "D", "E"], rows), mask=nulls(0.02)),
            "ts": pa.array(moment, pa.int64(), mask=nulls(0.03)).cast(zoned),
            "since": pa.array(moment - lasting, pa.int64()).cast(zoned),
            "k": pa.array(random.integers(0, 4, rows), pa.int32(), mask=nulls(0.05)),
            "s": pa.array(random.choice(["p", "q", "é"], rows), mask=nulls(0.05)),
            "x": pa.array(random.integers(-3, 9, rows), pa.int64(), mask=nulls(0.05)),
            "v": pa.array(
                np.where(nulls(0.05), np.nan, random.normal(5, 3, rows).round(2)), mask=nulls(0.05)
            ),
            "n": pa.array(random.permutation(rows) // 2, pa.int64()),
        }
    )
    twins = table.take(pa.array(random.integers(0, rows, rows // 12)))
    together = pa.concat_tables([table, twins])
    return together.take(pa.array(random.permutation(together.num_rows)))


def in_time(table: pa.Table) -> pa.Table:
    """Return the rows that have a time, in the order of their times."""
    known = table.filter(pc.is_valid(table["ts"]))
    return known.take(pc.sort_indices(known, [("ts", "ascending")]))


def the_end(table: pa.Table) -> pa.Table:
    """Return an event of no type, so late that every window has passed."""
    last = table.slice(0, 1)
    moment = pa.array([START + END * SECOND], pa.int64()).cast(table.schema.field("ts").type)
    for name, column in {"ts": moment, "since": moment, "kind": pa.array(["none"])}.items():
        last = last.set_column(last.schema.get_field_index(name), name, column)
    return last


# Of the two simultaneous Bs the column z, which no query below names, decides which one is read first.
SIMULTANEOUS = pa.table({"kind": ["B", "A", "B"], "t": [1, 0, 1], "z": [1, 0, 0], "x": [10, 0, 20]})
FIRST_READ = {
    "PATTERN SEQ(A a, B b) RETURN b.x AS x": [20],
    "PATTERN SEQ(A a, B b) WHERE partition_contiguity RETURN b.x AS x": [20],
    "PATTERN SEQ(A a, B+ b[]) WHERE greedy_skip_till_next_match RETURN first(b).x AS x": [20],
    "PATTERN SEQ(A a, B+ b[]) WHERE skip_till_any_match RETURN first(b).x AS x": [10, 20, 20],
    "PATTERN SEQ(A a, B b) WITHIN 2 EVENTS RETURN b.x AS x": [20],
    "PATTERN SEQ(A a, B b) WHERE skip_till_any_match RETURN b.x AS x": [10, 20],
}

# Name: (query, options of match)
QUERIES: dict[str, tuple[str, dict[str, Any]]] = {
    "any": (
        "PATTERN SEQ(A a, B b, C c) WHERE skip_till_any_match { [k] AND a.x < b.x } WITHIN 8 minutes",
        {},
    ),
    "next": ("PATTERN SEQ(A a, B+ b[], C c) WHERE { [k] AND b[i].x >= b[i-1].x } WITHIN 30 minutes", {}),
    "greedy": (
        "PATTERN SEQ({A a, B+ b[]}, C c) WHERE greedy_skip_till_next_match { [k] } WITHIN 20 minutes",
        {},
    ),
    "robust": ("PATTERN SEQ(A a, B b, C c) WHERE robust_skip_till_next_match { [k] } WITHIN 20 minutes", {}),
    "partition contiguity": (
        "PATTERN SEQ(A a, ANY+ b[]) WHERE partition_contiguity { [k] AND b[i].x > 0 } WITHIN 1 hour",
        {},
    ),
    "strict contiguity": ("PATTERN SEQ(A a, ANY b) WHERE strict_contiguity { a.x < 7 } WITHIN 1 hour", {}),
    "strict by key": ("PATTERN SEQ(ANY a, ANY b) WHERE strict_contiguity { [s] } WITHIN 1 hour", {}),
    "greedy contiguity": (
        "PATTERN ANY{2,} a[] WHERE greedy_partition_contiguity { [k] AND a[i].x >= a[i-1].x }",
        {"output": "non_overlap"},
    ),
    "greedy strict": (
        "PATTERN SEQ(ANY a, ANY+ b[]) WHERE greedy_strict_contiguity { [s] AND b.x > 0 } WITHIN 1 hour",
        {},
    ),
    "keyless": ("PATTERN SEQ(A a, B b) WHERE { a.v < b.v } WITHIN 5 minutes", {}),
    "two keys": ("PATTERN SEQ(A a, B b) WHERE { [k, s] } WITHIN 30 minutes", {}),
    "chained key": ("PATTERN SEQ(A a, B b, C c) WHERE { a.k = b.k AND b.k = c.k } WITHIN 20 minutes", {}),
    "float key": ("PATTERN SEQ(ANY a, ANY b) WHERE skip_till_any_match { [v] } WITHIN 10 days", {}),
    "absence between": ("PATTERN SEQ(A a, ~B b, C c) WHERE { [k] } WITHIN 30 minutes", {}),
    "absence at the start": ("PATTERN SEQ(~B b, A a) WHERE { [k] AND b.x > 2 } WITHIN 20 minutes", {}),
    "absence at the end": ("PATTERN SEQ(A a, ~B b) WHERE { [k] AND a.x < b.x } WITHIN 20 minutes", {}),
    "or": ("PATTERN SEQ(A a, OR(B b, SEQ(C c, D d))) WHERE { [k] AND b.x > a.x } WITHIN 15 minutes", {}),
    "optional": ("PATTERN SEQ(A a, B? b, C* c[], D d) WHERE { [k] } WITHIN 10 minutes", {}),
    "bounds": ("PATTERN SEQ(A a, ANY{2,3} b[], C c) WHERE { [s] AND a.x > 2 } WITHIN 10 minutes", {}),
    "returned": (
        "PATTERN SEQ(A a, B+ b[], C c) WHERE { [k] } WITHIN 20 minutes "
        "RETURN a.x, b.len, sum(b[].x) AS total, avg(b[].v) AS mean, c.v * 2 AS double, a.s, first(b).ts",
        {},
    ),
    "over matches": (
        "PATTERN SEQ(A a, B+ b[]) WHERE skip_till_any_match { [k] } WITHIN 5 minutes "
        "RETURN count(*) AS matches, max(b.len) AS longest, avg(sum(b[].x)) AS mean, min(a.s) AS least",
        {},
    ),
    "over matches, keyless": (
        "PATTERN SEQ(A a, B b) WHERE { a.x < b.x } WITHIN 5 minutes "
        "RETURN count(*) AS matches, sum(a.x) + 1 AS total, stddev(b.x) AS spread",
        {},
    ),
    "over no match": ("PATTERN SEQ(A a, B b) WHERE { a.x > 1000 } RETURN count(*), sum(a.x) AS total", {}),
    "no match": ("PATTERN SEQ(A a, B b) WHERE { a.x > 1000 } WITHIN 5 minutes", {}),
    "non overlap": ("PATTERN SEQ(A a, B b) WHERE { [k] } WITHIN 30 minutes", {"output": "non_overlap"}),
    "tie breaker": ("PATTERN SEQ(ANY a, ANY b) WHERE { [k] } WITHIN 2 minutes", {"tie_breaker": ["n"]}),
    "lasting": ("PATTERN SEQ(A a, ~C c, B b) WHERE { [k] } WITHIN 30 minutes", {"time": ("since", "ts")}),
    "lasting, group": (
        "PATTERN SEQ(A a, B+ b[]) WHERE { [k] } WITHIN 20 minutes",
        {"time": ("since", "ts")},
    ),
    "touching": (
        "PATTERN SEQ(A a, B+ b[]) WHERE { [k] } WITHIN 20 minutes",
        {"time": ("since", "ts"), "touching": "before"},
    ),
    "complete windows": (
        "PATTERN AND(A a, ~B b) WHERE { [k] AND b.x > 5 } WITHIN 40 minutes",
        {"complete_windows": True},
    ),
    "complete windows, over matches": (
        "PATTERN SEQ(A a, ~B b) WHERE skip_till_any_match { [k] } WITHIN 15 minutes RETURN count(*) AS n",
        {"time": ("since", "ts"), "complete_windows": True},
    ),
    "complete windows of events": (
        "PATTERN SEQ(A a, ~B b) WHERE { [k] } WITHIN 7 EVENTS",
        {"complete_windows": True, "output": "non_overlap"},
    ),
    "funnel": (
        "PATTERN FUNNEL(A a, B b, C c) WHERE { [k] AND a.x <= b.x } WITHIN 20 minutes "
        "RETURN reached(), a.n AS first, c.x AS last",
        {},
    ),
    "timeouts": ("PATTERN SEQ(A a, B b, C c) WHERE { [k] } WITHIN 15 minutes", {"timeouts": True}),
    "optional part": ("PATTERN SEQ(A a, (B b, C c)?, A d) WHERE { [k] } WITHIN 15 minutes", {}),
    "events": ("PATTERN SEQ(A a, B b) WHERE { [k] } WITHIN 6 EVENTS", {}),
    "events, keyless": (
        "PATTERN SEQ(A a, ~C c, B b) WHERE skip_till_any_match { a.x > 0 } WITHIN 6 EVENTS",
        {},
    ),
    "derived": (
        "PATTERN SEQ(A a, B b) WHERE { [k] AND a.x * 2 + 1 > b.x % 4 AND abs(a.v - b.v) < 3 "
        "AND upper(a.s) = 'P' AND b.s LIKE '_' AND a.x BETWEEN 0 AND 6 AND b.x IN (1, 2, 3, NULL) "
        "AND b.ts - a.ts > 90 seconds AND coalesce(a.v, 0) != 4 } WITHIN 40 minutes",
        {},
    ),
}
OPTIONS: dict[str, Any] = {"time": "ts", "type": "kind"}
