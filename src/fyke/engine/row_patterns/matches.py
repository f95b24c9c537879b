"""The matches of a clause, as arrays over its ordered rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fyke.engine.kernels.arrays import Array


@dataclass(frozen=True, slots=True)
class RowMatches:
    """Matches in the order they were found: from row ``begins`` to in front of row ``ends``.

    ``states`` are those of the automaton for the rows of all matches, one after the other; None if nobody
    asks for labels.  ``steps`` is what it took to find them: rows marked, rows walked over, moves tried;
    ``evaluations`` are the conditions decided on the way.
    """

    begins: Array
    ends: Array
    states: Array | None
    steps: int
    evaluations: int

    def __len__(self) -> int:
        """Return the number of matches."""
        return len(self.begins)

    @property
    def lengths(self) -> Array:
        """How many rows each match has."""
        return self.ends - self.begins

    @property
    def offsets(self) -> Array:
        """Where the rows of each match begin among the rows of all, and, last, how many these are."""
        return np.concatenate(([0], np.cumsum(self.lengths)))

    def rows(self) -> Array:
        """Return the rows of all matches, one match after the other."""
        lengths, offsets = self.lengths, self.offsets
        rows: Array = np.arange(offsets[-1]) + np.repeat(self.begins - offsets[:-1], lengths)
        return rows
