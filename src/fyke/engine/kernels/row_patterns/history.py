"""Matches whose conditions look at other rows of the match: depth first in order of preference.

Marks still tell what cannot lead to a match whatever these conditions say.  What has failed is remembered
by its row, its state and what conditions can still see, once rows have been given back often enough.
"""

from __future__ import annotations

from fyke.engine.kernels import layout as L
from fyke.engine.kernels.conditions.elements import accumulate, reset_accumulators
from fyke.engine.kernels.conditions.predicate import evaluate
from fyke.engine.kernels.jit import entry, jit
from fyke.engine.kernels.row_patterns import layout as R
from fyke.engine.kernels.row_patterns.arena import HistoryArena
from fyke.engine.kernels.row_patterns.failures import has_failed, note_failure
from fyke.engine.kernels.row_patterns.marks import is_marked, mark_rows
from fyke.engine.kernels.row_patterns.skips import next_start, within_window
from fyke.engine.kernels.rows import copy_row

GOES_ON, MATCHED, FAILED = -1, -2, -3
NO_MOVE = -9  # in place of a state


@entry
def search_rows(w: HistoryArena):
    """Find the matches of all partitions; return DONE, PAUSE, a need, or why a skip leads nowhere."""
    cursor, segments = w.cursor, w.segments
    while cursor[R.AT_SEGMENT] < len(segments) - 1:
        begin, end = segments[cursor[R.AT_SEGMENT]], segments[cursor[R.AT_SEGMENT] + 1]
        if cursor[R.AT_ROW] < 0:
            w.work[L.WORK_BEGIN] = w.work[L.WORK_DONE]
            mark_rows(w, begin, end)
            cursor[R.AT_ROW] = cursor[R.AT_FAR] = max(begin, w.settings[R.SET_FROM])
            cursor[R.AT_DEPTH], cursor[R.AT_BACK] = -1, 0
        while cursor[R.AT_ROW] < min(end, w.settings[R.SET_STOP]):
            status = search_from(w, begin, end, cursor[R.AT_ROW])
            if status != L.DONE:
                return status
        cursor[R.AT_SEGMENT] += 1
        cursor[R.AT_NEXT] = cursor[R.AT_ROW]
        cursor[R.AT_ROW] = -1
    return L.DONE


@jit
def search_from(w: HistoryArena, begin, end, start):
    """Go on with the search for a match from a row, and move the cursor to the next start."""
    cursor = w.cursor
    limit = within_window(w, start, end)
    if cursor[R.AT_DEPTH] < 0:
        begin_way(w, w.settings[R.SET_STATES] + (0 if start == begin else 1))
    while True:
        lack = what_lacks(w)
        if lack != L.DONE:
            return lack
        outcome = try_move(w, begin, end, start, limit)
        if outcome >= 0 and w.settings[R.SET_EVERY]:
            write_way(w, start, outcome)
        elif outcome >= 0:
            return leave_start(w, start, outcome)
        elif outcome == FAILED:
            if cursor[R.AT_DEPTH] == 0:
                return leave_start(w, start, FAILED)
            go_back(w, start)


FOUND = 1 << 40  # a bit of a place among moves: a match was found behind it


@jit
def what_lacks(w: HistoryArena):
    """Return what the next move of the current way lacks: PAUSE, a need, or DONE if it lacks nothing."""
    cursor, depth = w.cursor, w.cursor[R.AT_DEPTH]
    if w.work[L.WORK_DONE] > w.work[L.WORK_PAUSE]:
        return L.PAUSE
    if depth + 2 >= len(w.chosen):
        return R.NEED_DEPTH
    if cursor[R.AT_MATCHES] == len(w.begins):
        return R.NEED_MATCHES
    if cursor[R.AT_STATES] + 2 * depth + 2 > len(w.states):
        return R.NEED_STATES
    return L.DONE


@jit
def leave_start(w: HistoryArena, start, outcome):
    """Move the cursor to the next start, behind the match found or, if all ways FAILED, by one row."""
    status = L.DONE
    if outcome == FAILED:
        w.cursor[R.AT_ROW] = start + 1
    else:
        status = next_start(w, start, outcome)
        give_back_all(w, start)
    w.cursor[R.AT_DEPTH] = -1
    return status


@jit
def go_back(w: HistoryArena, start):
    """Give back the last row of the current way, after all moves behind it were tried."""
    depth = w.cursor[R.AT_DEPTH]
    state, found = w.chosen[depth], w.next_moves[depth] & FOUND
    if w.cursor[R.AT_BACK] > R.PATIENCE and found == 0:
        note_failure(w, start, start + depth, state)
    give_back(w, start + depth - 1, state)
    w.cursor[R.AT_DEPTH] -= 1
    w.next_moves[depth - 1] |= found
    w.cursor[R.AT_BACK] += 1


@jit
def begin_way(w: HistoryArena, moves):
    """Begin a way with no rows, whose first moves are those of a list."""
    w.cursor[R.AT_DEPTH] = 0
    w.chosen[0] = moves
    w.next_moves[0] = w.offsets[moves]
    for s in range(len(w.counts)):
        w.counts[s] = 0
        reset_accumulators(w, s, w.sums_i[0], w.sums_f[0])


