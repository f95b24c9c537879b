"""The automaton over downsets, breadth first: each event is read once, by every run of its partition.

What an event does to a run is decided by the strategy (SEMANTICS 4).  States are built on demand: a
call that reaches an unknown one ends with ``NEED_STATE`` and is resumed by the host.  The same holds
for room: a kernel never allocates, it says what it needs.  Runs hold positions only, so that a saved
run needs nothing but its events.
"""

from __future__ import annotations

from fyke.engine.kernels import layout as L
from fyke.engine.kernels.automaton.arena import AutomatonArena
from fyke.engine.kernels.automaton.equivalence import mark_run, merge_new_runs, remember
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
from fyke.engine.kernels.rows import copy_row


@jit
def drop_ended(w):
    """Fill the places of ended runs with the last ones."""
    live = w.cursor[L.CURSOR_LIVE]
    merges = w.program[L.HEAD_MERGES]
    r = live - 1
    while r >= 0:
        if w.runs_i[r, L.RUN_STATE] < 0:
            live -= 1
            if r != live:
                copy_row(w.runs_i[live], w.runs_i[r])
                copy_row(w.runs_f[live], w.runs_f[r])
                if merges:
                    remember(w, r)
        r -= 1
    w.cursor[L.CURSOR_LIVE] = live
    w.cursor[L.CURSOR_PEAK] = max(w.cursor[L.CURSOR_PEAK], live)


@jit
def start_segment(w, segment):
    """Take up the saved runs of a partition and set up the empty run behind all others."""
    count = take_up_runs(w, segment)
    w.cursor[L.CURSOR_RUN] = 0
    w.cursor[L.CURSOR_BEFORE] = count
    if w.program[L.HEAD_MERGES]:
        for r in range(count):
            if mark_run(w, r):
                remember(w, r)
    set_empty_run(w)


@jit
def separate_matches(w, event):
    """End all runs once a match has ended before ``event``, if matches may not overlap ([N] 5.2.1)."""
    if w.cursor[L.CURSOR_MATCHED] and w.events[L.EVENT_END, event] > w.cursor[L.CURSOR_LAST_END]:
        w.cursor[L.CURSOR_MATCHED] = 0
        w.cursor[L.CURSOR_LIVE] = 0
        w.cursor[L.CURSOR_BEFORE] = 0


@jit
def pass_through(w, event, end, flush):
    """Let every live run, then the empty one, read one event; resumable."""
    roles = w.events[L.EVENT_ROLES, event]
    contiguous = is_contiguous(w)
    if roles == 0 and not contiguous:
        return L.DONE
    if w.program[L.HEAD_PRUNES] and w.cursor[L.CURSOR_RUN] == 0:
        separate_matches(w, event)
    before = w.cursor[L.CURSOR_BEFORE]
    if w.cursor[L.CURSOR_RUN] == 0:
        w.work[L.WORK_DONE] += before >> 2  # those that the event does not concern cost little
    integers, states = w.runs_i, w.program[L.HEAD_STATE_TABLE]
    r = w.cursor[L.CURSOR_RUN]
    while r < before:
        state = integers[r, L.RUN_STATE]
        if not contiguous and not roles & w.program[states + state * L.STATE_SIZE + L.STATE_ROLES]:
            if out_of_time(w, integers[r, L.RUN_START], w.events[L.EVENT_END, event]):
                status = room(w, state, integers[r, L.RUN_NODE])
                if status != L.DONE:
                    w.cursor[L.CURSOR_RUN] = r
                    return status
                retire(w, r)
            r += 1
            continue
        status = room(w, state, integers[r, L.RUN_NODE])
        if status != L.DONE:
            w.cursor[L.CURSOR_RUN] = r
            return status
        if expired(w, integers[r], event):
            retire(w, r)
        elif not read_event(w, r, event):
            integers[r, L.RUN_STATE] = -1
        r += 1
    w.cursor[L.CURSOR_RUN] = r
    status = start_run(w, event, end, flush)
    if status != L.DONE:
        return status
    if w.program[L.HEAD_PRUNES] and w.cursor[L.CURSOR_NOTED]:
        w.cursor[L.CURSOR_NOTED] = 0
        w.cursor[L.CURSOR_MATCHED] = 1
        w.cursor[L.CURSOR_LAST_END] = w.events[L.EVENT_END, event]
    if w.program[L.HEAD_MERGES] and w.cursor[L.CURSOR_LIVE] > before:
        merge_new_runs(w, event)
    drop_ended(w)
    return L.DONE


