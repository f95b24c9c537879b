"""Matches that no row still to come can change: the search of ``history`` where more rows may come.

An open partition ends with an unknown row, which any state may take.  A way that comes to it, or to a
condition that looks at it, is *open*.  Ways are tried in order of preference, so an attempt is decided if a
match, or the end of all ways, comes before an open one.
"""

from __future__ import annotations

from fyke.engine.kernels import layout as L
from fyke.engine.kernels.jit import entry, jit
from fyke.engine.kernels.row_patterns import layout as R
from fyke.engine.kernels.row_patterns.arena import OpenArena
from fyke.engine.kernels.row_patterns.failures import has_failed, note_failure
from fyke.engine.kernels.row_patterns.history import (
    FAILED,
    FOUND,
    GOES_ON,
    begin_way,
    give_back,
    give_back_all,
    holds,
    position,
    take,
    write_way,
)
from fyke.engine.kernels.row_patterns.marks import is_marked, mark_rows
from fyke.engine.kernels.row_patterns.skips import next_start, within_window

OPEN = -4  # of a move: rows to come decide
UNDECIDED = -5  # of an attempt


@entry
def search_open_rows(w: OpenArena):
    """Find the decided matches of all partitions; return DONE, PAUSE, a need, or why a skip leads nowhere."""
    cursor, segments = w.cursor, w.segments
    while cursor[R.AT_SEGMENT] < len(segments) - 1:
        begin, end = segments[cursor[R.AT_SEGMENT]], segments[cursor[R.AT_SEGMENT] + 1]
        known = end - w.ahead[R.AHEAD_OPEN]
        if cursor[R.AT_ROW] < 0:
            w.work[L.WORK_BEGIN] = w.work[L.WORK_DONE]
            row = begin
            while row < known and w.done[row]:
                row += 1
            if row < known:
                mark_rows(w, begin, end)
            cursor[R.AT_ROW] = cursor[R.AT_FAR] = row
            cursor[R.AT_DEPTH], cursor[R.AT_BACK] = -1, 0
        status = search_partition(w, begin, known, end)
        if status != L.DONE:
            return status
        cursor[R.AT_SEGMENT] += 1
        cursor[R.AT_ROW] = -1
    return L.DONE


@jit
def search_partition(w: OpenArena, begin, known, end):
    """Go on with the attempts of a partition: up to one that is not decided, unless they have nothing to do
    with each other.
    """
    cursor = w.cursor
    while cursor[R.AT_ROW] < known:
        row = cursor[R.AT_ROW]
        if cursor[R.AT_DEPTH] < 0:
            if w.done[row]:
                cursor[R.AT_ROW] += 1
                continue
            cursor[R.AT_KEPT_MATCHES], cursor[R.AT_KEPT_STATES] = cursor[R.AT_MATCHES], cursor[R.AT_STATES]
        status = attempt(w, begin, known, end, row)
        if status == UNDECIDED:
            give_back_all(w, row)
            cursor[R.AT_MATCHES], cursor[R.AT_STATES] = cursor[R.AT_KEPT_MATCHES], cursor[R.AT_KEPT_STATES]
            cursor[R.AT_DEPTH] = -1
            cursor[R.AT_ROW] = row + 1
            if not w.ahead[R.AHEAD_APART]:
                return L.DONE
        elif status == L.DONE:
            for k in range(row, cursor[R.AT_ROW]):
                w.done[k] = 1
        else:
            return status
    return L.DONE


@jit
def attempt(w: OpenArena, begin, known, end, start):
    """Go on with the search for a match from a row, and move the cursor to the next start."""
    cursor = w.cursor
    limit = within_window(w, start, end)
    if cursor[R.AT_DEPTH] < 0:
        begin_way(w, w.settings[R.SET_STATES] + (0 if start == begin else 1))
    while True:
        depth = cursor[R.AT_DEPTH]
        if w.work[L.WORK_DONE] > w.work[L.WORK_PAUSE]:
            return L.PAUSE
        if depth + 2 >= len(w.chosen):
            return R.NEED_DEPTH
        if cursor[R.AT_MATCHES] == len(w.begins):
            return R.NEED_MATCHES
        if cursor[R.AT_STATES] + 2 * depth + 2 > len(w.states):
            return R.NEED_STATES
        outcome = try_move(w, begin, known, end, start, limit)
        if outcome == OPEN or (outcome > start and looks_beyond(w, start, outcome, known)):
            return UNDECIDED
        if outcome >= 0 and w.settings[R.SET_EVERY]:
            write_way(w, start, outcome)
        elif outcome >= 0:
            status = next_start(w, start, outcome)
            give_back_all(w, start)
            cursor[R.AT_DEPTH] = -1
            return status
        elif outcome == FAILED:
            if depth == 0:
                cursor[R.AT_DEPTH] = -1
                cursor[R.AT_ROW] = start + 1
                return L.DONE
            go_back(w, start)


