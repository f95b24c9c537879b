"""Batches to whole partitions: workers give the rows of the table, however Spark cuts what it sends."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import fyke
from fyke.engine.row_patterns.neighbours import RowColumns, true_bytes
from fyke.engine.row_patterns.order import order_rows
from fyke.errors import SkipError
from fyke.language.row_patterns import RowPatternQuery
from fyke.limits import Limits
from fyke.logical.row_patterns.analyse import analyse_row_pattern
from fyke.plan.row_patterns.plan import make_row_plan
from fyke.plan.row_patterns.pushdown import TRUTH, PushedRows, push_rows
from fyke.spark import row_patterns
from tests.random.row_clauses import row_case

CLAUSE = """
    MATCH_RECOGNIZE (
      PARTITION BY g, h ORDER BY i
      MEASURES MATCH_NUMBER() AS n, FIRST(i) AS first, LAST(x * 2) AS last ALL ROWS PER MATCH
      PATTERN (a b+) DEFINE a AS x > 1, b AS x >= PREV(x) AND i < 90
    )
"""


def rows(count: int) -> pa.Table:
    draw = random.Random(count)
    keys = sorted(draw.choice(("", "p", "q")) for _ in range(count))
    table = pa.table(
        {
            "g": [key or None for key in keys],
            "h": [None if n % 7 == 0 else n // 20 for n in range(count)],
            "i": range(count),
            "x": [draw.randint(0, 4) for _ in range(count)],
        }
    )
    return table.sort_by([("g", "ascending"), ("h", "ascending"), ("i", "ascending")])


def pushed_of(clause: str, table: pa.Table) -> PushedRows:
    query = fyke.parse(clause)
    assert isinstance(query, RowPatternQuery)
    columns = dict(zip(table.schema.names, table.schema.types, strict=True))
    return push_rows(make_row_plan(analyse_row_pattern(query, columns), Limits()))


def as_sent(table: pa.Table) -> pa.Table:
    """Return what Spark sends for CLAUSE: the columns by position, and the truths of one row as bits."""
    first = pc.if_else(pc.greater(table["x"], 1), 1, 0)
    second = pc.if_else(pc.less(table["i"], 90), 2, 0)
    truth = pc.bit_wise_or(first, second)
    return pa.table([*table.columns, truth], names=[f"c{number}" for number in range(5)])


@pytest.mark.parametrize("count, chunk", [(1, 1), (60, 1), (120, 7), (120, 1 << 19)])
def test_batches_of_any_size(monkeypatch: pytest.MonkeyPatch, count: int, chunk: int) -> None:
    table = rows(count)
    pushed = pushed_of(CLAUSE, table)
    assert list(pushed.sent) == ["g", "h", "i", "x", TRUTH]
    monkeypatch.setattr(row_patterns, "_CHUNK_ROWS", chunk)
    draw, sent, at = random.Random(chunk), as_sent(table), 0
    batches = [pa.RecordBatch.from_pylist([], sent.schema)]
    while at < count:
        size = draw.randint(1, 9)
        batches += sent.slice(at, size).combine_chunks().to_batches()
        at += size
    found = pa.Table.from_batches(
        row_patterns.row_matcher(pushed)(iter(batches)), pushed.plan.analysed.schema
    )
    expected = fyke.match(table, CLAUSE)
    assert found.num_rows > 10 or count == 1
    assert found.to_pylist() == expected.to_pylist()


def prepared(table: pa.Table, pushed: PushedRows) -> pa.Table:
    """Return what Spark sends for any clause: rows in order, columns by position, truths as bits."""
    analysed = pushed.plan.analysed
    columns = RowColumns(order_rows(table, analysed.partition, analysed.order))
    made = [columns.column(name) for name in pushed.carried]
    made += [columns.value(each.expression).cast(each.type) for each in pushed.columns]
    if TRUTH in pushed.sent:
        bits = [true_bytes(columns.value(each.expression)) for each in pushed.truths]
        truth = np.zeros(columns.rows, np.int64)
        for number, holds in enumerate(bits):
            truth |= holds.astype(np.int64) << number
        made.append(pa.array(truth))
    return pa.table(made, names=[f"c{number}" for number in range(len(made))])


def in_batches(table: pa.Table, draw: random.Random) -> list[pa.RecordBatch]:
    """Return the rows of a table cut at random, behind an empty batch."""
    places = sorted(draw.randint(0, table.num_rows) for _ in range(draw.randint(0, 6)))
    edges = [0, *places, table.num_rows]
    batches = [pa.RecordBatch.from_pylist([], table.schema)]
    for first, last in itertools.pairwise(edges):
        batches += table.slice(first, last - first).combine_chunks().to_batches()
    return batches


def compare(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare random clauses on batches with those on tables; at least half have rows, or an error."""
    told = in_partitions = 0
    for seed in seeds:
        case, draw = row_case(seed), random.Random(seed)
        monkeypatch.setattr(row_patterns, "_CHUNK_ROWS", draw.choice((1, 2, 3, 5, 1 << 19)))
        pushed = pushed_of(case.clause, case.table)
        batches = in_batches(prepared(case.table, pushed), draw)
        schema = pushed.plan.analysed.schema
        try:
            expected = fyke.match(case.table, case.clause)
        except SkipError:
            with pytest.raises(SkipError):
                list(row_patterns.row_matcher(pushed)(iter(batches)))
            told += 1
            continue
        found = pa.Table.from_batches(row_patterns.row_matcher(pushed)(iter(batches)), schema)
        assert found.to_pylist() == expected.to_pylist(), f"case {seed}: {case.clause}"
        told += expected.num_rows > 0
        in_partitions += "PARTITION BY" in case.clause and len(case.table["g"].unique()) > 1
    assert told >= len(seeds) / 2
    assert in_partitions >= len(seeds) / 5


def test_random_clauses_in_random_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    compare(range(150), monkeypatch)


@pytest.mark.long
def test_many_random_clauses_in_random_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    compare(range(1_000, 4_000), monkeypatch)


def test_no_batches() -> None:
    assert list(row_patterns.row_matcher(pushed_of(CLAUSE, rows(5)))(iter(()))) == []


def test_what_is_sent() -> None:
    table = rows(5)

    def sent(measures: str, define: str) -> list[str]:
        clause = f"MATCH_RECOGNIZE (ORDER BY i MEASURES {measures} PATTERN (a b) DEFINE {define})"
        return list(pushed_of(clause, table).sent)

    assert sent("count(*) AS n", "a AS x > 1, b AS h = 2 AND i < 5") == [TRUTH]
    assert sent("count(*) AS n", "a AS TRUE") == [TRUTH]
    assert sent("LAST(a.x) AS x", "a AS x > 1") == ["x", TRUTH]
    assert sent("LAST(a.x + a.h) AS s", "a AS x > 1") == ["__fyke_d0", TRUTH]
    assert sent("LAST(a.x + 1) AS s, LAST(a.x + 2) AS r", "a AS x > PREV(x)") == ["x"]
    assert sent("LAST(a.x + 1) AS s, LAST(a.x + 2) AS r", "a AS h > 1") == ["x", TRUTH]
    # Where null is not false a condition is a column, not a bit.
    assert sent("count(*) AS n", "a AS (x > 1) = (NEXT(x) > 1), b AS x > 1") == ["__fyke_d0"]
    assert sent("LAST(a.x > 1) AS t", "a AS x > 1") == ["__fyke_d0"]
