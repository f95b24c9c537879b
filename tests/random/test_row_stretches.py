"""Rows cut into stretches of a few give the result of the whole, in one order for any number of threads."""

from __future__ import annotations

from collections import Counter
from unittest.mock import patch

import pyarrow as pa
import pytest

import fyke
from fyke.engine.row_patterns import stretches
from fyke.errors import SkipError
from tests.random.row_clauses import row_case

WAYS = {
    "cut anywhere": "nodes",
    "overlap by the window": "window",
    "rows, the most": "rows",
    "not cut": "whole",
}


def outcome(table: pa.Table, clause: str, **options: int) -> pa.Table | str:
    try:
        return fyke.match(table, clause, **options)
    except SkipError as error:
        return str(error)


def run(seeds: range) -> Counter[str]:
    """Compare stretches with the whole; return how many cases were cut in which way, with matches."""
    seen: Counter[str] = Counter()
    for seed in seeds:
        case = row_case(seed)
        table = pa.concat_tables(
            [case.table, case.table.slice(0, 3)]
        )  # rows that the order does not tell apart
        expected = outcome(table, case.clause)
        told = fyke.explain(table, case.clause)
        for size in (1, 2, 3):
            with (
                patch.object(stretches, "LEAST_ROWS", 1),
                patch.object(stretches, "STRETCH_ROWS", size),
                patch.object(stretches, "NODE_ROWS", size),
                patch.object(stretches, "WINDOWS", 0),
            ):
                one, three = (outcome(table, case.clause, threads=threads) for threads in (1, 3))
            for found in (one, three):
                if isinstance(expected, str) or isinstance(found, str):
                    assert found == expected, f"case {seed}, stretches of {size}: {case.clause}"
                else:
                    assert found.schema == expected.schema
                    assert found.to_pylist() == expected.to_pylist(), f"case {seed}, {size}: {case.clause}"
        if isinstance(expected, str) or expected.num_rows:
            seen[next(way for words, way in WAYS.items() if words in told)] += 1
    return seen


def test_stretches_give_the_rows_of_the_whole() -> None:
    seen = run(range(150))
    assert min(seen[way] for way in ("nodes", "window", "rows", "whole")) >= 5, seen


@pytest.mark.long
def test_many_stretches_give_the_rows_of_the_whole() -> None:
    seen = run(range(1_000, 4_000))
    assert min(seen.values()) >= 100, seen
