"""Binding one event in a lazy search: ranges of candidates, order, window, conditions.

A *level* is one bound event.  Opening one turns order and window into a range of candidates ([L] 4.1,
prec and succ: the most restrictive bound event decides), and comparisons with bound events into
intervals of keys, so that most candidates cost one comparison of integers.
"""

from __future__ import annotations

from fyke.engine.kernels import layout as L
from fyke.engine.kernels.conditions.elements import accumulate, holds_on_elements
from fyke.engine.kernels.conditions.keys import interval
from fyke.engine.kernels.conditions.order import follows, span_fits
from fyke.engine.kernels.conditions.predicate import evaluate
from fyke.engine.kernels.jit import jit
from fyke.engine.kernels.lazy import layout as Z
from fyke.engine.kernels.rows import copy_row


@jit
def place_before(w, x):
    """Return the place in front of which all rows are that are before row ``x``."""
    return x if w.plan[Z.PLAN_DISTINCT] else w.reach[L.REACH_BEFORE, x]


@jit
def place_after(w, x):
    """Return the place from which on all rows are that are after row ``x``."""
    return x + 1 if w.plan[Z.PLAN_DISTINCT] else w.reach[L.REACH_AFTER, x]


@jit
def narrow(w, before, before_end, after, after_end, low, high):
    """Narrow a range of rows to what bound variables leave to one that is ordered among them."""
    for at in range(before, before_end):
        u = w.plan[at]
        if w.lengths[u] > 0:
            low = max(low, place_after(w, w.slots[4 * u + L.SLOT_LAST]))
    for at in range(after, after_end):
        u = w.plan[at]
        if w.lengths[u] > 0:
            high = min(high, place_before(w, w.slots[4 * u + L.SLOT_FIRST]))
    return low, high


@jit
def admissible(w, level, row):
    """Return the rows in which a variable can be bound at a level, by order and window."""
    if level == 0:
        low, high = w.cursor[Z.SEEK_BEGIN], w.cursor[Z.SEEK_END]
    else:
        low, high = w.levels[level - 1, Z.LOWEST], w.levels[level - 1, Z.HIGHEST]
    lists = w.plan[Z.PLAN_LIST]
    return narrow(
        w,
        lists + w.plan[row + Z.STEP_BEFORE],
        lists + w.plan[row + Z.STEP_BEFORE_END],
        lists + w.plan[row + Z.STEP_AFTER],
        lists + w.plan[row + Z.STEP_AFTER_END],
        low,
        high,
    )


@jit
def add_interval(w, level, keys, low, high, outside):
    """Demand that the key of a candidate lies in an interval; two on the same keys become one."""
    lv, row = w.levels[level], w.intervals[level]
    count = lv[Z.INTERVALS]
    if not outside:
        for j in range(count):
            at = j * Z.INTERVAL_SIZE
            if row[at + Z.INTERVAL_KEYS] == keys and row[at + Z.INTERVAL_OUTSIDE] == 0:
                row[at + Z.INTERVAL_LOW] = max(row[at + Z.INTERVAL_LOW], low)
                row[at + Z.INTERVAL_HIGH] = min(row[at + Z.INTERVAL_HIGH], high)
                return
    at = count * Z.INTERVAL_SIZE
    row[at + Z.INTERVAL_KEYS] = keys
    row[at + Z.INTERVAL_LOW] = low
    row[at + Z.INTERVAL_HIGH] = high
    row[at + Z.INTERVAL_OUTSIDE] = outside
    lv[Z.INTERVALS] = count + 1


@jit
def first_at_least(row, value, first, last):
    """Return the first place of rising values that is not below ``value``."""
    while first < last:
        middle = (first + last) // 2
        if row[middle] < value:
            first = middle + 1
        else:
            last = middle
    return first


