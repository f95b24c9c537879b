"""The union of alternatives: a match that two of them find is one match."""

from __future__ import annotations

import numpy as np

from fyke.engine.kernels.arrays import Array
from fyke.engine.matchset import MatchSet


def repeated_matches(matches: MatchSet) -> Array:
    """Say which matches have the bindings of an earlier one, which another alternative has found."""
    seen: set[bytes] = set()
    repeated = np.zeros(len(matches), bool)
    pairs = np.stack((matches.positions, matches.variables), axis=1)
    for m in range(len(matches)):
        key = pairs[matches.offsets[m] : matches.offsets[m + 1]].tobytes()
        repeated[m] = key in seen
        seen.add(key)
    return repeated
