"""A program and its events to the arrays that every kernel with conditions reads."""

from __future__ import annotations

from fyke.engine.conditions.program import Program
from fyke.engine.kernels.arrays import Array, Data
from fyke.engine.kernels.conditions.arena import condition_scratch


def condition_arrays(
    program: Program, code: Array, constants: Array, data: Data, longest: int, work: Array
) -> dict[str, Array]:
    """Return the fields of a ``ConditionArena``.

    ``longest`` is the most events that one match can bind, ``work`` counts what the call has done.
    """
    scratch = condition_scratch(
        len(program.everything),
        program.compiler.depth + 1,
        program.run_integers,
        program.run_floats,
        longest,
    )
    return {"program": code, "constants": constants, **data._asdict(), **scratch, "work": work}
