"""Lazy evaluation as a depth-first search over sorted candidates ([L] 4, 5, 7).

Events are stored first and bound in an order of our choice, the rarest first, instead of the order of
arrival.  A partial match is a stack of levels, one bound event each, so none is ever stored; matches
leave in bounded chunks, and a call that runs out of room is resumed where it stopped.

Steps form a tree: alternatives that begin alike share the levels of what is common ([L] 5).  With
``PLAN_TREE`` there is no order: the variable with the fewest candidates in reach comes next, and a
partial match is given up as soon as one variable has too few ([L] 7).  Then the stream is cut into
slices of a few windows, so that the first variable is chosen anew where rates change.
"""

from __future__ import annotations

import numpy as np

from fyke.engine.kernels import layout as L
from fyke.engine.kernels.conditions.work import begin_work, is_due
from fyke.engine.kernels.jit import entry, jit
from fyke.engine.kernels.lazy import layout as Z
from fyke.engine.kernels.lazy.absence import joint_absences_hold, single_absences_hold
from fyke.engine.kernels.lazy.arena import LazyArena
from fyke.engine.kernels.lazy.bind import (
    admissible,
    bind,
    fits_alone,
    keep_accumulators,
    keys_fit,
    may_bind,
    open_level,
    release,
    tests_hold,
)
from fyke.engine.kernels.lazy.leaf import finish_leaf, is_leaf, sort_bound
from fyke.engine.kernels.lazy.subsets import count_subsets, flush_tallies, tally_match
from fyke.engine.kernels.output.matches import has_room, write_match

OPENED = -1


@jit
def scan(w, level):
    """Bind the next candidate of a level that satisfies all that is decided now; say whether there is one."""
    lv = w.levels[level]
    row = w.plan[Z.PLAN_STEPS] + lv[Z.STEP] * Z.STEP_SIZE
    plain, base = w.plan[row + Z.STEP_PLAIN], w.plan[row + Z.STEP_CANDIDATES]
    count, number, places = lv[Z.INTERVALS], lv[Z.NUMBER], lv[Z.PLACES]
    at, end = lv[Z.AT], lv[Z.END]
    begin, found = at, False
    while at < end and not found:
        candidate = at if places < 0 else w.entries[at]
        at += 1
        if count > 0 and not keys_fit(w, level, candidate):
            continue
        position = w.candidates[base + candidate]
        if not plain and not may_bind(w, level, row, position, number):
            continue
        if level == 0 and not fits_alone(w, position):
            continue
        bind(w, level, row, candidate, position)
        found = lv[Z.FRESH] != 0 or lv[Z.HIGHEST] > w.cursor[Z.SEEK_FRESH]
        if found and not plain:
            first, last = w.plan[row + Z.STEP_CHECKS], w.plan[row + Z.STEP_CHECKS_END]
            found = tests_hold(w, level, first, last, number, level)
            if found and w.plan[row + Z.STEP_SINGLE_ABSENCES] < w.plan[row + Z.STEP_SINGLE_ABSENCES_END]:
                found = single_absences_hold(w, level, row)
            if found and w.plan[row + Z.STEP_JOINT_ABSENCES] < w.plan[row + Z.STEP_JOINT_ABSENCES_END]:
                found = joint_absences_hold(w, level, row)
    w.cursor[L.CURSOR_EVALUATIONS] += (at - begin) * count
    w.cursor[Z.SEEK_MEMORY] += at - begin
    w.work[L.WORK_DONE] += 2 + ((at - begin) >> 2 if plain else (at - begin) * (1 + (level >> 4)))
    lv[Z.AT] = at
    w.cursor[Z.SEEK_BOUND] += np.int64(found)
    if found and w.plan[Z.PLAN_ACCUMULATES]:
        w.work[L.WORK_DONE] += 2 + (len(w.kept_i[level]) >> 3)
        keep_accumulators(w, level, row)
    return found


# --- matches ------------------------------------------------------------------------------------


