"""Checks absences on whole matches, those with the most frequent events first ([L] 4.4.1)."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from fyke.engine.conditions.arrays import condition_arrays
from fyke.engine.conditions.program import Program
from fyke.engine.kernels import layout as L
from fyke.engine.kernels.arrays import Array, Data
from fyke.engine.kernels.selection.absence import (
    CURSOR_MATCH,
    CURSOR_NEEDED,
    CURSOR_SIZE,
    FRAME_SIZE,
    PLACE_SIZE,
    filter_absences,
)
from fyke.engine.kernels.selection.arena import AbsenceArena
from fyke.engine.matchset import MatchSet
from fyke.engine.meter import Meter

_STACK = 64


def absences_left(program: Program, early: Collection[int]) -> Array:
    """Return the rows of the outermost absences that the search itself has not checked."""
    outer = [k for k, row in enumerate(program.absence_rows) if row[L.ABSENCE_PARENT] < 0]
    return np.array([row for k, row in enumerate(outer) if k not in early], np.int64)


def without_absent(
    program: Program, absences: Array, matches: MatchSet, segments: Array, data: Data, ranks: dict[str, int],
    meter: Meter,
) -> Array:  # fmt: skip
    """Say which matches no absence rules out; variables are numbered as in the program.

    Raises
    ------
    LimitReached
        If the search of a partition costs more than it may.
    """
    segment_of = np.searchsorted(segments[:, 0], matches.first, side="right") - 1
    code, constants = program.pack(ranks)
    keep, cursor = np.ones(len(matches), np.uint8), np.zeros(CURSOR_SIZE, np.int64)
    ordered = _by_frequency(absences, program, data)
    size, status = _STACK, L.NEED_SCRATCH
    while status == L.NEED_SCRATCH:
        size = max(size, 2 * int(cursor[CURSOR_NEEDED]))
        arena = AbsenceArena(
            **condition_arrays(program, code, constants, data, size, meter.work),
            positions=matches.positions,
            variables=matches.variables,
            offsets=matches.offsets,
            segment_of=segment_of,
            segments=np.ascontiguousarray(segments),
            absences=ordered,
            keep=keep,
            bound=np.empty((size, 2), np.int64),
            frames=np.empty((size, FRAME_SIZE), np.int64),
            place=np.zeros(PLACE_SIZE, np.int64),
            looked=np.zeros(1, np.int64),
            cursor=cursor,
        )
        status = L.PAUSE
        while status == L.PAUSE:
            status = filter_absences(arena)
            match = min(int(cursor[CURSOR_MATCH]), len(matches) - 1)
            meter.check(int(segments[segment_of[match], 0]), "absence")
    return keep.astype(bool)


def _by_frequency(absences: Array, program: Program, data: Data) -> Array:
    """Return absences by descending frequency of their events: the likeliest to be violated comes first."""
    if len(absences) < 2:
        return absences
    roles = data.events[L.EVENT_ROLES]

    def rate(absence: int) -> int:
        row = program.absence_rows[absence]
        names = program.everything[row[L.ABSENCE_VARIABLES] : row[L.ABSENCE_VARIABLES_END]]
        return min(int(((roles >> program.roles[each.name]) & 1).sum()) for each in names)

    return np.array(sorted(absences.tolist(), key=lambda each: -rate(each)), np.int64)
