"""Merging equivalent runs ([N] 5.2.3): runs that agree in all that is still needed have one future.

Each state has a list of what that is (``engine/automaton/equivalence.py``).  New runs are looked up by a
hash of it in a small table of the runs seen last; a run that is overwritten there is not merged, which costs
work and changes nothing.
"""

from __future__ import annotations

import numpy as np

from fyke.engine.kernels import layout as L
from fyke.engine.kernels.automaton.match_buffer import unite
from fyke.engine.kernels.hashing import fold
from fyke.engine.kernels.jit import jit

LARGEST = np.int64(2**63 - 1)
_TRIAL, _WORTH, _REST = 1_024, 64, 32_768
_ALONE = -2


@jit
def rounded(value):
    """Return an integer that equal floats share."""
    return np.int64(value * 1024.0) if abs(value) < 1e12 else np.int64(7)


@jit
def future_hash(w, run, floats, first, last):
    """Hash what a run's future depends on, positions in time left out."""
    h = np.uint64(run[L.RUN_STATE])
    for k in range(first, last):
        row = w.program[L.HEAD_MERGE_TABLE] + k * L.MERGE_SIZE
        kind, place = w.program[row + L.MERGE_KIND], w.program[row + L.MERGE_PLACE]
        column = w.program[row + L.MERGE_COLUMN]
        if kind == L.MERGE_INTEGER:
            h = fold(h, run[place])
        elif kind == L.MERGE_CAPPED:
            h = fold(h, min(run[place], column))
        elif kind == L.MERGE_FLOAT:
            h = fold(h, rounded(floats[place]))
        elif kind == L.MERGE_VALUE_I and run[place] >= 0:
            h = fold(h, w.cols_i[column, run[place]])
        elif kind == L.MERGE_VALUE_F and run[place] >= 0:
            h = fold(h, rounded(w.cols_f[column, run[place]]))
    return np.int64(h >> np.uint64(1))


@jit
def same_float(x, y):
    """Say whether two floats are the same to every condition."""
    return x == y or (x != x and y != y)


@jit
def same_value(w, kind, column, a, b):
    """Say whether a column has the same value, or null, at two positions (-1: there is none)."""
    if a == b:
        return True
    if a < 0 or b < 0:
        return False
    if kind == L.MERGE_VALUE_I:
        if w.valid_i[column, a] != w.valid_i[column, b]:
            return False
        return w.cols_i[column, a] == w.cols_i[column, b]
    if w.valid_f[column, a] != w.valid_f[column, b]:
        return False
    return same_float(w.cols_f[column, a], w.cols_f[column, b])


@jit
def horizon(w, event):
    """Return the least rank that events behind ``event`` can have, if all are points."""
    if event + 1 < w.segments[w.cursor[L.CURSOR_SEGMENT], L.SEGMENT_END]:
        return w.events[L.EVENT_LOW, event + 1]
    return LARGEST  # what is not known yet is later than the watermark


@jit
def same_order(w, a, b, ahead):
    """Say whether two positions are before the same events, whose ranks are at least ``ahead``."""
    if a == b:
        return True
    if not w.program[L.HEAD_POINTS]:
        return w.events[L.EVENT_HIGH, a] == w.events[L.EVENT_HIGH, b] and same_times(w, a, b)
    return w.events[L.EVENT_HIGH, a] < ahead and w.events[L.EVENT_HIGH, b] < ahead


@jit
def same_times(w, a, b):
    """Say whether two events start and end together."""
    if w.events[L.EVENT_START, a] != w.events[L.EVENT_START, b]:
        return False
    return w.events[L.EVENT_END, a] == w.events[L.EVENT_END, b]


