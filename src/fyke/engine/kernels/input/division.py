"""Rows to the pieces that threads read: by the hash of their key, and those of a hot key by time.

The slices of hot key h are the pieces from ``pieces[h]`` on.  What divides them stands from ``starts[h]`` to
``starts[h + 1]`` in ``bounds``: slice k owns what ends from bound k - 1 up to bound k, and sees from
``backs`` k - 1 to ``aheads`` k.  The hashes of hot keys are in order.  Rows without hashes are all of one
hot key.
"""

from __future__ import annotations

import numpy as np

from fyke.engine.kernels.jit import entry, jit
from fyke.engine.kernels.kinds import Codes, Integers, Words


@jit
def _bucket(value, buckets):
    return np.int64((value >> np.uint64(32)) * np.uint64(buckets) >> np.uint64(32))


@jit
def _rank(values, value, first, last):
    """Return where a value belongs behind its equals, from ``first`` to ``last``."""
    while first < last:
        middle = (first + last) // 2
        if values[middle] <= value:
            first = middle + 1
        else:
            last = middle
    return first


@jit
def _hot_key(value, hot):
    """Return the number of a hot key by its hash; -1 if there is none."""
    h = _rank(hot, value, 0, len(hot)) - 1
    return h if h >= 0 and hot[h] == value else -1


@entry
def count_keys(hashes: Words, hot: Words, sizes: Integers):
    """Count the rows of each hot key."""
    for row in range(len(hashes)):
        h = _hot_key(hashes[row], hot)
        if h >= 0:
            sizes[h] += 1


@entry
def pick_ends(hashes: Words, hot: Words, ends: Integers, found: Integers):
    """Write the ends of the rows of one hot key; return how many they are.  There is room for one more."""
    count, value = 0, hot[0]
    for row in range(len(hashes)):
        found[count] = ends[row]
        count += hashes[row] == value
    return count


@entry
def count_pieces(
    hashes: Words,
    ends: Integers,
    buckets,
    hot: Words,
    pieces: Integers,
    starts: Integers,
    bounds: Integers,
    backs: Integers,
    aheads: Integers,
    own: Codes,
    sizes: Integers,
):
    """Write the piece that owns each row, and count the rows of every piece; some rows are in several."""
    for row in range(len(ends)):
        h = _hot_key(hashes[row], hot) if len(hashes) > 0 else 0
        if h < 0:
            own[row] = _bucket(hashes[row], buckets)
            sizes[own[row]] += 1
            continue
        first, last = starts[h], starts[h + 1]
        k = _rank(bounds, ends[row], first, last)
        piece = pieces[h] + k - first
        own[row] = piece
        sizes[piece] += 1
        if k > first and ends[row] <= aheads[k - 1]:
            sizes[piece - 1] += 1
        if k < last and ends[row] >= backs[k]:
            sizes[piece + 1] += 1


@jit
def _place(row, piece, nexts, places):
    places[nexts[piece]] = row
    nexts[piece] += 1


@entry
def place_rows(
    ends: Integers,
    pieces: Integers,
    starts: Integers,
    bounds: Integers,
    backs: Integers,
    aheads: Integers,
    own: Codes,
    nexts: Integers,
    places: Integers,
):
    """Write the rows of each piece to its place, given where each piece begins."""
    h = 0
    for row in range(len(ends)):
        piece = own[row]
        _place(row, piece, nexts, places)
        if len(pieces) == 0 or piece < pieces[0]:
            continue
        if piece < pieces[h] or (h + 1 < len(pieces) and piece >= pieces[h + 1]):
            h = _rank(pieces, piece, 0, len(pieces)) - 1
        first, last = starts[h], starts[h + 1]
        k = first + piece - pieces[h]
        if k > first and ends[row] <= aheads[k - 1]:
            _place(row, piece - 1, nexts, places)
        if k < last and ends[row] >= backs[k]:
            _place(row, piece + 1, nexts, places)
