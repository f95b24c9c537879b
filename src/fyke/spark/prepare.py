"""DataFrames to prepared rows, by Catalyst: roles, derived columns, filter, shuffle, sort."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from functools import reduce
from inspect import signature
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema, to_arrow_type
from pyspark.sql.types import ArrayType, DataType, StringType, StructField, StructType, VariantType

from fyke.errors import InputError, TypeClashError
from fyke.language.ast import (
    Between,
    Binary,
    Call,
    Expression,
    In,
    IsNull,
    Like,
    Literal,
    Reference,
    Strategy,
    Timestamp,
    Unary,
    map_references,
    walk,
)
from fyke.language.unparse import unparse_expression
from fyke.logical.schema import EventSchema
from fyke.plan.plan import ROLES, Plan
from fyke.plan.pushdown import Derived, Role, physical
from fyke.spark.expression import FORBIDDEN, identifier, quote, rejected_sql, text_literal, timed_sql, to_sql

_UNKNOWN_FUNCTION = "UNRESOLVED_ROUTINE"
_BYTES = "UTF8_BINARY"
# A version of Spark that does not ask for the zone takes UTC.
_IN_UTC: dict[str, Any] = {"timezone": "UTC"} if "timezone" in signature(to_arrow_type).parameters else {}
COVERED, SLICE, _NUMBER = "__fyke_covered", "__fyke_slice", "__fyke_number"
_MOST_TERMS = 24  # of the condition that every row with a role meets

_LONG = 'has the type "BIGINT"'
_CAST = " Whole numbers that a query computes have 64 bits: write CAST(... AS INT)."


class Placed(Enum):
    """Where the rows of a DataFrame are: those of a partition together, perhaps in buckets, or anywhere."""

    TOGETHER = "together"
    IN_BUCKETS = "in buckets"
    ANYWHERE = "anywhere"


def arrow_columns(frame: DataFrame) -> dict[str, pa.DataType]:
    """Return the columns of a DataFrame with their Arrow types.

    Raises
    ------
    InputError
        If Spark cannot tell two columns apart, or a column cannot be sent to Python.
    """
    _check_names(frame, frame.columns)
    return arrow_fields(frame.schema.fields)


def arrow_fields(fields: Iterable[StructField]) -> dict[str, pa.DataType]:
    """Return the Arrow types of columns, by name.

    Raises
    ------
    InputError
        If a column cannot be sent to Python.
    """
    return {field.name: _arrow_type(field) for field in fields}


def tells_case(frame: DataFrame) -> bool:
    """Say whether the session of a DataFrame tells capital from small letters in names of columns."""
    return bool(frame.sparkSession.conf.get("spark.sql.caseSensitive") == "true")


def _check_names(frame: DataFrame, names: Iterable[str]) -> None:
    exact = tells_case(frame)
    seen: dict[str, str] = {}
    for name in names:
        key = name if exact else name.lower()
        if key in seen:
            raise InputError(
                f"Spark does not tell the columns {seen[key]!r} and {name!r} of the events apart",
                remedy="Rename one of them with withColumnRenamed or toDF.",
            )
        seen[key] = name


def _arrow_type(field: StructField) -> pa.DataType:
    try:
        arrow = to_arrow_type(field.dataType, **_IN_UTC)
    except PySparkException:
        arrow = None
    if arrow is None or _holds_variant(field.dataType):
        raise InputError(
            f"Fyke cannot take the column {field.name!r} of type {field.dataType.simpleString()}",
            remedy="Drop or cast it before matching.",
        )
    return _nullable(arrow)


def _nullable(kind: pa.DataType) -> pa.DataType:
    """Return a type in which all that is nested may be null, as it is in an event that is not bound."""
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(each.name, _nullable(each.type)) for each in kind])
    if pa.types.is_list(kind):
        return pa.list_(pa.field(kind.value_field.name, _nullable(kind.value_type)))
    if pa.types.is_map(kind):
        return pa.map_(kind.key_type, _nullable(kind.item_type))
    return kind


def _holds_variant(kind: DataType) -> bool:
    """Say whether a type is, or contains, one that has an order in Arrow but none in Spark."""
    if isinstance(kind, ArrayType):
        return _holds_variant(kind.elementType)
    if isinstance(kind, StructType):
        return any(_holds_variant(field.dataType) for field in kind.fields)
    return isinstance(kind, VariantType)


def infer_type(frame: DataFrame, expression: Expression, text: str | None = None) -> pa.DataType | None:
    """Ask Spark for the type of an expression over one row; None if there is no such function.

    Raises
    ------
    TypeClashError
        If Spark has the function and refuses its arguments, or its use for one row.
    """
    if any(isinstance(node, Call) and node.function in FORBIDDEN for node in walk(expression)):
        return None
    row = map_references(expression, lambda reference: Reference("", reference.path))
    sql = to_sql(row, arrow_columns(frame))
    try:
        # A filter refuses what is not a function of one row: aggregates, generators, window functions.
        schema = frame.where(f"({sql}) IS NOT NULL").select(F.expr(sql).alias("value")).schema
        return to_arrow_schema(schema, **_IN_UTC).field("value").type
    except PySparkException as error:
        if _UNKNOWN_FUNCTION in (error.getCondition() or ""):
            return None
        raise TypeClashError(
            f"Spark SQL does not take {unparse_expression(expression)} as a function of one event",
            place=expression.place,
            text=text,
            remedy=f"It says: {str(error).splitlines()[0]}{_CAST if _LONG in str(error) else ''}",
        ) from None


def derived_types(frame: DataFrame, schema: EventSchema, made: Sequence[Derived]) -> dict[str, pa.DataType]:
    """Return the types of derived columns."""
    if not made:
        return {}
    rows, new = by_bytes(frame), _new_columns(made, schema)
    types = arrow_columns(rows.withColumns(new) if new else rows)  # Connect refuses to add no columns
    return {derived.name: types[physical(derived)] for derived in made}


def _new_columns(made: Sequence[Derived], schema: EventSchema) -> dict[str, Column]:
    """Return the derived columns that are not attributes already."""
    new = {physical(derived): derived for derived in made if physical(derived) not in schema.columns}
    return {name: F.expr(_derived_sql(derived, schema)) for name, derived in new.items()}


def prepared(frame: DataFrame, plan: Plan) -> DataFrame:
    """Add roles and derived columns to the rows that have a time."""
    schema = plan.schema
    roles = F.expr(_roles_sql(plan.roles, schema))
    timed = by_bytes(frame).where(timed_sql(schema.time))
    if not plan.every_row_counts and not frame.isStreaming:
        filtering = scan_sql(plan.roles, schema)
        timed = timed if filtering is None else timed.where(filtering)
    return timed.withColumns({ROLES: roles, **_new_columns(plan.made, schema)})


def by_bytes(frame: DataFrame) -> DataFrame:
    """Compare strings by their bytes, as across events: a collation would hold in Spark only."""
    collated = {
        field.name: F.collate(quote(field.name), _BYTES)
        for field in frame.schema.fields
        if isinstance(field.dataType, StringType) and field.dataType.collation != _BYTES
    }
    return frame.withColumns(collated) if collated else frame


def rejected(frame: DataFrame, time: tuple[str, str]) -> DataFrame:
    """Return the rows without a time, or that end before they start."""
    return frame.where(rejected_sql(time))


def relevant(frame: DataFrame, plan: Plan) -> DataFrame:
    """Leave out prepared rows that can play no role or are in no partition, if they do not matter.

    On a stream every event moves the watermark, whatever its role, so the filter must come after it.  Spark
    does not move a condition that is not a function of the row.
    """
    wanted = [] if plan.every_row_counts else [F.col(ROLES) != 0]
    wanted += [key.isNotNull() for key in _keys(plan)]
    if not wanted:
        return frame
    condition = reduce(Column.__and__, wanted)
    if frame.isStreaming:
        condition = F.when(F.spark_partition_id() >= 0, condition).otherwise(False)
    return frame.where(condition)


def first_rows(frame: DataFrame, plan: Plan, count: int) -> pa.Table:
    """Return the earliest relevant rows, prepared; this runs a Spark job."""
    rows = relevant(prepared(frame, plan), plan)
    ordered = rows.orderBy(quote(plan.schema.end)).limit(count)
    names = dict.fromkeys((*plan.prepared_columns, *plan.schema.order_columns()))
    return ordered.select(*map(quote, names)).toArrow()


def _keys(plan: Plan) -> list[Column]:
    return [F.col(quote(name)) for name in plan.keys]


def together(
    frame: DataFrame, plan: Plan, slices: Column | None = None, placed: Placed = Placed.ANYWHERE
) -> DataFrame:
    """Bring the rows of each partition together, with the columns that are needed to sort and to read.

    With ``slices`` those of each slice of time, which a row may be in several of.  Rows that are ``placed``
    well already stay where they are.
    """
    sliced = [] if slices is None else [slices.alias(SLICE)]
    columns = dict.fromkeys((*sent_columns(plan), *_order(plan)))
    frame = frame.select(*(F.col(quote(name)) for name in columns), *sliced)
    keys = _keys(plan) + ([] if slices is None else [F.col(SLICE)])
    if placed is Placed.TOGETHER:
        return frame
    if placed is Placed.IN_BUCKETS:
        # A window function asks for what matching needs, so Spark moves and sorts rows only where it must.
        order = [F.col(quote(name)).asc_nulls_first() for name in _order(plan)]
        number = F.row_number().over(Window.partitionBy(*keys).orderBy(*order))
        return frame.withColumn(_NUMBER, number).where(F.col(_NUMBER) > 0).drop(_NUMBER)
    return frame.repartition(*keys) if keys else frame.repartition(1)


def row_columns(plan: Plan) -> list[str]:
    """Return the columns of relevant rows that are read or sorted by."""
    return list(dict.fromkeys((*plan.prepared_columns, *_order(plan))))


def sent_columns(plan: Plan) -> tuple[str, ...]:
    """Return the columns of a batch that workers get.

    All of a prepared batch, but the type where the roles of a row tell it: a number moves faster.
    """
    known = tells_types(plan)
    return tuple(name for name in plan.prepared_columns if not known or name != plan.schema.type_column)


def tells_types(plan: Plan) -> bool:
    """Say whether the roles of each row that can be bound tell its type, and nothing else looks at that."""
    column = plan.schema.type_column
    if column is None or column not in plan.needed or not pa.types.is_string(plan.schema.columns[column]):
        return False
    looked_at = {*plan.split, *plan.partition, *map(physical, plan.made)}
    return column not in looked_at and all(role.type is not None for role in plan.roles)


def arranged(frame: DataFrame, plan: Plan, spanned: DataFrame | None = None) -> DataFrame:
    """Sort rows within their partitions, and keep only the columns that the engine reads.

    The columns are those of :func:`sent_columns` by position: ``mapInArrow`` takes a dot or a
    backtick in a name for syntax, so here they have plain names.  The slice of a row comes first, what
    :func:`covered` tells comes last.
    """
    order = [F.col(quote(name)).asc_nulls_first() for name in _order(plan)]
    sliced = [F.col(SLICE)] if SLICE in frame.columns else []
    frame = frame.sortWithinPartitions(*_keys(plan), *sliced, *order)
    columns = sent_columns(plan)
    plain = [*sliced] + [F.col(quote(name)).alias(f"c{number}") for number, name in enumerate(columns)]
    return frame.select(*plain, *([] if spanned is None else [spanned.scalar().alias(COVERED)]))


def covered(frame: DataFrame, plan: Plan) -> DataFrame | None:
    """Return the first start and the last end of all events in a struct, if absences may reach past them."""
    if not plan.looks_past_data or not plan.window.counts_time:
        return None
    start, end = (F.col(quote(name)) for name in plan.schema.time)
    both = F.struct(F.min(start).alias("start"), F.max(end).alias("end"))
    return frame.where(timed_sql(plan.schema.time)).agg(both.alias(COVERED))


def _order(plan: Plan) -> tuple[str, ...]:
    """Return the columns that rows are sorted by."""
    order = plan.schema.order_columns()
    columns = sent_columns(plan)
    return order if _order_matters(plan) else tuple(name for name in order if name in columns)


def _order_matters(plan: Plan) -> bool:
    """Say whether the order of simultaneous events can change the result.

    Only then must columns be read that are needed for sorting alone.
    """
    groups = any(variable.group for each in plan.alternatives for variable in each.variables)
    every_match = plan.strategy is Strategy.ANY and plan.format.independent
    return groups or not every_match or plan.every_row_counts


def _roles_sql(roles: tuple[Role, ...], schema: EventSchema) -> str:
    terms = []
    for role in roles:
        own = " AND ".join(to_sql(condition, schema.columns) for condition in role.conditions) or "TRUE"
        if role.type is not None and schema.type_column is not None:
            # Conditions are evaluated for rows of their own type only: elsewhere they might fail.
            own = f"CASE WHEN {type_sql(schema)} = {text_literal(role.type)} THEN {own} ELSE FALSE END"
        terms.append(f"CASE WHEN {own} THEN {1 << role.bit}L ELSE 0L END")
    return " | ".join(terms)


def scan_sql(roles: tuple[Role, ...], schema: EventSchema) -> str | None:
    """Return a condition that every row with a role meets, in a form that data sources understand."""
    terms: dict[str | None, list[str]] = {}  # by the type they are of
    for role in roles:
        parts = [to_sql(each, schema.columns) for each in role.conditions if _is_plain(each)]
        name = None if schema.type_column is None else role.type
        if not parts and name is None:
            return None
        terms.setdefault(name, []).append(" AND ".join(parts))
    whole = [name for name, conditions in terms.items() if name is not None and "" in conditions]
    if sum(len(terms[name]) for name in terms) > _MOST_TERMS:
        # The JVM does not compile so long a method, and a scan would spend most of its time in it.
        whole = [name for name in terms if name is not None]
        found = [f"{type_sql(schema)} IN ({', '.join(map(text_literal, whole))})"] if whole else []
    else:
        found = [f"{type_sql(schema)} = {text_literal(name)}" for name in whole]
    for name, conditions in terms.items():
        if name not in whole:
            of_type = "" if name is None else f"{type_sql(schema)} = {text_literal(name)} AND "
            found += [of_type + each for each in dict.fromkeys(conditions)]
    return " OR ".join(f"({each})" for each in found)


def _is_plain(condition: Expression) -> bool:
    """Say whether a condition is made of comparisons of columns and literals only, which cannot fail."""
    plain = (Reference, Literal, Timestamp, In, Between, Like, IsNull)
    return all(
        isinstance(node, plain)
        or (isinstance(node, Unary) and node.operator == "NOT")
        or (isinstance(node, Binary) and node.operator not in "+-*/%")
        for node in walk(condition)
    )


def type_sql(schema: EventSchema) -> str:
    """Return the SQL text of the event type of a row."""
    assert schema.type_column is not None
    column = identifier(schema.type_column)
    return column if pa.types.is_string(schema.columns[schema.type_column]) else f"CAST({column} AS STRING)"


def _derived_sql(derived: Derived, schema: EventSchema) -> str:
    sql = to_sql(derived.expression, schema.columns)
    if schema.type_column is None or None in derived.types:
        return sql
    types = ", ".join(text_literal(str(each)) for each in sorted(map(str, derived.types)))
    return f"CASE WHEN {type_sql(schema)} IN ({types}) THEN {sql} END"


def unite(inputs: Mapping[str, DataFrame], columns: Mapping[str, pa.DataType], type_column: str) -> DataFrame:
    """Return several inputs as one DataFrame with a type column; attributes a type lacks are null."""
    united: DataFrame | None = None
    for event_type, frame in inputs.items():
        _check_names(frame, (*columns, type_column))
        own = arrow_columns(frame)
        typed = frame.select(
            *(_as_type(name, own.get(name), kind) for name, kind in columns.items()),
            F.lit(event_type).cast(StringType()).alias(type_column),
        )
        united = typed if united is None else united.union(typed)
    assert united is not None
    return united


def _as_type(name: str, own: pa.DataType | None, wanted: pa.DataType) -> Column:
    if own == wanted:
        return F.col(quote(name))
    kind = from_arrow_type(wanted, prefer_timestamp_ntz=True)
    return (F.lit(None) if own is None else F.col(quote(name))).cast(kind).alias(name)
