"""Robust selection among all matches of an alternative ([S] Def. 6.2)."""

from __future__ import annotations

import numpy as np

from fyke.engine.kernels.arrays import Array
from fyke.engine.matchset import MatchSet


def robust_matches(matches: MatchSet) -> Array:
    """Say which of all matches of an alternative are robust ([S] Def. 6.2, by post-processing).

    The matches form a tree with one level per binding.  Below the first level, each node keeps only the
    earliest next event.
    """
    count = len(matches)
    keep = np.ones(count, bool)
    node = np.zeros(count, np.int64)
    lengths, longest = matches.lengths, int(matches.lengths.max(initial=0))
    for level in range(longest):
        here = np.flatnonzero(lengths > level)
        at = matches.offsets[:-1][here] + level
        position, variable = matches.positions[at], matches.variables[at]
        if level > 0:
            earliest = np.full(int(node[here].max(initial=0)) + 1, np.iinfo(np.int64).max)
            np.minimum.at(earliest, node[here], position)
            keep[here] &= position == earliest[node[here]]
        order = np.lexsort((variable, position, node[here]))
        changes = np.zeros(len(here), bool)
        for key in (node[here], position, variable):
            changes[1:] |= key[order][1:] != key[order][:-1]
        numbered = np.empty(len(here), np.int64)
        numbered[order] = np.cumsum(changes)
        node[here] = numbered
    return keep
