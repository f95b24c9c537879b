"""Hashes of rows and matches, the same on every machine."""

from __future__ import annotations

import numpy as np

from fyke.engine.kernels.hashing import mix
from fyke.engine.kernels.jit import entry, jit
from fyke.engine.kernels.kinds import (
    Bytes,
    Flags,
    Floats,
    Integers,
    LetterRows,
    Letters,
    Numbers,
    WordRows,
    Words,
)

SEED_ONE, SEED_TWO = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
_NULL = np.uint64(0x165667B19E3779F9)
_NAN = np.uint64(0x7FF8000000000000)
_U = np.uint64


@jit
def _add_word(hashes, k, word):
    """Fold a word into the two hashes of a row."""
    hashes[k, 0] = mix(hashes[k, 0] * _U(31) + word + SEED_ONE)
    hashes[k, 1] = mix(hashes[k, 1] * _U(31) + word + SEED_TWO)


@entry
def add_numbers(hashes: WordRows, numbers: Words, valid: Flags):
    """Fold a column of 64-bit numbers into the two hashes of every row."""
    for k in range(len(hashes)):
        _add_word(hashes, k, mix(numbers[k]) if valid[k] else _NULL)


@entry
def add_words(hashes: WordRows, numbers: Words):
    """Do what ``add_numbers`` does for a column without nulls."""
    for k in range(len(hashes)):
        _add_word(hashes, k, mix(numbers[k]))


@entry
def float_words(values: Floats, words: Words):
    """Make floats, whose bits are in ``words``, 64-bit numbers: -0.0 is 0.0, and NaN is one value."""
    for k in range(len(values)):
        if values[k] == 0.0:
            words[k] = _U(0)
        elif values[k] != values[k]:
            words[k] = _NAN


@entry
def hash_strings(offsets: Integers, data: Bytes, result: Words):
    """Hash the byte strings between neighbouring offsets (FNV-1a)."""
    for k in range(len(result)):
        value = _U(14695981039346656037)
        for at in range(offsets[k], offsets[k + 1]):
            value = (value ^ _U(data[at])) * _U(1099511628211)
        result[k] = value ^ _U(offsets[k + 1] - offsets[k])


@entry
def add_twins(hashes: WordRows, numbers: Integers):
    """Make the hashes of equal rows differ: all but the first of them have a number."""
    for k in range(len(hashes)):
        if numbers[k] > 0:
            hashes[k, 0] = mix(hashes[k, 0] + _U(numbers[k]) * SEED_ONE)
            hashes[k, 1] = mix(hashes[k, 1] + _U(numbers[k]) * SEED_TWO)


@entry
def mark_rows(positions: Integers, marked: Flags):
    """Mark the rows at positions."""
    for k in range(len(positions)):
        marked[positions[k]] = True


@jit
def _factor(variable, seed):
    """Return the odd number by which the hashes of rows bound to a variable are multiplied."""
    return mix(_U(variable) + seed) | _U(1)


@entry
def fold_matches(
    offsets: Integers,
    positions: Integers,
    variables: Numbers,
    rows: Integers,
    hashes: WordRows,
    seed: Words,
    factors: WordRows,
    result: WordRows,
):
    """Fold the bound rows of every match, with their variables, into 128 bits.

    The hashes of rows are as good as random, so sums of them are, each times a number of its variable.
    ``factors`` is scratch, a row for each variable.
    """
    for v in range(len(factors)):
        factors[v, 0] = _factor(v, SEED_ONE)
        factors[v, 1] = _factor(v, SEED_TWO)
    k = offsets[0]
    for m in range(len(offsets) - 1):
        one, two, end = seed[0], seed[1], offsets[m + 1]
        while k < end:
            row, v = rows[positions[k]], variables[k]
            one += hashes[row, 0] * factors[v, 0]
            two += hashes[row, 1] * factors[v, 1]
            k += 1
        result[m, 0] = mix(one)
        result[m, 1] = mix(two)


@entry
def write_hex(numbers: WordRows, digits: Letters, text: LetterRows):
    """Write each row of two 64-bit numbers as 32 hexadecimal digits, two at a time, the first one lower.

    ``digits`` is scratch, for 256 bytes.
    """
    for byte in range(256):
        high, low = byte >> 4, byte & 15
        digits[byte] = high + (48 if high < 10 else 87) + ((low + (48 if low < 10 else 87)) << 8)
    for m in range(len(numbers)):
        for h in range(2):
            for k in range(8):
                byte = (numbers[m, h] >> _U(56 - 8 * k)) & _U(255)
                text[m, 8 * h + k] = digits[np.int64(byte)]
