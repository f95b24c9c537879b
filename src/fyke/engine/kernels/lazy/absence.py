"""Absences in a lazy search, checked at the first chance ([L] 4.4.2).

An absence of one event is a scan of its candidates between the bound neighbours.  One that takes
several events is decided by the search of :mod:`fyke.engine.kernels.selection.absence`, on the program of its
alternative and on those events that are bound so far.
"""

from __future__ import annotations

import numpy as np

from fyke.engine.kernels import layout as L
from fyke.engine.kernels.conditions.keys import compares
from fyke.engine.kernels.conditions.work import is_spent
from fyke.engine.kernels.jit import jit
from fyke.engine.kernels.lazy import layout as Z
from fyke.engine.kernels.lazy.bind import narrow, tests_hold
from fyke.engine.kernels.selection.absence import between, can_add


@jit
def is_there(w, level, absence, candidate, position):
    """Say whether an event is what an absence forbids beside the bound events."""
    v = w.plan[absence + Z.SINGLE_ABSENCE_VARIABLE]
    for k in range(
        w.plan[absence + Z.SINGLE_ABSENCE_COMPARISONS], w.plan[absence + Z.SINGLE_ABSENCE_COMPARISONS_END]
    ):
        comparison = w.plan[Z.PLAN_COMPARISONS] + k * Z.COMPARISON_SIZE
        old = w.keys[
            w.plan[comparison + Z.COMPARISON_OLD] + w.chosen[w.plan[comparison + Z.COMPARISON_OTHER]]
        ]
        new = w.keys[w.plan[comparison + Z.COMPARISON_NEW] + candidate]
        w.cursor[L.CURSOR_EVALUATIONS] += 1
        if not compares(w.plan[comparison + Z.COMPARISON_OPERATOR], new, old):
            return False
    low, high = w.events[L.EVENT_LOW, position], w.events[L.EVENT_HIGH, position]
    if not w.plan[Z.PLAN_POINTS]:
        lists = w.plan[Z.PLAN_LIST]
        for at in range(
            lists + w.plan[absence + Z.SINGLE_ABSENCE_BEFORE],
            lists + w.plan[absence + Z.SINGLE_ABSENCE_BEFORE_END],
        ):
            if w.events[L.EVENT_HIGH, w.slots[4 * w.plan[at] + L.SLOT_LAST]] >= low:
                return False
        for at in range(
            lists + w.plan[absence + Z.SINGLE_ABSENCE_AFTER],
            lists + w.plan[absence + Z.SINGLE_ABSENCE_AFTER_END],
        ):
            if high >= w.events[L.EVENT_LOW, w.slots[4 * w.plan[at] + L.SLOT_FIRST]]:
                return False
    for k in range(level + 1):
        if w.levels[k, Z.POSITION] == position:
            return False
    first, last = w.plan[absence + Z.SINGLE_ABSENCE_CHECKS], w.plan[absence + Z.SINGLE_ABSENCE_CHECKS_END]
    if first == last:
        return True
    w.lengths[v] = 1
    for slot in (L.SLOT_CURRENT, L.SLOT_FIRST, L.SLOT_LAST):
        w.slots[4 * v + slot] = position
    holds = tests_hold(w, level, first, last, 1, 0)
    w.lengths[v] = 0
    return holds


@jit
def single_absences_hold(w, level, row):
    """Check the absences that a step decides ([L] 4.4.2): none of their events may be there."""
    bound = w.levels[level, Z.BOUND]
    for k in range(w.plan[row + Z.STEP_SINGLE_ABSENCES], w.plan[row + Z.STEP_SINGLE_ABSENCES_END]):
        absence = w.plan[Z.PLAN_SINGLE_ABSENCES] + k * Z.SINGLE_ABSENCE_SIZE
        if w.plan[absence + Z.SINGLE_ABSENCE_NEEDS] & ~bound:
            continue
        w.cursor[Z.SEEK_ABSENCES] += 1
        lists = w.plan[Z.PLAN_LIST]
        low, high = narrow(
            w,
            lists + w.plan[absence + Z.SINGLE_ABSENCE_BEFORE],
            lists + w.plan[absence + Z.SINGLE_ABSENCE_BEFORE_END],
            lists + w.plan[absence + Z.SINGLE_ABSENCE_AFTER],
            lists + w.plan[absence + Z.SINGLE_ABSENCE_AFTER_END],
            np.int64(0),
            w.cursor[Z.SEEK_END],
        )
        if low >= high:
            continue
        role = w.plan[absence + Z.SINGLE_ABSENCE_ROLE]
        for candidate in range(w.ranks[role, low], w.ranks[role, high]):
            w.cursor[Z.SEEK_MEMORY] += 1
            w.work[L.WORK_DONE] += 1
            position = w.candidates[w.plan[absence + Z.SINGLE_ABSENCE_CANDIDATES] + candidate]
            if is_there(w, level, absence, candidate, position):
                return False
    return True


@jit
def are_there(w, level, joint):
    """Say whether the bound events leave what an absence of several events forbids.

    Its events lie between bound ones, so only rows between the first and the last of these are looked
    at.  A search that has cost all it may says yes; the host then raises the limit.
    """
    steps, numbers = w.plan[Z.PLAN_STEPS], w.plan[Z.PLAN_LIST] + w.plan[joint + Z.JOINT_ABSENCE_NUMBERS]
    first = last = w.levels[level, Z.POSITION]
    for k in range(level + 1):
        position = w.levels[k, Z.POSITION]
        w.added[k, 0] = position
        w.added[k, 1] = w.plan[numbers + w.plan[steps + w.levels[k, Z.STEP] * Z.STEP_SIZE + Z.STEP_VARIABLE]]
        first, last = min(first, position), max(last, position)
    own = w.beside[w.plan[joint + Z.JOINT_ABSENCE_ARENA]]
    absence = w.plan[joint + Z.JOINT_ABSENCE_ROW]
    whole = (first + 1, last)
    rows = between(own, absence, w.added, level + 1, first + 1, last)
    w.looked[0] = 0
    done = w.work[L.WORK_DONE]
    there = can_add(own, absence, rows, whole, w.added, level + 1, w.frames, w.looked, w.place, False)
    w.cursor[Z.SEEK_MEMORY] += w.looked[0]
    w.cursor[Z.SEEK_ABSENT] += w.work[L.WORK_DONE] - done
    return there or is_spent(w)


@jit
def joint_absences_hold(w, level, row):
    """Check the absences of several events that a step decides: they may not be there together."""
    bound = w.levels[level, Z.BOUND]
    for k in range(w.plan[row + Z.STEP_JOINT_ABSENCES], w.plan[row + Z.STEP_JOINT_ABSENCES_END]):
        joint = w.plan[Z.PLAN_JOINT_ABSENCES] + k * Z.JOINT_ABSENCE_SIZE
        if w.plan[joint + Z.JOINT_ABSENCE_NEEDS] & ~bound:
            continue
        w.cursor[Z.SEEK_ABSENCES] += 1
        if are_there(w, level, joint):
            return False
    return True
