"""Aggregates in RETURN (SEMANTICS 5): of a group, and over matches, one row per partition."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fyke.engine.conditions.columns import Column
from fyke.engine.conditions.evaluate import evaluate
from fyke.engine.input.order import partition_codes
from fyke.engine.input.single_array import one_array
from fyke.engine.kernels.arrays import Array
from fyke.language.ast import Expression, Reference
from fyke.language.rules import COUNT_DISTINCT
from fyke.logical.kinds import COLLECT, MEDIAN
from fyke.logical.returns import Output
from fyke.plan.match_aggregates import VALID, combine_tallies, split_aggregates

_ARROW = {"count": "count", "sum": "sum", "min": "min", "max": "max", "avg": "mean", "stddev": "stddev"}
_MAGNITUDE = np.int64(2**63 - 1)
WHOLE = pa.decimal128(38, 0)  # sums of int64 values of up to 2⁶² matches


def aggregate_rows(rows: pa.Table, partition: tuple[str, ...], output: Output) -> pa.Table:
    """Aggregate matches into one row per value of the partition attributes, one row in all without them."""
    aggregates, items = split_aggregates(output)
    heads, owner = _owners(rows, partition)
    groups = len(heads) if partition else 1
    values: dict[str, Column] = {}
    for each in aggregates:
        value = grouped(each.function, one_array(rows.column(each.column)), owner, groups)
        values[each.column] = value.fill_null(0) if each.counts else value
    return _finished(rows, partition, heads, output, items, values, groups)


def aggregate_tallies(
    rows: pa.Table, partition: tuple[str, ...], output: Output, whole: Collection[str]
) -> pa.Table:
    """Return what :func:`aggregate_rows` returns, from tallies; ``whole`` are the columns of exact sums."""
    aggregates, items = combine_tallies(output)
    heads, _ = _owners(rows, partition)
    groups = len(heads) if partition else 1
    merged = merge_tallies(rows, partition, output)
    values: dict[str, Column] = {}
    for each in aggregates:
        value = one_array(merged.column(each.column))
        if merged.num_rows < groups:  # no match, and no partition
            value = pa.nulls(groups, value.type)
        value = _narrowed(value) if each.column in whole else value
        values[each.column] = value.fill_null(0) if each.counts else value
    return _finished(rows, partition, heads, output, items, values, groups)


def tally_rows(rows: pa.Table, partition: tuple[str, ...], output: Output) -> pa.Table:
    """Return the tallies of some matches, one row per value of the partition attributes.

    Sums of integers are exact: only the sum over all matches may turn out not to fit.
    """
    heads, owner = _owners(rows, partition)
    columns: dict[str, pa.Array] = {name: _taken(rows, name, heads) for name in partition}
    for each in split_aggregates(output)[0]:
        values = one_array(rows.column(each.column))
        if each.function == "avg":
            values = values.cast(pa.float64(), safe=False)
            columns[each.column] = grouped("sum", values, owner, len(heads))
            columns[each.column + VALID] = grouped("count", values, owner, len(heads))
        elif each.function == "sum" and pa.types.is_integer(values.type):
            columns[each.column] = _whole_sums(values.cast(pa.int64()), owner, len(heads))
        else:
            columns[each.column] = grouped(each.function, values, owner, len(heads))
    return pa.table(columns)


def merge_tallies(rows: pa.Table, partition: tuple[str, ...], output: Output) -> pa.Table:
    """Return tallies with one row per value of the partition attributes."""
    heads, owner = _owners(rows, partition)
    if len(heads) == rows.num_rows:
        return rows.take(pa.array(heads))
    columns: dict[str, pa.Array] = {name: _taken(rows, name, heads) for name in partition}
    for each in combine_tallies(output)[0]:
        values = one_array(rows.column(each.column))
        columns[each.column] = grouped(each.function, values, owner, len(heads))
    return pa.table(columns)


def _owners(rows: pa.Table, partition: tuple[str, ...]) -> tuple[Array, Array]:
    """Return the first row of each value of the partition attributes, and for each row its value's number."""
    if not partition:
        return np.zeros(min(1, rows.num_rows), np.int64), np.zeros(rows.num_rows, np.int64)
    codes = partition_codes(rows, partition)
    _, heads, owner = np.unique(codes, return_index=True, return_inverse=True)
    return heads, owner


def _taken(rows: pa.Table, name: str, heads: Array) -> pa.Array:
    return one_array(rows.column(name).take(pa.array(heads)))


def _finished(
    rows: pa.Table,
    partition: tuple[str, ...],
    heads: Array,
    output: Output,
    items: Sequence[Expression],
    values: Mapping[str, Column],
    groups: int,
) -> pa.Table:
    """Return the partition attributes and the items of RETURN, given the values of its aggregates."""
    columns: dict[str, Column] = {name: _taken(rows, name, heads) for name in partition}

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
    """Aggregate ``values`` by owner, from 0 to ``groups``; an owner without values gets null.

    For ``first``, ``last`` and lists the values of an owner stand together, in its order.
    """
    if function in ("first", "last"):
        counts = np.bincount(owner, minlength=groups)
        ends = np.cumsum(counts)
        at = (ends - counts) if function == "first" else ends - 1
        return values.take(pa.array(at, mask=counts == 0))
    if function == COLLECT:
        return _collected(values, owner, groups)
    if function == COUNT_DISTINCT:
        return _different(values, owner, groups)
    if function == MEDIAN:
        return _medians(as_averaged(function, values), owner, groups)
    if function in ("min", "max") and pa.types.is_floating(values.type):
        ranked = _by_owner(function, _ranks(values), owner, groups)
        return _unranked(ranked).cast(values.type)
    if function in ("min", "max") and pa.types.is_duration(values.type):  # of which Arrow has no order
        return _by_owner(function, values.cast(pa.int64()), owner, groups).cast(values.type)
    if function == "sum" and pa.types.is_integer(values.type):
        values = values.cast(pa.int64())
        if _may_leave(values):
            return _narrowed(_exact_sums(values, owner, groups))
    return _by_owner(function, as_averaged(function, values), owner, groups)


