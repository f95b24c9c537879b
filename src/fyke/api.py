"""The public call: events of any kind and a query in, matches of the same kind out."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa

from fyke.call.inputs import (
    Given,
    RelationalCall,
    columns_of,
    described,
    in_order,
    relational_call,
    timed,
    without_time,
)
from fyke.call.metrics import Metrics
from fyke.engine.conditions.user_functions import MAX_ARGUMENTS, compile_external
from fyke.engine.engine import Engine
from fyke.engine.input.prepare import in_plain_types, prepare
from fyke.engine.known_queries import KnownQuery, known_query
from fyke.engine.measure.clock import Clock
from fyke.engine.measure.observe_run import RunObserver
from fyke.engine.measure.sample import measure_table
from fyke.engine.output.compressed import builder_of, check_compressed, enumerate_batch
from fyke.engine.read_table import read_table
from fyke.engine.warm_up import warm_up
from fyke.errors import InputError, OptionError, near_misses
from fyke.language.ast import Expression, Strategy
from fyke.language.query import Query
from fyke.language.relational import RelationalQuery
from fyke.language.text import AnyQuery, parse
from fyke.limits import Limits
from fyke.logical.analyse import analyse
from fyke.logical.schema import EventSchema, make_schema, unite_columns
from fyke.plan.anchors import find_anchors
from fyke.plan.choose_engine import choose_engine
from fyke.plan.engines import ENGINES
from fyke.plan.explain import explain_plan
from fyke.plan.explain_run import Ran
from fyke.plan.plan import Plan, make_plan
from fyke.plan.planner import choose_plan
from fyke.plan.statistics import Statistics
from fyke.spark import batch as spark_batch
from fyke.spark import prepare as spark_prepare
from fyke.spark.session import is_frame
from fyke.spark.statistics import measure_frame
from fyke.techniques import Techniques

OUTPUTS = ("all", "non_overlap", "compressed")
_TYPE_NAMES = ("type", "event_type", "fyke_type", "__fyke_type")

Events = Any  # DataFrame | pa.Table | Mapping[str, DataFrame | pa.Table]


def match(
    events: Events,
    query: str | AnyQuery,
    *,
    time: str | Sequence[str],
    type: str | None = None,
    tie_breaker: str | Sequence[str] | None = None,
    output: str = "all",
    engine: str = "auto",
    limits: Limits | None = None,
    techniques: Techniques | None = None,
    time_unit: str | None = None,
    functions: Mapping[str, Callable[..., float]] | None = None,
    statistics: Statistics | None = None,
    metrics: Metrics | None = None,
) -> Any:
    """Find the matches of a pattern query, or the result of a relational one.

    Parameters
    ----------
    events
        A Spark DataFrame (classic or Connect), a :class:`pyarrow.Table`, which needs no JVM, or a dict
        ``{type: events}`` of either kind, whose schemas may differ.
    query
        The text of a query, in either language, or a :class:`fyke.Query` or
        :class:`fyke.RelationalQuery`.
    time
        The column that says when an event happened: timestamp, date or integer; or a pair
        ``(start, end)`` for events that last.
    type
        The column that holds the event type.  Not needed for a dict, or if the pattern names one type.
    tie_breaker
        Columns that order events of equal time; without them such events are never in sequence.
    output
        ``"all"`` matches, or ``"non_overlap"``: per partition only matches that start after the last
        one reported has ended; or ``"compressed"``: all that end with the same event as one shared
        graph, which :func:`enumerate_matches` reads.
    engine
        ``"auto"``, ``"automaton"``, for skip_till_any_match ``"lazy_chain"`` or ``"lazy_tree"``, for it and
        strict_contiguity ``"tree"``; every engine that can run the query gives the same rows.
    limits
        Bounds on memory and work, see :class:`fyke.Limits`.
    techniques
        Switches to compare ways of evaluation, see :class:`fyke.Techniques`; none changes the result.
    time_unit
        ``"s"``, ``"ms"``, ``"us"`` or ``"ns"``: what one unit of an integer time column is.
    functions
        Functions of numbers that conditions may use across events, by name.
    statistics
        What is known of the data, see :func:`statistics`: it steers plans and changes no result.  Without
        it the first rows of a table are looked at, and on Spark usual rates are assumed.
    metrics
        A :class:`fyke.Metrics` to be filled with counts, among them the rejected rows.

    Returns
    -------
    A DataFrame (lazy) or a table: one row per match, see the page on results.

    Raises
    ------
    FykeError
        One of its subclasses; errors about the query say where in it.
    """
    _check_kind("metrics", metrics, Metrics | None, "metrics=metrics, after metrics = fyke.Metrics()")
    call = _Call(
        query, time, type, tie_breaker, output, engine, limits, techniques, time_unit, functions, statistics
    )
    if isinstance(call.query, RelationalQuery):
        return call.relational(events).run(metrics)
    source = call.source(events)
    plan = call.plan(source)
    if isinstance(source.events, pa.Table):
        return _match_table(source, plan, metrics)
    observed = metrics.observe(plan) if metrics is not None else None
    return spark_batch.match_frame(source.events, plan, observed)


def match_batches(table: pa.Table, query: str | AnyQuery, **options: Any) -> Iterator[pa.RecordBatch]:
    """Yield what :func:`match` returns for a table, with the same options, in batches of bounded size.

    A lazy engine searches on only when a batch has been taken: a billion matches need no more memory
    than a thousand; for so many raise ``limits=fyke.Limits(matches=...)``.  Where a match is certain
    only beside others (``non_overlap``, alternatives that may find the same match) and with other
    engines all matches are found first.
    """
    call = _call(match_batches.__name__, query, options)
    if isinstance(call.query, RelationalQuery):
        yield from match(table, call.query, **options).to_batches()
        return
    source = call.source(table)
    if not isinstance(source.events, pa.Table):
        raise InputError(
            "match_batches takes a pyarrow.Table, or a dict of them",
            remedy="On Spark use fyke.match: there results are streams of batches already.",
        )
    plan = call.plan(source)
    events, _ = timed(source.events, source.schema, warn=True)
    rows = prepare(events, plan, whole_input=True, anchors=find_anchors(plan))
    warm_up(plan)
    if plan.result.over_matches:
        yield from read_table(Engine(plan), rows)[0].to_batches()
        return
    engine, builder = Engine(plan), builder_of(plan)
    for found in engine.advance_in_chunks(engine.start(rows.schema), rows, None):
        if len(found.matches) or found.graphs:
            yield from builder.rows(found).to_batches()


def explain(events: Events, query: str | AnyQuery, **options: Any) -> str:
    """Say in words what a query means and how :func:`match`, with the same options, would run it.

    Nothing runs: of a DataFrame only the schema is looked at, of a table also the first rows, for the
    estimates of the plan and of those it was chosen from; for a DataFrame give ``statistics``.  With the
    ``metrics`` of a run of the same query estimates stand beside what that run has shown.
    """
    metrics = options.pop("metrics", None)
    _check_kind("metrics", metrics, Metrics | None, "metrics=metrics, after fyke.match(..., metrics=metrics)")
    call = _call(explain.__name__, query, options)
    if isinstance(call.query, RelationalQuery):
        return call.relational(events).explain(metrics)
    source = call.source(events)
    rows_by = "Arrow" if isinstance(source.events, pa.Table) else "Spark"
    plan = call.plan(source)
    plan = replace(plan, statistics=call.measured(plan, source))
    return explain_plan(plan, rows_by=rows_by, ran=_ran(metrics))


def _ran(metrics: Metrics | None) -> Ran | None:
    counts = metrics.get() if metrics is not None else {}
    return Ran(counts, metrics.statistics()) if metrics is not None and counts else None


def statistics(events: Events, query: str | AnyQuery, **options: Any) -> Statistics:
    """Return how often the events of a query occur and how often its conditions hold.

    The earliest rows are looked at, 5,000 of them; of a DataFrame this runs a Spark job, and one more to
    count its rows if a window may hold more than these.  Options are those of :func:`match`, which takes the
    result.
    """
    call = _call(statistics.__name__, query, options)
    if isinstance(call.query, RelationalQuery):
        raise OptionError(
            "statistics are of pattern queries, and this one has no PATTERN",
            remedy="Leave them out: relational queries are planned by Spark.",
        )
    source = call.source(events)
    plan = replace(call.plan(source), engine="automaton")
    if isinstance(source.events, pa.Table):
        return call.measured(plan, source) or Statistics()
    return measure_frame(plan, source.events)


def _call(name: str, query: str | AnyQuery, options: Mapping[str, Any]) -> _Call:
    """Return the checked arguments of a function that takes the options of :func:`match`, but no metrics."""
    names = list(inspect.signature(match).parameters)[2:-1]
    unknown = [option for option in options if option not in names]
    if unknown:
        raise OptionError(f"{name} takes no option {unknown[0]!r}.{near_misses(unknown[0], names)}")
    defaults: dict[str, Any] = {"output": "all", "engine": "auto"}
    return _Call(query, *{**dict.fromkeys(names), **defaults, **options}.values())


def matcher(query: str | AnyQuery, **options: Any) -> Callable[[Events], Any]:
    """Return ``match`` with everything but the events, for ``frame.transform(fyke.matcher(...))``."""
    limits = options.get("limits")
    _check_kind("limits", limits, Limits | None, "limits=fyke.Limits(runs=10_000)")
    parsed = _parsed(query, limits or Limits())
    return lambda events: match(events, parsed, **options)


def rejected(events: Events, *, time: str | Sequence[str]) -> Any:
    """Return the rows that ``match`` leaves out because they have no time, as events of the same kind."""
    if is_frame(events):
        schema = make_schema(spark_prepare.arrow_columns(events), time=time)
        return spark_prepare.rejected(events, schema.time)
    if isinstance(events, pa.Table):
        schema = make_schema(columns_of(events), time=time)
        return events.filter(without_time(events, schema))
    if isinstance(events, Mapping):
        return {name: rejected(each, time=time) for name, each in events.items()}
    raise InputError(
        f"events must be a DataFrame, a pyarrow.Table or a dict of these, found {described(events)}"
    )


def enumerate_matches(compressed: Any) -> Any:
    """Read the matches of ``match(..., output="compressed")``, one row each, as ``output="all"`` has them.

    From a table comes an iterator of record batches: each is made when it is asked for, so that any
    number of matches can be read in little memory.  From a DataFrame comes a DataFrame.
    """
    if is_frame(compressed):
        return spark_batch.enumerate_frame(compressed)
    if not isinstance(compressed, pa.Table):
        raise InputError(
            f"enumerate_matches takes a DataFrame or a pyarrow.Table, found {described(compressed)}"
        )
    check_compressed(compressed.schema)
    return (each for batch in compressed.to_batches() for each in enumerate_batch(batch))


@dataclass(frozen=True, slots=True)
class _Source:
    """Events as one table or DataFrame, with their schema."""

    events: Any
    schema: EventSchema


class _Call:
    """The arguments of one call, checked: events to a source, a source to a plan."""

    def __init__(
        self,
        query: str | AnyQuery,
        time: str | Sequence[str],
        type_column: str | None,
        tie_breaker: str | Sequence[str] | None,
        output: str,
        engine: str,
        limits: Limits | None,
        techniques: Techniques | None,
        time_unit: str | None,
        functions: Mapping[str, Callable[..., float]] | None,
        statistics: Statistics | None,
    ) -> None:
        _check_kind(
            "statistics", statistics, Statistics | None, "statistics=fyke.statistics(events, query, ...)"
        )
        self.statistics = statistics
        _check_option("output", output, OUTPUTS)
        _check_option("engine", engine, ("auto", *ENGINES))
        self.limits = Limits() if limits is None else limits
        self.techniques = Techniques() if techniques is None else techniques
        _check_kind("limits", self.limits, Limits, "limits=fyke.Limits(runs=10_000)")
        _check_kind("techniques", self.techniques, Techniques, "techniques=fyke.Techniques(merging=False)")
        self.query = _parsed(query, self.limits)
        self.time, self.type_column, self.tie_breaker, self.time_unit = (
            time,
            type_column,
            tie_breaker,
            time_unit,
        )
        self.output, self.engine = output, engine
        self.functions = {name.lower(): function for name, function in (functions or {}).items()}
        self.arities = {name: _arity(name, function) for name, function in self.functions.items()}
        for name, function in self.functions.items():
            compile_external(name, function, self.arities[name])

        self.engine = engine

    def relational(self, events: Events) -> RelationalCall:
        """Return the call of a relational query, which takes the options that have a meaning for it."""
        for name, given, only in (("output", self.output, "all"), ("engine", self.engine, "auto")):
            if given != only:
                raise OptionError(
                    f"{name}={given!r} has a meaning for patterns, and this query has none",
                    remedy=f"Leave {name} out.",
                )
        assert isinstance(self.query, RelationalQuery)
        streams = Given(events, time=self.time, type_column=self.type_column)
        return relational_call(streams, self.query, time_unit=self.time_unit, limits=self.limits)

    def source(self, events: Events) -> _Source:
        """Return the events as one table or DataFrame with a checked schema."""
        inputs = list(events.values()) if isinstance(events, Mapping) else [events]
        if any(is_frame(each) and each.isStreaming for each in inputs):
            raise InputError(
                "this version of Fyke matches batch DataFrames, and the events are a stream",
                remedy="Match the stored events, or call it in foreachBatch on closed partitions.",
            )
        if isinstance(events, Mapping) and events:
            if all(is_frame(each) for each in events.values()):
                return self._united(events, spark_prepare.arrow_columns, spark_prepare.unite)
            if all(isinstance(each, pa.Table) for each in events.values()):
                return self._united(events, columns_of, _unite_tables)
        if is_frame(events):
            return _Source(events, self._schema(spark_prepare.arrow_columns(events), self.type_column))
        if isinstance(events, pa.Table):
            table = in_plain_types(events)
            return _Source(table, self._schema(columns_of(table), self.type_column))
        raise InputError(
            "events must be a Spark DataFrame, a pyarrow.Table, or a dict of one of these, "
            f"found {described(events)}",
            remedy="Turn a pandas DataFrame into a table with pyarrow.Table.from_pandas(frame).",
        )

    def _united(
        self,
        events: Mapping[str, Any],
        columns_of: Callable[[Any], dict[str, pa.DataType]],
        unite: Callable[[Mapping[str, Any], Mapping[str, pa.DataType], str], Any],
    ) -> _Source:
        """Return several inputs, one a type, as one with a type column."""
        if self.type_column is not None:
            raise OptionError("type has no meaning for a dict of events: its keys are the types")
        inputs = {name: columns_of(each) for name, each in events.items()}
        columns = unite_columns(inputs)
        taken = {name.lower() for name in columns}  # Spark takes Type and type for one
        kind = next(name for name in _TYPE_NAMES if name not in taken)
        attributes = {name: tuple(each) for name, each in inputs.items()}
        schema = self._schema({**columns, kind: pa.string()}, kind, attributes)
        return _Source(unite(events, columns, kind), schema)

    def _schema(
        self,
        columns: Mapping[str, pa.DataType],
        type_column: str | None,
        attributes_of: Mapping[str, tuple[str, ...]] | None = None,
    ) -> EventSchema:
        return make_schema(
            columns,
            time=self.time,
            type_column=type_column,
            attributes_of=attributes_of,
            tie_breaker=self.tie_breaker,
            time_unit=self.time_unit,
        )

    def plan(self, source: _Source) -> Plan:
        """Analyse the query against the source and split it into what rows decide and what matching does."""
        query = self.query
        assert isinstance(query, Query)
        if self.output == "compressed" and query.returns is not None:
            raise OptionError(
                "output='compressed' holds the events of matches, and the query has RETURN",
                remedy="Leave RETURN out, and compute from the rows of fyke.enumerate_matches(...).",
            )
        kept = None
        if isinstance(source.events, pa.Table):
            kept = known_query(query, source.schema, self.output, self.limits, self.techniques, self.arities)
            plan = kept.plan
        else:
            frame = source.events

            def infer(expression: Expression, _: tuple[str, ...]) -> pa.DataType | None:
                return spark_prepare.infer_type(frame, expression, query.text)

            analysed = analyse(query, source.schema, self.limits, infer=infer, functions=self.arities)
            types = partial(spark_prepare.derived_types, frame)
            plan = make_plan(analysed, types, self.output, self.limits, self.techniques)
        engine = choose_engine(self.engine, plan)
        plan = replace(plan, functions=self.functions, engine=engine, statistics=self.statistics)
        planned = self.engine == "auto" or (self.engine == "lazy_chain" and self.statistics is not None)
        if not planned or plan.strategy is not Strategy.ANY:
            return plan
        known = self.measured(plan, source, kept)
        choice = choose_plan(self.engine, plan, known, quick=True)
        return replace(plan, engine=choice.engine, order=choice.order, statistics=known)

    def measured(self, plan: Plan, source: _Source, kept: KnownQuery | None = None) -> Statistics | None:
        """Return what is known of the data: what was given, or what the first rows of a table show."""
        if self.statistics is not None or not isinstance(source.events, pa.Table):
            return self.statistics
        table, _ = timed(source.events, source.schema, warn=False)
        return measure_table(plan, table, kept.measured_by(plan) if kept else None)


def _match_table(source: _Source, plan: Plan, metrics: Metrics | None) -> pa.Table:
    clock = Clock()
    table, rejected_rows = timed(source.events, source.schema, warn=metrics is None)
    anchors = find_anchors(plan)
    rows = prepare(table, plan, whole_input=True, anchors=anchors)
    clock.lap("prepare")
    warm_up(plan)
    engine = Engine(plan)
    if metrics is None:
        return read_table(engine, rows, clock)[0]
    seen = RunObserver(plan)
    at_input = anchors is not None and in_order(table, source.schema)
    result, counters = read_table(engine, rows, clock, None if at_input else seen.look)
    if at_input:
        seen.look_at_input(table)
    counters.events_filtered = table.num_rows - rows.num_rows
    metrics.set_counters(source.events.num_rows, rejected_rows, counters, clock, seen)
    return result


def _unite_tables(tables: Mapping[str, pa.Table], columns: Mapping[str, pa.DataType], kind: str) -> pa.Table:
    """Return several tables as one with a type column; attributes a type lacks are null."""
    parts = []
    for name, given in tables.items():
        table = in_plain_types(given)
        arrays = {
            column: table.column(column).cast(arrow)
            if column in table.column_names
            else pa.nulls(table.num_rows, arrow)
            for column, arrow in columns.items()
        }
        parts.append(pa.table({**arrays, kind: pa.repeat(pa.scalar(name), table.num_rows)}))
    return pa.concat_tables(parts)


def _check_option(name: str, value: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise OptionError(
            f"{name} must be one of {', '.join(map(repr, allowed))}, found {value!r}."
            f"{near_misses(str(value), allowed)}"
        )


def _check_kind(name: str, value: object, kind: Any, example: str) -> None:
    if not isinstance(value, kind):
        wanted = name.capitalize()
        raise OptionError(
            f"{name} must be a fyke.{wanted}, found {value!r:.60}", remedy=f"Write, for example, {example}."
        )


def _parsed(query: object, limits: Limits) -> AnyQuery:
    if isinstance(query, str):
        return parse(query, limits)
    if isinstance(query, (Query, RelationalQuery)):
        return query
    raise OptionError(
        f"query must be a text or a fyke.Query, found {query!r:.60}",
        remedy="Write, for example, fyke.match(events, 'PATTERN SEQ(A a, B b)', time='ts', type='kind').",
    )


def _arity(name: str, function: Callable[..., float]) -> int:
    count = len(inspect.signature(function).parameters)
    if not 1 <= count <= MAX_ARGUMENTS:
        raise OptionError(
            f"function {name!r} takes {count} arguments; one to {MAX_ARGUMENTS} numbers are possible"
        )
    return count
