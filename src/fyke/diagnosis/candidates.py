"""Rows per variable: how many are of its type, pass its own conditions, and are in a partition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fyke.diagnosis.numbered import Numbered
from fyke.diagnosis.setup import agreements, present, variables_in
from fyke.diagnosis.values import column_of, is_plain
from fyke.engine.input.order import partition_codes
from fyke.engine.kernels.arrays import Array
from fyke.language.ast import Equivalence, Event, Expression, Index, Length, Reference, walk
from fyke.language.query import Query
from fyke.language.unparse import unparse_expression


@dataclass(frozen=True, slots=True)
class Step:
    """A test of the rows for one variable, and how many are left after it.

    ``alone``: it looks at one row, and at no others.
    """

    test: str
    left: int
    condition: Expression | None = None
    alone: bool = True


@dataclass(frozen=True, slots=True)
class Candidates:
    """The rows that can play a variable, test by test."""

    event: Event
    steps: tuple[Step, ...]
    rows: Array

    @property
    def failed(self) -> Step | None:
        """The first test of rows by themselves that none passes."""
        return next((step for step in self.steps if step.alone and step.left == 0), None)


def candidates(query: Query, events: Numbered) -> list[Candidates]:
    """Return the rows for each variable that may be bound."""
    found = [_of(event, query, events) for event in present(query.pattern)]
    keys = [name for name in agreements(query) if name in events.table.column_names]
    if len(found) < 2 or not keys or any(each.failed for each in found):
        return found
    codes = partition_codes(events.table, tuple(keys))
    shared = set.intersection(
        *(
            set(np.unique(codes[each.rows & (codes >= 0)]).tolist())
            for each in found
            if each.event.minimum > 0
        )
    )
    together = np.isin(codes, list(shared)) if shared else np.zeros(len(codes), bool)
    label = f"in a partition of {', '.join(keys)} with all variables"
    return [_with_step(each, label, together) for each in found]


def _with_step(found: Candidates, label: str, keep: Array) -> Candidates:
    rows = found.rows & keep
    return Candidates(found.event, (*found.steps, Step(label, int(rows.sum()), alone=False)), rows)


def _of(event: Event, query: Query, events: Numbered) -> Candidates:
    table = events.table
    rows = np.ones(table.num_rows, bool)
    column = events.schema.type_column
    steps: list[Step] = []
    if event.type is not None and column is not None:
        rows = _true(pc.equal(table.column(column).cast(pa.string()), event.type))
        steps.append(Step(f"of type {event.type}", int(rows.sum())))
    else:
        steps.append(Step("of any type", table.num_rows))
    for condition in own_conditions(query, event):
        holds = column_of(condition, table)
        if holds is None:
            continue
        rows = rows & _true(holds.cast(pa.bool_()))
        steps.append(Step(f"with {unparse_expression(condition)}", int(rows.sum()), condition))
    for name in agreements(query):
        if name in table.column_names and table.column(name).null_count:
            rows = rows & np.asarray(table.column(name).is_valid().to_numpy())
            steps.append(Step(f"with {name} not null", int(rows.sum())))
    return Candidates(event, tuple(steps), rows)


def own_conditions(query: Query, event: Event) -> Sequence[Expression]:
    """Return the conditions that each event of a variable must pass by itself."""
    return [
        condition
        for condition in query.conditions
        if not isinstance(condition, Equivalence)
        and variables_in(condition) == {event.variable}
        and is_plain(condition)
        and not any(isinstance(node, Length) for node in walk(condition))
        and all(
            node.index in (Index.NONE, Index.EACH) for node in walk(condition) if isinstance(node, Reference)
        )
    ]


def _true(truth: pa.Array | pa.ChunkedArray) -> Array:
    filled = pc.fill_null(truth, False)
    return np.asarray(
        filled.to_numpy(zero_copy_only=False) if isinstance(filled, pa.Array) else filled.to_numpy()
    )
