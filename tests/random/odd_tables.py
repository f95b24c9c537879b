"""Odd tables with queries for them: every type Arrow has, names, slices, chunks, nulls and extremes."""

from __future__ import annotations

import datetime
import itertools
import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pyarrow as pa

NAMES = (
    "x",
    "y",
    "a b",
    "a.b",
    'quo"te',
    "back`tick",
    "",
    " ",
    "é",
    "日本",
    "select",
    "len",
    "A",
    "Type",
    "n" * 300,
)
CLASHING = (
    "start",
    "end",
    "match_id",
    "matches",
    "type",
    "reached",
    "__fyke_roles",
    "__fyke_d0",
    "X",
    "T",
    "kind",
)
TEXTS = ("A", "B", "", "a", "é", "\x00", "\n", "x" * 2_000, "'", '"', "\U0001d538", "NaN", "1")
LITERALS = ("1", "1.5", "'A'", "NULL", "TRUE", "TIMESTAMP '2024-02-29'")
_UTC = datetime.timezone.utc
_MOMENTS = (
    datetime.datetime(1970, 1, 1),
    datetime.datetime(2024, 2, 29, 12, 30, 1, 500_000),
    datetime.datetime(1677, 9, 22),
    datetime.datetime(2262, 4, 11),
)
_FAR = (datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59, 999_999))

Values = Callable[[random.Random], Any]


def _integers(kind: pa.DataType) -> tuple[int, ...]:
    bits, signed = kind.bit_width, pa.types.is_signed_integer(kind)
    least, greatest = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    return (0, 1, 2, 1, 2, 3, least, greatest)


def _values(kind: pa.DataType) -> tuple[Any, ...]:
    """Return some values of a plain type, ordinary and extreme ones."""
    if pa.types.is_boolean(kind):
        return (True, False)
    if pa.types.is_integer(kind):
        return _integers(kind)
    if pa.types.is_floating(kind):
        return (
            0.0,
            -0.0,
            1.0,
            1.5,
            2.0,
            math.nan,
            math.inf,
            -math.inf,
            *((1e300,) if kind == pa.float64() else ()),
        )
    if pa.types.is_decimal(kind):
        nines = Decimal(10**kind.precision - 1).scaleb(-kind.scale) if kind.precision <= 28 else Decimal(1)
        return (
            (Decimal(0), Decimal(1), Decimal(-1), nines, -nines)
            if kind.precision > kind.scale
            else (Decimal(0),)
        )
    if pa.types.is_date(kind):
        return tuple(moment.date() for moment in (*_MOMENTS, *_FAR))
    if pa.types.is_timestamp(kind):
        moments = _MOMENTS if kind.unit == "ns" or kind.tz else (*_MOMENTS, *_FAR)  # Python has no others
        return tuple(moment.replace(tzinfo=_UTC if kind.tz else None) for moment in moments)
    if pa.types.is_time(kind):
        return (datetime.time(0), datetime.time(23, 59, 59))
    if pa.types.is_duration(kind):
        return (datetime.timedelta(0), datetime.timedelta(seconds=5), datetime.timedelta(days=-1))
    if pa.types.is_fixed_size_binary(kind):
        return (b"\x00" * kind.byte_width, b"\xff" * kind.byte_width)
    if any(test(kind) for test in (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view)):
        return (b"A", b"B", b"", b"\xff\xfe")
    return TEXTS


