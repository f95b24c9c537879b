"""Whether rows are in order already."""

from __future__ import annotations

from fyke.engine.kernels.jit import entry
from fyke.engine.kernels.kinds import Integers


@entry
def rises(keys: Integers):
    """Say whether keys do not fall."""
    falls = 0
    begin = 1
    while begin < len(keys) and falls == 0:
        end = min(begin + BLOCK, len(keys))
        for k in range(begin, end):  # without a way out, so that several are compared at once
            falls |= keys[k] < keys[k - 1]
        begin = end
    return falls == 0


BLOCK = 1024
