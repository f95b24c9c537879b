"""Which of a few names each string is."""

from __future__ import annotations

import numpy as np

from fyke.engine.kernels.jit import jit

SLOTS = 1024
_TRIES = 64


@jit
def _slot(data, begin, length, seed):
    """Return a small hash of a string: of its length, its first and its last byte."""
    if length == 0:
        return 0
    return ((data[begin] * 31 + data[begin + length - 1]) * seed + length) & (SLOTS - 1)


@jit
def _fill_slots(name_offsets, names, slots):
    """Give each name a slot of its own; return the seed of the hash that does so, 0 if none is found."""
    for attempt in range(_TRIES):
        seed, free = 2 * attempt + 1, True
        slots[:] = -1
        for k in range(len(name_offsets) - 1):
            first = name_offsets[k]
            at = _slot(names, first, name_offsets[k + 1] - first, seed)
            free &= slots[at] < 0
            slots[at] = k
        if free:
            return seed
    return 0


@jit
def _is_name(data, begin, length, name_offsets, names, k):
    first = name_offsets[k]
    if name_offsets[k + 1] - first != length:
        return False
    at = 0
    while at < length and data[begin + at] == names[first + at]:
        at += 1
    return at == length


@jit
def match_names(offsets, data, name_offsets, names, codes):
    """Write the number of the name that each string between neighbouring offsets is; -1 for none."""
    slots = np.empty(SLOTS, np.int32)
    seed = _fill_slots(name_offsets, names, slots)
    for row in range(len(codes)):
        begin = offsets[row]
        length = offsets[row + 1] - begin
        codes[row] = -1
        if seed:  # one name at most is worth comparing with
            k = slots[_slot(data, begin, length, seed)]
            if k >= 0 and _is_name(data, begin, length, name_offsets, names, k):
                codes[row] = k
            continue
        for k in range(len(name_offsets) - 1):
            if _is_name(data, begin, length, name_offsets, names, k):
                codes[row] = k
                break


@jit
def look_up(codes, table, values):
    """Write what a table holds for each code; its last place is that of codes below 0."""
    for row in range(len(codes)):
        values[row] = table[codes[row]]
