"""Absences: can events be added to a match so that what must be absent is there? (SEMANTICS 2)

A depth-first search over the rows of the partition that lie in the window, variable by variable.
For the usual absence of one event that is a scan between two positions.  A condition is checked as
soon as adding more cannot mend it: over whole groups when the group is closed, otherwise at once.
"""

from __future__ import annotations

from fyke.engine.kernels import layout as L
from fyke.engine.kernels.conditions.arena import ConditionArena
from fyke.engine.kernels.conditions.elements import describe, holds_for_every
from fyke.engine.kernels.conditions.order import follows, span_fits
from fyke.engine.kernels.conditions.work import begin_work, is_due, is_spent
from fyke.engine.kernels.jit import entry, jit
from fyke.engine.kernels.selection.arena import AbsenceArena

# A frame of the search, and its phases.
ABSENCE, VARIABLE, COUNT, PHASE, NEXT, FRAME_SIZE = 0, 1, 2, 3, 4, 5
ENTER, FURTHER, ADDED, CHILDREN, CHILD = 0, 1, 2, 3, 4

CURSOR_MATCH, CURSOR_ABSENCE = 0, 1  # the match to go on with, and which of its absences
CURSOR_NEEDED, CURSOR_SIZE = 2, 3  # how large a stack it needs
DEPTH, BOUND, ANSWER, PLACE_SIZE = 0, 1, 2, 3  # where a search stands: its frames, bound events, last answer


@jit
def may_add(w: ConditionArena, v, position, bound, n_bound):
    """Check an event against the order, the group rule and the events already bound."""
    if (
        not w.events[L.EVENT_ROLES, position]
        & w.program[w.program[L.HEAD_VARIABLE_TABLE] + v * L.VAR_SIZE + L.VAR_ROLE]
    ):
        return False
    row = w.program[L.HEAD_VARIABLE_TABLE] + v * L.VAR_SIZE
    before, after = w.program[row + L.VAR_BEFORE], w.program[row + L.VAR_AFTER]
    low, high = w.events[L.EVENT_LOW, position], w.events[L.EVENT_HIGH, position]
    last = -1
    for k in range(n_bound):
        other, u = bound[k, 0], bound[k, 1]
        if other == position:
            return False
        if (before >> u) & 1 and w.events[L.EVENT_HIGH, other] >= low:
            return False
        if (after >> u) & 1 and high >= w.events[L.EVENT_LOW, other]:
            return False
        if u == v:
            last = other
    return last < 0 or follows(w, last, position)


@jit
def window_holds(w: ConditionArena, bound, n_bound):
    """Check the window over all bound and added events."""
    kind = w.program[L.HEAD_WINDOW_KIND]
    if kind == L.WINDOW_NONE:
        return True
    row, row_end = (L.EVENT_START, L.EVENT_END) if kind == L.WINDOW_TIME else (L.EVENT_INDEX, L.EVENT_INDEX)
    first, last = w.events[row, bound[0, 0]], w.events[row_end, bound[0, 0]]
    for k in range(1, n_bound):
        first = min(first, w.events[row, bound[k, 0]])
        last = max(last, w.events[row_end, bound[k, 0]])
    if kind == L.WINDOW_TIME:
        return span_fits(w, first, last)
    return last - first < w.program[L.HEAD_WINDOW]


@jit
def conditions_hold(w: ConditionArena, absence, stage, bound, n_bound):
    """Decide those conditions of an absence that fall due at a stage, on bound and added events."""
    row = w.program[L.HEAD_ABSENCE_TABLE] + absence * L.ABSENCE_SIZE
    first, last = w.program[row + L.ABSENCE_CHECKS], w.program[row + L.ABSENCE_CHECKS_END]
    while (
        first < last
        and w.program[w.program[L.HEAD_CHECK_TABLE] + first * L.CHECK_SIZE + L.CHECK_STAGE] != stage
    ):
        first += 1
    if first == last:
        return True
    lay_out(w, bound, n_bound)
    for k in range(first, last):
        check = w.program[L.HEAD_CHECK_TABLE] + k * L.CHECK_SIZE
        due = w.program[check + L.CHECK_STAGE] == stage
        if due and not holds_for_every(w, w.program[check + L.CHECK_CONDITION]):
            return False
    return True


@jit
def lay_out(w: ConditionArena, bound, n_bound):
    """Sort bound and added events by variable, and describe them for the conditions."""
    variables = w.program[L.HEAD_ALL_VARIABLES]
    w.work[L.WORK_DONE] += n_bound
    for v in range(variables + 1):
        w.bounds[v] = 0
    for k in range(n_bound):
        w.bounds[bound[k, 1] + 1] += 1
    for v in range(variables):
        w.bounds[v + 1] += w.bounds[v]
        w.fill[v] = w.bounds[v]
    for k in range(n_bound):
        v = bound[k, 1]
        w.elements[w.fill[v]] = bound[k, 0]
        w.fill[v] += 1
    describe(w, variables)