@jit
def emit(w, level, alternative):
    """Write the match of all levels; return whether there was room."""
    if not has_room(w, level + 1):
        return False
    sort_bound(w, level + 1)
    w.out_alternative[w.cursor[L.CURSOR_MATCHES]] = alternative
    write_match(w, w.prefix, level + 1)
    return True


@jit
def count_matches(w, number):
    """Count, or tally, the match of all bound variables as many times."""
    if w.plan[Z.PLAN_TALLY_COUNT] == 0:
        w.cursor[Z.SEEK_COUNT] += number
        return
    for _ in range(number):
        tally_match(w)


@jit
def accept(w, level):
    """Report the bound events to the alternatives they complete; return whether there was room."""
    lv = w.levels[level]
    if lv[Z.FRESH] == 0:
        return True
    row = w.plan[Z.PLAN_STEPS] + lv[Z.STEP] * Z.STEP_SIZE
    if w.plan[Z.PLAN_TREE]:
        choice = w.plan[Z.PLAN_ALTERNATIVES] + w.plan[row + Z.STEP_ALTERNATIVE] * Z.CHOICE_SIZE
        if lv[Z.BOUND] != w.plan[choice + Z.CHOICE_ALL]:
            return True
        if w.plan[Z.PLAN_COUNT_ONLY]:
            count_matches(w, 1)
            return True
        return emit(w, level, w.plan[choice + Z.CHOICE_NUMBER])
    first, last = w.plan[row + Z.STEP_ACCEPT], w.plan[row + Z.STEP_ACCEPT_END]
    if w.plan[Z.PLAN_COUNT_ONLY]:
        count_matches(w, last - first)
        return True
    while first + lv[Z.CHILD] < last:
        if not emit(w, level, w.plan[w.plan[Z.PLAN_ACCEPT] + first + lv[Z.CHILD]]):
            return False
        lv[Z.CHILD] += 1
    return True


# --- which variable next ---------------------------------------------------------------------------


@jit
def decided_by(w, row, bound):
    """Return how many conditions, at most four, relate a step's variable to bound ones only."""
    count = 0
    for k in range(w.plan[row + Z.STEP_COMPARISONS], w.plan[row + Z.STEP_COMPARISONS_END]):
        comparison = w.plan[Z.PLAN_COMPARISONS] + k * Z.COMPARISON_SIZE
        if (
            not w.plan[comparison + Z.COMPARISON_LAGGED]
            and w.lengths[w.plan[comparison + Z.COMPARISON_OTHER]] > 0
        ):
            count += 1
    bound |= w.plan[row + Z.STEP_BIT]
    for k in range(w.plan[row + Z.STEP_CHECKS], w.plan[row + Z.STEP_CHECKS_END]):
        if w.plan[w.plan[Z.PLAN_CHECKS] + k * Z.TEST_SIZE + Z.TEST_NEEDS] & ~bound == 0:
            count += 1
    return min(count, 4)


@jit
def choose(w, alternative, level):
    """Return the step of the unbound variable with the fewest candidates, -1 if one has too few.

    A condition with bound variables is taken to leave a quarter of the candidates: of two variables
    equally rare in the window, the one that is related to what is bound comes first.  Groups are bound
    when all single variables are ([L] 4.5).
    """
    choice = w.plan[Z.PLAN_ALTERNATIVES] + alternative * Z.CHOICE_SIZE
    bound = w.levels[level - 1, Z.BOUND] if level > 0 else 0
    singles = w.plan[choice + Z.CHOICE_SINGLES] & ~bound
    best, fewest = -1, np.int64(0)
    w.work[L.WORK_DONE] += w.plan[choice + Z.CHOICE_STEPS_END] - w.plan[choice + Z.CHOICE_STEPS]
    for step in range(w.plan[choice + Z.CHOICE_STEPS], w.plan[choice + Z.CHOICE_STEPS_END]):
        row = w.plan[Z.PLAN_STEPS] + step * Z.STEP_SIZE
        if w.plan[row + Z.STEP_BIT] & bound:
            continue
        low, high = admissible(w, level, row)
        role = w.plan[row + Z.STEP_ROLE]
        size = w.ranks[role, high] - w.ranks[role, low] if low < high else 0
        if size < w.plan[row + Z.STEP_MINIMUM]:
            return -1
        if w.plan[row + Z.STEP_GROUP] and singles:
            continue
        left = size << (8 - 2 * decided_by(w, row, bound))
        if best < 0 or left < fewest:
            best, fewest = step, left
    return best


