"""Conditions as data: a small typed stack machine that evaluates them inside the kernels.

``slots`` holds, four a variable, the positions of the elements a condition may load from;
``before_*`` the accumulators of the elements before the current one, ``after_*`` those of all.
Null is a flag beside the value, logic is three-valued, NaN equals itself and is greatest.
"""

from __future__ import annotations

import math

import numpy as np

from fyke.engine.kernels import layout as L
from fyke.engine.kernels.conditions.arena import ConditionArena
from fyke.engine.kernels.conditions.user_functions import call_external
from fyke.engine.kernels.jit import jit

LARGEST = np.int64(2**63 - 1)
SMALLEST = np.int64(-(2**63))


@jit
def compare_floats(x, y):
    """Return -1, 0 or 1 in Spark's order: NaN equals NaN and is greater than everything else."""
    if x != x:
        return 0 if y != y else 1
    if y != y:
        return -1
    return -1 if x < y else (1 if x > y else 0)


@jit
def decide(order, operator):
    """Turn an order (-1, 0, 1) into the truth of the operator numbered from EQ."""
    if operator == 0:
        return 1 if order == 0 else 0
    if operator == 1:
        return 1 if order != 0 else 0
    if operator == 2:
        return 1 if order < 0 else 0
    if operator == 3:
        return 1 if order <= 0 else 0
    if operator == 4:
        return 1 if order > 0 else 0
    return 1 if order >= 0 else 0


@jit
def correlation(w: ConditionArena, first, second, x, y):
    """Pearson's correlation of two lists, or NaN flagged by the second result as undefined."""
    a, a_end = w.lists[first, x], w.lists[first, x + 1]
    b, b_end = w.lists[second, y], w.lists[second, y + 1]
    n = a_end - a
    if n != b_end - b or n < 2:
        return 0.0, 1
    mean_x, mean_y = 0.0, 0.0
    w.work[L.WORK_DONE] += n >> 3
    for i in range(n):
        mean_x += w.values[a + i]
        mean_y += w.values[b + i]
    mean_x /= n
    mean_y /= n
    xx, yy, xy = 0.0, 0.0, 0.0
    for i in range(n):
        dx, dy = w.values[a + i] - mean_x, w.values[b + i] - mean_y
        xx += dx * dx
        yy += dy * dy
        xy += dx * dy
    if xx <= 0.0 or yy <= 0.0:
        return 0.0, 1
    return xy / math.sqrt(xx * yy), 0


@jit
def sum_overflows(x, y):
    """Say whether the sum of two integers leaves int64."""
    return (y > 0 and x > LARGEST - y) or (y < 0 and x < SMALLEST - y)


@jit
def product_overflows(x, y):
    """Say whether the product of two integers leaves int64."""
    if x == 0 or y == 0 or x == 1 or y == 1:
        return False
    if x == SMALLEST or y == SMALLEST:
        return True
    size, other = abs(x), abs(y)
    if size <= LARGEST // other:
        return False
    # The one product beyond the largest integer that fits is the smallest.
    return (x < 0) == (y < 0) or size != LARGEST // other + 1 or LARGEST % other != other - 1


@jit
def integer_arithmetic(op, x, y):
    """Return (result, null) of int64 arithmetic; what leaves int64 is null.

    Overflow is told before it happens: compiled arithmetic is free to assume that there is none.
    """
    if op == L.ADD_I:
        return (np.int64(0), 1) if sum_overflows(x, y) else (x + y, 0)
    if op == L.SUB_I:
        if (y < 0 and x > LARGEST + y) or (y > 0 and x < SMALLEST + y):
            return np.int64(0), 1
        return x - y, 0
    if op == L.MUL_I:
        return (np.int64(0), 1) if product_overflows(x, y) else (x * y, 0)
    if y == 0:
        return np.int64(0), 1
    if y == -1:
        return np.int64(0), 0
    r = x % y
    if r != 0 and (r < 0) != (x < 0):
        r -= y
    return r, 0


