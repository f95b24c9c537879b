"""``match_id``: a hash of the query's meaning and the bound rows, the same in batch and stream.

docs/results.md defines it, byte by byte.
"""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fyke.engine.input.single_array import filled, one_array
from fyke.engine.kernels import layout as L
from fyke.engine.kernels.arrays import Array
from fyke.engine.kernels.output.hashing import (
    SEED_ONE,
    SEED_TWO,
    add_numbers,
    add_twins,
    add_words,
    float_words,
    fold_matches,
    hash_strings,
    mark_rows,
    write_hex,
)
from fyke.engine.matchset import MatchSet

_MICROSECONDS = {"s": 1_000_000, "ms": 1_000, "us": 1}


class MatchIds:
    """Identifiers of matches of one query; what it knows of a table it keeps for the next chunk of matches.

    A row is known by the values of ``columns``; of rows equal in all of them, by its number in
    processing order.  Rows that differ in ``apart`` are copies of one row and no equal ones.
    """

    def __init__(self, columns: tuple[str, ...], fingerprint: str, apart: tuple[str, ...] = ()) -> None:
        self.columns, self.seed, self.apart = columns, query_seed(fingerprint), apart
        self.table: pa.Table | None = None
        self.known: tuple[Array, Array] | None = None

    def of(self, matches: MatchSet, table: pa.Table, events: Array) -> pa.Array:
        """Return the identifier of every match as 32 hexadecimal digits."""
        if len(matches) == 0:
            return pa.array([], pa.string())
        if table is not self.table:
            self.table, self.known = table, None
        found = self.known
        if found is None:
            moments = _moments(events, table, self.apart)
            found = _hashes_of_used(matches.positions, table.select(list(self.columns)), moments)
            if len(found[1]) == table.num_rows:
                self.known = found
        return fold_ids(matches, *found, self.seed)


def match_ids(
    matches: MatchSet, table: pa.Table, columns: tuple[str, ...], events: Array, fingerprint: str
) -> pa.Array:
    """Return the identifier of every match, see :class:`MatchIds`."""
    return MatchIds(columns, fingerprint).of(matches, table, events)


def query_seed(fingerprint: str) -> Array:
    """Return the two words that identifiers of a query's matches begin with."""
    digest = hashlib.blake2b(fingerprint.encode(), digest_size=16).digest()
    return np.frombuffer(digest, "<u8").astype(np.uint64)


def event_hashes(
    positions: Array, table: pa.Table, columns: tuple[str, ...], events: Array, apart: tuple[str, ...] = ()
) -> Array:
    """Return two words for each of the rows at ``positions``, by which :func:`fold_ids` knows them."""
    if len(positions) == 0:
        return np.zeros((0, 2), np.uint64)
    rows, hashes = _hashes_of_used(positions, table.select(list(columns)), _moments(events, table, apart))
    return np.ascontiguousarray(hashes[rows[positions]])


def fold_ids(matches: MatchSet, rows: Array, hashes: Array, seed: Array) -> pa.Array:
    """Return identifiers from the hashes of bound rows; ``rows`` says which hash is that of a position."""
    result = np.empty((len(matches), 2), np.uint64)
    factors = np.empty((int(matches.variables.max(initial=-1)) + 1, 2), np.uint64)
    fold_matches(matches.offsets, matches.positions, matches.variables, rows, hashes, seed, factors, result)
    text = np.empty((len(matches), 16), "<u2")
    write_hex(result, np.empty(256, np.uint16), text)
    large = len(matches) * 32 >= 2**31
    offsets = np.arange(0, 32 * (len(matches) + 1), 32, dtype=np.int64 if large else np.int32)
    strings = pa.LargeStringArray if large else pa.StringArray
    return strings.from_buffers(len(matches), pa.py_buffer(offsets), pa.py_buffer(text))


def _hashes_of_used(positions: Array, table: pa.Table, moments: Array | None) -> tuple[Array, Array]:
    """Return the hashes of the rows that matter, and for each row its place among them."""
    rows = np.arange(table.num_rows)
    used = _used_rows(positions, moments, table.num_rows)
    if 2 * len(used) > table.num_rows:
        used, hashes = rows, row_hashes(table)
    else:
        hashes = row_hashes(table.take(pa.array(used)))
        rows[used] = np.arange(len(used))
    if moments is not None:
        _number_twins(hashes, used, moments)
    return rows, hashes


def _moments(events: Array, table: pa.Table, apart: tuple[str, ...] = ()) -> Array | None:
    """Number stretches of rows with one end time; None if no two neighbours share it.

    Rows of one time that differ in ``apart`` have different numbers, wherever they lie.
    """
    ends = events[L.EVENT_END]
    changes = ends[1:] != ends[:-1]
    if bool(changes.all()):
        return None
    moments = np.concatenate(([0], np.cumsum(changes)))
    for name in apart:
        _, place = np.unique(
            one_array(table.column(name)).to_numpy(zero_copy_only=False), return_inverse=True
        )
        _, moments = np.unique(moments * (int(place.max()) + 1) + place, return_inverse=True)
    return moments


def _used_rows(positions: Array, moments: Array | None, total: int) -> Array:
    """Return the bound rows, and those of the same moment: they may be equal to a bound one."""
    used = np.zeros(total, bool)
    mark_rows(positions, used)
    if moments is not None:
        looked_at = np.zeros(int(moments.max()) + 1, bool)
        looked_at[moments[used]] = True
        used = looked_at[moments]
    return np.flatnonzero(used)


