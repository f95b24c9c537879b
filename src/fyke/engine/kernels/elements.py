"""Conditions that range over every element of groups, decided on the elements of a substitution.

The slow road: it rebuilds slots, lengths and accumulators from the list of bindings.  Runs take it
only where the new event alone does not decide; absences always take it.
"""

from __future__ import annotations

import numpy as np

from fyke.engine.kernels import layout as L
from fyke.engine.kernels.jit import jit
from fyke.engine.kernels.predicate import compare_floats, evaluate, sum_overflows


@jit
def reset_accumulators(program, variable, state_i, state_f):
    """Empty the accumulators of one variable."""
    row = program[L.HEAD_VARIABLE_TABLE] + variable * L.VAR_SIZE
    for k in range(program[row + L.VAR_ACCUMULATORS], program[row + L.VAR_ACCUMULATORS_END]):
        acc = program[L.HEAD_ACCUMULATOR_TABLE] + k * L.ACC_SIZE
        kind, slot = program[acc + L.ACC_KIND], program[acc + L.ACC_SLOT]
        if kind == L.ACC_MIN or kind == L.ACC_MAX:
            state_i[slot] = -1
        elif kind == L.ACC_COUNT:
            state_i[slot] = 0
        elif kind == L.ACC_SUM_I:
            state_i[slot : slot + 3] = 0
        else:
            floats = program[acc + L.ACC_FLOATS]
            state_i[slot] = 0
            state_f[floats] = 0.0
            if kind == L.ACC_MOMENTS:
                state_f[floats + 1] = 0.0


@jit
def accumulate(program, variable, position, state_i, state_f, data):
    """Add the event at ``position`` to the accumulators of ``variable``; nulls do not count."""
    row = program[L.HEAD_VARIABLE_TABLE] + variable * L.VAR_SIZE
    for k in range(program[row + L.VAR_ACCUMULATORS], program[row + L.VAR_ACCUMULATORS_END]):
        acc = program[L.HEAD_ACCUMULATOR_TABLE] + k * L.ACC_SIZE
        kind, column = program[acc + L.ACC_KIND], program[acc + L.ACC_COLUMN]
        slot = program[acc + L.ACC_SLOT]
        typed = program[acc + L.ACC_TYPED]
        if (typed == 0 and not data.valid_i[column, position]) or (
            typed == 1 and not data.valid_f[column, position]
        ):
            continue
        if kind == L.ACC_COUNT:
            state_i[slot] += 1
        elif kind == L.ACC_SUM_I:
            x, y = state_i[slot], data.cols_i[column, position]
            if sum_overflows(x, y):
                state_i[slot + 2] = 1
            else:
                state_i[slot] = x + y
            state_i[slot + 1] += 1
        elif kind == L.ACC_MIN or kind == L.ACC_MAX:
            best = state_i[slot]
            if best < 0:
                state_i[slot] = position
            else:
                if typed == 0:
                    x, y = data.cols_i[column, position], data.cols_i[column, best]
                    order = -1 if x < y else (1 if x > y else 0)
                else:
                    order = compare_floats(data.cols_f[column, position], data.cols_f[column, best])
                if (order < 0 and kind == L.ACC_MIN) or (order > 0 and kind == L.ACC_MAX):
                    state_i[slot] = position
        else:
            value = data.cols_f[column, position] if typed == 1 else float(data.cols_i[column, position])
            floats = program[acc + L.ACC_FLOATS]
            state_i[slot] += 1
            if kind == L.ACC_SUM_F:
                state_f[floats] += value
            else:
                delta = value - state_f[floats]
                state_f[floats] += delta / state_i[slot]
                state_f[floats + 1] += delta * (value - state_f[floats])


@jit
def describe(program, variables, elements, bounds, state_i, state_f, data, scratch):
    """Set slots, lengths and whole-group accumulators from the elements of each variable."""
    for v in range(variables):
        n = bounds[v + 1] - bounds[v]
        scratch.lengths[v] = n
        reset_accumulators(program, v, state_i, state_f)
        if n == 0:
            continue
        scratch.slots[4 * v + L.SLOT_CURRENT] = elements[bounds[v + 1] - 1]
        scratch.slots[4 * v + L.SLOT_FIRST] = elements[bounds[v]]
        scratch.slots[4 * v + L.SLOT_LAST] = elements[bounds[v + 1] - 1]
        for k in range(bounds[v], bounds[v + 1]):
            accumulate(program, v, elements[k], state_i, state_f, data)


@jit
def holds_for_every(program, constants, condition, elements, bounds, after_i, after_f, data, scratch):
    """Say whether a condition is true for every combination of elements of the groups it ranges over.

    ``describe`` must have been called for the same elements.
    """
    row = program[L.HEAD_CONDITION_TABLE] + condition * L.CONDITION_SIZE
    first = program[L.HEAD_EACH_TABLE] + program[row + L.CONDITION_EACH] * L.EACH_SIZE
    groups = program[row + L.CONDITION_EACH_END] - program[row + L.CONDITION_EACH]
    before_i, before_f = after_i.copy(), after_f.copy()
    index = np.zeros(groups, np.int64)
    for g in range(groups):
        v = program[first + g * L.EACH_SIZE + L.EACH_VARIABLE]
        if not begin_range(program, first, g, v, index, elements, bounds, before_i, before_f, data, scratch):
            return True
    while True:
        if (
            evaluate(program, constants, condition, before_i, before_f, after_i, after_f, data, scratch)
            != L.TRUE
        ):
            return False
        g = groups - 1
        while g >= 0:
            v = program[first + g * L.EACH_SIZE + L.EACH_VARIABLE]
            accumulate(program, v, elements[bounds[v] + index[g]], before_i, before_f, data)
            index[g] += 1
            if bounds[v] + index[g] < bounds[v + 1]:
                at = bounds[v] + index[g]
                scratch.slots[4 * v + L.SLOT_CURRENT] = elements[at]
                scratch.slots[4 * v + L.SLOT_PREVIOUS] = elements[at - 1]
                break
            begin_range(program, first, g, v, index, elements, bounds, before_i, before_f, data, scratch)
            g -= 1
        if g < 0:
            return True


@jit
def begin_range(program, first, g, v, index, elements, bounds, before_i, before_f, data, scratch):
    """Put a group's cursor on the first element of its range; say whether there is one."""
    lagged = program[first + g * L.EACH_SIZE + L.EACH_LAGGED]
    index[g] = lagged
    reset_accumulators(program, v, before_i, before_f)
    if bounds[v] + lagged >= bounds[v + 1]:
        return False
    at = bounds[v] + lagged
    scratch.slots[4 * v + L.SLOT_CURRENT] = elements[at]
    if lagged:
        scratch.slots[4 * v + L.SLOT_PREVIOUS] = elements[at - 1]
        accumulate(program, v, elements[bounds[v]], before_i, before_f, data)
    return True
