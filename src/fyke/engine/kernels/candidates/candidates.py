"""Rows to candidates: the rows that can play each role, and their attributes as keys that compare alike."""

from __future__ import annotations

import numpy as np

from fyke.engine.kernels import layout as L
from fyke.engine.kernels.jit import entry
from fyke.engine.kernels.kinds import Bytes, Floats, IntegerRows, Integers


@entry
def list_candidates(
    roles: Integers, bits: Integers, ranks: IntegerRows, positions: IntegerRows, counts: Integers
):
    """Write, a row per bit, the rows that can play the role, and how many are in front of each row."""
    for k in range(len(bits)):
        bit, rank, found, count = bits[k], ranks[k], positions[k], 0
        for x in range(len(roles)):
            rank[x] = count
            found[count] = x  # stays if the row plays the role, else the next one takes its place
            count += (roles[x] >> bit) & 1
        rank[len(roles)] = count
        counts[k] = count


@entry
def gather_integers(values: Integers, valid: Bytes, positions: Integers, keys: Integers):
    """Write the integers at positions as keys."""
    for k in range(len(positions)):
        x = positions[k]
        keys[k] = values[x] if valid[x] else L.NULL_KEY


@entry
def gather_floats(values: Floats, bits: Integers, valid: Bytes, positions: Integers, keys: Integers):
    """Write the floats at positions as integers in their order: -0.0 is 0.0, NaN is one value, greatest.

    ``bits`` are the floats as they stand in memory.
    """
    for k in range(len(positions)):
        x = positions[k]
        value = values[x]
        if not valid[x]:
            keys[k] = L.NULL_KEY
        elif value != value:
            keys[k] = np.int64(2**63 - 1)
        elif value == 0.0:
            keys[k] = 0
        elif bits[x] < 0:
            keys[k] = bits[x] ^ np.int64(2**63 - 1)
        else:
            keys[k] = bits[x]
