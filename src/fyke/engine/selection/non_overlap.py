"""Matches that do not overlap: keeps the first to end, then the first that starts after it ([N] 2)."""

from __future__ import annotations

import itertools

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
    keys = [key[order] for key in (segment, ends, starts, matches.lengths)]
    changes = np.ones(len(order) + 1, bool)
    changes[1:-1] = False
    for key in keys:
        changes[1:-1] |= key[1:] != key[:-1]
    bounds = np.flatnonzero(changes)
    for begin, end in itertools.pairwise(bounds):
        if end - begin > 1:
            order[begin:end] = sorted(order[begin:end], key=lambda m: _by_variable(matches, m))
    return order


def _by_variable(matches: MatchSet, m: int) -> list[tuple[int, list[int]]]:
    begin, end = matches.offsets[m], matches.offsets[m + 1]
    variables, positions = matches.variables[begin:end], matches.positions[begin:end]
    count = int(matches.variables.max(initial=-1)) + 1
    return [(int((variables == v).any()), positions[variables == v].tolist()) for v in range(count)]
