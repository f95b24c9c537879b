"""How one run reads one event: order, window, conditions, the new runs and matches that come of it.

A run is a row of positions and running aggregates, so that what later conditions need is at hand
([N] 5.2); its bindings are a chain in the shared buffer ([N] 5.1).  A state is a downward-closed set
of variables: NFAᵇ for sequences ([N] 3), the SES automaton for sets ([S] 4).
"""

from __future__ import annotations

import numpy as np

from fyke.engine.kernels import layout as L
from fyke.engine.kernels.conditions.elements import accumulate, holds_on_elements, reset_accumulators
from fyke.engine.kernels.conditions.order import follows, span_fits
from fyke.engine.kernels.conditions.predicate import evaluate
from fyke.engine.kernels.conditions.work import is_due
from fyke.engine.kernels.jit import jit
from fyke.engine.kernels.rows import copy_row


@jit
def is_contiguous(w):
    """Say whether every event of its partition, or of the input, ends a run that does not take it."""
    return w.program[L.HEAD_STRATEGY] >= L.PARTITION


@jit
def is_greedy(w):
    """Say whether a run is reported once, in its final form."""
    strategy = w.program[L.HEAD_STRATEGY]
    return strategy == L.GREEDY or strategy >= L.GREEDY_PARTITION


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
    strategy = w.program[L.HEAD_STRATEGY]
    if kind == L.WINDOW_EVENTS and strategy != L.STRICT and strategy != L.GREEDY_STRICT:
        first = w.events[L.EVENT_INDEX, run[L.RUN_FIRST]]
        return w.events[L.EVENT_INDEX, last] - first >= window - 1
    return False  # under strict contiguity the rows of a segment are not of one partition


@jit
def age_of(w, run):
    """Return what tells a run's age: the start of its window, as a time or an event's number."""
    kind = w.program[L.HEAD_WINDOW_KIND]
    if kind == L.WINDOW_TIME:
        return run[L.RUN_START]
    if kind == L.WINDOW_EVENTS:
        return w.events[L.EVENT_INDEX, run[L.RUN_FIRST]]
    return np.int64(0)


@jit
def age_fits(w, age, event):
    """Say whether bindings of that age fit into one window with ``event``."""
    kind = w.program[L.HEAD_WINDOW_KIND]
    if kind == L.WINDOW_TIME:
        return span_fits(w, age, w.events[L.EVENT_END, event])
    return kind == L.WINDOW_NONE or w.events[L.EVENT_INDEX, event] - age < w.program[L.HEAD_WINDOW]


@jit
def oldest_fitting(w, event):
    """Return the least age that fits into one window with ``event``."""
    kind, window = w.program[L.HEAD_WINDOW_KIND], w.program[L.HEAD_WINDOW]
    lowest = np.int64(-(2**63))
    if kind == L.WINDOW_NONE:
        return lowest
    if kind == L.WINDOW_EVENTS:
        return w.events[L.EVENT_INDEX, event] - window + 1
    end = w.events[L.EVENT_END, event]
    return end - window if end >= lowest + window else lowest


