"""Many plans over one DataFrame: one scan, one shuffle, and each task runs every plan on what it has.

A task gets whole partitions of the attributes that all plans are divided by.  It reads them as a table, with
Fyke's own functions in place of Spark's, and leaves one row for each plan and chunk: a message with the rows
of the result, or the error of a plan that has failed, which stops no other.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import reduce
from threading import Thread
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from fyke.engine.input.order import partition_codes
from fyke.engine.shared_table import SharedTable
from fyke.errors import FykeError
from fyke.plan.plan import Plan
from fyke.spark.expression import quote, timed_sql
from fyke.spark.prepare import by_bytes, scan_sql
from fyke.spark.session import arrange_workers
from fyke.spark.stream.buckets import to_bytes
from fyke.spark.worker_errors import decoded, encoded

RULE, ROWS, ERROR = "rule", "rows", "error"
COUNTS = ("matches", "events", "microseconds")
_CALLS = "calls"
_SCHEMA = pa.schema(
    [(RULE, pa.int32()), (ROWS, pa.binary()), (ERROR, pa.string()), *((name, pa.int64()) for name in COUNTS)]
)
_CHUNK_ROWS = 1 << 19
_SOON = 1.0  # seconds

Batches = Iterator[pa.RecordBatch]


def match_together(frame: DataFrame, plans: Mapping[int, Plan], keys: Sequence[str]) -> DataFrame:
    """Return what plans find, as messages; all of them are divided by ``keys`` or by more attributes."""
    arrange_workers(frame.sparkSession)
    schema = next(iter(plans.values())).schema
    names = list(schema.columns)
    rows = by_bytes(frame).where(timed_sql(schema.time))
    filtered = [plan for plan in plans.values() if not plan.every_row_counts]
    if len(filtered) == len(plans):
        roles = tuple(dict.fromkeys(role for plan in filtered for role in plan.roles))
        wanted = scan_sql(roles, schema)
        rows = rows if wanted is None else rows.where(wanted)
    columns = [F.col(quote(name)) for name in keys]
    rows = rows.where(reduce(Column.__and__, [column.isNotNull() for column in columns]))
    rows = rows.select(*map(quote, names)).repartition(*columns).sortWithinPartitions(*columns)
    plain = rows.select(*(F.col(quote(name)).alias(f"c{number}") for number, name in enumerate(names)))
    kinds = from_arrow_schema(_SCHEMA, prefer_timestamp_ntz=True)
    return plain.mapInArrow(_runner(dict(plans), pa.schema(list(schema.columns.items())), tuple(keys)), kinds)


def _runner(plans: dict[int, Plan], schema: pa.Schema, keys: tuple[str, ...]) -> Callable[[Batches], Batches]:
    """Return the function that workers run over the rows of a Spark partition, sorted by ``keys``."""

    def run(batches: Batches) -> Batches:
        events = next(iter(plans.values())).schema
        failed: set[int] = set()
        for chunk in _whole(batches, schema, keys):
            shared = SharedTable(chunk, events, list(plans.values()))
            for number, plan in plans.items():
                if number not in failed:
                    row = _row(number, plan, shared)
                    if row[ERROR] is not None:
                        failed.add(number)
                    yield pa.RecordBatch.from_pylist([row], _SCHEMA)

    return run


def _row(number: int, plan: Plan, shared: SharedTable) -> dict[str, Any]:
    """Return the row that a plan leaves for a chunk."""
    row: dict[str, Any] = dict.fromkeys(_SCHEMA.names, 0) | {RULE: number, ROWS: b"", ERROR: None}
    try:
        result, counters, clock = shared.run(plan)
    except FykeError as error:
        return row | {ERROR: encoded(error)}
    counts = {"matches": counters.matches, "events": counters.events_read}
    counts["microseconds"] = int(1e6 * sum(clock.seconds.values()))
    return row | counts | {ROWS: to_bytes(result) if result.num_rows else b""}


def _whole(batches: Batches, schema: pa.Schema, keys: tuple[str, ...]) -> Iterator[pa.Table]:
    """Yield tables of whole partitions, each of some hundred thousand rows or of one long partition."""
    waiting: list[pa.RecordBatch] = []
    rows, enough = 0, _CHUNK_ROWS
    for batch in batches:
        if not batch.num_rows:
            continue
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= enough:
            table = _table(waiting, schema)
            codes = partition_codes(table, keys)
            changes = np.flatnonzero(codes[1:] != codes[:-1])
            enough = 2 * rows  # so the rows of a long partition are looked through only a few times
            if len(changes):
                cut = int(changes[-1]) + 1
                yield table.slice(0, cut)
                rest = pa.Table.from_batches(waiting).slice(cut)
                waiting, rows, enough = rest.to_batches(), rest.num_rows, _CHUNK_ROWS
    if waiting:
        yield _table(waiting, schema)


def _table(batches: list[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    return pa.Table.from_batches(batches).rename_columns(schema.names).cast(schema)


# --- reading the messages --------------------------------------------------------------------------


class Seen:
    """What was counted of the messages of rules, by rule; the first action fills it."""

    def __init__(self) -> None:
        self._observation = Observation()
        self._told: list[dict[str, Any]] | None = None
        self._waiter: Thread | None = None

    def watch(self, told: DataFrame) -> DataFrame:
        """Return the messages; whoever reads them all fills the counts."""
        # One text, because sums for each rule make hundreds of expressions that Spark analyses and compiles.
        call = F.to_json(F.struct(RULE, *COUNTS, ERROR))
        return told.observe(self._observation, F.concat_ws("\n", F.collect_list(call)).alias(_CALLS))

    def get(self) -> Sequence[Mapping[str, Any]] | None:
        """Return what each call has counted; None if nothing has run.

        Spark tells of an action a moment after it.
        """
        if self._told is None:
            if self._waiter is None:
                # Spark's own way to wait has no end, and an interpreter that ends must not wait for it.
                self._waiter = Thread(target=self._wait, daemon=True)
                self._waiter.start()
            self._waiter.join(_SOON)
            if self._told is None and not self._waiter.is_alive():
                self._waiter = None  # Connect does not wait: ask again the next time
        return self._told

    def _wait(self) -> None:
        with suppress(Exception):  # the action has failed, or the session has ended: nothing will be told
            found = self._observation.get
            self._told = [json.loads(line) for line in found[_CALLS].splitlines()] if found else None

    def counts(self) -> Mapping[int, Mapping[str, int]]:
        """Return the counts of all rules, after an action."""
        found: dict[int, Counter[str]] = {}
        for call in self.get() or ():
            found.setdefault(call[RULE], Counter()).update({name: call[name] for name in COUNTS})
        return found

    def failures(self) -> Mapping[int, FykeError]:
        """Return the errors of the rules that have failed, as far as something has run."""
        return {call[RULE]: decoded(call[ERROR]) for call in self.get() or () if call.get(ERROR)}


def rows_of_rule(told: DataFrame, number: int, schema: pa.Schema) -> DataFrame:
    """Return the rows of one rule, as :func:`fyke.match` would."""

    def run(batches: Batches) -> Batches:
        for batch in batches:
            for message in batch.column(0).to_pylist():
                if message:
                    yield from pa.ipc.open_stream(message).read_all().cast(schema).to_batches()

    kinds = from_arrow_schema(schema, prefer_timestamp_ntz=True)
    return told.where(F.col(RULE) == number).select(ROWS).mapInArrow(run, kinds)


def rows_of_all(told: DataFrame, schema: pa.Schema, united: Callable[[int, pa.Table], pa.Table]) -> DataFrame:
    """Return the rows of all rules, each brought to one schema by ``united``."""

    def run(batches: Batches) -> Batches:
        for batch in batches:
            for number, message in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                if message:
                    table = pa.ipc.open_stream(message).read_all()
                    yield from united(number, table).cast(schema).to_batches()

    kinds = from_arrow_schema(schema, prefer_timestamp_ntz=True)
    return told.select(RULE, ROWS).mapInArrow(run, kinds)


def united_frame(rows: DataFrame, name: str, version: str, schema: pa.Schema) -> DataFrame:
    """Return the rows of a rule that runs by itself with the columns that those of all rules have."""
    kinds = from_arrow_schema(schema, prefer_timestamp_ntz=True)
    told = {"rule": F.lit(name), "version": F.lit(version)}
    told["row"] = F.to_json(F.struct(*(F.col(quote(each)) for each in rows.columns)))
    columns = [
        told.get(field.name, F.col(field.name) if field.name in rows.columns else F.lit(None))
        .cast(field.dataType)
        .alias(field.name)
        for field in kinds.fields
    ]
    return rows.select(*columns)
