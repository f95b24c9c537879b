"""Tallies: the counts of a search for each partition, as rows that add up to the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pyarrow as pa

from fyke.engine.input.single_array import one_array
from fyke.engine.kernels.arrays import Array
from fyke.engine.kernels.lazy import layout as Z
from fyke.engine.output.aggregates import WHOLE
from fyke.errors import InputError
from fyke.plan.counting import Counting, TalliedValue
from fyke.plan.match_aggregates import VALID
from fyke.plan.plan import Plan

_FUNCTION = {"sum": Z.TALLY_SUM, "avg": Z.TALLY_SUM, "min": Z.TALLY_MIN, "max": Z.TALLY_MAX}
_SOURCE = {"single": Z.SOURCE_SINGLE, "min": Z.SOURCE_MIN, "max": Z.SOURCE_MAX}
_TOO_LARGE = 2.0**63


@dataclass(frozen=True, slots=True)
class TallyArrays:
    """What the kernel needs to tally: the functions, and for each a row with its value for every event."""

    subsets: bool
    wanted: tuple[tuple[str, TalliedValue], ...]
    integers: Array
    floats: Array
    valid: Array
    typed: tuple[int, ...]

    def rows(self, numbers: Mapping[str, int]) -> list[list[int]]:
        """Return the table of aggregates; ``numbers`` are those of the variables."""
        return [
            [_FUNCTION[function], _SOURCE.get(value.source, Z.SOURCE_SUM), numbers[value.variable], typed]
            for (function, value), typed in zip(self.wanted, self.typed, strict=True)
        ]


class Tally:
    """Turns counts into rows: the partition attributes and the columns of aggregates."""

    def __init__(self, plan: Plan) -> None:
        assert isinstance(plan.counting, Counting)
        self.counting = plan.counting
        self.partition = plan.partition
        self.wanted = tuple(
            (each.function, value) for each, value in self.counting.aggregates if value is not None
        )

    def arrays(self, table: pa.Table) -> TallyArrays:
        """Return the values of all events of a table."""
        shape = (len(self.wanted), table.num_rows) if self.wanted else (1, 1)
        integers, floats = np.ones(shape, np.int64), np.ones(shape, np.float64)
        valid, typed = np.ones(shape, np.uint8), []
        for k, (_, value) in enumerate(self.wanted):
            typed.append(0)
            if value.attribute is None:
                continue
            column = one_array(table.column(value.attribute))
            known = column.is_valid().to_numpy(zero_copy_only=False)
            if value.source == "count":
                integers[k], floats[k] = known, known
                continue
            valid[k] = known
            if pa.types.is_floating(column.type):
                typed[-1] = 1
                floats[k] = column.fill_null(0.0).to_numpy(zero_copy_only=False)
            else:
                integers[k] = column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
                floats[k] = integers[k]
                if value.source == "sum":
                    _check_sums(value, floats[k])
        return TallyArrays(self.counting.subsets, self.wanted, integers, floats, valid, tuple(typed))

    def rows(
        self, heads: pa.Table, typed: Sequence[int], counts: Array, integers: Array, floats: Array
    ) -> pa.Table:
        """Return what a search has counted, one row per partition that has matches.

        ``heads`` has a row of each partition; ``typed`` says which of the values are floats.
        """
        some = np.flatnonzero(counts)
        columns: dict[str, pa.Array] = {
            name: one_array(heads.column(name).take(pa.array(some))) for name in self.partition
        }
        k = 0
        for each, value in self.counting.aggregates:
            if value is None:
                columns[each.column] = pa.array(counts[some])
                continue
            valid, total, real = (
                integers[some, 2 * k],
                integers[some, 2 * k + 1],
                floats[some, k],
            )
            if each.function == "avg":
                columns[each.column] = pa.array(real, mask=valid == 0)
                columns[each.column + VALID] = pa.array(valid)
            elif typed[k]:
                columns[each.column] = pa.array(real, mask=valid == 0)
            elif each.function == "sum":
                columns[each.column] = _unwrapped(total, real, valid)
            else:
                columns[each.column] = pa.array(total, mask=valid == 0)
            k += 1
        return pa.table(columns)


def _unwrapped(totals: Array, reals: Array, valid: Array) -> pa.Array:
    """Return the true values of sums that were added modulo 2⁶⁴; the floats beside them tell their size."""
    exact: list[Decimal | None] = []
    for total, real, some in zip(totals.tolist(), reals.tolist(), valid.tolist(), strict=True):
        exact.append(Decimal(total + (round((real - total) / 2.0**64) << 64)) if some else None)
    return pa.array(exact, WHOLE)


def _check_sums(value: TalliedValue, numbers: Array) -> None:
    """Refuse integers so large that their sum over a group might leave 64 bits."""
    if float(np.abs(numbers).max(initial=0.0)) * len(numbers) >= _TOO_LARGE:
        raise InputError(
            f"{value.attribute} holds integers so large that their sum over a group may leave 64 bits",
            remedy=f"Cast {value.attribute} to double, or use engine='automaton'.",
        )