@jit
def float_arithmetic(op, x, y):
    """Return (result, null) of float arithmetic; division by zero is null."""
    if op == L.ADD_F:
        return x + y, 0
    if op == L.SUB_F:
        return x - y, 0
    if op == L.MUL_F:
        return x * y, 0
    if op == L.POW:
        # As Java has it, where C says 1.
        undefined = y != y or (abs(x) == 1.0 and np.isinf(y))
        return (np.nan if undefined else x**y), 0
    if y == 0.0:
        return 0.0, 1
    return (x / y, 0) if op == L.DIV_F else (np.fmod(x, y), 0)


@jit
def float_function(op, x):
    """Return (result, null) of a function of one float."""
    if op == L.ABS_F:
        return abs(x), 0
    if op == L.SIGN_F:
        return (x if x != x else (1.0 if x > 0 else (-1.0 if x < 0 else 0.0))), 0
    if op == L.SQRT:
        return (math.sqrt(x) if x >= 0.0 else np.nan), 0
    if op == L.EXP:
        return np.exp(x), 0
    if x <= 0.0:
        return 0.0, 1
    if op == L.LN:
        return math.log(x), 0
    return (math.log10(x), 0) if op == L.LOG10 else (math.log2(x), 0)


@jit
def load_aggregate(w: ConditionArena, op, a, b, state_i, state_f, sp):
    """Push the value of an accumulator that starts at slot ``a``; ``b`` is its count, or a column."""
    w.nulls[sp] = 0
    if op == L.ACC_LOAD_I:
        w.stack_i[sp] = state_i[a]
        if b >= 0:  # a sum: null without values, or if it has left int64 (the carry says so)
            w.nulls[sp] = 1 if state_i[b] == 0 or state_i[b + 1] != 0 else 0
    elif op == L.ACC_LOAD_F:
        w.stack_f[sp] = state_f[a]
        w.nulls[sp] = 1 if state_i[b] == 0 else 0
    elif op == L.ACC_AVERAGE:
        w.nulls[sp] = 1 if state_i[b] == 0 else 0
        w.stack_f[sp] = state_f[a] / max(1, state_i[b])
    elif op == L.ACC_DEVIATION:
        w.nulls[sp] = 1 if state_i[b] < 2 else 0
        w.stack_f[sp] = np.sqrt(state_f[a + 1] / max(1, state_i[b] - 1))
    else:
        p = state_i[a]
        w.nulls[sp] = 1 if p < 0 else 0
        if op == L.ACC_ELEMENT_I:
            w.stack_i[sp] = w.cols_i[b, max(p, 0)]
        else:
            w.stack_f[sp] = w.cols_f[b, max(p, 0)]


@jit
def compare_loads(w: ConditionArena, at, op):
    """Return (truth, null) of a comparison of two loaded attributes, the most common condition."""
    a, b = w.program[at + 1], w.program[at + 3]
    x, y = w.slots[w.program[at + 2]], w.slots[w.program[at + 4]]
    if op == L.COMPARE_LOADS_I:
        null = 0 if w.valid_i[a, x] and w.valid_i[b, y] else 1
        left, right = w.cols_i[a, x], w.cols_i[b, y]
        order = -1 if left < right else (1 if left > right else 0)
    else:
        null = 0 if w.valid_f[a, x] and w.valid_f[b, y] else 1
        order = compare_floats(w.cols_f[a, x], w.cols_f[b, y])
    return decide(order, w.program[at + 5]), null


@jit
def load(w: ConditionArena, op, a, b, sp):
    """Push an attribute or a constant."""
    w.nulls[sp] = 0
    if op == L.LOAD_I:
        at = w.slots[b]
        w.stack_i[sp] = w.cols_i[a, at]
        w.nulls[sp] = 0 if w.valid_i[a, at] else 1
    elif op == L.LOAD_F:
        at = w.slots[b]
        w.stack_f[sp] = w.cols_f[a, at]
        w.nulls[sp] = 0 if w.valid_f[a, at] else 1
    elif op == L.CONST_I:
        w.stack_i[sp] = a
    elif op == L.CONST_F:
        w.stack_f[sp] = w.constants[a]
    else:
        w.nulls[sp] = 1
        w.stack_i[sp] = 0
        w.stack_f[sp] = 0.0


