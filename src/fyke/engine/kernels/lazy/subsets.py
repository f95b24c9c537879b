"""Counting the subsets of groups without listing them (polynomial where [L] 4.5 is exponential).

When the single variables are bound, the elements a group may have are known.  If conditions couple at
most neighbours, the lists that end with an element number as many as those that end with one of the
elements it may follow, so all 2ⁿ of them are counted in n² steps, or n where no condition couples them.
Beside the number of lists a *state* carries, for each aggregate over matches, the sum (or the best) of
its values, and how many lists have no value yet.
"""

from __future__ import annotations

import numpy as np

from fyke.engine.kernels import layout as L
from fyke.engine.kernels.conditions.keys import compares
from fyke.engine.kernels.conditions.order import follows, span_fits
from fyke.engine.kernels.conditions.predicate import compare_floats, sum_overflows
from fyke.engine.kernels.conditions.work import is_due, is_spent
from fyke.engine.kernels.jit import jit
from fyke.engine.kernels.lazy import layout as Z
from fyke.engine.kernels.lazy.bind import (
    bind,
    fits_alone,
    keys_fit,
    may_bind,
    open_level,
    place_before,
    release,
    test_holds,
)

POSITIONS, CANDIDATES, FIRSTS, EARLIER, BLOCKS = 0, 1, 2, 3, 4  # rows of ``subset_i``
STATES, BEGIN, ENDED, OLD, LOCAL, TOTAL = 0, 1, 2, 3, 4, 5  # blocks of states


@jit
def ways(w, block):
    """Return the row of a block that holds numbers of lists."""
    return BLOCKS + block * (1 + 2 * w.plan[Z.PLAN_TALLY_COUNT])


@jit
def clear(w, block, at):
    """Empty a state: no list."""
    row, tallies = ways(w, block), w.plan[Z.PLAN_TALLY_COUNT]
    w.subset_i[row, at] = 0
    for k in range(tallies):
        w.subset_i[row + 1 + 2 * k, at] = 0
        w.subset_i[row + 2 + 2 * k, at] = 0
        w.subset_f[block * tallies + k, at] = 0.0


@jit
def wrapped_sum(x, y):
    """Add modulo 2⁶⁴; the float beside it tells whether the result can be trusted."""
    return np.int64(np.uint64(x) + np.uint64(y))


@jit
def wrapped_product(x, y):
    """Multiply modulo 2⁶⁴."""
    return np.int64(np.uint64(x) * np.uint64(y))


@jit
def better(w, tally, i, f, best_i, best_f):
    """Say whether a value beats the best so far of a MIN or MAX over matches."""
    if w.plan[tally + Z.TALLY_TYPED]:
        order = compare_floats(f, best_f)
    else:
        order = -1 if i < best_i else (1 if i > best_i else 0)
    return order < 0 if w.plan[tally + Z.TALLY_FUNCTION] == Z.TALLY_MIN else order > 0


@jit
def merge(w, block, at, source, place):
    """Add the lists of one state to another."""
    tallies = w.plan[Z.PLAN_TALLY_COUNT]
    to, of = ways(w, block), ways(w, source)
    more, have = w.subset_i[of, place], w.subset_i[to, at]
    if more == 0:
        return
    for k in range(tallies):
        tally = w.plan[Z.PLAN_TALLIES] + k * Z.TALLY_SIZE
        empty, value = 1 + 2 * k, 2 + 2 * k
        i, f = w.subset_i[of + value, place], w.subset_f[source * tallies + k, place]
        if w.plan[tally + Z.TALLY_FUNCTION] == Z.TALLY_SUM:
            w.subset_i[to + value, at] = wrapped_sum(w.subset_i[to + value, at], i)
            w.subset_f[block * tallies + k, at] += f
        elif more > w.subset_i[of + empty, place]:
            best_i, best_f = w.subset_i[to + value, at], w.subset_f[block * tallies + k, at]
            if have == w.subset_i[to + empty, at] or better(w, tally, i, f, best_i, best_f):
                w.subset_i[to + value, at] = i
                w.subset_f[block * tallies + k, at] = f
        w.subset_i[to + empty, at] += w.subset_i[of + empty, place]
    if sum_overflows(have, more):
        w.cursor[Z.SEEK_WIDE] = 1
        return
    w.subset_i[to, at] = have + more


@jit
def combined(w, tally, none, i, f, x, y):
    """Return the value of lists that get an element with value ``x`` (``y`` as a float)."""
    source = w.plan[tally + Z.TALLY_SOURCE]
    if none:
        return x, y
    if source == Z.SOURCE_SUM:
        return wrapped_sum(i, x), f + y
    order = compare_floats(y, f) if w.plan[tally + Z.TALLY_TYPED] else (-1 if x < i else (1 if x > i else 0))
    keep = order >= 0 if source == Z.SOURCE_MIN else order <= 0
    return (i, f) if keep else (x, y)


