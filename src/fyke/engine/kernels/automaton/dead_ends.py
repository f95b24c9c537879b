"""Runs that came to nothing: robust matching ([S] 6.3) follows no run twice that has the same future.

Going back multiplies: of n events and k variables there are nᵏ runs, and where a condition fails late all of
them are followed.  Whether a run comes to a match depends only on its state, on the values that are still
needed there, on its window and on the events it has still to read.  So a run that came to nothing leaves a
hash of its *future* behind, with the event it began to read at, and an equal one that begins there or later
is not followed.  The table forgets what is overwritten, which costs work and changes nothing.
"""

from __future__ import annotations

import numpy as np

from fyke.engine.kernels import layout as L
from fyke.engine.kernels.automaton.runs import age_of
from fyke.engine.kernels.hashing import fold
from fyke.engine.kernels.jit import jit
from fyke.engine.kernels.rows import copy_row

NO_KEY = -1
ONE, OTHER, FROM, FUTURE_SIZE = 0, 1, 2, 3  # two hashes of a future, and the event it begins with


@jit
def needed_value(w, run, kind, place, column, event):
    """Return an integer that runs share if they agree in a value that is still needed, or nearly always."""
    if kind == L.MERGE_CAPPED:
        return min(run[place], column)
    if kind == L.MERGE_VALUE_I and run[place] >= 0:
        position = run[place]
        return w.cols_i[column, position] if w.valid_i[column, position] else position
    if kind == L.MERGE_ORDER and w.program[L.HEAD_POINTS]:
        end = w.segments[w.cursor[L.CURSOR_SEGMENT], L.SEGMENT_END]
        if event >= end or w.events[L.EVENT_HIGH, run[place]] < w.events[L.EVENT_LOW, event]:
            return np.int64(-1)
    return run[place]


@jit
def note_future(w, r, event):
    """Note what decides whether a run, which reads on at ``event``, comes to a match; say if it is known."""
    run = w.runs_i[r]
    row = w.program[L.HEAD_STATE_TABLE] + run[L.RUN_STATE] * L.STATE_SIZE
    first, last = w.program[row + L.STATE_MERGE], w.program[row + L.STATE_MERGE_END]
    w.futures[r, ONE], w.futures[r, FROM] = NO_KEY, event
    if first < 0:
        return False
    one, other = np.uint64(1), np.uint64(2)
    for value in (run[L.RUN_STATE], w.events[L.EVENT_SEGMENT, run[L.RUN_FIRST]], age_of(w, run)):
        one, other = fold(one, value), fold(other, value)
    for k in range(first, last):
        row = w.program[L.HEAD_MERGE_TABLE] + k * L.MERGE_SIZE
        kind, place = w.program[row + L.MERGE_KIND], w.program[row + L.MERGE_PLACE]
        if kind == L.MERGE_FLOAT:
            return False
        value = needed_value(w, run, kind, place, w.program[row + L.MERGE_COLUMN], event)
        null = kind == L.MERGE_VALUE_I and run[place] >= 0
        null = null and not w.valid_i[w.program[row + L.MERGE_COLUMN], run[place]]
        one, other = fold(one, value), fold(other, value)
        one, other = fold(one, np.int64(null)), fold(other, np.int64(null))
    w.futures[r, ONE] = np.int64(one >> np.uint64(1))
    w.futures[r, OTHER] = np.int64(other >> np.uint64(1))
    return True


@jit
def is_dead(w, r):
    """Say whether a run with the same future, that had read no more, has come to nothing."""
    future, dead = w.futures[r], w.dead[w.futures[r, ONE] & (len(w.dead) - 1)]
    return dead[ONE] == future[ONE] and dead[OTHER] == future[OTHER] and dead[FROM] <= future[FROM]


@jit
def bury(w, r):
    """Remember the future of a run that has come to nothing."""
    if w.futures[r, ONE] != NO_KEY and not is_dead(w, r):
        copy_row(w.futures[r], w.dead[w.futures[r, ONE] & (len(w.dead) - 1)])


@jit
def drop_dead(w, before, event):
    """Leave out those new runs, which read on at ``event``, that will come to nothing."""
    kept, live = before, w.cursor[L.CURSOR_LIVE]
    for r in range(before, live):
        if note_future(w, r, event) and is_dead(w, r):
            continue
        if kept != r:
            copy_row(w.runs_i[r], w.runs_i[kept])
            copy_row(w.runs_f[r], w.runs_f[kept])
            copy_row(w.futures[r], w.futures[kept])
        kept += 1
    w.cursor[L.CURSOR_LIVE] = kept
