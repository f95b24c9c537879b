"""MATCH_RECOGNIZE on a streaming DataFrame: the operator of patterns, with the engine of clauses."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from fyke.engine.row_patterns.advance import RowEngine, RowsFound, next_row_call
from fyke.engine.row_patterns.row_state import RowState
from fyke.engine.row_patterns.stored_rows import StoredRows
from fyke.logical.returns import OWN
from fyke.plan.row_patterns.plan import RowPlan
from fyke.plan.row_patterns.pushdown import PushedRows
from fyke.plan.row_patterns.streaming import check_streamable
from fyke.spark.expression import quote
from fyke.spark.row_patterns import computed_rows, pushed_rows
from fyke.spark.session import arrange_workers
from fyke.spark.stream.buckets import BUCKET, PACKED, pack_rows
from fyke.spark.stream.checks import check_time, use_rocksdb, with_watermark
from fyke.spark.stream.flush import StoredBucket, finished_buckets
from fyke.spark.stream.match import BUCKETS, advanced, matched_rows
from fyke.spark.stream.processor import BucketProcessor
from fyke.spark.stream.progress import REJECTED


class RowProcessor(BucketProcessor):
    """Matches a clause; ``plan`` is over the columns that are sent."""

    def __init__(self, plan: RowPlan, schema: pa.Schema, operator: str) -> None:
        super().__init__(schema, operator, plan.analysed.order[0].column, described_rows(plan, schema))
        self.plan = plan

    def made(self) -> tuple[StoredRows, None]:
        """Return what reads and writes the states of the clause; its engine makes rows itself."""
        return StoredRows(RowEngine(self.plan), self.schema), None

    def next_call(self, after: RowState) -> int | None:
        """Return when a row that waits is read, or the window of an attempt is over."""
        return next_row_call(self.states.engine, after)

    def told(self, found: RowsFound) -> pa.Table:
        """Return the rows that are certain."""
        return found.rows

    def alive(self, state: RowState) -> dict[str, int]:
        """Return how many attempts are not decided, and what the marks of rows take."""
        size = sum(array.nbytes for array in state.marks.values())
        return {"live_runs": int((state.read & ~state.done).sum()), "run_bytes": size}


def match_row_stream(frame: DataFrame, plan: RowPlan, watermark: str | None) -> DataFrame:
    """Return the result of a clause on a streaming DataFrame as a streaming DataFrame.

    A match is reported in the first micro-batch whose watermark makes it certain.

    Raises
    ------
    OptionError, StreamError, TimeColumnError
    """
    check_row_stream(plan)
    pushed = pushed_rows(frame, plan)
    schema, operator = sent_schema(pushed), uuid.uuid4().hex
    packed = _packed(frame, pushed, schema, watermark, operator)
    told = advanced(packed, BUCKET, RowProcessor(pushed.plan, schema, operator), "Append")
    return matched_rows(told, plan.analysed.schema)


def flush_row_checkpoint(frame: DataFrame, plan: RowPlan, checkpoint: str) -> DataFrame:
    """Return the rows that the stream of a checkpoint would report if its rows had ended.

    Raises
    ------
    InputError, StreamError
    """
    check_row_stream(plan)
    pushed = pushed_rows(frame, plan)
    schema, inner = sent_schema(pushed), pushed.plan

    def finish() -> Callable[[StoredBucket], pa.Table]:
        states = StoredRows(RowEngine(inner), schema)
        return lambda stored: states.advance(states.load(stored), schema.empty_table(), None)[1].rows

    return finished_buckets(frame.sparkSession, checkpoint, finish, plan.analysed.schema)


def check_row_stream(plan: RowPlan) -> None:
    """Refuse what cannot be decided on a stream.

    Raises
    ------
    StreamError, TimeColumnError
    """
    check_streamable(plan)
    time = plan.analysed.order[0].column
    check_time(time, plan.analysed.columns[time])


def described_rows(plan: RowPlan, schema: pa.Schema) -> str:
    """Return what a state is of in lines that can be compared: the clause, and the columns kept."""
    lines = [f"column {field.name}: {field.type}" for field in schema if not field.name.startswith(OWN)]
    told = ["and attempts that expire"] if plan.analysed.timeouts else []
    return "\n".join([str(plan.analysed.query), *told, *lines])


def sent_schema(pushed: PushedRows) -> pa.Schema:
    """Return the schema of the rows that the operator reads and keeps: with the columns that order them."""
    known = pushed.plan.analysed.columns
    names = [*pushed.carried, *pushed.order_only, *(each.name for each in pushed.columns)]
    return pa.schema([(name, known[name]) for name in (*names, *(each.name for each in pushed.truths))])


def _packed(
    frame: DataFrame, pushed: PushedRows, schema: pa.Schema, watermark: str | None, operator: str
) -> DataFrame:
    """Return the rows as messages, one for each bucket, task and micro-batch."""
    analysed = pushed.plan.analysed
    time = analysed.order[0].column
    timed = with_watermark(frame, time, watermark)
    arrange_workers(frame.sparkSession)
    use_rocksdb(frame.sparkSession)
    has_time = F.col(quote(time)).isNotNull()
    timed = timed.observe(REJECTED, F.count_if(~has_time).alias("rejected")).where(has_time)
    rows = computed_rows(timed, pushed)
    plain = rows.select(*(F.col(quote(name)).alias(f"c{n}") for n, name in enumerate(schema.names)))
    return plain.mapInArrow(pack_rows(schema, analysed.partition, BUCKETS, operator), PACKED)
