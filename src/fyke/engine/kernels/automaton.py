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
from fyke.engine.kernels.arrays import borrow_data, borrow_matches, borrow_runs, borrow_scratch
from fyke.engine.kernels.elements import accumulate, describe, holds_for_every, reset_accumulators
from fyke.engine.kernels.jit import borrow, jit
from fyke.engine.kernels.predicate import evaluate


@jit
def span_fits(program, start, end):
    """Say whether a stretch of time lies in the window; no difference of int64 can overflow it."""
    return np.uint64(end) - np.uint64(start) <= np.uint64(program[L.HEAD_WINDOW])


@jit
def out_of_time(program, start, now):
    """Say whether a run that began at ``start`` has left a window of time."""
    return program[L.HEAD_WINDOW_KIND] == L.WINDOW_TIME and not span_fits(program, start, now)


@jit
def expired(program, run, event, data):
    """Say whether no event from ``event`` on can still be bound by a run ([N] compile step 5)."""
    kind = program[L.HEAD_WINDOW_KIND]
    if kind == L.WINDOW_TIME:
        return not span_fits(program, run[L.RUN_START], data.events[L.EVENT_END, event])
    if kind == L.WINDOW_EVENTS:
        first = data.events[L.EVENT_INDEX, run[L.RUN_FIRST]]
        return data.events[L.EVENT_INDEX, event] - first >= program[L.HEAD_WINDOW]
    return False


@jit
def fill_slots(program, run, scratch):
    """Set the slots and lengths of all variables from a run."""
    for v in range(program[L.HEAD_VARIABLES]):
        at = L.RUN_VARIABLES + v * L.RUN_VARIABLE_SIZE
        scratch.lengths[v] = run[at + L.RUN_COUNT]
        scratch.slots[4 * v + L.SLOT_CURRENT] = run[at + L.RUN_LAST_OF]
        scratch.slots[4 * v + L.SLOT_FIRST] = run[at + L.RUN_FIRST_OF]
        scratch.slots[4 * v + L.SLOT_LAST] = run[at + L.RUN_LAST_OF]


@jit
def gather(program, nodes, node, variable, event, elements, bounds):
    """Lay out the elements of each variable of a run, with ``event`` added to ``variable`` unless -1."""
    variables = program[L.HEAD_VARIABLES]
    bounds[: variables + 1] = 0
    at = node
    while at >= 0:
        bounds[nodes[at, 1] + 1] += 1
        at = nodes[at, 2]
    if variable >= 0:
        bounds[variable + 1] += 1
    for v in range(variables):
        bounds[v + 1] += bounds[v]
    fill = bounds[1 : variables + 1].copy()
    if variable >= 0:
        fill[variable] -= 1
        elements[fill[variable]] = event
    at = node
    while at >= 0:
        v = nodes[at, 1]
        fill[v] -= 1
        elements[fill[v]] = nodes[at, 0]
        at = nodes[at, 2]


@jit
def checks_hold(
    program, constants, first, last, run, floats, node, variable, event, nodes, data, scratch, cursor
):
    """Decide a stretch of the check table for a run that binds ``event`` to ``variable``."""
    for k in range(first, last):
        row = program[L.HEAD_CHECK_TABLE] + k * L.CHECK_SIZE
        condition = program[row + L.CHECK_CONDITION]
        cursor[L.CURSOR_EVALUATIONS] += 1
        if program[row + L.CHECK_EVERY] == 0:
            if evaluate(program, constants, condition, run, floats, run, floats, data, scratch) != L.TRUE:
                return False
        elif not every_holds(
            program, constants, condition, run, floats, node, variable, event, nodes, data, scratch
        ):
            return False
    return True