@jit
def add_node(w, event, variable, previous, age):
    """Add a binding to the buffer; return its number."""
    node = w.cursor[L.CURSOR_NODES]
    w.nodes[node, L.NODE_EVENT] = event
    w.nodes[node, L.NODE_VARIABLE] = variable
    w.nodes[node, L.NODE_PREVIOUS] = previous
    w.nodes[node, L.NODE_DEPTH] = w.nodes[previous, L.NODE_DEPTH] + 1 if previous >= 0 else 0
    w.nodes[node, L.NODE_AGE] = age
    w.nodes[node, L.NODE_UNIONS] = w.nodes[previous, L.NODE_UNIONS] if previous >= 0 else 0
    w.cursor[L.CURSOR_NODES] = node + 1
    return node


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
    """Lay out the elements of each variable of a run, with ``event`` added to ``variable`` unless -1.

    Any one of several merged runs will do: they agree in all that is still asked for.
    """
    variables = w.program[L.HEAD_VARIABLES]
    for v in range(variables + 1):
        w.bounds[v] = 0
    at = node
    while at >= 0:
        if w.nodes[at, L.NODE_EVENT] != L.UNION:
            w.bounds[w.nodes[at, L.NODE_VARIABLE] + 1] += 1
        at = w.nodes[at, L.NODE_PREVIOUS]
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
        if w.nodes[at, L.NODE_EVENT] != L.UNION:
            v = w.nodes[at, L.NODE_VARIABLE]
            w.fill[v] -= 1
            w.elements[w.fill[v]] = w.nodes[at, L.NODE_EVENT]
        at = w.nodes[at, L.NODE_PREVIOUS]


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
def every_holds(w, condition, node, variable, event):
    """Decide a condition over all elements of a run."""
    gather(w, node, variable, event)
    if node >= 0:
        w.work[L.WORK_DONE] += w.nodes[node, L.NODE_DEPTH] + w.nodes[node, L.NODE_UNIONS]
    return holds_on_elements(w, condition, w.program[L.HEAD_VARIABLES])


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
        return follows(w, last, event)
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
    """Note that a run is a match; :func:`write_matches` reads it from the buffer later."""
    w.heads[w.cursor[L.CURSOR_HEADS]] = run[L.RUN_NODE]
    w.cursor[L.CURSOR_HEADS] += 1
    w.cursor[L.CURSOR_NOTED] = 1


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
        add_node(w, event, v, node, age_of(w, new))
        w.work[L.WORK_DONE] += 2 + (len(new) >> 4)
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
    wait = open_ended and is_greedy(w)
    if not wait and is_match(w, new, new_floats):
        emit(w, new)
    if open_ended:
        w.cursor[L.CURSOR_LIVE] += 1


@jit
def read_event(w, r, event):
    """Let run ``r`` (-1: the empty run) read an event; return whether the run goes on without it.

    Under greedy contiguity an event that a run cannot take ends it, and it is reported.
    """
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
            if not roles & w.program[move + L.MOVE_ROLE]:
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
    if r >= 0 and not any_satisfied:
        retire(w, r)
    return False


@jit
def room(w, state, node):
    """Return DONE, and count the work, if one more run can read an event, else what is missing."""
    row = w.program[L.HEAD_STATE_TABLE] + state * L.STATE_SIZE
    if not w.program[row + L.STATE_EXPANDED]:
        w.cursor[L.CURSOR_DETAIL] = state
        return L.NEED_STATE
    moves = w.program[row + L.STATE_TRANSITIONS_END] - w.program[row + L.STATE_TRANSITIONS]
    if w.cursor[L.CURSOR_LIVE] + moves + 2 > len(w.runs_i):
        return L.NEED_RUNS
    if w.cursor[L.CURSOR_PEAK] > w.limits[L.ALLOWED_RUNS]:
        return L.LIMIT_RUNS
    # A node for each binding, and one for each new run that is merged into another.
    fresh = w.cursor[L.CURSOR_LIVE] - w.cursor[L.CURSOR_BEFORE] + moves + 1
    if w.cursor[L.CURSOR_NODES] + moves + 1 + fresh > len(w.nodes):
        return L.NEED_NODES
    if w.cursor[L.CURSOR_HEADS] + moves + 1 > len(w.heads):
        return L.NEED_OUTPUT
    length = w.nodes[node, L.NODE_DEPTH] + 2 if node >= 0 else 2
    if length > len(w.elements):
        return L.NEED_SCRATCH
    if is_due(w):
        return L.PAUSE
    w.work[L.WORK_DONE] += moves + 1
    return L.DONE


@jit
def retire(w, r):
    """End a run that takes no more events: greedy reports it now, in its final form."""
    run, floats = w.runs_i[r], w.runs_f[r]
    if is_greedy(w):
        fill_slots(w, run)
        if is_match(w, run, floats):
            emit(w, run)
    run[L.RUN_STATE] = -1


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
