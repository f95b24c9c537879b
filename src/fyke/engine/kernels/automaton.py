"""The automaton over downsets: NFAᵇ for sequences ([N] 3), the SES automaton for sets ([S] 4).

A state is a downward-closed set of variables.  Each event is read once per run of its partition;
what it does to a run is decided by the strategy (SEMANTICS 4).  States are built on demand: a call
that reaches an unknown one ends with ``NEED_STATE`` and is resumed by the host.  The same holds for
room: a kernel never allocates, it says what it needs.  Runs hold positions only, so that a saved run
needs nothing but its events.
"""

from __future__ import annotations

import numpy as np

from fyke.engine.kernels import layout as L
from fyke.engine.kernels.elements import accumulate, describe, holds_for_every, reset_accumulators
from fyke.engine.kernels.jit import jit
from fyke.engine.kernels.predicate import evaluate
from fyke.engine.kernels.world import enter


@jit
def span_fits(w, start, end):
    """Say whether a stretch of time lies in the window; no difference of int64 can overflow it."""
    return np.uint64(end) - np.uint64(start) <= np.uint64(w.program[L.HEAD_WINDOW])


@jit
def out_of_time(w, start, now):
    """Say whether a run that began at ``start`` has left a window of time."""
    return w.program[L.HEAD_WINDOW_KIND] == L.WINDOW_TIME and not span_fits(w, start, now)


@jit
def expired(w, run, event):
    """Say whether no event from ``event`` on can still be bound by a run ([N] compile step 5)."""
    kind = w.program[L.HEAD_WINDOW_KIND]
    if kind == L.WINDOW_TIME:
        return not span_fits(w, run[L.RUN_START], w.events[L.EVENT_END, event])
    if kind == L.WINDOW_EVENTS:
        first = w.events[L.EVENT_INDEX, run[L.RUN_FIRST]]
        return w.events[L.EVENT_INDEX, event] - first >= w.program[L.HEAD_WINDOW]
    return False


@jit
def outlived(w, run, last, now):
    """Say whether no event behind ``last``, all of them later than ``now``, can be bound by a run."""
    kind, window = w.program[L.HEAD_WINDOW_KIND], w.program[L.HEAD_WINDOW]
    if kind == L.WINDOW_TIME:
        start = run[L.RUN_START]
        return now > start and np.uint64(now) - np.uint64(start) >= np.uint64(window)
    if kind == L.WINDOW_EVENTS and w.program[L.HEAD_STRATEGY] != L.STRICT:
        first = w.events[L.EVENT_INDEX, run[L.RUN_FIRST]]
        return w.events[L.EVENT_INDEX, last] - first >= window - 1
    return False  # under strict contiguity the rows of a segment are not of one partition


@jit
def fill_slots(w, run):
    """Set the slots and lengths of all variables from a run."""
    for v in range(w.program[L.HEAD_VARIABLES]):
        at = L.RUN_VARIABLES + v * L.RUN_VARIABLE_SIZE
        w.lengths[v] = run[at + L.RUN_COUNT]
        w.slots[4 * v + L.SLOT_CURRENT] = run[at + L.RUN_LAST_OF]
        w.slots[4 * v + L.SLOT_FIRST] = run[at + L.RUN_FIRST_OF]
        w.slots[4 * v + L.SLOT_LAST] = run[at + L.RUN_LAST_OF]


@jit
def gather(w, node, variable, event):
    """Lay out the elements of each variable of a run, with ``event`` added to ``variable`` unless -1."""
    variables = w.program[L.HEAD_VARIABLES]
    for v in range(variables + 1):
        w.bounds[v] = 0
    at = node
    while at >= 0:
        w.bounds[w.nodes[at, 1] + 1] += 1
        at = w.nodes[at, 2]
    if variable >= 0:
        w.bounds[variable + 1] += 1
    for v in range(variables):
        w.bounds[v + 1] += w.bounds[v]
        w.fill[v] = w.bounds[v + 1]
    if variable >= 0:
        w.fill[variable] -= 1
        w.elements[w.fill[variable]] = event
    at = node
    while at >= 0:
        v = w.nodes[at, 1]
        w.fill[v] -= 1
        w.elements[w.fill[v]] = w.nodes[at, 0]
        at = w.nodes[at, 2]


