"""The public call: events of any kind and a query in, matches of the same kind out."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from fyke.engine.engine import Engine
from fyke.engine.kernels.external import MAX_ARGUMENTS
from fyke.engine.kernels.jit import compile_lock
from fyke.engine.prepare import derived_types, prepare
from fyke.engine.result import ResultBuilder
from fyke.errors import InputError, OptionError, near_misses
from fyke.language.query import Query
from fyke.language.sase import parse
from fyke.limits import Limits
from fyke.metrics import Metrics, RejectedRowsWarning
from fyke.pattern.analyse import Analysed, analyse
from fyke.pattern.schema import EventSchema, make_schema, unite_columns
from fyke.plan.plan import Plan
from fyke.plan.pushdown import push_down
from fyke.spark import batch as spark_batch
from fyke.spark import prepare as spark_prepare

ENGINES = ("auto", "automaton")
OUTPUTS = ("all", "non_overlap")
_TYPE_NAMES = ("type", "event_type", "fyke_type")

Events = Any  # DataFrame | pa.Table | Mapping[str, DataFrame | pa.Table]


def match(
    events: Events,
    query: str | Query,
    *,
    time: str | Sequence[str],
    type: str | None = None,
    tie_breaker: str | Sequence[str] | None = None,
    output: str = "all",
    engine: str = "auto",
    limits: Limits | None = None,
    time_unit: str | None = None,
    functions: Mapping[str, Callable[..., float]] | None = None,
    metrics: Metrics | None = None,
) -> Any:
    """Find the matches of a pattern query.

    Parameters
    ----------
    events
        A Spark DataFrame (classic or Connect), a :class:`pyarrow.Table`, which needs no JVM, or a dict
        ``{type: events}`` of either kind, whose schemas may differ.
    query
        The text of a query, or a :class:`fyke.Query`.
    time
        The column that says when an event happened: timestamp, date or integer; or a pair
        ``(start, end)`` for events that last.
    type
        The column that holds the event type.  Not needed for a dict, or if the pattern names one type.
    tie_breaker
        Columns that order events of equal time; without them such events are never in sequence.
    output
        ``"all"`` matches, or ``"non_overlap"``: per partition only matches that start after the last
        one reported has ended.
    engine
        ``"auto"`` or the name of an engine; every engine that can run the query gives the same rows.
    limits
        Bounds on memory and work, see :class:`fyke.Limits`.
    time_unit
        ``"s"``, ``"ms"``, ``"us"`` or ``"ns"``: what one unit of an integer time column is.
    functions
        Functions of numbers that conditions may use across events, by name.
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
    call = _Call(query, time, type, tie_breaker, output, engine, limits, time_unit, functions, metrics)
    if isinstance(events, DataFrame):
        return call.on_frame(events)
    if isinstance(events, pa.Table):
        return call.on_table(events)
    if isinstance(events, Mapping) and events:
        if all(isinstance(each, DataFrame) for each in events.values()):
            return call.on_frames(events)
        if all(isinstance(each, pa.Table) for each in events.values()):
            return call.on_tables(events)
    raise InputError(
        f"events must be a Spark DataFrame, a pyarrow.Table, or a dict of one of these, found {_described(events)}",
        remedy="Turn a pandas DataFrame into a table with pyarrow.Table.from_pandas(frame).",
    )


def matcher(query: str | Query, **options: Any) -> Callable[[Events], Any]:
    """Return ``match`` with everything but the events, for ``frame.transform(fyke.matcher(...))``."""
    parsed = parse(query, options.get("limits") or Limits()) if isinstance(query, str) else query
    return lambda events: match(events, parsed, **options)


def rejected(events: Events, *, time: str | Sequence[str]) -> Any:
    """Return the rows that ``match`` leaves out because a time of theirs is null, as the same kind of events."""
    if isinstance(events, DataFrame):
        schema = make_schema(spark_prepare.arrow_columns(events), time=time)
        return spark_prepare.rejected(events, schema.time)
    if isinstance(events, pa.Table):
        schema = make_schema(_columns(events), time=time)
        return events.filter(_without_time(events, schema))
    if isinstance(events, Mapping):
        return {name: rejected(each, time=time) for name, each in events.items()}
    raise InputError(f"events must be a DataFrame, a pyarrow.Table or a dict of these, found {_described(events)}")