def _collected(values: pa.Array, owner: Array, groups: int) -> pa.Array:
    """Return the values of each owner as a list, nulls included."""
    counts = np.bincount(owner, minlength=groups)
    offsets = pa.array(np.concatenate(([0], np.cumsum(counts))), pa.int32())
    lists = pa.ListArray.from_arrays(offsets, values)
    return lists.take(pa.array(np.arange(groups), mask=counts == 0))


def _different(values: pa.Array, owner: Array, groups: int) -> pa.Array:
    """Count the different values of each owner, nulls apart; NaN equals itself, and 0.0 is -0.0."""
    if pa.types.is_floating(values.type):
        values = _ranks(pc.add(values.cast(pa.float64()), pa.scalar(0.0)))
    codes = values.dictionary_encode().indices if len(values) else pa.array([], pa.int32())
    known = codes.is_valid().to_numpy(zero_copy_only=False)
    pairs = np.stack((owner[known], codes.drop_null().to_numpy(zero_copy_only=False).astype(np.int64)))
    found = np.bincount(np.unique(pairs, axis=1)[0], minlength=groups)
    return pa.array(found, pa.int64(), mask=np.bincount(owner, minlength=groups) == 0)


def _medians(values: pa.Array, owner: Array, groups: int) -> pa.Array:
    """Return the value in the middle, or the mean of the two that are; NaN is greatest."""
    known = values.is_valid().to_numpy(zero_copy_only=False)
    floats = values.drop_null().cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    ordered = floats[np.lexsort((floats, owner[known]))]
    counts = np.bincount(owner[known], minlength=groups)
    starts = np.cumsum(counts) - counts
    missing = counts == 0
    padded = np.append(ordered, 0.0)
    low, high = (padded[np.where(missing, -1, starts + each)] for each in ((counts - 1) // 2, counts // 2))
    with np.errstate(invalid="ignore"):
        return pa.array(np.where(low == high, low, 0.5 * low + 0.5 * high), mask=missing)


def as_averaged(function: str, values: Column) -> Column:
    """Return decimals as floats, if the function gives floats."""
    averages = function in ("avg", "stddev", MEDIAN) and pa.types.is_decimal(values.type)
    return values.cast(pa.float64()) if averages else values


def _by_owner(function: str, values: pa.Array, owner: Array, groups: int) -> pa.Array:
    arrow = _ARROW[function]
    if len(values) == 0:
        return pa.nulls(groups, _aggregated(function, values.type))
    table = pa.table({"owner": owner, "value": values})
    result = table.group_by("owner", use_threads=False).aggregate([("value", arrow, _options(function))])
    at = np.full(groups, -1, np.int64)
    at[result.column("owner").to_numpy()] = np.arange(result.num_rows)
    return one_array(result.column(f"value_{arrow}")).take(pa.array(at, mask=at < 0))


@functools.lru_cache(maxsize=256)
def _aggregated(function: str, kind: pa.DataType) -> pa.DataType:
    """Return the type of an aggregate over values of a type."""
    arrow = _ARROW[function]
    table = pa.schema([("owner", pa.int64()), ("value", kind)]).empty_table()
    result = table.group_by("owner", use_threads=False).aggregate([("value", arrow, _options(function))])
    return result.schema.field(f"value_{arrow}").type


def _may_leave(values: pa.Array) -> bool:
    """Say whether sums of int64 values might leave int64."""
    floats = values.fill_null(0).to_numpy(zero_copy_only=False).astype(float)
    return float(np.abs(floats).sum()) >= 2.0**62


def _whole_sums(values: pa.Array, owner: Array, groups: int) -> pa.Array:
    """Sum int64 values, however large the sums."""
    if _may_leave(values):
        return _exact_sums(values, owner, groups)
    return _by_owner("sum", values, owner, groups).cast(WHOLE)


def _exact_sums(values: pa.Array, owner: Array, groups: int) -> pa.Array:
    """Sum integers that may leave int64: their upper and their lower halves."""
    half = pa.scalar(32, pa.int64())
    upper = _by_owner("sum", pc.shift_right(values, half), owner, groups).to_pylist()
    lower = pc.bit_wise_and(values, pa.scalar(2**32 - 1, pa.int64()))
    pairs = zip(upper, _by_owner("sum", lower, owner, groups).to_pylist(), strict=True)
    return pa.array([None if high is None else Decimal((high << 32) + low) for high, low in pairs], WHOLE)


def _narrowed(sums: pa.Array) -> pa.Array:
    """Return whole sums as int64; one that does not fit is null."""
    exact = [None if total is None else int(total) for total in sums.to_pylist()]
    fitting = [total if total is not None and -(2**63) <= total < 2**63 else None for total in exact]
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