@jit
def try_move(w: HistoryArena, begin, end, start, limit):
    """Try the next move; return the row behind a match, GOES_ON, or FAILED if there is no other move."""
    row, to = start + w.cursor[R.AT_DEPTH], next_move(w)
    if to == NO_MOVE:
        return FAILED
    if to == R.END:
        return row
    if row == end or not is_marked(w, begin, row, to, limit):
        return GOES_ON
    take(w, row, to)
    label = w.label_of[to]
    if w.across[label] >= 0 and not holds(w, begin, end, start, row, w.across[label]):
        give_back(w, row, to)
        return GOES_ON
    return go_on(w, end, start, row, to)


@jit
def next_move(w: HistoryArena):
    """Return the state that the current way moves to next, END, or NO_MOVE if all were tried."""
    depth = w.cursor[R.AT_DEPTH]
    place = w.next_moves[depth] & (FOUND - 1)
    if place == w.offsets[w.chosen[depth] + 1]:
        return NO_MOVE
    w.next_moves[depth] += 1
    w.work[L.WORK_DONE] += 1
    w.cursor[R.AT_STEPS] += 1
    return w.moves[place]


@jit
def go_on(w: HistoryArena, end, start, row, to):
    """Go on behind a row that was taken; return the row behind a match that ends with it, or GOES_ON."""
    depth = w.cursor[R.AT_DEPTH]
    if row + 1 == end:
        w.states[w.cursor[R.AT_STATES] + depth] = to
        give_back(w, row, to)  # what is written is not needed here any more
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
def take(w: HistoryArena, row, state):
    """Add a row to the current way, in a state."""
    depth, label = w.cursor[R.AT_DEPTH], w.label_of[state]
    if len(w.sums_i[0]) > 0:
        copy_row(w.sums_i[depth], w.sums_i[depth + 1])
        copy_row(w.sums_f[depth], w.sums_f[depth + 1])
    for s in range(len(w.counts)):
        if w.members[s, label]:
            w.taken[s, w.counts[s]] = row
            w.counts[s] += 1
            accumulate(w, s, row, w.sums_i[depth + 1], w.sums_f[depth + 1])
            w.work[L.WORK_DONE] += 1
    column = w.settings[R.SET_LABEL_COLUMN]
    if column >= 0:
        w.cols_i[column, row] = w.ranks[label]
        w.valid_i[column, row] = 1


@jit
def give_back(w: HistoryArena, row, state):
    """Take the last row of the current way out of it."""
    label = w.label_of[state]
    for s in range(len(w.counts)):
        if w.members[s, label]:
            w.counts[s] -= 1
    column = w.settings[R.SET_LABEL_COLUMN]
    if column >= 0:
        w.valid_i[column, row] = 0


@jit
def give_back_all(w: HistoryArena, start):
    """Take all rows out of the current way."""
    column = w.settings[R.SET_LABEL_COLUMN]
    if column >= 0:
        for row in range(start, start + w.cursor[R.AT_DEPTH]):
            w.valid_i[column, row] = 0


@jit
def holds(w: HistoryArena, begin, end, start, row, condition):
    """Say whether a condition is true of the row that the current way has just taken."""
    sets = len(w.counts)
    nowhere = len(w.cols_i[0]) - 1  # a row of nulls
    for k in range(w.asked_offsets[condition], w.asked_offsets[condition + 1]):
        p = w.asked[k]
        at = position(w, start, row, p)
        if at >= 0:
            at += w.positions[p, R.POSITION_PHYSICAL]
            if at < begin or at >= end:
                at = nowhere
        else:
            at = nowhere
        w.slots[L.SLOTS * (sets + p)] = at
    for s in range(sets):
        w.lengths[s] = w.counts[s]
    w.cursor[R.AT_EVALUATIONS] += 1
    sums_i, sums_f = w.sums_i[w.cursor[R.AT_DEPTH] + 1], w.sums_f[w.cursor[R.AT_DEPTH] + 1]
    return evaluate(w, condition, sums_i, sums_f, sums_i, sums_f) == L.TRUE


@jit
def position(w: HistoryArena, start, row, p):
    """Return the row of a position, before its physical offset; -1 if there is none."""
    kind, among, logical = w.positions[p, 0], w.positions[p, 1], w.positions[p, 2]
    if kind == R.FROM_CURRENT:
        return row
    if among < 0:
        if logical > row - start:
            return -1
        return start + logical if kind == R.FROM_FIRST else row - logical
    count = w.counts[among]
    if logical >= count:
        return -1
    return w.taken[among, logical if kind == R.FROM_FIRST else count - 1 - logical]


@jit
def write_way(w: HistoryArena, start, behind):
    """Write the way that has come to an end, and go on searching for others."""
    cursor = w.cursor
    length, first = behind - start, cursor[R.AT_STATES]
    w.begins[cursor[R.AT_MATCHES]], w.ends[cursor[R.AT_MATCHES]] = start, behind
    cursor[R.AT_MATCHES] += 1
    cursor[R.AT_STATES] += length
    for k in range(cursor[R.AT_DEPTH]):
        w.states[first + length + k] = w.states[first + k]
    w.next_moves[cursor[R.AT_DEPTH]] |= FOUND
