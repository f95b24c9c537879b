"""A relational query on Arrow tables: windowed joins by sorted search, aggregates by window ([T] 3.2, 3.3).

Streams join from left to right.  The rows of the next one are sorted by what must be equal and then by
time, so that the candidates of a joined event are one stretch of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from time import monotonic

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fyke.engine.conditions.columns import Column
from fyke.engine.conditions.evaluate import evaluate
from fyke.engine.input.order import partition_codes, times
from fyke.engine.input.single_array import one_array
from fyke.engine.kernels.arrays import Array
from fyke.engine.output.aggregates import aggregate_rows, as_averaged
from fyke.errors import LimitError
from fyke.language.ast import Call, Expression, Reference, walk
from fyke.limits import Limits
from fyke.logical.kinds import AGGREGATES, FUNCTIONS, Kind
from fyke.logical.relational import AnalysedRelational
from fyke.logical.returns import END, START, OutputColumn
from fyke.plan.match_aggregates import split_aggregates

_PAIRS_AT_ONCE = 1 << 20
_LEAST, _GREATEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


def run_relational(
    tables: Mapping[str, pa.Table], analysed: AnalysedRelational, limits: Limits = Limits()
) -> pa.Table:
    """Return the result of a query on the tables of its streams, by alias; every row has a time."""
    join = _Join(tables, analysed, limits)
    rows = join.filtered(0)
    for number in range(1, len(analysed.streams)):
        rows = join.extended(rows, number)
    result = _aggregated(join, rows) if analysed.slide is not None else _projected(join, rows)
    order = [*analysed.partition, START, END, *(column.name for column in analysed.output.columns)]
    return result.select(order)


def column_types(analysed: AnalysedRelational) -> dict[str, pa.DataType]:
    """Return the types of the items, learnt from tables without rows.

    Those of whole events, and of functions that only Spark has, are not among them.
    """
    known = tuple(column for column in analysed.output.columns if _on_tables(column))
    streams = tuple(replace(stream, conditions=()) for stream in analysed.streams)
    bare = replace(analysed, streams=streams, conditions=(), output=replace(analysed.output, columns=known))
    nothing = {
        stream.alias: pa.schema(list(stream.schema.columns.items())).empty_table()
        for stream in analysed.streams
    }
    schema = run_relational(nothing, bare).schema
    return {column.name: schema.field(column.name).type for column in known}


def _on_tables(column: OutputColumn) -> bool:
    calls = [node.function for node in walk(column.expression) if isinstance(node, Call)]
    return column.kind is not Kind.EVENT and all(name in FUNCTIONS or name in AGGREGATES for name in calls)


@dataclass(frozen=True, slots=True)
class _Joined:
    """Joined events: the rows they are made of, stream by stream, and their times."""

    positions: tuple[Array, ...]
    start: Array
    end: Array

    def __len__(self) -> int:
        return len(self.start)

    def at(self, chosen: Array) -> _Joined:
        return _Joined(tuple(each[chosen] for each in self.positions), self.start[chosen], self.end[chosen])


class _Join:
    """The tables of a query, and how its events join."""

    def __init__(self, tables: Mapping[str, pa.Table], analysed: AnalysedRelational, limits: Limits) -> None:
        self.analysed, self.limits = analysed, limits
        self.began, self.tried = monotonic(), 0
        self.numbers = {stream.alias: number for number, stream in enumerate(analysed.streams)}
        self.tables = [tables[stream.alias].combine_chunks() for stream in analysed.streams]

    def value(self, expression: Expression, rows: _Joined) -> Column:
        """Return the value of an expression for every joined event."""

        def resolve(node: Expression) -> Column | None:
            return self._reference(node, rows) if isinstance(node, Reference) else None

        return evaluate(expression, resolve)

    def array(self, expression: Expression, rows: _Joined) -> pa.Array:
        """Return the value of an expression for every joined event, also if it is the same for all."""
        value = self.value(expression, rows)
        return value if isinstance(value, pa.Array) else pa.repeat(value, len(rows))

    def _reference(self, node: Reference, rows: _Joined) -> Column:
        number = self.numbers.get(node.variable, 0)  # all agree on a partition attribute
        table, at = self.tables[number], rows.positions[number]
        if not node.path:
            names = table.column_names
            return pa.StructArray.from_arrays([_taken(table, name, at) for name in names], names=names)
        value = _taken(table, node.path[0], at)
        for name in node.path[1:]:
            value = pc.struct_field(value, name)
        return value

    def filtered(self, number: int) -> _Joined:
        """Return the events of one stream that meet its own conditions, as if it were the first."""
        stream, table = self.analysed.streams[number], self.tables[number]
        start, end = (self._times(table, name) for name in stream.schema.time)
        every = np.arange(table.num_rows)
        nowhere = np.zeros(0, np.int64)
        positions = (*(nowhere for _ in range(number)), every)
        rows = _Joined(positions, start, end)
        kept = self._holds(stream.conditions, rows) & self._short(rows)
        return _Joined((*positions[:number], every[kept]), start[kept], end[kept])

    def _times(self, table: pa.Table, name: str) -> Array:
        return times(table.column(name).cast(self.analysed.time))

    def _holds(self, conditions: tuple[Expression, ...], rows: _Joined) -> Array:
        holds = np.ones(len(rows), bool)
        for condition in conditions:
            truth = self.array(condition, rows).cast(pa.bool_())
            holds &= pc.fill_null(truth, False).to_numpy(zero_copy_only=False)
        return holds

    def _short(self, rows: _Joined) -> Array:
        """Say which joined events span at most RANGE."""
        # Unsigned, because a span may be longer than the largest integer.
        spans = rows.end.view(np.uint64) - rows.start.view(np.uint64)
        return np.asarray(spans <= np.uint64(self.analysed.window))

    def extended(self, rows: _Joined, number: int) -> _Joined:
        """Return the events joined so far, joined with those of one more stream."""
        new = self.filtered(number)
        conditions = tuple(each.expression for each in self.analysed.conditions_at(number))
        found: list[_Joined] = []
        total = 0
        for old, added in self._candidates(rows, new, number):
            left, right = rows.at(old), new.positions[number][added]
            start = np.minimum(left.start, new.start[added])
            end = np.maximum(left.end, new.end[added])
            pairs = _Joined((*left.positions, right), start, end)
            pairs = pairs.at(np.flatnonzero(self._short(pairs)))
            found.append(pairs.at(np.flatnonzero(self._holds(conditions, pairs))))
            total += len(found[-1])
            self.check_count(total, "the join has")
            self._check_work(len(old), total * 8 * (number + 3))
        return _concatenated(found, number + 1)

    def _check_work(self, pairs: int, held: int) -> None:
        """Count pairs that were tried; raise if work, memory or time is more than the limits allow."""
        self.tried += pairs
        steps = self.limits.steps_for(sum(table.num_rows for table in self.tables))
        where, seconds = "by the pairs of events of the join", self.limits.seconds
        remedy = "Add conditions, above all equalities, or shorten RANGE."
        if self.tried > steps:
            raise self.limits.exceeded("steps", where, remedy, steps)
        if held > self.limits.buffer_bytes:
            raise self.limits.exceeded("buffer_bytes", where, remedy)
        if seconds is not None and monotonic() - self.began > seconds:
            raise self.limits.exceeded("seconds", where, remedy)

    def check_count(self, count: int, what: str) -> None:
        """Raise if there are more events than the limit allows."""
        if count > self.limits.matches:
            raise LimitError(
                f"{what} more than {self.limits.matches} events",
                limit="matches",
                value=self.limits.matches,
                remedy="Raise the limit matches, add conditions, shorten RANGE or slide further.",
            )

    def _candidates(self, rows: _Joined, new: _Joined, number: int) -> Iterator[tuple[Array, Array]]:
        """Yield pairs of rows that agree on what must be equal and start near one another, in chunks."""
        old_codes, new_codes = self._codes(rows, new, number)
        moments, ranks = np.unique(new.start, return_inverse=True)
        size = len(moments) + 1
        keys = new_codes * size + ranks
        order = np.argsort(keys, kind="stable")
        order = order[np.searchsorted(new_codes[order], 0) :]  # null is equal to nothing
        keys = keys[order]
        window = min(self.analysed.window, int(_GREATEST))
        earliest = np.searchsorted(moments, _minus(rows.end, window), "left")
        latest = np.searchsorted(moments, _plus(rows.start, window), "right")
        first = np.searchsorted(keys, old_codes * size + earliest)
        counts = np.maximum(np.searchsorted(keys, old_codes * size + latest) - first, 0)
        counts[old_codes < 0] = 0
        ends = np.cumsum(counts)
        begin = 0
        while begin < len(rows):
            done = ends[begin - 1] if begin else 0
            until = max(begin + 1, int(np.searchsorted(ends, done + _PAIRS_AT_ONCE, "right")))
            some = counts[begin:until]
            old = np.repeat(np.arange(begin, until), some)
            within = np.arange(len(old)) - np.repeat(np.cumsum(some) - some, some)
            yield old, order[first[old] + within]
            begin = until

    def _codes(self, rows: _Joined, new: _Joined, number: int) -> tuple[Array, Array]:
        """Number the values on which old and new events must agree; -1 where one is null."""
        alias = self.analysed.streams[number].alias
        keys: dict[str, pa.ChunkedArray] = {}
        for condition in self.analysed.conditions_at(number):
            equal = condition.equal
            if equal is None or (equal[0].variable == alias) == (equal[1].variable == alias):
                continue
            theirs, ours = (equal[1], equal[0]) if equal[0].variable == alias else equal
            arrays = [_comparable(self.array(theirs, rows)), _comparable(self.array(ours, new))]
            if arrays[0].type == arrays[1].type and not pa.types.is_nested(arrays[0].type):
                keys[f"k{len(keys)}"] = pa.chunked_array(arrays)
        if not keys:
            return np.zeros(len(rows), np.int64), np.zeros(len(new), np.int64)
        codes = partition_codes(pa.table(keys), tuple(keys))
        return codes[: len(rows)], codes[len(rows) :]


def _taken(table: pa.Table, name: str, at: Array) -> pa.Array:
    return one_array(table.column(name)).take(pa.array(at))


def _comparable(values: pa.Array) -> pa.Array:
    """Return values such that equal ones of one kind have one type."""
    if pa.types.is_integer(values.type) and not pa.types.is_uint64(values.type):
        return values.cast(pa.int64())
    return values.cast(pa.string()) if pa.types.is_large_string(values.type) else values


def _concatenated(parts: list[_Joined], width: int) -> _Joined:
    nothing = np.zeros(0, np.int64)
    positions = tuple(
        np.concatenate([nothing, *(part.positions[number] for part in parts)]) for number in range(width)
    )
    start = np.concatenate([nothing, *(part.start for part in parts)])
    return _Joined(positions, start, np.concatenate([nothing, *(part.end for part in parts)]))


def _minus(ticks: Array, span: int) -> Array:
    return np.where(ticks < _LEAST + span, _LEAST, ticks - span)


def _plus(ticks: Array, span: int) -> Array:
    return np.where(ticks > _GREATEST - span, _GREATEST, ticks + span)


def _as_time(ticks: Array, kind: pa.DataType) -> pa.Array:
    return pa.array(ticks.astype(np.int32) if pa.types.is_date32(kind) else ticks).cast(kind)


# --- results --------------------------------------------------------------------------------


def _projected(join: _Join, rows: _Joined) -> pa.Table:
    """Return a row for each joined event, in order of time."""
    rows = rows.at(np.lexsort((*reversed(rows.positions), rows.end, rows.start)))
    analysed = join.analysed
    columns = {name: join.array(Reference("", (name,)), rows) for name in analysed.partition}
    columns[START], columns[END] = (_as_time(each, analysed.time) for each in (rows.start, rows.end))
    for column in analysed.output.columns:
        columns[column.name] = join.array(column.expression, rows)
    return pa.table(columns)


def _aggregated(join: _Join, rows: _Joined) -> pa.Table:
    """Return a row for each window with an event in it, and value of the partition attributes.

    A window has the events that lie in it whole: it starts at a multiple of SLIDE, no later than they
    start, and ends after they end.
    """
    analysed = join.analysed
    assert analysed.slide is not None
    newest = rows.start // analysed.slide
    oldest = (rows.end - analysed.window) // analysed.slide + 1
    counts = np.maximum(newest - oldest + 1, 0)
    join.check_count(int(counts.sum()), "the windows have")
    owner = np.repeat(np.arange(len(rows)), counts)
    starts = (oldest[owner] + np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)) * (
        analysed.slide
    )
    aggregates, _ = split_aggregates(analysed.output)
    columns = {
        name: join.array(Reference("", (name,)), rows).take(pa.array(owner)) for name in analysed.partition
    }
    columns[START] = _as_time(starts, analysed.time)
    for each in aggregates:
        values = (
            pa.repeat(pa.scalar(1), len(rows)) if each.argument is None else join.array(each.argument, rows)
        )
        columns[each.column] = as_averaged(each.function, values).take(pa.array(owner))
    table = aggregate_rows(pa.table(columns), (START, *analysed.partition), analysed.output)
    table = table.take(pc.sort_indices(table, [(START, "ascending")]))
    # An event's times are both in it: the last moment of a window is that before the next one starts.
    ends = times(table.column(START)) + (analysed.window - 1)
    return table.append_column(END, _as_time(ends, analysed.time))
