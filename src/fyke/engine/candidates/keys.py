"""Attributes as keys: integers that compare as the attributes do, with null as the smallest."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fyke.engine.candidates.candidates import Candidates
from fyke.engine.kernels import layout as L
from fyke.engine.kernels.arrays import Array
from fyke.engine.kernels.candidates.candidates import gather_floats, gather_integers

ALL_ROWS = -1


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """A column of keys, for the candidates of a role or for :data:`ALL_ROWS`; ``store`` is "i" or "f"."""

    role: int
    store: str
    number: int


@dataclass(slots=True)
class Keys:
    """The keys that comparisons need, in one array, column after column; each is made on demand."""

    candidates: Candidates
    places: dict[KeyColumn, int] = field(default_factory=dict)
    length: int = 0
    _made: dict[KeyColumn, Array] = field(default_factory=dict)
    _integers: Array | None = None
    _joined: Array | None = None

    def place(self, column: KeyColumn) -> int:
        """Return where the keys of a column begin in :meth:`array`."""
        if column not in self.places:
            self.places[column] = self.length
            self.length += self._count(column)
        return self.places[column]

    def of(self, column: KeyColumn) -> Array:
        """Return the keys of a column."""
        if column not in self._made:
            self._made[column] = np.empty(self._count(column), np.int64)
            self._gather(column, self._made[column])
        return self._made[column]

    def array(self) -> Array:
        """Return all keys that have a place."""
        if self._joined is None or len(self._joined) != self.length + 1:
            self._joined = np.empty(self.length + 1, np.int64)
            for column, place in self.places.items():
                part = self._joined[place : place + self._count(column)]
                if column in self._made:
                    part[:] = self._made[column]
                else:
                    self._gather(column, part)
        return self._joined

    def _count(self, column: KeyColumn) -> int:
        if column.role == ALL_ROWS:
            return int(self.candidates.data.events.shape[1])
        return self.candidates.counts[column.role]

    def _gather(self, column: KeyColumn, keys: Array) -> None:
        data, number = self.candidates.data, column.number
        positions = np.arange(len(keys)) if column.role == ALL_ROWS else self.candidates.of(column.role)
        if column.store == "f":
            floats = data.cols_f[number]
            gather_floats(floats, floats.view(np.int64), data.valid_f[number], positions, keys)
        else:
            gather_integers(self._whole()[number], data.valid_i[number], positions, keys)

    def _whole(self) -> Array:
        """Return the integer columns; as ranks if they hold the smallest integer, which stands for null."""
        if self._integers is None:
            columns = self.candidates.data.cols_i
            if columns.size and int(columns.min()) == L.NULL_KEY:
                columns = np.unique(columns, return_inverse=True)[1].reshape(columns.shape).astype(np.int64)
            self._integers = columns
        return self._integers