@jit
def checks_hold(w, first, last, run, floats, node, variable, event):
    """Decide a stretch of the check table for a run that binds ``event`` to ``variable``."""
    for k in range(first, last):
        row = w.program[L.HEAD_CHECK_TABLE] + k * L.CHECK_SIZE
        condition = w.program[row + L.CHECK_CONDITION]
        w.cursor[L.CURSOR_EVALUATIONS] += 1
        if w.program[row + L.CHECK_EVERY] == 0:
            if evaluate(w, condition, run, floats, run, floats) != L.TRUE:
                return False
        elif not every_holds(w, condition, node, variable, event):
            return False
    return True


@jit
def copy_row(source, target):
    """Copy a row that does not overlap its target; a slice assignment would first make sure of that."""
    for k in range(len(source)):
        target[k] = source[k]


@jit
def every_holds(w, condition, node, variable, event):
    """Decide a condition over all elements of a run; slots and lengths are left as they were."""
    copy_row(w.slots, w.kept_slots)
    copy_row(w.lengths, w.kept_lengths)
    gather(w, node, variable, event)
    describe(w, w.program[L.HEAD_VARIABLES])
    result = holds_for_every(w, condition)
    copy_row(w.kept_slots, w.slots)
    copy_row(w.kept_lengths, w.lengths)
    return result


@jit
def in_order(w, run, move, event):
    """Check the partial order, the group rule and the minimum of the groups a start closes."""
    v = w.program[move + L.MOVE_VARIABLE]
    low = w.events[L.EVENT_LOW, event]
    before = w.program[w.program[L.HEAD_VARIABLE_TABLE] + v * L.VAR_SIZE + L.VAR_BEFORE]
    u = 0
    while before != 0:
        if before & 1:
            at = L.RUN_VARIABLES + u * L.RUN_VARIABLE_SIZE
            if w.events[L.EVENT_HIGH, run[at + L.RUN_BARRIER]] >= low:
                return False
            row = w.program[L.HEAD_VARIABLE_TABLE] + u * L.VAR_SIZE
            if run[at + L.RUN_COUNT] < w.program[row + L.VAR_MINIMUM]:
                return False
        before >>= 1
        u += 1
    if w.program[move + L.MOVE_EXTENDS]:
        last = run[L.RUN_VARIABLES + v * L.RUN_VARIABLE_SIZE + L.RUN_LAST_OF]
        if w.events[L.EVENT_HIGH, last] < low:
            return True
        start, end = w.events[L.EVENT_START, event], w.events[L.EVENT_END, event]
        return start == end and w.events[L.EVENT_START, last] == end and w.events[L.EVENT_END, last] == end
    return True


@jit
def in_window(w, run, event):
    """Check the window, and under strict contiguity the partition, of a run extended by ``event``."""
    kind = w.program[L.HEAD_WINDOW_KIND]
    if kind == L.WINDOW_TIME:
        start = min(run[L.RUN_START], w.events[L.EVENT_START, event])
        if not span_fits(w, start, w.events[L.EVENT_END, event]):
            return False
    elif kind == L.WINDOW_EVENTS and expired(w, run, event):
        return False
    return w.events[L.EVENT_SEGMENT, event] == w.events[L.EVENT_SEGMENT, run[L.RUN_FIRST]]


@jit
def extend(w, run, floats, new, new_floats, move, target, event, node):
    """Write the run that binds ``event`` by ``move`` into ``new``; ``node`` is its place in the buffer."""
    copy_row(run, new)
    copy_row(floats, new_floats)
    v = w.program[move + L.MOVE_VARIABLE]
    at = L.RUN_VARIABLES + v * L.RUN_VARIABLE_SIZE
    new[L.RUN_STATE] = target
    new[L.RUN_NODE] = node
    new[L.RUN_START] = min(new[L.RUN_START], w.events[L.EVENT_START, event])
    if new[at + L.RUN_COUNT] == 0:
        new[at + L.RUN_FIRST_OF] = event
        new[at + L.RUN_BARRIER] = event
    elif w.events[L.EVENT_HIGH, event] > w.events[L.EVENT_HIGH, new[at + L.RUN_BARRIER]]:
        new[at + L.RUN_BARRIER] = event
    new[at + L.RUN_LAST_OF] = event
    new[at + L.RUN_COUNT] += 1
    accumulate(w, v, event, new, new_floats)


