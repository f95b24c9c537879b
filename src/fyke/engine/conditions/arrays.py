"""A program and events to the arrays that every kernel with conditions works on."""

from __future__ import annotations

from fyke.engine.conditions.program import Program
from fyke.engine.kernels.arrays import Array, Data
from fyke.engine.kernels.conditions.arena import condition_scratch


def condition_arrays(
    program: Program, code: Array, constants: Array, data: Data, longest: int
) -> dict[str, Array]:
    """Return the fields of a ``ConditionArena``; ``longest`` is the most events of one substitution."""
    scratch = condition_scratch(
        len(program.everything),
        program.compiler.depth + 1,
        program.run_integers,
        program.run_floats,
        longest,
    )
    return {"program": code, "constants": constants, **data._asdict(), **scratch}
