"""Matches that do not overlap: keeps the first to end, then the first that starts after it ([N] 2)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fyke.engine.input.order import Ordered
from fyke.engine.kernels import layout as L
from fyke.engine.kernels.arrays import Array
from fyke.engine.kernels.selection.overlap import greedy_cover
from fyke.engine.matchset import MatchSet

_NAN = float("nan")  # one object, because NaN equals no other NaN in Python


def keep_apart(
    matches: MatchSet,
    ordered: Ordered,
    partition: list[str],
    before: pa.Table | None,
    forgotten: int | None,
) -> tuple[MatchSet, pa.Table]:
    """Keep, partition by partition, matches that start after the last kept one ended.

    ``before`` holds the partition values, and the end of the last match kept in each.  Return the same
    for the next call, without the ends up to ``forgotten``.
    """
    codes = ordered.events[L.EVENT_SEGMENT][matches.first] if len(matches) else np.zeros(0, np.int64)
    _, heads, owner = np.unique(codes, return_index=True, return_inverse=True)
    last_ends = np.zeros((len(heads) + 1, 2), np.int64)
    known = {}
    if before is not None:
        known = dict(zip(_keys(before, partition), before["end"].to_pylist(), strict=True))
    values = _keys(ordered.table.take(pa.array(matches.first[heads])), partition)
    for k, value in enumerate(values):
        if value in known:
            last_ends[k] = known[value], 1
    order = output_order(matches, owner.astype(np.int64), ordered.events)
    starts, ends = matches.spans(ordered.events)
    keep = np.zeros(len(order), bool)
    greedy_cover(order, owner.astype(np.int64), starts, ends, last_ends, keep)
    known |= {value: int(last_ends[k, 0]) for k, value in enumerate(values)}
    if forgotten is not None:
        known = {value: end for value, end in known.items() if end > forgotten}
    rows = [{**dict(zip(partition, value, strict=True)), "end": end} for value, end in known.items()]
    kinds = [(name, ordered.table.schema.field(name).type) for name in partition]
    kept = pa.Table.from_pylist(rows, pa.schema([*kinds, ("end", pa.int64())]))
    return matches.select(order[keep[order]]), kept


def _keys(rows: pa.Table, partition: list[str]) -> list[tuple[object, ...]]:
    """Return the partition values of rows as dictionary keys; NaN equals NaN."""
    if not partition:
        return [()] * rows.num_rows
    columns = [rows.column(name).to_pylist() for name in partition]
    return [tuple(_NAN if value != value else value for value in row) for row in zip(*columns, strict=True)]


def output_order(matches: MatchSet, segment: Array, events: Array) -> Array:
    """Return match numbers by partition, then in the order of SEMANTICS 4."""
    starts, ends = matches.spans(events)
    order = np.lexsort((-matches.lengths, starts, ends, segment))
    differs = np.ones(len(order) + 1, bool)  # from the match before it
    differs[1:-1] = False
    for key in (segment, ends, starts, matches.lengths):
        differs[1:-1] |= key[order[1:]] != key[order[:-1]]
    tied = np.flatnonzero(~(differs[:-1] & differs[1:]))
    group = np.cumsum(differs[:-1])
    for length in np.unique(matches.lengths[order[tied]]):
        places = tied[matches.lengths[order[tied]] == length]
        positions = _by_variable(matches, order[places], int(length))
        order[places] = order[places][np.lexsort((*positions.T[::-1], group[places]))]
    return order


def _by_variable(matches: MatchSet, chosen: Array, length: int) -> Array:
    """Return a row for each of some matches of one length, such that rows compare as the matches do.

    It has the positions of a match, from one on, variable by variable, and a zero behind those of each
    variable: an unbound variable comes first, and a list before those it begins.
    """
    elements = matches.offsets[chosen][:, None] + np.arange(length)
    variables = matches.variables[elements]
    along = np.argsort(variables, axis=1, kind="stable")
    variables = np.take_along_axis(variables, along, axis=1)
    positions = np.take_along_axis(matches.positions[elements], along, axis=1)
    rows = np.zeros((len(chosen), length + int(matches.variables.max(initial=-1)) + 1), np.int64)
    np.put_along_axis(rows, np.arange(length) + variables, positions + 1, axis=1)
    return rows
