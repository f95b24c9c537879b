"""Conditions that compare an attribute of one event with one of another, recognised in compiled form."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fyke.engine.conditions.values import Code
from fyke.engine.kernels import layout as L

EQUAL, UNEQUAL = 0, 1
_FLIPPED = {0: 0, 1: 1, 2: 4, 3: 5, 4: 2, 5: 3}
_STORES = {L.COMPARE_LOADS_I: "i", L.COMPARE_LOADS_F: "f"}


@dataclass(frozen=True, slots=True)
class Operand:
    """One side of a comparison: the number of a variable, which of its elements, and which column."""

    variable: int
    slot: int
    column: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """``left operator right``; ``store`` says whether the columns are integers ("i") or floats ("f").

    Operators are numbered as the kernels do: =, !=, <, <=, >, >=.
    """

    store: str
    left: Operand
    operator: int
    right: Operand

    def flipped(self) -> Comparison:
        """Return the same comparison with its sides exchanged."""
        return replace(self, left=self.right, operator=_FLIPPED[self.operator], right=self.left)


def comparison_of(code: Code) -> Comparison | None:
    """Return a compiled condition as a comparison, or None if it is anything else."""
    if len(code) != 1 or code[0][0] not in _STORES:
        return None
    operation, left, left_slot, right, right_slot, operator = code[0]
    first = Operand(*divmod(left_slot, L.SLOTS), left)
    second = Operand(*divmod(right_slot, L.SLOTS), right)
    return Comparison(_STORES[operation], first, operator, second)


def cheapest_first(operator: int) -> tuple[bool, bool]:
    """Return a sort key that puts equalities, which leave fewest candidates, first and inequalities last."""
    return operator != EQUAL, operator == UNEQUAL