@jit
def is_match(w, run, floats):
    """Say whether a run is a match as it stands; slots and lengths must be those of the run."""
    row = w.program[L.HEAD_STATE_TABLE] + run[L.RUN_STATE] * L.STATE_SIZE
    if not w.program[row + L.STATE_COMPLETE]:
        return False
    for v in range(w.program[L.HEAD_VARIABLES]):
        minimum = w.program[w.program[L.HEAD_VARIABLE_TABLE] + v * L.VAR_SIZE + L.VAR_MINIMUM]
        if run[L.RUN_VARIABLES + v * L.RUN_VARIABLE_SIZE + L.RUN_COUNT] < minimum:
            return False
    first, last = w.program[row + L.STATE_FINAL_CHECKS], w.program[row + L.STATE_FINAL_CHECKS_END]
    return first == last or checks_hold(w, first, last, run, floats, run[L.RUN_NODE], -1, -1)


@jit
def emit(w, run):
    """Write the bindings of a run to the output, first event first."""
    node = run[L.RUN_NODE]
    length = w.nodes[node, 3] + 1
    begin = w.cursor[L.CURSOR_BINDINGS]
    at = begin + length
    while node >= 0:
        at -= 1
        w.bindings[at, 0] = w.nodes[node, 0]
        w.bindings[at, 1] = w.nodes[node, 1]
        node = w.nodes[node, 2]
    w.cursor[L.CURSOR_BINDINGS] = begin + length
    w.cursor[L.CURSOR_MATCHES] += 1
    w.offsets[w.cursor[L.CURSOR_MATCHES]] = begin + length


@jit
def try_move(w, run, floats, move, event):
    """Bind ``event`` by a transition if that is satisfied: append the new run, report it if it matches."""
    if not in_order(w, run, move, event) or not in_window(w, run, event):
        return False
    v = w.program[move + L.MOVE_VARIABLE]
    node = run[L.RUN_NODE]
    count = run[L.RUN_VARIABLES + v * L.RUN_VARIABLE_SIZE + L.RUN_COUNT] + 1
    maximum = w.program[w.program[L.HEAD_VARIABLE_TABLE] + v * L.VAR_SIZE + L.VAR_MAXIMUM]
    w.slots[4 * v + L.SLOT_PREVIOUS] = w.slots[4 * v + L.SLOT_LAST]
    w.slots[4 * v + L.SLOT_CURRENT] = event
    w.slots[4 * v + L.SLOT_LAST] = event
    if count == 1:
        w.slots[4 * v + L.SLOT_FIRST] = event
    w.lengths[v] = count
    live, added = w.cursor[L.CURSOR_LIVE], w.cursor[L.CURSOR_NODES]
    new, new_floats = w.runs_i[live], w.runs_f[live]
    target = w.program[move + L.MOVE_TARGET]
    full = count == maximum and w.program[move + L.MOVE_FULL_TARGET] >= 0
    first, last = w.program[move + L.MOVE_CHECKS], w.program[move + L.MOVE_CHECKS_END]
    satisfied = first == last or checks_hold(w, first, last, run, floats, node, v, event)
    if satisfied:
        if full:
            target = w.program[move + L.MOVE_FULL_TARGET]
        extend(w, run, floats, new, new_floats, move, target, event, added)
        if full:
            first, last = w.program[move + L.MOVE_FULL_CHECKS], w.program[move + L.MOVE_FULL_CHECKS_END]
            satisfied = checks_hold(w, first, last, new, new_floats, node, v, event)
    if satisfied:
        w.nodes[added, 0] = event
        w.nodes[added, 1] = v
        w.nodes[added, 2] = node
        w.nodes[added, 3] = w.nodes[node, 3] + 1 if node >= 0 else 0
        w.cursor[L.CURSOR_NODES] = added + 1
        w.cursor[L.CURSOR_CREATED] += 1
        finish_move(w, new, new_floats)
    at = L.RUN_VARIABLES + v * L.RUN_VARIABLE_SIZE
    w.lengths[v] = run[at + L.RUN_COUNT]
    w.slots[4 * v + L.SLOT_CURRENT] = run[at + L.RUN_LAST_OF]
    w.slots[4 * v + L.SLOT_FIRST] = run[at + L.RUN_FIRST_OF]
    w.slots[4 * v + L.SLOT_LAST] = run[at + L.RUN_LAST_OF]
    return satisfied


