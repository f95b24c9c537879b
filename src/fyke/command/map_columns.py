"""Columns of a source to the attributes of events, in tables: what ``fyke.spark.mapped`` does, by Arrow."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from fyke.errors import InputError, MissingColumnError
from fyke.spark.mapped import Mapped

_INSTANT = pa.timestamp("us", "UTC")
_KINDS = {
    "string": pa.string(),
    "integer": pa.int64(),
    "number": pa.float64(),
    "boolean": pa.bool_(),
    "timestamp": _INSTANT,
    "date": pa.date32(),
}


def map_table(table: pa.Table, mapped: Sequence[Mapped]) -> pa.Table:
    """Return events with the attributes asked for; a column that got another name has lost its own.

    Raises
    ------
    InputError
        If a column is not there, or does not have values of the type.
    """
    made, renamed = {}, set()
    for each in mapped:
        if each.source is None:
            made[each.name] = pa.chunked_array([pa.repeat(pa.scalar(each.value), table.num_rows)])
            continue
        path = each.path(table.column_names)
        if len(path) == 1:
            renamed.add(path[0])
        try:
            made[each.name] = _cast(_taken(table, each, path), each)
        except pa.ArrowException as error:
            said = str(error).splitlines()[0]
            raise InputError(f"{each.name}: {each.source!r} has no {each.kind}s: {said}") from error
    kept = [name for name in table.column_names if name not in made and name not in renamed]
    return pa.table({**{name: table.column(name) for name in kept}, **made})


def _taken(table: pa.Table, each: Mapped, path: Sequence[str]) -> pa.ChunkedArray:
    column = table.column(path[0])
    for field in path[1:]:
        kind = column.type
        if not pa.types.is_struct(kind) or kind.get_field_index(field) < 0:
            raise MissingColumnError(f"{each.name}: the source has no field {each.source!r}")
        column = pc.struct_field(column, field)
    return column


def _cast(column: pa.ChunkedArray, each: Mapped) -> pa.ChunkedArray:
    if each.unit is not None:
        return column.cast(pa.int64()).cast(pa.timestamp(each.unit, "UTC")).cast(_INSTANT)
    if each.kind is None:
        return column
    if each.kind != "timestamp":
        return column.cast(_KINDS[each.kind])
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = _moments(column)
    plain = not pa.types.is_timestamp(column.type) or column.type.tz is None
    return pc.assume_timezone(column.cast(pa.timestamp("us")), "UTC") if plain else column.cast(_INSTANT)


def _moments(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return texts in ISO form as timestamps, which have a zone if the texts have one."""
    try:
        return texts.cast(pa.timestamp("us"))
    except pa.ArrowInvalid:
        return texts.cast(_INSTANT)
