"""The rows of a DataFrame that a question is about, as a table.

One job counts.  If the rows are few enough they are collected, otherwise those of types that the query names,
and otherwise a sample of these: whole partitions, those that have most of the types first.  What is chosen
depends on the rows alone, and not on how Spark has divided them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import Row

from fyke.logical.schema import EventSchema
from fyke.spark.expression import quote, rejected_sql, text_literal, timed_sql
from fyke.spark.prepare import by_bytes, type_sql
from fyke.spark.slices import ticks_sql

MOST = 1_000_000  # rows that are collected
_FEW = 20_000  # rows of which all columns are collected
_PARTITIONS = 10_000  # that a sample may have
_BESIDE = 10  # such a part of the rows may be of null keys, and of the rarest type, whatever their partition
_HALVINGS = 64

_HASH, _ROWS, _KINDS = "__fyke_hash", "__fyke_rows", "__fyke_kinds"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which rows are asked for.

    ``key`` are values of columns, ``span`` the first and the last time in units of the time column.
    ``needed`` are the columns that the query looks at, ``types`` those it names, ``keys`` what divides it.
    ``every_row``: rows of other types have a say, too.
    """

    key: Mapping[str, Any]
    span: tuple[int, int] | None
    needed: Sequence[str]
    types: Sequence[str]
    keys: Sequence[str]
    every_row: bool


@dataclass(frozen=True, slots=True)
class Gathered:
    """Rows as a table, how many there are of all keys and times, which named types, and what was left out."""

    table: pa.Table
    rows: int
    types: tuple[str, ...]
    note: str = ""


def gather(frame: DataFrame, schema: EventSchema, wanted: Wanted) -> Gathered:
    """Collect the rows that are asked for, or so many of them that they can be looked at."""
    frame = by_bytes(frame)
    kinds = {name: F.expr(f"{type_sql(schema)} = {text_literal(name)}") for name in wanted.types}
    chosen = frame.where(_selected(schema, wanted))
    counts = _counted(frame, schema, wanted, kinds)
    there = tuple(name for number, name in enumerate(kinds) if counts[f"all_{number}"])
    rows, selected, note = int(counts["rows"]), int(counts["selected"] or 0), ""
    names = list(schema.columns) if selected <= _FEW else list(wanted.needed)
    if selected > MOST and kinds and not wanted.every_row and len(there) == len(kinds):
        chosen = chosen.where(_any(list(kinds.values())))
        selected = sum(int(counts[f"here_{number}"] or 0) for number in range(len(kinds)))
        note = f"Looked at the events of {_listed(kinds)} only."
    if selected > MOST:
        here = {name: int(counts[f"here_{number}"] or 0) for number, name in enumerate(kinds)}
        chosen, said = _sampled(chosen, schema, wanted, {name: each for name, each in here.items() if each})
        note = f"Looked at a part of {selected:,} events: {said}."
    table = chosen.select(*map(quote, names)).toArrow()
    fields = pa.schema([(name, schema.columns[name]) for name in names])
    return Gathered(table.cast(fields), rows, there, note)


def _selected(schema: EventSchema, wanted: Wanted) -> Column:
    """Say which rows are of the key and the span; null keys and rows without a time are looked at, too."""
    terms = [F.lit(True)]
    for name, value in wanted.key.items():
        column = F.col(quote(name))
        terms.append(column.isNull() if value is None else column.isNull() | (column == F.lit(value)))
    if wanted.span is not None:
        first, last = wanted.span
        start, end = (F.expr(ticks_sql(name, schema.columns[name])) for name in schema.time)
        inside = (end >= F.lit(first)) & (start <= F.lit(last))
        terms.append(F.expr(rejected_sql(schema.time)) | inside)
    return reduce(Column.__and__, terms)


def _counted(frame: DataFrame, schema: EventSchema, wanted: Wanted, kinds: Mapping[str, Column]) -> Row:
    selected = _selected(schema, wanted)
    counts = [F.count(F.lit(1)).alias("rows"), F.count_if(selected).alias("selected")]
    for number, kind in enumerate(kinds.values()):
        counts.append(F.count_if(kind).alias(f"all_{number}"))
        counts.append(F.count_if(kind & selected).alias(f"here_{number}"))
    return frame.agg(*counts).collect()[0]