@jit
def finish_move(w, new, new_floats):
    """Keep a new run while it can go on; report it, under greedy only once it cannot."""
    row = w.program[L.HEAD_STATE_TABLE] + new[L.RUN_STATE] * L.STATE_SIZE
    open_ended = w.program[row + L.STATE_OPEN] or not w.program[row + L.STATE_COMPLETE]
    wait = w.program[L.HEAD_STRATEGY] == L.GREEDY and open_ended
    if not wait and is_match(w, new, new_floats):
        emit(w, new)
    if open_ended:
        w.cursor[L.CURSOR_LIVE] += 1


@jit
def read_event(w, r, event):
    """Let run ``r`` (-1: the empty run) read an event; return whether the run goes on without it."""
    strategy = w.program[L.HEAD_STRATEGY]
    if r >= 0:
        run, floats = w.runs_i[r], w.runs_f[r]
    else:
        run, floats = w.runs_i[len(w.runs_i) - 1], w.runs_f[len(w.runs_f) - 1]
    row = w.program[L.HEAD_STATE_TABLE] + run[L.RUN_STATE] * L.STATE_SIZE
    roles = w.events[L.EVENT_ROLES, event]
    any_satisfied, obliged = False, False
    if roles & w.program[row + L.STATE_ROLES]:
        fill_slots(w, run)
        for t in range(w.program[row + L.STATE_TRANSITIONS], w.program[row + L.STATE_TRANSITIONS_END]):
            move = w.program[L.HEAD_TRANSITION_TABLE] + t * L.MOVE_SIZE
            v = w.program[move + L.MOVE_VARIABLE]
            if not roles & w.program[w.program[L.HEAD_VARIABLE_TABLE] + v * L.VAR_SIZE + L.VAR_ROLE]:
                continue
            w.cursor[L.CURSOR_STEPS] += 1
            if try_move(w, run, floats, move, event):
                any_satisfied = True
                if w.program[move + L.MOVE_EXTENDS] or w.program[move + L.MOVE_CLOSES] == 0:
                    obliged = True
    if strategy == L.ANY:
        return True
    if strategy == L.NEXT:
        return not obliged
    if strategy == L.GREEDY:
        return not any_satisfied
    return False


@jit
def room(w, state, node):
    """Return DONE if one more run can read an event, else what is missing."""
    row = w.program[L.HEAD_STATE_TABLE] + state * L.STATE_SIZE
    if not w.program[row + L.STATE_EXPANDED]:
        w.cursor[L.CURSOR_DETAIL] = state
        return L.NEED_STATE
    moves = w.program[row + L.STATE_TRANSITIONS_END] - w.program[row + L.STATE_TRANSITIONS]
    if w.cursor[L.CURSOR_LIVE] + moves + 2 > len(w.runs_i):
        return L.NEED_RUNS if len(w.runs_i) < w.limits[0] else L.LIMIT_RUNS
    if w.cursor[L.CURSOR_NODES] + moves + 1 > len(w.nodes):
        return L.NEED_NODES if len(w.nodes) < w.limits[1] else L.LIMIT_NODES
    length = w.nodes[node, 3] + 2 if node >= 0 else 2
    if w.cursor[L.CURSOR_BINDINGS] + (moves + 1) * length > len(w.bindings):
        return L.NEED_OUTPUT
    if w.cursor[L.CURSOR_MATCHES] + moves + 2 >= len(w.offsets):
        return L.NEED_OUTPUT
    if length > len(w.elements):
        return L.NEED_SCRATCH
    if w.cursor[L.CURSOR_STEPS] > w.limits[2]:
        return L.LIMIT_STEPS
    return L.DONE


@jit
def retire(w, r):
    """End a run whose window has passed: greedy reports it now, in its final form."""
    run, floats = w.runs_i[r], w.runs_f[r]
    if w.program[L.HEAD_STRATEGY] == L.GREEDY:
        fill_slots(w, run)
        if is_match(w, run, floats):
            emit(w, run)
    run[L.RUN_STATE] = -1


@jit
def drop_ended(w, before):
    """Fill the places of ended runs with the last ones."""
    live = w.cursor[L.CURSOR_LIVE]
    r = before - 1
    while r >= 0:
        if w.runs_i[r, L.RUN_STATE] < 0:
            live -= 1
            if r != live:
                copy_row(w.runs_i[live], w.runs_i[r])
                copy_row(w.runs_f[live], w.runs_f[r])
        r -= 1
    w.cursor[L.CURSOR_LIVE] = live
    w.cursor[L.CURSOR_PEAK] = max(w.cursor[L.CURSOR_PEAK], live)