@jit
def add_element(w, block, at, variable, position):
    """Let all lists of a state end with one more element of a group."""
    tallies, row = w.plan[Z.PLAN_TALLY_COUNT], ways(w, block)
    lists = w.subset_i[row, at]
    for k in range(tallies):
        tally = w.plan[Z.PLAN_TALLIES] + k * Z.TALLY_SIZE
        if w.plan[tally + Z.TALLY_VARIABLE] != variable or not w.values_ok[k, position] or lists == 0:
            continue
        x, y = w.values_i[k, position], w.values_f[k, position]
        empty, value = row + 1 + 2 * k, row + 2 + 2 * k
        i, f = w.subset_i[value, at], w.subset_f[block * tallies + k, at]
        if w.plan[tally + Z.TALLY_FUNCTION] == Z.TALLY_SUM:
            i, f = wrapped_sum(i, wrapped_product(x, lists)), f + y * lists
        else:
            none, some = w.subset_i[empty, at], lists > w.subset_i[empty, at]
            alone_i, alone_f = combined(w, tally, True, i, f, x, y)
            if some:
                i, f = combined(w, tally, False, i, f, x, y)
                if none > 0 and better(w, tally, alone_i, alone_f, i, f):
                    i, f = alone_i, alone_f
            else:
                i, f = alone_i, alone_f
        w.subset_i[value, at] = i
        w.subset_f[block * tallies + k, at] = f
        w.subset_i[empty, at] = 0


@jit
def within(w, anchor, position):
    """Say whether an event is in one window with the first event of the match."""
    if anchor < 0:
        return True
    if position < anchor or position >= w.reach[L.REACH_END, anchor]:
        return False
    if w.plan[Z.PLAN_POINTS] or w.program[L.HEAD_WINDOW_KIND] != L.WINDOW_TIME:
        return True
    return span_fits(w, w.events[L.EVENT_START, anchor], w.events[L.EVENT_END, position])


@jit
def tests_of_mode(w, level, row, mode):
    """Decide the conditions of a step that are decided in one way."""
    for k in range(w.plan[row + Z.STEP_CHECKS], w.plan[row + Z.STEP_CHECKS_END]):
        test = w.plan[Z.PLAN_CHECKS] + k * Z.TEST_SIZE
        if w.plan[test + Z.TEST_MODE] == mode and not test_holds(w, level, test, level):
            return False
    return True


@jit
def gather_elements(w, level, step, anchor):
    """List the events that can be elements of a group beside the bound events; return how many."""
    row = w.plan[Z.PLAN_STEPS] + step * Z.STEP_SIZE
    if not open_level(w, level, step, 1):
        return 0
    lv, count = w.levels[level], 0
    at, end = lv[Z.AT], lv[Z.END]
    while at < end:
        candidate = at if lv[Z.PLACES] < 0 else w.entries[at]
        at += 1
        w.cursor[L.CURSOR_EVALUATIONS] += lv[Z.INTERVALS]
        w.cursor[Z.SEEK_MEMORY] += 1
        w.work[L.WORK_DONE] += 1
        if not keys_fit(w, level, candidate):
            continue
        position = w.candidates[w.plan[row + Z.STEP_CANDIDATES] + candidate]
        if not within(w, anchor, position) or not may_bind(w, level, row, position, 1):
            continue
        if level == 0 and not fits_alone(w, position):
            continue
        bind(w, level, row, candidate, position)
        if tests_of_mode(w, level, row, 0):
            w.subset_i[POSITIONS, count] = position
            w.subset_i[CANDIDATES, count] = candidate
            w.subset_i[FIRSTS, count] = 1 if tests_of_mode(w, level, row, Z.MODE_FIRST) else 0
            count += 1
    release(w, level)
    return count


@jit
def may_follow(w, level, row, before, after):
    """Say whether one element of the gathered ones may stand right behind another."""
    first, second = w.subset_i[POSITIONS, before], w.subset_i[POSITIONS, after]
    if not follows(w, first, second):
        return False
    for k in range(w.plan[row + Z.STEP_COMPARISONS], w.plan[row + Z.STEP_COMPARISONS_END]):
        comparison = w.plan[Z.PLAN_COMPARISONS] + k * Z.COMPARISON_SIZE
        if w.plan[comparison + Z.COMPARISON_LAGGED]:
            w.cursor[L.CURSOR_EVALUATIONS] += 1
            new = w.keys[w.plan[comparison + Z.COMPARISON_NEW] + w.subset_i[CANDIDATES, after]]
            old = w.keys[w.plan[comparison + Z.COMPARISON_OLD] + w.subset_i[CANDIDATES, before]]
            if not compares(w.plan[comparison + Z.COMPARISON_OPERATOR], new, old):
                return False
    if w.plan[row + Z.STEP_CHECKS] == w.plan[row + Z.STEP_CHECKS_END]:
        return True
    v = w.plan[row + Z.STEP_VARIABLE]
    w.slots[4 * v + L.SLOT_CURRENT] = second
    w.slots[4 * v + L.SLOT_LAST] = second
    w.slots[4 * v + L.SLOT_PREVIOUS] = first
    return tests_of_mode(w, level, row, Z.MODE_LAGGED)


