"""Hashes of rows and matches, the same on every machine."""

from __future__ import annotations

import numpy as np

from fyke.engine.kernels.jit import jit

SEEDS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))
_NULL = np.uint64(0x165667B19E3779F9)
_KNOWN_VARIABLES = 64
_KNOWN_RUNS = 256


@jit
def mix(value):
    """Spread the bits of a 64-bit number (the finaliser of SplitMix64)."""
    value = np.uint64(value)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@jit
def add_numbers(hashes, numbers, valid):
    """Fold a column of 64-bit numbers into the two hashes of every row."""
    for k in range(hashes.shape[0]):
        word = mix(numbers[k]) if valid[k] else _NULL
        for h in range(2):
            hashes[k, h] = mix(hashes[k, h] * np.uint64(31) + word + SEEDS[h])


@jit
def hash_strings(offsets, data, result):
    """Hash the byte strings between neighbouring offsets (FNV-1a)."""
    for k in range(len(result)):
        value = np.uint64(14695981039346656037)
        for at in range(offsets[k], offsets[k + 1]):
            value = (value ^ np.uint64(data[at])) * np.uint64(1099511628211)
        result[k] = value ^ np.uint64(offsets[k + 1] - offsets[k])


@jit
def shares(offsets, positions, variables, known, match):
    """Return how many bindings of a known match, all but its last, begin another match; 0 if not all do."""
    begin, other = offsets[known], offsets[match]
    shared = offsets[known + 1] - begin - 1
    if shared > offsets[match + 1] - other - 1:
        return 0
    k = 0
    while (
        k < shared
        and positions[begin + k] == positions[other + k]
        and variables[begin + k] == variables[other + k]
    ):
        k += 1
    return shared if k == shared else 0


@jit
def fold_matches(offsets, positions, variables, rows, hashes, seed, result):
    """Fold the bound rows of every match, with their variables, into 128 bits.

    A match often begins with all but the last binding of one that a run gave before: to compare them
    costs less than to hash them again.
    """
    last_of = np.full(_KNOWN_RUNS, -1, np.int64)
    states = np.empty((_KNOWN_RUNS, 2), np.uint64)
    # Mixed, so that no variable number looks like the number of a twin.
    mixed = np.empty((_KNOWN_VARIABLES, 2), np.uint64)
    for v in range(_KNOWN_VARIABLES):
        mixed[v, 0], mixed[v, 1] = mix(np.uint64(v) + SEEDS[0]), mix(np.uint64(v) + SEEDS[1])
    factor = np.uint64(31)
    for m in range(len(offsets) - 1):
        begin, end = offsets[m], offsets[m + 1]
        place = positions[begin] % _KNOWN_RUNS
        # Two chains side by side: each step waits for the one before it.
        one, two = seed[0], seed[1]
        if last_of[place] >= 0:
            shared = shares(offsets, positions, variables, last_of[place], m)
            if shared > 0:
                one, two = states[place, 0], states[place, 1]
                begin += shared
        for k in range(begin, end):
            if k == end - 1:
                states[place, 0], states[place, 1] = one, two
            row, v = rows[positions[k]], variables[k]
            if v < _KNOWN_VARIABLES:
                one = mix(one * factor + (hashes[row, 0] ^ mixed[v, 0]))
                two = mix(two * factor + (hashes[row, 1] ^ mixed[v, 1]))
            else:
                one = mix(one * factor + (hashes[row, 0] ^ mix(np.uint64(v) + SEEDS[0])))
                two = mix(two * factor + (hashes[row, 1] ^ mix(np.uint64(v) + SEEDS[1])))
        last_of[place] = m
        result[m, 0], result[m, 1] = one, two


@jit
def write_hex(numbers, text):
    """Write each row of two 64-bit numbers as 32 hexadecimal digits."""
    for m in range(numbers.shape[0]):
        for h in range(2):
            for digit in range(16):
                nibble = (numbers[m, h] >> np.uint64(60 - 4 * digit)) & np.uint64(15)
                text[m, 16 * h + digit] = nibble + (48 if nibble < 10 else 87)