@jit
def next_start(w, event, end):
    """Return the first event from ``event`` on that can start a run: without runs no other matters."""
    roles = w.program[w.program[L.HEAD_STATE_TABLE] + L.STATE_ROLES]
    while event < end and not w.events[L.EVENT_ROLES, event] & roles:
        event += 1
    return event


@jit
def end_segment(w, flush, now, last):
    """End or save the runs of a partition whose events up to ``last`` have been read; resumable."""
    if w.program[L.HEAD_PRUNES] and w.cursor[L.CURSOR_MATCHED]:
        w.cursor[L.CURSOR_LIVE] = 0  # what comes next is later than the match
    while w.cursor[L.CURSOR_RUN] < w.cursor[L.CURSOR_LIVE]:
        r = w.cursor[L.CURSOR_RUN]
        run = w.runs_i[r]
        status = room(w, run[L.RUN_STATE], run[L.RUN_NODE])
        if status != L.DONE:
            return status
        if flush or outlived(w, run, last, now):
            retire(w, r)
        else:
            status = save_run(w, r, last)
            if status != L.DONE:
                return status
        w.cursor[L.CURSOR_RUN] = r + 1
    return L.DONE


@jit
def read_segments(w, flush, now):
    """Read the new events of every partition; go on where ``cursor`` says, return why it stopped.

    ``segments`` has a row per partition: first row of it, first new event, end of new events, and
    the stretch of its saved runs in ``loaded``.  With ``flush`` the input ends here; otherwise runs
    whose window has not passed by ``now`` are saved.
    """
    while w.cursor[L.CURSOR_SEGMENT] < len(w.segments):
        segment = w.cursor[L.CURSOR_SEGMENT]
        if w.cursor[L.CURSOR_EVENT] < 0:
            waiting = w.segments[segment, L.SEGMENT_RUNS_END] - w.segments[segment, L.SEGMENT_RUNS]
            if waiting + 2 > len(w.runs_i):
                return L.NEED_RUNS
            start_segment(w, segment)
        while w.cursor[L.CURSOR_EVENT] < w.segments[segment, L.SEGMENT_END]:
            event = w.cursor[L.CURSOR_EVENT]
            if w.cursor[L.CURSOR_LIVE] == 0:
                event = next_start(w, event, w.segments[segment, L.SEGMENT_END])
                w.cursor[L.CURSOR_EVENT] = event
                if event >= w.segments[segment, L.SEGMENT_END]:
                    break
            status = pass_through(w, event, w.segments[segment, L.SEGMENT_END], flush)
            if status != L.DONE:
                return status
            w.cursor[L.CURSOR_EVENT] = event + 1
            w.cursor[L.CURSOR_RUN] = 0
            w.cursor[L.CURSOR_BEFORE] = w.cursor[L.CURSOR_LIVE]
        status = end_segment(w, flush, now, w.segments[segment, L.SEGMENT_END] - 1)
        if status != L.DONE:
            return status
        if w.cursor[L.CURSOR_PEAK] > w.limits[L.ALLOWED_RUNS]:
            return L.LIMIT_RUNS
        leave_segment(w, segment, flush)
    return L.DONE


@entry
def run_automaton(arena: AutomatonArena, flush: bool, now):
    """Read the new events of every partition; see :func:`read_segments`."""
    return read_segments(arena, flush, now)
