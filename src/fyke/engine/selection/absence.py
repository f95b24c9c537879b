"""Matches that no absence forbids: the host of the search for what must not be there."""

from __future__ import annotations

import numpy as np

from fyke.engine.conditions.arrays import condition_arrays
from fyke.engine.conditions.program import Program
from fyke.engine.kernels import layout as L
from fyke.engine.kernels.arrays import Array, Data, Matches
from fyke.engine.kernels.selection.absence import (
    CURSOR_MATCH,
    CURSOR_NEEDED,
    CURSOR_SIZE,
    FRAME_SIZE,
    filter_absences,
)
from fyke.engine.kernels.selection.arena import AbsenceArena
from fyke.engine.limits import LimitReached

_STACK = 64


def not_forbidden(
    program: Program,
    ranks: dict[str, int],
    data: Data,
    matches: Matches,
    segments: Array,
    segment_of: Array,
    absences: Array,
    steps: int,
) -> Array:
    """Say for each match whether what the outermost ``absences`` of a program forbid is not there.

    Variables of the matches are those of the program; a match is of the partition in ``segment_of``.
    """
    code, constants = program.pack(ranks)
    keep = np.ones(len(matches.offsets) - 1, np.uint8)
    cursor = np.zeros(CURSOR_SIZE, np.int64)
    size, status = _STACK, L.NEED_SCRATCH
    while status == L.NEED_SCRATCH:
        size = max(size, 2 * int(cursor[CURSOR_NEEDED]))
        arena = AbsenceArena(
            **condition_arrays(program, code, constants, data, size),
            **matches._asdict(),
            segment_of=segment_of,
            segments=np.ascontiguousarray(segments),
            absences=absences,
            keep=keep,
            bound=np.empty((size, 2), np.int64),
            frames=np.empty((size, FRAME_SIZE), np.int64),
            budget=np.full(1, steps, np.int64),
            cursor=cursor,
        )
        status = filter_absences(arena, steps)
    if status == L.LIMIT_STEPS:
        raise LimitReached("steps", int(segments[segment_of[cursor[CURSOR_MATCH]], 0]))
    return keep.astype(bool)
