"""Rows to events as the naive reference sees them: plain types, one table of all, processing order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, TypeAlias

import pyarrow as pa

from fyke.logical.schema import EventSchema, make_schema, unite_columns
from fyke.reference.expression import Occurrence
from fyke.reference.values import compare

Given: TypeAlias = "pa.Table | Mapping[str, pa.Table]"

_PLAIN = {
    pa.string_view(): pa.string(),
    pa.binary_view(): pa.binary(),
    pa.float16(): pa.float32(),
    pa.date64(): pa.date32(),
}
_TYPE_NAMES = ("type", "event_type", "fyke_type", "__fyke_type")


def read_events(
    given: Given,
    *,
    time: str | Sequence[str],
    type_column: str | None,
    tie_breaker: str | Sequence[str] | None,
    time_unit: str | None,
    touching: str | None = None,
) -> tuple[pa.Table, EventSchema]:
    """Return the events as one table of plain types, with their schema.

    Tables by type become one with a column for the type; a column that a type does not have is null.
    """
    attributes_of = None
    if isinstance(given, pa.Table):
        table = plain_table(given)
    else:
        tables = {name: plain_table(each) for name, each in given.items()}
        attributes_of = {name: tuple(each.column_names) for name, each in tables.items()}
        table, type_column = _united(tables)
    return table, make_schema(
        _columns(table),
        time=time,
        type_column=type_column,
        attributes_of=attributes_of,
        tie_breaker=tie_breaker,
        time_unit=time_unit,
        touching=touching,
    )


def _united(tables: Mapping[str, pa.Table]) -> tuple[pa.Table, str]:
    columns = unite_columns({name: _columns(table) for name, table in tables.items()})
    type_column = next(name for name in _TYPE_NAMES if name not in columns)
    typed = [
        table.append_column(type_column, pa.array([name] * table.num_rows, pa.string()))
        for name, table in tables.items()
    ]
    schema = pa.schema([*columns.items(), (type_column, pa.string())])
    united = pa.concat_tables(typed, promote_options="permissive")
    return united.select(schema.names).cast(schema), type_column


def _columns(table: pa.Table) -> dict[str, pa.DataType]:
    return dict(zip(table.schema.names, table.schema.types, strict=True))


def plain_table(table: pa.Table) -> pa.Table:
    """Return a table in whose types values are computed with and returned."""
    return table.cast(pa.schema([field.with_type(_plain(field.type)) for field in table.schema]))


def _plain(kind: pa.DataType) -> pa.DataType:
    """Return the type in which the values of a type are computed with and returned."""
    if isinstance(kind, pa.BaseExtensionType):
        return _plain(kind.storage_type)
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_plain(field.type)) for field in kind])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        inner = kind.value_field.with_type(_plain(kind.value_type))
        return pa.list_(inner) if pa.types.is_list(kind) else pa.large_list(inner)
    if pa.types.is_decimal(kind) and kind.bit_width < 128:
        return pa.decimal128(kind.precision, kind.scale)
    return _PLAIN.get(kind, kind)


def processing_order(table: pa.Table, schema: EventSchema) -> pa.Table:
    """Sort the rows by order key, then by all other columns; rows without a proper time are left out."""
    starts, ends = (ticks(table.column(name)) for name in schema.time)
    keyed = [
        (tuple(_Key(row[name]) for name in schema.order_columns()), k)
        for k, row in enumerate(table.to_pylist())
        if starts[k] is not None and ends[k] is not None and starts[k] <= ends[k]
    ]
    return table.take(pa.array([k for _, k in sorted(keyed)], pa.int64()))


class _Key:
    """A value that sorts as Spark sorts: null first, NaN last, structs field by field."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = [_Key(item) for item in value.values()] if isinstance(value, dict) else value

    def __lt__(self, other: _Key) -> bool:
        if self.value is None or other.value is None:
            return self.value is None and other.value is not None
        if isinstance(self.value, list):
            return bool([_Key(v) for v in self.value] < [_Key(v) for v in other.value])
        return compare(self.value, other.value) < 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and not self < other and not other < self


def occurrences(table: pa.Table, schema: EventSchema, only_type: str | None = None) -> list[Occurrence]:
    """Return the rows of a table in processing order as the events of the reference."""
    starts, ends = (ticks(table.column(name)) for name in schema.time)
    return [
        Occurrence(
            position,
            only_type if schema.type_column is None else type_name(row[schema.type_column]),
            starts[position],
            ends[position],
            tuple(row[name] for name in schema.tie_breaker) if schema.tie_breaker else None,
            row,
        )
        for position, row in enumerate(table.to_pylist())
    ]


def type_name(value: str | int | bool | date | bytes | None) -> str | None:
    """Return the name of the event type that a value of the type column stands for: its text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return value.decode()
    return None if value is None else str(value)


def ticks(column: pa.ChunkedArray) -> list[int]:
    """Return a time column as numbers of its own unit."""
    if pa.types.is_date32(column.type):
        column = column.cast(pa.int32())
    return list(column.cast(pa.int64()).to_pylist())


def as_time(values: Sequence[int], kind: pa.DataType) -> pa.Array:
    """Return numbers of a time type's unit as times of that type."""
    return pa.array(values, pa.int32() if pa.types.is_date32(kind) else pa.int64()).cast(kind)