@jit
def every_holds(program, constants, condition, run, floats, node, variable, event, nodes, data, scratch):
    """Decide a condition over all elements of a run; slots and lengths are left as they were."""
    depth = nodes[node, 3] + 2 if node >= 0 else 2
    variables = program[L.HEAD_VARIABLES]
    elements = np.empty(depth, np.int64)
    bounds = np.empty(variables + 1, np.int64)
    slots, lengths = scratch.slots.copy(), scratch.lengths.copy()
    gather(program, nodes, node, variable, event, elements, bounds)
    after_i, after_f = run.copy(), floats.copy()
    describe(program, variables, elements, bounds, after_i, after_f, data, scratch)
    result = holds_for_every(program, constants, condition, elements, bounds, after_i, after_f, data, scratch)
    scratch.slots[:] = slots
    scratch.lengths[:] = lengths
    return result


@jit
def in_order(program, run, move, event, data):
    """Check the partial order, the group rule and the minimum of the groups a start closes."""
    v = program[move + L.MOVE_VARIABLE]
    low = data.events[L.EVENT_LOW, event]
    before = program[program[L.HEAD_VARIABLE_TABLE] + v * L.VAR_SIZE + L.VAR_BEFORE]
    u = 0
    while before != 0:
        if before & 1:
            at = L.RUN_VARIABLES + u * L.RUN_VARIABLE_SIZE
            if data.events[L.EVENT_HIGH, run[at + L.RUN_BARRIER]] >= low:
                return False
            row = program[L.HEAD_VARIABLE_TABLE] + u * L.VAR_SIZE
            if run[at + L.RUN_COUNT] < program[row + L.VAR_MINIMUM]:
                return False
        before >>= 1
        u += 1
    if program[move + L.MOVE_EXTENDS]:
        last = run[L.RUN_VARIABLES + v * L.RUN_VARIABLE_SIZE + L.RUN_LAST_OF]
        if data.events[L.EVENT_HIGH, last] < low:
            return True
        start, end = data.events[L.EVENT_START, event], data.events[L.EVENT_END, event]
        return (
            start == end and data.events[L.EVENT_START, last] == end and data.events[L.EVENT_END, last] == end
        )
    return True


@jit
def in_window(program, run, event, data):
    """Check the window, and under strict contiguity the partition, of a run extended by ``event``."""
    kind = program[L.HEAD_WINDOW_KIND]
    if kind == L.WINDOW_TIME:
        start = min(run[L.RUN_START], data.events[L.EVENT_START, event])
        if not span_fits(program, start, data.events[L.EVENT_END, event]):
            return False
    elif kind == L.WINDOW_EVENTS and expired(program, run, event, data):
        return False
    return data.events[L.EVENT_SEGMENT, event] == data.events[L.EVENT_SEGMENT, run[L.RUN_FIRST]]


@jit
def copy_row(source, target):
    """Copy a row that does not overlap its target; a slice assignment would first make sure of that."""
    for k in range(len(source)):
        target[k] = source[k]


@jit
def extend(program, run, floats, new, new_floats, move, target, event, node, data):
    """Write the run that binds ``event`` by ``move`` into ``new``; ``node`` is its place in the buffer."""
    copy_row(run, new)
    copy_row(floats, new_floats)
    v = program[move + L.MOVE_VARIABLE]
    at = L.RUN_VARIABLES + v * L.RUN_VARIABLE_SIZE
    new[L.RUN_STATE] = target
    new[L.RUN_NODE] = node
    new[L.RUN_START] = min(new[L.RUN_START], data.events[L.EVENT_START, event])
    if new[at + L.RUN_COUNT] == 0:
        new[at + L.RUN_FIRST_OF] = event
        new[at + L.RUN_BARRIER] = event
    elif data.events[L.EVENT_HIGH, event] > data.events[L.EVENT_HIGH, new[at + L.RUN_BARRIER]]:
        new[at + L.RUN_BARRIER] = event
    new[at + L.RUN_LAST_OF] = event
    new[at + L.RUN_COUNT] += 1
    accumulate(program, v, event, new, new_floats, data)