@jit
def use_index(w, level, head, old):
    """Let a level walk only the candidates whose key equals that of candidate ``old`` of the other."""
    lv, heads = w.levels[level], w.index_heads
    code = w.entries[heads[head, Z.INDEX_CODES] + old]
    if code < 0:
        lv[Z.END] = lv[Z.AT]
        return
    starts, places = heads[head, Z.INDEX_STARTS], heads[head, Z.INDEX_PLACES]
    first, last = places + w.entries[starts + code], places + w.entries[starts + code + 1]
    at = first_at_least(w.entries, lv[Z.AT], first, last)
    lv[Z.END] = first_at_least(w.entries, lv[Z.END], at, last)
    lv[Z.AT] = at
    lv[Z.PLACES] = places


@jit
def compare_ahead(w, level, row, number):
    """Turn the comparisons of a step into intervals and index lookups; say whether any candidate is left."""
    lv = w.levels[level]
    first = w.plan[Z.PLAN_COMPARISONS]
    for k in range(w.plan[row + Z.STEP_COMPARISONS], w.plan[row + Z.STEP_COMPARISONS_END]):
        comparison = first + k * Z.COMPARISON_SIZE
        other = w.plan[comparison + Z.COMPARISON_OTHER]
        if w.plan[comparison + Z.COMPARISON_LAGGED]:
            if number == 1:
                continue
            old = w.levels[level - 1, Z.CANDIDATE]
        else:
            if w.lengths[other] == 0:
                continue
            old = w.chosen[other]
        key = w.keys[w.plan[comparison + Z.COMPARISON_OLD] + old]
        if key == L.NULL_KEY:
            return False
        head = w.plan[comparison + Z.COMPARISON_INDEX]
        if head >= 0 and lv[Z.PLACES] < 0 and lv[Z.END] - lv[Z.AT] > 8:
            use_index(w, level, head, old)
        else:
            low, high, outside = interval(w.plan[comparison + Z.COMPARISON_OPERATOR], key)
            if low > high:
                return False
            add_interval(w, level, w.plan[comparison + Z.COMPARISON_NEW], low, high, outside)
        if lv[Z.AT] >= lv[Z.END]:
            return False
    return True


@jit
def is_last(w, level, row):
    """Say whether binding a step's variable completes the only match that can come of it."""
    if w.plan[row + Z.STEP_GROUP]:
        return False
    if w.plan[Z.PLAN_TREE]:
        bound = w.levels[level - 1, Z.BOUND] if level > 0 else 0
        choice = w.plan[Z.PLAN_ALTERNATIVES] + w.plan[row + Z.STEP_ALTERNATIVE] * Z.CHOICE_SIZE
        return bound | w.plan[row + Z.STEP_BIT] == w.plan[choice + Z.CHOICE_ALL]
    return w.plan[row + Z.STEP_CHILDREN] == w.plan[row + Z.STEP_CHILDREN_END]


@jit
def open_level(w, level, step, number):
    """Begin to bind element ``number`` of a step's variable; say whether there is any candidate."""
    lv = w.levels[level]
    row = w.plan[Z.PLAN_STEPS] + step * Z.STEP_SIZE
    low, high = admissible(w, level, row)
    if number > 1:
        low = max(low, w.levels[level - 1, Z.POSITION] + 1)
    seen = w.levels[level - 1, Z.FRESH] if level > 0 else 0
    if seen == 0 and is_last(w, level, row):
        low = max(low, w.cursor[Z.SEEK_FRESH])
    if low >= high:
        return False
    role = w.plan[row + Z.STEP_ROLE]
    lv[Z.AT], lv[Z.END] = w.ranks[role, low], w.ranks[role, high]
    if lv[Z.AT] >= lv[Z.END]:
        return False
    lv[Z.STEP], lv[Z.PLACES], lv[Z.NUMBER], lv[Z.PHASE] = step, -1, number, Z.SCAN
    lv[Z.INTERVALS] = 0
    if not compare_ahead(w, level, row, number):
        return False
    w.cursor[L.CURSOR_STEPS] += lv[Z.END] - lv[Z.AT]
    w.cursor[Z.SEEK_OPENED] += 1
    w.cursor[Z.SEEK_DEEPEST] = max(w.cursor[Z.SEEK_DEEPEST], level + 1)
    return True


