"""A pattern on its events: from the plan to the matches, on a table or on Spark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa

from fyke.call.events import Given, Kind
from fyke.call.known_queries import KnownQuery, known_query
from fyke.call.options import Options
from fyke.call.source import (
    Source,
    check_values,
    computed_with,
    covering_table,
    in_order,
    make_source,
    timed,
)
from fyke.call.timeouts import with_status, with_timeouts
from fyke.call.warn_user import warn_of_idle_tasks, warn_of_nothing, warn_of_ties, warn_of_types
from fyke.engine.counters import Counters
from fyke.engine.cut import cut_table
from fyke.engine.engine import Engine
from fyke.engine.measure.clock import Clock
from fyke.engine.measure.observe_run import RunObserver
from fyke.engine.measure.sample import measure_table
from fyke.engine.measure.types_seen import missing_in_table
from fyke.engine.meter import Budget
from fyke.engine.read_table import TableReader
from fyke.engine.threads import Team
from fyke.errors import OptionError
from fyke.language.ast import Expression, Strategy
from fyke.language.query import Query
from fyke.logical.analyse import analyse
from fyke.plan.anchors import Anchors, find_anchors
from fyke.plan.choose_engine import choose_engine
from fyke.plan.explain import explain_plan
from fyke.plan.explain_run import ObservedRun
from fyke.plan.outputs import OUTPUTS
from fyke.plan.plan import Plan, make_plan
from fyke.plan.planner import choose_plan
from fyke.plan.slices import explain_pieces
from fyke.plan.statistics import Statistics
from fyke.spark import prepare as spark_prepare
from fyke.spark.batch import match_frame
from fyke.spark.slices import explain_tasks
from fyke.spark.statistics import measure_frame
from fyke.spark.stream.flush import flush_checkpoint
from fyke.spark.stream.match import match_stream


class PatternCall:
    """A pattern with its events, checked: ready to run, to be explained, or to be measured."""

    def __init__(self, given: Given, options: Options, source: Source | None = None) -> None:
        """Bring the events together, unless that has been done: then ``source`` is what came of it.

        Raises
        ------
        InputError
            If they do not fit the options.
        """
        if options.timeouts:
            assert isinstance(options.query, Query)
            options = replace(options, query=with_timeouts(options.query, options.output))
        self.options, self.source = options, source or make_source(given, options)
        self.streams = given.kind is Kind.STREAM
        if options.watermark is not None and not self.streams:
            raise OptionError(
                "watermark says how late the events of a stream may come, and these events are no stream",
                remedy="Leave it out.",
            )

    def run(self) -> Any:
        """Return the matches, as a table or as a DataFrame (lazy)."""
        rows = self._run()
        return self._told(rows) if self.options.timeouts else rows

    def _told(self, rows: Any) -> Any:
        assert isinstance(self.options.query, Query)
        return with_status(rows, self.options.query)

    def _run(self) -> Any:
        plan, metrics = self.plan(), self.options.metrics
        if not self.source.on_spark:
            return self._match_table(plan)
        Engine(plan)  # a condition that cannot be compiled is refused here, and not by the first task
        if self.streams:
            warn_of_idle_tasks(self.source.events)
            return match_stream(self.source.events, plan, self.options.watermark)
        observed = metrics.observe(plan) if metrics is not None else None
        return match_frame(self.source.events, plan, observed, chooses=self._tasks_choose(plan))

    def _tasks_choose(self, plan: Plan) -> bool:
        """Say whether each task of Spark chooses its engine; what it returns must not depend on that."""
        auto = self.options.engine == "auto" and self.options.statistics is None
        batch = self.source.on_spark and not self.streams
        return auto and batch and plan.strategy is Strategy.ANY and not plan.result.over_matches

    def flush(self, checkpoint: str) -> Any:
        """Return the matches that a stopped stream still holds open, as a batch DataFrame."""
        rows = flush_checkpoint(self.source.events, self.plan(), checkpoint)
        return self._told(rows) if self.options.timeouts else rows

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the matches in a table; a lazy engine searches on when a batch has been taken."""
        for batch in self._batches():
            yield self._told(batch) if self.options.timeouts else batch

    def _batches(self) -> Iterator[pa.RecordBatch]:
        plan = self.plan()
        events, _ = timed(self.source.events, self.source.schema, warn=True)
        plan = covering_table(plan, events)
        reader = self._reader(plan, events, find_anchors(plan))
        warn_of_types(missing_in_table(plan, events, reader.cut.played))
        counters = Counters()
        if plan.result.over_matches:
            result, counters = reader.result()
            yield from result.to_batches()
        else:
            yield from reader.batches(counters)
        warn_of_ties(plan, counters)

    def _reader(self, plan: Plan, table: pa.Table, anchors: Anchors | None) -> TableReader:
        """Return what reads a table, prepared and cut into pieces."""
        budget = Budget(plan.limits, table.num_rows)
        team = Team(self.options.threads, budget.stop)
        cut = cut_table(table, plan, anchors, team)
        budget.rows = cut.relevant
        return TableReader(plan, cut, budget, team)

    def explain(self) -> str:
        """Say in words what the query means and how it would be run."""
        plan, metrics = self.plan(), self.options.metrics
        plan = replace(plan, statistics=self._with_types(plan, self._measured(plan)))
        ran = (
            ObservedRun(metrics.get(), metrics.statistics())
            if metrics is not None and metrics.filled
            else None
        )
        return explain_plan(
            plan,
            rows_by="Spark" if self.source.on_spark else "Arrow",
            pieces=self._pieces(plan),
            ran=ran,
            streams=self.streams,
            tasks_choose=self._tasks_choose(plan),
        )

    def _pieces(self, plan: Plan) -> str | None:
        """Say how the events are cut for threads or tasks; None on a stream, which has buckets."""
        if self.streams:
            return None
        return explain_tasks(self.source.events, plan) if self.source.on_spark else explain_pieces(plan)

    def measure(self) -> Statistics:
        """Return how often events occur and conditions hold in the first rows."""
        plan = replace(self.plan(), engine="automaton")
        if self.source.on_spark:
            return measure_frame(plan, self.source.events)
        return self._with_types(plan, self._measured(plan)) or Statistics()

    def plan(self, *, measured: bool = True) -> Plan:
        """Analyse the query against the events, and choose who searches.

        Unless what is known of them is ``measured``, the choice is by usual rates.
        """
        options, query = self.options, self.options.query
        assert isinstance(query, Query)
        if not OUTPUTS[options.output].returns and query.returns is not None:
            raise OptionError(
                f"output={options.output!r} holds the events of matches, and the query has RETURN",
                remedy="Leave RETURN out, and compute from the rows of fyke.enumerate_matches(...).",
            )
        kept = None if self.source.on_spark else self._known(query)
        plan = kept.plan if kept is not None else self._planned_by_spark(query)
        if not self.source.on_spark:
            self._check_values(plan)
        asked: dict[str, Any] = {
            "functions": options.functions,
            "engine": choose_engine(options.engine, plan),
            "statistics": options.statistics,
            "complete_windows": options.complete_windows,
        }
        if any(getattr(plan, name) != value for name, value in asked.items()):
            plan = replace(plan, **asked)
        planned = options.engine == "auto" or (
            options.engine == "lazy_chain" and options.statistics is not None
        )
        if not planned or plan.strategy is not Strategy.ANY:
            return plan
        known = self._measured(plan, kept) if measured else self.options.statistics
        choice = choose_plan(options.engine, plan, known, quick=True)
        return replace(plan, engine=choice.engine, order=choice.order, statistics=known)

    def _check_values(self, plan: Plan) -> None:
        odd = (pa.types.is_uint64, pa.types.is_binary)
        if not any(test(kind) for kind in plan.schema.columns.values() for test in odd):
            return
        conditions = [condition for role in plan.roles for condition in role.conditions]
        conditions += [derived.expression for derived in plan.made]
        names = computed_with(conditions, plan.result.columns)
        check_values(self.source.events, names, plan.schema.type_column)

    def _known(self, query: Query) -> KnownQuery:
        given = self.options
        return known_query(
            query, self.source.schema, given.output, given.limits, given.techniques, given.arities
        )

    def _planned_by_spark(self, query: Query) -> Plan:
        """Return the plan on a DataFrame, whose functions and types Spark knows."""
        options, frame = self.options, self.source.events

        def infer(expression: Expression, _: tuple[str, ...]) -> pa.DataType | None:
            return spark_prepare.infer_type(frame, expression, query.text)

        analysed = analyse(
            query, self.source.schema, options.limits, infer=infer, functions=dict(options.arities)
        )
        types = partial(spark_prepare.derived_types, frame)
        return make_plan(analysed, types, options.output, options.limits, options.techniques)

    def _measured(self, plan: Plan, kept: KnownQuery | None = None) -> Statistics | None:
        """Return what is known of the data: what was given, or what the first rows of a table show."""
        if self.options.statistics is not None or self.source.on_spark:
            return self.options.statistics
        return measure_table(plan, self.source.earliest, kept.measured_by(plan) if kept else None)

    def _with_types(self, plan: Plan, found: Statistics | None) -> Statistics | None:
        """Return statistics with the types that no event of a table has; those of a DataFrame know them."""
        if found is None or self.source.on_spark:
            return found
        table, _ = timed(self.source.events, self.source.schema, warn=False)
        return replace(found, missing_types=missing_in_table(plan, table))

    def _match_table(self, plan: Plan) -> pa.Table:
        clock, metrics, source = Clock(), self.options.metrics, self.source
        table, rejected_rows = timed(source.events, source.schema, warn=metrics is None)
        plan, anchors = covering_table(plan, table), find_anchors(plan)
        reader = self._reader(plan, table, anchors)
        missing = missing_in_table(plan, table, reader.cut.played)
        warn_of_types(missing)
        clock.lap("prepare")
        if metrics is None:
            result, counters = reader.result()
            warn_of_ties(plan, counters)
            warn_of_nothing(result.num_rows)
            return result
        seen = RunObserver(plan)
        at_input = anchors is not None and in_order(table, source.schema)
        result, counters = reader.result(clock, None if at_input else seen.look)
        if at_input:
            seen.look_at_input(table)
        counters.events_filtered = table.num_rows - reader.cut.relevant
        metrics.set_counters(source.events.num_rows, rejected_rows, counters, clock, seen, missing)
        return result
