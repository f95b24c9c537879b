"""What a stream needs, told before its first batch; and what a checkpoint is of, told by name."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.stateful_processor import TimerValues

from fyke.engine.input.order import times
from fyke.engine.kernels.arrays import Array
from fyke.errors import OptionError, StateError, StreamError, TimeColumnError
from fyke.plan.match_aggregates import MERGEABLE, split_aggregates
from fyke.plan.open_absences import open_sides
from fyke.plan.plan import ROLES, Plan
from fyke.plan.pushdown import physical

WATERMARK = "spark.watermarkDelayMs"  # how Spark marks a column with a watermark
MICROSECONDS = 1_000  # in a millisecond, which watermarks and timers count
_BEGINNING = -(2**63)
_STORE = "spark.sql.streaming.stateStore.providerClass"
_ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def with_watermark(frame: DataFrame, time: str, watermark: str | None) -> DataFrame:
    """Return a stream with a watermark on its time column, as it has one or as the call asks for.

    Raises
    ------
    OptionError
        If there is none, or if Spark does not take it.
    """
    if WATERMARK in (frame.schema[time].metadata or {}):
        if watermark is not None:
            raise OptionError(
                f"the events have a watermark on {time!r} already, and the call gives another one",
                remedy="Leave watermark out, or give it here alone.",
            )
        return frame
    if watermark is None:
        raise OptionError(
            "a stream needs a watermark: how late its events may come",
            remedy="Write watermark='10 minutes', or events.withWatermark(...) on the time column.",
        )
    try:
        return frame.withWatermark(time, watermark)
    except (PySparkException, TypeError) as error:
        raise OptionError(
            f"watermark must be a length of time, found {watermark!r}",
            remedy=f"Write watermark='10 minutes'. Spark says: {str(error).splitlines()[0]}",
        ) from None


def check_plan(plan: Plan) -> None:
    """Refuse what cannot be decided on a stream, and times that watermarks cannot be of.

    Raises
    ------
    StreamError, TimeColumnError
    """
    check_decidable(plan)
    check_time(plan.schema.end, plan.schema.columns[plan.schema.end])


def check_decidable(plan: Plan) -> None:
    """Refuse what cannot be decided on a stream.

    Raises
    ------
    StreamError
    """
    if not plan.window.bounded:
        raise StreamError(
            "on a stream a pattern needs a window: without one every event would be kept for ever",
            remedy="Add a window, as in WITHIN 12 hours.",
        )
    back = any(open_sides(each)[1] for each in plan.alternatives)
    if plan.complete_windows and plan.window.counts_time and back:
        raise StreamError(
            "complete_windows cannot be decided on a stream for an absence at the start of a pattern: "
            "no task knows when the stream began",
            remedy="Leave it out: windows that are not over are never reported on a stream.",
        )
    _check_totals(plan)


def _check_totals(plan: Plan) -> None:
    """Refuse aggregates over matches that do not follow from those of some matches and of the others."""
    if not plan.result.over_matches:
        return
    for each in split_aggregates(plan.result)[0]:
        if each.function not in MERGEABLE:
            raise StreamError(
                f"on a stream there is no running total of {each.function}: it needs all matches at once",
                remedy=f"There are {', '.join(MERGEABLE)}; return the rows of matches for others.",
            )


def check_time(name: str, kind: pa.DataType) -> None:
    """Refuse a time column that watermarks cannot be of."""
    if not pa.types.is_timestamp(kind) or kind.tz is None:
        found = "one without a time zone" if pa.types.is_timestamp(kind) else str(kind)
        raise TimeColumnError(
            f"on a stream the time column must be a timestamp with a time zone, and {name!r} is {found}",
            remedy="Cast it, as in events.withColumn('ts', F.col('ts').cast('timestamp')).",
        )


def use_rocksdb(spark: SparkSession) -> None:
    """Let a session keep state in RocksDB, the only store that Spark's stateful operator works with.

    Raises
    ------
    StreamError
        If the session must not be changed, as in a declarative pipeline.
    """
    if spark.conf.get(_STORE, "") == _ROCKS:
        return
    try:
        spark.conf.set(_STORE, _ROCKS)
    except PySparkException as error:
        raise StreamError(
            "a pattern on a stream keeps its state in RocksDB, and this session cannot be told so",
            remedy=f"Put {_STORE}: {_ROCKS} into the configuration of the pipeline. "
            f"Spark says: {str(error).splitlines()[0]}",
        ) from None


def watermark_of(timer_values: TimerValues) -> int:
    """Return the watermark of a micro-batch in microseconds; Spark begins with 0, which is none."""
    moment = timer_values.getCurrentWatermarkInMs()
    return moment * MICROSECONDS if moment > 0 else _BEGINNING


def is_late(rows: pa.Table, time: str, watermark: int) -> Array:
    """Say which rows end at the watermark or before it, so that they can no longer be read in order."""
    return np.asarray(times(rows.column(time)) <= watermark)


def described(plan: Plan, schema: pa.Schema) -> str:
    """Return what a state belongs to, in lines to compare: the query, its options, the columns kept."""
    known = plan.schema
    chosen = {
        "output": plan.output,
        "engine": plan.engine,
        "time": ", ".join(dict.fromkeys(known.time)),
        "type": known.type_column,
        "tie_breaker": ", ".join(known.tie_breaker),
        "touching": known.touching,
        "complete_windows": plan.complete_windows,
    }
    own = {physical(each) for each in plan.made} - known.columns.keys() | {ROLES}
    lines = [f"{name}: {value}" for name, value in chosen.items() if value]
    lines += [f"column {field.name}: {field.type}" for field in schema if field.name not in own]
    return "\n".join([str(plan.query), *lines])


@contextmanager
def check_same_query(about: Any, now: str) -> Iterator[None]:
    """Say how the query of a checkpoint differs from the one that runs, if that is why it is refused."""
    try:
        yield
    except StateError as error:
        found = about.get()
        before = (found or ("",))[0]
        if before in ("", now):
            raise
        lines = difflib.unified_diff(
            before.splitlines(), now.splitlines(), "the checkpoint", "this query", lineterm="", n=1
        )
        difference = "\n".join(lines)
        raise StateError(
            f"{error.message}\n{difference}",
            remedy="Start the changed query with a new checkpointLocation, or run the old one.",
        ) from error
