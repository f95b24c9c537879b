"""Batch matching on Spark: one Python function over many keys, lazily ([S] 5's two phases on Catalyst)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from typing import cast

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema, from_arrow_type

from fyke.engine.counters import Counters
from fyke.engine.engine import Engine
from fyke.engine.found import Found
from fyke.engine.input.order import partition_codes, times
from fyke.engine.kernels import layout as L
from fyke.engine.measure.clock import Clock
from fyke.engine.measure.observe_run import RunObserver
from fyke.engine.measure.sample import SAMPLE_ROWS, measure_rows
from fyke.engine.output.builders import RowBuilder, builder_of
from fyke.engine.output.enumerated import enumerate_batch, enumerated_schema
from fyke.engine.output.rows import ResultBuilder
from fyke.engine.owned import owned
from fyke.engine.state import State
from fyke.plan.counting import Counting
from fyke.plan.match_aggregates import MatchAggregate, combine_tallies, split_aggregates
from fyke.plan.plan import ROLES, Plan
from fyke.plan.planner import choose_plan
from fyke.plan.slices import slice_length
from fyke.spark.aggregates import AGGREGATES, with_all_digits
from fyke.spark.expression import quote, to_sql
from fyke.spark.observe import Observed, counts_of_task, with_metrics, without_counts
from fyke.spark.placed import placed, remember_place
from fyke.spark.prepare import (
    COVERED,
    SLICE,
    Placed,
    arranged,
    arrow_columns,
    covered,
    prepared,
    relevant,
    sent_columns,
    tells_types,
    together,
)
from fyke.spark.session import arrange_workers
from fyke.spark.slices import owned_rows, slices_of
from fyke.spark.worker_errors import carrying

_CHUNK_ROWS = 1 << 19
_RESULT_ROWS = 1 << 14
_PIECE_MATCHES = 1 << 18
_NUMBER = "__fyke_number"
_UNSEEN = 20.0  # how many times as much as the first rows show a long window may hold

_Function = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def match_frame(
    frame: DataFrame, plan: Plan, observed: Observed | None = None, *, chooses: bool = False
) -> DataFrame:
    """Return the matches in a DataFrame as a DataFrame; nothing runs until Spark is asked for rows.

    The first action on the result fills ``observed``, if it is given.  ``chooses``: each task takes
    the engine that its first rows speak for.
    """
    arrange_workers(frame.sparkSession)
    spanned = covered(frame, plan)
    place = placed(frame, plan)
    slices = slices_of(frame, plan) if place is Placed.ANYWHERE else None
    if observed is not None:
        frame = observed.input(frame)
    rows = relevant(prepared(frame, plan), plan)
    rows = together(rows if observed is None else observed.kept(rows), plan, slices, place)
    rows = arranged(rows if observed is None else observed.moved(rows), plan, spanned)
    builder = builder_of(plan)
    schema = from_arrow_schema(builder.schema, prefer_timestamp_ntz=True)
    if observed is None:
        matches = rows.mapInArrow(matcher(plan, chooses=chooses), schema)
        if not plan.result.over_matches and not plan.format.shared:
            counter = matcher(plan, counts=True, chooses=chooses)
            _count_without_rows(matches, rows, counter)
            if slices is None:
                remember_place(matches, plan)
    else:
        told = rows.mapInArrow(
            matcher(plan, metrics=True, chooses=chooses), with_metrics(schema, observed.sums)
        )
        matches = observed.matches(told)
    return _aggregated(matches, plan, builder) if plan.result.over_matches else matches


def _count_without_rows(matches: DataFrame, rows: DataFrame, counter: _Function) -> None:
    """Let ``matches.count()`` count what the tasks find: rows would be made, sent to Spark and thrown away.

    Spark cannot tell a Python function that nobody looks at its columns.
    """

    def count() -> int:
        counted = rows.mapInArrow(counter, "matches long")
        return int(counted.agg(F.coalesce(F.sum("matches"), F.lit(0))).collect()[0][0])

    matches.count = count  # type: ignore[method-assign]


def enumerate_frame(compressed: DataFrame) -> DataFrame:
    """Return the matches in a compressed result, one row each."""
    arrange_workers(compressed.sparkSession)
    schema = enumerated_schema(pa.schema(list(arrow_columns(compressed).items())))

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with carrying():
            for batch in batches:
                for row in range(batch.num_rows):  # a row may hold more matches than a batch should
                    yield from enumerate_batch(batch.slice(row, 1))

    return compressed.mapInArrow(run, from_arrow_schema(schema, prefer_timestamp_ntz=True))


def _aggregated(matches: DataFrame, plan: Plan, builder: RowBuilder) -> DataFrame:
    """Aggregate over matches with Spark's own operators."""
    tallied = isinstance(plan.counting, Counting)
    aggregates, items = (combine_tallies if tallied else split_aggregates)(plan.result)
    # The types are those of the result on a table without rows: Spark has others for sums of decimals.
    finished = builder.finish(builder.schema.empty_table()).schema
    partition = [F.col(quote(name)) for name in plan.partition]
    asked = [_aggregate(each, builder).alias(each.column) for each in aggregates]
    grouped = with_all_digits(matches.groupBy(*partition).agg(*asked), aggregates)
    types = arrow_columns(grouped)
    columns = []
    for column, item in zip(plan.result.columns, items, strict=True):
        kind = from_arrow_type(finished.field(column.name).type, prefer_timestamp_ntz=True)
        columns.append(F.expr(to_sql(item, types)).cast(kind).alias(column.name))
    return grouped.select(*partition, *columns)


