"""Hand-written Numba loops, one per query: the floor that a general engine is measured against.

Each is written for its one query, as an expert would: it knows the types, which attributes are constant,
that one pass backwards answers a sequence, that a run is determined by its start.  What a user gets is
the same as from Fyke, except for ``match_id``: a struct of attributes for each variable, a list of
structs for a group.  Strings become numbers by Arrow, and that time counts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit

Array = np.ndarray[Any, Any]
DAYS_15 = 15 * 86_400_000_000
PREDICATES = ("p1", "p2", "p3")


# --- SEQ(A a, B b, C c) with [key], next match -------------------------------------------


def sequence(events: pa.Table) -> pa.Table:
    """Return the matches of ``SEQ(A a, B b, C c)`` with ``[key]`` under next-match."""
    role = _codes(events.column("kind"), ["A", "B", "C"])
    rows = np.flatnonzero(role >= 0)
    kept = events.select(["t", "key"]).take(pa.array(rows))
    key = kept.column("key").combine_chunks().dictionary_encode()
    triples = _sequence_loop(role[rows], key.indices.to_numpy(), len(key.dictionary))
    times = kept.column("t").to_numpy()
    keys = pa.array(kept.column("key").to_numpy()[triples[:, 0]])
    return pa.table(
        {
            name: pa.StructArray.from_arrays(
                [pa.array(times[triples[:, k]]), pa.repeat(name.upper(), len(triples)), keys],
                ["t", "kind", "key"],
            )
            for k, name in enumerate("abc")
        }
    )


@njit(cache=True)
def _sequence_loop(role: Array, key: Array, keys: int) -> Array:
    next_b, c_behind, next_c = np.full(keys, -1), np.full(keys, -1), np.full(keys, -1)
    found = np.empty((len(role), 3), np.int64)
    count = 0
    for e in range(len(role) - 1, -1, -1):
        k = key[e]
        if role[e] == 2:
            next_c[k] = e
        elif role[e] == 1:
            next_b[k], c_behind[k] = e, next_c[k]
        elif next_b[k] >= 0 and c_behind[k] >= 0:
            found[count, 0], found[count, 1], found[count, 2] = e, next_b[k], c_behind[k]
            count += 1
    return found[:count]


# --- SEQ(Stock+ a[], Stock b) with [symbol] ----------------------------------------------


def stocks(events: pa.Table, predicate: str, *, contiguous: bool, window: int = 500) -> pa.Table:
    """Return the matches of the stock template of [N] 6 under partition contiguity or next-match."""
    stock = _codes(events.column("kind"), ["Stock"])
    order = np.argsort(events.column("symbol").to_numpy(), kind="stable")
    names = [name for name in events.column_names if name != "kind"]
    columns = {name: _numbers(events.column(name))[order] for name in names}
    price, volume, sorted_symbol = columns["price"], columns["volume"], columns["symbol"]
    number = PREDICATES.index(predicate)
    run, begin, length, last = _stock_loop(
        stock[order], sorted_symbol, price, volume, number, window, contiguous, np.int64(1) << 16
    )
    offsets = np.concatenate(([0], np.cumsum(length))).astype(np.int32)
    at = _copy_prefixes(run, begin, offsets)
    kinds = {name: events.schema.field(name).type for name in names}
    element = _stock_structs(columns, kinds, at)
    return pa.table(
        {
            "a": pa.ListArray.from_arrays(pa.array(offsets), element),
            "b": _stock_structs(columns, kinds, last),
        }
    )


@njit(cache=True)
def _stock_loop(
    stock: Array,
    symbol: Array,
    price: Array,
    volume: Array,
    predicate: int,
    window: int,
    contiguous: bool,
    room: int,
) -> tuple[Array, Array, Array, Array]:
    """Collect the elements of a run once; a match is how long its prefix is, and where b is."""
    run = np.empty(room, np.int64)
    begin, length, last = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
    filled, count, rows = 0, 0, len(price)
    for first in range(rows):
        if price[first] % 500 != 0 or stock[first] < 0:
            continue
        if filled + window > len(run):
            run = np.concatenate((run, np.empty(len(run) + window, np.int64)))
        if count + window > len(begin):
            more = np.empty(len(begin) + window, np.int64)
            begin, length = np.concatenate((begin, more)), np.concatenate((length, more))
            last = np.concatenate((last, more))
        base = filled
        run[filled] = first
        filled += 1
        highest = price[first]  # of the last element; p3's minimum is the price of the first for good
        for e in range(first + 1, min(first + window, rows)):
            if symbol[e] != symbol[first]:
                break
            if volume[e] < 150 and stock[e] == 0:
                begin[count], length[count], last[count] = base, filled - base, e
                count += 1
            takes = stock[e] == 0 and (
                predicate == 0
                or (predicate == 1 and price[e] > highest)
                or (predicate == 2 and price[e] > price[first])
            )
            if takes:
                run[filled] = e
                filled += 1
                highest = price[e]
            elif contiguous:
                break
    return run, begin[:count], length[:count], last[:count]


@njit(cache=True)
def _copy_prefixes(run: Array, begin: Array, offsets: Array) -> Array:
    at = np.empty(offsets[-1], np.int64)
    for m in range(len(begin)):
        for k in range(offsets[m + 1] - offsets[m]):
            at[offsets[m] + k] = run[begin[m] + k]
    return at


def _stock_structs(columns: dict[str, Array], kinds: dict[str, pa.DataType], at: Array) -> pa.Array:
    arrays = {name: _typed(_gather(values, at), kinds[name]) for name, values in columns.items()}
    arrays["kind"] = pa.repeat("Stock", len(at))
    names = ["id", "kind", "symbol", "price", "volume", "ts"]
    return pa.StructArray.from_arrays([arrays[name] for name in names], names)


# --- SEQ({C c, P+ p[], D d}, B b) with [PID], greedy -------------------------------------


def chemo(events: pa.Table) -> pa.Table:
    """Return the matches of :data:`fyke.datasets.chemo.QUERY`."""
    role = _codes(events.column("L"), ["C", "P", "D", "B"])
    rows = np.flatnonzero(role >= 0)
    patient = events.column("PID").to_numpy()[rows]
    time = _numbers(events.column("T"))[rows]
    order = np.lexsort((time, patient))
    rows, patient, time = rows[order], patient[order], time[order]
    value = events.column("V").to_numpy()[rows]
    single, elements, offsets = _chemo_loop(role[rows], patient, time, value)
    return pa.table(
        {
            "c": _chemo_structs(events, rows[single[:, 0]], "C"),
            "p": pa.ListArray.from_arrays(pa.array(offsets), _chemo_structs(events, rows[elements], "P")),
            "d": _chemo_structs(events, rows[single[:, 1]], "D"),
            "b": _chemo_structs(events, rows[single[:, 2]], "B"),
        }
    )


@njit(cache=True)
def _chemo_loop(role: Array, patient: Array, time: Array, value: Array) -> tuple[Array, Array, Array]:
    rows = len(role)
    single, offsets = np.empty((rows, 3), np.int64), np.zeros(rows + 1, np.int32)
    elements = np.empty(2 * rows, np.int64)
    count, filled = 0, 0
    for first in range(rows):
        if role[first] == 3:
            continue
        c, d, begin, last = -1, -1, filled, time[first]
        for e in range(first, rows):
            if patient[e] != patient[first] or time[e] - time[first] > DAYS_15:
                break
            if role[e] == 0 and c < 0:
                c, last = e, time[e]
            elif role[e] == 2 and d < 0:
                d, last = e, time[e]
            elif role[e] == 1 and (filled == begin or value[e] > value[elements[filled - 1]]):
                if filled == len(elements):
                    elements = np.concatenate((elements, np.empty(len(elements), np.int64)))
                elements[filled], last = e, time[e]
                filled += 1
            elif role[e] == 3 and c >= 0 and d >= 0 and filled > begin and time[e] > last:
                single[count, 0], single[count, 1], single[count, 2] = c, d, e
                count += 1
                offsets[count] = filled
                break
        filled = offsets[count]
    return single[:count], elements[:filled], offsets[: count + 1]


def _chemo_structs(events: pa.Table, at: Array, kind: str) -> pa.Array:
    taken = events.select(["id", "PID", "V", "U", "T"]).take(pa.array(at))
    arrays = {name: taken.column(name).combine_chunks() for name in taken.column_names}
    arrays["L"] = pa.repeat(kind, len(at))
    names = ["id", "PID", "L", "V", "U", "T"]
    return pa.StructArray.from_arrays([arrays[name] for name in names], names)


# --- shared ------------------------------------------------------------------------------


def _codes(column: pa.ChunkedArray, names: list[str]) -> Array:
    """Return for each row the place of its string in a list, -1 for others."""
    encoded = column.combine_chunks().dictionary_encode()
    places = pc.index_in(encoded.dictionary, pa.array(names)).fill_null(-1).to_numpy(zero_copy_only=False)
    return np.asarray(places.astype(np.int8)[encoded.indices.to_numpy()])


def _numbers(column: pa.ChunkedArray) -> Array:
    return np.asarray(column.cast(pa.int64()).to_numpy())


def _typed(values: Array, kind: pa.DataType) -> pa.Array:
    return pa.array(values).view(kind)


@njit(cache=True)
def _gather(values: Array, at: Array) -> Array:
    result = np.empty(len(at), values.dtype)
    for k in range(len(at)):
        result[k] = values[at[k]]
    return result
