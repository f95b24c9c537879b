"""The memory of failed ways: a row, a state, and what conditions can still see of the rows before.

Each has one place in the table, where a later one takes over: to forget costs time and changes nothing.
"""

from __future__ import annotations

import numpy as np

from fyke.engine.kernels import layout as L
from fyke.engine.kernels.jit import jit
from fyke.engine.kernels.row_patterns import layout as R
from fyke.engine.kernels.row_patterns.arena import HistoryArena

_MIX, _SHIFT = np.int64(-7046029254386353131), 29


@jit
def write_key(w: HistoryArena, start, row, state):
    """Write what a way is remembered by and return its length; NEVER_KEPT if it is not."""
    first, last = w.key_offsets[state], w.key_offsets[state + 1]
    if first < last and w.keys[first, R.KEY_KIND] == R.NEVER_KEPT:
        return R.NEVER_KEPT
    key, sums = w.key, w.sums_i[w.cursor[R.AT_DEPTH]]
    bits = w.sums_bits[w.cursor[R.AT_DEPTH]]
    key[0], key[1] = row, state | (w.cursor[R.AT_EXPIRING] << 32)
    at = 2
    for k in range(first, last):
        kind, among, count = w.keys[k, R.KEY_KIND], w.keys[k, R.KEY_SET], w.keys[k, R.KEY_COUNT]
        if kind == R.KEY_START:
            key[at] = start
        elif kind == R.KEY_SINCE:
            key[at] = min(row - start, count)
        elif kind == R.KEY_ROWS:
            key[at] = w.counts[among]
        elif kind == R.KEY_INTEGER:
            key[at] = sums[count]
        elif kind == R.KEY_FLOAT:
            key[at] = bits[count]
        else:
            held = w.counts[among]
            for n in range(count):
                there = n < held
                key[at + n] = w.taken[among, n if kind == R.KEY_FIRSTS else held - 1 - n] if there else -1
            at += count - 1
        at += 1
    w.work[L.WORK_DONE] += at >> 2
    return at


@jit
def place_of(w: HistoryArena, length):
    """Return the place of the key in the table."""
    found = np.int64(0)
    for k in range(length):
        found = (found ^ w.key[k]) * _MIX
        found ^= (found >> _SHIFT) & 0x7FFFFFFFF
    return found & (len(w.failed) - 1)


@jit
def note_failure(w: HistoryArena, start, row, state):
    """Remember that a way which has come to a state in front of a row leads to no match."""
    length = write_key(w, start, row, state)
    if length == R.NEVER_KEPT:
        return
    place = place_of(w, length)
    for k in range(length):
        w.failed[place, k] = w.key[k]


@jit
def has_failed(w: HistoryArena, start, row, state):
    """Say whether a way which has come to a state in front of a row is known to lead to no match."""
    w.cursor[R.AT_DEPTH] += 1
    length = write_key(w, start, row, state)
    w.cursor[R.AT_DEPTH] -= 1
    if length == R.NEVER_KEPT:
        return False
    place, same = place_of(w, length), 0
    while same < length and w.failed[place, same] == w.key[same]:
        same += 1
    return same == length
