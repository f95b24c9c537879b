"""Counts and clocks of a call on Spark, collected while Spark runs it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from threading import Thread
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import StructType

from fyke.engine.counters import PEAKS, Counters
from fyke.engine.measure.clock import PHASES, Clock
from fyke.plan.missing_types import missing_types, named_types
from fyke.plan.plan import Plan
from fyke.plan.statistics import Statistics, Sums
from fyke.spark.expression import rejected_sql, text_literal, timed_sql
from fyke.spark.prepare import type_sql

METRICS = "__fyke_metrics"
_COUNTS = tuple(asdict(Counters()))


class ObservedTasks(ABC):
    """The counts that the tasks of one call tell, and those of the rows before them.

    On their way the rows of the result carry one more column, :data:`METRICS`.  It is null except in the
    last row of each task, which holds the counts of the task and is not a match.
    """

    def __init__(self, sums: Sums, before: int) -> None:
        self.sums = sums
        self._before = tuple(Observation() for _ in range(before))
        self._moved, self._tasks = Observation(), Observation()
        self._told: list[dict[str, Any]] | None = None
        self._waiter: Thread | None = None

    def moved(self, frame: DataFrame) -> DataFrame:
        """Keep the observations before the shuffle, even if no row is kept.

        Spark would replace a sort of no rows by no rows, and drop everything before it.  It does so only
        through operators that it knows, and an observation is not one of them.
        """
        return frame.observe(self._moved, F.count(F.lit(1)).alias("moved"))

    def matches(self, frame: DataFrame) -> DataFrame:
        """Add up the counts of the tasks, and return the matches without them."""
        added = [
            (F.max if name in PEAKS else F.sum)(f"{METRICS}.{name}").alias(name)
            for name in (*_COUNTS, *PHASES, *_seen(self.sums))
        ]
        return frame.observe(self._tasks, *added).where(F.col(METRICS).isNull()).drop(METRICS)

    def wait(self, timeout: float | None) -> bool:
        """Wait for the first action on the result, for so many seconds at most; say whether it was there.

        Spark tells of it a moment after the action has returned.
        """
        if self._waiter is None:
            # Spark's own way to wait has no end, and an interpreter that ends must not wait for it.
            self._waiter = Thread(target=self._wait, daemon=True)
            self._waiter.start()
        self._waiter.join(timeout)
        if self._told is None and not self._waiter.is_alive():
            self._waiter = None  # Connect does not wait: ask again the next time
        return self._told is not None

    def _wait(self) -> None:
        with suppress(Exception):  # the action has failed, or the session has ended: nothing will be told
            told = [each.get for each in (*self._before, self._tasks)]
            self._told = told if all(told) else None

    def _counts(self) -> dict[str, int | float]:
        """Return what the tasks have counted."""
        assert self._told is not None
        return {name: int(self._told[-1][name] or 0) for name in _COUNTS}

    def _seconds(self) -> dict[str, float]:
        assert self._told is not None
        return {name: float(self._told[-1][name] or 0.0) for name in PHASES}

    @abstractmethod
    def get(self) -> dict[str, int | float]:
        """Return the counts by name, after the first action."""

    def missing_types(self) -> dict[str, str]:
        """Return the types that the query names and no event has, after the first action."""
        return {}

    def statistics(self) -> Statistics:
        """Return what the tasks have seen of the events, after the first action."""
        assert self._told is not None
        self.sums.values = [float(self._told[-1][name] or 0.0) for name in _seen(self.sums)]
        return self.sums.statistics()


class Observed(ObservedTasks):
    """The observations of a pattern: of rows as they are read, of those that are kept, and of the tasks."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan.sums(), 2)
        self._plan, self._named = plan, named_types(plan)
        self._input, self._kept = self._before

    def input(self, frame: DataFrame) -> DataFrame:
        """Count the rows of the input and those without a time; see which types there are."""
        time = self._plan.schema.time
        rejected = F.count_if(F.expr(rejected_sql(time)))
        there = [
            F.count_if(F.expr(f"{timed_sql(time)} AND {type_sql(self._plan.schema)} = {text_literal(name)}"))
            for name in self._types()
        ]
        return frame.observe(
            self._input,
            F.count(F.lit(1)).alias("rows"),
            rejected.alias("rejected_rows"),
            *(column.alias(f"type_{number}") for number, column in enumerate(there)),
        )

    def _types(self) -> list[str]:
        """Return the types that the query names, and its variables, which may be types in their place."""
        return list(dict.fromkeys([*self._named, *(name for each in self._named.values() for name in each)]))

    def kept(self, frame: DataFrame) -> DataFrame:
        """Count the rows that are sent to the engine."""
        return frame.observe(self._kept, F.count(F.lit(1)).alias("kept"))

    def get(self) -> dict[str, int | float]:
        """Return the counts by name, after the first action."""
        assert self._told is not None
        read, kept, _ = self._told
        counts: dict[str, int | float] = {name: int(read[name]) for name in ("rows", "rejected_rows")}
        counts["missing_types"] = len(self.missing_types())
        counts |= self._counts()
        counts["events_filtered"] = int(read["rows"] - read["rejected_rows"] - kept["kept"])
        return counts | self._seconds()

    def missing_types(self) -> dict[str, str]:
        """Return the types that the query names and no event has, after the first action."""
        assert self._told is not None
        read, *_ = self._told
        if read["rows"] == read["rejected_rows"]:
            return {}
        return missing_types(
            self._named, [name for number, name in enumerate(self._types()) if read[f"type_{number}"]]
        )


class ObservedRows(ObservedTasks):
    """The observations of a MATCH_RECOGNIZE clause: of rows as they are read, and of the tasks."""

    def __init__(self) -> None:
        super().__init__(Sums((), ()), 1)

    def input(self, frame: DataFrame) -> DataFrame:
        """Count the rows of the input."""
        return frame.observe(self._before[0], F.count(F.lit(1)).alias("rows"))

    def get(self) -> dict[str, int | float]:
        """Return the counts by name, after the first action."""
        assert self._told is not None
        read = {"rows": int(self._told[0]["rows"]), "rejected_rows": 0, "missing_types": 0}
        return {**read, **self._counts(), **self._seconds()}


def _seen(sums: Sums) -> list[str]:
    """Return the names of the columns that hold the sums of statistics."""
    return [f"seen_{number}" for number in range(len(sums.values))]


def _kind(sums: Sums) -> pa.DataType:
    real = [(name, pa.float64()) for name in (*PHASES, *_seen(sums))]
    return pa.struct([(name, pa.int64()) for name in _COUNTS] + real)


def with_metrics(schema: StructType, sums: Sums) -> StructType:
    """Return the schema of rows of the result that carry :data:`METRICS`."""
    return StructType([*schema.fields]).add(METRICS, from_arrow_type(_kind(sums)))


def without_counts(batch: pa.RecordBatch, sums: Sums) -> pa.RecordBatch:
    """Return matches with an empty :data:`METRICS` column."""
    return batch.append_column(METRICS, pa.nulls(batch.num_rows, _kind(sums)))


def counts_of_task(
    schema: pa.Schema, counters: Counters, clock: Clock, sums: Sums
) -> Iterator[pa.RecordBatch]:
    """Yield the row with the counts and statistics of a task."""
    seen = dict(zip(_seen(sums), sums.values, strict=True))
    told: Mapping[str, int | float] = {**asdict(counters), **clock.seconds, **seen}
    columns = [pa.nulls(1, field.type) for field in schema]
    yield pa.record_batch([*columns, pa.array([told], _kind(sums))], [*schema.names, METRICS])
