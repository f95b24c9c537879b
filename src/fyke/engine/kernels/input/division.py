"""Rows to the pieces that threads read: by the hash of their key, and those of a hot key by time."""

from __future__ import annotations

import numpy as np

from fyke.engine.kernels.arena import Arena
from fyke.engine.kernels.jit import entry, jit
from fyke.engine.kernels.kinds import Codes, Integers, Words


class Division(Arena):
    """The hashes of ``hot`` keys, in order, and their slices of time.

    The slices of hot key h are the pieces from ``pieces[h]`` on.  What divides them stands from ``starts[h]``
    to ``starts[h + 1]`` in ``bounds``: slice k owns what ends from bound k - 1 up to bound k, and sees from
    ``backs`` k - 1 to ``aheads`` k.  If there are slices and no hashes, all rows are of one hot key.
    """

    hot: Words
    pieces: Integers
    starts: Integers
    bounds: Integers
    backs: Integers
    aheads: Integers


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


@jit
def _seen_by(division: Division, h, piece, end):
    """Return the first and the last slice that see an event of a hot key, given the one that owns it."""
    k = division.starts[h] + piece - division.pieces[h]
    first, last = piece, piece
    if k > division.starts[h] and end <= division.aheads[k - 1]:
        first -= 1
    if k < division.starts[h + 1] and end >= division.backs[k]:
        last += 1
    return first, last


@entry
def count_pieces(division: Division, hashes: Words, ends: Integers, buckets, own: Codes, sizes: Integers):
    """Write the piece that owns each row, and count the rows of every piece; some rows are in several."""
    for row in range(len(ends)):
        h = _hot_key(hashes[row], division.hot) if len(hashes) > 0 else 0
        if h < 0:
            own[row] = _bucket(hashes[row], buckets)
            sizes[own[row]] += 1
            continue
        start = division.starts[h]
        own[row] = (
            division.pieces[h] + _rank(division.bounds, ends[row], start, division.starts[h + 1]) - start
        )
        first, last = _seen_by(division, h, own[row], ends[row])
        for piece in range(first, last + 1):
            sizes[piece] += 1


@entry
def place_rows(division: Division, ends: Integers, own: Codes, nexts: Integers, places: Integers):
    """Write the rows of each piece to its place, given where each piece begins."""
    pieces, h = division.pieces, 0
    for row in range(len(ends)):
        first, last = np.int64(own[row]), np.int64(own[row])
        if len(pieces) > 0 and first >= pieces[0]:
            if first < pieces[h] or (h + 1 < len(pieces) and first >= pieces[h + 1]):
                h = _rank(pieces, first, 0, len(pieces)) - 1
            first, last = _seen_by(division, h, first, ends[row])
        for piece in range(first, last + 1):
            places[nexts[piece]] = row
            nexts[piece] += 1
