"""Choosing matches that do not overlap ([N] 2)."""

from __future__ import annotations

import numpy as np

from fyke.engine.kernels.jit import entry


@entry
def greedy_cover(order, segment, starts, ends, last_ends):
    """Walk matches in order; keep each that starts after the last kept one of its partition ended."""
    keep = np.zeros(len(order), np.bool_)
    for m in order:
        if starts[m] > last_ends[segment[m], 0] or last_ends[segment[m], 1] == 0:
            keep[m] = True
            last_ends[segment[m], 0] = ends[m]
            last_ends[segment[m], 1] = 1
    return keep
