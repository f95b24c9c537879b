"""Clauses on rows that come bit by bit: batches, watermarks, and state that goes through bytes after each."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

import fyke
from fyke.engine.row_patterns.advance import RowEngine
from fyke.engine.row_patterns.order import integers
from fyke.engine.row_patterns.row_state import (
    RowState,
    decode_row_state,
    encode_row_state,
    merge_row_states,
    split_row_state,
)
from fyke.engine.row_patterns.stored_rows import HeldRows, StoredRows
from fyke.language.row_patterns import RowPatternQuery
from fyke.limits import Limits
from fyke.logical.row_patterns.analyse import analyse_row_pattern
from fyke.plan.row_patterns.plan import RowPlan, make_row_plan
from tests.random.restarts import MemoryStore

Bit = tuple[pa.Table, int | None]


def row_plan(clause: str, schema: pa.Schema, *, timeouts: bool = False) -> RowPlan:
    """Return the plan of a clause on rows of a schema."""
    query = fyke.parse(clause)
    assert isinstance(query, RowPatternQuery)
    columns = dict(zip(schema.names, schema.types, strict=True))
    return make_row_plan(analyse_row_pattern(query, columns, timeouts=timeouts), Limits())


class RowStream:
    """A clause that reads rows bit by bit; a new engine reads the state from bytes each time."""

    def __init__(self, clause: str, schema: pa.Schema, *, parts: int = 1, timeouts: bool = False) -> None:
        self.plan, self.schema, self.parts = row_plan(clause, schema, timeouts=timeouts), schema, parts
        self.data = encode_row_state(self.plan, RowEngine(self.plan).start(schema))
        self.found: list[pa.Table] = []
        self.late = 0

    def advance(self, rows: pa.Table, watermark: int | None) -> list[dict[str, Any]]:
        """Read rows up to a watermark; return what is reported."""
        engine = RowEngine(self.plan)
        state = decode_row_state(self.plan, self.data, self.schema)
        if self.parts > 1 and self.plan.analysed.partition:
            state = merge_row_states(split_row_state(self.plan, state, self.parts)[::-1])
        state, found = engine.advance(state, rows, watermark)
        self.data = encode_row_state(self.plan, state)
        self.found.append(found.rows)
        self.late += found.late
        return found.rows.to_pylist()

    @property
    def state(self) -> RowState:
        return decode_row_state(self.plan, self.data, self.schema)

    def result(self) -> pa.Table:
        return pa.concat_tables(self.found)


class StoredRowStream(RowStream):
    """The same with its state in a store, of which rows are written once."""

    def __init__(self, clause: str, schema: pa.Schema, *, parts: int = 1, timeouts: bool = False) -> None:
        super().__init__(clause, schema, parts=parts, timeouts=timeouts)
        self.store = MemoryStore()
        self.held: HeldRows | None = None

    def advance(self, rows: pa.Table, watermark: int | None) -> list[dict[str, Any]]:
        engine = RowEngine(self.plan)
        stored = StoredRows(engine, self.schema)
        held = stored.load(self.store, self.held if self.parts > 1 else None)
        after, found = stored.advance(held, rows, watermark)
        self.held, _ = stored.save(self.store, held, after)
        self.found.append(found.rows)
        self.late += found.late
        return found.rows.to_pylist()

    @property
    def state(self) -> RowState:
        return StoredRows(RowEngine(self.plan), self.schema).load(self.store).state


def bits_of(table: pa.Table, time: str, draw: random.Random) -> Iterator[Bit]:
    """Yield the rows of a table in random batches and order, with random watermarks that make none late."""
    times = integers(table.column(time).combine_chunks())
    batches = draw.randint(1, max(1, 2 * len(times)))
    # Rows come about when they happen, some of them much later.
    ranks = np.argsort(np.argsort(times)) * batches / max(1, len(times))
    delay = draw.choice((0, 1, batches))
    when = np.minimum(ranks + [draw.random() * delay for _ in times], batches - 1).astype(int)
    order = draw.sample(range(len(times)), len(times))
    watermark = int(times.min(initial=0)) - 1
    for batch in range(batches):
        rows = [row for row in order if when[row] == batch]
        later = times[when > batch]
        most = int(later.min()) - 1 if len(later) else int(times.max(initial=0)) + draw.choice((0, 1, 600))
        watermark = max(watermark, most if draw.random() < 0.7 else draw.randint(min(watermark, most), most))
        yield table.take(pa.array(rows, pa.int64())), watermark
    yield table.slice(0, 0), None


def for_streams(clause: str, table: pa.Table, draw: random.Random, *, least_window: int = 0) -> str:
    """Return a clause that a stream takes: in ascending order, with a window if it needs one."""
    clause = clause.replace("ORDER BY t DESC NULLS FIRST, i", "ORDER BY t, i").replace("i DESC", "i")
    plan = row_plan(clause, table.schema)
    clause = str(plan.analysed.query)
    if plan.analysed.window is None and (plan.automaton.longest is None or draw.random() < 0.3):
        first = plan.analysed.order[0].column
        amount = max(least_window, draw.choice((2, 5, 9, 100)))
        window = str(amount) if pa.types.is_integer(table.schema.field(first).type) else f"{amount} minutes"
        clause = re.sub(r"(?m)^( *PATTERN .*)$", rf"\1 WITHIN {window}", clause)
    return clause


def as_sorted(rows: pa.Table) -> list[str]:
    return sorted(map(repr, rows.to_pylist()))
