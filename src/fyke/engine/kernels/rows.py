"""Rows of arrays."""

from __future__ import annotations

from fyke.engine.kernels.jit import jit


@jit
def copy_row(source, target):
    """Copy a row that does not overlap its target; a slice assignment would first make sure of that."""
    for k in range(len(source)):
        target[k] = source[k]
