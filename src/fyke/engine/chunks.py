"""Entries in chunks that never change: which of them are needed, and which chunks to write anew.

A batch writes what is new as one chunk, which is dropped whole when none of its entries is needed any more.
Chunks that are mostly dead, and the smallest where there are many, become part of the next one.  So each
entry is written about twice at most, and the list of chunks stays short.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fyke.engine.kernels.arrays import Array
from fyke.engine.matchset import MatchSet
from fyke.errors import StateError

_DEAD = 4  # a chunk is rewritten when less than one entry in so many is needed
_MANY = 64  # so many are made one, when there are twice as many
_MIX = np.uint64(0x9E3779B97F4A7C15)


def _none() -> Array:
    return np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class Chunks:
    """The chunks of one kind of entries: their ``numbers`` and ``sizes``.

    ``needed`` says which of their entries, chunk after chunk, are needed; these are the entries in order.
    """

    numbers: Array = field(default_factory=_none)
    sizes: Array = field(default_factory=_none)
    needed: Array = field(default_factory=lambda: np.zeros(0, bool))

    def check(self) -> None:
        """Refuse a list that does not describe chunks, with a StateError."""
        sound = self.numbers.ndim == self.sizes.ndim == self.needed.ndim == 1
        sound = sound and len(self.numbers) == len(self.sizes) and self.needed.dtype == np.bool_
        sound = sound and self.numbers.dtype == self.sizes.dtype == np.int64
        if not sound or (self.sizes < 1).any() or self.sizes.sum() != len(self.needed):
            raise StateError.damaged("its chunks are of another size")

    def after(self, known: Array, number: int) -> tuple[Chunks, Array, int]:
        """Return the chunks after a batch, the order of its entries in them, and how many are to be written.

        ``known`` says for each entry after the batch which one it was before, -1 for a new one.  Those to be
        written are the last in the order, and become the chunk ``number``.
        """
        old = known >= 0
        flat = np.flatnonzero(self.needed)[known[old]]
        chunk = np.searchsorted(np.cumsum(self.sizes), flat, side="right")
        needed = np.zeros(len(self.needed), bool)
        needed[flat] = True
        counts = np.bincount(chunk, minlength=len(self.numbers))
        rewrite = (counts > 0) & (counts * _DEAD < self.sizes)
        stay = np.flatnonzero((counts > 0) & ~rewrite)
        if len(stay) > 2 * _MANY:
            rewrite[stay[np.argsort(counts[stay], kind="stable")[:_MANY]]] = True
        write = ~old
        write[old] = rewrite[chunk]
        order = np.lexsort((known, ~old, write))
        kept = (counts > 0) & ~rewrite
        numbers, sizes = self.numbers[kept], self.sizes[kept]
        needed, new = needed[np.repeat(kept, self.sizes)], int(write.sum())
        if new:
            numbers, sizes = np.append(numbers, number), np.append(sizes, new)
            needed = np.append(needed, np.ones(new, bool))
        return Chunks(numbers, sizes, needed), order, new


def places_among(values: Array, among: Array) -> Array:
    """Return where each value stands among others, -1 if it does not."""
    if not len(among):
        return np.full(len(values), -1)
    if (among[1:] >= among[:-1]).all():  # as rows are that stand in the order of their arrival
        at = np.minimum(np.searchsorted(among, values), len(among) - 1)
    else:
        order = np.argsort(among, kind="stable")
        at = order[np.minimum(np.searchsorted(among, values, sorter=order), len(among) - 1)]
    return np.where(among[at] == values, at, -1)


def same_matches(matches: MatchSet, among: MatchSet) -> Array:
    """Return which of other matches each match is, -1 for none; positions mean the same in both."""
    known = places_among(_digests(matches), _digests(among))
    found = np.flatnonzero(known >= 0)
    equal = matches.lengths[found] == among.lengths[known[found]]
    equal &= matches.alternative[found] == among.alternative[known[found]]
    known[found[~equal]] = -1
    found = found[equal]
    here, there = matches.select(found), among.select(known[found])
    differing = (here.positions != there.positions) | (here.variables != there.variables)
    known[found[here.owner()[differing]]] = -1
    return known


def _digests(matches: MatchSet) -> Array:
    """Return a number for each match that other matches hardly ever have."""
    if not len(matches):
        return np.zeros(0, np.uint64)
    place = np.arange(len(matches.positions)) - np.repeat(matches.offsets[:-1], matches.lengths)
    mixed = matches.positions.astype(np.uint64) * _MIX + matches.variables.astype(np.uint64)
    mixed = (mixed ^ (mixed >> np.uint64(29))) * (_MIX + np.uint64(2) * place.astype(np.uint64))
    return np.add.reduceat(mixed ^ (mixed >> np.uint64(32)), matches.offsets[:-1])
