"""Absences: can events be added to a match so that what must be absent is there? (SEMANTICS 2)

A depth-first search over the rows of the partition that lie in the window, variable by variable.
For the usual absence of one event that is a scan between two positions.
"""

from __future__ import annotations

import numpy as np

from fyke.engine.kernels import layout as L
from fyke.engine.kernels.automaton import span_fits
from fyke.engine.kernels.elements import describe, holds_for_every
from fyke.engine.kernels.jit import jit

# A frame of the search, and its phases.
ABSENCE, VARIABLE, COUNT, PHASE, NEXT, FRAME_SIZE = 0, 1, 2, 3, 4, 5
ENTER, FURTHER, ADDED, CHILDREN, CHILD = 0, 1, 2, 3, 4


@jit
def may_add(program, v, position, bound, n_bound, data):
    """Check an event against the order, the group rule and the events already bound."""
    if (
        not data.events[L.EVENT_ROLES, position]
        & program[program[L.HEAD_VARIABLE_TABLE] + v * L.VAR_SIZE + L.VAR_ROLE]
    ):
        return False
    row = program[L.HEAD_VARIABLE_TABLE] + v * L.VAR_SIZE
    before, after = program[row + L.VAR_BEFORE], program[row + L.VAR_AFTER]
    low, high = data.events[L.EVENT_LOW, position], data.events[L.EVENT_HIGH, position]
    start, end = data.events[L.EVENT_START, position], data.events[L.EVENT_END, position]
    last = -1
    for k in range(n_bound):
        other, u = bound[k, 0], bound[k, 1]
        if other == position:
            return False
        if (before >> u) & 1 and data.events[L.EVENT_HIGH, other] >= low:
            return False
        if (after >> u) & 1 and high >= data.events[L.EVENT_LOW, other]:
            return False
        if u == v:
            last = other
    if last < 0 or data.events[L.EVENT_HIGH, last] < low:
        return True
    return start == end and data.events[L.EVENT_START, last] == end and data.events[L.EVENT_END, last] == end


@jit
def window_holds(program, bound, n_bound, data):
    """Check the window over all bound and added events."""
    kind = program[L.HEAD_WINDOW_KIND]
    if kind == L.WINDOW_NONE:
        return True
    row, row_end = (L.EVENT_START, L.EVENT_END) if kind == L.WINDOW_TIME else (L.EVENT_INDEX, L.EVENT_INDEX)
    first, last = data.events[row, bound[0, 0]], data.events[row_end, bound[0, 0]]
    for k in range(1, n_bound):
        first = min(first, data.events[row, bound[k, 0]])
        last = max(last, data.events[row_end, bound[k, 0]])
    if kind == L.WINDOW_TIME:
        return span_fits(program, first, last)
    return last - first < program[L.HEAD_WINDOW]


@jit
def conditions_hold(program, constants, absence, bound, n_bound, data, scratch, width_i, width_f):
    """Decide the conditions of an absence on bound and added events."""
    row = program[L.HEAD_ABSENCE_TABLE] + absence * L.ABSENCE_SIZE
    first, last = program[row + L.ABSENCE_CHECKS], program[row + L.ABSENCE_CHECKS_END]
    if first == last:
        return True
    variables = program[L.HEAD_ALL_VARIABLES]
    bounds = np.zeros(variables + 1, np.int64)
    elements = np.empty(n_bound, np.int64)
    for k in range(n_bound):
        bounds[bound[k, 1] + 1] += 1
    for v in range(variables):
        bounds[v + 1] += bounds[v]
    fill = bounds[:variables].copy()
    for k in range(n_bound):
        v = bound[k, 1]
        elements[fill[v]] = bound[k, 0]
        fill[v] += 1
    after_i, after_f = np.zeros(width_i, np.int64), np.zeros(width_f, np.float64)
    describe(program, variables, elements, bounds, after_i, after_f, data, scratch)
    for k in range(first, last):
        condition = program[program[L.HEAD_CHECK_TABLE] + k * L.CHECK_SIZE + L.CHECK_CONDITION]
        if not holds_for_every(
            program, constants, condition, elements, bounds, after_i, after_f, data, scratch
        ):
            return False
    return True