class _Call:
    """The arguments of one call of ``match``, checked, and the road for each kind of events."""

    def __init__(
        self,
        query: str | Query,
        time: str | Sequence[str],
        type_column: str | None,
        tie_breaker: str | Sequence[str] | None,
        output: str,
        engine: str,
        limits: Limits | None,
        time_unit: str | None,
        functions: Mapping[str, Callable[..., float]] | None,
        metrics: Metrics | None,
    ) -> None:
        _check_option("output", output, OUTPUTS)
        _check_option("engine", engine, ENGINES)
        self.limits = limits or Limits()
        self.query = parse(query, self.limits) if isinstance(query, str) else query
        self.time, self.type_column, self.tie_breaker, self.time_unit = time, type_column, tie_breaker, time_unit
        self.output, self.metrics = output, metrics
        self.functions = dict(functions or {})
        self.arities = {name.lower(): _arity(name, each) for name, each in self.functions.items()}
        self.functions = {name.lower(): each for name, each in self.functions.items()}

    def schema(self, columns: Mapping[str, pa.DataType], attributes_of: Any = None, kind: str | None = None) -> EventSchema:
        """Return the checked schema of the events."""
        return make_schema(
            columns,
            time=self.time,
            type_column=kind or self.type_column,
            attributes_of=attributes_of,
            tie_breaker=self.tie_breaker,
            time_unit=self.time_unit,
        )

    # --- tables -----------------------------------------------------------------------

    def on_table(self, table: pa.Table) -> pa.Table:
        """Match in a table."""
        return self._match_table(table, self.schema(_columns(table)))

    def on_tables(self, tables: Mapping[str, pa.Table]) -> pa.Table:
        """Match in several tables, one a type."""
        inputs = {name: _columns(each) for name, each in tables.items()}
        columns, attributes, kind = self._united(inputs)
        parts = []
        for name, each in tables.items():
            typed = each.append_column(kind, pa.repeat(pa.scalar(name), each.num_rows))
            arrays = [
                typed.column(c).cast(k) if c in typed.column_names else pa.nulls(each.num_rows, k)
                for c, k in columns.items()
            ]
            parts.append(pa.table(dict(zip(columns, arrays, strict=True))))
        return self._match_table(pa.concat_tables(parts), self.schema(columns, attributes, kind))

    def _united(
        self, inputs: Mapping[str, Mapping[str, pa.DataType]]
    ) -> tuple[dict[str, pa.DataType], dict[str, tuple[str, ...]], str]:
        if self.type_column is not None:
            raise OptionError("type has no meaning for a dict of events: the keys are the types")
        columns = unite_columns(inputs)
        kind = next(name for name in (*_TYPE_NAMES, "__fyke_type") if name not in columns)
        return {**columns, kind: pa.string()}, {name: tuple(each) for name, each in inputs.items()}, kind

    def _match_table(self, table: pa.Table, schema: EventSchema) -> pa.Table:
        analysed = analyse(self.query, schema, self.limits, functions=self.arities)
        pushed = push_down(analysed)
        plan = Plan(pushed, derived_types(pushed), self.output, self.limits, self.functions)
        table, rejected_rows = self._timed(table, schema)
        rows = prepare(table, pushed)
        with compile_lock():
            engine, builder = Engine(plan), ResultBuilder(plan)
            _, found = engine.advance(engine.start(rows.schema), rows, None)
            result = builder.finish(builder.rows(found))
        if self.metrics is not None:
            self.metrics.set_counters(table.num_rows + rejected_rows, rejected_rows, found.counters)
        return result

    def _timed(self, table: pa.Table, schema: EventSchema) -> tuple[pa.Table, int]:
        """Leave out rows without a time; say so if nobody counts them."""
        missing = _without_time(table, schema)
        count = pc.sum(missing).as_py() or 0
        if count == 0:
            return table, 0
        if self.metrics is None:
            warnings.warn(
                f"{count} of {table.num_rows} rows have no time and were rejected; "
                "fyke.rejected(events, time=...) returns them",
                RejectedRowsWarning,
                stacklevel=5,
            )
        return table.filter(pc.invert(missing)), int(count)

    # --- Spark ------------------------------------------------------------------------

    def on_frame(self, frame: DataFrame) -> DataFrame:
        """Match in a DataFrame."""
        return self._match_frame(frame, self.schema(spark_prepare.arrow_columns(frame)))

    def on_frames(self, frames: Mapping[str, DataFrame]) -> DataFrame:
        """Match in several DataFrames, one a type."""
        inputs = {name: spark_prepare.arrow_columns(each) for name, each in frames.items()}
        columns, attributes, kind = self._united(inputs)
        own = {name: each for name, each in columns.items() if name != kind}
        return self._match_frame(spark_prepare.unite(frames, own, kind), self.schema(columns, attributes, kind))

    def _match_frame(self, frame: DataFrame, schema: EventSchema) -> DataFrame:
        if frame.isStreaming:
            raise InputError(
                "this version of Fyke matches batch DataFrames; the events are a stream",
                remedy="Use it in foreachBatch on closed partitions of the stream, or on the stored events.",
            )
        analysed: Analysed = analyse(
            self.query,
            schema,
            self.limits,
            infer=lambda expression, _: spark_prepare.infer_type(frame, expression),
            functions=self.arities,
        )
        pushed = push_down(analysed)
        types = spark_prepare.derived_types(frame, pushed)
        if self.metrics is not None:
            frame = self.metrics.observe(frame, schema.time)
        return spark_batch.match_frame(frame, Plan(pushed, types, self.output, self.limits, self.functions))


def _columns(table: pa.Table) -> dict[str, pa.DataType]:
    return dict(zip(table.schema.names, table.schema.types, strict=True))


def _without_time(table: pa.Table, schema: EventSchema) -> pa.Array:
    missing = pc.is_null(table.column(schema.end))
    return missing if schema.points else pc.or_(missing, pc.is_null(table.column(schema.start)))


def _check_option(name: str, value: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise OptionError(
            f"{name} must be one of {', '.join(map(repr, allowed))}, found {value!r}.{near_misses(str(value), allowed)}"
        )


def _arity(name: str, function: Callable[..., float]) -> int:
    count = len(inspect.signature(function).parameters)
    if not 1 <= count <= MAX_ARGUMENTS:
        raise OptionError(f"function {name!r} takes {count} arguments; one to {MAX_ARGUMENTS} numbers are possible")
    return count


def _described(events: object) -> str:
    if isinstance(events, Mapping):
        return f"a dict of {', '.join(sorted({type(each).__name__ for each in events.values()})) or 'nothing'}"
    return type(events).__name__


