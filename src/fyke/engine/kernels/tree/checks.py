"""Conditions in a join tree: on a leaf's events, on the two rows a node joins, on what is passed down."""

from __future__ import annotations

from fyke.engine.kernels import layout as L
from fyke.engine.kernels.conditions.elements import describe, holds_for_every
from fyke.engine.kernels.conditions.keys import compares
from fyke.engine.kernels.conditions.order import span_fits
from fyke.engine.kernels.conditions.predicate import evaluate
from fyke.engine.kernels.jit import jit
from fyke.engine.kernels.tree import layout as T
from fyke.engine.kernels.tree.rows import first_and_last, length_of, list_row, meet, node_at, write_elements


@jit
def note(w, condition, holds):
    """Count a decision for the statistics ([T] 3.5.5)."""
    w.cursor[L.CURSOR_EVALUATIONS] += 1
    w.observed[condition, 0] += 1
    if holds:
        w.observed[condition, 1] += 1
    return holds


@jit
def set_slot(w, variable, position):
    """Let conditions see one event as a variable."""
    w.lengths[variable] = 1
    w.slots[4 * variable + L.SLOT_CURRENT] = position
    w.slots[4 * variable + L.SLOT_FIRST] = position
    w.slots[4 * variable + L.SLOT_LAST] = position


@jit
def set_slots(w, node, row):
    """Let conditions see the single variables of a row."""
    at = node_at(w, node)
    column = row + T.ROW_SIZE
    for k in range(w.tree[at + T.NODE_VARS], w.tree[at + T.NODE_VARS_END]):
        spec = w.tree[T.TREE_VARIABLES] + k * T.VARIABLE_SIZE
        if w.tree[spec + T.VARIABLE_LEAF] < 0:
            set_slot(w, w.tree[spec + T.VARIABLE_NUMBER], w.rows[column])
        column += 1


@jit
def count_elements(w, node, row):
    """Add to the bounds how many events each variable of a row stands for."""
    at = node_at(w, node)
    column = row + T.ROW_SIZE
    for k in range(w.tree[at + T.NODE_VARS], w.tree[at + T.NODE_VARS_END]):
        spec = w.tree[T.TREE_VARIABLES] + k * T.VARIABLE_SIZE
        length = length_of(w, w.rows[column], w.tree[spec + T.VARIABLE_LEAF])
        w.bounds[w.tree[spec + T.VARIABLE_NUMBER] + 1] = length
        column += 1


@jit
def list_elements(w, node, row):
    """Write the events of each variable of a row where the bounds say."""
    at = node_at(w, node)
    column = row + T.ROW_SIZE
    for k in range(w.tree[at + T.NODE_VARS], w.tree[at + T.NODE_VARS_END]):
        spec = w.tree[T.TREE_VARIABLES] + k * T.VARIABLE_SIZE
        end = w.bounds[w.tree[spec + T.VARIABLE_NUMBER] + 1]
        write_elements(w, w.rows[column], w.tree[spec + T.VARIABLE_LEAF], w.elements, end)
        column += 1


@jit
def sum_bounds(w):
    """Turn counts of elements into bounds; return how many variables there are."""
    variables = w.program[L.HEAD_VARIABLES]
    for v in range(variables):
        w.bounds[v + 1] += w.bounds[v]
    return variables


@jit
def empty_bounds(w):
    """Forget all elements."""
    for v in range(w.program[L.HEAD_VARIABLES] + 1):
        w.bounds[v] = 0


@jit
def tests_hold(w, first, last, described):
    """Decide the conditions of a stretch of the table on slots, or on elements once those are described."""
    for k in range(first, last):
        test = w.tree[T.TREE_TESTS] + k * T.TEST_SIZE
        condition = w.tree[test + T.TEST_CONDITION]
        if w.tree[test + T.TEST_EVERY]:
            if not described:
                return True
            holds = holds_for_every(w, condition)
        else:
            holds = evaluate(w, condition, w.before_i, w.before_f, w.after_i, w.after_f) == L.TRUE
        if not note(w, condition, holds):
            return False
    return True


