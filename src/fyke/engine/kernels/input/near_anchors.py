"""Rows near those of a rare role: only they can be in a match with one ([L] 4, lazy by whole windows)."""

from __future__ import annotations

from fyke.engine.kernels.jit import entry
from fyke.engine.kernels.kinds import Bytes, Integers


@entry
def count_roles(roles: Integers, bits: Integers, counts: Integers):
    """Add up, for each bit, the rows that can play its role."""
    for k in range(len(bits)):
        bit, count = bits[k], 0
        for x in range(len(roles)):
            count += (roles[x] >> bit) & 1
        counts[k] += count


@entry
def mark_near(ends: Integers, roles: Integers, bit, back, ahead, near: Bytes):
    """Mark rows up to ``back`` before and ``ahead`` behind one that can play a role; rising ends."""
    rows, marked = len(ends), 0
    for x in range(rows):
        if (roles[x] >> bit) & 1:
            low = x
            while low > marked and ends[x] - ends[low - 1] <= back:
                low -= 1
            marked = max(marked, low)
            while marked < rows and ends[marked] - ends[x] <= ahead:
                marked += 1
            for y in range(low, marked):
                near[y] = 1


@entry
def list_near(roles: Integers, near: Bytes, positions: Integers):
    """Write the marked rows that can play a role; return how many they are."""
    count = 0
    for x in range(len(roles)):
        positions[count] = x  # stays if the row is wanted, else the next one takes its place
        count += near[x] & (roles[x] != 0)
    return count
