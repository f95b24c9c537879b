"""Rows of a match by their labels, and the numbers of matches."""

from __future__ import annotations

from fyke.engine.kernels.jit import entry
from fyke.engine.kernels.kinds import Bytes, Integers, Letters


@entry
def locate(
    states: Letters, wanted: Bytes, begins: Integers, ends: Integers, forward: bool, nth, rows: Integers
):
    """Write the ``nth`` row of each match whose state is wanted, from its first or its last; -1 if none."""
    first = 0
    for m in range(len(begins)):
        length, left, found = ends[m] - begins[m], nth, -1
        if forward:
            for k in range(length):
                if wanted[states[first + k]]:
                    if left == 0:
                        found = begins[m] + k
                        break
                    left -= 1
        else:
            for k in range(length - 1, -1, -1):
                if wanted[states[first + k]]:
                    if left == 0:
                        found = begins[m] + k
                        break
                    left -= 1
        rows[m] = found
        first += length


@entry
def number_matches(begins: Integers, segments: Integers, segment, before, numbers: Integers):
    """Number matches in their partitions from 1; in the first, ``segment``, so many were found before."""
    number = before
    for m in range(len(begins)):
        while begins[m] >= segments[segment + 1]:
            segment += 1
            number = 0
        number += 1
        numbers[m] = number