@jit
def next_candidate(program, v, position, stop, bound, n_bound, data):
    """Return the first row from ``position`` on that can be added for ``v``, or ``stop``."""
    segment = data.events[L.EVENT_SEGMENT, bound[0, 0]]
    while position < stop:
        if data.events[L.EVENT_SEGMENT, position] == segment and may_add(
            program, v, position, bound, n_bound, data
        ):
            bound[n_bound, 0] = position
            bound[n_bound, 1] = v
            if window_holds(program, bound, n_bound + 1, data):
                return position
        position += 1
    return stop


@jit
def next_child(program, absence, child):
    """Return the number of the next absence nested in ``absence`` after ``child``, or -1."""
    for other in range(child + 1, program[L.HEAD_ABSENCES]):
        if program[program[L.HEAD_ABSENCE_TABLE] + other * L.ABSENCE_SIZE + L.ABSENCE_PARENT] == absence:
            return other
    return -1


@jit
def push(frames, depth, absence, v, count):
    """Enter a step of the search: put another element of ``v``, or go on behind it."""
    frames[depth, ABSENCE] = absence
    frames[depth, VARIABLE] = v
    frames[depth, COUNT] = count
    frames[depth, PHASE] = ENTER
    return depth + 1


@jit
def can_add(
    program, constants, outermost, rows, whole, bound, n_bound, frames, data, scratch, width_i, width_f
):
    """Say whether events can be added to ``bound`` for an absence so that all its rules hold.

    Candidates lie in the stretch ``rows``, those of nested absences in ``whole``.  The search keeps
    its own stack (Numba's cache cannot hold recursive functions): a frame decides one element, and
    ``answer`` is what the frame above has come to.
    """
    first_variable = program[program[L.HEAD_ABSENCE_TABLE] + outermost * L.ABSENCE_SIZE + L.ABSENCE_VARIABLES]
    depth = push(frames, 0, outermost, first_variable, 0)
    answer = False
    while depth > 0:
        frame = frames[depth - 1]
        absence, v, count, phase = frame[ABSENCE], frame[VARIABLE], frame[COUNT], frame[PHASE]
        row = program[L.HEAD_ABSENCE_TABLE] + absence * L.ABSENCE_SIZE
        variable = program[L.HEAD_VARIABLE_TABLE] + v * L.VAR_SIZE
        stretch = rows if program[row + L.ABSENCE_PARENT] < 0 else whole
        if phase == ENTER and v == program[row + L.ABSENCE_VARIABLES_END]:
            answer = conditions_hold(
                program, constants, absence, bound, n_bound, data, scratch, width_i, width_f
            )
            frame[PHASE], frame[NEXT] = CHILDREN, -1
            if not answer:
                depth -= 1
        elif phase == ENTER:
            frame[NEXT] = max(stretch[0], bound[n_bound - 1, 0] + 1) if count > 0 else stretch[0]
            frame[PHASE] = FURTHER
            if count >= program[variable + L.VAR_MINIMUM]:
                depth = push(frames, depth, absence, v + 1, 0)
            else:
                answer = False
        elif phase in (CHILDREN, CHILD):
            if phase == CHILD and answer:  # what the nested absence forbids is there
                answer = False
                depth -= 1
                continue
            child = next_child(program, absence, frame[NEXT])
            answer = True
            if child < 0:
                depth -= 1
            else:
                frame[NEXT], frame[PHASE] = child, CHILD
                inner = program[L.HEAD_ABSENCE_TABLE] + child * L.ABSENCE_SIZE
                depth = push(frames, depth, child, program[inner + L.ABSENCE_VARIABLES], 0)
        else:  # FURTHER or ADDED: try the next element of v
            if phase == ADDED:
                n_bound -= 1
            if answer or count >= program[variable + L.VAR_MAXIMUM]:
                depth -= 1
                continue
            position = next_candidate(program, v, frame[NEXT], stretch[1], bound, n_bound, data)
            if position >= stretch[1]:
                answer = False
                depth -= 1
            else:
                frame[NEXT], frame[PHASE] = position + 1, ADDED
                n_bound += 1
                depth = push(frames, depth, absence, v, count + 1)
    return answer


