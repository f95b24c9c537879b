"""Which of a few names each string is."""

from __future__ import annotations

import numpy as np

from fyke.engine.kernels.jit import entry, jit

_BLOCK = 4096  # strings whose keys stay in the processor's nearest cache


@jit
def _write_keys(offsets, data, keys):
    """Write for each string its length with its first and its last byte: all there is to those of two."""
    end, longest = np.int32(len(data) - 1), np.int32(2**15 - 1)
    for row in range(len(keys)):
        begin = offsets[row]
        length = np.int32(offsets[row + 1] - begin)
        first = np.int32(data[min(begin, end)])
        last = np.int32(data[max(np.int32(begin + length - 1), np.int32(0))])
        ends = np.int32(first << np.int32(8)) | last if length > 0 else np.int32(0)
        keys[row] = np.int32(min(length, longest) << np.int32(16)) | ends


@jit
def _is_name(data, begin, length, name_offsets, names, k):
    first = name_offsets[k]
    if name_offsets[k + 1] - first != length:
        return False
    at = 0
    while at < length and data[begin + at] == names[first + at]:
        at += 1
    return at == length


@entry
def match_names(offsets, data, name_offsets, names, codes):
    """Write the number of the name that each string between neighbouring offsets is; -1 for none.

    Keys are compared first, name by name: without branches the compiler compares many at a time.
    """
    name_keys, keys = np.empty(len(name_offsets) - 1, np.int32), np.empty(_BLOCK, np.int32)
    _write_keys(name_offsets, names, name_keys)
    codes[:] = -1
    for begin in range(0, len(codes), _BLOCK):
        found = codes[begin : begin + _BLOCK]
        mine = keys[: len(found)]
        _write_keys(offsets[begin:], data, mine)
        for k in range(len(name_keys)):
            key, number = name_keys[k], np.int32(k)
            for row in range(len(found)):
                found[row] = number if mine[row] == key else found[row]
    if np.any(name_offsets[1:] - name_offsets[:-1] > 2):
        _drop_others(offsets, data, name_offsets, names, codes)


@jit
def _drop_others(offsets, data, name_offsets, names, codes):
    """Look at whole strings where keys agree: another name with that key, or none, may be the right one."""
    for row in range(len(codes)):
        k = codes[row]
        length = offsets[row + 1] - offsets[row]
        if k < 0 or length <= 2:
            continue
        while k >= 0 and not _is_name(data, offsets[row], length, name_offsets, names, k):
            k -= 1
        codes[row] = k


@entry
def list_players(codes, table, positions, values):
    """Write where a table holds something for a code, and what; return how many such rows there are."""
    count = 0
    for row in range(len(codes)):
        value = table[codes[row]]
        positions[count], values[count] = row, value  # stay if there is something, else the next ones come
        count += value != 0
    return count


@entry
def look_up(codes, table, values):
    """Write what a table holds for each code; its last place is that of codes below 0."""
    for row in range(len(codes)):
        values[row] = table[codes[row]]
