"""Attempts that expire as rows: one for each start, however far it came."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import fyke
from fyke.errors import OptionError
from fyke.testing import replay

STEPS = ("A", "B", "C")
OPTIONS = {"time": "t", "type": "kind"}


def prefix(count: int, tail: str = "") -> str:
    names = ", ".join(f"{kind} {kind.lower()}" for kind in STEPS[:count])
    where = "[k]" + (" AND a.x <= b.x" if count > 1 else "") + (" AND c.x != a.x" if count > 2 else "")
    return f"PATTERN SEQ({names}) WHERE {{ {where} }} WITHIN 12{tail}"


def events(seed: int, rows: int = 60) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "t": np.cumsum(rng.integers(0, 3, rows)),
            "kind": rng.choice(["A", "B", "C", "D"], rows),
            "k": rng.integers(0, 3, rows),
            "x": rng.integers(0, 4, rows),
            "n": np.arange(rows),
        }
    )


def by_definition(table: pa.Table) -> dict[int, tuple[int, list[int]]]:
    """Return for each start the longest prefix that matches: its number of steps, and its events."""
    found: dict[int, tuple[int, list[int]]] = {}
    for count in (1, 2, 3):
        query = "PATTERN A a WHERE { [k] } WITHIN 12" if count == 1 else prefix(count)
        for row in fyke.reference.match(table, query, **OPTIONS).to_pylist():
            bound = [row[kind.lower()]["n"] for kind in STEPS[:count]]
            found[bound[0]] = (count, bound)
    return found


@pytest.mark.parametrize("seed", range(12))
def test_every_start_is_a_row_with_the_longest_prefix_that_matches(seed: int) -> None:
    table = events(seed)
    rows = fyke.match(table, prefix(3), **OPTIONS, timeouts=True).to_pylist()
    expected = by_definition(table)
    assert len(rows) == len(expected) > 5
    for row in rows:
        bound = [row[kind.lower()]["n"] for kind in STEPS if row[kind.lower()] is not None]
        assert (row["reached"], bound) == expected[bound[0]]
        assert row["status"] == ("match" if row["reached"] == 3 else "timeout")
    matches = fyke.match(table, prefix(3), **OPTIONS)
    assert sum(row["status"] == "match" for row in rows) == matches.num_rows


def test_on_a_stream_a_match_does_not_wait_and_an_attempt_expires() -> None:
    query = "PATTERN SEQ(A a, B b, C c) WHERE { [k] } WITHIN 9"
    text = "A(k=1)@0 A(k=2)@0 | B(k=1)@1 B(k=2)@2 | C(k=1)@3 | D(k=1)@8 | D(k=1)@9 | D(k=1)@20"
    seen = replay(query, text, timeouts=True)
    told = [[(row["k"], row["reached"]) for row in batch.to_pylist()] for batch in seen.batches]
    assert told == [[], [], [(1, 3)], [], [(2, 2)], [], []]


@pytest.mark.parametrize("seed", range(4))
def test_batches_and_items_of_return(seed: int) -> None:
    table, query = events(seed), prefix(3, " RETURN a.n AS n, c.x AS x")
    rows = fyke.match(table, query, **OPTIONS, timeouts=True)
    assert rows.column_names[-4:] == ["n", "x", "reached", "status"]
    batches = pa.Table.from_batches(fyke.match_batches(table, query, **OPTIONS, timeouts=True))
    assert batches.sort_by("n").equals(rows.sort_by("n"))


@pytest.mark.parametrize(
    "query, options, said",
    [
        ("PATTERN SEQ(A a, B+ b[]) WITHIN 9", {}, "sequence of single events"),
        ("PATTERN SEQ(A a, ~B b) WITHIN 9", {}, "sequence of single events"),
        ("PATTERN SEQ(A a, B b) WHERE skip_till_any_match { } WITHIN 9", {}, "sequence of single events"),
        ("PATTERN SEQ(A a, B b)", {}, "needs a window"),
        ("PATTERN SEQ(A a, B b) WITHIN 9", {"output": "compressed"}, "has no meaning"),
        ("PATTERN SEQ(A a, B b) WITHIN 9 RETURN count(*) AS n", {}, "aggregates over matches"),
        ("PATTERN SEQ(A a, B b) WITHIN 9", {"timeouts": 1}, "timeouts"),
        ("SELECT * FROM [RANGE 5 SEC] A; B", {}, "timeouts"),
    ],
)
def test_what_has_no_attempts_is_refused(query: str, options: dict[str, object], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        fyke.match(events(0), query, **{**OPTIONS, "timeouts": True, **options})
