"""Matches that do not overlap: the first to end is kept, then the first that starts behind it ([N] 2)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fyke.engine.input.order import Ordered
from fyke.engine.kernels import layout as L
from fyke.engine.kernels.selection.overlap import greedy_cover
from fyke.engine.matchset import MatchSet, output_order

_NAN = float("nan")  # one object: Python finds it again only as itself


def keep_apart(
    matches: MatchSet,
    ordered: Ordered,
    partition: list[str],
    before: pa.Table | None,
    forgotten: int | None,
) -> tuple[MatchSet, pa.Table]:
    """Keep, partition by partition, matches that start after the last kept one ended.

    ``before`` has the values of partitions, and the end of the last match kept there.  Return the same
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
    keep = greedy_cover(order, owner.astype(np.int64), starts, ends, last_ends)
    known |= {value: int(last_ends[k, 0]) for k, value in enumerate(values)}
    if forgotten is not None:
        known = {value: end for value, end in known.items() if end > forgotten}
    rows = [{**dict(zip(partition, value, strict=True)), "end": end} for value, end in known.items()]
    kinds = [(name, ordered.table.schema.field(name).type) for name in partition]
    kept = pa.Table.from_pylist(rows, pa.schema([*kinds, ("end", pa.int64())]))
    return matches.select(order[keep[order]]), kept


def _keys(rows: pa.Table, partition: list[str]) -> list[tuple[object, ...]]:
    """Return the partition values of rows, such that NaN is found again."""
    if not partition:
        return [()] * rows.num_rows
    columns = [rows.column(name).to_pylist() for name in partition]
    return [tuple(_NAN if value != value else value for value in row) for row in zip(*columns, strict=True)]