def _number_twins(hashes: Array, used: Array, moments: Array) -> None:
    """Give equal rows of one moment different hashes, in processing order."""
    order = np.lexsort((used, moments[used], hashes[:, 1], hashes[:, 0]))
    equal = (hashes[order][1:] == hashes[order][:-1]).all(axis=1)
    equal &= moments[used[order][1:]] == moments[used[order][:-1]]
    if not equal.any():
        return
    number = np.zeros(len(used), np.int64)
    for k in np.flatnonzero(equal):
        number[k + 1] = number[k] + 1
    numbers = np.zeros(len(used), np.int64)
    numbers[order] = number
    add_twins(hashes, numbers)


def row_hashes(table: pa.Table) -> Array:
    """Return two 64-bit hashes of every row."""
    hashes = _seeded(table.num_rows)
    for column in table.columns:
        _add_column(hashes, one_array(column))
    return hashes


def _seeded(count: int) -> Array:
    hashes = np.empty((count, 2), np.uint64)
    hashes[:, 0], hashes[:, 1] = SEED_ONE, SEED_TWO
    return hashes


def _add_column(hashes: Array, array: pa.Array) -> None:
    """Fold a column into the hashes of its rows."""
    if isinstance(array, pa.DictionaryArray) and (array.dictionary.null_count or not len(array.dictionary)):
        array = array.dictionary_decode()
    if array.null_count:
        add_numbers(hashes, _column_words(array), array.is_valid().to_numpy(zero_copy_only=False))
    else:
        add_words(hashes, _column_words(array))


def _column_words(array: pa.Array) -> Array:
    """Return each value as a 64-bit word, of nulls any."""
    if isinstance(array, pa.DictionaryArray):
        indices = filled(array.indices, 0).to_numpy(zero_copy_only=False)
        return np.asarray(_column_words(array.dictionary)[indices])
    kind = array.type
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind) or pa.types.is_time(kind):
        return _time_words(array)
    if pa.types.is_date(kind):
        array = array.cast(pa.date32()).cast(pa.int32())
    if pa.types.is_floating(kind):
        floats = filled(array.cast(pa.float64()), 0.0).to_numpy(zero_copy_only=False)
        words: Array = floats.view(np.uint64).copy()
        float_words(floats, words)
        return words
    if pa.types.is_struct(kind):
        return _struct_words(array)
    if pa.types.is_nested(kind):
        return _list_words(array)
    if pa.types.is_uint64(kind):
        return np.asarray(filled(array, 0).to_numpy(zero_copy_only=False))
    if pa.types.is_integer(array.type) or pa.types.is_boolean(kind) or pa.types.is_null(kind):
        return np.asarray(filled(array.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)).view(np.uint64)
    return _bytes_words(array)


def _time_words(array: pa.Array) -> Array:
    """Return times as microseconds; those that are between two of them by a hash of their nanoseconds."""
    ticks = array.cast(pa.int32()) if pa.types.is_time32(array.type) else array
    counts = np.asarray(filled(ticks.cast(pa.int64()), 0).to_numpy(zero_copy_only=False))
    if array.type.unit != "ns":
        return (counts * np.int64(_MICROSECONDS[array.type.unit])).view(np.uint64)
    words = (counts // 1000).view(np.uint64)
    between = np.flatnonzero(counts % 1000)
    if len(between):
        hashes = _seeded(len(between))
        add_words(hashes, counts[between].view(np.uint64))
        words[between] = hashes[:, 0]
    return words


def _struct_words(array: pa.Array) -> Array:
    """Return a hash of the fields of each struct."""
    hashes = _seeded(len(array))
    for field in array.flatten():
        _add_column(hashes, field)
    return hashes[:, 0].copy()


def _list_words(array: pa.Array) -> Array:
    """Return a hash of the length and the elements of each list; a map is a list of its pairs."""
    if pa.types.is_map(array.type):
        pairs = pa.struct([("key", array.type.key_type), ("value", array.type.item_type)])
        array = array.cast(pa.list_(pairs))
    lengths = pc.list_value_length(array).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    elements, begins = array.flatten(), np.cumsum(lengths) - lengths
    hashes = _seeded(len(array))
    add_words(hashes, lengths.view(np.uint64))
    for place in range(int(lengths.max(initial=0))):
        longer = np.flatnonzero(lengths > place)
        some = np.ascontiguousarray(hashes[longer])
        _add_column(some, elements.take(pa.array(begins[longer] + place)))
        hashes[longer] = some
    return hashes[:, 0].copy()


def _bytes_words(array: pa.Array) -> Array:
    """Return hashes of texts, bytes, and decimals by their text."""
    if pa.types.is_decimal(array.type):
        array = array.cast(pa.string())
    binary = filled(array.cast(pa.large_binary()), b"")
    binary = pa.concat_arrays([binary]) if binary.offset else binary
    offsets = np.frombuffer(binary.buffers()[1], np.int64)[: len(binary) + 1]
    data = np.frombuffer(binary.buffers()[2] or b"\0", np.uint8)
    words = np.empty(len(binary), np.uint64)
    hash_strings(offsets, data, words)
    return words
