"""States in stores: which of them a process may take from its memory."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import fyke
from fyke.engine.engine import Engine
from fyke.engine.input.prepare import prepare
from fyke.engine.row_patterns.advance import RowEngine
from fyke.engine.row_patterns.stored_rows import StoredRows
from fyke.engine.stored_state import StoredStates
from tests.random.restarts import MemoryStore, StoredStream
from tests.row_patterns.row_streams import row_plan

BEGINNING = -(2**63)  # the watermark of the first micro-batch
QUERY = "PATTERN SEQ(A a, B b) WHERE { [k] } WITHIN 10"
CLAUSE = """
MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES a.x AS x
  PATTERN (a b) WITHIN 10 DEFINE a AS kind = 'A', b AS kind = 'B')
"""


def two_rows(x: int) -> pa.Table:
    """Return rows that states differ in, although as many of them wait."""
    return pa.table({"kind": ["A", "B"], "t": [1, 2], "k": [1, 1], "x": [x, x + 1]})


def saved(states: Any, rows: pa.Table) -> tuple[MemoryStore, Any]:
    """Return a store with the state after a first micro-batch, and what a process remembers of it."""
    store = MemoryStore()
    held = states.load(store)
    after, _ = states.advance(held, rows, BEGINNING)
    return store, states.save(store, held, after)[0]


def check_memory(states: Any, one: pa.Table, other: pa.Table) -> None:
    (first, mine), (second, theirs) = saved(states, one), saved(states, other)
    assert states.load(first, mine) is mine
    found = states.load(second, mine)
    assert found is not mine
    assert found.state.rows.equals(theirs.state.rows)


def test_rows_of_another_store_are_not_taken_from_memory() -> None:
    """A task that is tried again elsewhere, or a query that starts again, leaves what it had in memory."""
    stream = StoredStream(two_rows(1).schema, fyke.parse(QUERY), "t")
    one, other = (prepare(two_rows(x), stream.plan) for x in (1, 7))
    check_memory(StoredStates(Engine(stream.plan), one.schema), one, other)


def test_rows_of_a_clause_in_another_store_are_not_taken_from_memory() -> None:
    plan = row_plan(CLAUSE, two_rows(1).schema)
    check_memory(StoredRows(RowEngine(plan), two_rows(1).schema), two_rows(1), two_rows(7))


def test_rows_in_another_order_are_not_taken_from_memory() -> None:
    """Rows that ORDER BY does not tell apart stay as they came, and positions refer to them."""
    plan, rows = row_plan(CLAUSE, two_rows(1).schema), two_rows(1)
    rows = rows.set_column(1, "t", pa.array([1, 1]))
    check_memory(StoredRows(RowEngine(plan), rows.schema), rows, rows.take(pa.array([1, 0])))
