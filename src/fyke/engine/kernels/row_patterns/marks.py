"""One pass from the last row of a partition back to its first: from which states a match can be reached.

A *mark* of a row and a state says that the row can be taken in that state and that the rows behind it can
then complete a match.  Few states are the bits of one integer a row.  Otherwise, and within a window, a
mark is the row behind which the match ends at the earliest: it fits into the window if the earliest one
does.
"""

from __future__ import annotations

from fyke.engine.kernels import layout as L
from fyke.engine.kernels.jit import jit
from fyke.engine.kernels.row_patterns import layout as R
from fyke.engine.kernels.row_patterns.arena import OpenArena, RowArena


@jit
def mark_rows(w: RowArena, begin, end):
    """Mark the rows of a partition."""
    if w.settings[R.SET_NARROW]:
        mark_bits(w, begin, end)
    else:
        mark_earliest(w, begin, end)
    w.work[L.WORK_DONE] += end - begin
    w.cursor[R.AT_STEPS] += end - begin


@jit
def mark_bits(w: RowArena, begin, end):
    """Mark rows with the states as bits."""
    truth, masks, before, marks = w.truth, w.masks, w.before, w.marks
    always, goes_on = w.settings[R.SET_ALWAYS], w.settings[R.SET_GOES_ON]
    conditions = len(masks)
    can_follow = w.settings[R.SET_ENDS]
    for row in range(end - 1, begin - 1, -1):
        holds = always
        for c in range(conditions):
            if truth[c, row]:
                holds |= masks[c]
        found = holds & can_follow
        marks[row - begin] = found
        can_follow = goes_on
        table = 0
        while found:
            can_follow |= before[table + (found & 255)]
            found >>= 8
            table += 256


@jit
def mark_earliest(w: RowArena, begin, end):
    """Mark rows with the row behind which a match ends at the earliest, for each state."""
    truth, moves, offsets, earliest = w.truth, w.moves, w.offsets, w.earliest
    states = w.settings[R.SET_STATES]
    w.work[L.WORK_DONE] += (end - begin) * (states >> 1)
    for row in range(end - 1, begin - 1, -1):
        here = (row - begin) * states
        for s in range(states):
            best = R.NEVER
            condition = w.conditions[s]
            if condition == R.ALWAYS or truth[condition, row]:
                if row == end - 1:
                    if w.flags[s] & R.FLAG_ENDS:
                        best = end - begin
                else:
                    for k in range(offsets[s], offsets[s + 1]):
                        to = moves[k]
                        mark = row + 1 - begin if to == R.END else earliest[here + states + to]
                        if mark < best:
                            best = mark
            earliest[here + s] = best


@jit
def mark_latest(w: OpenArena, begin, end):
    """Mark rows with the row behind which a way is cut off at the latest, for each state."""
    truth, moves, offsets, latest = w.truth, w.moves, w.offsets, w.latest
    states = w.settings[R.SET_STATES]
    w.work[L.WORK_DONE] += (end - begin) * (1 + (states >> 1))
    w.cursor[R.AT_STEPS] += end - begin
    for row in range(end - 1, begin - 1, -1):
        here = (row - begin) * states
        for s in range(states):
            best = -1
            condition = w.conditions[s]
            if condition == R.ALWAYS or truth[condition, row]:
                if w.flags[s] & R.FLAG_WAITS:
                    best = row + 1 - begin
                if row < end - 1:
                    for k in range(offsets[s], offsets[s + 1]):
                        if moves[k] != R.END:
                            best = max(best, latest[here + states + moves[k]])
            latest[here + s] = best


@jit
def is_marked(w: RowArena, begin, row, state, limit):
    """Say whether taking a row in a state can lead to a match that ends in front of ``limit``."""
    if w.settings[R.SET_NARROW]:
        return (w.marks[row - begin] >> state) & 1 != 0
    return begin + w.earliest[(row - begin) * w.settings[R.SET_STATES] + state] <= limit