# --- samples ------------------------------------------------------------------------------------------


def _sampled(
    rows: DataFrame, schema: EventSchema, wanted: Wanted, here: Mapping[str, int]
) -> tuple[DataFrame, str]:
    """Return at most so many rows as can be looked at, and which these are, in words."""
    rows = rows.where(timed_sql(schema.time))
    rarest = min(here, key=lambda name: (here[name], name)) if here else None
    if wanted.keys:
        found = _partitions(rows, schema, wanted, list(here), rarest)
        if found is not None:
            return found
    return _stretch(rows, schema, wanted, rarest)


def _partitions(
    rows: DataFrame, schema: EventSchema, wanted: Wanted, types: Sequence[str], rarest: str | None
) -> tuple[DataFrame, str] | None:
    """Return the rows of whole partitions; None if there is none of a size that can be looked at."""
    keys = [F.col(quote(name)) for name in wanted.keys]
    kind = F.expr(type_sql(schema)) if types else F.lit(0)
    hashed = rows.withColumn(_HASH, F.xxhash64(*keys))
    known = hashed.where(reduce(Column.__and__, [key.isNotNull() for key in keys]))
    sizes = known.groupBy(_HASH).agg(
        F.count(F.lit(1)).alias(_ROWS),
        F.count_distinct(F.when(kind.isin(list(types)), kind) if types else kind).alias(_KINDS),
    )
    first = sizes.orderBy(F.desc(_KINDS), F.col(_HASH)).limit(_PARTITIONS).toArrow()
    fitting = first.filter(pa.array(first[_ROWS].to_numpy() <= MOST))
    kept = fitting.filter(pa.array(np.cumsum(fitting[_ROWS].to_numpy()) <= MOST))
    if kept.num_rows == 0:
        return None
    chosen = rows.sparkSession.createDataFrame(kept.select([_HASH]))
    whole = known.join(F.broadcast(chosen), on=_HASH, how="left_semi").drop(_HASH)
    beside = reduce(Column.__or__, [key.isNull() for key in keys])
    if rarest is not None:
        beside |= kind == F.lit(rarest)
    others = hashed.join(F.broadcast(chosen), on=_HASH, how="left_anti").drop(_HASH).where(beside)
    said = f"those of {kept.num_rows:,} partitions of {', '.join(wanted.keys)} that have most of the types"
    share = -(-others.count() * _BESIDE // MOST)
    if share == 0:
        return whole, said
    ticks = F.expr(ticks_sql(schema.end, schema.columns[schema.end]))
    return whole.union(others.where(F.pmod(F.xxhash64(ticks), F.lit(share)) == 0)), said


def _stretch(
    rows: DataFrame, schema: EventSchema, wanted: Wanted, rarest: str | None
) -> tuple[DataFrame, str]:
    """Return the rows of the longest stretch of time that can be looked at, around one of the rarest type."""
    time = F.expr(ticks_sql(schema.end, schema.columns[schema.end]))
    middle = F.min(F.when(F.expr(f"{type_sql(schema)} = {text_literal(rarest)}"), time)) if rarest else None
    first = F.min(time) if middle is None else middle
    low, high, at = rows.agg(F.min(time), F.max(time), first).collect()[0]
    widths = [max(high - at, at - low) >> halving for halving in range(_HALVINGS)]  # the last one is 0
    counts = rows.agg(
        *(
            F.count_if(time.between(at - width, at + width)).alias(f"w{width}")
            for width in dict.fromkeys(widths)
        )
    ).collect()[0]
    width = max((width for width in widths if counts[f"w{width}"] <= MOST), default=0)
    stretch = rows.where(time.between(at - width, at + width))
    share = -(-counts[f"w{width}"] // MOST)
    if share > 1:  # of one moment
        stretch = stretch.where(F.pmod(F.xxhash64(*map(quote, wanted.needed)), F.lit(share)) == 0)
    whose = f"the first of type {rarest}" if rarest else "the first"
    return stretch, f"those of a stretch of time around {whose}"


def _any(terms: Sequence[Column]) -> Column:
    return reduce(Column.__or__, terms)


def _listed(names: Mapping[str, Any]) -> str:
    return ", ".join(names)