@jit
def may_bind(w, level, row, position, number):
    """Check an event exactly: order and window where events last, the group rule, no event twice."""
    low, high = w.events[L.EVENT_LOW, position], w.events[L.EVENT_HIGH, position]
    start, end = w.events[L.EVENT_START, position], w.events[L.EVENT_END, position]
    if not w.plan[Z.PLAN_POINTS]:
        lists = w.plan[Z.PLAN_LIST]
        for at in range(lists + w.plan[row + Z.STEP_BEFORE], lists + w.plan[row + Z.STEP_BEFORE_END]):
            u = w.plan[at]
            if w.lengths[u] > 0 and w.events[L.EVENT_HIGH, w.slots[4 * u + L.SLOT_LAST]] >= low:
                return False
        for at in range(lists + w.plan[row + Z.STEP_AFTER], lists + w.plan[row + Z.STEP_AFTER_END]):
            u = w.plan[at]
            if w.lengths[u] > 0 and high >= w.events[L.EVENT_LOW, w.slots[4 * u + L.SLOT_FIRST]]:
                return False
        if level > 0 and w.program[L.HEAD_WINDOW_KIND] == L.WINDOW_TIME:
            first = min(w.levels[level - 1, Z.START], start)
            if not span_fits(w, first, max(w.levels[level - 1, Z.STOP], end)):
                return False
    if w.plan[row + Z.STEP_SAME]:
        for k in range(level):
            if w.levels[k, Z.POSITION] == position:
                return False
    if number > 1:
        last = w.levels[level - 1, Z.POSITION]
        return follows(w, last, position)
    return True


@jit
def keys_fit(w, level, candidate):
    """Say whether the keys of a candidate lie in all intervals of a level."""
    row = w.intervals[level]
    keys = w.keys
    for j in range(w.levels[level, Z.INTERVALS]):
        at = j * Z.INTERVAL_SIZE
        key = keys[row[at + Z.INTERVAL_KEYS] + candidate]
        inside = row[at + Z.INTERVAL_LOW] <= key <= row[at + Z.INTERVAL_HIGH]
        if inside == (row[at + Z.INTERVAL_OUTSIDE] != 0) or key == L.NULL_KEY:
            return False
    return True


@jit
def fits_alone(w, position):
    """Say whether one lasting event by itself is no longer than the window."""
    if w.plan[Z.PLAN_POINTS] or w.program[L.HEAD_WINDOW_KIND] != L.WINDOW_TIME:
        return True
    return span_fits(w, w.events[L.EVENT_START, position], w.events[L.EVENT_END, position])


@jit
def bind(w, level, row, candidate, position):
    """Write a bound event into its level and into the slots of its variable."""
    lv = w.levels[level]
    v, number = w.plan[row + Z.STEP_VARIABLE], lv[Z.NUMBER]
    lv[Z.CANDIDATE], lv[Z.POSITION] = candidate, position
    start, end = w.events[L.EVENT_START, position], w.events[L.EVENT_END, position]
    first, last = w.reach[L.REACH_FIRST, position], w.reach[L.REACH_END, position]
    fresh = 1 if position >= w.cursor[Z.SEEK_FRESH] else 0
    if level == 0:
        lv[Z.LOWEST] = max(first, w.cursor[Z.SEEK_BEGIN])
        lv[Z.HIGHEST] = min(last, w.cursor[Z.SEEK_END])
        lv[Z.START], lv[Z.STOP], lv[Z.FRESH] = start, end, fresh
        lv[Z.BOUND] = w.plan[row + Z.STEP_BIT]
    else:
        up = w.levels[level - 1]
        lv[Z.LOWEST], lv[Z.HIGHEST] = max(first, up[Z.LOWEST]), min(last, up[Z.HIGHEST])
        lv[Z.START], lv[Z.STOP] = min(start, up[Z.START]), max(end, up[Z.STOP])
        lv[Z.FRESH] = max(fresh, up[Z.FRESH])
        lv[Z.BOUND] = up[Z.BOUND] | w.plan[row + Z.STEP_BIT]
    w.chosen[v] = candidate
    w.lengths[v] = number
    w.slots[4 * v + L.SLOT_CURRENT] = position
    w.slots[4 * v + L.SLOT_LAST] = position
    if number == 1:
        w.slots[4 * v + L.SLOT_FIRST] = position
    else:
        w.slots[4 * v + L.SLOT_PREVIOUS] = w.levels[level - 1, Z.POSITION]


