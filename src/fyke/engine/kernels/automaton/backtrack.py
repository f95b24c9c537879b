"""One run after the other: the backtrack algorithm ([N] 5.3) and robust matching ([S] 6.3).

Runs put off wait on a stack, which is the array of runs; each knows the next event it has to read.
Events are read again by every run that comes to them, which ``CURSOR_REREAD`` counts.
"""

from __future__ import annotations

from fyke.engine.kernels import layout as L
from fyke.engine.kernels.automaton.arena import AutomatonArena
from fyke.engine.kernels.automaton.dead_ends import bury, drop_dead
from fyke.engine.kernels.automaton.runs import (
    expired,
    is_contiguous,
    out_of_time,
    outlived,
    read_event,
    retire,
    room,
    set_empty_run,
)
from fyke.engine.kernels.automaton.segments import leave_segment, save_run, start_run, take_up_runs
from fyke.engine.kernels.jit import entry, jit


@jit
def note_read(w, event):
    """Count an event that has been read before."""
    if event < w.cursor[L.CURSOR_FURTHEST]:
        w.cursor[L.CURSOR_REREAD] += 1
    else:
        w.cursor[L.CURSOR_FURTHEST] = event + 1


@jit
def push_children(w, parent, before, event):
    """Let the runs that ``event`` has created go on behind it."""
    live = w.cursor[L.CURSOR_LIVE]
    for r in range(before, live):
        w.runs_i[r, L.RUN_MARK] = event + 1
        w.runs_i[r, L.RUN_PARENT] = 2 * parent
    w.cursor[L.CURSOR_PEAK] = max(w.cursor[L.CURSOR_PEAK], live)


@jit
def next_relevant(w, run, event, end):
    """Return the next event a run has to read: one that can move it, or shows that its time is over."""
    if is_contiguous(w):
        return event
    roles = w.program[w.program[L.HEAD_STATE_TABLE] + run[L.RUN_STATE] * L.STATE_SIZE + L.STATE_ROLES]
    begin = event
    while event < end and not w.events[L.EVENT_ROLES, event] & roles:
        if out_of_time(w, run[L.RUN_START], w.events[L.EVENT_END, event]):
            break
        note_read(w, event)
        event += 1
    w.work[L.WORK_DONE] += (event - begin) >> 2
    return event


@jit
def beyond_best(w, event):
    """Say whether, of non-overlapping matches, one that ends before ``event`` is known."""
    if not w.program[L.HEAD_PRUNES] or not w.cursor[L.CURSOR_MATCHED]:
        return False
    return w.events[L.EVENT_END, event] > w.cursor[L.CURSOR_LAST_END]


@jit
def note_end(w, event):
    """Remember the earliest end of a match since the last ones were separated ([N] 5.3, non-overlap)."""
    if not w.program[L.HEAD_PRUNES]:
        return
    end = w.events[L.EVENT_END, event]
    if not w.cursor[L.CURSOR_MATCHED] or end < w.cursor[L.CURSOR_LAST_END]:
        w.cursor[L.CURSOR_LAST_END] = end
    w.cursor[L.CURSOR_MATCHED] = 1


@jit
def leave_off(w, r, end, flush, now):
    """End a run that has read all there is, or save it for the next call."""
    status = room(w, w.runs_i[r, L.RUN_STATE], w.runs_i[r, L.RUN_NODE])
    if status != L.DONE:
        return status
    if flush or outlived(w, w.runs_i[r], end - 1, now):
        retire(w, r)
    elif not w.cursor[L.CURSOR_MATCHED]:
        status = save_run(w, r, end - 1)
        if status != L.DONE:
            return status
    w.cursor[L.CURSOR_LIVE] = r
    return L.DONE


@jit
def finish_stack(w, end, flush, now):
    """Follow the run on top of the stack, and what comes of it, until the stack is empty; resumable."""
    while w.cursor[L.CURSOR_LIVE] > 0:
        r = w.cursor[L.CURSOR_LIVE] - 1
        w.cursor[L.CURSOR_BEFORE] = r + 1
        if w.runs_i[r, L.RUN_STATE] < 0:
            w.cursor[L.CURSOR_LIVE] = r
            continue
        event = next_relevant(w, w.runs_i[r], w.runs_i[r, L.RUN_MARK], end)
        w.runs_i[r, L.RUN_MARK] = event
        if event >= end:
            status = leave_off(w, r, end, flush, now)
            if status != L.DONE:
                return status
            continue
        if beyond_best(w, event):
            w.cursor[L.CURSOR_LIVE] = r
            continue
        status = room(w, w.runs_i[r, L.RUN_STATE], w.runs_i[r, L.RUN_NODE])
        if status != L.DONE:
            return status
        if expired(w, w.runs_i[r], event):
            retire(w, r)
            continue
        note_read(w, event)
        noted = w.cursor[L.CURSOR_HEADS]
        w.runs_i[r, L.RUN_MARK] = event + 1
        if not read_event(w, r, event):
            w.runs_i[r, L.RUN_STATE] = -1
        if w.cursor[L.CURSOR_HEADS] > noted:
            note_end(w, event)
        push_children(w, r, r + 1, event)
    return L.DONE


