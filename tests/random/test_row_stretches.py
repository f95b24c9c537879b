"""Rows cut into stretches of a few give the result of the whole, in one order for any number of threads."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest

import fyke
from fyke.engine.row_patterns import stretches
from fyke.errors import SkipError
from fyke.language.ast import Binary
from fyke.language.row_patterns import Definition, RowPatternQuery
from tests.random.row_clauses import row_case, windowed

WAYS = {
    "cut anywhere": "nodes",
    "overlap by the window": "window",
    "rows, the most": "rows",
    "cut at rows that cannot be": "barriers",
    "not cut": "whole",
}


def outcome(table: pa.Table, clause: str, **options: Any) -> pa.Table | str:
    try:
        return fyke.match(table, clause, **options)
    except SkipError as error:
        return str(error)


def guarded(query: RowPatternQuery) -> str:
    """Return a clause without its window, but with a condition on its row for each variable."""
    other = fyke.parse("MATCH_RECOGNIZE (PATTERN (a) DEFINE a AS coalesce(x, 1) <> 3)")
    assert isinstance(other, RowPatternQuery)
    guard = other.define[0].condition
    known = {each.variable: each.condition for each in query.define}
    define = tuple(
        Definition(name, Binary("AND", known[name], guard) if name in known else guard)
        for name in query.variables
    )
    return str(replace(query, window=None, define=define))


def check(told: str, table: pa.Table, clause: str, **options: Any) -> str | None:
    """Compare stretches with the whole; return in which way the clause is cut, None without matches."""
    expected = outcome(table, clause, **options)
    for size in (1, 2, 3):
        with (
            patch.object(stretches, "LEAST_ROWS", 1),
            patch.object(stretches, "STRETCH_ROWS", size),
            patch.object(stretches, "NODE_ROWS", size),
            patch.object(stretches, "WINDOWS", 0),
            patch.object(stretches, "BARRIER_ROWS", size),
        ):
            for found in (outcome(table, clause, threads=threads, **options) for threads in (1, 3)):
                if isinstance(expected, str) or isinstance(found, str):
                    assert found == expected, f"{told}, stretches of {size}: {clause}"
                else:
                    assert found.schema == expected.schema
                    assert found.to_pylist() == expected.to_pylist(), f"{told}, {size}: {clause}"
    if not isinstance(expected, str) and expected.num_rows == 0:
        return None
    explained = fyke.explain(table, clause, **options)
    return next((way for words, way in WAYS.items() if words in explained), "anywhere")


def run(seeds: range) -> Counter[str]:
    """Check many cases, with attempts that expire too; return how many with matches were cut in which way."""
    seen: Counter[str] = Counter()
    for seed in seeds:
        case = row_case(seed)
        # The last rows are not told apart from the first ones by the order.
        table = pa.concat_tables([case.table, case.table.slice(0, 3)])
        way = check(f"case {seed}", table, case.clause)
        if way is not None:
            seen[way] += 1
        way = check(f"case {seed} guarded", table, guarded(case.query))
        if way is not None:
            seen[f"{way}, guarded"] += 1
        clause = windowed(case.clause, random.Random(seed))
        way = check(f"case {seed} with timeouts", table, clause, timeouts=True)
        if way is not None:
            seen[f"{way}, timeouts"] += 1
    return seen


def check_counts(seen: Counter[str], least: int) -> None:
    """Check that every way to cut was seen often enough, that at barriers also with attempts that expire."""
    ways = ["nodes", "window", "rows", "whole", "barriers, guarded", "barriers, timeouts", "whole, timeouts"]
    assert min(seen[way] for way in ways) >= least, seen


def test_stretches_give_the_rows_of_the_whole() -> None:
    check_counts(run(range(100)), 3)


@pytest.mark.long
def test_many_stretches_give_the_rows_of_the_whole() -> None:
    check_counts(run(range(1_000, 4_000)), 100)