_PLAIN = (
    *(
        pa.int8(),
        pa.int16(),
        pa.int32(),
        pa.int64(),
        pa.int64(),
        pa.uint8(),
        pa.uint16(),
        pa.uint32(),
        pa.uint64(),
    ),
    *(pa.float16(), pa.float32(), pa.float64(), pa.float64(), pa.bool_()),
    *(pa.string(), pa.string(), pa.large_string(), pa.string_view()),
    *(pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(3)),
    *(pa.date32(), pa.date64(), pa.time32("s"), pa.time64("ns")),
    *(pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")),
    *(pa.timestamp(unit, tz) for unit in ("ms", "us", "ns") for tz in ("UTC", "Europe/Berlin")),
    *(pa.duration("s"), pa.duration("us"), pa.duration("ns")),
    *(
        pa.decimal128(5, 2),
        pa.decimal128(18, 8),
        pa.decimal128(38, 0),
        pa.decimal128(38, 38),
        pa.decimal256(50, 2),
    ),
    *(pa.decimal32(5, 1), pa.decimal64(12, 3)),
)
TIMES = (
    *[pa.int64()] * 4,
    *(pa.int8(), pa.int32(), pa.uint8(), pa.uint32(), pa.date32(), pa.date64()),
    *(pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")),
    *(pa.timestamp("us", "UTC"), pa.timestamp("ns", "Europe/Berlin")),
)
NO_TIMES = (pa.uint64(), pa.float64(), pa.string(), pa.duration("s"), pa.time64("us"), pa.bool_(), pa.null())
KINDS = (
    *[pa.string()] * 8,
    *(pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())),
    *(pa.dictionary(pa.int32(), pa.large_string()), pa.dictionary(pa.int16(), pa.int64())),
    *(pa.int8(), pa.int64(), pa.uint64(), pa.bool_(), pa.date32(), pa.binary()),
)
NO_KINDS = (
    *(pa.list_(pa.string()), pa.float64(), pa.null(), pa.struct([("s", pa.string())]), pa.timestamp("us")),
    *(pa.large_binary(), pa.binary(1), pa.decimal128(5, 2), pa.dictionary(pa.int8(), pa.bool_())),
)


@dataclass(slots=True)
class OddCase:
    """A table, a query, and the options of the call."""

    seed: int
    table: pa.Table
    query: str
    options: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        rows = "\n".join(str(row)[:400] for row in self.table.to_pylist()) if self.table.num_columns else ""
        return f"seed {self.seed}: {self.query}\n{self.options}\n{self.table.schema}\n{rows}"


def odd_case(seed: int) -> OddCase:
    """Return the case of a seed."""
    chance = random.Random(seed)
    rows = chance.choice((0, 1, 2, 4, 5, 6, 7, 8, 8, 8))
    columns: list[tuple[str, pa.ChunkedArray]] = []
    time = _time_columns(chance, rows, columns)
    typed = chance.random() < 0.85
    if typed:
        columns.append(("kind", _kinds(chance, rows)))
    for _ in range(chance.choice((0, 1, 2, 2, 3, 4))):
        columns.append((_name(chance, columns), _column(chance, _any_type(chance), rows)))
    chance.shuffle(columns)
    names, arrays = [name for name, _ in columns], [array for _, array in columns]
    table = pa.Table.from_arrays(arrays, names=names)
    options: dict[str, Any] = {"time": time}
    if typed:
        options["type"] = "kind"
    if chance.random() < 0.3:
        options["tie_breaker"] = chance.choice(names)
    if chance.random() < 0.2:
        options["output"] = chance.choice(("non_overlap", "compressed"))
    query = _query(
        chance, [name for name in names if name not in ("kind", "t", "u")] or ["t"], typed, _length(table)
    )
    if chance.random() < 0.1:
        options["engine"] = chance.choice(("automaton", "lazy_chain", "lazy_tree", "tree"))
    if isinstance(time, tuple) and chance.random() < 0.3:
        options["touching"] = "before"
    return OddCase(seed, _cut(chance, table), query, options)


def _time_columns(chance: random.Random, rows: int, columns: list[tuple[str, pa.ChunkedArray]]) -> Any:
    kind = chance.choice(TIMES if chance.random() < 0.92 else NO_TIMES)
    columns.append(("t", _column(chance, kind, rows, rising=chance.random() < 0.7)))
    if chance.random() < 0.8:
        return "t"
    other = kind if chance.random() < 0.8 else chance.choice(TIMES)
    columns.append(("u", _column(chance, other, rows, rising=True)))
    return ("t", "u")


def _name(chance: random.Random, columns: list[tuple[str, pa.ChunkedArray]]) -> str:
    taken = {name for name, _ in columns}
    name = chance.choice(CLASHING if chance.random() < 0.08 else NAMES)
    if name in taken and chance.random() < 0.97:
        return f"{name}{len(taken)}"
    return name


def _any_type(chance: random.Random, depth: int = 0) -> pa.DataType:
    pick = chance.random()
    if pick < 0.85 or depth > 1:
        return chance.choice(_PLAIN)
    inner = _any_type(chance, depth + 1)
    while isinstance(inner, pa.BaseExtensionType) or pa.types.is_run_end_encoded(inner):
        inner = _any_type(chance, depth + 1)  # Arrow cannot make lists of them from values
    keys = chance.choice((pa.int8(), pa.int32()))
    return chance.choice(
        (
            pa.null(),
            pa.list_(inner),
            pa.large_list(inner),
            pa.list_(inner, 2),
            pa.list_view(inner),
            pa.struct([("f", inner), ("g h", pa.int64())]),
            pa.struct([]),
            pa.map_(pa.string(), inner),
            pa.dictionary(
                keys,
                chance.choice(
                    (pa.string(), pa.int64(), pa.float64(), *([pa.date32()] if depth == 0 else []))
                ),
            ),
            pa.run_end_encoded(pa.int32(), chance.choice((pa.int64(), pa.string()))),
            pa.month_day_nano_interval(),
            pa.uuid(),
            pa.json_(),
            pa.bool8(),
        )
    )


def _kinds(chance: random.Random, rows: int) -> pa.ChunkedArray:
    kind = chance.choice(KINDS if chance.random() < 0.92 else NO_KINDS)
    value = kind.value_type if pa.types.is_dictionary(kind) else kind
    if any(test(value) for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)):
        values = [chance.choice((*"ABCABCABC", *TEXTS, None)) for _ in range(rows)]
        return _chunked(chance, pa.array(values, pa.string()).cast(kind))
    return _column(chance, kind, rows)


