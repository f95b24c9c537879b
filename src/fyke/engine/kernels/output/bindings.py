"""Bindings of matches, sorted out by variable."""

from __future__ import annotations

import numpy as np

from fyke.engine.kernels.jit import entry

_U = np.uint64  # of an unsigned index the compiler need not ask whether it counts from the end


@entry
def find_bound(offsets, positions, variables, variable, last, result):
    """Write the first (or last) event of a variable in each match, -1 if unbound; return how many are."""
    unbound = 0
    for m in range(len(offsets) - 1):
        at, k, end = np.int64(-1), _U(offsets[m]), _U(offsets[m + 1])
        if last:
            while k < end and at < 0:
                end -= _U(1)
                if variables[end] == variable:
                    at = positions[end]
        while k < end and at < 0:
            if variables[k] == variable:
                at = positions[k]
            k += _U(1)
        result[m] = at
        unbound += at < 0
    return unbound


@entry
def spread_bound(offsets, positions, variables, places, result):
    """Write the events of variables that are bound once at most, a row each; -1 if unbound.

    Row ``places[v]`` is that of variable v; below 0 it has none.
    """
    k = _U(offsets[0])
    for m in range(len(offsets) - 1):
        end = _U(offsets[m + 1])
        for row in range(result.shape[0]):
            result[row, m] = -1
        while k < end:
            row = places[_U(variables[k])]
            if row >= 0:
                result[_U(row), m] = positions[k]
            k += _U(1)


@entry
def find_spans(offsets, positions, starts, ends, first, last):
    """Write the start of the first and the end of the last event of each match."""
    for m in range(len(offsets) - 1):
        first[m] = starts[_U(positions[_U(offsets[m])])]
        last[m] = ends[_U(positions[_U(offsets[m + 1] - 1)])]


@entry
def list_bound(offsets, positions, variables, variable, ends):
    """Return all events of a variable, match after match; ``ends[m + 1]`` says where those of m end."""
    result = np.empty(len(positions), np.int64)
    filled = 0
    ends[0] = 0
    for m in range(len(offsets) - 1):
        for k in range(offsets[m], offsets[m + 1]):
            if variables[k] == variable:
                result[filled] = positions[k]
                filled += 1
        ends[m + 1] = filled
    return result[:filled]
