"""Which partitions can have a match, and values numbered in the order in which they appear."""

from __future__ import annotations

from fyke.engine.kernels.jit import entry
from fyke.engine.kernels.kinds import Integers


@entry
def list_complete(codes: Integers, roles: Integers, needs: Integers, seen: Integers, places: Integers):
    """Write the rows of the partitions that have all roles of one of ``needs``; return how many there are.

    ``seen`` is scratch: zeros, one for each code.  Codes are from 0.
    """
    for row in range(len(codes)):
        seen[codes[row]] |= roles[row]
    count = 0
    for row in range(len(codes)):
        found, complete = seen[codes[row]], False
        for k in range(len(needs)):
            complete |= found & needs[k] == needs[k]
        places[count] = row  # it stays if the partition is complete, else the next one comes
        count += complete
    return count


@entry
def number_values(codes: Integers, seen: Integers, numbers: Integers):
    """Number codes from 0 in the order in which they appear.

    ``seen`` is scratch: zeros, one for each code.  Codes are from 0.
    """
    count = 0
    for row in range(len(codes)):
        if seen[codes[row]] == 0:
            count += 1
            seen[codes[row]] = count
        numbers[row] = seen[codes[row]] - 1