@jit
def is_match(program, constants, run, floats, nodes, data, scratch, cursor):
    """Say whether a run is a match as it stands; slots and lengths must be those of the run."""
    row = program[L.HEAD_STATE_TABLE] + run[L.RUN_STATE] * L.STATE_SIZE
    if not program[row + L.STATE_COMPLETE]:
        return False
    for v in range(program[L.HEAD_VARIABLES]):
        minimum = program[program[L.HEAD_VARIABLE_TABLE] + v * L.VAR_SIZE + L.VAR_MINIMUM]
        if run[L.RUN_VARIABLES + v * L.RUN_VARIABLE_SIZE + L.RUN_COUNT] < minimum:
            return False
    first, last = program[row + L.STATE_FINAL_CHECKS], program[row + L.STATE_FINAL_CHECKS_END]
    node = run[L.RUN_NODE]
    return checks_hold(
        program, constants, first, last, run, floats, node, -1, -1, nodes, data, scratch, cursor
    )


@jit
def emit(run, nodes, matches, cursor):
    """Write the bindings of a run to the output, first event first."""
    node = run[L.RUN_NODE]
    length = nodes[node, 3] + 1
    begin = cursor[L.CURSOR_BINDINGS]
    at = begin + length
    while node >= 0:
        at -= 1
        matches.bindings[at, 0] = nodes[node, 0]
        matches.bindings[at, 1] = nodes[node, 1]
        node = nodes[node, 2]
    cursor[L.CURSOR_BINDINGS] = begin + length
    cursor[L.CURSOR_MATCHES] += 1
    matches.offsets[cursor[L.CURSOR_MATCHES]] = begin + length


@jit
def try_move(program, constants, run, floats, move, event, runs, matches, data, scratch, cursor):
    """Bind ``event`` by a transition if that is satisfied: append the new run, report it if it matches."""
    if not in_order(program, run, move, event, data) or not in_window(program, run, event, data):
        return False
    v = program[move + L.MOVE_VARIABLE]
    node = run[L.RUN_NODE]
    count = run[L.RUN_VARIABLES + v * L.RUN_VARIABLE_SIZE + L.RUN_COUNT] + 1
    maximum = program[program[L.HEAD_VARIABLE_TABLE] + v * L.VAR_SIZE + L.VAR_MAXIMUM]
    scratch.slots[4 * v + L.SLOT_PREVIOUS] = scratch.slots[4 * v + L.SLOT_LAST]
    scratch.slots[4 * v + L.SLOT_CURRENT] = event
    scratch.slots[4 * v + L.SLOT_LAST] = event
    if count == 1:
        scratch.slots[4 * v + L.SLOT_FIRST] = event
    scratch.lengths[v] = count
    live, added = cursor[L.CURSOR_LIVE], cursor[L.CURSOR_NODES]
    new, new_floats = runs.integers[live], runs.floats[live]
    target = program[move + L.MOVE_TARGET]
    full = count == maximum and program[move + L.MOVE_FULL_TARGET] >= 0
    first, last = program[move + L.MOVE_CHECKS], program[move + L.MOVE_CHECKS_END]
    satisfied = first == last or checks_hold(
        program, constants, first, last, run, floats, node, v, event, runs.nodes, data, scratch, cursor
    )
    if satisfied:
        if full:
            target = program[move + L.MOVE_FULL_TARGET]
        extend(program, run, floats, new, new_floats, move, target, event, added, data)
        if full:
            first, last = program[move + L.MOVE_FULL_CHECKS], program[move + L.MOVE_FULL_CHECKS_END]
            satisfied = checks_hold(
                program,
                constants,
                first,
                last,
                new,
                new_floats,
                node,
                v,
                event,
                runs.nodes,
                data,
                scratch,
                cursor,
            )
    if satisfied:
        runs.nodes[added, 0] = event
        runs.nodes[added, 1] = v
        runs.nodes[added, 2] = node
        runs.nodes[added, 3] = runs.nodes[node, 3] + 1 if node >= 0 else 0
        cursor[L.CURSOR_NODES] = added + 1
        cursor[L.CURSOR_CREATED] += 1
        finish_move(program, constants, new, new_floats, runs, matches, data, scratch, cursor)
    at = L.RUN_VARIABLES + v * L.RUN_VARIABLE_SIZE
    scratch.lengths[v] = run[at + L.RUN_COUNT]
    scratch.slots[4 * v + L.SLOT_CURRENT] = run[at + L.RUN_LAST_OF]
    scratch.slots[4 * v + L.SLOT_FIRST] = run[at + L.RUN_FIRST_OF]
    scratch.slots[4 * v + L.SLOT_LAST] = run[at + L.RUN_LAST_OF]
    return satisfied