@jit
def evaluate(w: ConditionArena, condition, before_i, before_f, after_i, after_f):
    """Return FALSE, TRUE or UNKNOWN: the truth of a condition for the elements in ``w.slots``."""
    row = w.program[L.HEAD_CONDITION_TABLE] + condition * L.CONDITION_SIZE
    at = w.program[L.HEAD_CODE] + w.program[row + L.CONDITION_CODE] * L.INSTRUCTION_SIZE
    end = w.program[L.HEAD_CODE] + w.program[row + L.CONDITION_CODE_END] * L.INSTRUCTION_SIZE
    sp = 0
    w.work[L.WORK_DONE] += 1 + ((end - at) >> 4)
    while at < end:
        op = w.program[at]
        a, b = w.program[at + 1], w.program[at + 2]
        if op >= L.COMPARE_LOADS_I:
            truth, null = compare_loads(w, at, op)
            w.stack_i[sp] = truth
            w.nulls[sp] = null
            sp += 1
        elif op <= L.NULL:
            load(w, op, a, b, sp)
            sp += 1
        elif op < L.LENGTH:
            if w.program[at + 3] == 0:
                load_aggregate(w, op, a, b, before_i, before_f, sp)
            else:
                load_aggregate(w, op, a, b, after_i, after_f, sp)
            sp += 1
        elif op == L.LENGTH:
            w.stack_i[sp] = w.lengths[a]
            w.nulls[sp] = 0
            sp += 1
        else:
            sp = operate(w, at, op, sp)
        at += L.INSTRUCTION_SIZE
    if w.nulls[0]:
        return L.UNKNOWN
    return L.TRUE if w.stack_i[0] != 0 else L.FALSE


@jit
def operate(w: ConditionArena, at, op, sp):
    """Apply an operator to the top of the stack and return the new height."""
    stack_i, stack_f, nulls = w.stack_i, w.stack_f, w.nulls
    top, under = sp - 1, sp - 2
    if op <= L.SCALE_TO_FLOAT:
        if op == L.TO_FLOAT:
            stack_f[top] = float(stack_i[top])
        elif op == L.SCALE_UP:
            scaled, overflow = integer_arithmetic(L.MUL_I, stack_i[top], w.program[at + 1])
            if overflow and w.program[at + 2]:  # for a comparison: beyond every decimal that fits
                stack_i[top] = LARGEST if stack_i[top] > 0 else SMALLEST
            else:
                stack_i[top] = scaled
                nulls[top] |= overflow
        else:
            stack_f[top] = stack_i[top] / w.constants[w.program[at + 1]]
        return sp
    if op == L.NEG_I:
        nulls[top] |= 1 if stack_i[top] == SMALLEST else 0
        stack_i[top] = -stack_i[top]
        return sp
    if op == L.NEG_F:
        stack_f[top] = -stack_f[top]
        return sp
    if op <= L.MOD_I:
        whole, null = integer_arithmetic(op, stack_i[under], stack_i[top])
        stack_i[under] = whole
        nulls[under] |= nulls[top] | null
        return top
    if op <= L.MOD_F or op == L.POW:
        real, null = float_arithmetic(op, stack_f[under], stack_f[top])
        stack_f[under] = real
        nulls[under] |= nulls[top] | null
        return top
    if op <= L.GE_F:
        if op <= L.GE_I:
            x, y = stack_i[under], stack_i[top]
            stack_i[under] = decide(-1 if x < y else (1 if x > y else 0), op - L.EQ_I)
        else:
            stack_i[under] = decide(compare_floats(stack_f[under], stack_f[top]), op - L.EQ_F)
        nulls[under] |= nulls[top]
        return top
    if op <= L.IS_NULL:
        return logic(op, stack_i, nulls, sp)
    if op <= L.CEIL:
        return numeric_function(op, stack_i, stack_f, nulls, sp)
    if op < L.CORRELATION:
        return choice(op, stack_i, stack_f, nulls, sp)
    return list_or_user_function(w, at, op, sp)


