"""The partitions of ordered rows as segments: what is new, what is complete, what is tied."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fyke.engine.input.order import Ordered
from fyke.engine.kernels import layout as L
from fyke.engine.kernels.arrays import Array
from fyke.plan.successions import Succession


def number_events(ordered: Ordered, places: Array, read: Array, index: Array) -> None:
    """Continue the numbering of a partition's events where rows dropped earlier left off.

    ``read`` and ``index`` are those of the kept rows, whose ``places`` come first.
    """
    numbers, codes = ordered.events[L.EVENT_INDEX], ordered.events[L.EVENT_SEGMENT]
    offset = np.zeros(int(codes.max(initial=0)) + 2, np.int64)
    # Rows that wait for their watermark have no final number: others may still come before them.
    old = places[: len(index)][read]
    offset[codes[old]] = index[read] - numbers[old]
    ordered.events[L.EVENT_INDEX] = numbers + offset[codes]


def find_segments(ordered: Ordered, read: Array, watermark: int | None) -> Array:
    """Return the segments for the kernels: first row, first unread row, end of the complete rows."""
    starts, ends = ordered.segments[:-1], ordered.segments[1:]
    segments = np.zeros((len(starts), 5), np.int64)
    segments[:, 0] = starts
    if watermark is None and not read.any():
        segments[:, 1], segments[:, 2] = starts, ends
        return segments
    counted = np.concatenate(([0], np.cumsum(read)))
    segments[:, 1] = starts + counted[ends] - counted[starts]
    complete = np.ones(len(read), bool) if watermark is None else ordered.events[L.EVENT_END] <= watermark
    counted = np.concatenate(([0], np.cumsum(complete)))
    segments[:, 2] = starts + counted[ends] - counted[starts]
    return segments


def count_ties(
    ordered: Ordered, begins: Array, ends: Array, successions: Sequence[Succession], *, apart: bool
) -> tuple[int, int]:
    """Count the relevant rows read now that share their time with another one of their partition.

    Count among them the points at the time of another one that they could directly follow, if only they
    were later or a tie-breaker said so.  ``apart``: partitions lie one after the other.
    """
    events = ordered.events
    if bool((events[L.EVENT_END, 1:] != events[L.EVENT_END, :-1]).all()):
        return 0, 0
    read = np.zeros(events.shape[1] + 1, np.int64)
    np.add.at(read, begins, 1)
    np.add.at(read, ends, -1)
    rows = np.flatnonzero((np.cumsum(read[:-1]) > 0) & (events[L.EVENT_ROLES] != 0))
    rows = rows[_equal_to_neighbours(events[L.EVENT_END][rows])]
    if not apart:
        keys = events[L.EVENT_LOW], events[L.EVENT_SEGMENT], events[L.EVENT_END]
        rows = rows[np.lexsort([key[rows] for key in keys])]
    rows = rows[_equal_to_neighbours(events[L.EVENT_END][rows], events[L.EVENT_SEGMENT][rows])]
    return len(rows), _count_successors(events, rows, successions)


def _equal_to_neighbours(*keys: Array) -> Array:
    """Say which entries are equal in all keys to the one before or after them."""
    equal = np.logical_and.reduce([key[1:] == key[:-1] for key in keys])
    found = np.zeros(len(keys[0]), bool)
    found[1:] |= equal
    found[:-1] |= equal
    return found


def _count_successors(events: Array, rows: Array, successions: Sequence[Succession]) -> int:
    """Count the points among rows of equal times for which one of another row's roles comes right before."""
    low = events[L.EVENT_LOW][rows]
    points = low == events[L.EVENT_HIGH][rows]
    rows, low = rows[points], low[points]
    if len(rows) == 0 or not successions:
        return 0
    codes, roles = events[L.EVENT_SEGMENT][rows], events[L.EVENT_ROLES][rows]
    group = np.concatenate(([0], np.cumsum((low[1:] != low[:-1]) | (codes[1:] != codes[:-1]))))
    follows = np.zeros(len(rows), bool)
    for before, role in successions:
        leads = (roles & before) != 0
        others = np.bincount(group[leads], minlength=int(group[-1]) + 1)[group] - leads
        follows |= (others > 0) & ((roles >> role & 1) == 1)
    return int(follows.sum())