@jit
def pair_tests_hold(w, at, left, left_row, right, right_row):
    """Decide the conditions of a node that are no comparisons: those on single events first."""
    first, last = w.tree[at + T.NODE_TESTS], w.tree[at + T.NODE_TESTS_END]
    if first == last:
        return True
    set_slots(w, left, left_row)
    set_slots(w, right, right_row)
    if not tests_hold(w, first, last, False):
        return False
    while first < last and w.tree[w.tree[T.TREE_TESTS] + first * T.TEST_SIZE + T.TEST_EVERY] == 0:
        first += 1
    if first == last:
        return True
    empty_bounds(w)
    count_elements(w, left, left_row)
    count_elements(w, right, right_row)
    variables = sum_bounds(w)
    list_elements(w, left, left_row)
    list_elements(w, right, right_row)
    describe(w, variables)
    return tests_hold(w, first, last, True)


@jit
def comparisons_hold(w, at, left_row, right_row):
    """Decide the comparisons of a node on keys."""
    first = w.tree[at + T.NODE_COMPARISONS]
    counted = first + w.tree[at + T.NODE_HASHED]
    for k in range(first, w.tree[at + T.NODE_COMPARISONS_END]):
        comparison = w.tree[T.TREE_COMPARISONS] + k * T.COMPARISON_SIZE
        x = w.keys[
            w.tree[comparison + T.COMPARISON_LEFT_KEYS]
            + w.rows[left_row + w.tree[comparison + T.COMPARISON_LEFT]]
        ]
        y = w.keys[
            w.tree[comparison + T.COMPARISON_RIGHT_KEYS]
            + w.rows[right_row + w.tree[comparison + T.COMPARISON_RIGHT]]
        ]
        holds = compares(w.tree[comparison + T.COMPARISON_OPERATOR], x, y)
        condition = w.tree[comparison + T.COMPARISON_CONDITION]
        if k < counted:
            w.observed[condition, 0] -= 1
        if not note(w, condition, holds):
            return False
    return True


@jit
def side_of(w, place, node):
    """Return which variable of a node one side of a pair names, and the leaf that holds it."""
    number = w.tree[place]
    first = w.tree[T.TREE_VARIABLES] + w.tree[node_at(w, node) + T.NODE_VARS] * T.VARIABLE_SIZE
    return number, w.tree[first + number * T.VARIABLE_SIZE + T.VARIABLE_LEAF]


@jit
def in_order(w, at, left, left_row, right, right_row):
    """Say whether two rows satisfy the order between their variables."""
    for k in range(w.tree[at + T.NODE_PAIRS], w.tree[at + T.NODE_PAIRS_END]):
        pair = w.tree[T.TREE_PAIRS] + k * T.PAIR_SIZE
        i, x_leaf = side_of(w, pair + T.PAIR_LEFT, left)
        j, y_leaf = side_of(w, pair + T.PAIR_RIGHT, right)
        x_first, x_last = first_and_last(w, w.rows[left_row + T.ROW_SIZE + i], x_leaf)
        y_first, y_last = first_and_last(w, w.rows[right_row + T.ROW_SIZE + j], y_leaf)
        if w.tree[pair + T.PAIR_FORWARD]:
            if w.events[L.EVENT_HIGH, x_last] >= w.events[L.EVENT_LOW, y_first]:
                return False
        elif w.events[L.EVENT_HIGH, y_last] >= w.events[L.EVENT_LOW, x_first]:
            return False
    return True


@jit
def share_event(w, at, left, left_row, right, right_row):
    """Say whether an event would be bound twice."""
    for k in range(w.tree[at + T.NODE_APART], w.tree[at + T.NODE_APART_END]):
        pair = w.tree[T.TREE_APART] + k * T.PAIR_SIZE
        i, x_leaf = side_of(w, pair + T.PAIR_LEFT, left)
        j, y_leaf = side_of(w, pair + T.PAIR_RIGHT, right)
        x, y = w.rows[left_row + T.ROW_SIZE + i], w.rows[right_row + T.ROW_SIZE + j]
        if meet(w, x, x_leaf, y, y_leaf):
            return True
    return False


@jit
def may_be_together(w, first, start, last):
    """Check partition and window of what lies between two positions, where ranges of rows are not exact."""
    events = w.events
    if events[L.EVENT_SEGMENT, first] != events[L.EVENT_SEGMENT, last]:
        return False
    kind = w.program[L.HEAD_WINDOW_KIND]
    if kind == L.WINDOW_TIME:
        return span_fits(w, start, events[L.EVENT_END, last])
    if kind == L.WINDOW_EVENTS:
        return events[L.EVENT_INDEX, last] - events[L.EVENT_INDEX, first] < w.program[L.HEAD_WINDOW]
    return True


