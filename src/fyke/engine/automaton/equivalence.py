"""Which values of a run its future depends on, state by state (the masks of [N] 5.2.2).

Two runs of one state that agree on these values select the same events from now on, so the kernel merges
them.  Listing too many values only means that fewer runs are merged; listing too few would be wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fyke.engine.conditions.compile import Accumulator
from fyke.engine.conditions.values import Code
from fyke.engine.kernels import layout as L

_LOADS = {L.LOAD_I: L.MERGE_VALUE_I, L.LOAD_F: L.MERGE_VALUE_F}
_COMPARED_LOADS = {L.COMPARE_LOADS_I: L.MERGE_VALUE_I, L.COMPARE_LOADS_F: L.MERGE_VALUE_F}
_SLOT_PLACE = {
    L.SLOT_CURRENT: L.RUN_LAST_OF,
    L.SLOT_FIRST: L.RUN_FIRST_OF,
    L.SLOT_LAST: L.RUN_LAST_OF,
    L.SLOT_PREVIOUS: L.RUN_LAST_OF,  # the last element now is the one before the next
}


@dataclass(frozen=True, slots=True)
class Bounds:
    """What merging must know of a variable: its repetition bounds, and the variables before it, as bits."""

    group: bool
    minimum: int
    maximum: int | None
    before: int


@dataclass(frozen=True, slots=True)
class Pending:
    """What merging must know of a condition: its instructions, and masks of its variables."""

    code: Code
    needs: int
    each: int
    whole: int


def needed_values(
    variables: list[Bounds],
    conditions: list[Pending],
    accumulators: list[tuple[int, Accumulator]],
    bound: int,
    closed: int,
    *,
    points: bool,
) -> list[list[int]] | None:
    """Return the rows of the merge table for a state, or None if its runs are never merged.

    ``bound`` and ``closed`` are the masks of the state's variables; ``accumulators`` come with the
    number of their variable; ``points`` says that all events are points in time.
    """
    rows: list[list[int]] = []
    for condition in conditions:
        if not _open(condition, bound, closed):
            continue
        looks_back = condition.each & bound
        single = looks_back & (looks_back - 1) == 0 and looks_back == condition.each
        if looks_back and not (single and _decided(condition, bound, closed)):
            return None  # every element bound so far will be looked at again
        rows += _loaded(condition, variables, accumulators, bound)
    rows += _ordered(variables, bound, closed, points=points)
    return [list(row) for row in dict.fromkeys(map(tuple, rows))]


def _decided(condition: Pending, bound: int, closed: int) -> bool:
    return condition.needs & ~bound == 0 and condition.whole & ~closed == 0


def _open(condition: Pending, bound: int, closed: int) -> bool:
    """Say whether a condition is still to be evaluated."""
    return not _decided(condition, bound, closed) or condition.each & ~closed != 0


def _place(variable: int, item: int) -> int:
    return L.RUN_VARIABLES + variable * L.RUN_VARIABLE_SIZE + item


def _loaded(
    condition: Pending, variables: list[Bounds], accumulators: list[tuple[int, Accumulator]], bound: int
) -> Iterator[list[int]]:
    """Yield the values of bound variables that the instructions of a condition load."""
    for operation, *operands in condition.code:
        if operation in _LOADS:
            known = operands[2] == L.KNOWN
            loads = [] if known else [(_LOADS[operation], operands[0], operands[1])]
        elif operation in _COMPARED_LOADS:
            kind = _COMPARED_LOADS[operation]
            loads = [(kind, operands[0], operands[1]), (kind, operands[2], operands[3])]
        elif operation == L.CORRELATION:  # lists are not compared: the same event, or none
            loads = [(L.MERGE_INTEGER, 0, operands[1]), (L.MERGE_INTEGER, 0, operands[3])]
        elif operation == L.LENGTH:
            loads = []
            if bound >> operands[0] & 1:
                kind = L.MERGE_CAPPED if operands[1] else L.MERGE_INTEGER
                yield [kind, _place(operands[0], L.RUN_COUNT), operands[1]]
        elif L.ACC_LOAD_I <= operation < L.LENGTH:
            loads = []
            yield from _accumulated(operation, operands, accumulators, bound)
        else:
            continue
        for kind, column, slot in loads:
            variable, where = divmod(slot, L.SLOTS)
            new_element = where == L.SLOT_CURRENT and variables[variable].group
            if bound >> variable & 1 and not new_element:
                yield [kind, _place(variable, _SLOT_PLACE[where]), column]


def _accumulated(
    operation: int, operands: list[int], accumulators: list[tuple[int, Accumulator]], bound: int
) -> Iterator[list[int]]:
    """Yield the parts of the accumulator that an instruction loads."""
    floats = operation in (L.ACC_LOAD_F, L.ACC_AVERAGE, L.ACC_DEVIATION)
    for variable, acc in accumulators:
        if not bound >> variable & 1 or acc.loaded != operands[1 if floats else 0]:
            continue
        if acc.positions:
            kind = L.MERGE_VALUE_I if acc.typed == 0 else L.MERGE_VALUE_F
            yield from ([kind, place, acc.column] for place in acc.positions)
            continue
        for k in range(acc.integers):
            yield [L.MERGE_INTEGER, acc.slot + k, 0]
        for k in range({L.ACC_SUM_F: 1, L.ACC_MOMENTS: 2}.get(acc.kind, 0)):
            yield [L.MERGE_FLOAT, acc.floats + k, 0]


def _ordered(variables: list[Bounds], bound: int, closed: int, *, points: bool) -> Iterator[list[int]]:
    """Yield the values of bound variables that order and repetition bounds still depend on.

    Any later point may extend a group: it is after the last element, or simultaneous with it.
    """
    barriers = 0  # the bound variables that one still to come must be after
    for v, variable in enumerate(variables):
        started = bound >> v & 1
        if started and variable.group and not closed >> v & 1:
            if not points:
                yield [L.MERGE_ORDER, _place(v, L.RUN_LAST_OF), 0]
            if variable.maximum is not None:
                yield [L.MERGE_INTEGER, _place(v, L.RUN_COUNT), 0]
            elif variable.minimum > 1:
                yield [L.MERGE_CAPPED, _place(v, L.RUN_COUNT), variable.minimum]
        if not started:
            barriers |= variable.before & bound
    for u in range(barriers.bit_length()):
        if barriers >> u & 1:
            yield [L.MERGE_ORDER, _place(u, L.RUN_BARRIER), 0]
