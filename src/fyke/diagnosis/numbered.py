"""The events of a question: in processing order, numbered, and with no more columns than the query needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fyke.call.options import Options
from fyke.call.source import Source, timed, without_time
from fyke.engine.input.order import order_rows, times
from fyke.engine.input.prepare import derived_types, prepare
from fyke.engine.input.single_array import one_array
from fyke.engine.kernels.arrays import Array
from fyke.errors import MissingColumnError, OptionError, listed, near_misses, shown
from fyke.language.ast import Equivalence, Event, Expression, Reference, events, walk
from fyke.language.query import Query
from fyke.logical.analyse import analyse
from fyke.logical.schema import EventSchema
from fyke.plan.plan import make_plan

Interval = tuple[Any, Any]


@dataclass(frozen=True, slots=True)
class Numbered:
    """Events in processing order.

    Attributes
    ----------
    full
        All columns of the events.
    table
        The columns that the query needs; before them ``number``, which numbers the rows of ``full``, and
        behind them ``place``, by which events of one time come as the pattern names their types.
    options
        What makes a call of ``table``.
    rejected
        The rows that were left out because they have no time.
    inside
        Which rows are of the interval that was asked for; None for all.
    """

    full: pa.Table
    table: pa.Table
    number: str
    place: str
    schema: EventSchema
    options: Options
    rejected: pa.Table
    inside: Array | None = None

    @property
    def starts(self) -> Array:
        """The start time of each row, in units of the time column."""
        return times(self.full.column(self.schema.start))

    @property
    def ends(self) -> Array:
        """The end time of each row."""
        return times(self.full.column(self.schema.end))

    @property
    def query(self) -> Query:
        """The query that is asked about."""
        query = self.options.query
        assert isinstance(query, Query)
        return query

    def within(self) -> Numbered:
        """Return the events of the interval only, numbered as before."""
        if self.inside is None or self.inside.all():
            return self
        return replace(self, table=self.table.filter(pa.array(self.inside)), inside=None)

    def row(self, number: int) -> dict[str, Any]:
        """Return the attributes of a row."""
        found: dict[str, Any] = self.full.slice(number, 1).to_pylist()[0]
        return found


def number_events(source: Source, options: Options, query: Query, key: Mapping[str, Any]) -> Numbered:
    """Return the events of a key in processing order; rows in which the key is null are kept, too."""
    schema, given = source.schema, chosen(source.events, source.schema, key)
    table, rejected_rows = timed(given, schema, warn=False)
    rejected = given.filter(without_time(given, schema)) if rejected_rows else given.slice(0, 0)
    everything = analyse(Query(Event(None, "x")), schema)
    plan = make_plan(everything, derived_types)
    order = order_rows(prepare(table, plan), plan).permutation
    full = table.take(pa.array(order)) if table.num_rows else table
    number, place = (_free(name, schema) for name in ("row", "place"))
    looked_at = needed(schema, query, key)
    columns = {number: pa.array(np.arange(full.num_rows)), **{name: full.column(name) for name in looked_at}}
    columns[place] = _places(full, schema, query)
    changed = replace(
        options,
        time=schema.time,
        type_column=schema.type_column,
        output="all",
        statistics=None,
        metrics=None,
        unique_order=False,
    )
    return Numbered(full, pa.table(columns), number, place, schema, changed, rejected)


def _free(name: str, schema: EventSchema) -> str:
    while name in schema.columns:
        name += "_"
    return name


def _places(table: pa.Table, schema: EventSchema, query: Query) -> pa.Array:
    """Return where the pattern first names the type of each row: the order it wants of events of one time."""
    if schema.type_column is None:
        return pa.array(np.zeros(table.num_rows, np.int64))
    types = list(dict.fromkeys(each.type for each in events(query.pattern) if each.type is not None))
    kinds = one_array(table.column(schema.type_column)).cast(pa.string())
    return pc.index_in(kinds, pa.array(types, pa.string())).cast(pa.int64()).fill_null(len(types))


def needed(schema: EventSchema, query: Query, key: Iterable[str]) -> list[str]:
    """Return the columns that a question looks at."""
    named = {*schema.time, *schema.tie_breaker, schema.type_column, *key}
    for condition in query.conditions:
        named.update(mentioned(condition))
    return [name for name in schema.columns if name in named]


def mentioned(expression: Expression) -> set[str]:
    """Return the columns that an expression looks at."""
    found: set[str] = set()
    for node in walk(expression):
        if isinstance(node, Equivalence):
            found.update(node.attributes)
        elif isinstance(node, Reference) and node.path:
            found.add(node.path[0])
    return found


# --- what was asked about ---------------------------------------------------------------------------


def key_of(key: object, query_keys: tuple[str, ...], columns: Iterable[str]) -> dict[str, Any]:
    """Return the key as a dict of columns and values.

    Raises
    ------
    OptionError, MissingColumnError
    """
    if key is None:
        return {}
    if isinstance(key, Mapping):
        known = list(columns)
        for name in key:
            if name not in known:
                raise MissingColumnError(
                    f"key names a column {name!r} that the events do not have",
                    remedy=f"Their columns are {listed(known)}.{near_misses(str(name), known)}",
                )
        return dict(key)
    if len(query_keys) == 1:
        return {query_keys[0]: key}
    said = f"[{', '.join(query_keys)}]" if query_keys else "no [x]"
    raise OptionError(
        f"key={shown(key)} needs the name of its column, for the query has {said}",
        remedy="Write key={'column': value}.",
    )


def chosen(table: pa.Table, schema: EventSchema, key: Mapping[str, Any]) -> pa.Table:
    """Return the rows of a key, and those in which it is null."""
    for name, value in key.items():
        column = table.column(name)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        scalar = _scalar(name, value, column.type, _example(column))
        same = pc.equal(column, scalar) if scalar.is_valid else pc.is_null(column)
        table = table.filter(pc.or_(pc.fill_null(same, False), pc.is_null(column)))
    return table


def key_values(schema: EventSchema, key: Mapping[str, Any]) -> dict[str, Any]:
    """Return a key with values of the types of its columns.

    Raises
    ------
    OptionError
    """
    return {name: _scalar(name, value, schema.columns[name]).as_py() for name, value in key.items()}


def _scalar(name: str, value: Any, kind: pa.DataType, example: str = "") -> pa.Scalar:
    try:
        return pa.scalar(value, kind)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise OptionError(
            f"key has {shown(value)} for {name!r}, whose values are {kind}",
            remedy=f"Give a value of that type{f', as in {example}' if example else ''}.",
        ) from error


def _example(column: pa.ChunkedArray) -> str:
    values = column.drop_null()
    return f"key={{...: {values[0].as_py()!r}}}" if len(values) else "that of a row"


def interval_of(between: object, schema: EventSchema) -> tuple[int, int] | None:
    """Return an interval in units of the time column; None stands for all of the time.

    Raises
    ------
    OptionError
    """
    if between is None:
        return None
    remedy = "Write between=(first, last), with times of the kind of the time column, or their ISO texts."
    if not isinstance(between, (tuple, list)) or len(between) != 2:
        raise OptionError(f"between must be a pair of times, found {shown(between)}", remedy=remedy)
    kind = schema.columns[schema.end]
    least, most = -(2**63), 2**63 - 1
    try:
        low, high = (
            default if each is None else _time(each, kind)
            for each, default in zip(between, (least, most), strict=True)
        )
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise OptionError(
            f"between={shown(between)} does not fit the time column {schema.end!r}, which is {kind}",
            remedy=remedy,
        ) from error
    if low > high:
        raise OptionError(f"between={shown(between)} ends before it starts", remedy=remedy)
    return low, high


def _time(value: Any, kind: pa.DataType) -> int:
    fits = not isinstance(value, (bool, float)) and isinstance(value, int) == pa.types.is_integer(kind)
    if not fits and not isinstance(value, str):
        raise TypeError(f"{value!r} is no {kind}")
    if isinstance(value, str):
        text = pa.array([value])
        zoned = pa.types.is_timestamp(kind) and kind.tz is not None
        array = text.cast(pa.timestamp(kind.unit)).cast(pa.timestamp(kind.unit, "UTC")) if zoned else text
        array = array.cast(kind)
    else:
        array = pa.array([value], kind)
    return int(times(pa.chunked_array([array]))[0])


def inside(numbered: Numbered, interval: tuple[int, int] | None) -> Array | None:
    """Say which rows are at least in part within an interval."""
    if interval is None:
        return None
    return np.asarray((numbered.ends >= interval[0]) & (numbered.starts <= interval[1]))
