"""A relational query on Spark's own operators, batch and streaming ([T] 3.2, 3.3).

The join of a batch is an equi-join where a condition asks for equality, and otherwise one on stretches of
time as long as RANGE, so that it is never a product of whole streams.  In a stream Spark's watermarks are
the heartbeats of [T] 2.1.2: they say when a window is over and which events no later one can join.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_type

from fyke.engine.relational import column_types
from fyke.errors import InputError, UnsupportedQueryError
from fyke.language.ast import Expression, Reference, map_references
from fyke.language.rules import COUNT_DISTINCT
from fyke.logical.kinds import MEDIAN
from fyke.logical.relational import AnalysedRelational, JoinedStream
from fyke.logical.returns import END, START, OutputColumn
from fyke.plan.match_aggregates import MatchAggregate, split_aggregates
from fyke.spark.aggregates import AGGREGATES, with_all_digits
from fyke.spark.expression import quote, timed_sql, to_sql
from fyke.spark.prepare import arrow_columns

_WATERMARK = "spark.watermarkDelayMs"
_DAY = 24 * 3600 * 1_000_000
_EPOCH = "TIMESTAMP_NTZ '1970-01-01 00:00:00'"


def run_relational(frames: Mapping[str, DataFrame], analysed: AnalysedRelational) -> DataFrame:
    """Return the result of a query on the DataFrames of its streams, by alias; nothing runs yet.

    Raises
    ------
    InputError
        If a stream has no watermark on its time.
    """
    for stream in analysed.streams:
        _check_watermark(frames[stream.alias], stream)
    plan = _Plan(analysed, frames)
    joined = plan.stream(frames, 0)
    for number in range(1, len(analysed.streams)):
        joined = plan.joined(joined, plan.stream(frames, number), number)
    return plan.aggregated(joined) if analysed.slide is not None else plan.projected(joined)


def _check_watermark(frame: DataFrame, stream: JoinedStream) -> None:
    if not frame.isStreaming:
        return
    time = stream.schema.end
    if not pa.types.is_timestamp(stream.schema.columns[time]):
        raise InputError(
            f"the time {time!r} of the stream {stream.type!r} is {stream.schema.columns[time]}, "
            "and Spark has watermarks for timestamps only",
            remedy="Make it a timestamp, for example with timestamp_seconds().",
        )
    if _WATERMARK not in frame.schema[time].metadata:
        raise InputError(
            f"the stream {stream.type!r} has no watermark on {time!r}, so no window of it is ever over",
            remedy=f"Say how late events may be: events.withWatermark({time!r}, '10 minutes').",
        )


def _delay(frame: DataFrame, stream: JoinedStream) -> int:
    """Return how late events of a stream may be, in milliseconds."""
    return int(frame.schema[stream.schema.end].metadata.get(_WATERMARK, 0)) if frame.isStreaming else 0


def _start(number: int) -> str:
    return f"start_{number}"


def _end(number: int) -> str:
    return f"end_{number}"


def _window(number: int) -> str:
    return f"window_{number}"


def _column(number: int, name: str) -> str:
    return f"{number}.{name}"


class _Plan:
    """The pieces of the Spark plan of one query.

    The columns of stream k have names of their own, such as ``k.price``, and its times are ``start_k`` and
    ``end_k``, so that streams with equal columns can be joined.  For aggregates, ``window_k`` is a window
    that contains its event.
    """

    def __init__(self, analysed: AnalysedRelational, frames: Mapping[str, DataFrame]) -> None:
        self.analysed = analysed
        self.streaming = any(frame.isStreaming for frame in frames.values())
        self.delay = max((_delay(frames[each.alias], each) for each in analysed.streams), default=0)
        self.clock = _Clock(analysed.time)
        self.kinds = column_types(analysed)
        self.numbers = {stream.alias: number for number, stream in enumerate(analysed.streams)}
        self.types = {
            _column(number, name): kind
            for number, stream in enumerate(analysed.streams)
            for name, kind in stream.schema.columns.items()
        }

    def stream(self, frames: Mapping[str, DataFrame], number: int) -> DataFrame:
        """Return the events of a stream that have a time and meet its own conditions."""
        stream = self.analysed.streams[number]
        frame = _seen_by_watermark(frames[stream.alias]).where(timed_sql(stream.schema.time))
        for condition in stream.conditions:
            row = map_references(condition, lambda reference: Reference("", reference.path))
            frame = frame.where(to_sql(row, stream.schema.columns))
        kind = from_arrow_type(self.analysed.time, prefer_timestamp_ntz=True)
        ends = [F.col(quote(name)) for name in stream.schema.time]
        if stream.schema.columns[stream.schema.end] != self.analysed.time:
            ends = [each.cast(kind) for each in ends]
        # Spark wants one event time a stream, and would take every copy of the column for one.
        plain: dict[str, Any] = {"metadata": {}} if self.streaming else {}
        frame = frame.select(
            *(F.col(quote(name)).alias(_column(number, name), **plain) for name in stream.schema.columns),
            ends[0].alias(_start(number), **plain),
            ends[1].alias(_end(number)),
        )
        if self.analysed.slide is not None:
            return self._windowed(frame, number)
        if not stream.schema.points:
            frame = frame.where(self._near(_start(number), _end(number)))
        return frame

    def joined(self, left: DataFrame, right: DataFrame, number: int) -> DataFrame:
        """Return the events joined so far, joined with those of one more stream."""
        conditions = self.analysed.conditions_at(number)
        tests = [F.expr(self._sql(each.expression)) for each in conditions]
        if self.analysed.slide is not None:
            # Events of one window are less than RANGE apart.
            tests.append(F.col(quote(_window(0))) == F.col(quote(_window(number))))
            return left.join(right, _all(tests)).drop(_window(number))
        for earlier in range(number):
            tests += [self._near(_start(earlier), _end(number)), self._near(_start(number), _end(earlier))]
            if self.streaming:
                # Implied by the others, and about event times: from this Spark learns what to forget.
                tests += [self._near(_end(earlier), _end(number)), self._near(_end(number), _end(earlier))]
        if not any(each.equal for each in conditions):
            stretch = self._stretch(number)
            around = ", ".join(f"{stretch} + {step}L" for step in (-1, 0, 1))
            left = left.withColumn("stretch_left", F.expr(self._stretch(0)))
            right = right.withColumn("stretch_right", F.expr(f"explode(array({around}))"))
            tests.insert(0, F.col("stretch_left") == F.col("stretch_right"))
        both = left.join(right, _all(tests)).drop("stretch_left", "stretch_right")
        return both.withMetadata(_end(number), {}) if self.streaming else both

    def _stretch(self, number: int) -> str:
        """Return the number of the stretch of time, as long as RANGE, that an event starts in."""
        return _floor_div(self.clock.ticks(_start(number)), max(1, self.analysed.window))

    def _near(self, start: str, end: str) -> Column:
        """Return the condition that one time is at most RANGE after another."""
        return F.expr(self.clock.within(start, end, self.analysed.window, self.streaming))

    def _windowed(self, frame: DataFrame, number: int) -> DataFrame:
        """Return each event once for every window that contains all of it."""
        window, slide = self.analysed.window, self.analysed.slide
        assert slide is not None
        if self.streaming:
            spans = [f"{span} microseconds" for span in (window, slide)]
            frame = frame.withColumn(_window(number), F.window(quote(_end(number)), *spans))
            whole = frame.where(F.col(quote(_window(number)))["start"] <= F.col(quote(_start(number))))
            return whole.drop(_start(number), _end(number))
        newest = _floor_div(self.clock.ticks(_start(number)), slide)
        oldest = _floor_div(f"({self.clock.ticks(_end(number))} - {window}L)", slide)
        bounds = frame.withColumns({"oldest": F.expr(f"{oldest} + 1L"), "newest": F.expr(newest)})
        windows = F.explode(F.sequence(F.col("oldest"), F.col("newest")))
        return bounds.where("oldest <= newest").withColumn(_window(number), windows).drop("oldest", "newest")

    def _sql(self, expression: Expression) -> str:
        """Return an expression over joined events as Spark SQL."""

        def change(reference: Reference) -> Expression:
            number = self.numbers.get(reference.variable, 0)  # all agree on a partition attribute
            return Reference("", (_column(number, reference.path[0]), *reference.path[1:]))

        return to_sql(map_references(expression, change), self.types)

    def _value(self, expression: Expression) -> Column:
        if not (isinstance(expression, Reference) and not expression.path):
            return F.expr(self._sql(expression))
        number = self.numbers[expression.variable]
        names = self.analysed.streams[number].schema.columns
        return F.struct(*(F.col(quote(_column(number, name))).alias(name) for name in names))

    # --- results

    def projected(self, joined: DataFrame) -> DataFrame:
        """Return a row for each joined event."""
        count = len(self.analysed.streams)
        starts = [F.col(quote(_start(number))) for number in range(count)]
        ends = [F.col(quote(_end(number))) for number in range(count)]
        # Spark knows event times by this mark.  What it promises of a join, that no later row is older than
        # its watermark in either time, holds all the more for the later of them.
        late: dict[str, Any] = {"metadata": {_WATERMARK: self.delay}} if self.streaming else {}
        return joined.select(
            *(self._value(Reference("", (name,))).alias(name) for name in self.analysed.partition),
            (F.least(*starts) if count > 1 else starts[0]).alias(START),
            F.greatest(*ends).alias(END, **late) if count > 1 else ends[0].alias(END),
            *(self._typed(column, self._value(column.expression)) for column in self._columns()),
        )

    def aggregated(self, joined: DataFrame) -> DataFrame:
        """Return a row for each window with an event in it, and value of the partition attributes."""
        aggregates, items = split_aggregates(self.analysed.output)
        window = F.col(quote(_window(0)))
        keys = [self._value(Reference("", (name,))).alias(name) for name in self.analysed.partition]
        grouped = joined.groupBy(window, *keys).agg(*(self._aggregate(each) for each in aggregates))
        if self.streaming:
            # The last moment of a window, as below, and still an event time for what follows.
            start, end = window["start"], F.window_time(window)
        else:
            ticks = f"{quote(_window(0))} * {self.analysed.slide}L"
            last = f"{ticks} + {self.analysed.window - 1}L"
            start, end = (F.expr(self.clock.moment(each)) for each in (ticks, last))
        grouped = with_all_digits(grouped, aggregates)
        named = (*self.analysed.partition, *(each.column for each in aggregates))
        types = arrow_columns(grouped.select(*(F.col(quote(name)) for name in named)))
        values = [F.expr(to_sql(item, types)) for item in items]
        return grouped.select(
            *(F.col(quote(name)) for name in self.analysed.partition),
            start.alias(START),
            end.alias(END),
            *(self._typed(column, value) for column, value in zip(self._columns(), values, strict=True)),
        )

    def _aggregate(self, aggregate: MatchAggregate) -> Column:
        value = F.lit(1) if aggregate.argument is None else self._value(aggregate.argument)
        if aggregate.function in ("avg", "stddev", MEDIAN):
            value = value.cast("double")
        if self.streaming and aggregate.function == COUNT_DISTINCT:
            raise UnsupportedQueryError(
                "Spark cannot count different values of a stream",
                text=self.analysed.query.text,
                remedy="Count all with count(a.x), or run the query in foreachBatch.",
            )
        return AGGREGATES[aggregate.function](value).alias(aggregate.column)

    def _columns(self) -> tuple[OutputColumn, ...]:
        return self.analysed.output.columns

    def _typed(self, column: OutputColumn, value: Column) -> Column:
        """Return a column with the type it has on a table; Spark has other types for some sums."""
        kind = self.kinds.get(column.name)
        if kind is not None:
            value = value.cast(from_arrow_type(kind, prefer_timestamp_ntz=True))
        return value.alias(column.name)


class _Clock:
    """Times of one type in Spark SQL: as whole ticks since 1970, and back."""

    def __init__(self, kind: pa.DataType) -> None:
        self.kind = kind
        self.zoned = pa.types.is_timestamp(kind) and kind.tz is not None
        self.timestamps = pa.types.is_timestamp(kind)
        self.dates = pa.types.is_date(kind)

    def ticks(self, name: str) -> str:
        """Return the ticks of a time column: microseconds, days, or its own numbers."""
        if self.zoned:
            return f"unix_micros({quote(name)})"
        if self.timestamps:
            seconds = f"CAST(CAST({quote(name)} - {_EPOCH} AS INTERVAL SECOND) AS DECIMAL(20, 6))"
            return f"CAST({seconds} * 1000000 AS BIGINT)"
        return f"CAST({f'unix_date({quote(name)})' if self.dates else quote(name)} AS BIGINT)"

    def moment(self, ticks: str) -> str:
        """Return the time at these ticks."""
        if self.zoned:
            return f"timestamp_micros({ticks})"
        if self.timestamps:
            return f"timestampadd(MICROSECOND, {ticks}, {_EPOCH})"
        if self.dates:
            return f"date_from_unix_date(CAST({ticks} AS INT))"
        return f"CAST({ticks} AS {from_arrow_type(self.kind).simpleString()})"

    def within(self, start: str, end: str, span: int, streaming: bool) -> str:
        """Return the condition that a time is at most ``span`` ticks after another."""
        elapsed = f"try_subtract({self.ticks(end)}, {self.ticks(start)}) <= {span}L"
        if not self.timestamps:
            return elapsed
        if not self.zoned or span < _DAY:
            return f"{quote(end)} <= {quote(start)} + {_interval(span)}"
        # Spark adds days by the calendar of the session's zone.  From the second condition, which is
        # never tighter than the first, it learns which events of a stream need not be kept.
        loose = f"{quote(end)} <= {quote(start)} + {_interval(span + _DAY)}"
        return f"({elapsed} AND {loose})" if streaming else elapsed


def _all(tests: Sequence[Column]) -> Column:
    every = tests[0]
    for test in tests[1:]:
        every &= test
    return every


def _interval(micros: int) -> str:
    return f"INTERVAL '{micros // 1_000_000}.{micros % 1_000_000:06d}' SECOND"


def _floor_div(ticks: str, size: int) -> str:
    return f"(({ticks} - pmod({ticks}, {size}L)) div {size}L)"


def of_type(frame: DataFrame, column: str, types: Sequence[str], *, negated: bool = False) -> DataFrame:
    """Return the rows whose type is among these, or those whose type is not."""
    named = F.col(quote(column)).cast("string").isin(*types)
    return _seen_by_watermark(frame).where(~F.coalesce(named, F.lit(False)) if negated else named)


def _seen_by_watermark(frame: DataFrame) -> DataFrame:
    """Keep Spark from filtering a stream before its watermark has seen the rows.

    An event that no stream takes still says what time it is ([T] 2.1.2).  Spark moves no filter past one
    whose outcome it cannot know to be the same again.
    """
    return frame.where("spark_partition_id() >= 0") if frame.isStreaming else frame


def with_times(frame: DataFrame, time: tuple[str, str], names: tuple[str, str]) -> DataFrame:
    """Return events with their start and end under these names too."""
    return frame.withColumns({name: F.col(quote(old)) for name, old in zip(names, time, strict=True)})
