"""Matches as arrays: the positions that each match binds, and to which variables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fyke.engine.kernels import layout as L
from fyke.engine.kernels.arrays import NUMBER, Array
from fyke.engine.kernels.output.bindings import pick_matches


@dataclass(frozen=True, slots=True)
class MatchSet:
    """Matches of one input: ``positions`` and ``variables`` of their bindings in processing order.

    Match m has the bindings ``offsets[m]`` to ``offsets[m + 1]``; ``alternative`` says which
    alternative found it.  Variables are numbered over the whole query.
    """

    positions: Array
    variables: Array
    offsets: Array
    alternative: Array

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> Array:
        """Number of bindings of each match."""
        return np.diff(self.offsets)

    @property
    def first(self) -> Array:
        """Position of the first event of each match."""
        return self.positions[self.offsets[:-1]]

    def owner(self) -> Array:
        """Return the match each binding belongs to."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def select(self, keep: Array) -> MatchSet:
        """Return the matches that ``keep`` selects, by booleans or by match numbers, in that order."""
        chosen = np.flatnonzero(keep) if keep.dtype == bool else keep
        lengths = self.lengths[chosen]
        offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        positions, variables = np.empty(offsets[-1], np.int64), np.empty(offsets[-1], NUMBER)
        bound = self.positions, self.variables
        pick_matches(chosen.astype(np.int64), self.offsets, *bound, offsets, positions, variables)
        return MatchSet(positions, variables, offsets, self.alternative[chosen])

    def between(self, first: int, end: int) -> MatchSet:
        """Return the matches from one number up to another; the arrays are shared."""
        offsets = self.offsets[first : end + 1]
        bindings = slice(int(offsets[0]), int(offsets[-1]))
        return MatchSet(
            self.positions[bindings],
            self.variables[bindings],
            offsets - offsets[0],
            self.alternative[first:end],
        )

    def moved(self, places: Array) -> MatchSet:
        """Return the same matches after rows have moved to ``places``."""
        return MatchSet(places[self.positions], self.variables, self.offsets, self.alternative)

    def spans(self, events: Array) -> tuple[Array, Array]:
        """Return the smallest start and the largest end of each match."""
        if len(self) == 0:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        starts = np.minimum.reduceat(events[L.EVENT_START][self.positions], self.offsets[:-1])
        ends = np.maximum.reduceat(events[L.EVENT_END][self.positions], self.offsets[:-1])
        return starts, ends


def no_matches() -> MatchSet:
    """Return the empty set."""
    return _NONE


_NONE = MatchSet(np.zeros(0, np.int64), np.zeros(0, NUMBER), np.zeros(1, np.int64), np.zeros(0, NUMBER))


def concat(sets: Sequence[MatchSet]) -> MatchSet:
    """Return the matches of several sets, one after the other."""
    if len(sets) < 2:
        return sets[0] if sets else no_matches()
    lengths = np.concatenate([each.lengths for each in sets])
    return MatchSet(
        np.concatenate([each.positions for each in sets]),
        np.concatenate([each.variables for each in sets]),
        np.concatenate(([0], np.cumsum(lengths))).astype(np.int64),
        np.concatenate([each.alternative for each in sets]),
    )