@jit
def count_lists(w, level, row, count):
    """Fill the states of one group, element by element, from the states that lists may begin with."""
    minimum, maximum = w.plan[row + Z.STEP_MINIMUM], w.plan[row + Z.STEP_MAXIMUM]
    endless = maximum == L.UNBOUNDED
    cap = max(1, minimum) if endless else maximum
    coupled = w.plan[row + Z.STEP_COUPLED] or not w.plan[Z.PLAN_POINTS]
    v = w.plan[row + Z.STEP_VARIABLE]
    width = count + 1  # the last column holds the states of all elements so far together
    for at in range(width * cap):
        clear(w, STATES, at)
    for i in range(count):
        w.work[L.WORK_DONE] += cap * (i + 1) if coupled else cap
        if is_spent(w):
            return
        for j in range(cap):
            at = j * width + i
            if j == 0 and w.subset_i[FIRSTS, i]:
                merge(w, STATES, at, BEGIN, i)
            for previous in range(max(0, j - 1), j + 1):
                if previous == j and not (endless and j == cap - 1):
                    continue
                if not coupled:
                    merge(w, STATES, at, STATES, previous * width + count)
                    continue
                for before in range(i):
                    if w.subset_i[ways(w, STATES), previous * width + before] and may_follow(
                        w, level, row, before, i
                    ):
                        merge(w, STATES, at, STATES, previous * width + before)
            add_element(w, STATES, at, v, w.subset_i[POSITIONS, i])
        clear(w, ENDED, i)
        for j in range(cap):
            if not coupled:
                merge(w, STATES, j * width + count, STATES, j * width + i)
            if j + 1 >= minimum:
                merge(w, ENDED, i, STATES, j * width + i)


@jit
def begin_lists(w, count, earlier, first, anchor):
    """Fill the states that lists begin with: nothing, or the lists of the group before."""
    tallies = w.plan[Z.PLAN_TALLY_COUNT]
    for i in range(count):
        clear(w, BEGIN, i)
        position = w.subset_i[POSITIONS, i]
        if first:
            if anchor < 0 or position == anchor:
                w.subset_i[ways(w, BEGIN), i] = 1
                for k in range(tallies):
                    w.subset_i[ways(w, BEGIN) + 1 + 2 * k, i] = 1
            continue
        if w.plan[Z.PLAN_POINTS]:
            if i > 0:
                merge(w, BEGIN, i, BEGIN, i - 1)
            known = w.cursor[Z.SEEK_JOINED] if i > 0 else 0
            while known < earlier and w.subset_i[EARLIER, known] < place_before(w, position):
                merge(w, BEGIN, i, OLD, known)
                known += 1
            w.cursor[Z.SEEK_JOINED] = known
            continue
        w.work[L.WORK_DONE] += earlier
        for e in range(earlier):
            if w.events[L.EVENT_HIGH, w.subset_i[EARLIER, e]] < w.events[L.EVENT_LOW, position]:
                merge(w, BEGIN, i, OLD, e)


@jit
def follow(w, level, head, anchor):
    """Count the lists of all groups of an alternative, one behind the other, into the local state."""
    step, earlier, first = head, 0, True
    while step >= 0 and not is_spent(w):
        row = w.plan[Z.PLAN_STEPS] + step * Z.STEP_SIZE
        count = gather_elements(w, level, step, anchor)
        begin_lists(w, count, earlier, first, anchor)
        count_lists(w, level, row, count)
        step, first = w.plan[row + Z.STEP_NEXT_GROUP], False
        for i in range(count):
            w.subset_i[EARLIER, i] = w.subset_i[POSITIONS, i]
            clear(w, OLD, i)
            merge(w, OLD, i, ENDED, i)
        earlier = count
    seen = w.levels[level - 1, Z.FRESH] if level > 0 else 0
    for i in range(earlier):
        if seen or w.subset_i[EARLIER, i] >= w.cursor[Z.SEEK_FRESH]:
            merge(w, LOCAL, 0, OLD, i)


