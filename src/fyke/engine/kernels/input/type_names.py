"""Which of a few names each string is."""

from __future__ import annotations

import numpy as np

from fyke.engine.kernels.jit import entry, jit
from fyke.engine.kernels.kinds import Bytes, Codes, Integers

BLOCK = 4096  # strings whose keys stay in the processor's nearest cache
_LONGEST = np.int32(2**15 - 1)


@jit
def _write_keys(offsets, data, begin, keys, count):
    """Write for each string its length with its first and its last byte: all there is to those of two."""
    for k in range(count):
        at, end = offsets[begin + k], offsets[begin + k + 1]
        length, ends = end - at, np.int32(0)
        if length > 0:
            ends = np.int32(data[at]) << np.int32(8) | np.int32(data[end - 1])
        keys[k] = np.int32(min(length, _LONGEST)) << np.int32(16) | ends


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
def _drop_others(offsets, data, name_offsets, names, codes):
    """Look at whole strings where keys agree: another name with that key, or none, may be the right one."""
    for row in range(len(codes)):
        k = np.int64(codes[row])
        length = offsets[row + 1] - offsets[row]
        if k < 0 or length <= 2:
            continue
        while k >= 0 and not _is_name(data, offsets[row], length, name_offsets, names, k):
            k -= 1
        codes[row] = k


@entry
def match_names(
    offsets: Codes,
    data: Bytes,
    name_offsets: Codes,
    names: Bytes,
    name_keys: Codes,
    keys: Codes,
    codes: Codes,
):
    """Write the number of the name that each string between neighbouring offsets is; -1 for none.

    Keys are compared first, name by name: without branches the compiler compares many at a time.  The keys
    of names, and those of ``BLOCK`` strings, are scratch.
    """
    count = len(name_keys)
    _write_keys(name_offsets, names, 0, name_keys, count)
    begin, longest = 0, 0
    for k in range(count):
        longest = max(longest, name_offsets[k + 1] - name_offsets[k])
    while begin < len(codes):
        size = min(len(keys), len(codes) - begin)
        _write_keys(offsets, data, begin, keys, size)
        for row in range(size):
            codes[begin + row] = -1
        for k in range(count):
            key, number = name_keys[k], np.int32(k)
            for row in range(size):
                codes[begin + row] = number if keys[row] == key else codes[begin + row]
        begin += size
    if longest > 2:
        _drop_others(offsets, data, name_offsets, names, codes)


@entry
def list_players(codes: Codes, table: Integers, positions: Integers, values: Integers):
    """Write where a table holds something for a code, and what; return how many such rows there are.

    Its last place is that of codes below 0.
    """
    count, last = 0, len(table) - 1
    for row in range(len(codes)):
        value = table[codes[row] if codes[row] >= 0 else last]
        positions[count], values[count] = row, value  # stay if there is something, else the next ones come
        count += value != 0
    return count


@entry
def look_up(codes: Codes, table: Integers, values: Integers):
    """Write what a table holds for each code; its last place is that of codes below 0."""
    last = len(table) - 1
    for row in range(len(codes)):
        values[row] = table[codes[row] if codes[row] >= 0 else last]
