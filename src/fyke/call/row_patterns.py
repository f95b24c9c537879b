"""A MATCH_RECOGNIZE clause on its rows, checked: ready to run, or to be explained."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from fyke.call.events import Given
from fyke.call.files import described
from fyke.call.options import RowOptions
from fyke.call.source import check_values, columns_of
from fyke.engine.input.prepare import in_plain_types
from fyke.engine.measure.clock import Clock
from fyke.engine.row_patterns.run import match_rows
from fyke.errors import InputError, OptionError, StreamError
from fyke.language.ast import Reference, walk
from fyke.logical.row_patterns.analyse import analyse_row_pattern
from fyke.plan.row_patterns.explain import explain_row_plan
from fyke.plan.row_patterns.plan import RowPlan, make_row_plan
from fyke.plan.statistics import Statistics


class RowPatternCall:
    """A clause with its rows, checked."""

    def __init__(self, given: Given, options: RowOptions) -> None:
        """Check a clause against its rows.

        Raises
        ------
        InputError, QueryError
        """
        if isinstance(given.events, Mapping):
            raise InputError(
                f"a MATCH_RECOGNIZE clause is about the rows of one table, found {described(given.events)}",
                remedy="Give one table or DataFrame.",
            )
        if given.on_spark:
            raise StreamError(
                "MATCH_RECOGNIZE runs on tables; on DataFrames it is not available yet",
                remedy="Collect the rows with frame.toArrow().",
            )
        self.options = options
        columns = columns_of(given.events)
        self.rows = in_plain_types(given.events)
        self.plan: RowPlan = make_row_plan(analyse_row_pattern(options.query, columns), options.limits)

    def run(self) -> Any:
        """Return the result, a table."""
        clock, metrics = Clock(), self.options.metrics
        check_values(self.rows, self._computed_with())
        clock.lap("prepare")
        result, counters = match_rows(self.plan, self.rows, clock, threads=self.options.threads)
        if metrics is not None:
            metrics.set_counters(self.rows.num_rows, 0, counters, clock)
        return result

    def _computed_with(self) -> set[str]:
        """Return the columns whose values something is computed with."""
        analysed = self.plan.analysed
        values = [*analysed.conditions.values(), *analysed.measures]
        inputs = [each.value for value in values for each in value.inputs if each.value is not None]
        return {node.path[0] for each in inputs for node in walk(each) if isinstance(node, Reference)}

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the result."""
        yield from self.run().to_batches()

    def explain(self) -> str:
        """Say in words what the clause means and how it would be run."""
        return explain_row_plan(self.plan, rows_by="Arrow")

    def measure(self) -> Statistics:
        """Refuse: nothing is planned that statistics could steer."""
        raise OptionError(
            "statistics are of pattern queries over events, and this is a MATCH_RECOGNIZE clause",
            remedy="Leave them out: its plan does not depend on them.",
        )