@jit
def tally_singles(w):
    """Give the local state the values of single variables: each of its lists has them, if they are bound."""
    tallies, row = w.plan[Z.PLAN_TALLY_COUNT], ways(w, LOCAL)
    lists = w.subset_i[row, 0]
    for k in range(tallies):
        tally = w.plan[Z.PLAN_TALLIES] + k * Z.TALLY_SIZE
        if w.plan[tally + Z.TALLY_SOURCE] != Z.SOURCE_SINGLE:
            continue
        v = w.plan[tally + Z.TALLY_VARIABLE]
        if w.lengths[v] == 0:  # another alternative binds it
            continue
        position = w.slots[4 * v + L.SLOT_CURRENT]
        times = lists if w.plan[tally + Z.TALLY_FUNCTION] == Z.TALLY_SUM else 1
        if w.values_ok[k, position]:
            w.subset_i[row + 1 + 2 * k, 0] = 0
            w.subset_i[row + 2 + 2 * k, 0] = wrapped_product(w.values_i[k, position], times)
            w.subset_f[LOCAL * tallies + k, 0] = w.values_f[k, position] * times


@jit
def tally_match(w):
    """Tally one match of single variables, all of them bound."""
    row = ways(w, LOCAL)
    clear(w, LOCAL, 0)
    w.subset_i[row, 0] = 1
    for k in range(w.plan[Z.PLAN_TALLY_COUNT]):
        w.subset_i[row + 1 + 2 * k, 0] = 1
    tally_singles(w)
    merge(w, TOTAL, 0, LOCAL, 0)


@jit
def subset_room(w, level, head):
    """Return the width of states that the groups of an alternative need at most."""
    needed, step = 0, head
    while step >= 0:
        row = w.plan[Z.PLAN_STEPS] + step * Z.STEP_SIZE
        role, maximum = w.plan[row + Z.STEP_ROLE], w.plan[row + Z.STEP_MAXIMUM]
        low = w.levels[level - 1, Z.LOWEST] if level > 0 else w.cursor[Z.SEEK_BEGIN]
        high = w.levels[level - 1, Z.HIGHEST] if level > 0 else w.cursor[Z.SEEK_END]
        size = w.ranks[role, high] - w.ranks[role, low] + 1 if low < high else 1
        cap = max(1, w.plan[row + Z.STEP_MINIMUM]) if maximum == L.UNBOUNDED else maximum
        needed = max(needed, size * cap)
        step = w.plan[row + Z.STEP_NEXT_GROUP]
    return needed


@jit
def count_subsets(w, level, head):
    """Count the matches of the bound single variables with all lists of the groups; resumable."""
    needed, anchor = subset_room(w, level, head), w.cursor[Z.SEEK_ANCHOR]
    if needed + 1 > len(w.subset_i[0]):
        w.cursor[L.CURSOR_DETAIL] = needed + 1
        return L.NEED_SCRATCH
    if is_due(w):
        return L.PAUSE
    if anchor == 0:
        w.cursor[L.CURSOR_STEPS] += needed
        clear(w, LOCAL, 0)
    row = w.plan[Z.PLAN_STEPS] + head * Z.STEP_SIZE
    if not w.plan[row + Z.STEP_ANCHOR]:
        follow(w, level, head, -1)
    else:
        role = w.plan[row + Z.STEP_ROLE]
        low = w.levels[level - 1, Z.LOWEST] if level > 0 else w.cursor[Z.SEEK_BEGIN]
        high = w.levels[level - 1, Z.HIGHEST] if level > 0 else w.cursor[Z.SEEK_END]
        base = w.plan[row + Z.STEP_CANDIDATES]
        if low < high:
            for candidate in range(w.ranks[role, low] + anchor, w.ranks[role, high]):
                if is_due(w):
                    w.cursor[Z.SEEK_ANCHOR] = candidate - w.ranks[role, low]
                    return L.PAUSE
                follow(w, level, head, w.candidates[base + candidate])
    w.cursor[Z.SEEK_ANCHOR] = 0
    if w.subset_i[ways(w, LOCAL), 0]:
        tally_singles(w)
        merge(w, TOTAL, 0, LOCAL, 0)
    return L.DONE


@jit
def flush_tallies(w, segment):
    """Write what a partition has come to, and begin anew."""
    tallies, row = w.plan[Z.PLAN_TALLY_COUNT], ways(w, TOTAL)
    w.counts[segment] += w.subset_i[row, 0]
    for k in range(tallies):
        w.tally_i[segment, 2 * k] = w.subset_i[row, 0] - w.subset_i[row + 1 + 2 * k, 0]
        w.tally_i[segment, 2 * k + 1] = w.subset_i[row + 2 + 2 * k, 0]
        w.tally_f[segment, k] = w.subset_f[TOTAL * tallies + k, 0]
    clear(w, TOTAL, 0)