@jit
def fits(w, at, left, left_row, right, right_row, oldest):
    """Say whether two rows join: window, comparisons, order, no event twice, other conditions."""
    rows = w.rows
    first = min(rows[left_row + T.ROW_FIRST], rows[right_row + T.ROW_FIRST])
    if first < oldest:
        return False
    if not rows[left_row + T.ROW_COMPLETE] or not rows[right_row + T.ROW_COMPLETE]:
        return False
    points = w.tree[T.TREE_POINTS]
    if not points or w.tree[T.TREE_MIXED]:
        start = min(rows[left_row + T.ROW_START], rows[right_row + T.ROW_START])
        last = max(rows[left_row + T.ROW_LAST], rows[right_row + T.ROW_LAST])
        if not may_be_together(w, first, start, last):
            return False
    if w.tree[T.TREE_MIXED]:
        # Each side is of one partition; the first and the last event of both may be of the same side.
        left_first, right_first = rows[left_row + T.ROW_FIRST], rows[right_row + T.ROW_FIRST]
        if w.events[L.EVENT_SEGMENT, left_first] != w.events[L.EVENT_SEGMENT, right_first]:
            return False
    if not comparisons_hold(w, at, left_row, right_row):
        return False
    if not (points and w.tree[at + T.NODE_SEQUENCE]):
        if not in_order(w, at, left, left_row, right, right_row):
            return False
        if share_event(w, at, left, left_row, right, right_row):
            return False
    return pair_tests_hold(w, at, left, left_row, right, right_row)


# --- leaves -----------------------------------------------------------------------------------


@jit
def is_wanted(w, at, position):
    """Say whether what must be around an event of a leaf is there ([T] 4.2), and it fits the window alone."""
    for k in range(w.tree[at + T.NODE_NEEDS], w.tree[at + T.NODE_NEEDS_END]):
        need = w.tree[T.TREE_NEEDS] + k * T.NEED_SIZE
        if w.tree[need + T.NEED_AFTER]:
            low, high = w.reach[L.REACH_AFTER, position], w.reach[L.REACH_END, position]
        else:
            low, high = w.reach[L.REACH_FIRST, position], w.reach[L.REACH_BEFORE, position]
        role = w.tree[need + T.NEED_ROLE]
        if low >= high or w.ranks[role, high] - w.ranks[role, low] < w.tree[need + T.NEED_COUNT]:
            return False
    if w.tree[T.TREE_POINTS] or w.program[L.HEAD_WINDOW_KIND] != L.WINDOW_TIME:
        return True
    return span_fits(w, w.events[L.EVENT_START, position], w.events[L.EVENT_END, position])


@jit
def event_holds(w, at, position):
    """Decide the conditions on a single variable's event, and those passed down with the trigger."""
    variable = w.tree[at + T.NODE_VARIABLE]
    event = w.cursor[T.AT_EVENT]
    for k in range(w.tree[at + T.NODE_PASSED], w.tree[at + T.NODE_PASSED_END]):
        comparison = w.tree[T.TREE_COMPARISONS] + k * T.COMPARISON_SIZE
        x = w.keys[w.tree[comparison + T.COMPARISON_LEFT_KEYS] + position]
        y = w.keys[w.tree[comparison + T.COMPARISON_RIGHT_KEYS] + event]
        w.cursor[L.CURSOR_EVALUATIONS] += 1
        if not compares(w.tree[comparison + T.COMPARISON_OPERATOR], x, y):
            return False
    first, last = w.tree[at + T.NODE_TESTS], w.tree[at + T.NODE_TESTS_END]
    passed, passed_end = w.tree[at + T.NODE_PASSED_TESTS], w.tree[at + T.NODE_PASSED_TESTS_END]
    if first == last and passed == passed_end:
        return True
    set_slot(w, variable, position)
    if not tests_hold(w, first, last, False):
        return False
    if passed == passed_end:
        return True
    trigger = w.tree[node_at(w, w.tree[T.TREE_LAST]) + T.NODE_VARIABLE]
    set_slot(w, trigger, event)
    return tests_hold(w, passed, passed_end, False)


@jit
def list_holds(w, node, at, number, first, last):
    """Decide conditions on one group alone, on the elements of one of its lists."""
    if first == last:
        return True
    empty_bounds(w)
    variable = w.tree[at + T.NODE_VARIABLE]
    length = w.rows[list_row(w, node, number) + T.LIST_LENGTH]
    w.bounds[variable + 1] = length
    variables = sum_bounds(w)
    write_elements(w, number, node, w.elements, length)
    describe(w, variables)
    return tests_hold(w, first, last, True)
