"""A relational query on the streams it names, checked: ready to run, or to be explained."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from fyke.call.inputs import Input, Streams
from fyke.call.options import Options
from fyke.call.source import check_time_unit, check_values, columns_of, computed_with, timed
from fyke.engine.counters import Counters
from fyke.engine.input.prepare import in_plain_types
from fyke.engine.measure.clock import Clock
from fyke.engine.relational import run_relational as run_on_tables
from fyke.errors import OptionError
from fyke.html import ShownText
from fyke.language.ast import Expression, Reference, walk
from fyke.language.relational import RelationalQuery, Stream
from fyke.logical.relational import AnalysedRelational, analyse_relational
from fyke.logical.schema import make_schema
from fyke.plan.explain_relational import explain_relational
from fyke.plan.statistics import Statistics
from fyke.spark import prepare as spark_prepare
from fyke.spark.relational import run_relational as run_on_frames
from fyke.spark.stream.checks import with_watermark

Results = Mapping[str, Callable[[Stream], Input]]


class RelationalCall:
    """A relational query with its inputs, checked."""

    def __init__(self, streams: Streams, options: Options, results: Results | None = None) -> None:
        """Find the inputs of a query; ``results`` are streams that other queries make.

        Raises
        ------
        OptionError
            If an option is given that has a meaning for patterns only.
        QueryError
            If the query does not fit its inputs.
        """
        _check_options(options)
        assert isinstance(options.query, RelationalQuery)
        self.query, self.options, self.tables = options.query, options, not streams.given.on_spark
        made = results or {}
        named = {stream.name: stream.place for stream in self.query.streams if stream.name not in made}
        streams.check_named(named, self.query.text)
        self.inputs: dict[str, Input] = {}
        for stream in self.query.streams:
            given = made.get(stream.name)
            self.inputs[stream.alias] = (
                streams.stream(stream.name, place=stream.place, text=self.query.text, timed=self._timed)
                if given is None
                else given(stream)
            )
        schemas = {
            alias: make_schema(columns_of(each.events), time=each.time, time_unit=options.time_unit)
            for alias, each in self.inputs.items()
        }
        check_time_unit(options.time_unit, schemas.values())
        infer = None if self.tables else self._infer
        self.analysed: AnalysedRelational = analyse_relational(self.query, schemas, infer)

    def _timed(self, given: Input) -> Input:
        """Return given events with the watermark that the call asks for, if it does."""
        watermark = self.options.watermark
        if watermark is None:
            return given
        if self.tables or not given.events.isStreaming:
            raise OptionError(
                "watermark says how late the events of a stream may come, and these events are no stream",
                remedy="Leave it out.",
            )
        end = given.time[1]
        if not pa.types.is_timestamp(columns_of(given.events)[end]):
            return given  # refused by name when the query is run
        return replace(given, events=with_watermark(given.events, end, watermark))

    def _infer(self, expression: Expression, _: tuple[str, ...]) -> pa.DataType | None:
        used = [node.variable for node in walk(expression) if isinstance(node, Reference)]
        frame = self.inputs[used[0] if used else next(iter(self.inputs))].events
        return spark_prepare.infer_type(frame, expression, self.query.text)

    def run(self) -> Any:
        """Return the result, a table or a DataFrame (lazy) as the inputs are."""
        metrics = self.options.metrics
        if not self.tables:
            if metrics is not None:
                # Once one side of a join turns out empty, Spark drops the other, and what observes it.
                raise OptionError(
                    "metrics of relational queries are for tables: on DataFrames Spark itself runs them, and "
                    "may leave out whole inputs, uncounted",
                    remedy="Spark's UI shows the rows of each operator; "
                    "fyke.rejected(events, time=...) returns the rows without a time.",
                )
            frames = {alias: each.events for alias, each in self.inputs.items()}
            return run_on_frames(frames, self.analysed)
        clock = Clock()
        rows = rejected_rows = 0
        tables = {}
        for stream in self.analysed.streams:
            table = in_plain_types(self.inputs[stream.alias].events)
            check_values(table, self._computed_with())
            tables[stream.alias], missing = timed(table, stream.schema, warn=metrics is None)
            rows, rejected_rows = rows + table.num_rows, rejected_rows + missing
        result = run_on_tables(tables, self.analysed, self.options.limits)
        if metrics is not None:
            counters = Counters(events_read=rows - rejected_rows, matches=result.num_rows)
            clock.lap("search")
            metrics.set_counters(rows, rejected_rows, counters, clock)
        return result

    def _computed_with(self) -> set[str]:
        conditions = [each.expression for each in self.analysed.conditions]
        conditions += [each for stream in self.analysed.streams for each in stream.conditions]
        return computed_with(conditions, self.analysed.output.columns)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the result on tables."""
        yield from self.run().to_batches()

    def explain(self) -> ShownText:
        """Say in words what the query means and how it would be run, and what the run of metrics has done."""
        metrics = self.options.metrics
        counts = metrics.get() if metrics is not None and metrics.filled else {}
        rows_by = "Arrow" if self.tables else "Spark"
        return ShownText(explain_relational(self.analysed, rows_by=rows_by, counts=counts))

    def measure(self) -> Statistics:
        """Refuse: nothing is planned that statistics could steer."""
        raise OptionError(
            "statistics are of pattern queries, and this one has no PATTERN",
            remedy="Leave them out: relational queries are planned by Spark.",
        )


def _check_options(options: Options) -> None:
    checked: tuple[tuple[str, object, object], ...] = (
        ("output", options.output, "all"),
        ("engine", options.engine, "auto"),
        ("touching", options.touching, None),
        ("complete_windows", options.complete_windows, False),
        ("unique_order", options.unique_order, False),
        ("timeouts", options.timeouts, False),
    )
    for name, given, only in checked:
        if given != only:
            raise OptionError(
                f"{name}={given!r} has a meaning for patterns, and this query has none",
                remedy=f"Leave {name} out.",
            )
