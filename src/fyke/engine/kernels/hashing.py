"""The one hash of the kernels: of identities, which must be the same on every machine, and of tables."""

from __future__ import annotations

import numpy as np

from fyke.engine.kernels.jit import jit


@jit
def mix(value):
    """Spread the bits of a 64-bit number (the finaliser of SplitMix64)."""
    value = np.uint64(value)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@jit
def fold(h, value):
    """Fold a value into a hash."""
    return mix(h * np.uint64(31) + np.uint64(value))
