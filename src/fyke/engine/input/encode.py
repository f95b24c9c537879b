"""Derived Arrow columns to the arrays kernels read: integers, floats, lists, and which are null."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fyke.engine.conditions.values import SAFE_DIGITS, SMALLEST, ColumnUse
from fyke.engine.input.single_array import filled, one_array
from fyke.engine.kernels.arrays import Array, Data
from fyke.errors import InputError, TypeClashError
from fyke.language.ast import Duration, Expression, walk
from fyke.logical.kinds import Kind, kind_of
from fyke.logical.schema import NANOSECONDS
from fyke.plan.plan import Plan
from fyke.plan.pushdown import physical

_INTEGER_KINDS = (Kind.INTEGER, Kind.BOOLEAN, Kind.NULL)


def column_uses(plan: Plan) -> dict[str, ColumnUse]:
    """Decide where each derived column lives."""
    sources = {derived.name: derived.expression for derived in plan.derived}
    return uses_of(plan.types, sources, plan.text)


def uses_of(
    types: Mapping[str, pa.DataType], sources: Mapping[str, Expression], text: str | None
) -> dict[str, ColumnUse]:
    """Decide where columns live, given their types and the expressions over a row that they are made of."""
    narrow = [kind for kind in types.values() if _is_narrow(kind)]
    finest = max((kind.scale for kind in narrow), default=0)
    uses: dict[str, ColumnUse] = {}
    counts = {"i": 0, "f": 0, "list": 0}
    for name, source in sources.items():
        arrow = types[name]
        kind = kind_of(arrow)
        store = {Kind.FLOAT: "f", Kind.LIST: "list"}.get(kind, "i")
        if kind in (Kind.STRUCT, Kind.OTHER):
            raise TypeClashError(
                f"{arrow} cannot be compared across events", text=text, remedy="Use one of its fields."
            )
        scale, ranked = 0, kind is Kind.DECIMAL and not _is_narrow(arrow)
        if kind is Kind.DECIMAL:
            # Decimals of one scale are compared as they are.
            fits = not ranked and arrow.precision - arrow.scale + finest <= SAFE_DIGITS
            scale = finest if fits else arrow.scale
        number, units = counts[store], counts[store] + 1 if ranked else -1
        uses[name] = ColumnUse(store, number, kind, arrow, scale, ranked, units, source=source)
        counts[store] += 2 if ranked else 1
    return uses


def _is_narrow(kind: pa.DataType) -> bool:
    """Say whether a type is of decimals that fit 64 bits."""
    return bool(pa.types.is_decimal(kind) and kind.precision <= SAFE_DIGITS)


def time_tick(plan: Plan) -> int:
    """Return the nanoseconds of one tick: microseconds, unless something is finer."""
    return tick_of([c.expression for a in plan.alternatives for c in a.conditions], plan.types)


def tick_of(expressions: Iterable[Expression], types: Mapping[str, pa.DataType]) -> int:
    """Return the nanoseconds of one tick for conditions over columns of some types."""
    fine = any(
        isinstance(node, Duration) and node.nanoseconds % 1000 for each in expressions for node in walk(each)
    )
    temporal = (pa.types.is_timestamp, pa.types.is_duration)
    fine |= any(test(kind) and kind.unit == "ns" for kind in types.values() for test in temporal)
    return 1 if fine else 1000


def encode(
    table: pa.Table,
    plan: Plan,
    uses: Mapping[str, ColumnUse],
    tick: int,
    events: Array,
    literals: Collection[str],
) -> tuple[Data, dict[str, int]]:
    """Return the arrays of a prepared batch and the ranks of string literals among its strings."""
    arrays = {d.name: one_array(table.column(physical(d))) for d in plan.derived}
    return encode_columns(arrays, uses, tick, events, literals, table.num_rows)


def encode_columns(
    given: Mapping[str, pa.Array],
    uses: Mapping[str, ColumnUse],
    tick: int,
    events: Array,
    literals: Collection[str],
    rows: int,
) -> tuple[Data, dict[str, int]]:
    """Return the arrays of some columns and the ranks of string literals among their strings."""
    stores = [use.store for use in uses.values() for _ in range(2 if use.ranked else 1)]
    cols_i = np.zeros((max(1, stores.count("i")), rows), np.int64)
    cols_f = np.zeros((max(1, stores.count("f")), rows), np.float64)
    valid_i, valid_f = np.ones(cols_i.shape, np.uint8), np.ones(cols_f.shape, np.uint8)
    lists = np.zeros((max(1, stores.count("list")), rows + 1), np.int64)
    values: list[Array] = []
    arrays = {name: _plain(array) for name, array in given.items()}
    domain = _string_domain([a for a in arrays.values() if _is_text(a)], literals)
    ranked = [arrays[name] for name, use in uses.items() if use.ranked]
    decimals = _decimal_domain(ranked)
    for name, use in uses.items():
        array = arrays[name]
        if use.store == "list":
            lists[use.number], flat = _list_offsets(array, sum(map(len, values)))
            values.append(flat)
            continue
        target, valid = (cols_i, valid_i) if use.store == "i" else (cols_f, valid_f)
        if array.null_count:
            valid[use.number] = array.is_valid().to_numpy(zero_copy_only=False)
        target[use.number] = _numbers(array, use, tick, decimals if use.ranked else domain)
        if use.ranked:
            valid_i[use.units] = valid_i[use.number]
            cols_i[use.units] = _units(array)
    flat_values = np.concatenate(values) if values else np.zeros(1)
    ranks = {text: _rank(domain, text) for text in literals}
    data = Data(events, cols_i, cols_f, valid_i, valid_f, lists, flat_values, np.zeros(1, np.int64))
    return data, ranks


def _plain(array: pa.Array) -> pa.Array:
    return array.dictionary_decode() if isinstance(array, pa.DictionaryArray) else array


def _is_text(array: pa.Array) -> bool:
    return kind_of(array.type) in (Kind.STRING, Kind.BINARY)


def _string_domain(arrays: list[pa.Array], literals: Collection[str]) -> pa.Array:
    """Return all strings that conditions over several events compare, sorted by their bytes, each once."""
    if not arrays and not literals:
        return pa.array([], pa.large_binary())
    parts = [array.cast(pa.large_binary()).unique() for array in arrays]
    parts.append(pa.array([text.encode() for text in literals], pa.large_binary()))
    distinct = pa.concat_arrays(parts).unique().drop_null()
    return distinct.take(pc.sort_indices(distinct))


_NO_DECIMALS = pa.array([], pa.decimal256(1, 0))


def _decimal_domain(arrays: list[pa.Array]) -> pa.Array:
    """Return all decimals of too many digits for 64 bits, in order, each once."""
    if not arrays:
        return _NO_DECIMALS
    whole = max(array.type.precision - array.type.scale for array in arrays)
    scale = max(array.type.scale for array in arrays)
    kind = pa.decimal256(whole + scale, scale)
    distinct = pa.concat_arrays([pa.array([], kind), *(array.cast(kind) for array in arrays)]).unique()
    distinct = distinct.drop_null()
    return distinct.take(pc.sort_indices(distinct))


def _rank(domain: pa.Array, text: str) -> int:
    return int(pc.index_in(pa.scalar(text.encode(), pa.large_binary()), domain).as_py())


def _numbers(array: pa.Array, use: ColumnUse, tick: int, domain: pa.Array) -> Array:
    if use.store == "f":
        return np.asarray(filled(array.cast(pa.float64()), 0.0).to_numpy(zero_copy_only=False))
    if use.kind in (Kind.STRING, Kind.BINARY):
        ranks = pc.index_in(array.cast(pa.large_binary()), domain)
    elif use.ranked:
        ranks = pc.index_in(array.cast(domain.type), domain)
    elif use.kind is Kind.DECIMAL:
        ranks = _unscaled(array, use.scale)
    elif use.kind in _INTEGER_KINDS:
        ranks = array.cast(pa.int64())
    else:
        ranks = _ticks(array, tick)
    return np.asarray(filled(ranks.cast(pa.int64()), 0).to_numpy(zero_copy_only=False))


def _unscaled(array: pa.Array, scale: int) -> pa.Array:
    wide = array.cast(pa.decimal128(38, scale))
    words = np.frombuffer(wide.buffers()[1], np.int64).reshape(-1, 2)[
        wide.offset : wide.offset + len(wide), 0
    ]
    return pa.array(words, mask=wide.is_null().to_numpy(zero_copy_only=False))


def _units(array: pa.Array) -> Array:
    """Return decimals as whole numbers of their last digit; :data:`SMALLEST` for what does not fit."""
    wide = array.cast(pa.decimal128(38, array.type.scale)) if len(array) else array
    words = np.frombuffer(wide.buffers()[1] or b"", np.int64).reshape(-1, 2)[wide.offset :][: len(wide)]
    fits = words[:, 1] == words[:, 0] >> 63
    return np.where(wide.is_valid().to_numpy(zero_copy_only=False), np.where(fits, words[:, 0], SMALLEST), 0)


def _ticks(array: pa.Array, tick: int) -> pa.Array:
    """Return timestamps, dates and durations as integers of one tick."""
    unit = "ns" if tick == 1 else "us"
    try:
        if pa.types.is_date(array.type):
            array = array.cast(pa.timestamp(unit))
        if pa.types.is_timestamp(array.type):
            return array.cast(pa.timestamp(unit, tz=array.type.tz)).cast(pa.int64())
        return array.cast(pa.duration(unit)).cast(pa.int64())
    except pa.ArrowInvalid as error:
        raise InputError(
            f"a time does not fit into 64 bits of {NANOSECONDS and unit}: {error}",
            remedy="Cast the time columns of the conditions to microseconds.",
        ) from error


def _list_offsets(array: pa.Array, base: int) -> tuple[Array, Array]:
    """Return where each list begins in the flat values, whose numbers are floats.

    A list that is null, or has a null in it, is empty: there is no correlation with it either way.
    """
    lists = array.cast(pa.large_list(pa.float64()))
    lengths = lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    flat = lists.flatten()
    values = np.asarray(flat.fill_null(0.0).to_numpy(zero_copy_only=False), np.float64)
    if flat.null_count:
        owner = np.repeat(np.arange(len(lengths)), lengths)
        damaged = np.zeros(len(lengths), bool)
        damaged[owner[flat.is_null().to_numpy(zero_copy_only=False)]] = True
        values, lengths = values[~damaged[owner]], np.where(damaged, 0, lengths)
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64) + base
    return offsets, values