@jit
def finish_move(program, constants, new, new_floats, runs, matches, data, scratch, cursor):
    """Keep a new run while it can go on; report it, under greedy only once it cannot."""
    row = program[L.HEAD_STATE_TABLE] + new[L.RUN_STATE] * L.STATE_SIZE
    open_ended = program[row + L.STATE_OPEN] or not program[row + L.STATE_COMPLETE]
    wait = program[L.HEAD_STRATEGY] == L.GREEDY and open_ended
    if not wait and is_match(program, constants, new, new_floats, runs.nodes, data, scratch, cursor):
        emit(new, runs.nodes, matches, cursor)
    if open_ended:
        cursor[L.CURSOR_LIVE] += 1


@jit
def read_event(program, constants, r, event, runs, matches, data, scratch, cursor):
    """Let run ``r`` (-1: the empty run) read an event; return whether the run goes on without it."""
    strategy = program[L.HEAD_STRATEGY]
    if r >= 0:
        run, floats = runs.integers[r], runs.floats[r]
    else:
        run, floats = runs.integers[runs.integers.shape[0] - 1], runs.floats[runs.floats.shape[0] - 1]
    row = program[L.HEAD_STATE_TABLE] + run[L.RUN_STATE] * L.STATE_SIZE
    roles = data.events[L.EVENT_ROLES, event]
    any_satisfied, obliged = False, False
    if roles & program[row + L.STATE_ROLES]:
        fill_slots(program, run, scratch)
        for t in range(program[row + L.STATE_TRANSITIONS], program[row + L.STATE_TRANSITIONS_END]):
            move = program[L.HEAD_TRANSITION_TABLE] + t * L.MOVE_SIZE
            v = program[move + L.MOVE_VARIABLE]
            if not roles & program[program[L.HEAD_VARIABLE_TABLE] + v * L.VAR_SIZE + L.VAR_ROLE]:
                continue
            cursor[L.CURSOR_STEPS] += 1
            if try_move(program, constants, run, floats, move, event, runs, matches, data, scratch, cursor):
                any_satisfied = True
                if program[move + L.MOVE_EXTENDS] or program[move + L.MOVE_CLOSES] == 0:
                    obliged = True
    if strategy == L.ANY:
        return True
    if strategy == L.NEXT:
        return not obliged
    if strategy == L.GREEDY:
        return not any_satisfied
    return False


@jit
def room(program, state, node, runs, matches, cursor, limits):
    """Return DONE if one more run can read an event, else what is missing."""
    row = program[L.HEAD_STATE_TABLE] + state * L.STATE_SIZE
    if not program[row + L.STATE_EXPANDED]:
        cursor[L.CURSOR_DETAIL] = state
        return L.NEED_STATE
    moves = program[row + L.STATE_TRANSITIONS_END] - program[row + L.STATE_TRANSITIONS]
    if cursor[L.CURSOR_LIVE] + moves + 2 > runs.integers.shape[0]:
        return L.NEED_RUNS if runs.integers.shape[0] < limits[0] else L.LIMIT_RUNS
    if cursor[L.CURSOR_NODES] + moves + 1 > runs.nodes.shape[0]:
        return L.NEED_NODES if runs.nodes.shape[0] < limits[1] else L.LIMIT_NODES
    length = runs.nodes[node, 3] + 2 if node >= 0 else 2
    if cursor[L.CURSOR_BINDINGS] + (moves + 1) * length > matches.bindings.shape[0]:
        return L.NEED_OUTPUT
    if cursor[L.CURSOR_MATCHES] + moves + 2 >= matches.offsets.shape[0]:
        return L.NEED_OUTPUT
    if cursor[L.CURSOR_STEPS] > limits[2]:
        return L.LIMIT_STEPS
    return L.DONE


