"""The events of a pattern as one table or DataFrame with a checked schema, however they are given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from fyke.call.events import Given
from fyke.call.options import Options
from fyke.call.warn_user import RejectedRowsWarning, warn_user
from fyke.engine.input.order import times
from fyke.engine.input.prepare import in_plain_types
from fyke.engine.measure.sample import EarliestRows, earliest_rows
from fyke.errors import InputError, OptionError
from fyke.language.ast import Expression, IsNull, Reference, children
from fyke.language.query import Query
from fyke.logical.returns import OWN, OutputColumn
from fyke.logical.schema import EventSchema, make_schema, unite_columns
from fyke.logical.spelling import spell_query, spell_relational, spelled
from fyke.plan.plan import Plan
from fyke.spark import prepare as spark_prepare
from fyke.spark.session import is_frame

_GREATEST = 2**63 - 1
_TYPE_NAMES = ("type", "event_type", "fyke_type", f"{OWN}type")


@dataclass(frozen=True)
class Source:
    """Events as one table or DataFrame, with their schema."""

    events: Any
    schema: EventSchema
    on_spark: bool

    @cached_property
    def earliest(self) -> EarliestRows:
        """The earliest rows of a table that have a time."""
        return earliest_rows(timed(self.events, self.schema, warn=False)[0], self.schema.end)


def make_source(given: Given, options: Options) -> Source:
    """Return given events as one table or DataFrame with a checked schema.

    Raises
    ------
    InputError
        One of its subclasses, if the options do not fit the columns, or the columns one another.
    """
    if isinstance(given.events, Mapping):
        unite = spark_prepare.unite if given.on_spark else _unite_tables
        return _united(given, options, unite)
    columns = columns_of(given.events)
    events = given.events if given.on_spark else in_plain_types(given.events)
    return Source(events, _schema(columns, options.type_column, options), given.on_spark)


def spell_options(given: Given, options: Options) -> Options:
    """Return the options with columns named as the events spell them, if Spark does not tell their case."""
    columns = spoken_columns(given)
    if columns is None:
        return options
    kind = options.type_column
    query = options.query
    return replace(
        options,
        query=spell_query(query, columns) if isinstance(query, Query) else spell_relational(query, columns),
        time=(spelled(options.time[0], columns), spelled(options.time[1], columns)),
        type_column=spelled(kind, columns) if isinstance(kind, str) else kind,
        tie_breaker=tuple(spelled(name, columns) for name in options.tie_breaker),
    )


def spoken_columns(given: Given) -> dict[str, pa.DataType] | None:
    """Return the columns of events whose names may be written in any case; None if there are none."""
    frames = list(given.events.values()) if isinstance(given.events, Mapping) else [given.events]
    if not given.on_spark or spark_prepare.tells_case(frames[0]):
        return None
    return {name: kind for frame in frames for name, kind in columns_of(frame).items()}


def _united(
    given: Given,
    options: Options,
    unite: Callable[[Mapping[str, Any], Mapping[str, pa.DataType], str], Any],
) -> Source:
    """Return several inputs, one a type, as one with a type column."""
    check_no_types(options.type_column)
    inputs = {name: columns_of(each) for name, each in given.events.items()}
    columns = unite_columns(inputs)
    taken = {name.lower() for name in columns}  # Spark takes Type and type for one
    kind = next(name for name in _TYPE_NAMES if name not in taken)
    attributes = {name: tuple(each) for name, each in inputs.items()}
    schema = _schema({**columns, kind: pa.string()}, kind, options, attributes)
    return Source(unite(given.events, columns, kind), schema, given.on_spark)


def check_no_types(type_column: object) -> None:
    """Refuse a type column for a dict of events."""
    if type_column is not None:
        raise OptionError("type has no meaning for a dict of events: its keys are the types")


def _schema(
    columns: Mapping[str, pa.DataType],
    type_column: str | None,
    options: Options,
    attributes_of: Mapping[str, tuple[str, ...]] | None = None,
) -> EventSchema:
    schema = make_schema(
        columns,
        time=options.time,
        type_column=type_column,
        attributes_of=attributes_of,
        tie_breaker=options.tie_breaker,
        time_unit=options.time_unit,
        touching=options.touching,
        unique_order=options.unique_order,
    )
    check_time_unit(options.time_unit, [schema])
    if schema.touching and schema.points:
        raise OptionError(
            f"touching has a meaning for events that last, and with time={schema.end!r} all are points",
            remedy="Give time=('start', 'end'); what orders points of one time is a tie_breaker.",
        )
    return schema


def check_time_unit(time_unit: str | None, schemas: Iterable[EventSchema]) -> None:
    """Refuse a unit if none of the times is a plain integer."""
    if time_unit is None:
        return
    kinds = {schema.end: schema.columns[schema.end] for schema in schemas}
    if not any(pa.types.is_integer(kind) for kind in kinds.values()):
        name, kind = next(iter(kinds.items()))
        raise OptionError(
            f"time_unit={time_unit!r} has a meaning for integer times, and {name!r} is {kind}",
            remedy="Leave time_unit out.",
        )


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


def columns_of(events: Any) -> dict[str, pa.DataType]:
    """Return the columns of a table or DataFrame with their types.

    Raises
    ------
    InputError
        If two have one name, or one has a name that Fyke uses itself, or a type it cannot take.
    """
    if is_frame(events):
        _check_names(events.columns)
        return spark_prepare.arrow_columns(events)
    given = events.column_names
    _check_names(given)
    if len(set(given)) < len(given):
        names = Counter(given)
        twice = next(name for name, count in names.items() if count > 1)
        raise InputError(
            f"the events have {names[twice]} columns named {twice!r}",
            remedy="Rename all but one of them with rename_columns, or drop them.",
        )
    table = in_plain_types(events.slice(0, 0))
    return dict(zip(table.schema.names, table.schema.types, strict=True))


def _check_names(names: Iterable[str]) -> None:
    for name in names:
        if name.lower().startswith(OWN):
            raise InputError(
                f"the events have a column {name!r}, and names that begin with {OWN} are Fyke's own",
                remedy="Rename it.",
            )


def computed_with(conditions: Iterable[Expression], items: Iterable[OutputColumn]) -> set[str]:
    """Return the attributes that conditions look at, and those that items do not just return as they are."""
    waiting: list[Any] = list(conditions)
    waiting += [each.expression for each in items if not isinstance(each.expression, Reference)]
    found: set[str] = set()
    while waiting:
        node = waiting.pop()
        if isinstance(node, Reference):
            found.update(node.path[:1])
        elif not (isinstance(node, IsNull) and isinstance(node.operand, Reference)):
            waiting.extend(children(node))
    return found


def check_values(table: pa.Table, names: Iterable[str], type_column: str | None = None) -> None:
    """Refuse values that nothing computes with: unsigned integers beyond 63 bits, types that are no text.

    Raises
    ------
    InputError
    """
    for name in names:
        if name in table.column_names and pa.types.is_uint64(table.schema.field(name).type):
            greatest = pc.max(table.column(name)).as_py() or 0
            if greatest > _GREATEST:
                raise InputError(
                    f"the column {name!r} is uint64 and holds {greatest}; conditions and items take whole "
                    "numbers up to 2^63 - 1",
                    remedy="Cast it to decimal128(20, 0), or to a string if it is a name.",
                )
    if type_column is not None and pa.types.is_binary(table.schema.field(type_column).type):
        try:
            table.column(type_column).cast(pa.string())
        except pa.ArrowInvalid as error:
            raise InputError(
                f"the type column {type_column!r} is binary, and not all of it is text",
                remedy="Cast it to a string first.",
            ) from error


# --- rows without a time ------------------------------------------------------------------------


def timed(table: pa.Table, schema: EventSchema, *, warn: bool) -> tuple[pa.Table, int]:
    """Leave out rows without a time; say so if nobody counts them."""
    if schema.points and table.column(schema.end).null_count == 0:
        return table, 0
    missing = without_time(table, schema)
    count = int(pc.sum(missing).as_py() or 0)
    if count == 0:
        return table, 0
    if warn:
        warn_user(
            f"{count} of {table.num_rows} rows have no time, or end before they start, and were rejected; "
            "fyke.rejected(events, time=...) returns them",
            RejectedRowsWarning,
        )
    return table.filter(pc.invert(missing)), count


def without_time(table: pa.Table, schema: EventSchema) -> pa.Array:
    """Say which rows have no time, or end before they start."""
    if schema.points:
        return pc.is_null(table.column(schema.end))
    ordered = pc.less_equal(table.column(schema.start), table.column(schema.end))
    return pc.invert(pc.fill_null(ordered, False))


def in_order(table: pa.Table, schema: EventSchema) -> bool:
    """Say whether the ends of events never fall from row to row."""
    ends = times(table.column(schema.end))
    return bool((ends[1:] >= ends[:-1]).all())


def covering_table(plan: Plan, table: pa.Table) -> Plan:
    """Return the plan with the time that a table covers, if absences may reach past it."""
    if not plan.looks_past_data or not plan.window.counts_time or table.num_rows == 0:
        return plan
    start, end = (times(table.column(name)) for name in plan.schema.time)
    return replace(plan, covered=(int(start.min()), int(end.max())))
