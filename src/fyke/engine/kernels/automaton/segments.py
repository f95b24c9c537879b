"""What every order of search does at the ends of a partition: take up runs, start them, save them, leave."""

from __future__ import annotations

from fyke.engine.kernels import layout as L
from fyke.engine.kernels.automaton.candidate_windows import admits_match, look_from
from fyke.engine.kernels.automaton.runs import oldest_fitting, read_event, room
from fyke.engine.kernels.conditions.work import begin_work
from fyke.engine.kernels.jit import jit
from fyke.engine.kernels.rows import copy_row


@jit
def take_up_runs(w, segment):
    """Begin with a partition: its saved runs are alive, its first new event is the next to be read."""
    begin_work(w)
    first = w.segments[segment, L.SEGMENT_NEW]
    w.cursor[L.CURSOR_EVENT] = first
    w.cursor[L.CURSOR_MATCHED] = 0
    count = 0
    for k in range(w.segments[segment, L.SEGMENT_RUNS], w.segments[segment, L.SEGMENT_RUNS_END]):
        copy_row(w.loaded_i[k], w.runs_i[count])
        copy_row(w.loaded_f[k], w.runs_f[count])
        count += 1
    w.cursor[L.CURSOR_LIVE] = count
    look_from(w, first)
    return count


@jit
def start_run(w, event, end, flush):
    """Let the empty run read an event, unless no match can start there; say what is missing."""
    if not w.events[L.EVENT_ROLES, event] & w.program[w.program[L.HEAD_STATE_TABLE] + L.STATE_ROLES]:
        return L.DONE
    if w.program[L.HEAD_CANDIDATES] and not admits_match(w, event, end, flush):
        w.cursor[L.CURSOR_SKIPPED] += 1
        return L.DONE
    status = room(w, 0, -1)
    if status == L.DONE:
        w.runs_i[len(w.runs_i) - 1, L.RUN_FIRST] = event
        read_event(w, -1, event)
    return status


@jit
def save_run(w, r, last):
    """Save a run that has read the events up to ``last`` for the next call; say what is missing."""
    at = w.cursor[L.CURSOR_SAVED]
    if at >= len(w.saved_i):
        return L.NEED_SAVED
    copy_row(w.runs_i[r], w.saved_i[at])
    copy_row(w.runs_f[r], w.saved_f[at])
    w.saved_i[at, L.RUN_MARK] = oldest_fitting(w, last)
    w.cursor[L.CURSOR_SAVED] = at + 1
    return L.DONE


@jit
def leave_segment(w, segment, flush):
    """Go on to the next partition; at the end of the input the buffer is free again."""
    w.cursor[L.CURSOR_SEGMENT] = segment + 1
    w.cursor[L.CURSOR_EVENT] = -1
    w.cursor[L.CURSOR_TRIED] += w.cursor[L.CURSOR_STEPS]
    w.cursor[L.CURSOR_STEPS] = 0
    w.cursor[L.CURSOR_NODES_PEAK] = max(w.cursor[L.CURSOR_NODES_PEAK], w.cursor[L.CURSOR_NODES])
    if flush and w.cursor[L.CURSOR_HEADS] == 0 and w.cursor[L.CURSOR_LOADED] == 0:
        w.cursor[L.CURSOR_NODES] = 0