@jit
def next_candidate(w: ConditionArena, v, position, stop, bound, n_bound, looked):
    """Return the first row from ``position`` on that can be added for ``v``, or ``stop``."""
    segment = w.events[L.EVENT_SEGMENT, bound[0, 0]]
    while position < stop:
        looked[0] += 1
        w.work[L.WORK_DONE] += 1 + (n_bound >> 3)
        if w.events[L.EVENT_SEGMENT, position] == segment and may_add(w, v, position, bound, n_bound):
            bound[n_bound, 0] = position
            bound[n_bound, 1] = v
            if window_holds(w, bound, n_bound + 1):
                return position
        position += 1
    return stop


@jit
def next_child(w: ConditionArena, absence, child):
    """Return the number of the next absence nested in ``absence`` after ``child``, or -1."""
    for other in range(child + 1, w.program[L.HEAD_ABSENCES]):
        if w.program[w.program[L.HEAD_ABSENCE_TABLE] + other * L.ABSENCE_SIZE + L.ABSENCE_PARENT] == absence:
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
def can_add(w: ConditionArena, outermost, rows, whole, bound, n_bound, frames, looked, place, pauses):
    """Say whether events can be added to ``bound`` for an absence so that all its rules hold.

    Candidates lie in the stretch ``rows``, those of nested absences in ``whole``.  The search keeps its
    own stack (Numba's cache cannot hold recursive functions): a frame decides one element, and
    ``answer`` is what the frame above has come to.  The search ends without an answer when its partition
    has cost all it may, and with ``pauses`` when the host wants to be asked: then ``place`` is not at its
    begin, and the same call goes on.
    """
    first_variable = w.program[
        w.program[L.HEAD_ABSENCE_TABLE] + outermost * L.ABSENCE_SIZE + L.ABSENCE_VARIABLES
    ]
    answer = False
    if place[DEPTH] > 0:
        depth, n_bound, answer = place[DEPTH], place[BOUND], place[ANSWER] != 0
    else:
        depth = push(frames, 0, outermost, first_variable, 0)
    place[DEPTH] = 0
    while depth > 0 and not is_spent(w):
        if pauses and is_due(w):
            place[DEPTH], place[BOUND], place[ANSWER] = depth, n_bound, 1 if answer else 0
            return False
        frame = frames[depth - 1]
        absence, v, count, phase = frame[ABSENCE], frame[VARIABLE], frame[COUNT], frame[PHASE]
        row = w.program[L.HEAD_ABSENCE_TABLE] + absence * L.ABSENCE_SIZE
        variable = w.program[L.HEAD_VARIABLE_TABLE] + v * L.VAR_SIZE
        stretch = rows if w.program[row + L.ABSENCE_PARENT] < 0 else whole
        if phase == ENTER and v == w.program[row + L.ABSENCE_VARIABLES_END]:
            frame[PHASE], frame[NEXT] = CHILDREN, -1
        elif phase == ENTER:
            if count > 0 and not conditions_hold(w, absence, 2 * v, bound, n_bound):
                answer = False
                depth -= 1
                continue
            frame[NEXT] = max(stretch[0], bound[n_bound - 1, 0] + 1) if count > 0 else stretch[0]
            frame[PHASE] = FURTHER
            answer = False
            if count >= w.program[variable + L.VAR_MINIMUM] and conditions_hold(
                w, absence, 2 * v + 1, bound, n_bound
            ):
                depth = push(frames, depth, absence, v + 1, 0)
        elif phase in (CHILDREN, CHILD):
            if phase == CHILD and answer:  # what the nested absence forbids is there
                answer = False
                depth -= 1
                continue
            child = next_child(w, absence, frame[NEXT])
            answer = True
            if child < 0:
                depth -= 1
            else:
                frame[NEXT], frame[PHASE] = child, CHILD
                inner = w.program[L.HEAD_ABSENCE_TABLE] + child * L.ABSENCE_SIZE
                depth = push(frames, depth, child, w.program[inner + L.ABSENCE_VARIABLES], 0)
        else:  # FURTHER or ADDED: try the next element of v
            if phase == ADDED:
                n_bound -= 1
            if answer or count >= w.program[variable + L.VAR_MAXIMUM]:
                depth -= 1
                continue
            position = next_candidate(w, v, frame[NEXT], stretch[1], bound, n_bound, looked)
            if position >= stretch[1]:
                answer = False
                depth -= 1
            else:
                frame[NEXT], frame[PHASE] = position + 1, ADDED
                n_bound += 1
                depth = push(frames, depth, absence, v, count + 1)
    return answer