@jit
def next_child(w, level):
    """Return the step that follows a bound level, -1 when there is no other."""
    lv = w.levels[level]
    row = w.plan[Z.PLAN_STEPS] + lv[Z.STEP] * Z.STEP_SIZE
    child = lv[Z.CHILD]
    lv[Z.CHILD] = child + 1
    if w.plan[Z.PLAN_TREE]:
        choice = w.plan[Z.PLAN_ALTERNATIVES] + w.plan[row + Z.STEP_ALTERNATIVE] * Z.CHOICE_SIZE
        if child > 0 or lv[Z.BOUND] == w.plan[choice + Z.CHOICE_ALL]:
            return -1
        return choose(w, w.plan[row + Z.STEP_ALTERNATIVE], level + 1)
    at = w.plan[row + Z.STEP_CHILDREN] + child
    if at >= w.plan[row + Z.STEP_CHILDREN_END]:
        return -1
    return w.plan[w.plan[Z.PLAN_CHILDREN] + at]


@jit
def next_slice(w):
    """Go on to the next slice of the stream, or to the next partition; say whether there is one."""
    segment = w.cursor[L.CURSOR_SEGMENT]
    begin = w.cursor[Z.SEEK_END]
    while segment < 0 or begin >= w.segments[segment, L.SEGMENT_END]:
        if segment >= 0:
            if w.plan[Z.PLAN_SUBSETS] or w.plan[Z.PLAN_TALLY_COUNT]:
                flush_tallies(w, segment)
            w.counts[segment] += w.cursor[Z.SEEK_COUNT]
            w.cursor[Z.SEEK_COUNT] = 0
            w.cursor[L.CURSOR_TRIED] += w.cursor[L.CURSOR_STEPS]
            w.cursor[L.CURSOR_STEPS] = 0
        begin_work(w)
        segment += 1
        w.cursor[L.CURSOR_SEGMENT] = segment
        if segment >= len(w.segments):
            return False
        begin = w.segments[segment, L.SEGMENT_NEW]
    end = w.segments[segment, L.SEGMENT_END]
    if w.plan[Z.PLAN_SLICE]:
        last = begin
        for _ in range(w.plan[Z.PLAN_SLICE]):
            if last < end:
                last = max(last + 1, w.reach[L.REACH_END, last])
        end = min(end, last)
    w.cursor[Z.SEEK_FRESH], w.cursor[Z.SEEK_END] = begin, end
    w.cursor[Z.SEEK_BEGIN] = w.reach[L.REACH_FIRST, begin]
    return True


@jit
def counts_groups(w, step):
    """Say whether a step binds a group whose subsets are only counted."""
    row = w.plan[Z.PLAN_STEPS] + step * Z.STEP_SIZE
    return w.plan[Z.PLAN_SUBSETS] and w.plan[row + Z.STEP_GROUP]


@jit
def first_group(w, step):
    """Return the step of the first group of the same alternative."""
    return w.plan[w.plan[Z.PLAN_STEPS] + step * Z.STEP_SIZE + Z.STEP_FIRST_GROUP]


