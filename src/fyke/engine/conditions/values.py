"""Values on the stacks of the kernels' machine, with what decimals need to be exact: scales and bounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

import numpy as np
import pyarrow as pa

from fyke.engine.kernels.arrays import Array
from fyke.errors import InputError
from fyke.language.ast import Expression
from fyke.logical.kinds import Kind

Code = list[list[int]]

LARGEST, SMALLEST = 2**63 - 1, -(2**63)
SAFE_DIGITS = 18  # of decimals that fit 64 bits
_ROUNDING = 1e-9  # more than the sum of floats can be wrong by


@dataclass(frozen=True, slots=True)
class ColumnUse:
    """Where the kernel finds a derived column: ``store`` is "i", "f" or "list".

    A decimal with ``scale`` digits behind the point is a whole number of units of its last digit.  One whose
    type has too many digits for that is ``ranked`` among all such; the column ``units`` has it in
    units, and :data:`SMALLEST` where it does not fit.  ``source`` is the expression over a row that the
    column is made of.
    """

    store: str
    number: int
    kind: Kind
    type: pa.DataType
    scale: int = 0
    ranked: bool = False
    units: int = -1
    source: Expression = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class Magnitudes:
    """What the columns of integers hold at most, by number: in one row, and in all rows together."""

    largest: Sequence[int]
    total: Sequence[int]


Bound = Callable[[Magnitudes], int]
"""The largest magnitude of a value, given those in the columns of integers."""


@dataclass(frozen=True, slots=True)
class Exactness:
    """What must hold of a batch for a condition on decimals to be exact: ``bound`` fits 64 bits."""

    bound: Bound
    text: str


def check_exact(needed: Sequence[Exactness], columns: Array) -> None:
    """Raise InputError if a condition might not be exact for all values of the columns of integers."""
    if not needed or columns.shape[1] == 0:
        return
    found = Magnitudes(
        [max(abs(int(each.min())), abs(int(each.max()))) for each in columns],
        [int(np.abs(each.astype(np.float64)).sum() * (1 + _ROUNDING)) for each in columns],
    )
    for each in needed:
        if each.bound(found) >= LARGEST:  # which itself stands for what is beyond it
            raise InputError(
                f"{each.text} would need more than 64 bits for the largest values there are, and decimals of "
                "several events are computed with exactly",
                remedy="Compute with floats, as in CAST(a.x AS DOUBLE), or with fewer digits behind the "
                "point, as in CAST(a.x AS DECIMAL(12, 2)).",
            )


@dataclass(frozen=True, slots=True)
class Value:
    """Instructions that leave a value on a stack, "i" or "f".

    ``type`` is the type of a number in the language; ``scale`` is the scale of the integer that stands for a
    decimal.  Without a ``bound`` it is null where it does not fit.  ``literal`` is the value of a whole
    number or decimal that is written out.  ``plain`` is a ``ranked`` decimal in units.
    """

    code: Code
    stack: str
    kind: Kind
    type: pa.DataType | None = None
    scale: int = 0
    bound: Bound | None = None
    ranked: bool = False
    literal: Decimal | None = None
    plain: Value | None = None

    def fits(self) -> bool:
        """Say whether the type alone tells that the integer fits 64 bits with room for a sum."""
        return self.type is not None and _digits(self.type) + self.scale - scale_of(self.type) <= SAFE_DIGITS


def _digits(kind: pa.DataType) -> int:
    if pa.types.is_decimal(kind):
        return int(kind.precision)
    return {8: 3, 16: 5, 32: 10}.get(kind.bit_width, 20)


def scale_of(kind: pa.DataType) -> int:
    """Return how many digits numbers of a type have behind the point."""
    return int(kind.scale) if pa.types.is_decimal(kind) else 0


def is_beyond(value: Value) -> bool:
    """Say whether a number that is written out has no place among integers of 64 bits."""
    return value.literal is not None and not SMALLEST <= value.literal <= LARGEST


def product_bound(left: Bound | None, right: Bound | None) -> Bound | None:
    """Return the bound of a product; None if one is unknown."""
    if left is None or right is None:
        return None
    return lambda found: left(found) * right(found)


def sum_bound(left: Bound | None, right: Bound | None) -> Bound | None:
    """Return the bound of a sum or difference; None if one is unknown."""
    if left is None or right is None:
        return None
    return lambda found: left(found) + right(found)


def greatest_bound(values: Sequence[Value]) -> Bound | None:
    """Return the bound of one of several values; None if one is unknown."""
    bounds = [value.bound for value in values if value.bound is not None]
    if len(bounds) < len(values):
        return None
    return lambda found: max(bound(found) for bound in bounds)


def integer_bound(operator: str, left: Value, right: Value) -> Bound | None:
    """Return a bound of whole numbers, which are null where they do not fit 64 bits."""
    made = product_bound(left.bound, right.bound) if operator == "*" else sum_bound(left.bound, right.bound)
    return None if made is None else lambda found: min(made(found), LARGEST)


def total_bound(number: int, kind: Kind) -> Bound:
    """Return the bound of a sum over some rows of a column; whole numbers that do not fit are null."""
    if kind is Kind.DECIMAL:
        return lambda found: found.total[number]
    return lambda found: min(found.total[number], LARGEST)
