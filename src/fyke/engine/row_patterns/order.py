"""Rows to the order of a clause: partitions one after the other, each by ORDER BY.

Partitions come in the order of their first rows; rows that ORDER BY does not tell apart stay as they are.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fyke.engine.input.order import sort_keys
from fyke.engine.input.single_array import one_array
from fyke.engine.kernels.arrays import Array
from fyke.engine.kernels.row_patterns.partitions import (
    number_values,
    place_rows,
    sort_partitions,
    stand_together,
    start_partitions,
)
from fyke.engine.kernels.row_patterns.sortedness import rises
from fyke.engine.threads import Team
from fyke.language.row_patterns import OrderItem

_GREATEST = np.iinfo(np.int64).max
_SPREAD = 4  # whole numbers are numbered by a table that has at most so many places a row
_SORTED_ROWS = 1 << 18  # of partitions that are sorted at once
ALONE = Team(1, lambda: None)


@dataclass(frozen=True, slots=True)
class OrderedRows:
    """The rows of a table in the order of a clause.

    ``places`` says which row of the table is where, None if all are where they were.  ``segments`` are the
    first rows of the partitions and, last, the number of rows.
    """

    table: pa.Table
    places: Array | None
    segments: Array

    def part(self, begin: int, end: int) -> OrderedRows:
        """Return the rows from ``begin`` to in front of ``end``; their partitions are cut off there."""
        if (begin, end) == (0, int(self.segments[-1])):
            return self
        first = int(np.searchsorted(self.segments, begin, "right"))
        last = int(np.searchsorted(self.segments, end, "left"))
        segments = np.concatenate(([begin], self.segments[first:last], [end])) - begin
        if self.places is None:
            return OrderedRows(self.table.slice(begin, end - begin), None, segments)
        return OrderedRows(self.table, self.places[begin:end], segments)

    def column(self, name: str) -> pa.Array:
        """Return a column in order."""
        column = self.table.column(name)
        return one_array(column if self.places is None else column.take(pa.array(self.places)))

    def taken(self, name: str, rows: Array) -> pa.Array:
        """Return the values of a column in some rows of the order."""
        places = rows if self.places is None else self.places[rows]
        return one_array(self.table.column(name).take(pa.array(places)))

    def field(self, path: Sequence[str], rows: pa.Array) -> pa.Array:
        """Return a column, or a field of a struct, in some rows of the order; null where they are null."""
        places = rows if self.places is None else pa.array(self.places).take(rows)
        found = one_array(self.table.column(path[0]).take(places))
        for step in path[1:]:
            found = pc.struct_field(found, step)
        return found


def order_rows(
    table: pa.Table,
    partition: Sequence[str],
    order: Sequence[OrderItem],
    *,
    sorted_rows: bool = False,
    team: Team = ALONE,
) -> OrderedRows:
    """Return the rows of a table in order; with ``sorted_rows`` they are, and partitions stand together."""
    if not partition:
        return _order_whole(table, [] if sorted_rows else order)
    codes, count = row_partition_codes(table, partition)
    together = sorted_rows or bool(stand_together(codes))
    segments = _starts(codes) if together else _counted(codes, count)
    places = None if together else _placed(codes, segments, team)
    keys = [] if sorted_rows else [_order_keys(table.column(item.column), item) for item in order]
    if not keys or (len(keys) == 1 and rises(keys[0])):  # what usually is in order already
        return OrderedRows(table, places, segments)
    if places is None:
        places = np.arange(len(codes))
    for each in reversed(keys):
        _sort_partitions(each, segments, places, team)
    return OrderedRows(table, places, segments)


def _order_whole(table: pa.Table, order: Sequence[OrderItem]) -> OrderedRows:
    """Return the rows of one partition in order."""
    rows = table.num_rows
    segments = np.array([0, rows] if rows else [0], np.int64)
    keys = [_order_keys(table.column(item.column), item) for item in order]
    if not keys or (len(keys) == 1 and rises(keys[0])):
        return OrderedRows(table, None, segments)
    return OrderedRows(table, _by_keys(keys), segments)


def _starts(codes: Array) -> Array:
    """Return where partitions begin that stand together."""
    begins = np.flatnonzero(np.diff(codes, prepend=-1))
    return np.append(begins, len(codes)).astype(np.int64)


def _counted(codes: Array, count: int) -> Array:
    """Return where partitions will begin that do not."""
    segments = np.zeros(count + 1, np.int64)
    start_partitions(codes, segments)
    return segments


def _placed(codes: Array, segments: Array, team: Team) -> Array:
    """Return the rows partition by partition; each thread looks for those of some."""
    places = np.empty(len(codes), np.int64)
    nexts = segments[:-1].copy()
    edges = np.searchsorted(segments, np.linspace(0, len(codes), team.threads + 1)).tolist()

    def place(part: tuple[int, int]) -> None:
        place_rows(codes, *part, nexts, places)

    for _ in team.each(place, itertools.pairwise(edges)):
        pass
    return places


def _sort_partitions(keys: Array, segments: Array, places: Array, team: Team) -> None:
    """Sort the rows of each partition by a key, in place; equal ones stay as they are."""
    targets = np.arange(0, len(places), _SORTED_ROWS)
    firsts = np.unique(np.append(np.searchsorted(segments[:-1], targets), len(segments) - 1)).tolist()

    def sort(part: tuple[int, int]) -> None:
        own = segments[part[0] : part[1] + 1]
        scratch = [np.empty(int(own[-1] - own[0]), np.int64) for _ in range(3)]
        sort_partitions(keys, own, places[own[0] : own[-1]], *scratch)

    for _ in team.each(sort, itertools.pairwise(firsts)):
        pass


def _by_keys(keys: list[Array]) -> Array:
    return np.argsort(keys[0], kind="stable") if len(keys) == 1 else np.lexsort(keys[::-1])


def row_partition_codes(table: pa.Table, partition: Sequence[str]) -> tuple[Array, int]:
    """Number partitions in the order of their first rows; nulls are alike, and so are NaNs.

    Return the number of each row, and how many there are; without ``partition`` there is one.
    """
    if not partition:
        return np.zeros(table.num_rows, np.int32), 1
    first, *others = partition
    codes, count = _codes(one_array(table.column(first)))
    for name in others:
        own, values = _codes(one_array(table.column(name)))
        codes, count = _codes(pa.array(codes.astype(np.int64) * values + own))
    return codes, count


def _codes(column: pa.Array) -> tuple[Array, int]:
    """Number the values of a column in the order they come; return how many there are, too."""
    if isinstance(column, pa.DictionaryArray):
        column = column.dictionary_decode()
    if pa.types.is_floating(column.type):
        column = pc.add(column, pa.scalar(0.0, column.type))  # -0.0 and 0.0 are one value
    if pa.types.is_nested(column.type):
        column = pa.array(sort_keys(pa.chunked_array([column])))
    if pa.types.is_signed_integer(column.type) and column.null_count == 0 and len(column):
        values = integers(column)
        least, greatest = int(values.min()), int(values.max())
        if greatest - least < _SPREAD * len(values):
            codes = np.empty(len(values), np.int32)
            numbers = np.full(greatest - least + 1, -1, np.int32)
            return codes, int(number_values(values, least, numbers, codes))
    encoded = column.dictionary_encode(null_encoding="encode")
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int32), len(encoded.dictionary)


def _order_keys(column: pa.ChunkedArray, item: OrderItem) -> Array:
    """Return integers that sort as ORDER BY says."""
    values = one_array(column)
    if (pa.types.is_integer(values.type) and not pa.types.is_uint64(values.type)) or _is_time(values.type):
        keys = integers(values)
        missing = values.is_null().to_numpy(zero_copy_only=False) if values.null_count else None
        if missing is not None or item.descending:
            if missing is not None:  # ranks leave room for nulls at either end
                keys = np.unique(keys, return_inverse=True)[1].astype(np.int64)
            keys = ~keys if item.descending else keys
    else:
        keys = sort_keys(column)
        missing = keys == 0
        keys = -keys if item.descending else keys
    if missing is not None:
        keys = np.where(missing, -_GREATEST if item.nulls_first else _GREATEST, keys)
    return keys


def _is_time(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind) or pa.types.is_duration(kind))


def integers(values: pa.Array) -> Array:
    """Return whole numbers or times as int64, in their own unit; 0 in place of null."""
    if pa.types.is_date(values.type):
        values = values.cast(pa.date32()).cast(pa.int32())
    whole = values.cast(pa.int64())
    return np.asarray((whole.fill_null(0) if whole.null_count else whole).to_numpy(zero_copy_only=False))
