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
    events: Array, begins: Array, ends: Array, successions: Sequence[Succession], *, apart: bool
) -> tuple[int, int]:
    """Count the relevant rows read now that share their time with another one of their partition.

    Count among them the points at the time of another one that they could directly follow, if only they
    were later or a tie-breaker said so.  ``apart``: partitions lie one after the other.
    """
    if bool((events[L.EVENT_END, 1:] != events[L.EVENT_END, :-1]).all()):
        return 0, 0
    counted = events[L.EVENT_ROLES] != 0
    if int((ends - begins).sum()) < len(counted):
        read = np.zeros(len(counted) + 1, np.int64)
        np.add.at(read, begins, 1)
        np.add.at(read, ends, -1)
        counted &= np.cumsum(read[:-1]) > 0
    if not counted.all():
        events = events[:, counted]
    if not apart:
        events = events[:, _equal_to_neighbours(events[L.EVENT_END])]
        order = np.lexsort((events[L.EVENT_LOW], events[L.EVENT_SEGMENT], events[L.EVENT_END]))
        events = events[:, order]
    tied = _equal_to_neighbours(events[L.EVENT_END], events[L.EVENT_SEGMENT])
    return int(tied.sum()), _count_successors(events, tied, successions) if successions else 0


def _equal_to_neighbours(*keys: Array) -> Array:
    """Say which entries are equal in all keys to the one before or after them."""
    equal = keys[0][1:] == keys[0][:-1]
    for key in keys[1:]:
        equal &= key[1:] == key[:-1]
    found = np.zeros(len(keys[0]), bool)
    found[1:] = equal
    found[:-1] |= equal
    return found


def _count_successors(events: Array, tied: Array, successions: Sequence[Succession]) -> int:
    """Count the points among tied rows for which one of another row's roles comes right before."""
    points = tied & (events[L.EVENT_LOW] == events[L.EVENT_HIGH])
    low, codes, roles = (events[row][points] for row in (L.EVENT_LOW, L.EVENT_SEGMENT, L.EVENT_ROLES))
    if len(low) == 0:
        return 0
    first = np.flatnonzero(np.concatenate(([True], (low[1:] != low[:-1]) | (codes[1:] != codes[:-1]))))
    lengths = np.diff(np.concatenate((first, [len(low)])))
    follows = np.zeros(len(low), bool)
    for before, role in successions:
        leads = ((roles & before) != 0).astype(np.int32)
        others = np.repeat(np.add.reduceat(leads, first), lengths) - leads
        follows |= (others > 0) & ((roles >> role & 1) == 1)
    return int(follows.sum())


def between(begins: Array, ends: Array, count: int) -> Array:
    """Return which of so many rows lie in one of the ranges, which do not overlap."""
    edges = np.bincount(begins, minlength=count + 1) - np.bincount(ends, minlength=count + 1)
    return np.cumsum(edges[:count]) > 0