@jit
def release(w, level):
    """Take back the binding of a level: its variable is unbound, or ends with the element before."""
    lv = w.levels[level]
    v = w.plan[w.plan[Z.PLAN_STEPS] + lv[Z.STEP] * Z.STEP_SIZE + Z.STEP_VARIABLE]
    number = lv[Z.NUMBER] - 1
    w.lengths[v] = number
    if number > 0:
        position = w.levels[level - 1, Z.POSITION]
        w.chosen[v] = w.levels[level - 1, Z.CANDIDATE]
        w.slots[4 * v + L.SLOT_CURRENT] = position
        w.slots[4 * v + L.SLOT_LAST] = position
        if number > 1:
            w.slots[4 * v + L.SLOT_PREVIOUS] = w.levels[level - 2, Z.POSITION]


@jit
def every_holds(w, level, condition):
    """Decide a condition over all elements bound so far."""
    variables = w.program[L.HEAD_VARIABLES]
    for v in range(variables + 1):
        w.bounds[v] = 0
    steps = w.plan[Z.PLAN_STEPS]
    for k in range(level + 1):
        w.bounds[w.plan[steps + w.levels[k, Z.STEP] * Z.STEP_SIZE + Z.STEP_VARIABLE] + 1] += 1
    for v in range(variables):
        w.bounds[v + 1] += w.bounds[v]
        w.fill[v] = w.bounds[v]
    for k in range(level + 1):
        v = w.plan[steps + w.levels[k, Z.STEP] * Z.STEP_SIZE + Z.STEP_VARIABLE]
        w.elements[w.fill[v]] = w.levels[k, Z.POSITION]
        w.fill[v] += 1
    return holds_on_elements(w, condition, variables)


@jit
def tests_hold(w, level, first, last, number, kept):
    """Decide the conditions in a stretch of the table, on the accumulators in row ``kept``."""
    bound = w.levels[level, Z.BOUND]
    for k in range(first, last):
        test = w.plan[Z.PLAN_CHECKS] + k * Z.TEST_SIZE
        mode = w.plan[test + Z.TEST_MODE]
        if w.plan[test + Z.TEST_NEEDS] & ~bound:
            continue
        if (mode & Z.MODE_LAGGED and number == 1) or (mode & Z.MODE_FIRST and number > 1):
            continue
        if not test_holds(w, level, test, kept):
            return False
    return True


@jit
def test_holds(w, level, test, kept):
    """Decide one condition, on the accumulators in row ``kept``."""
    w.cursor[L.CURSOR_EVALUATIONS] += 1
    condition = w.plan[test + Z.TEST_CONDITION]
    if w.plan[test + Z.TEST_MODE] & Z.MODE_EVERY:
        return every_holds(w, level, condition)
    before_i, before_f = w.kept_i[kept], w.kept_f[kept]
    return evaluate(w, condition, before_i, before_f, before_i, before_f) == L.TRUE


@jit
def keep_accumulators(w, level, row):
    """Carry the accumulators of groups from level to level."""
    copy_row(w.kept_i[level], w.kept_i[level + 1])
    copy_row(w.kept_f[level], w.kept_f[level + 1])
    if w.plan[row + Z.STEP_GROUP]:
        v = w.plan[row + Z.STEP_VARIABLE]
        accumulate(w, v, w.levels[level, Z.POSITION], w.kept_i[level + 1], w.kept_f[level + 1])
