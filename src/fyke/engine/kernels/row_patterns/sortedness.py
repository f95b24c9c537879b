"""Whether rows are in order already, and where their partitions begin, in one pass each."""

from __future__ import annotations

from fyke.engine.kernels.jit import entry
from fyke.engine.kernels.kinds import Integers


@entry
def is_sorted_within(keys: Integers, places: Integers, segments: Integers):
    """Say whether keys do not fall along the rows of each partition."""
    for s in range(len(segments) - 1):
        for k in range(segments[s] + 1, segments[s + 1]):
            if keys[places[k]] < keys[places[k - 1]]:
                return False
    return True


@entry
def start_segments(codes: Integers, segments: Integers):
    """Write the first row of each run of equal codes, and behind them the number of rows; return how many."""
    found = 0
    for k in range(len(codes)):
        if k == 0 or codes[k] != codes[k - 1]:
            segments[found] = k
            found += 1
    segments[found] = len(codes)
    return found + 1
