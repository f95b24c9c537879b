"""A MATCH_RECOGNIZE clause on its rows, checked: ready to run, or to be explained."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from fyke.call.events import Given, Kind
from fyke.call.files import described
from fyke.call.options import RowOptions
from fyke.call.source import check_values, columns_of
from fyke.call.timeouts import check_row_timeouts
from fyke.call.warn_user import warn_of_idle_tasks
from fyke.engine.input.prepare import in_plain_types
from fyke.engine.measure.clock import Clock
from fyke.engine.row_patterns.run import match_rows
from fyke.errors import InputError, OptionError
from fyke.html import ShownText
from fyke.language.ast import Expression, Reference, walk
from fyke.logical.row_patterns.analyse import analyse_row_pattern
from fyke.logical.row_patterns.analysed import AnalysedRowPattern
from fyke.plan.row_patterns.explain import explain_row_plan
from fyke.plan.row_patterns.explain_stream import explain_row_stream
from fyke.plan.row_patterns.plan import RowPlan, make_row_plan
from fyke.plan.statistics import Statistics
from fyke.spark.row_patterns import (
    FUNCTION,
    check_row_functions,
    check_row_order,
    infer_row_type,
    match_row_frame,
    pushed_rows,
)
from fyke.spark.stream.row_patterns import check_row_stream, flush_row_checkpoint, match_row_stream


class RowPatternCall:
    """A clause with its rows, checked."""

    def __init__(self, given: Given, options: RowOptions) -> None:
        """Check a clause against its rows.

        Raises
        ------
        InputError, OptionError, QueryError
        """
        if isinstance(given.events, Mapping):
            raise InputError(
                f"a MATCH_RECOGNIZE clause is about the rows of one table, found {described(given.events)}",
                remedy="Give one table or DataFrame.",
            )
        self.streams = given.kind is Kind.STREAM
        if options.watermark is not None and not self.streams:
            raise OptionError(
                "watermark says how late the rows of a stream may come, and these rows are no stream",
                remedy="Leave it out.",
            )
        if options.metrics is not None and self.streams:
            raise OptionError(
                "metrics are of one run, and a stream goes on",
                remedy="Ask fyke.progress(query) what a running query has counted.",
            )
        if options.timeouts:
            check_row_timeouts(options.query)
        self.options, self.on_spark = options, given.on_spark
        columns = columns_of(given.events)
        self.rows = given.events if given.on_spark else in_plain_types(given.events)
        analysed = self._analysed_by_spark(columns) if given.on_spark else self._analysed(columns)
        self.plan: RowPlan = make_row_plan(analysed, options.limits)

    def _analysed(self, columns: Mapping[str, pa.DataType]) -> AnalysedRowPattern:
        return analyse_row_pattern(self.options.query, columns, timeouts=self.options.timeouts)

    def _analysed_by_spark(self, columns: Mapping[str, pa.DataType]) -> AnalysedRowPattern:
        """Return the clause on a DataFrame, whose functions and types Spark knows."""
        query, frame = self.options.query, self.rows
        check_row_order(query)

        def infer(node: Expression, _: tuple[str, ...]) -> pa.DataType | None:
            return infer_row_type(frame, node, query.text)

        analysed = analyse_row_pattern(query, columns, infer, timeouts=self.options.timeouts)
        check_row_functions(analysed)
        return analysed

    def run(self, name: str = FUNCTION) -> Any:
        """Return the result, a table or a DataFrame (lazy), where ``name`` stands in Spark's plan."""
        metrics = self.options.metrics
        if self.streams:
            warn_of_idle_tasks(self.rows)
            return match_row_stream(self.rows, self.plan, self.options.watermark)
        if self.on_spark:
            observed = None if metrics is None else metrics.observe_rows()
            return match_row_frame(self.rows, self.plan, observed, name)
        clock = Clock()
        check_values(self.rows, self._computed_with())
        clock.lap("prepare")
        result, counters = match_rows(self.plan, self.rows, clock, threads=self.options.threads)
        if metrics is not None:
            metrics.set_counters(self.rows.num_rows, 0, counters, clock)
        return result

    def flush(self, checkpoint: str) -> Any:
        """Return the rows that a stopped stream still holds open, as a batch DataFrame."""
        return flush_row_checkpoint(self.rows, self.plan, checkpoint)

    def _computed_with(self) -> set[str]:
        """Return the columns whose values something is computed with."""
        analysed = self.plan.analysed
        values = [*analysed.conditions.values(), *analysed.measures]
        inputs = [each.value for value in values for each in value.inputs if each.value is not None]
        return {node.path[0] for each in inputs for node in walk(each) if isinstance(node, Reference)}

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the result."""
        yield from self.run().to_batches()

    def explain(self) -> ShownText:
        """Say in words what the clause means and how it would be run."""
        told = explain_row_plan(self.plan, pushed_rows(self.rows, self.plan) if self.on_spark else None)
        if not self.streams:
            return ShownText(told)
        check_row_stream(self.plan)
        return ShownText("\n".join([told, *explain_row_stream(self.plan)]))

    def measure(self) -> Statistics:
        """Refuse: nothing is planned that statistics could steer."""
        raise OptionError(
            "statistics are of pattern queries over events, and this is a MATCH_RECOGNIZE clause",
            remedy="Leave them out: its plan does not depend on them.",
        )