@jit
def reach(w: AbsenceArena, begin, end, first, stop):
    """Return the rows that an event added to a match can lie in, by the window: positions sorted by end."""
    if w.program[L.HEAD_WINDOW_KIND] != L.WINDOW_TIME:
        return first, stop
    earliest = w.events[L.EVENT_START, w.positions[begin]]
    latest = w.events[L.EVENT_END, w.positions[begin]]
    for k in range(begin, end):
        earliest = min(earliest, w.events[L.EVENT_START, w.positions[k]])
        latest = max(latest, w.events[L.EVENT_END, w.positions[k]])
    ends = w.events[L.EVENT_END]
    low, high = first, w.positions[begin]
    while low < high:  # the first row that is not too old
        middle = (low + high) // 2
        if ends[middle] < latest and not span_fits(w, ends[middle], latest):
            low = middle + 1
        else:
            high = middle
    lower = low
    low, high = w.positions[end - 1] + 1, stop
    while low < high:  # behind the last row that is not too young
        middle = (low + high) // 2
        if span_fits(w, earliest, ends[middle]):
            low = middle + 1
        else:
            high = middle
    return lower, low


@jit
def between(w: ConditionArena, absence, bound, n_bound, first, stop):
    """Narrow the rows to those the order leaves for every variable of an absence."""
    row = w.program[L.HEAD_ABSENCE_TABLE] + absence * L.ABSENCE_SIZE
    lower, upper = stop, first
    for v in range(w.program[row + L.ABSENCE_VARIABLES], w.program[row + L.ABSENCE_VARIABLES_END]):
        variable = w.program[L.HEAD_VARIABLE_TABLE] + v * L.VAR_SIZE
        before, after = w.program[variable + L.VAR_BEFORE], w.program[variable + L.VAR_AFTER]
        low, high = first, stop
        for k in range(n_bound):
            if (before >> bound[k, 1]) & 1:
                low = max(low, bound[k, 0] + 1)
            if (after >> bound[k, 1]) & 1:
                high = min(high, bound[k, 0])
        lower, upper = min(lower, low), max(upper, high)
    return lower, upper


@jit
def has_room(w: AbsenceArena, needed):
    """Say whether the stack is large enough for a match; otherwise note what is needed."""
    w.cursor[CURSOR_NEEDED] = needed
    return needed <= len(w.bound) and needed <= len(w.frames) and needed <= len(w.elements)


@jit
def search_absences(w: AbsenceArena):
    """Set ``keep`` to 0 for every match that one of the outermost ``absences`` forbids.

    Go on where the cursor says.  Return DONE, NEED_SCRATCH or PAUSE.
    """
    while w.cursor[CURSOR_MATCH] < len(w.offsets) - 1:
        m = w.cursor[CURSOR_MATCH]
        begin, end = w.offsets[m], w.offsets[m + 1]
        segment, k = w.segment_of[m], w.cursor[CURSOR_ABSENCE]
        fresh = k == 0 and w.place[DEPTH] == 0
        if fresh and (m == 0 or segment != w.segment_of[m - 1]):
            begin_work(w)
        if is_due(w) or is_spent(w):
            return L.PAUSE
        partition = w.segments[segment]
        first, stop = reach(w, begin, end, partition[L.SEGMENT_BEGIN], partition[L.SEGMENT_END])
        if not has_room(w, end - begin + stop - first + 2 * w.program[L.HEAD_ALL_VARIABLES] + 4):
            return L.NEED_SCRATCH
        if fresh:
            w.work[L.WORK_DONE] += 1
            for j in range(begin, end):
                w.bound[j - begin, 0] = w.positions[j]
                w.bound[j - begin, 1] = w.variables[j]
        while k < len(w.absences) and w.keep[m]:
            absence = w.absences[k]
            rows, whole = between(w, absence, w.bound, end - begin, first, stop), (first, stop)
            present = can_add(
                w, absence, rows, whole, w.bound, end - begin, w.frames, w.looked, w.place, True
            )
            if w.place[DEPTH] > 0 or is_spent(w):
                w.cursor[CURSOR_ABSENCE] = k
                return L.PAUSE
            if present:
                w.keep[m] = 0
            k += 1
        w.cursor[CURSOR_ABSENCE] = 0
        w.cursor[CURSOR_MATCH] = m + 1
    return L.DONE


@entry
def filter_absences(arena: AbsenceArena):
    """Drop the matches that an absence forbids; see :func:`search_absences`."""
    return search_absences(arena)
