"""Bindings of matches, sorted out by variable."""

from __future__ import annotations

import numpy as np

from fyke.engine.kernels.jit import entry
from fyke.engine.kernels.kinds import IntegerRows, Integers, Numbers


@entry
def find_bound(
    offsets: Integers, positions: Integers, variables: Numbers, variable, last: bool, result: Integers
):
    """Write the first (or last) event of a variable in each match, -1 if unbound; return how many are."""
    unbound = 0
    for m in range(len(offsets) - 1):
        at = np.int64(-1)
        k, end = offsets[m], offsets[m + 1]
        if last:
            while k < end and at < 0:
                end -= 1
                if variables[end] == variable:
                    at = positions[end]
        while k < end and at < 0:
            if variables[k] == variable:
                at = positions[k]
            k += 1
        result[m] = at
        if at < 0:
            unbound += 1
    return unbound


@entry
def spread_bound(
    offsets: Integers, positions: Integers, variables: Numbers, places: Integers, result: IntegerRows
):
    """Write the events of variables that are bound once at most, a row each; -1 if unbound.

    Row ``places[v]`` is that of variable v; below 0 it has none.
    """
    k = offsets[0]
    for m in range(len(offsets) - 1):
        end = offsets[m + 1]
        for row in range(len(result)):
            result[row, m] = -1
        while k < end:
            row = places[variables[k]]
            if row >= 0:
                result[row, m] = positions[k]
            k += 1


@entry
def find_spans(
    offsets: Integers, positions: Integers, starts: Integers, ends: Integers, first: Integers, last: Integers
):
    """Write the start of the first and the end of the last event of each match."""
    for m in range(len(offsets) - 1):
        first[m] = starts[positions[offsets[m]]]
        last[m] = ends[positions[offsets[m + 1] - 1]]


@entry
def list_bound(
    offsets: Integers, positions: Integers, variables: Numbers, variable, ends: Integers, result: Integers
):
    """Write all events of a variable, match after match; return how many they are.

    ``ends[m + 1]`` says where those of m end.
    """
    filled = 0
    ends[0] = 0
    for m in range(len(offsets) - 1):
        for k in range(offsets[m], offsets[m + 1]):
            if variables[k] == variable:
                result[filled] = positions[k]
                filled += 1
        ends[m + 1] = filled
    return filled


@entry
def pick_matches(
    chosen: Integers,
    offsets: Integers,
    positions: Integers,
    variables: Numbers,
    picked_offsets: Integers,
    picked: Integers,
    picked_variables: Numbers,
):
    """Write the bindings of the chosen matches, given where those of each go."""
    for k in range(len(chosen)):
        first, place = offsets[chosen[k]], picked_offsets[k]
        for b in range(picked_offsets[k + 1] - place):
            picked[place + b] = positions[first + b]
            picked_variables[place + b] = variables[first + b]
