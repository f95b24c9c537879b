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
from fyke.engine.kernels.row_patterns.history import (
    FAILED,
    GOES_ON,
    NO_MOVE,
    begin_way,
    give_back,
    give_back_all,
    go_back,
    go_on,
    holds,
    leave_start,
    next_move,
    position,
    take,
    what_lacks,
    write_way,
)
from fyke.engine.kernels.row_patterns.marks import is_marked, mark_latest, mark_rows
from fyke.engine.kernels.row_patterns.skips import within_window

OPEN = -4  # of a move: rows to come decide
UNDECIDED = -5  # of an attempt
NO_MATCH = -6


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
                if w.ahead[R.AHEAD_TIMEOUTS]:
                    mark_latest(w, begin, end)
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
        status = NO_MATCH if cursor[R.AT_EXPIRING] else attempt(w, begin, known, end, row)
        if status == NO_MATCH:
            status = expire(w, begin, known, end, row)
        if status == UNDECIDED:
            give_back_all(w, row)
            cursor[R.AT_MATCHES], cursor[R.AT_STATES] = cursor[R.AT_KEPT_MATCHES], cursor[R.AT_KEPT_STATES]
            cursor[R.AT_DEPTH] = -1
            cursor[R.AT_EXPIRING] = 0
            cursor[R.AT_ROW] = row + 1
            if not w.ahead[R.AHEAD_APART]:
                return L.DONE
        elif status == L.DONE:
            cursor[R.AT_EXPIRING] = 0
            for k in range(row, cursor[R.AT_ROW]):
                w.done[k] = 1
        else:
            return status
    return L.DONE


@jit
def attempt(w: OpenArena, begin, known, end, start):
    """Go on with the search for a match from a row, and move the cursor to the next start.

    NO_MATCH, if there is none and attempts that expire are told: then the cursor stays.
    """
    cursor = w.cursor
    limit = within_window(w, start, end)
    if cursor[R.AT_DEPTH] < 0:
        begin_way(w, w.settings[R.SET_STATES] + (0 if start == begin else 1))
    while True:
        lack = what_lacks(w)
        if lack != L.DONE:
            return lack
        outcome = try_move(w, begin, known, end, start, limit)
        if outcome == OPEN or (outcome > start and looks_beyond(w, start, outcome, known)):
            return UNDECIDED
        if outcome >= 0 and w.settings[R.SET_EVERY]:
            write_way(w, start, outcome)
        elif outcome >= 0:
            return leave_start(w, start, outcome)
        elif outcome == FAILED:
            if cursor[R.AT_DEPTH] == 0:
                if w.ahead[R.AHEAD_TIMEOUTS] and cursor[R.AT_MATCHES] == cursor[R.AT_KEPT_MATCHES]:
                    cursor[R.AT_DEPTH], cursor[R.AT_EXPIRING] = -1, 1
                    return NO_MATCH
                return leave_start(w, start, FAILED)
            go_back(w, start)


# --- attempts that expire ---------------------------------------------------------------------------------


@jit
def expire(w: OpenArena, begin, known, end, start):
    """Go on with the search for how far an attempt without a match came, and move on behind its start.

    It has expired if a way took all rows of its window and another row could have followed.  If the window
    is not over, no way came to its last row: otherwise there was an open one.
    """
    cursor = w.cursor
    limit = within_window(w, start, end)
    if limit > known:
        return leave_start(w, start, FAILED)
    if cursor[R.AT_DEPTH] < 0:
        begin_way(w, w.settings[R.SET_STATES] + (0 if start == begin else 1))
    while True:
        lack = what_lacks(w)
        if lack != L.DONE:
            return lack
        outcome = try_further(w, begin, known, end, start, limit)
        if outcome == OPEN or (outcome > start and looks_beyond(w, start, outcome, known)):
            return UNDECIDED
        if outcome >= 0:
            write_expired(w, start, limit)
            return leave_start(w, start, FAILED)
        if outcome == FAILED:
            if cursor[R.AT_DEPTH] == 0:
                return leave_start(w, start, FAILED)
            go_back(w, start)


@jit
def try_further(w: OpenArena, begin, known, end, start, limit):
    """Try the next move; return ``limit`` if it is come to, GOES_ON, OPEN, or FAILED if no move is left."""
    row, to = start + w.cursor[R.AT_DEPTH], next_move(w)
    if to == NO_MOVE:
        return FAILED
    if to == R.END or begin + w.latest[(row - begin) * w.settings[R.SET_STATES] + to] < limit:
        return GOES_ON
    verdict = decided_move(w, begin, known, end, start, row, to)
    if verdict != L.TRUE:
        return GOES_ON if verdict == L.FALSE else OPEN
    if row + 1 < limit:
        return go_on(w, end, start, row, to)
    w.states[w.cursor[R.AT_STATES] + w.cursor[R.AT_DEPTH]] = to
    give_back(w, row, to)
    return limit if w.flags[to] & R.FLAG_WAITS else GOES_ON


@jit
def write_expired(w: OpenArena, start, behind):
    """Write an attempt that expired, and take all rows out of the current way."""
    cursor = w.cursor
    w.begins[cursor[R.AT_MATCHES]], w.ends[cursor[R.AT_MATCHES]] = start, behind
    w.expired[cursor[R.AT_MATCHES]] = 1
    cursor[R.AT_MATCHES] += 1
    cursor[R.AT_STATES] += behind - start
    give_back_all(w, start)


# --- moves ------------------------------------------------------------------------------------------------


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
    row, to = start + w.cursor[R.AT_DEPTH], next_move(w)
    if to == NO_MOVE:
        return FAILED
    if to == R.END:
        return row
    if row == end or not is_marked(w, begin, row, to, limit):
        return GOES_ON
    verdict = decided_move(w, begin, known, end, start, row, to)
    if verdict != L.TRUE:
        return GOES_ON if verdict == L.FALSE else OPEN
    return go_on(w, end, start, row, to)


@jit
def decided_move(w: OpenArena, begin, known, end, start, row, to):
    """Take a row in a state if its condition is true; say whether it is: TRUE, FALSE, or OPEN."""
    if w.ahead[R.AHEAD_OPEN] and is_unsure(w, known, row, to):
        return OPEN
    take(w, row, to)
    verdict = decide(w, begin, known, end, start, row, w.across[w.label_of[to]])
    if verdict != L.TRUE:
        give_back(w, row, to)
    return verdict


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