@jit
def go_back(w: OpenArena, start):
    """Give the last row of the current way back, of which all moves are tried."""
    depth = w.cursor[R.AT_DEPTH]
    state, found = w.chosen[depth], w.next_moves[depth] & FOUND
    if w.cursor[R.AT_BACK] > R.PATIENCE and found == 0:
        note_failure(w, start, start + depth, state)
    give_back(w, start + depth - 1, state)
    w.cursor[R.AT_DEPTH] -= 1
    w.next_moves[depth - 1] |= found
    w.cursor[R.AT_BACK] += 1


@jit
def looks_beyond(w: OpenArena, start, behind, known):
    """Say whether measures of a match look at rows that are not known."""
    if not w.ahead[R.AHEAD_OPEN]:
        return False
    ahead = w.ahead
    return start + ahead[R.AHEAD_FROM_BEGIN] >= known or behind - 1 + ahead[R.AHEAD_FROM_END] >= known


@jit
def try_move(w: OpenArena, begin, known, end, start, limit):
    """Try the next move; return the row behind a match, GOES_ON, OPEN, or FAILED if no move is left."""
    depth = w.cursor[R.AT_DEPTH]
    row, place = start + depth, w.next_moves[depth] & (FOUND - 1)
    if place == w.offsets[w.chosen[depth] + 1]:
        return FAILED
    w.next_moves[depth] += 1
    w.work[L.WORK_DONE] += 1
    w.cursor[R.AT_STEPS] += 1
    to = w.moves[place]
    if to == R.END:
        return row
    if row == end or not is_marked(w, begin, row, to, limit):
        return GOES_ON
    if w.ahead[R.AHEAD_OPEN] and is_unsure(w, known, row, to):
        return OPEN
    take(w, row, to)
    verdict = decide(w, begin, known, end, start, row, w.across[w.label_of[to]])
    if verdict != L.TRUE:
        give_back(w, row, to)
        return GOES_ON if verdict == L.FALSE else OPEN
    if row + 1 == end:
        w.states[w.cursor[R.AT_STATES] + depth] = to
        give_back(w, row, to)
        return end if w.flags[to] & R.FLAG_ENDS else GOES_ON
    if w.cursor[R.AT_BACK] > R.PATIENCE and has_failed(w, start, row + 1, to):
        w.cursor[R.AT_FORGONE] += 1
        give_back(w, row, to)
        return GOES_ON
    w.states[w.cursor[R.AT_STATES] + depth] = to
    w.cursor[R.AT_DEPTH] += 1
    w.chosen[depth + 1] = to
    w.next_moves[depth + 1] = w.offsets[to]
    return GOES_ON


@jit
def is_unsure(w: OpenArena, known, row, state):
    """Say whether rows to come decide if a row can be taken in a state, whatever was taken before."""
    if row == known:
        return True
    condition = w.conditions[state]
    if condition == R.ALWAYS or row + w.ahead[R.AHEAD_DEFINE] < known:
        return False
    return w.unsure[condition, row] != 0


@jit
def decide(w: OpenArena, begin, known, end, start, row, condition):
    """Say whether a condition is true of the row just taken: TRUE, FALSE, or OPEN."""
    if condition < 0:
        return L.TRUE
    if w.ahead[R.AHEAD_OPEN]:
        for k in range(w.reach_offsets[condition], w.reach_offsets[condition + 1]):
            at = position(w, start, row, w.reach[k, R.REACH_POSITION])
            if at >= 0 and at + w.reach[k, R.REACH_PHYSICAL] >= known:
                return OPEN
    return L.TRUE if holds(w, begin, end, start, row, condition) else L.FALSE
