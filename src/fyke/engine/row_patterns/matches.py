"""The matches of a clause, as arrays over its ordered rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fyke.engine.kernels.arrays import Array


@dataclass(frozen=True, slots=True)
class RowMatches:
    """Matches in the order they were found: from row ``begins`` to in front of row ``ends``.

    ``states`` are those of the automaton for the rows of all matches, one after the other; None if nobody
    asks for labels.  ``steps`` is what it took to find them: rows marked, rows walked over, moves tried;
    ``evaluations`` are the conditions decided on the way.  ``goes_on`` is the row at which the search would
    have gone on for another match of the last partition.  ``numbers`` are those of the matches in their
    partitions, unless they follow from these matches.  ``expired`` says which are attempts that expired
    and have no number; None: none.
    """

    begins: Array
    ends: Array
    states: Array | None
    steps: int
    evaluations: int
    goes_on: int = 0
    numbers: Array | None = None
    expired: Array | None = None

    def __len__(self) -> int:
        """Return the number of matches."""
        return len(self.begins)

    @property
    def numbered(self) -> Array:
        """Which of them are matches, not attempts that expired."""
        return np.ones(len(self), bool) if self.expired is None else ~self.expired

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

    def part(self, first: int, last: int) -> RowMatches:
        """Return the matches from number ``first`` to in front of number ``last``, without their steps."""
        states = self.states
        if states is not None:
            before = int(self.lengths[:first].sum())
            states = states[before : before + int(self.lengths[first:last].sum())]
        return RowMatches(self.begins[first:last], self.ends[first:last], states, 0, 0, self.goes_on)

    def moved(self, by: int) -> RowMatches:
        """Return the matches of rows that are so much further on."""
        if by == 0:
            return self
        return replace(self, begins=self.begins + by, ends=self.ends + by, goes_on=self.goes_on + by)


def all_of(parts: Sequence[RowMatches]) -> RowMatches:
    """Return the matches of several searches, one after the other."""
    if len(parts) == 1:
        return parts[0]
    states = [each.states for each in parts if each.states is not None]
    return RowMatches(
        np.concatenate([each.begins for each in parts]),
        np.concatenate([each.ends for each in parts]),
        np.concatenate(states) if states else None,
        sum(each.steps for each in parts),
        sum(each.evaluations for each in parts),
        parts[-1].goes_on,
    )
