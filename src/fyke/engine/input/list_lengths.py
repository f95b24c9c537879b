"""Checks once per call, before any kernel runs, that lists compared by ``corr`` have one length."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fyke.engine.conditions.program import Program
from fyke.engine.kernels import layout as L
from fyke.engine.kernels.arrays import Array, Data
from fyke.errors import InputError


def check_list_lengths(programs: Sequence[Program], data: Data) -> None:
    """Refuse events whose lists have different lengths where ``corr`` compares them.

    A list that is null, empty, or has a null in it has no correlation, whatever its length.
    """
    for program in programs:
        for code in program.code:
            for operation, left, left_slot, right, right_slot, *_ in code:
                if operation == L.CORRELATION:
                    sides = ((left, left_slot // 4), (right, right_slot // 4))
                    lengths = np.unique(np.concatenate([_lengths(program, data, *side) for side in sides]))
                    if len(lengths) > 1:
                        names = [program.everything[variable].name for _, variable in sides]
                        raise InputError(
                            f"corr of {names[0]} and {names[1]} compares lists of one length, "
                            f"found {lengths[0]} and {lengths[-1]} numbers",
                            remedy="Cut or fill the lists to one length, or use null where there is no list.",
                        )


def _lengths(program: Program, data: Data, column: int, variable: int) -> Array:
    """Return the lengths of the lists that can be bound to a variable."""
    role = program.roles[program.everything[variable].name]
    rows = (data.events[L.EVENT_ROLES] >> role) & 1 == 1
    lengths = np.diff(data.lists[column])[rows]
    return np.asarray(np.unique(lengths[lengths > 0]))
