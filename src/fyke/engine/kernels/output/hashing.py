"""Hashes of rows and matches, the same on every machine."""

from __future__ import annotations

import numpy as np

from fyke.engine.kernels.hashing import mix
from fyke.engine.kernels.jit import entry, jit

SEEDS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))
_NULL = np.uint64(0x165667B19E3779F9)
_NAN = np.uint64(0x7FF8000000000000)
_KNOWN_VARIABLES = 64
_U = np.uint64  # of an unsigned index the compiler need not ask whether it counts from the end


@entry
def add_numbers(hashes, numbers, valid):
    """Fold a column of 64-bit numbers into the two hashes of every row."""
    for k in range(hashes.shape[0]):
        word = mix(numbers[k]) if valid[k] else _NULL
        for h in range(2):
            hashes[k, h] = mix(hashes[k, h] * np.uint64(31) + word + SEEDS[h])


@entry
def add_words(hashes, numbers):
    """Do what ``add_numbers`` does for a column without nulls."""
    for k in range(hashes.shape[0]):
        word = mix(numbers[k])
        hashes[k, 0] = mix(hashes[k, 0] * np.uint64(31) + word + SEEDS[0])
        hashes[k, 1] = mix(hashes[k, 1] * np.uint64(31) + word + SEEDS[1])


@entry
def float_words(values, words):
    """Write floats as 64-bit numbers: -0.0 is 0.0, and NaN is one value."""
    bits = values.view(np.uint64)
    for k in range(len(values)):
        word = bits[k]
        if values[k] == 0.0:
            word = np.uint64(0)
        elif values[k] != values[k]:
            word = _NAN
        words[k] = word


@entry
def hash_strings(offsets, data, result):
    """Hash the byte strings between neighbouring offsets (FNV-1a)."""
    for k in range(len(result)):
        value = np.uint64(14695981039346656037)
        for at in range(offsets[k], offsets[k + 1]):
            value = (value ^ np.uint64(data[at])) * np.uint64(1099511628211)
        result[k] = value ^ np.uint64(offsets[k + 1] - offsets[k])


@entry
def add_twins(hashes, numbers):
    """Make the hashes of equal rows differ: all but the first of them have a number."""
    for k in range(hashes.shape[0]):
        if numbers[k] > 0:
            for h in range(2):
                hashes[k, h] = mix(hashes[k, h] + _U(numbers[k]) * SEEDS[h])


@entry
def mark_rows(positions, marked):
    """Mark the rows at positions."""
    for k in range(len(positions)):
        marked[_U(positions[k])] = True


@jit
def _factor(variable, h):
    """Return the odd number by which the hashes of rows bound to a variable are multiplied."""
    return mix(variable + SEEDS[h]) | _U(1)


@entry
def fold_matches(offsets, positions, variables, rows, hashes, seed, result):
    """Fold the bound rows of every match, with their variables, into 128 bits.

    The hashes of rows are as good as random, so sums of them are, each times a number of its variable.
    """
    factors = np.empty((_KNOWN_VARIABLES, 2), np.uint64)
    for v in range(_KNOWN_VARIABLES):
        factors[v, 0], factors[v, 1] = _factor(_U(v), 0), _factor(_U(v), 1)
    k = _U(offsets[0])
    for m in range(len(offsets) - 1):
        one, two, end = seed[0], seed[1], _U(offsets[m + 1])
        while k < end:
            row, v = _U(rows[_U(positions[k])]), _U(variables[k])
            if v < _U(_KNOWN_VARIABLES):
                one += hashes[row, _U(0)] * factors[v, _U(0)]
                two += hashes[row, _U(1)] * factors[v, _U(1)]
            else:
                one += hashes[row, _U(0)] * _factor(v, 0)
                two += hashes[row, _U(1)] * _factor(v, 1)
            k += _U(1)
        result[m, 0], result[m, 1] = mix(one), mix(two)


@entry
def write_hex(numbers, text):
    """Write each row of two 64-bit numbers as 32 hexadecimal digits, two at a time, the first one lower."""
    digits = np.empty(256, np.uint16)
    for byte in range(256):
        high, low = byte >> 4, byte & 15
        digits[byte] = high + (48 if high < 10 else 87) + ((low + (48 if low < 10 else 87)) << 8)
    for m in range(numbers.shape[0]):
        for h in range(2):
            for k in range(8):
                byte = (numbers[m, h] >> _U(56 - 8 * k)) & _U(255)
                text[m, 8 * h + k] = digits[byte]
