"""Matches to rows of the result, column by column: which rows are put out, and what their measures see."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fyke.engine.conditions.columns import Column, cast
from fyke.engine.conditions.evaluate import evaluate
from fyke.engine.kernels.arrays import Array
from fyke.engine.row_patterns.matches import RowMatches
from fyke.engine.row_patterns.measures import Measures, Sights
from fyke.engine.row_patterns.order import OrderedRows
from fyke.language.ast import Call, Expression, Reference
from fyke.language.row_patterns import Rows
from fyke.logical.funnel import MATCH, REACHED, TIMEOUT
from fyke.logical.row_patterns.analysed import RowValue
from fyke.plan.row_patterns.plan import RowPlan

_NO_MATCH = -1


@dataclass(frozen=True, slots=True)
class Group:
    """The matches that start from row ``first`` to in front of row ``last``.

    In the partition of the first one, ``before`` others were found before.  ``free`` are the rows in no
    match, unless all of these rows that are in none of these matches are.
    """

    matches: RowMatches
    first: int
    last: int
    before: int = 0
    free: Array | None = None


@dataclass(frozen=True, slots=True)
class PutOut:
    """The rows of the result: the row of the input each is about, its match, and how many of its rows it
    sees.

    Of a row in no match the match is -1.
    """

    rows: Array
    matches: Array
    seen: Array


def result_rows(plan: RowPlan, ordered: OrderedRows, group: Group) -> pa.Table:
    """Return the result of a plan for a group of matches in ordered rows."""
    matches = group.matches
    put = _put_out(plan, group)
    taken = np.maximum(put.matches, 0) if len(matches) else np.zeros(0, np.int64)
    is_free = bool((put.matches == _NO_MATCH).any())
    columns: list[pa.Array] = []
    sights = Sights(taken, put.seen) if len(matches) else Sights(np.zeros(0, np.int64), np.zeros(0, np.int64))
    found = Measures(plan, ordered, matches, sights, group.before)
    for column in plan.analysed.output:
        if column.column is not None:
            columns.append(ordered.taken(column.column, put.rows).cast(column.type))
            continue
        if column.measure is None:
            columns.append(_of_attempts(column.name, matches, taken))
            continue
        value = measure(plan.analysed.measures[column.measure], found, len(put.rows) if len(matches) else 0)
        value = cast(value, column.type)
        if is_free:
            value = (
                value.take(pa.array(np.arange(len(put.rows)), mask=put.matches == _NO_MATCH))
                if len(matches)
                else pa.nulls(len(put.rows), column.type)
            )
        columns.append(value)
    return pa.Table.from_arrays(columns, schema=plan.analysed.schema)


def _of_attempts(name: str, matches: RowMatches, taken: Array) -> pa.Array:
    """Return how many rows each of some matches and attempts has, or which of both it is."""
    if name == REACHED:
        return pa.array(matches.lengths[taken], pa.int64())
    names = pa.array([TIMEOUT, MATCH], pa.string())
    return names.take(pa.array(matches.numbered[taken].astype(np.int64)))


def measure(value: RowValue, found: Measures, rows: int) -> pa.Array:
    """Return a measure for each of its sights."""

    def resolve(node: Expression) -> Column | None:
        if isinstance(node, Reference):
            return found.input(value.inputs[int(node.path[0][1:])])
        assert isinstance(node, Call)
        return found.match_numbers() if node.function == "match_number" else None

    made = evaluate(value.expression, resolve)
    return made if isinstance(made, pa.Array) else pa.repeat(made, rows)


def _put_out(plan: RowPlan, group: Group) -> PutOut:
    matches = group.matches
    lengths = matches.lengths
    numbers = np.arange(len(matches))
    if plan.analysed.rows.per_match:
        return PutOut(matches.begins, numbers, lengths)
    offsets = matches.offsets
    owner = np.repeat(numbers, lengths)
    rows, seen = matches.rows(), np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths) + 1
    if any(plan.automaton.excluded):
        assert matches.states is not None
        kept = ~np.array(plan.automaton.excluded)[matches.states]
        rows, owner, seen = rows[kept], owner[kept], seen[kept]
    kind = plan.analysed.rows
    if kind is not Rows.OMIT_EMPTY and bool((lengths == 0).any()):
        empty = np.flatnonzero(lengths == 0)
        rows = np.concatenate((rows, matches.begins[empty]))
        owner, seen = np.concatenate((owner, empty)), np.concatenate((seen, np.zeros(len(empty), np.int64)))
        order = np.argsort(owner, kind="stable")
        rows, owner, seen = rows[order], owner[order], seen[order]
    if kind is Rows.WITH_UNMATCHED:
        return _with_unmatched(PutOut(rows, owner, seen), group)
    return PutOut(rows, owner, seen)


def matched_rows(matches: RowMatches, first: int, last: int) -> Array:
    """Say which rows from ``first`` to in front of ``last`` are in a match; the row of an empty one is."""
    inside = np.zeros(last - first + 1, np.int64)
    np.add.at(inside, matches.begins - first, 1)
    np.add.at(inside, np.maximum(matches.ends, matches.begins + 1) - first, -1)
    return np.asarray(np.cumsum(inside[:-1]) > 0)


def _with_unmatched(put: PutOut, group: Group) -> PutOut:
    """Return the rows of matches, and those in no match, each in front of the matches behind it."""
    matches, first = group.matches, group.first
    free = group.free
    if free is None:
        free = first + np.flatnonzero(~matched_rows(matches, first, group.last))
    order = np.argsort(np.concatenate((matches.begins[put.matches], free)), kind="stable")
    none = np.full(len(free), _NO_MATCH)
    return PutOut(
        np.concatenate((put.rows, free))[order],
        np.concatenate((put.matches, none))[order],
        np.concatenate((put.seen, np.zeros(len(free), np.int64)))[order],
    )
