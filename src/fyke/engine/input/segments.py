"""The partitions of ordered rows as segments: what is new, what is complete, what is tied."""

from __future__ import annotations

import numpy as np

from fyke.engine.input.order import Ordered
from fyke.engine.kernels import layout as L
from fyke.engine.kernels.arrays import Array


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


def count_tied_rows(ordered: Ordered, begins: Array, ends: Array) -> int:
    """Count the relevant rows read now that share their time with another row of their partition."""
    times_now = ordered.events[L.EVENT_END]
    if bool((times_now[1:] != times_now[:-1]).all()):
        return 0
    read = np.zeros(ordered.events.shape[1] + 1, np.int64)
    np.add.at(read, begins, 1)
    np.add.at(read, ends, -1)
    relevant = np.flatnonzero((np.cumsum(read[:-1]) > 0) & (ordered.events[L.EVENT_ROLES] != 0))
    moments, codes = ordered.events[L.EVENT_END][relevant], ordered.events[L.EVENT_SEGMENT][relevant]
    equal = (moments[1:] == moments[:-1]) & (codes[1:] == codes[:-1])
    tied = np.zeros(max(1, len(relevant)), bool)
    tied[1:] |= equal
    tied[:-1] |= equal
    return int(tied.sum())
