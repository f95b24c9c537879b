"""Conditions that range over every element of groups, decided on the elements of a substitution.

The slow road: it rebuilds slots, lengths and accumulators from the list of bindings.  Runs take it
only where the new event alone does not decide; absences always take it.
"""

from __future__ import annotations

from fyke.engine.kernels import layout as L
from fyke.engine.kernels.conditions.arena import ConditionArena
from fyke.engine.kernels.conditions.predicate import SMALLEST, compare_floats, evaluate, sum_overflows
from fyke.engine.kernels.conditions.work import is_spent
from fyke.engine.kernels.jit import jit
from fyke.engine.kernels.rows import copy_row


@jit
def reset_accumulators(w: ConditionArena, variable, state_i, state_f):
    """Empty the accumulators of one variable."""
    row = w.program[L.HEAD_VARIABLE_TABLE] + variable * L.VAR_SIZE
    for k in range(w.program[row + L.VAR_ACCUMULATORS], w.program[row + L.VAR_ACCUMULATORS_END]):
        acc = w.program[L.HEAD_ACCUMULATOR_TABLE] + k * L.ACC_SIZE
        kind, slot = w.program[acc + L.ACC_KIND], w.program[acc + L.ACC_SLOT]
        if kind == L.ACC_MIN or kind == L.ACC_MAX:
            state_i[slot] = -1
        elif kind == L.ACC_ON:
            state_i[slot] = -2 - w.program[acc + L.ACC_OFFSET]
        elif kind == L.ACC_BACK:
            for back in range(w.program[acc + L.ACC_OFFSET] + 1):
                state_i[slot + back] = -1
        elif kind == L.ACC_COUNT:
            state_i[slot] = 0
        elif kind == L.ACC_SUM_I:
            state_i[slot] = 0
            state_i[slot + 1] = 0
            state_i[slot + 2] = 0
        else:
            floats = w.program[acc + L.ACC_FLOATS]
            state_i[slot] = 0
            state_f[floats] = 0.0
            if kind == L.ACC_MOMENTS:
                state_f[floats + 1] = 0.0


@jit
def note_element(w: ConditionArena, acc, known, state_i):
    """Count an element in an accumulator of elements by number; ``known`` is its position, -1 for null."""
    slot = w.program[acc + L.ACC_SLOT]
    if w.program[acc + L.ACC_KIND] == L.ACC_BACK:
        for back in range(w.program[acc + L.ACC_OFFSET], 0, -1):
            state_i[slot + back] = state_i[slot + back - 1]
        state_i[slot] = known
    elif state_i[slot] < -1:
        state_i[slot] += 1
        if state_i[slot] == -1:
            state_i[slot] = known


@jit
def accumulate(w: ConditionArena, variable, position, state_i, state_f):
    """Add the event at ``position`` to the accumulators of ``variable``; nulls only count as elements."""
    row = w.program[L.HEAD_VARIABLE_TABLE] + variable * L.VAR_SIZE
    for k in range(w.program[row + L.VAR_ACCUMULATORS], w.program[row + L.VAR_ACCUMULATORS_END]):
        acc = w.program[L.HEAD_ACCUMULATOR_TABLE] + k * L.ACC_SIZE
        kind, column = w.program[acc + L.ACC_KIND], w.program[acc + L.ACC_COLUMN]
        slot = w.program[acc + L.ACC_SLOT]
        typed = w.program[acc + L.ACC_TYPED]
        null = (typed == 0 and not w.valid_i[column, position]) or (
            typed == 1 and not w.valid_f[column, position]
        )
        if kind >= L.ACC_ON:
            note_element(w, acc, -1 if null else position, state_i)
            continue
        if null:
            continue
        if kind == L.ACC_COUNT:
            state_i[slot] += 1
        elif kind == L.ACC_SUM_I:
            x, y = state_i[slot], w.cols_i[column, position]
            if not sum_overflows(x, y):
                state_i[slot] = x + y
            elif y > 0:  # wrap around, and remember how often
                state_i[slot] = (x + SMALLEST) + (y + SMALLEST)
                state_i[slot + 2] += 1
            else:
                state_i[slot] = (x - SMALLEST) + (y - SMALLEST)
                state_i[slot + 2] -= 1
            state_i[slot + 1] += 1
        elif kind == L.ACC_MIN or kind == L.ACC_MAX:
            best = state_i[slot]
            if best < 0:
                state_i[slot] = position
            else:
                if typed == 0:
                    x, y = w.cols_i[column, position], w.cols_i[column, best]
                    order = -1 if x < y else (1 if x > y else 0)
                else:
                    order = compare_floats(w.cols_f[column, position], w.cols_f[column, best])
                if (order < 0 and kind == L.ACC_MIN) or (order > 0 and kind == L.ACC_MAX):
                    state_i[slot] = position
        else:
            value = w.cols_f[column, position] if typed == 1 else float(w.cols_i[column, position])
            floats = w.program[acc + L.ACC_FLOATS]
            state_i[slot] += 1
            if kind == L.ACC_SUM_F:
                state_f[floats] += value
            else:
                delta = value - state_f[floats]
                state_f[floats] += delta / state_i[slot]
                state_f[floats + 1] += delta * (value - state_f[floats])


