"""Choosing matches that do not overlap ([N] 2)."""

from __future__ import annotations

from fyke.engine.kernels.jit import entry
from fyke.engine.kernels.kinds import Flags, IntegerRows, Integers


@entry
def greedy_cover(
    order: Integers, segment: Integers, starts: Integers, ends: Integers, last_ends: IntegerRows, keep: Flags
):
    """Walk matches in order; keep each that starts after the last kept one of its partition ended."""
    for k in range(len(order)):
        m = order[k]
        if starts[m] > last_ends[segment[m], 0] or last_ends[segment[m], 1] == 0:
            keep[m] = True
            last_ends[segment[m], 0] = ends[m]
            last_ends[segment[m], 1] = 1
