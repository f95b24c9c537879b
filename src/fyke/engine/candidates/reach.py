"""How far rows reach by order and by window, as ranges of rows ([L] 4.1)."""

from __future__ import annotations

import numpy as np

from fyke.engine.kernels import layout as L
from fyke.engine.kernels.arrays import Array, Data
from fyke.engine.kernels.candidates.reach import measure_reach


def find_reach(data: Data, segments: Array, kind: int, window: int, points: bool) -> tuple[Array, bool]:
    """Return how far every row reaches (``kernels/candidates/reach.py``), and whether all times differ."""
    rows = data.events.shape[1]
    ranks = data.events[L.EVENT_LOW]
    distinct = bool(points and rows > 0 and ranks[-1] - ranks[0] == rows - 1)  # they number runs of ties
    reach = np.empty((L.REACH_SIZE, rows + 1), np.int64)
    scratch = np.zeros((2, 1 if points else rows), np.int64)
    measure_reach(data.events, segments, kind, window, points, distinct, scratch, reach)
    return reach, distinct


def reach_of_read_rows(data: Data, segments: Array, kind: int, window: int, *, points: bool) -> Array:
    """Return how far every row that is read reaches by window and order; the others reach nothing."""
    reach, distinct = find_reach(data, segments, kind, window, points)
    rows = np.arange(reach.shape[1])
    if distinct:
        reach[L.REACH_BEFORE], reach[L.REACH_AFTER] = rows, rows + 1
    if len(segments) == 1 and segments[0, 0] == 0 and segments[0, 2] == len(rows) - 1:
        return reach
    read = np.zeros(len(rows), np.int64)
    np.add.at(read, segments[:, 0], 1)
    np.add.at(read, segments[:, 2], -1)
    unread = rows[:-1][np.cumsum(read[:-1]) == 0]
    reach[:, unread] = unread
    return reach
