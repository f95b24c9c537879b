"""The last variable of a lazy search: its candidates need not be bound, only counted, tallied or written."""

from __future__ import annotations

import numpy as np

from fyke.engine.kernels import layout as L
from fyke.engine.kernels.jit import jit
from fyke.engine.kernels.lazy import layout as Z
from fyke.engine.kernels.lazy.bind import is_last, keys_fit
from fyke.engine.kernels.lazy.subsets import tally_match
from fyke.engine.kernels.output.matches import insert_binding


@jit
def is_leaf(w, level):
    """Say whether what is left is to count, or write, the candidates of the last variable."""
    row = w.plan[Z.PLAN_STEPS] + w.levels[level, Z.STEP] * Z.STEP_SIZE
    if not w.plan[row + Z.STEP_PLAIN] or level == 0:
        return False
    if w.plan[Z.PLAN_TREE]:
        return is_last(w, level, row)
    return w.plan[row + Z.STEP_LEAF] != 0


@jit
def count_leaf(w, level):
    """Return how many candidates of a plain last variable satisfy its intervals."""
    lv, row = w.levels[level], w.intervals[level]
    at, end, count = lv[Z.AT], lv[Z.END], lv[Z.INTERVALS]
    if count == 0:
        return end - at
    total = 0
    if count == 1 and row[Z.INTERVAL_OUTSIDE] == 0 and lv[Z.PLACES] < 0:
        low, high = row[Z.INTERVAL_LOW], row[Z.INTERVAL_HIGH]
        keys, base = w.keys, row[Z.INTERVAL_KEYS]
        for candidate in range(at, end):
            key = keys[base + candidate]
            total += np.int64(low <= key) & np.int64(key <= high)
        return total
    for place in range(at, end):
        candidate = place if lv[Z.PLACES] < 0 else w.entries[place]
        total += np.int64(keys_fit(w, level, candidate))
    return total


@jit
def sort_bound(w, count):
    """Write the bound events of ``count`` levels to ``prefix``, positions and variables, in order."""
    steps = w.plan[Z.PLAN_STEPS]
    for k in range(count):
        position = w.levels[k, Z.POSITION]
        variable = w.plan[steps + w.levels[k, Z.STEP] * Z.STEP_SIZE + Z.STEP_VARIABLE]
        insert_binding(w.prefix, k, position, variable)


@jit
def list_fits(w, level, at, end):
    """Write the places of a plain last variable whose candidates fit to ``fits``; return how many they are.

    Few fit, here and there: a branch for each would be guessed wrong as often.
    """
    lv, row, fits = w.levels[level], w.intervals[level], w.fits
    count, places = lv[Z.INTERVALS], lv[Z.PLACES]
    found = 0
    if count == 1 and row[Z.INTERVAL_OUTSIDE] == 0 and places < 0:
        low, high = row[Z.INTERVAL_LOW], row[Z.INTERVAL_HIGH]
        keys, base = w.keys, row[Z.INTERVAL_KEYS]
        for place in range(at, end):
            key = keys[base + place]
            fits[found] = place  # stays if it fits, else the next one takes its place
            found += np.int64(low <= key) & np.int64(key <= high)
        return found
    for place in range(at, end):
        fits[found] = place
        found += np.int64(keys_fit(w, level, place if places < 0 else w.entries[place]))
    return found


@jit
def write_with(w, level, out, position, variable):
    """Write the sorted bound events of ``level`` levels and one more, in order."""
    prefix, half = w.prefix, len(w.prefix) // 2
    positions, variables = w.out_positions, w.out_variables
    k = 0
    while k < level and prefix[k] < position:
        positions[out + k] = prefix[k]
        variables[out + k] = prefix[half + k]
        k += 1
    positions[out + k] = position
    variables[out + k] = variable
    while k < level:
        positions[out + k + 1] = prefix[k]
        variables[out + k + 1] = prefix[half + k]
        k += 1