@jit
def start_segment(w, segment):
    """Take up the saved runs of a partition and set up the empty run behind all others."""
    w.cursor[L.CURSOR_EVENT] = w.segments[segment, 1]
    w.cursor[L.CURSOR_RUN] = 0
    count = 0
    for k in range(w.segments[segment, 3], w.segments[segment, 4]):
        copy_row(w.loaded_i[k], w.runs_i[count])
        copy_row(w.loaded_f[k], w.runs_f[count])
        count += 1
    w.cursor[L.CURSOR_LIVE] = count
    w.cursor[L.CURSOR_BEFORE] = count
    set_empty_run(w)


@jit
def set_empty_run(w):
    """Write the run that has bound nothing into the last row."""
    empty = len(w.runs_i) - 1
    run, floats = w.runs_i[empty], w.runs_f[empty]
    for k in range(len(run)):
        run[k] = 0
    for k in range(len(floats)):
        floats[k] = 0.0
    w.runs_i[empty, L.RUN_NODE] = -1
    w.runs_i[empty, L.RUN_START] = np.int64(2**63 - 1)
    for v in range(w.program[L.HEAD_VARIABLES]):
        reset_accumulators(w, v, w.runs_i[empty], w.runs_f[empty])


@jit
def pass_through(w, event):
    """Let every live run, then the empty one, read one event; resumable."""
    strategy = w.program[L.HEAD_STRATEGY]
    roles = w.events[L.EVENT_ROLES, event]
    contiguous = strategy == L.PARTITION or strategy == L.STRICT
    if roles == 0 and not contiguous:
        return L.DONE
    before = w.cursor[L.CURSOR_BEFORE]
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
    status = room(w, 0, -1)
    if status != L.DONE:
        return status
    empty = len(w.runs_i) - 1
    w.runs_i[empty, L.RUN_FIRST] = event
    read_event(w, -1, event)
    drop_ended(w, before)
    return L.DONE


@jit
def end_segment(w, flush, now, last):
    """End or save the runs of a partition whose events up to ``last`` have been read; resumable."""
    while w.cursor[L.CURSOR_RUN] < w.cursor[L.CURSOR_LIVE]:
        r = w.cursor[L.CURSOR_RUN]
        run = w.runs_i[r]
        status = room(w, run[L.RUN_STATE], run[L.RUN_NODE])
        if status != L.DONE:
            return status
        if flush or outlived(w, run, last, now):
            retire(w, r)
        else:
            at = w.cursor[L.CURSOR_SAVED]
            if at >= len(w.saved_i):
                return L.NEED_SAVED
            copy_row(run, w.saved_i[at])
            copy_row(w.runs_f[r], w.saved_f[at])
            w.cursor[L.CURSOR_SAVED] = at + 1
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
            waiting = w.segments[segment, 4] - w.segments[segment, 3]
            if waiting + 2 > len(w.runs_i):
                return L.NEED_RUNS
            start_segment(w, segment)
        while w.cursor[L.CURSOR_EVENT] < w.segments[segment, 2]:
            event = w.cursor[L.CURSOR_EVENT]
            status = pass_through(w, event)
            if status != L.DONE:
                return status
            w.cursor[L.CURSOR_EVENT] = event + 1
            w.cursor[L.CURSOR_RUN] = 0
            w.cursor[L.CURSOR_BEFORE] = w.cursor[L.CURSOR_LIVE]
        status = end_segment(w, flush, now, w.segments[segment, 2] - 1)
        if status != L.DONE:
            return status
        w.cursor[L.CURSOR_SEGMENT] = segment + 1
        w.cursor[L.CURSOR_EVENT] = -1
        w.cursor[L.CURSOR_TRIED] += w.cursor[L.CURSOR_STEPS]
        w.cursor[L.CURSOR_STEPS] = 0
        if flush:
            w.cursor[L.CURSOR_NODES] = w.cursor[L.CURSOR_LOADED]
    return L.DONE


@jit
def run_automaton(world, flush, now):
    """Read the new events of every partition; see :func:`read_segments`.  The entry from Python."""
    return read_segments(enter(world), flush, now)
