"""Aggregates in RETURN (SEMANTICS 5): of a group, and over matches, one row per partition."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fyke.engine.evaluate import Column, evaluate
from fyke.engine.kernels.arrays import Array
from fyke.engine.order import partition_codes
from fyke.language.ast import Expression, Reference
from fyke.pattern.returns import Output
from fyke.plan.match_aggregates import combine_tallies, split_aggregates

_ARROW = {"count": "count", "sum": "sum", "min": "min", "max": "max", "avg": "mean", "stddev": "stddev"}
_MAGNITUDE = np.int64(2**63 - 1)


def aggregate_rows(
    rows: pa.Table, partition: tuple[str, ...], output: Output, *, tallied: bool = False
) -> pa.Table:
    """Return one row per value of the partition attributes (one row in all without them).

    Rows are matches, or if ``tallied`` sums over some matches each.
    """
    aggregates, items = combine_tallies(output) if tallied else split_aggregates(output)
    heads, owner = np.unique(partition_codes(rows, partition), return_index=True, return_inverse=True)[1:]
    groups = len(heads) if partition else 1
    values: dict[str, Column] = {}
    for each in aggregates:
        value = grouped(each.function, rows.column(each.column).combine_chunks(), owner, groups)
        values[each.column] = value.fill_null(0) if each.counts else value
    columns: dict[str, Column] = {
        name: rows.column(name).take(pa.array(heads)).combine_chunks() for name in partition
    }

    def resolve(node: Expression) -> Column | None:
        if isinstance(node, Reference):
            found = values.get(node.path[0])
            return columns[node.path[0]] if found is None else found
        return None

    for column, item in zip(output.columns, items, strict=True):
        columns[column.name] = evaluate(item, resolve)
    arrays = [
        value if isinstance(value, pa.Array) else pa.repeat(value, groups) for value in columns.values()
    ]
    return pa.Table.from_arrays(arrays, names=list(columns))


def grouped(function: str, values: pa.Array, owner: Array, groups: int) -> pa.Array:
    """Aggregate ``values`` by owner, from 0 to ``groups``; an owner of nothing has null.

    For ``first`` and ``last`` the values of an owner stand together, in its order.
    """
    if function in ("first", "last"):
        counts = np.bincount(owner, minlength=groups)
        ends = np.cumsum(counts)
        at = (ends - counts) if function == "first" else ends - 1
        return values.take(pa.array(at, mask=counts == 0))
    if function in ("min", "max") and pa.types.is_floating(values.type):
        ranked = _by_owner(function, _ranks(values), owner, groups)
        return _unranked(ranked).cast(values.type)
    if function == "sum" and pa.types.is_integer(values.type):
        values = values.cast(pa.int64())
        if float(np.abs(values.fill_null(0).to_numpy(zero_copy_only=False).astype(float)).sum()) >= 2.0**62:
            return _exact_sums(values, owner, groups)
    return _by_owner(function, as_averaged(function, values), owner, groups)


def as_averaged(function: str, values: Column) -> Column:
    """Return decimals as floats where the function makes floats of them."""
    averages = function in ("avg", "stddev") and pa.types.is_decimal(values.type)
    return values.cast(pa.float64()) if averages else values


def _by_owner(function: str, values: pa.Array, owner: Array, groups: int) -> pa.Array:
    arrow = _ARROW[function]
    table = pa.table({"owner": owner, "value": values})
    result = table.group_by("owner", use_threads=False).aggregate([("value", arrow, _options(function))])
    at = np.full(groups, -1, np.int64)
    at[result.column("owner").to_numpy()] = np.arange(result.num_rows)
    return result.column(f"value_{arrow}").combine_chunks().take(pa.array(at, mask=at < 0))


def _exact_sums(values: pa.Array, owner: Array, groups: int) -> pa.Array:
    """Sum integers that may leave int64: a total that does is null."""
    totals: list[int | None] = [None] * groups
    for value, group in zip(values.to_pylist(), owner.tolist(), strict=True):
        if value is not None:
            totals[group] = (totals[group] or 0) + value
    fitting = [total if total is not None and -(2**63) <= total < 2**63 else None for total in totals]
    return pa.array(fitting, pa.int64())


def _ranks(values: pa.Array) -> pa.Array:
    """Return integers in the order of floats, NaN greatest: Arrow's own min and max pass it over."""
    floats = values.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)
    bits = np.where(np.isnan(floats), np.nan, floats).view(np.int64)
    return pa.array(
        np.where(bits < 0, bits ^ _MAGNITUDE, bits), mask=values.is_null().to_numpy(zero_copy_only=False)
    )


def _unranked(ranks: pa.Array) -> pa.Array:
    bits = ranks.fill_null(0).to_numpy(zero_copy_only=False)
    floats = np.where(bits < 0, bits ^ _MAGNITUDE, bits).view(np.float64)
    return pa.array(floats, mask=ranks.is_null().to_numpy(zero_copy_only=False))


def _options(function: str) -> pc.FunctionOptions:
    if function == "stddev":
        return pc.VarianceOptions(ddof=1, min_count=2)
    if function == "count":
        return pc.CountOptions(mode="only_valid")
    return pc.ScalarAggregateOptions(min_count=1)
