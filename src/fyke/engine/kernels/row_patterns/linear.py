"""Matches whose conditions look at a row and its neighbours: marks, then a walk that never goes back."""

from __future__ import annotations

from fyke.engine.kernels import layout as L
from fyke.engine.kernels.jit import entry, jit
from fyke.engine.kernels.row_patterns import layout as R
from fyke.engine.kernels.row_patterns.arena import RowArena
from fyke.engine.kernels.row_patterns.marks import is_marked, mark_rows
from fyke.engine.kernels.row_patterns.skips import next_start, within_window


@entry
def walk_rows(w: RowArena):
    """Find the matches of all partitions; return DONE, PAUSE, a need, or why a skip leads nowhere."""
    cursor, segments = w.cursor, w.segments
    while cursor[R.AT_SEGMENT] < len(segments) - 1:
        begin, end = segments[cursor[R.AT_SEGMENT]], segments[cursor[R.AT_SEGMENT] + 1]
        if cursor[R.AT_ROW] < 0:
            w.work[L.WORK_BEGIN] = w.work[L.WORK_DONE]
            mark_rows(w, begin, end)
            cursor[R.AT_ROW] = cursor[R.AT_FAR] = max(begin, w.settings[R.SET_FROM])
        status = walk_segment(w, begin, end, min(end, w.settings[R.SET_STOP]))
        if status != L.DONE:
            return status
        cursor[R.AT_SEGMENT] += 1
        cursor[R.AT_NEXT] = cursor[R.AT_ROW]
        cursor[R.AT_ROW] = -1
    return L.DONE


@jit
def walk_segment(w: RowArena, begin, end, stop):
    """Find the matches of a partition that start at the row of the cursor or behind it, before ``stop``."""
    cursor, work = w.cursor, w.work
    while cursor[R.AT_ROW] < stop:
        if work[L.WORK_DONE] > work[L.WORK_PAUSE]:
            return L.PAUSE
        row = next_candidate(w, begin, stop)
        if row == stop:
            break
        if cursor[R.AT_MATCHES] == len(w.begins):
            return R.NEED_MATCHES
        if w.settings[R.SET_LABELS] and cursor[R.AT_STATES] + end - row > len(w.states):
            room = len(w.states) - cursor[R.AT_STATES]
        else:
            room = end - row
        behind = follow(w, begin, end, row, room)
        if behind == NO_ROOM:
            return R.NEED_STATES
        if behind == NO_MATCH:
            cursor[R.AT_ROW] = row + 1
            continue
        status = next_start(w, row, behind)
        if status != L.DONE:
            return status
    return L.DONE


NO_ROOM, NO_MATCH = -2, -1


@jit
def next_candidate(w: RowArena, begin, end):
    """Return the next row from the cursor on from which there may be a match; ``end`` if there is none."""
    row = w.cursor[R.AT_ROW]
    first = row
    if row == begin:
        if w.settings[R.SET_FIRST_EMPTY] or not w.settings[R.SET_NARROW]:
            return row
        if w.marks[0] & w.settings[R.SET_FIRST]:
            return row
        row += 1
    if not w.settings[R.SET_START_EMPTY] and w.settings[R.SET_NARROW]:
        marks, start = w.marks, w.settings[R.SET_START]
        while row < end and marks[row - begin] & start == 0:
            row += 1
        w.work[L.WORK_DONE] += (row - first) >> 2
        w.cursor[R.AT_STEPS] += row - first
        w.cursor[R.AT_ROW] = row
    return row


@jit
def follow(w: RowArena, begin, end, row, room):
    """Walk along the preferred match from a row and return the row behind it, NO_MATCH or NO_ROOM."""
    moves, offsets = w.moves, w.offsets
    limit = within_window(w, row, end)
    at = w.settings[R.SET_STATES] + (0 if row == begin else 1)
    labels, written = w.settings[R.SET_LABELS], w.cursor[R.AT_STATES]
    here = row
    while here < end:
        k, last = offsets[at], offsets[at + 1]
        while k < last and moves[k] != R.END and not is_marked(w, begin, here, moves[k], limit):
            k += 1
        if k == last:
            return NO_MATCH
        at = moves[k]
        if at == R.END:
            break
        if labels:
            if here - row == room:
                return NO_ROOM
            w.states[written + here - row] = at
        here += 1
    w.work[L.WORK_DONE] += 1 + here - row
    w.cursor[R.AT_STEPS] += 1 + here - row
    return here