@jit
def finish_tree(w, end):
    """Follow the run on top of the stack until the stack is empty; resumable.

    [S] 6.3: a run goes back to an event it took, and passes over it, only if nothing that came of it
    was a match.  The stack with its links to parents is the path of the execution tree that is still
    open; a run whose children found a match is done.  If several runs have the same
    future without a match, one of them is followed.
    """
    while w.cursor[L.CURSOR_LIVE] > 0:
        r = w.cursor[L.CURSOR_LIVE] - 1
        w.cursor[L.CURSOR_BEFORE] = r + 1
        run = w.runs_i[r]
        if run[L.RUN_PARENT] & 1:
            parent = run[L.RUN_PARENT] >> 1
            if parent >= 0:
                w.runs_i[parent, L.RUN_PARENT] |= 1
            w.cursor[L.CURSOR_LIVE] = r
            continue
        event = next_relevant(w, run, run[L.RUN_MARK], end)
        run[L.RUN_MARK] = event
        if event >= end or expired(w, run, event):
            bury(w, r)
            w.cursor[L.CURSOR_LIVE] = r
            continue
        status = room(w, run[L.RUN_STATE], run[L.RUN_NODE])
        if status != L.DONE:
            return status
        note_read(w, event)
        noted = w.cursor[L.CURSOR_HEADS]
        run[L.RUN_MARK] = event + 1
        read_event(w, r, event)
        if w.cursor[L.CURSOR_HEADS] > noted:
            run[L.RUN_PARENT] |= 1
        drop_dead(w, r + 1, event + 1)
        push_children(w, r, r + 1, event)
    return L.DONE


@jit
def start_at(w, event, end, flush, robust):
    """Start the runs of an event; return DONE, or what is missing."""
    w.cursor[L.CURSOR_BEFORE] = 0
    noted = w.cursor[L.CURSOR_HEADS]
    status = start_run(w, event, end, flush)
    if w.cursor[L.CURSOR_HEADS] > noted:
        note_end(w, event)
    if robust:
        drop_dead(w, 0, event + 1)
    push_children(w, -1, 0, event)
    return status


@jit
def enter_segment(w, segment):
    """Take up the saved runs of a partition, which read on with its first new event."""
    count = take_up_runs(w, segment)
    first = w.cursor[L.CURSOR_EVENT]
    w.cursor[L.CURSOR_FURTHEST] = first
    for r in range(count):
        w.runs_i[r, L.RUN_MARK] = first


@jit
def window_is_over(w, event, end, flush, now):
    """Say whether every event of the window that starts with ``event`` is known."""
    if flush:
        return True
    empty = len(w.runs_i) - 1
    w.runs_i[empty, L.RUN_FIRST] = event
    w.runs_i[empty, L.RUN_START] = w.events[L.EVENT_START, event]
    over = outlived(w, w.runs_i[empty], end - 1, now)
    set_empty_run(w)
    return over


@jit
def read_starts(w, flush, now, robust):
    """Start at every new event of every partition; go on where ``cursor`` says, return why it stopped.

    Robust matching must know the whole window of a start: the first start whose window is not over is
    written back as the first new event of its partition, for the next call.
    """
    while w.cursor[L.CURSOR_SEGMENT] < len(w.segments):
        segment = w.cursor[L.CURSOR_SEGMENT]
        end = w.segments[segment, L.SEGMENT_END]
        if w.cursor[L.CURSOR_EVENT] < 0:
            waiting = w.segments[segment, L.SEGMENT_RUNS_END] - w.segments[segment, L.SEGMENT_RUNS]
            if waiting + 2 > len(w.runs_i):
                return L.NEED_RUNS
            enter_segment(w, segment)
        set_empty_run(w)
        while True:
            status = finish_tree(w, end) if robust else finish_stack(w, end, flush, now)
            if status != L.DONE:
                return status
            event = w.cursor[L.CURSOR_EVENT]
            if event >= end or (robust and not window_is_over(w, event, end, flush, now)):
                break
            if beyond_best(w, event):
                w.cursor[L.CURSOR_MATCHED] = 0
            status = start_at(w, event, end, flush, robust)
            if status != L.DONE:
                return status
            note_read(w, event)
            w.cursor[L.CURSOR_EVENT] = event + 1
        if w.cursor[L.CURSOR_PEAK] > w.limits[L.ALLOWED_RUNS]:
            return L.LIMIT_RUNS
        w.segments[segment, L.SEGMENT_NEW] = w.cursor[L.CURSOR_EVENT]
        leave_segment(w, segment, flush)
    return L.DONE


@entry
def run_backtrack(arena: AutomatonArena, flush: bool, now, robust: bool):
    """Start at every new event of every partition; see :func:`read_starts`."""
    return read_starts(arena, flush, now, robust)
