"""Rows that come bit by bit, in any batches and any order within the watermark, give those of the table."""

from __future__ import annotations

import random

import pytest

import fyke
from fyke.errors import SkipError
from tests.random.row_clauses import row_case
from tests.row_patterns.row_streams import RowStream, StoredRowStream, as_sorted, bits_of, for_streams


def run(seeds: range) -> None:
    matched = before_the_end = 0
    for seed in seeds:
        case, draw = row_case(seed), random.Random(seed)
        clause = for_streams(case.clause, case.table, draw)
        told = f"case {seed}\n{clause}"
        expected: list[str] | str
        try:
            result = fyke.match(case.table, clause)
            expected = as_sorted(result)
            matched += any(count is not None for count in result["m"].to_pylist())
        except SkipError:  # which partition is first to have one depends on the order of arrival
            expected = "skips nowhere"
            matched += 1
        kind = draw.choice((RowStream, StoredRowStream))
        stream = kind(clause, case.table.schema, parts=draw.choice((1, 3)))
        try:
            for rows, watermark in bits_of(case.table, stream.plan.analysed.order[0].column, draw):
                stream.advance(rows, watermark)
            found: list[str] | str = as_sorted(stream.result())
            before_the_end += any(len(each) for each in stream.found[:-1])
        except SkipError:
            found = "skips nowhere"
        assert found == expected, told
        assert stream.late == 0, told
    assert matched >= len(seeds) / 2
    assert before_the_end >= len(seeds) / 3


@pytest.mark.parametrize("block", range(2))
def test_random_clauses(block: int) -> None:
    run(range(150 * block, 150 * block + 150))


@pytest.mark.long
@pytest.mark.parametrize("block", range(10))
def test_many_random_clauses(block: int) -> None:
    run(range(1_000 + 300 * block, 1_300 + 300 * block))