def _column(chance: random.Random, kind: pa.DataType, rows: int, *, rising: bool = False) -> pa.ChunkedArray:
    if rising and (pa.types.is_integer(kind) or pa.types.is_temporal(kind)) and not pa.types.is_uint64(kind):
        moments = sorted(chance.randint(0, 20) for _ in range(rows))
        numbers = pa.array([None if chance.random() < 0.05 else moment for moment in moments], pa.int64())
        if pa.types.is_date32(kind) or pa.types.is_time32(kind):
            return _chunked(chance, numbers.cast(pa.int32()).cast(kind))
        if pa.types.is_date64(kind):
            return _chunked(chance, numbers.cast(pa.int32()).cast(pa.date32()).cast(kind))
        return _chunked(chance, numbers.cast(kind))
    empty = chance.random() < 0.05
    return _chunked(
        chance, _array(chance, kind, rows, nulls=1.0 if empty else chance.choice((0.0, 0.1, 0.4)))
    )


def _array(chance: random.Random, kind: pa.DataType, rows: int, nulls: float = 0.1) -> pa.Array:
    if pa.types.is_dictionary(kind):
        encoded = _array(chance, kind.value_type, rows, nulls).dictionary_encode()
        return pa.DictionaryArray.from_arrays(encoded.indices.cast(kind.index_type), encoded.dictionary)
    if pa.types.is_run_end_encoded(kind):
        values = _array(chance, kind.value_type, max(rows, 1), nulls)
        return pa.RunEndEncodedArray.from_arrays(
            pa.array(range(1, len(values) + 1), pa.int32()), values
        ).slice(0, rows)
    if isinstance(kind, pa.BaseExtensionType):
        if kind == pa.uuid():
            return pa.ExtensionArray.from_storage(
                kind, pa.array([bytes([k] * 16) for k in range(rows)], pa.binary(16))
            )
        return pa.ExtensionArray.from_storage(kind, _array(chance, kind.storage_type, rows, nulls))
    if pa.types.is_null(kind) or nulls == 1.0:
        return pa.nulls(rows, kind)
    return pa.array([_value(chance, kind, nulls) for _ in range(rows)], kind)


def _value(chance: random.Random, kind: pa.DataType, nulls: float) -> Any:
    if chance.random() < nulls:
        return None
    if pa.types.is_struct(kind):
        return {each.name: _value(chance, each.type, nulls) for each in kind}
    if pa.types.is_map(kind):
        return [
            (name, _value(chance, kind.item_type, nulls))
            for name in chance.sample("pqr", chance.randint(0, 2))
        ]
    if pa.types.is_fixed_size_list(kind):
        return [_value(chance, kind.value_type, nulls) for _ in range(kind.list_size)]
    if any(test(kind) for test in (pa.types.is_list, pa.types.is_large_list, pa.types.is_list_view)):
        return [_value(chance, kind.value_type, nulls) for _ in range(chance.randint(0, 3))]
    if pa.types.is_null(kind):
        return None
    if pa.types.is_interval(kind):
        return pa.scalar((1, 15, 5), kind)
    if isinstance(kind, pa.BaseExtensionType):
        return None
    if pa.types.is_dictionary(kind):
        return _value(chance, kind.value_type, nulls)
    if pa.types.is_run_end_encoded(kind):
        return None
    return chance.choice(_values(kind))


