"""Columns of a source to the attributes of events, on Spark: renamed, out of structs, cast, or constant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from fyke.errors import MissingColumnError, listed, near_misses

KINDS = {
    "string": "string",
    "integer": "bigint",
    "number": "double",
    "boolean": "boolean",
    "timestamp": "timestamp",
    "date": "date",
}
UNITS = {"s": "timestamp_seconds", "ms": "timestamp_millis", "us": "timestamp_micros"}


@dataclass(frozen=True, slots=True)
class Mapped:
    """An attribute of events.

    It is the column ``source``, or a field of one with dots between the names, as the type ``kind`` if there
    is one; or else the ``value``, the same for all.  ``unit`` says what an integer counts that is to be a
    timestamp.
    """

    name: str
    source: str | None = None
    kind: str | None = None
    unit: str | None = None
    value: Any = None

    def path(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Return the column and the fields in it, from outside to inside.

        Raises
        ------
        MissingColumnError
        """
        source = self.source or ""
        if source in columns:
            return (source,)
        first, *rest = source.split(".")
        if first not in columns:
            raise MissingColumnError(
                f"{self.name}: the source has no column {first!r}.{near_misses(first, columns)}",
                remedy=f"Its columns are {listed(columns)}.",
            )
        return (first, *rest)


def map_frame(frame: DataFrame, mapped: Sequence[Mapped]) -> DataFrame:
    """Return events with the attributes asked for; a column that got another name has lost its own."""
    if not mapped:
        return frame
    made = {each.name: _column(each, frame.columns).alias(each.name) for each in mapped}
    renamed = {path[0] for each in mapped if each.source and len(path := each.path(frame.columns)) == 1}
    kept = [_named(name) for name in frame.columns if name not in made and name not in renamed]
    return frame.select(*kept, *made.values())


def _column(each: Mapped, columns: Sequence[str]) -> Column:
    if each.source is None:
        return F.lit(each.value)
    first, *fields = each.path(columns)
    column = reduce(lambda outer, field: outer.getField(field), fields, _named(first))
    if each.unit is not None:
        return F.call_function(UNITS[each.unit], column)
    return column if each.kind is None else column.cast(KINDS[each.kind])


def unite_frames(frames: Sequence[DataFrame]) -> DataFrame:
    """Return the events of several sources as one; attributes that a source lacks are null there."""
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)


def with_zones(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """Return a stream whose times are instants: watermarks cannot be of timestamps without a zone."""
    kinds = dict(frame.dtypes)
    zoned = {name: _named(name).cast("timestamp") for name in names if kinds.get(name) == "timestamp_ntz"}
    return frame.withColumns(zoned) if zoned else frame


def _named(name: str) -> Column:
    return F.col("`" + name.replace("`", "``") + "`")
