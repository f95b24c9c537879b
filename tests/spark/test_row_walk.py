"""Batches to whole partitions: workers give the rows of the table, however Spark cuts what it sends."""

from __future__ import annotations

import random

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import fyke
from fyke.language.row_patterns import RowPatternQuery
from fyke.limits import Limits
from fyke.logical.row_patterns.analyse import analyse_row_pattern
from fyke.plan.row_patterns.plan import make_row_plan
from fyke.plan.row_patterns.pushdown import TRUTH, PushedRows, push_rows
from fyke.spark import row_patterns

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