@jit
def retire(program, constants, r, runs, matches, data, scratch, cursor):
    """End a run whose window has passed: greedy reports it now, in its final form."""
    run, floats = runs.integers[r], runs.floats[r]
    if program[L.HEAD_STRATEGY] == L.GREEDY:
        fill_slots(program, run, scratch)
        if is_match(program, constants, run, floats, runs.nodes, data, scratch, cursor):
            emit(run, runs.nodes, matches, cursor)
    run[L.RUN_STATE] = -1


@jit
def drop_ended(runs, before, cursor):
    """Fill the places of ended runs with the last ones."""
    live = cursor[L.CURSOR_LIVE]
    r = before - 1
    while r >= 0:
        if runs.integers[r, L.RUN_STATE] < 0:
            live -= 1
            if r != live:
                copy_row(runs.integers[live], runs.integers[r])
                copy_row(runs.floats[live], runs.floats[r])
        r -= 1
    cursor[L.CURSOR_LIVE] = live
    cursor[L.CURSOR_PEAK] = max(cursor[L.CURSOR_PEAK], live)


@jit
def start_segment(program, segment, segments, loaded, runs, data, cursor):
    """Take up the saved runs of a partition and set up the empty run behind all others."""
    cursor[L.CURSOR_EVENT] = segments[segment, 1]
    cursor[L.CURSOR_RUN] = 0
    count = 0
    for k in range(segments[segment, 3], segments[segment, 4]):
        copy_row(loaded.integers[k], runs.integers[count])
        copy_row(loaded.floats[k], runs.floats[count])
        count += 1
    cursor[L.CURSOR_LIVE] = count
    cursor[L.CURSOR_BEFORE] = count
    set_empty_run(program, runs)


@jit
def set_empty_run(program, runs):
    """Write the run that has bound nothing into the last row."""
    empty = runs.integers.shape[0] - 1
    runs.integers[empty, :] = 0
    runs.floats[empty, :] = 0.0
    runs.integers[empty, L.RUN_NODE] = -1
    runs.integers[empty, L.RUN_START] = np.int64(2**63 - 1)
    for v in range(program[L.HEAD_VARIABLES]):
        reset_accumulators(program, v, runs.integers[empty], runs.floats[empty])


@jit
def pass_through(program, constants, event, runs, matches, data, scratch, cursor, limits):
    """Let every live run, then the empty one, read one event; resumable."""
    strategy = program[L.HEAD_STRATEGY]
    roles = data.events[L.EVENT_ROLES, event]
    contiguous = strategy == L.PARTITION or strategy == L.STRICT
    if roles == 0 and not contiguous:
        return L.DONE
    before = cursor[L.CURSOR_BEFORE]
    integers, states = runs.integers, program[L.HEAD_STATE_TABLE]
    r = cursor[L.CURSOR_RUN]
    while r < before:
        state = integers[r, L.RUN_STATE]
        if not contiguous and not roles & program[states + state * L.STATE_SIZE + L.STATE_ROLES]:
            if out_of_time(program, integers[r, L.RUN_START], data.events[L.EVENT_END, event]):
                status = room(program, state, integers[r, L.RUN_NODE], runs, matches, cursor, limits)
                if status != L.DONE:
                    cursor[L.CURSOR_RUN] = r
                    return status
                retire(program, constants, r, runs, matches, data, scratch, cursor)
            r += 1
            continue
        status = room(program, state, integers[r, L.RUN_NODE], runs, matches, cursor, limits)
        if status != L.DONE:
            cursor[L.CURSOR_RUN] = r
            return status
        if expired(program, integers[r], event, data):
            retire(program, constants, r, runs, matches, data, scratch, cursor)
        elif not read_event(program, constants, r, event, runs, matches, data, scratch, cursor):
            integers[r, L.RUN_STATE] = -1
        r += 1
    cursor[L.CURSOR_RUN] = r
    status = room(program, 0, -1, runs, matches, cursor, limits)
    if status != L.DONE:
        return status
    empty = runs.integers.shape[0] - 1
    runs.integers[empty, L.RUN_FIRST] = event
    read_event(program, constants, -1, event, runs, matches, data, scratch, cursor)
    drop_ended(runs, before, cursor)
    return L.DONE