@jit
def list_or_user_function(w: ConditionArena, at, op, sp):
    """CORRELATION of two lists, or CALL of a registered function."""
    if op == L.CORRELATION:
        x, y = w.slots[w.program[at + 2]], w.slots[w.program[at + 4]]
        value, null = correlation(w, w.program[at + 1], w.program[at + 3], x, y)
        w.stack_f[sp] = value
        w.nulls[sp] = null
        return sp + 1
    count = w.program[at + 2]
    first = sp - count
    missing = 0
    for k in range(first, sp):
        missing |= w.nulls[k]
    if missing == 0:
        w.stack_f[first] = call_external(w.addresses[w.program[at + 1]], count, w.stack_f, first)
    w.nulls[first] = missing
    return first + 1


@jit
def logic(op, stack_i, nulls, sp):
    """Three-valued AND, OR, NOT, and IS NULL."""
    top, under = sp - 1, sp - 2
    if op == L.NOT:
        stack_i[top] = 1 - stack_i[top]
        return sp
    if op == L.IS_NULL:
        stack_i[top] = nulls[top]
        nulls[top] = 0
        return sp
    absorbing = 0 if op == L.AND else 1
    left_known = nulls[under] == 0
    right_known = nulls[top] == 0
    if (left_known and stack_i[under] == absorbing) or (right_known and stack_i[top] == absorbing):
        stack_i[under] = absorbing
        nulls[under] = 0
    else:
        stack_i[under] = 1 - absorbing
        nulls[under] = 0 if left_known and right_known else 1
    return top


@jit
def saturated(x):
    """Return a whole float as int64 the way Spark casts it: NaN is 0, what is too large the largest."""
    if x != x:
        return np.int64(0)
    if x >= 9223372036854775808.0:
        return LARGEST
    if x <= -9223372036854775808.0:
        return SMALLEST
    return np.int64(x)


@jit
def numeric_function(op, stack_i, stack_f, nulls, sp):
    """Functions of one number."""
    top = sp - 1
    if op == L.ABS_I:
        nulls[top] |= 1 if stack_i[top] == SMALLEST else 0
        stack_i[top] = abs(stack_i[top])
    elif op == L.FLOOR or op == L.CEIL:
        stack_i[top] = saturated(np.floor(stack_f[top]) if op == L.FLOOR else np.ceil(stack_f[top]))
    else:
        stack_f[top], null = float_function(op, stack_f[top])
        nulls[top] |= null
    return sp


@jit
def choice(op, stack_i, stack_f, nulls, sp):
    """LEAST, GREATEST, COALESCE, NULLIF, IF."""
    top, under = sp - 1, sp - 2
    if op == L.IF_I or op == L.IF_F:
        test = sp - 3
        chosen = under if nulls[test] == 0 and stack_i[test] != 0 else top
        stack_i[test], stack_f[test], nulls[test] = stack_i[chosen], stack_f[chosen], nulls[chosen]
        return under
    take_right = False
    if nulls[under]:
        take_right = op != L.NULLIF_I and op != L.NULLIF_F
    elif (nulls[top] == 0 and op < L.COALESCE_I) or (op >= L.NULLIF_I and nulls[top] == 0):
        if op == L.LEAST_I or op == L.GREATEST_I or op == L.NULLIF_I:
            order = -1 if stack_i[under] < stack_i[top] else (1 if stack_i[under] > stack_i[top] else 0)
        else:
            order = compare_floats(stack_f[under], stack_f[top])
        if op == L.LEAST_I or op == L.LEAST_F:
            take_right = order > 0
        elif op == L.GREATEST_I or op == L.GREATEST_F:
            take_right = order < 0
        elif order == 0:
            nulls[under] = 1
    if take_right:
        stack_i[under], stack_f[under], nulls[under] = stack_i[top], stack_f[top], nulls[top]
    return top
