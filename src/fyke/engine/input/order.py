"""Rows to processing order (SEMANTICS 1): partitions, positions, and ranks that say what is before what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fyke.engine.input.single_array import filled, one_array
from fyke.engine.kernels import layout as L
from fyke.engine.kernels.arrays import Array
from fyke.engine.kernels.input.sorting import (
    counting_sort,
    is_identity,
    is_sorted,
    number_runs,
    number_within,
)
from fyke.errors import InputError
from fyke.logical.schema import EventSchema
from fyke.plan.plan import ROLES, Plan

PARTITION = "__fyke_partition"


@dataclass(frozen=True, slots=True)
class Ordered:
    """Rows in processing order, partition after partition.

    ``table`` is the prepared batch in that order, ``permutation`` where its rows came from,
    ``segments`` the first row of each partition and, last, the number of rows; ``events`` is the
    array the kernels read.
    """

    table: pa.Table
    permutation: Array
    segments: Array
    events: Array


def order_rows(table: pa.Table, plan: Plan, *, sorted_rows: bool = False) -> Ordered:
    """Sort a prepared batch; with ``sorted_rows`` its order within each partition is right already.

    If it has the column :data:`PARTITION`, the numbers of partitions, rows are already sorted by these and
    by time, but for rows of one time.
    """
    schema, grouped = plan.schema, PARTITION in table.column_names
    codes = table.column(PARTITION).to_numpy() if grouped else partition_codes(table, plan.split)
    segment_codes = codes if plan.reads_apart else np.zeros_like(codes)
    ends = times(table.column(schema.end))
    if len(ends) and not plan.split and bool((ends[1:] > ends[:-1]).all()):
        ranks = np.arange(len(ends))  # one partition, in order already, and no ties
        segments = np.array([0, len(ends)], np.int64)
        return Ordered(table, ranks, segments, _event_array(table, plan, codes, ends, ranks))
    permutation = np.arange(len(codes)) if sorted_rows or grouped else _by_time(ends)
    permutation = by_segment(permutation, segment_codes)
    ordered_codes, ordered_ends = segment_codes[permutation], ends[permutation]
    ranks = np.empty(len(codes), np.int64)
    if number_runs(ordered_codes, ordered_ends, ranks) < len(codes):
        if not sorted_rows:
            # Only rows of one partition and time change places: codes and ends stay as they are.
            permutation = _break_ties(table, permutation, ranks, schema)
        ranks = _tie_ranks(table, permutation, ranks, schema)
        if schema.unique and ranks[-1] - ranks[0] < len(ranks) - 1:
            raise _same_order(schema, table.take(pa.array(permutation)), ranks)
    if not is_identity(permutation):
        table = table.take(pa.array(permutation))
    segments = _segment_starts(ordered_codes)
    codes = ordered_codes if plan.reads_apart else codes[permutation]
    events = _event_array(table, plan, codes, ordered_ends, ranks)
    return Ordered(table, permutation, segments, events)


def _same_order(schema: EventSchema, table: pa.Table, ranks: Array) -> InputError:
    """Return the error about two rows that are said to be in order, and have one rank."""
    row = int(np.flatnonzero(ranks[1:] == ranks[:-1])[0])
    names = (schema.end, *schema.tie_breaker)
    values = ", ".join(f"{name} = {table.column(name)[row].as_py()}" for name in names)
    return InputError(
        f"unique_order=True, and two events of a partition have {values}",
        remedy="Leave unique_order out, or give a tie_breaker that tells all events of one time apart.",
    )


def times(column: pa.ChunkedArray) -> Array:
    """Return a time column as int64 in its own unit."""
    kind = column.type
    if pa.types.is_timestamp(kind) and column.num_chunks == 1 and not column.null_count:
        return np.asarray(column.chunk(0).view(pa.int64()).to_numpy())  # a cast takes longer
    if pa.types.is_date32(kind):
        column = column.cast(pa.int32())
    return np.asarray(column.cast(pa.int64()).to_numpy())


def partition_codes(table: pa.Table, partition: tuple[str, ...]) -> Array:
    """Number the values of the partition attributes; -1 where one of them is null."""
    codes = np.zeros(table.num_rows, np.int64)
    for name in partition:
        column = one_array(table.column(name))
        if pa.types.is_floating(column.type):
            column = pc.add(column, pa.scalar(0.0, column.type))  # -0.0 and 0.0 are one value
        if isinstance(column, pa.DictionaryArray):
            column = column.dictionary_decode()
        encoded = column.dictionary_encode()
        indices: Array = filled(encoded.indices, -1).to_numpy(zero_copy_only=False).astype(np.int64)
        if len(partition) == 1:
            return indices
        count = len(encoded.dictionary)
        missing = (indices < 0) | (codes < 0)
        combined = codes * max(1, count) + indices
        if name != partition[0] and count > 1:
            combined = _numbered_values(combined)
        codes = np.where(missing, -1, combined)
    return codes


def _numbered_values(values: Array) -> Array:
    """Return the place of each value among all there are; hashing them is faster than sorting them."""
    encoded = pa.array(values).dictionary_encode()
    distinct = encoded.dictionary.to_numpy()
    places = np.empty(len(distinct), np.int64)
    places[np.argsort(distinct)] = np.arange(len(distinct))
    return np.asarray(places[encoded.indices.to_numpy()])


def _by_time(ends: Array) -> Array:
    if len(ends) < 2 or bool((ends[1:] >= ends[:-1]).all()):
        return np.arange(len(ends))
    return np.argsort(ends, kind="stable")


def by_segment(permutation: Array, codes: Array) -> Array:
    """Return a permutation sorted by the codes of rows; within a code its order stays."""
    if is_sorted(permutation, codes):
        return permutation
    result = np.empty_like(permutation)
    counting_sort(permutation, codes, np.zeros(int(codes.max()) + 3, np.int64), result)
    return result


def _groups(keys: list[Array]) -> Array:
    """Number runs of equal neighbours."""
    if len(keys[0]) == 0:
        return np.zeros(0, np.int64)
    changes = np.zeros(len(keys[0]), bool)
    for key in keys:
        changes[1:] |= key[1:] != key[:-1]
    return np.cumsum(changes)


def _tied(group: Array) -> Array:
    same = np.zeros(len(group), bool)
    if len(group) > 1:
        equal = group[1:] == group[:-1]
        same[1:] |= equal
        same[:-1] |= equal
    return np.flatnonzero(same)


def _break_ties(table: pa.Table, permutation: Array, group: Array, schema: EventSchema) -> Array:
    """Order rows of equal end time by the tie-breakers and then by all other columns, one after the other."""
    for name in schema.order_columns()[1:]:
        tied = _tied(group)
        if len(tied) == 0:
            break
        if name not in table.column_names:
            continue
        values = sort_keys(table.column(name).take(pa.array(permutation[tied])))
        within = np.lexsort((values, group[tied]))
        permutation = permutation.copy()
        permutation[tied] = permutation[tied][within]
        refined = np.zeros(len(group), np.int64)
        refined[tied] = values[within]
        group = _groups([group, refined])
    return permutation


def _tie_ranks(table: pa.Table, permutation: Array, group: Array, schema: EventSchema) -> Array:
    """Return ranks by which simultaneous rows are before one another, if a tie-breaker orders them."""
    for name in schema.tie_breaker:
        tied = _tied(group)
        if len(tied) == 0:
            break
        refined = np.zeros(len(group), np.int64)
        refined[tied] = sort_keys(table.column(name).take(pa.array(permutation[tied])))
        group = _groups([group, refined])
    return group


def sort_keys(column: pa.ChunkedArray) -> Array:
    """Return integers that sort as Spark sorts the values: nulls first, NaN last, strings by their bytes."""
    values = one_array(column)
    if isinstance(values, pa.DictionaryArray):
        values = values.dictionary_decode()
    if pa.types.is_nested(values.type):
        return _nested_keys(values.to_pylist())
    if pa.types.is_floating(values.type):
        floats = values.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False) + 0.0
        ranks = np.unique(floats, return_inverse=True)[1].astype(np.int64) + 1
    else:
        distinct = values.unique().drop_null()
        ordered = distinct.take(pc.sort_indices(distinct))
        ranks = pc.index_in(values, ordered).fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64) + 1
    return np.where(values.is_null().to_numpy(zero_copy_only=False), 0, ranks)


def _nested_keys(values: list[Any]) -> Array:
    ordered = sorted({_nested_key(value) for value in values})
    rank = {key: k for k, key in enumerate(ordered)}
    return np.array([rank[_nested_key(value)] for value in values], np.int64)


def _nested_key(value: Any) -> tuple[Any, ...]:
    if value is None:
        return (0,)
    if isinstance(value, dict):
        return (1, tuple(_nested_key(item) for item in value.values()))
    if isinstance(value, list):
        return (1, tuple(_nested_key(item) for item in value))
    if isinstance(value, float) and value != value:
        return (2,)
    return (1, value.encode() if isinstance(value, str) else value)


def _segment_starts(codes: Array) -> Array:
    if len(codes) == 0:
        return np.zeros(1, np.int64)
    starts = np.flatnonzero(np.concatenate(([True], codes[1:] != codes[:-1])))
    return np.concatenate((starts, [len(codes)])).astype(np.int64)


def _event_array(table: pa.Table, plan: Plan, codes: Array, ends: Array, ranks: Array) -> Array:
    schema = plan.schema
    events = np.empty((L.EVENT_SIZE, table.num_rows), np.int64)
    events[L.EVENT_END] = ends
    events[L.EVENT_START] = ends if schema.points else times(table.column(schema.start))
    events[L.EVENT_ROLES] = table.column(ROLES).to_numpy()
    if plan.split:
        events[L.EVENT_ROLES][codes < 0] = 0
    events[L.EVENT_SEGMENT] = codes
    events[L.EVENT_LOW], events[L.EVENT_HIGH] = _before_ranks(events, ranks, schema)
    if not plan.window.counts_events:
        events[L.EVENT_INDEX] = 0
    elif plan.reads_apart:
        number_within(codes, events[L.EVENT_INDEX])
    else:
        events[L.EVENT_INDEX] = _numbered(codes)
    return events


def _numbered(codes: Array) -> Array:
    """Number the rows of each partition in their order."""
    order = np.argsort(codes, kind="stable")
    starts = _segment_starts(codes[order])
    numbers = np.arange(len(codes)) - np.repeat(starts[:-1], np.diff(starts))
    result = np.empty(len(codes), np.int64)
    result[order] = numbers
    return result


def _before_ranks(events: Array, ranks: Array, schema: EventSchema) -> tuple[Array, Array]:
    """Return low and high such that x is before y exactly if high[x] < low[y].

    At one time a lasting event that starts comes first, then points in the order of the tie-breaker,
    then a lasting event that ends: so touching intervals are not before one another.  If they shall be, it
    is the other way round.
    """
    if schema.points:
        return ranks, ranks
    start, end = events[L.EVENT_START], events[L.EVENT_END]
    point = start == end
    n = len(start)
    instant = np.concatenate((start, end))
    starts, ends = (2, 0) if schema.touching else (0, 2)
    phase = np.concatenate((np.where(point, 1, starts), np.where(point, 1, ends)))
    rank = np.concatenate((np.where(point, ranks, 0), np.where(point, ranks, 0)))
    order = np.lexsort((rank, phase, instant))
    dense = np.empty(2 * n, np.int64)
    dense[order] = _groups([instant[order], phase[order], rank[order]])
    return dense[:n], dense[n:]