@jit
def same_future(w, r, s, first, last, ahead):
    """Say whether two runs of one state agree in all that is still needed."""
    a, b = w.runs_i[r], w.runs_i[s]
    if w.events[L.EVENT_SEGMENT, a[L.RUN_FIRST]] != w.events[L.EVENT_SEGMENT, b[L.RUN_FIRST]]:
        return False
    for k in range(first, last):
        row = w.program[L.HEAD_MERGE_TABLE] + k * L.MERGE_SIZE
        kind, place = w.program[row + L.MERGE_KIND], w.program[row + L.MERGE_PLACE]
        column = w.program[row + L.MERGE_COLUMN]
        if kind == L.MERGE_ORDER:
            same = same_order(w, a[place], b[place], ahead)
        elif kind == L.MERGE_INTEGER:
            same = a[place] == b[place]
        elif kind == L.MERGE_CAPPED:
            same = min(a[place], column) == min(b[place], column)
        elif kind == L.MERGE_FLOAT:
            same = same_float(w.runs_f[r, place], w.runs_f[s, place])
        else:
            same = same_value(w, kind, column, a[place], b[place])
        if not same:
            return False
    return True


@jit
def remember(w, r):
    """Note where a run is, by its hash."""
    h = w.runs_i[r, L.RUN_MARK]
    if h >= 0:
        w.seen[h & (len(w.seen) - 1)] = r


@jit
def mark_run(w, r):
    """Hash a run, if runs of its state can be merged; say whether they can."""
    run = w.runs_i[r]
    row = w.program[L.HEAD_STATE_TABLE] + run[L.RUN_STATE] * L.STATE_SIZE
    first = w.program[row + L.STATE_MERGE]
    run[L.RUN_MARK] = -1
    if first < 0:
        return False
    run[L.RUN_MARK] = future_hash(w, run, w.runs_f[r], first, w.program[row + L.STATE_MERGE_END])
    return True


@jit
def merge_run(w, r, ahead):
    """Merge a new run into an equivalent one, if such a one is known; else note it."""
    if not mark_run(w, r):
        return
    run = w.runs_i[r]
    row = w.program[L.HEAD_STATE_TABLE] + run[L.RUN_STATE] * L.STATE_SIZE
    s = w.seen[run[L.RUN_MARK] & (len(w.seen) - 1)]
    w.cursor[L.CURSOR_COMPARED] += 1
    if 0 <= s < w.cursor[L.CURSOR_LIVE] and s != r:
        other = w.runs_i[s]
        if other[L.RUN_MARK] == run[L.RUN_MARK] and other[L.RUN_STATE] == run[L.RUN_STATE]:
            first, last = w.program[row + L.STATE_MERGE], w.program[row + L.STATE_MERGE_END]
            if same_future(w, r, s, first, last, ahead):
                unite(w, s, r)
                run[L.RUN_STATE] = -1
                w.cursor[L.CURSOR_MERGED] += 1
                w.cursor[L.CURSOR_FRUITFUL] += 1
                return
    remember(w, r)


@jit
def any_goes_on(w, before):
    """Say whether one of the runs there were before this event is still alive."""
    r = 0
    while r < before and w.runs_i[r, L.RUN_STATE] < 0:
        r += 1
    return r < before


@jit
def merge_new_runs(w, event):
    """Merge the runs that ``event`` has created; where that does not pay, rest for a while.

    A run that is alone is not even hashed, until there is another one.
    """
    before, live = w.cursor[L.CURSOR_BEFORE], w.cursor[L.CURSOR_LIVE]
    if w.cursor[L.CURSOR_RESTING] > 0:
        w.cursor[L.CURSOR_RESTING] -= live - before
        for r in range(before, live):
            w.runs_i[r, L.RUN_MARK] = -1
        return
    if live - before == 1 and not any_goes_on(w, before):
        w.runs_i[before, L.RUN_MARK] = _ALONE
        return
    if before > 0 and w.runs_i[0, L.RUN_MARK] == _ALONE and w.runs_i[0, L.RUN_STATE] >= 0 and mark_run(w, 0):
        remember(w, 0)
    ahead = horizon(w, event)
    for r in range(before, live):
        merge_run(w, r, ahead)
    if w.cursor[L.CURSOR_COMPARED] >= _TRIAL:
        if w.cursor[L.CURSOR_FRUITFUL] * _WORTH < w.cursor[L.CURSOR_COMPARED]:
            w.cursor[L.CURSOR_RESTING] = _REST
        w.cursor[L.CURSOR_COMPARED] = 0
        w.cursor[L.CURSOR_FRUITFUL] = 0
