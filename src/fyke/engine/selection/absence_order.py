"""Which absences whole matches are checked for, and which of them first ([L] 4.4.1)."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from fyke.engine.conditions.program import Program
from fyke.engine.kernels import layout as L
from fyke.engine.kernels.arrays import Array, Data


def absences_left(program: Program, early: Collection[int]) -> Array:
    """Return the rows of the outermost absences that the search itself has not checked."""
    outer = [k for k, row in enumerate(program.absence_rows) if row[L.ABSENCE_PARENT] < 0]
    return np.array([row for k, row in enumerate(outer) if k not in early], np.int64)


def by_frequency(absences: Array, program: Program, data: Data) -> Array:
    """Return absences in descending frequency of their events: what is likeliest to be there is met first."""
    if len(absences) < 2:
        return absences
    roles = data.events[L.EVENT_ROLES]

    def rate(absence: int) -> int:
        row = program.absence_rows[absence]
        names = program.everything[row[L.ABSENCE_VARIABLES] : row[L.ABSENCE_VARIABLES_END]]
        return min(int(((roles >> program.roles[each.name]) & 1).sum()) for each in names)

    return np.array(sorted(absences.tolist(), key=lambda each: -rate(each)), np.int64)
