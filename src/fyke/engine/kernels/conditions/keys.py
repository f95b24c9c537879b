"""Comparisons of keys: integers that compare as the attributes they stand for, null being the smallest."""

from __future__ import annotations

from fyke.engine.kernels import layout as L
from fyke.engine.kernels.conditions.predicate import LARGEST, SMALLEST
from fyke.engine.kernels.jit import jit


@jit
def interval(operator, key):
    """Return (low, high, outside) of the keys that stand in a relation to ``key``, which is not null."""
    if operator == 0:
        return key, key, 0
    if operator == 1:
        return key, key, 1
    if operator == 2:
        return SMALLEST + 1, key - 1, 0
    if operator == 3:
        return SMALLEST + 1, key, 0
    if operator == 4:
        return (LARGEST, SMALLEST + 1, 0) if key == LARGEST else (key + 1, LARGEST, 0)
    return key, LARGEST, 0


@jit
def compares(operator, x, y):
    """Say whether two keys stand in a relation; null stands in none."""
    if x == L.NULL_KEY or y == L.NULL_KEY:
        return False
    low, high, outside = interval(operator, y)
    return (low <= x <= high) != (outside != 0)