@jit
def next_root(w, counts):
    """Open the first level of the next chain, slice or partition; return OPENED, or why there is none."""
    while True:
        if w.cursor[Z.SEEK_ROOT] >= w.plan[Z.PLAN_ROOTS]:
            if not next_slice(w):
                return L.DONE
            w.cursor[Z.SEEK_ROOT] = 0
        root = w.cursor[Z.SEEK_ROOT]
        w.cursor[Z.SEEK_ROOT] = root + 1
        step = choose(w, root, 0) if w.plan[Z.PLAN_TREE] else w.plan[w.plan[Z.PLAN_CHILDREN] + root]
        if counts is not None and step >= 0 and counts_groups(w, step):
            status = count_subsets(w, np.int64(0), first_group(w, step))
            if status != L.DONE:
                w.cursor[Z.SEEK_ROOT] = root
                return status
            continue
        if step >= 0 and open_level(w, 0, step, 1):
            w.cursor[Z.SEEK_LEVEL] = 0
            return OPENED


@jit
def after_binding(w, level):
    """Return the phase after a binding: a group that is too short, or may not end here, is not accepted."""
    lv = w.levels[level]
    lv[Z.CHILD] = 0
    row = w.plan[Z.PLAN_STEPS] + lv[Z.STEP] * Z.STEP_SIZE
    if not w.plan[row + Z.STEP_GROUP]:
        return Z.ACCEPT
    if lv[Z.NUMBER] < w.plan[row + Z.STEP_MINIMUM]:
        return Z.EXTEND
    first, last = w.plan[row + Z.STEP_CLOSE], w.plan[row + Z.STEP_CLOSE_END]
    return Z.ACCEPT if tests_hold(w, level, first, last, lv[Z.NUMBER], level + 1) else Z.EXTEND


@jit
def search(w, counts):
    """Search on from where the cursor says; return why it stopped.

    ``counts`` is None unless subsets of groups are counted: then the compiler leaves the counting out, which
    would take it as long as all the rest.
    """
    while True:
        level = w.cursor[Z.SEEK_LEVEL]
        if level < 0:
            status = next_root(w, counts)
            if status != OPENED:
                return status
            continue
        lv = w.levels[level]
        phase = lv[Z.PHASE]
        row = w.plan[Z.PLAN_STEPS] + lv[Z.STEP] * Z.STEP_SIZE
        if phase == Z.SCAN:
            if is_leaf(w, level):
                if not finish_leaf(w, level):
                    return L.NEED_OUTPUT
                w.cursor[Z.SEEK_LEVEL] = level - 1
            elif scan(w, level):
                lv[Z.PHASE] = after_binding(w, level)
            else:
                release(w, level)
                w.cursor[Z.SEEK_LEVEL] = level - 1
            if is_due(w):
                return L.PAUSE
        elif phase == Z.ACCEPT:
            if not accept(w, level):
                return L.NEED_OUTPUT
            lv[Z.CHILD], lv[Z.PHASE] = 0, Z.CHILDREN
        elif level + 2 >= len(w.levels):
            return L.NEED_SCRATCH
        elif phase == Z.CHILDREN:
            child = lv[Z.CHILD]
            step = next_child(w, level)
            if counts is not None and step >= 0 and counts_groups(w, step):
                status = count_subsets(w, level + 1, first_group(w, step))
                if status != L.DONE:
                    lv[Z.CHILD] = child
                    return status
                continue
            if step < 0:
                lv[Z.PHASE] = Z.EXTEND if w.plan[row + Z.STEP_GROUP] else Z.SCAN
            elif open_level(w, level + 1, step, 1):
                w.cursor[Z.SEEK_LEVEL] = level + 1
        else:
            lv[Z.PHASE] = Z.SCAN
            number = lv[Z.NUMBER]
            if number < w.plan[row + Z.STEP_MAXIMUM] and open_level(w, level + 1, lv[Z.STEP], number + 1):
                w.cursor[Z.SEEK_LEVEL] = level + 1


@entry
def run_lazy(arena: LazyArena):
    """Search for matches; see :func:`search`."""
    return search(arena, None)


@entry
def run_lazy_counting(arena: LazyArena):
    """Search as :func:`run_lazy` does, for plans that count the subsets of groups."""
    return search(arena, True)
