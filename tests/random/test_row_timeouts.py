"""Attempts that expire in random clauses: as the reference tells them, on tables and bit by bit."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import fyke
from fyke import reference
from fyke.errors import SkipError
from tests.random.row_clauses import row_case, windowed
from tests.row_patterns.row_streams import RowStream, StoredRowStream, as_sorted, bits_of, for_streams


def run(seeds: range) -> None:
    expired = matched = before_the_end = 0
    for seed in seeds:
        case, draw = row_case(seed), random.Random(seed)
        clause = windowed(case.clause, draw)
        if draw.random() < 0.5:
            clause = for_streams(clause, case.table, draw)
        told = f"case {seed}\n{clause}"
        try:
            expected = reference.match(case.table, clause, timeouts=True)
        except SkipError:
            with pytest.raises(SkipError):
                fyke.match(case.table, clause, timeouts=True)
            continue
        found = fyke.match(case.table, clause, timeouts=True)
        assert found.schema == expected.schema
        assert found.to_pylist() == expected.to_pylist(), told
        plain = fyke.match(case.table, clause)
        is_match = [status == "match" for status in found["status"].to_pylist()]
        only = found.filter(pa.array(is_match, pa.bool_())).drop_columns(["reached", "status"])
        assert only.to_pylist() == plain.to_pylist(), told
        expired += not all(is_match)
        matched += any(is_match)
        if "DESC" not in clause:
            before_the_end += bit_by_bit(clause, case.table, found, draw, told)
    assert expired >= len(seeds) / 4
    assert matched >= len(seeds) / 4
    assert before_the_end >= len(seeds) / 8


def bit_by_bit(clause: str, table: pa.Table, expected: pa.Table, draw: random.Random, told: str) -> bool:
    """Compare with rows that come in random batches; say whether an attempt expired before the last one."""
    kind = draw.choice((RowStream, StoredRowStream))
    stream = kind(clause, table.schema, parts=draw.choice((1, 3)), timeouts=True)
    for rows, watermark in bits_of(table, stream.plan.analysed.order[0].column, draw):
        stream.advance(rows, watermark)
    assert as_sorted(stream.result()) == as_sorted(expected), told
    return any("timeout" in each["status"].to_pylist() for each in stream.found[:-1])


@pytest.mark.parametrize("block", range(2))
def test_random_clauses(block: int) -> None:
    run(range(150 * block, 150 * block + 150))


@pytest.mark.long
@pytest.mark.parametrize("block", range(10))
def test_many_random_clauses(block: int) -> None:
    run(range(1_000 + 400 * block, 1_400 + 400 * block))
