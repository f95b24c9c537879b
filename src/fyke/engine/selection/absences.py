"""Absences checked on whole matches: which are left to check, which comes first, the search ([L] 4.4.1)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from fyke.engine.conditions.program import Program
from fyke.engine.kernels import layout as L
from fyke.engine.kernels.arena import make_world, pack_world
from fyke.engine.kernels.arrays import NUMBER, Array, Data, Matches
from fyke.engine.kernels.selection.absence import filter_absences
from fyke.engine.limits import LimitReached
from fyke.engine.matchset import MatchSet

_NOTHING = np.zeros(1, np.int64)
NO_MATCHES = Matches(_NOTHING, _NOTHING.astype(NUMBER), _NOTHING)


class AbsenceArena:
    """The arrays of a search for absences beside the events that a match, or part of one, has bound.

    ``longest`` is how many events it may have to lay out at once.
    """

    def __init__(
        self,
        program: Program,
        ranks: dict[str, int],
        data: Data,
        segments: Array,
        longest: int,
        matches: Matches = NO_MATCHES,
    ) -> None:
        code, constants = program.pack(ranks)
        variables, depth = len(program.everything), program.compiler.depth + 1
        sizes = {
            "slots": 4 * variables, "lengths": variables, "stack_i": depth, "elements": longest,
            "bounds": variables + 1, "fill": variables + 1, "places": variables + 1,
            "before_i": program.run_integers, "after_i": program.run_integers,
            "kept_slots": 4 * variables, "kept_lengths": variables,
        }  # fmt: skip
        scratch: dict[str, Any] = {name: np.zeros(size, np.int64) for name, size in sizes.items()}
        reals = {"stack_f": depth, "before_f": program.run_floats, "after_f": program.run_floats}
        scratch |= {name: np.zeros(size) for name, size in reals.items()}
        self.held = make_world(
            program=code,
            constants=constants,
            **dict(zip(Data._fields, data, strict=True)),
            out_positions=matches.positions,
            out_variables=matches.variables,
            offsets=matches.offsets,
            segments=np.ascontiguousarray(segments),
            nulls=np.zeros(depth, np.uint8),
            **scratch,
        )
        self.packed = pack_world(self.held)  # addresses of the arrays held


def absences_left(program: Program, early: Collection[int]) -> Array:
    """Return the rows of the outermost absences that the search itself has not checked."""
    outer = [k for k, row in enumerate(program.absence_rows) if row[L.ABSENCE_PARENT] < 0]
    return np.array([row for k, row in enumerate(outer) if k not in early], np.int64)


def without_absent(
    program: Program, absences: Array, matches: MatchSet, segments: Array, data: Data, ranks: dict[str, int],
    steps: int,
) -> Array:  # fmt: skip
    """Say which matches no absence forbids; variables are numbered as the program does.

    Raises
    ------
    LimitReached
        If the search of a partition has looked at more rows than ``steps``.
    """
    segment = np.searchsorted(segments[:, 0], matches.first, side="right") - 1
    keep = np.ones(len(matches), np.uint8)
    longest = data.events.shape[1] + int(matches.lengths.max(initial=0)) + 2
    bound = Matches(matches.positions, matches.variables, matches.offsets)
    arena = AbsenceArena(program, ranks, data, segments, longest, bound)
    ordered = _by_frequency(absences, program, data)
    endless = filter_absences(arena.packed, ordered, segment, len(matches), keep, steps)
    if endless >= 0:
        raise LimitReached("steps", int(segments[endless, 0]))
    return keep.astype(bool)


def _by_frequency(absences: Array, program: Program, data: Data) -> Array:
    """Return absences in descending frequency of their events: what is likeliest to be there is met first."""
    if len(absences) < 2:
        return absences
    roles = data.events[L.EVENT_ROLES]

    def rate(absence: int) -> int:
        row = program.absence_rows[absence]
        names = program.everything[row[L.ABSENCE_VARIABLES] : row[L.ABSENCE_VARIABLES_END]]
        return min(int(((roles >> program.roles[each.name]) & 1).sum()) for each in names)

    return np.array(sorted(absences.tolist(), key=lambda each: -rate(each)), np.int64)