def _chunked(chance: random.Random, array: pa.Array) -> pa.ChunkedArray:
    """Return an array in one piece, as a slice of a longer one, or in several pieces, some of them empty."""
    way = chance.random()
    if way < 0.4:
        return pa.chunked_array([array])
    if way < 0.6 and len(array):
        try:
            longer = pa.concat_arrays([array.slice(0, 1), array, array.slice(0, 1)])
        except pa.ArrowException:  # not of every type
            return pa.chunked_array([array])
        return pa.chunked_array([longer.slice(1, len(array))])
    places = sorted(chance.randint(0, len(array)) for _ in range(chance.randint(1, 3)))
    bounds = [0, *places, len(array)]
    pieces = [array.slice(first, last - first) for first, last in itertools.pairwise(bounds)]
    return pa.chunked_array(pieces, array.type)


def _cut(chance: random.Random, table: pa.Table) -> pa.Table:
    if table.num_rows > 2 and chance.random() < 0.2:
        return table.slice(1, table.num_rows - 2)
    return table


def _length(table: pa.Table) -> str:
    """Return a window that fits the clock."""
    kind = table.schema.field("t").type
    unit = getattr(kind, "unit", "") if pa.types.is_timestamp(kind) else "days" * pa.types.is_date(kind)
    return f"5 {unit}".strip()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _query(chance: random.Random, names: list[str], typed: bool, length: str) -> str:
    first, second = ("A", chance.choice("BBA")) if typed else ("ANY", "ANY")
    if typed and chance.random() < 0.1:
        first = _quoted(chance.choice(("1", "true", "1970-01-01", "é", "A")))
    patterns = [
        f"SEQ({first} a, {second} b)",
        f"AND({first} a, {second} b)",
        f"SEQ({first}+ a[], {second} b)",
        f"SEQ({first} a, ~ANY c, {second} b)",
        f"OR(SEQ({first} a, {second} b), {second} b)",
        f"SEQ({first}? a, {second} b)",
        "SEQ(ANY a, ANY b)",
    ]
    pattern = chance.choice(patterns)
    group = "a[]" in pattern
    a = "a[1]" if group else "a"
    x, y = (_quoted(chance.choice(names)) for _ in range(2))
    conditions = [
        f"{a}.{x} {chance.choice(('=', '<', '!=', '>='))} b.{x}",
        f"{a}.{x} {chance.choice(('=', '<', '!=', '>='))} b.{y}",
        f"[{x}]",
        f"b.{x} {chance.choice(('=', '<', '>'))} {chance.choice(LITERALS)}",
        f"b.{x} IS {chance.choice(('', 'NOT '))}NULL",
        f"coalesce({a}.{x}, b.{x}) = b.{x}",
        f"abs({a}.{x} - b.{x}) < 2",
        f"length(b.{x}) > 0",
        f"b.{x} IN (1, 2)",
        f"{a}.{x} + 1 > b.{x}",
        f"b.{x} BETWEEN {a}.{x} AND b.{y}",
    ]
    chosen = chance.sample(conditions, chance.choice((0, 0, 1, 1, 2)))
    strategy = chance.choice(
        ("", "", "skip_till_any_match", "skip_till_any_match", "partition_contiguity", "strict_contiguity")
    )
    window = chance.choice(
        ("", f" WITHIN {length}", f" WITHIN {length}", " WITHIN 3 EVENTS", " WITHIN 1 hour")
    )
    items = [
        f"b.{x} AS r1",
        f"max(b.{x}) AS r2",
        f"{a}.{x} AS r3",
        "count(*) AS r4",
        f"b.{x} = {a}.{x} AS r5",
    ]
    returns = "" if chance.random() < 0.6 else f" RETURN {chance.choice(items)}"
    where = f" WHERE {strategy} {{ {' AND '.join(chosen)} }}" if strategy or chosen else ""
    return f"PATTERN {pattern}{where}{window}{returns}"
