"""Sorting by small integers, in linear time."""

from __future__ import annotations

import numpy as np

from fyke.engine.kernels.jit import jit


@jit
def counting_sort(permutation, codes, buckets):
    """Sort a permutation by code (from -1), keeping the order within a code."""
    starts = np.zeros(buckets + 1, np.int64)
    for k in range(len(codes)):
        starts[codes[k] + 2] += 1
    for b in range(buckets):
        starts[b + 1] += starts[b]
    result = np.empty(len(permutation), np.int64)
    for k in range(len(permutation)):
        row = permutation[k]
        bucket = codes[row] + 1
        result[starts[bucket]] = row
        starts[bucket] += 1
    return result
