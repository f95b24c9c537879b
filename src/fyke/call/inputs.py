"""Events of any kind as the streams that queries name, and relational queries on them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from fyke.call.metrics import Metrics, RejectedRowsWarning
from fyke.engine.counters import Counters
from fyke.engine.input.order import times
from fyke.engine.input.prepare import in_plain_types
from fyke.engine.measure.clock import Clock
from fyke.engine.relational import run_relational as run_on_tables
from fyke.errors import (
    InputError,
    OptionError,
    Place,
    UnknownTypeError,
    UnsupportedQueryError,
    listed,
    near_misses,
)
from fyke.language.ast import Expression, Reference, walk
from fyke.language.relational import RelationalQuery, Stream
from fyke.limits import Limits
from fyke.logical.relational import AnalysedRelational, analyse_relational
from fyke.logical.schema import EventSchema, make_schema
from fyke.plan.explain_relational import explain_relational
from fyke.spark import prepare as spark_prepare
from fyke.spark.relational import of_type
from fyke.spark.relational import run_relational as run_on_frames
from fyke.spark.session import is_frame

Time = str | Sequence[str]


@dataclass(frozen=True, slots=True)
class Input:
    """The events of one stream, a table or a DataFrame, and their time column or columns."""

    events: Any
    time: Time


class Given:
    """The events given in a call, to be taken apart into streams: by key of a dict, or by type column."""

    def __init__(self, events: Any, *, time: Time, type_column: str | None) -> None:
        inputs = list(events.values()) if isinstance(events, Mapping) else [events]
        frames, tables = (all(map(test, inputs)) for test in (is_frame, _is_table))
        if not inputs or not (frames or tables):
            raise InputError(
                "events must be a Spark DataFrame, a pyarrow.Table, or a dict of one of these, "
                f"found {described(events)}",
                remedy="Turn a pandas DataFrame into a table with pyarrow.Table.from_pandas(frame).",
            )
        if isinstance(events, Mapping) and type_column is not None:
            raise OptionError("type has no meaning for a dict of events: its keys are the types")
        self.events, self.time, self.type_column, self.tables = events, time, type_column, tables
        if type_column is not None:
            make_schema(columns_of(events), time=time, type_column=type_column)  # names the missing column

    def stream(self, name: str, *, place: Place | None = None, text: str | None = None) -> Input:
        """Return the events of one type.

        Raises
        ------
        UnknownTypeError
            If the events are a dict without that key.
        """
        if isinstance(self.events, Mapping):
            if name not in self.events:
                raise UnknownTypeError(
                    f"the stream {name!r} is not given",
                    place=place,
                    text=text,
                    remedy=f"Given are {listed(self.events)}: add {name!r} to the dict, or label a query "
                    f"of the program with it.{near_misses(name, self.events)}",
                )
            return Input(self.events[name], self.time)
        if self.type_column is None:
            return Input(self.events, self.time)
        if not self.tables:
            return Input(of_type(self.events, self.type_column, [name]), self.time)
        column = self.events.column(self.type_column).cast(pa.string())
        return Input(self.events.filter(pc.equal(column, name)), self.time)

    def check_named(self, named: Mapping[str, Place | None], text: str | None) -> None:
        """Raise if a query names several streams of events that have no types."""
        if self.type_column is None and not isinstance(self.events, Mapping) and len(named) > 1:
            raise UnsupportedQueryError(
                f"the query names the streams {', '.join(map(repr, named))}, "
                "but the events have no type column",
                place=list(named.values())[1],
                text=text,
                remedy="Give type='column', or a dict {stream: events}; without either a query names one.",
            )

    def others(self, names: Sequence[str]) -> dict[str, Any]:
        """Return the events of all other types than these, as a dict."""
        if isinstance(self.events, Mapping):
            return {name: each for name, each in self.events.items() if name not in names}
        if self.type_column is None:
            return {}
        if not self.tables:
            return {"": of_type(self.events, self.type_column, names, negated=True)}
        column = self.events.column(self.type_column).cast(pa.string())
        named = pc.is_in(column, pa.array(list(names), pa.string()))
        return {"": self.events.filter(pc.invert(named))}


class RelationalCall:
    """A relational query with its inputs, checked: ready to run, or to be explained."""

    def __init__(
        self, query: RelationalQuery, inputs: Mapping[str, Input], *, time_unit: str | None, limits: Limits
    ) -> None:
        self.query, self.limits = query, limits
        self.inputs = {stream.alias: inputs[stream.name] for stream in query.streams}
        self.tables = all(_is_table(each.events) for each in self.inputs.values())
        schemas = {
            alias: make_schema(columns_of(each.events), time=each.time, time_unit=time_unit)
            for alias, each in self.inputs.items()
        }
        infer = None if self.tables else self._infer
        self.analysed: AnalysedRelational = analyse_relational(query, schemas, infer)

    def _infer(self, expression: Expression, _: tuple[str, ...]) -> pa.DataType | None:
        used = [node.variable for node in walk(expression) if isinstance(node, Reference)]
        frame = self.inputs[used[0] if used else next(iter(self.inputs))].events
        return spark_prepare.infer_type(frame, expression, self.query.text)

    def run(self, metrics: Metrics | None = None) -> Any:
        """Return the result, a table or a DataFrame (lazy) as the inputs are."""
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
            tables[stream.alias], missing = timed(table, stream.schema, warn=metrics is None)
            rows, rejected_rows = rows + table.num_rows, rejected_rows + missing
        result = run_on_tables(tables, self.analysed, self.limits)
        if metrics is not None:
            counters = Counters(events_read=rows - rejected_rows, matches=result.num_rows)
            clock.lap("search")
            metrics.set_counters(rows, rejected_rows, counters, clock)
        return result

    def explain(self, metrics: Metrics | None = None) -> str:
        """Say in words what the query means and how it would be run, and what the run of metrics has done."""
        counts = metrics.get() if metrics is not None else {}
        return explain_relational(self.analysed, rows_by="Arrow" if self.tables else "Spark", counts=counts)


def relational_call(
    given: Given,
    query: RelationalQuery,
    *,
    time_unit: str | None,
    limits: Limits,
    results: Mapping[str, Callable[[Stream], Input]] | None = None,
) -> RelationalCall:
    """Return the call of a query on given events; ``results`` are streams that other queries make."""
    results = results or {}
    inputs: dict[str, Input] = {}
    named = {stream.name: stream.place for stream in query.streams if stream.name not in results}
    given.check_named(named, query.text)
    for stream in query.streams:
        made = results.get(stream.name)
        inputs[stream.name] = (
            given.stream(stream.name, place=stream.place, text=query.text) if made is None else made(stream)
        )
    return RelationalCall(query, inputs, time_unit=time_unit, limits=limits)


# --- tables and DataFrames --------------------------------------------------------------------


def columns_of(events: Any) -> dict[str, pa.DataType]:
    """Return the columns of a table or DataFrame with their types."""
    if is_frame(events):
        return spark_prepare.arrow_columns(events)
    table = in_plain_types(events.slice(0, 0))
    return dict(zip(table.schema.names, table.schema.types, strict=True))


def timed(table: pa.Table, schema: EventSchema, *, warn: bool) -> tuple[pa.Table, int]:
    """Leave out rows without a time; say so if nobody counts them."""
    if schema.points and table.column(schema.end).null_count == 0:
        return table, 0
    missing = without_time(table, schema)
    count = int(pc.sum(missing).as_py() or 0)
    if count == 0:
        return table, 0
    if warn:
        warnings.warn(
            f"{count} of {table.num_rows} rows have no time, or end before they start, and were rejected; "
            "fyke.rejected(events, time=...) returns them",
            RejectedRowsWarning,
            stacklevel=4,
        )
    return table.filter(pc.invert(missing)), count


def without_time(table: pa.Table, schema: EventSchema) -> pa.Array:
    """Say which rows have no time, or end before they start."""
    if schema.points:
        return pc.is_null(table.column(schema.end))
    in_order = pc.less_equal(table.column(schema.start), table.column(schema.end))
    return pc.invert(pc.fill_null(in_order, False))


def in_order(table: pa.Table, schema: EventSchema) -> bool:
    """Say whether the ends of events never fall from row to row."""
    ends = times(table.column(schema.end))
    return bool((ends[1:] >= ends[:-1]).all())


def described(events: object) -> str:
    """Return what something given as events is, for a message."""
    if isinstance(events, Mapping):
        return (
            f"a dict of {', '.join(sorted({type(each).__name__ for each in events.values()})) or 'nothing'}"
        )
    kind = type(events)
    return f"a {kind.__module__.partition('.')[0]} {kind.__name__}"


def _is_table(events: object) -> bool:
    return isinstance(events, pa.Table)
