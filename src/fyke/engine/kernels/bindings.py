"""Bindings of matches, sorted out by variable."""

from __future__ import annotations

import numpy as np

from fyke.engine.kernels.jit import jit


@jit
def find_bound(offsets, positions, variables, variable, last, result):
    """Write the first (or last) event of a variable in each match, -1 if unbound; return how many are."""
    unbound = 0
    for m in range(len(offsets) - 1):
        at = -1
        if last:
            for k in range(offsets[m + 1] - 1, offsets[m] - 1, -1):
                if variables[k] == variable:
                    at = positions[k]
                    break
        else:
            for k in range(offsets[m], offsets[m + 1]):
                if variables[k] == variable:
                    at = positions[k]
                    break
        result[m] = at
        unbound += at < 0
    return unbound


@jit
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


@jit
def append_bindings(bindings, count, positions, variables, filled):
    """Copy ``count`` pairs of position and variable behind the ``filled`` first of two arrays."""
    for k in range(count):
        positions[filled + k] = bindings[k, 0]
        variables[filled + k] = bindings[k, 1]


@jit
def append_offsets(offsets, count, result, filled, base):
    """Copy where ``count`` matches end behind the ``filled`` first ends, moved by ``base``."""
    for k in range(count):
        result[filled + k + 1] = offsets[k + 1] + base
