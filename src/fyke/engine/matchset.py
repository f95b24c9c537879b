"""Matches as arrays, and what is done with whole sets of them: robust selection, duplicates, non-overlap."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fyke.engine.kernels import layout as L
from fyke.engine.kernels.arrays import NUMBER, Array


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
        """Return the matches for which ``keep`` (booleans or match numbers) says so, in that order."""
        chosen = np.flatnonzero(keep) if keep.dtype == bool else keep
        lengths = self.lengths[chosen]
        offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        rows = np.repeat(self.offsets[:-1][chosen] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return MatchSet(self.positions[rows], self.variables[rows], offsets, self.alternative[chosen])

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
    empty, none = np.zeros(0, np.int64), np.zeros(0, NUMBER)
    return MatchSet(empty, none, np.zeros(1, np.int64), none)


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


def robust(matches: MatchSet) -> Array:
    """Say which matches are robust among all matches of an alternative ([S] Def. 6.2, by post-processing).

    The matches form a tree, one level a binding; at each node behind the first level only the
    earliest next event is kept.
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


def duplicates(matches: MatchSet) -> Array:
    """Say which matches repeat the bindings of an earlier one (found by another alternative)."""
    seen: set[bytes] = set()
    repeated = np.zeros(len(matches), bool)
    pairs = np.stack((matches.positions, matches.variables), axis=1)
    for m in range(len(matches)):
        key = pairs[matches.offsets[m] : matches.offsets[m + 1]].tobytes()
        repeated[m] = key in seen
        seen.add(key)
    return repeated


def output_order(matches: MatchSet, segment: Array, events: Array) -> Array:
    """Return match numbers by partition, then in the order of SEMANTICS 4."""
    starts, ends = matches.spans(events)
    order = np.lexsort((-matches.lengths, starts, ends, segment))
    keys = [key[order] for key in (segment, ends, starts, matches.lengths)]
    changes = np.ones(len(order) + 1, bool)
    changes[1:-1] = False
    for key in keys:
        changes[1:-1] |= key[1:] != key[:-1]
    bounds = np.flatnonzero(changes)
    for begin, end in itertools.pairwise(bounds):
        if end - begin > 1:
            order[begin:end] = sorted(order[begin:end], key=lambda m: _by_variable(matches, m))
    return order


def _by_variable(matches: MatchSet, m: int) -> list[tuple[int, list[int]]]:
    begin, end = matches.offsets[m], matches.offsets[m + 1]
    variables, positions = matches.variables[begin:end], matches.positions[begin:end]
    count = int(matches.variables.max(initial=-1)) + 1
    return [(int((variables == v).any()), positions[variables == v].tolist()) for v in range(count)]