@jit
def emit_leaf(w, level, alternative):
    """Write the matches of a plain last variable; return whether there was room for all."""
    lv = w.levels[level]
    row = w.plan[Z.PLAN_STEPS] + lv[Z.STEP] * Z.STEP_SIZE
    base, variable = w.plan[row + Z.STEP_CANDIDATES], w.plan[row + Z.STEP_VARIABLE]
    at, end, places = lv[Z.AT], lv[Z.END], lv[Z.PLACES]
    matches, out = w.cursor[L.CURSOR_MATCHES], w.cursor[L.CURSOR_BINDINGS]
    room = min((len(w.out_positions) - out) // (level + 1), len(w.offsets) - 1 - matches)
    bound = False
    while at < end:
        stop = min(end, at + len(w.fits))
        found = list_fits(w, level, at, stop)
        if found and not bound:  # many a leaf has no match
            sort_bound(w, level)
            bound = True
        for k in range(min(found, room)):
            place = w.fits[k]
            position = w.candidates[base + (place if places < 0 else w.entries[place])]
            write_with(w, level, out, position, variable)
            out += level + 1
            w.out_alternative[matches] = alternative
            matches += 1
            w.offsets[matches] = out
        at = stop if found <= room else w.fits[room]
        if found > room:
            break
        room -= found
    w.cursor[L.CURSOR_EVALUATIONS] += (at - lv[Z.AT]) * lv[Z.INTERVALS]
    w.cursor[Z.SEEK_MEMORY] += at - lv[Z.AT]
    w.work[L.WORK_DONE] += matches - w.cursor[L.CURSOR_MATCHES]
    w.cursor[L.CURSOR_MATCHES], w.cursor[L.CURSOR_BINDINGS] = matches, out
    lv[Z.AT] = at
    return at == end


@jit
def tally_leaf(w, level):
    """Tally the matches of a plain last variable."""
    lv = w.levels[level]
    row = w.plan[Z.PLAN_STEPS] + lv[Z.STEP] * Z.STEP_SIZE
    base, v = w.plan[row + Z.STEP_CANDIDATES], w.plan[row + Z.STEP_VARIABLE]
    at, end, places = lv[Z.AT], lv[Z.END], lv[Z.PLACES]
    w.lengths[v] = 1
    while at < end:
        stop = min(end, at + len(w.fits))
        found = list_fits(w, level, at, stop)
        w.work[L.WORK_DONE] += found
        for k in range(found):
            place = w.fits[k]
            w.slots[4 * v + L.SLOT_CURRENT] = w.candidates[base + (place if places < 0 else w.entries[place])]
            tally_match(w)
        at = stop
    w.lengths[v] = 0


@jit
def finish_leaf(w, level):
    """Count, tally or write what the last variable leaves; return whether there was room."""
    lv = w.levels[level]
    w.work[L.WORK_DONE] += 1 + ((lv[Z.END] - lv[Z.AT]) >> 3)
    if w.plan[Z.PLAN_COUNT_ONLY]:
        w.cursor[L.CURSOR_EVALUATIONS] += (lv[Z.END] - lv[Z.AT]) * lv[Z.INTERVALS]
        w.cursor[Z.SEEK_MEMORY] += lv[Z.END] - lv[Z.AT]
        if w.plan[Z.PLAN_TALLY_COUNT]:
            tally_leaf(w, level)
        else:
            w.cursor[Z.SEEK_COUNT] += count_leaf(w, level)
        return True
    row = w.plan[Z.PLAN_STEPS] + lv[Z.STEP] * Z.STEP_SIZE
    if w.plan[Z.PLAN_TREE]:
        choice = w.plan[Z.PLAN_ALTERNATIVES] + w.plan[row + Z.STEP_ALTERNATIVE] * Z.CHOICE_SIZE
        return emit_leaf(w, level, w.plan[choice + Z.CHOICE_NUMBER])
    accepted = w.plan[w.plan[Z.PLAN_ACCEPT] + w.plan[row + Z.STEP_ACCEPT]]
    return emit_leaf(w, level, accepted)