@jit
def reach(program, bindings, begin, end, first, stop, data):
    """Return the rows that an event added to a match can lie in, by the window: positions sorted by end."""
    if program[L.HEAD_WINDOW_KIND] != L.WINDOW_TIME:
        return first, stop
    earliest = data.events[L.EVENT_START, bindings[begin, 0]]
    latest = data.events[L.EVENT_END, bindings[begin, 0]]
    for k in range(begin, end):
        earliest = min(earliest, data.events[L.EVENT_START, bindings[k, 0]])
        latest = max(latest, data.events[L.EVENT_END, bindings[k, 0]])
    ends = data.events[L.EVENT_END]
    low, high = first, bindings[begin, 0]
    while low < high:  # the first row that is not too old
        middle = (low + high) // 2
        if ends[middle] < latest and not span_fits(program, ends[middle], latest):
            low = middle + 1
        else:
            high = middle
    lower = low
    low, high = bindings[end - 1, 0] + 1, stop
    while low < high:  # behind the last row that is not too young
        middle = (low + high) // 2
        if span_fits(program, earliest, ends[middle]):
            low = middle + 1
        else:
            high = middle
    return lower, low


@jit
def between(program, absence, bindings, begin, end, first, stop):
    """Narrow the rows to those the order leaves for every variable of an absence."""
    row = program[L.HEAD_ABSENCE_TABLE] + absence * L.ABSENCE_SIZE
    lower, upper = stop, first
    for v in range(program[row + L.ABSENCE_VARIABLES], program[row + L.ABSENCE_VARIABLES_END]):
        variable = program[L.HEAD_VARIABLE_TABLE] + v * L.VAR_SIZE
        before, after = program[variable + L.VAR_BEFORE], program[variable + L.VAR_AFTER]
        low, high = first, stop
        for k in range(begin, end):
            if (before >> bindings[k, 1]) & 1:
                low = max(low, bindings[k, 0] + 1)
            if (after >> bindings[k, 1]) & 1:
                high = min(high, bindings[k, 0])
        lower, upper = min(lower, low), max(upper, high)
    return lower, upper


@jit
def filter_absences(
    program, constants, segments, segment_of, matches, count, keep, data, scratch, width_i, width_f
):
    """Set ``keep`` to 0 for every match that an absence forbids."""
    for m in range(count):
        begin, end = matches.offsets[m], matches.offsets[m + 1]
        segment = segment_of[m]
        first, stop = reach(
            program, matches.bindings, begin, end, segments[segment, 0], segments[segment, 2], data
        )
        bound = np.empty((end - begin + max(1, stop - first) + 1, 2), np.int64)
        frames = np.empty((stop - first + 2 * program[L.HEAD_ALL_VARIABLES] + 4, FRAME_SIZE), np.int64)
        for k in range(begin, end):
            bound[k - begin, 0] = matches.bindings[k, 0]
            bound[k - begin, 1] = matches.bindings[k, 1]
        for absence in range(program[L.HEAD_ABSENCES]):
            row = program[L.HEAD_ABSENCE_TABLE] + absence * L.ABSENCE_SIZE
            if program[row + L.ABSENCE_PARENT] >= 0:
                continue
            rows = between(program, absence, matches.bindings, begin, end, first, stop)
            whole = (first, stop)
            if can_add(
                program,
                constants,
                absence,
                rows,
                whole,
                bound,
                end - begin,
                frames,
                data,
                scratch,
                width_i,
                width_f,
            ):
                keep[m] = 0
                break
