"""Sorting by small integers, in linear time."""

from __future__ import annotations

from fyke.engine.kernels.jit import entry
from fyke.engine.kernels.kinds import Integers


@entry
def counting_sort(permutation: Integers, codes: Integers, starts: Integers, result: Integers):
    """Sort a permutation by code (from -1), keeping the order within a code.

    ``starts`` is scratch: zeros, two more than there are codes from 0 on.  Afterwards it says where the
    rows of each code from -1 on end.
    """
    for k in range(len(codes)):
        starts[codes[k] + 2] += 1
    for b in range(len(starts) - 1):
        starts[b + 1] += starts[b]
    for k in range(len(permutation)):
        row = permutation[k]
        bucket = codes[row] + 1
        result[starts[bucket]] = row
        starts[bucket] += 1


@entry
def is_sorted(permutation: Integers, codes: Integers):
    """Say whether codes do not fall along a permutation."""
    k = 1
    while k < len(permutation) and codes[permutation[k]] >= codes[permutation[k - 1]]:
        k += 1
    return k >= len(permutation)


@entry
def is_identity(permutation: Integers):
    """Say whether a permutation moves nothing."""
    k = 0
    while k < len(permutation) and permutation[k] == k:
        k += 1
    return k == len(permutation)


@entry
def number_runs(first: Integers, second: Integers, numbers: Integers):
    """Number runs of rows whose neighbours are equal in both columns; return how many there are."""
    number = -1
    for k in range(len(first)):
        if k == 0 or first[k] != first[k - 1] or second[k] != second[k - 1]:
            number += 1
        numbers[k] = number
    return number + 1


@entry
def number_within(codes: Integers, numbers: Integers):
    """Number the rows of each run of equal codes from 0."""
    number = 0
    for k in range(len(codes)):
        number = number + 1 if k > 0 and codes[k] == codes[k - 1] else 0
        numbers[k] = number
