"""Rows to candidates: the rows that can play each role, and their attributes as keys that compare alike."""

from __future__ import annotations

import numpy as np

from fyke.engine.kernels.jit import jit


@jit
def count_roles(roles, bits, ranks, counts):
    """Write how many rows in front of each row can play the role of each bit, and how many can in all."""
    for k in range(len(bits)):
        bit, row, count = bits[k], ranks[k], 0
        for x in range(len(roles)):
            row[x] = count
            count += (roles[x] >> bit) & 1
        row[len(roles)] = count
        counts[k] = count


@jit
def list_candidates(ranks, counts, starts, positions):
    """Write the rows that can play each role, in order, from ``starts`` on."""
    rows = ranks.shape[1] - 1
    for k in range(len(counts)):
        row, start = ranks[k], starts[k]
        positions[start + counts[k]] = 0  # one place more, for what is written and not kept
        for x in range(rows):
            positions[start + row[x]] = x


@jit
def gather_integers(values, valid, positions, null, keys):
    """Write the integers at positions as keys."""
    for k in range(len(positions)):
        x = positions[k]
        keys[k] = values[x] if valid[x] else null


@jit
def gather_floats(values, valid, positions, null, keys):
    """Write the floats at positions as integers in their order: -0.0 is 0.0, NaN is one value, greatest."""
    bits = values.view(np.int64)
    for k in range(len(positions)):
        x = positions[k]
        value = values[x]
        if not valid[x]:
            keys[k] = null
        elif value != value:
            keys[k] = np.int64(2**63 - 1)
        elif value == 0.0:
            keys[k] = 0
        elif bits[x] < 0:
            keys[k] = bits[x] ^ np.int64(2**63 - 1)
        else:
            keys[k] = bits[x]