@jit
def describe(w: ConditionArena, variables):
    """Set slots, lengths and whole-group accumulators from the elements of each variable.

    ``w.elements`` holds them variable by variable, from ``w.bounds[v]`` to ``w.bounds[v + 1]``.
    """
    w.work[L.WORK_DONE] += w.bounds[variables]
    for v in range(variables):
        first, last = w.bounds[v], w.bounds[v + 1]
        w.lengths[v] = last - first
        reset_accumulators(w, v, w.after_i, w.after_f)
        if first == last:
            continue
        w.slots[4 * v + L.SLOT_CURRENT] = w.elements[last - 1]
        w.slots[4 * v + L.SLOT_FIRST] = w.elements[first]
        w.slots[4 * v + L.SLOT_LAST] = w.elements[last - 1]
        for k in range(first, last):
            accumulate(w, v, w.elements[k], w.after_i, w.after_f)


@jit
def holds_for_every(w: ConditionArena, condition):
    """Say whether a condition is true for every combination of elements of the groups it ranges over.

    :func:`describe` must have been called for the same elements.  A search that is spent says no.
    """
    row = w.program[L.HEAD_CONDITION_TABLE] + condition * L.CONDITION_SIZE
    first = w.program[L.HEAD_EACH_TABLE] + w.program[row + L.CONDITION_EACH] * L.EACH_SIZE
    groups = w.program[row + L.CONDITION_EACH_END] - w.program[row + L.CONDITION_EACH]
    for g in range(groups):
        v = w.program[first + g * L.EACH_SIZE + L.EACH_VARIABLE]
        if not begin_range(w, first, g, v):
            return True
    while not is_spent(w):
        w.work[L.WORK_DONE] += 1
        if evaluate(w, condition, w.before_i, w.before_f, w.after_i, w.after_f) != L.TRUE:
            return False
        g = groups - 1
        while g >= 0:
            v = w.program[first + g * L.EACH_SIZE + L.EACH_VARIABLE]
            accumulate(w, v, w.elements[w.bounds[v] + w.places[g]], w.before_i, w.before_f)
            w.places[g] += 1
            at = w.bounds[v] + w.places[g]
            if at < w.bounds[v + 1]:
                w.slots[4 * v + L.SLOT_CURRENT] = w.elements[at]
                w.slots[4 * v + L.SLOT_PREVIOUS] = w.elements[at - 1]
                break
            begin_range(w, first, g, v)
            g -= 1
        if g < 0:
            return True
    return False


@jit
def holds_on_elements(w: ConditionArena, condition, variables):
    """Decide a condition on the elements laid out for each variable; slots and lengths stay as they were."""
    copy_row(w.slots, w.kept_slots)
    copy_row(w.lengths, w.kept_lengths)
    describe(w, variables)
    result = holds_for_every(w, condition)
    copy_row(w.kept_slots, w.slots)
    copy_row(w.kept_lengths, w.lengths)
    return result


@jit
def begin_range(w: ConditionArena, first, g, v):
    """Put a group's cursor on the first element of its range; say whether there is one."""
    lagged = w.program[first + g * L.EACH_SIZE + L.EACH_LAGGED]
    w.places[g] = lagged
    reset_accumulators(w, v, w.before_i, w.before_f)
    at = w.bounds[v] + lagged
    if at >= w.bounds[v + 1]:
        return False
    w.slots[4 * v + L.SLOT_CURRENT] = w.elements[at]
    if lagged:
        w.slots[4 * v + L.SLOT_PREVIOUS] = w.elements[at - 1]
        accumulate(w, v, w.elements[w.bounds[v]], w.before_i, w.before_f)
    return True
