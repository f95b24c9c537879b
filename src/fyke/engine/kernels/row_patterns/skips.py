"""What follows a match: it is written, and the search goes on where AFTER MATCH SKIP says."""

from __future__ import annotations

from fyke.engine.kernels import layout as L
from fyke.engine.kernels.jit import jit
from fyke.engine.kernels.row_patterns import layout as R
from fyke.engine.kernels.row_patterns.arena import RowArena


@jit
def within_window(w: RowArena, row, end):
    """Return behind which row a match from ``row`` must end; starts only ever come later."""
    window = w.settings[R.SET_WINDOW]
    if window < 0:
        return end
    far, latest = max(w.cursor[R.AT_FAR], row), w.times[row]
    latest = latest + window if latest <= LARGEST - window else LARGEST
    while far < end and w.times[far] <= latest:
        far += 1
    w.cursor[R.AT_FAR] = far
    return far


LARGEST = 2**63 - 1


@jit
def next_start(w: RowArena, row, behind):
    """Write the match from ``row`` to in front of ``behind``, and move the cursor to the next start."""
    cursor = w.cursor
    skip, start = w.settings[R.SET_SKIP], row + 1
    if behind > row:
        if skip == R.SKIP_PAST_LAST:
            start = behind
        elif skip != R.SKIP_NEXT_ROW:
            start = skipped_to(w, row, behind, skip)
            if start <= row:
                cursor[R.AT_ROW] = row
                return R.SKIPS_NOWHERE if start < 0 else R.SKIPS_TO_START
    w.begins[cursor[R.AT_MATCHES]] = row
    w.ends[cursor[R.AT_MATCHES]] = behind
    cursor[R.AT_MATCHES] += 1
    if w.settings[R.SET_LABELS]:
        cursor[R.AT_STATES] += behind - row
    cursor[R.AT_ROW] = start
    return L.DONE


@jit
def skipped_to(w: RowArena, row, behind, skip):
    """Return the first or last row of a match in a state that SKIP TO looks for; -1 if there is none."""
    first = w.cursor[R.AT_STATES]
    for k in range(behind - row):
        at = k if skip == R.SKIP_FIRST else behind - row - 1 - k
        if w.flags[w.states[first + at]] & R.FLAG_SKIPPED_TO:
            return row + at
    return -1
