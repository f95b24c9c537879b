"""The arena of conditions: what every kernel that decides one works on."""

from __future__ import annotations

import numpy as np

from fyke.engine.kernels.arena import Arena
from fyke.engine.kernels.arrays import Array
from fyke.engine.kernels.kinds import ByteRows, Bytes, FloatRows, Floats, IntegerRows, Integers


class ConditionArena(Arena):
    """What conditions are decided on: a program, the events, and scratch.

    Programs and events are read only.  ``events`` has the rows of ``layout.EVENT_*``; ``cols_i`` and
    ``cols_f`` a row per derived column, with ``valid_*`` beside them; list columns are offsets in ``lists``
    into ``values``; ``addresses`` are those of user functions.  Then, the positions in the ``slots`` of
    each variable and the ``lengths`` of groups; the stack of a condition; the elements of one substitution
    by variable, accumulators before and after an element; slots and lengths put aside.  ``work`` is what the
    call has done (``layout.WORK_*``).
    """

    program: Integers
    constants: Floats
    events: IntegerRows
    cols_i: IntegerRows
    cols_f: FloatRows
    valid_i: ByteRows
    valid_f: ByteRows
    lists: IntegerRows
    values: Floats
    addresses: Integers
    slots: Integers
    lengths: Integers
    stack_i: Integers
    stack_f: Floats
    nulls: Bytes
    elements: Integers
    bounds: Integers
    fill: Integers
    places: Integers
    before_i: Integers
    before_f: Floats
    after_i: Integers
    after_f: Floats
    kept_slots: Integers
    kept_lengths: Integers
    work: Integers


def condition_scratch(
    variables: int, depth: int, integers: int, floats: int, longest: int
) -> dict[str, Array]:
    """Return the scratch arrays of a :class:`ConditionArena`.

    They are for so many variables, conditions of so many values on the stack, accumulators of so many
    numbers, and substitutions of at most ``longest`` events.
    """
    sizes = {
        "slots": 4 * variables, "lengths": variables, "stack_i": depth, "elements": longest,
        "bounds": variables + 1, "fill": variables + 1, "places": variables + 1,
        "before_i": integers, "after_i": integers, "kept_slots": 4 * variables, "kept_lengths": variables,
    }  # fmt: skip
    scratch: dict[str, Array] = {name: np.zeros(size, np.int64) for name, size in sizes.items()}
    scratch |= {"stack_f": np.zeros(depth), "before_f": np.zeros(floats), "after_f": np.zeros(floats)}
    return {**scratch, "nulls": np.zeros(depth, np.uint8)}
