"""Rows to candidates: the rows that can play each role, in order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from fyke.engine.kernels import layout as L
from fyke.engine.kernels.arrays import Array, Data
from fyke.engine.kernels.candidates.candidates import list_candidates


@dataclass(slots=True)
class Candidates:
    """The rows that can play each role, sorted; all alternatives share them.

    ``starts`` says where the candidates of a role bit begin in ``positions``; row k of ``ranks`` says how
    many of them come before each row.
    """

    data: Data
    starts: dict[int, int]
    rows: dict[int, int]
    positions: Array
    ranks: Array
    counts: dict[int, int]

    def of(self, role: int) -> Array:
        """Return the candidates of a role."""
        begin = self.starts[role]
        return self.positions[begin : begin + self.counts[role]]


def find_candidates(data: Data, roles: Iterable[int]) -> Candidates:
    """Return the candidates of roles."""
    bits = np.array(list(dict.fromkeys(roles)) or [0], np.int64)
    events = data.events[L.EVENT_ROLES]
    ranks, positions = (np.empty((len(bits), len(events) + 1), np.int64) for _ in range(2))
    counts = np.zeros(len(bits), np.int64)
    list_candidates(events, bits, ranks, positions, counts)
    numbered = dict(enumerate(bits.tolist()))
    return Candidates(
        data,
        {bit: row * (len(events) + 1) for row, bit in numbered.items()},
        {bit: row for row, bit in numbered.items()},
        positions.reshape(-1),
        ranks,
        {bit: int(counts[row]) for row, bit in numbered.items()},
    )
