"""Batch matching on Spark: one Python function over many keys, lazily ([S] 5's two phases on Catalyst)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from fyke.engine.aggregates import split_aggregates
from fyke.engine.engine import Engine
from fyke.engine.kernels.jit import compile_lock
from fyke.engine.order import partition_codes, times
from fyke.engine.result import ResultBuilder
from fyke.engine.state import State
from fyke.language.ast import Strategy
from fyke.plan.plan import Plan
from fyke.plan.pushdown import Pushed
from fyke.spark.expression import quote, to_sql
from fyke.spark.prepare import distributed, prepared
from fyke.spark.session import arrange_workers

_CHUNK_ROWS = 1 << 19
_RESULT_ROWS = 1 << 14
_AGGREGATE: dict[str, Callable[[str], Column]] = {
    "count": F.count,
    "sum": F.sum,
    "min": F.min,
    "max": F.max,
    "avg": F.avg,
    "stddev": F.stddev_samp,
}


def match_frame(frame: DataFrame, plan: Plan) -> DataFrame:
    """Return the matches in a DataFrame as a DataFrame; nothing runs before Spark is asked for rows."""
    arrange_workers(frame.sparkSession)
    rows = distributed(prepared(frame, plan.pushed), plan.pushed)
    builder = ResultBuilder(plan)
    schema = from_arrow_schema(builder.schema, prefer_timestamp_ntz=True)
    matches = rows.mapInArrow(matcher(plan), schema)
    return _aggregated(matches, plan.pushed) if plan.pushed.analysed.output.over_matches else matches


def _aggregated(matches: DataFrame, pushed: Pushed) -> DataFrame:
    """Aggregate over matches with Spark's own operators."""
    analysed = pushed.analysed
    aggregates, items = split_aggregates(analysed.output)
    asked = [_AGGREGATE[each.function](each.column).alias(each.column) for each in aggregates]
    partition = [quote(name) for name in analysed.form.partition]
    grouped = matches.groupBy(*partition).agg(*asked)
    columns = zip(analysed.output.columns, items, strict=True)
    return grouped.select(*partition, *(F.expr(to_sql(item)).alias(column.name) for column, item in columns))


def matcher(plan: Plan) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that workers run over the sorted rows of a Spark partition."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with compile_lock():
            engine, builder = Engine(plan), ResultBuilder(plan)
        yield from _Walk(plan, engine, builder).results(batches)

    return run


class _Walk:
    """Feeds sorted rows to the engine: whole partitions of the query at once, a long one piece by piece."""

    def __init__(self, plan: Plan, engine: Engine, builder: ResultBuilder) -> None:
        form = plan.pushed.analysed.form
        self.partition = () if form.strategy is Strategy.STRICT else form.partition
        self.end = plan.pushed.analysed.schema.end
        self.engine, self.builder = engine, builder
        self.state: State | None = None
        self.ready: list[pa.Table] = []

    def results(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield result batches while reading the rows of a Spark partition."""
        waiting: list[pa.RecordBatch] = []
        rows = 0
        last: pa.Table | None = None
        for batch in batches:
            if batch.num_rows == 0:
                continue
            waiting.append(batch)
            rows += batch.num_rows
            if rows >= _CHUNK_ROWS:
                last = self._read(pa.Table.from_batches(waiting), last)
                yield from self._drain()
                waiting, rows = [], 0
        if waiting:
            last = self._read(pa.Table.from_batches(waiting), last)
        if self.state is not None and last is not None:
            self._advance(last.slice(0, 0), final=True)
        yield from self._drain()

    def _read(self, chunk: pa.Table, last: pa.Table | None) -> pa.Table:
        """Read a chunk: the rest of the open partition, partitions that end in it, the one it ends in."""
        first, tail = self._cuts(chunk, last)
        if self.state is not None:
            self._advance(chunk.slice(0, first), final=tail > 0 or first < chunk.num_rows)
        if tail > first:
            self._advance(chunk.slice(first, tail - first), final=True)
        if tail >= first and tail < chunk.num_rows:
            self._advance(chunk.slice(tail), final=False)
        return chunk.slice(chunk.num_rows - 1)

    def _cuts(self, chunk: pa.Table, last: pa.Table | None) -> tuple[int, int]:
        """Return where the partition left open ends in the chunk, and where the chunk's last one begins."""
        together = chunk if last is None else pa.concat_tables([last, chunk])
        codes = partition_codes(together, self.partition)
        offset = 0 if last is None else 1
        changes = np.flatnonzero(codes[1:] != codes[:-1]) + 1 - offset
        if len(changes) == 0:
            return (0, 0) if self.state is None else (chunk.num_rows, chunk.num_rows)
        return (0 if self.state is None else int(changes[0])), int(changes[-1])

    def _advance(self, rows: pa.Table, *, final: bool) -> None:
        state = self.state if self.state is not None else self.engine.start(rows.schema)
        watermark = None
        if not final:
            watermark = int(times(rows.column(self.end))[-1]) - 1 if rows.num_rows else state.watermark
        after, found = self.engine.advance(state, rows, watermark, sorted_rows=True)
        self.state = None if final else after
        if len(found.matches):
            self.ready.append(self.builder.rows(found))

    def _drain(self) -> Iterator[pa.RecordBatch]:
        for table in self.ready:
            yield from table.to_batches(max_chunksize=_RESULT_ROWS)
        self.ready = []