@jit
def end_segment(program, constants, flush, now, runs, saved, matches, data, scratch, cursor, limits):
    """End or save the runs of a partition whose events have been read; resumable."""
    while cursor[L.CURSOR_RUN] < cursor[L.CURSOR_LIVE]:
        r = cursor[L.CURSOR_RUN]
        run = runs.integers[r]
        status = room(program, run[L.RUN_STATE], run[L.RUN_NODE], runs, matches, cursor, limits)
        if status != L.DONE:
            return status
        past = (
            program[L.HEAD_WINDOW_KIND] == L.WINDOW_TIME
            and now > run[L.RUN_START]
            and not span_fits(program, run[L.RUN_START], now)
        )
        if flush or past:
            retire(program, constants, r, runs, matches, data, scratch, cursor)
        else:
            at = cursor[L.CURSOR_SAVED]
            if at >= saved.integers.shape[0]:
                return L.NEED_SAVED
            copy_row(run, saved.integers[at])
            copy_row(runs.floats[r], saved.floats[at])
            cursor[L.CURSOR_SAVED] = at + 1
        cursor[L.CURSOR_RUN] = r + 1
    return L.DONE


@jit
def read_segments(
    program, constants, segments, flush, now, loaded, runs, saved, matches, data, scratch, cursor, limits
):
    """Read the new events of every partition; go on where ``cursor`` says, return why it stopped.

    ``segments`` has a row per partition: first row of it, first new event, end of new events, and
    the stretch of its saved runs in ``loaded``.  With ``flush`` the input ends here; otherwise runs
    whose window has not passed by ``now`` are saved.
    """
    while cursor[L.CURSOR_SEGMENT] < segments.shape[0]:
        segment = cursor[L.CURSOR_SEGMENT]
        if cursor[L.CURSOR_EVENT] < 0:
            waiting = segments[segment, 4] - segments[segment, 3]
            if waiting + 2 > runs.integers.shape[0]:
                return L.NEED_RUNS
            start_segment(program, segment, segments, loaded, runs, data, cursor)
        while cursor[L.CURSOR_EVENT] < segments[segment, 2]:
            event = cursor[L.CURSOR_EVENT]
            status = pass_through(program, constants, event, runs, matches, data, scratch, cursor, limits)
            if status != L.DONE:
                return status
            cursor[L.CURSOR_EVENT] = event + 1
            cursor[L.CURSOR_RUN] = 0
            cursor[L.CURSOR_BEFORE] = cursor[L.CURSOR_LIVE]
        status = end_segment(
            program, constants, flush, now, runs, saved, matches, data, scratch, cursor, limits
        )
        if status != L.DONE:
            return status
        cursor[L.CURSOR_SEGMENT] = segment + 1
        cursor[L.CURSOR_EVENT] = -1
        cursor[L.CURSOR_STEPS] = 0
        if flush:
            cursor[L.CURSOR_NODES] = cursor[L.CURSOR_LOADED]
    return L.DONE


@jit
def run_automaton(
    program, constants, segments, flush, now, loaded, runs, saved, matches, data, scratch, cursor, limits
):
    """Read the new events of every partition; see :func:`read_segments`.  The entry from Python."""
    return read_segments(
        borrow(program), borrow(constants), borrow(segments), flush, now, borrow_runs(loaded),
        borrow_runs(runs), borrow_runs(saved), borrow_matches(matches), borrow_data(data),
        borrow_scratch(scratch), borrow(cursor), borrow(limits),
    )  # fmt: skip