def _aggregate(each: MatchAggregate, builder: RowBuilder) -> Column:
    """Return an aggregate over matches, or over tallies of them, where sums of integers are decimals."""
    value = AGGREGATES[each.function](each.column)
    if isinstance(builder, ResultBuilder) and each.column in builder.whole_sums:
        value = value.try_cast("bigint")
    return F.coalesce(value, F.lit(0 if each.counts else None))


def matcher(plan: Plan, *, metrics: bool = False, counts: bool = False, chooses: bool = False) -> _Function:
    """Return the function that workers run over the sorted rows of a Spark partition.

    With ``metrics`` its rows have one more column, and a last row holds the counts.  With ``counts`` there is
    one row, the number of matches.  ``chooses``: it takes the engine that the first rows speak for.
    """
    names = list(sent_columns(plan))
    typed = _TypesOfRoles(plan) if tells_types(plan) else None

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with carrying():
            yield from matched(batches)

    def matched(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        filled = (batch for batch in batches if batch.num_rows)
        first = next(filled, None)
        own = plan if first is None else _covering(plan, first)
        every = filled if first is None else itertools.chain([first], filled)
        sliced = [SLICE] if first is not None and SLICE in first.schema.names else []
        columns = sliced + names
        cut = (batch.select(list(range(len(columns)))).rename_columns(columns) for batch in every)
        named: Iterator[pa.RecordBatch] = cut if typed is None else map(typed.add, cut)
        if chooses and first is not None:
            head = next(named)
            own, named = _chosen(own, head), itertools.chain([head], named)
        walk = _Walk(own, observed=metrics, sliced=bool(sliced), rows=not counts)
        if walk.seen is None:
            yield from walk.results(named)
            if counts:
                yield pa.record_batch({"matches": pa.array([walk.counters.matches], pa.int64())})
            return
        sums = plan.sums()
        for batch in walk.results(named):
            yield without_counts(batch, sums)
        yield from counts_of_task(walk.builder.schema, walk.counters, walk.clock, walk.seen.sums())

    return run


class _TypesOfRoles:
    """Adds the type of each row, which its roles tell, as a number of its name; null without a role."""

    def __init__(self, plan: Plan) -> None:
        assert plan.schema.type_column is not None
        self.column = plan.schema.type_column
        names = list(dict.fromkeys(str(role.type) for role in plan.roles))
        self.names = pa.array(names, pa.string())
        self.number_of = np.zeros(64, np.int32)
        for role in plan.roles:
            self.number_of[role.bit] = names.index(str(role.type))

    def add(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return a batch with the types."""
        roles = batch.column(ROLES).to_numpy()
        lowest = np.log2((roles & -roles).astype(np.float64), where=roles != 0, out=np.zeros(len(roles)))
        numbers = pa.array(self.number_of[lowest.astype(np.int64)], mask=roles == 0)
        return batch.append_column(self.column, pa.DictionaryArray.from_arrays(numbers, self.names))


def _chosen(plan: Plan, batch: pa.RecordBatch) -> Plan:
    """Return the plan with the engine that is the cheapest by what the first rows of a task show."""
    rows = pa.Table.from_batches([batch.slice(0, SAMPLE_ROWS)])
    sliced = replace(plan, split=(*plan.split, SLICE)) if SLICE in batch.schema.names else plan
    found = measure_rows(sliced, rows, _UNSEEN if rows.num_rows == SAMPLE_ROWS else 1.0)
    choice = choose_plan("auto", plan, found, quick=True)
    return replace(plan, engine=choice.engine, order=choice.order, statistics=found)


def _covering(plan: Plan, batch: pa.RecordBatch) -> Plan:
    """Return the plan with the time that all events cover, if the rows of a batch say it."""
    if COVERED not in batch.schema.names:
        return plan
    start, end = (times(pa.chunked_array([each])) for each in batch.column(COVERED).slice(0, 1).flatten())
    return replace(plan, covered=(int(start[0]), int(end[0])))


def _ordered_by_number(plan: Plan) -> Plan:
    """Return the plan for rows that are numbered in processing order; the number breaks ties of time."""
    columns = {_NUMBER: pa.int64(), **plan.schema.columns}
    return replace(plan, schema=replace(plan.schema, columns=columns))


class _Walk:
    """Feeds sorted rows to the engine: whole partitions of the query at once, a long one piece by piece.

    Spark has sorted by columns that it does not send, so the rows are numbered.  The engine sorts kept and
    new rows together by these numbers.
    """

    def __init__(
        self, plan: Plan, *, observed: bool = False, sliced: bool = False, rows: bool = True
    ) -> None:
        self.makes_rows = rows
        self.slice_length = slice_length(plan) if sliced else None
        plan = replace(plan, split=(*plan.split, SLICE)) if sliced else plan
        self.partition, self.end = plan.keys, plan.schema.end
        self.engine, self.builder = Engine(_ordered_by_number(plan)), builder_of(plan)
        self.counters, self.clock = Counters(), Clock()
        self.seen = RunObserver(self.engine.plan) if observed else None
        self.numbered = 0
        self.state: State | None = None

    def results(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield result batches while reading the rows of a Spark partition, in batches that are not empty."""
        waiting: list[pa.RecordBatch] = []
        rows = 0
        last: pa.Table | None = None
        for batch in batches:
            waiting.append(batch)
            rows += batch.num_rows
            if rows >= _CHUNK_ROWS:
                last = yield from self._read(pa.Table.from_batches(waiting), last)
                waiting, rows = [], 0
        if waiting:
            last = yield from self._read(pa.Table.from_batches(waiting), last, final=True)
        if self.state is not None and last is not None:
            yield from self._advance(last.slice(0, 0), final=True)

    def _read(
        self, chunk: pa.Table, last: pa.Table | None, *, final: bool = False
    ) -> Generator[pa.RecordBatch, None, pa.Table]:
        """Read a chunk: the rest of the open partition, the partitions that end in it, and the last one.

        In the ``final`` chunk the last one ends too, so that a task of one chunk works as on a table.
        """
        numbers = np.arange(self.numbered, self.numbered + chunk.num_rows)
        chunk = chunk.append_column(_NUMBER, pa.array(numbers))
        self.numbered += chunk.num_rows
        first, tail = self._cuts(chunk, last)
        if final:
            tail = chunk.num_rows
        if self.state is not None:
            yield from self._advance(chunk.slice(0, first), final=final or first < chunk.num_rows)
        if first < tail:
            yield from self._advance(chunk.slice(first, tail - first), final=True)
        if tail < chunk.num_rows:
            yield from self._advance(chunk.slice(tail), final=False)
        return chunk.slice(chunk.num_rows - 1)

    def _cuts(self, chunk: pa.Table, last: pa.Table | None) -> tuple[int, int]:
        """Return where the open partition ends in the chunk, and where the chunk's last partition begins.

        If the open partition does not end in the chunk, it reaches to its end, and none begins in it.
        """
        together = chunk if last is None else pa.concat_tables([last, chunk])
        codes = partition_codes(together, self.partition)
        changes = np.flatnonzero(codes[1:] != codes[:-1]) + (1 if last is None else 0)
        if self.state is None:
            return 0, int(changes[-1]) if len(changes) else 0
        if len(changes) == 0:
            return chunk.num_rows, chunk.num_rows
        return int(changes[0]), int(changes[-1])

    def _advance(self, rows: pa.Table, *, final: bool) -> Iterator[pa.RecordBatch]:
        state = self.state if self.state is not None else self.engine.start(rows.schema)
        watermark = None
        if not final:
            watermark = int(times(rows.column(self.end))[-1]) - 1 if rows.num_rows else state.watermark
        chunks = self.engine.advance_in_chunks(state, rows, watermark, sorted_rows=True, clock=self.clock)
        after = yield from self._results(chunks)
        self.state = None if final else after

    def _results(self, chunks: Generator[Found, None, State]) -> Generator[pa.RecordBatch, None, State]:
        """Yield the rows of matches chunk by chunk, so that only one chunk is held; return the state."""
        while True:
            try:
                found = next(chunks)
            except StopIteration as end:
                return cast(State, end.value)
            if self.slice_length is not None:
                rows = owned_rows(found.rows, found.events[L.EVENT_END], self.slice_length)
                found = owned(found, rows, self.engine)
            self.counters.merge(found.counters)
            if self.seen is not None:
                self.seen.look(found)
                self.clock.restart()
            if not self.makes_rows:
                continue
            if len(found.matches) or found.graphs or (found.tally is not None and found.tally.num_rows):
                for piece in found.in_pieces(_PIECE_MATCHES):
                    rows = self.builder.rows(piece)
                    self.clock.lap("rows")
                    yield from rows.to_batches(max_chunksize=_RESULT_ROWS)
                    self.clock.restart()
