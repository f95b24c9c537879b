"""Rows to the order of a clause: partitions one after the other, each by ORDER BY.

Partitions come in the order of their first rows; rows that ORDER BY does not tell apart stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fyke.engine.input.order import sort_keys
from fyke.engine.input.single_array import one_array
from fyke.engine.kernels.arrays import Array
from fyke.engine.kernels.input.sorting import counting_sort, is_sorted
from fyke.engine.kernels.row_patterns.sortedness import is_sorted_within, start_segments
from fyke.language.row_patterns import OrderItem

_GREATEST = np.iinfo(np.int64).max
_ALIGNED = np.int64(1) << 62  # codes of two columns are combined as long as they stay below


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
    table: pa.Table, partition: Sequence[str], order: Sequence[OrderItem], *, sorted_rows: bool = False
) -> OrderedRows:
    """Return the rows of a table in order; with ``sorted_rows`` they are, and partitions stand together."""
    codes = row_partition_codes(table, partition)
    places: Array = np.arange(table.num_rows)
    moved = not is_sorted(places, codes)
    if moved and not sorted_rows:
        places = _by_code(places, codes)
        codes = codes[places]
    segments = _segments(codes)
    if order and not sorted_rows:
        keys = [_order_keys(table.column(item.column), item) for item in order]
        # In one pass over what usually is in order already.
        if not (len(keys) == 1 and is_sorted_within(keys[0], places, segments)):
            places = _by_code(_by_keys(keys), codes if not moved else _unmoved(codes, places))
            moved = True
    return OrderedRows(table, places if moved and not sorted_rows else None, segments)


def _unmoved(codes: Array, places: Array) -> Array:
    original = np.empty_like(codes)
    original[places] = codes
    return original


def _segments(codes: Array) -> Array:
    segments = np.empty(len(codes) + 1, np.int64)
    return segments[: start_segments(codes, segments)].copy()


def _by_code(places: Array, codes: Array) -> Array:
    if len(codes) == 0 or is_sorted(places, codes):
        return places
    result = np.empty_like(places)
    counting_sort(places, codes, np.zeros(int(codes.max()) + 3, np.int64), result)
    return result


def _by_keys(keys: list[Array]) -> Array:
    return np.argsort(keys[0], kind="stable") if len(keys) == 1 else np.lexsort(keys[::-1])


def row_partition_codes(table: pa.Table, partition: Sequence[str]) -> Array:
    """Number partitions in the order of their first rows; nulls are alike, and so are NaNs."""
    codes = np.zeros(table.num_rows, np.int64)
    size = 1
    for name in partition:
        own, values = _codes(one_array(table.column(name)))
        if size == 1:
            codes, size = own, values
            continue
        if size > _ALIGNED // max(1, values):
            codes, size = _codes(pa.array(codes))
        codes, size = _codes(pa.array(codes * values + own))
    return codes


def _codes(column: pa.Array) -> tuple[Array, int]:
    """Number the values of a column in the order they come; return how many there are, too."""
    if isinstance(column, pa.DictionaryArray):
        column = column.dictionary_decode()
    if pa.types.is_floating(column.type):
        column = pc.add(column, pa.scalar(0.0, column.type))  # -0.0 and 0.0 are one value
    if pa.types.is_nested(column.type):
        ranks = sort_keys(pa.chunked_array([column]))
        column = pa.array(ranks)
    encoded = column.dictionary_encode(null_encoding="encode")
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), len(encoded.dictionary)


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
