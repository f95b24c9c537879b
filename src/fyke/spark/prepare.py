"""DataFrames to prepared rows, by Catalyst: roles, derived columns, filter, shuffle, sort."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import TimestampNTZType, TimestampType

from fyke.language.ast import Expression, Reference, Strategy, map_references
from fyke.pattern.schema import EventSchema
from fyke.plan.plan import ROLES, every_row_counts, physical, prepared_columns
from fyke.plan.pushdown import Derived, Pushed, Role
from fyke.spark.expression import quote, text_literal, to_sql


def arrow_columns(frame: DataFrame) -> dict[str, pa.DataType]:
    """Return the columns of a DataFrame with their Arrow types."""
    schema = to_arrow_schema(frame.schema, timezone="UTC")
    return dict(zip(schema.names, schema.types, strict=True))


def is_zoneless(frame: DataFrame) -> bool:
    """Say whether a DataFrame has timestamps without a zone, and none with one."""
    kinds = {type(field.dataType) for field in frame.schema.fields}
    return TimestampNTZType in kinds and TimestampType not in kinds


def infer_type(frame: DataFrame, expression: Expression) -> pa.DataType | None:
    """Ask Spark for the type of an expression over one row; None if Spark does not accept it."""
    row = map_references(expression, lambda reference: Reference("", reference.path))
    try:
        schema = frame.select(F.expr(to_sql(row, zoneless=is_zoneless(frame))).alias("value")).schema
    except PySparkException:
        return None
    return to_arrow_schema(schema, timezone="UTC").field("value").type


def derived_types(frame: DataFrame, pushed: Pushed) -> dict[str, pa.DataType]:
    """Return the types of the derived columns."""
    if not pushed.derived:
        return {}
    made = prepared(frame, pushed)
    types = arrow_columns(made)
    return {derived.name: types[physical(derived)] for derived in pushed.derived}


def prepared(frame: DataFrame, pushed: Pushed) -> DataFrame:
    """Add roles and derived columns to the rows that have a time."""
    schema, zoneless = pushed.analysed.schema, is_zoneless(frame)
    new = {ROLES: F.expr(_roles_sql(pushed.roles, schema, zoneless))}
    for derived in pushed.derived:
        name = physical(derived)
        if name not in schema.columns:
            new[name] = F.expr(_derived_sql(derived, schema, zoneless))
    timed = frame.where(" AND ".join(f"{quote(name)} IS NOT NULL" for name in dict.fromkeys(schema.time)))
    return timed.withColumns(new)


def rejected(frame: DataFrame, time: tuple[str, str]) -> DataFrame:
    """Return the rows without a time."""
    return frame.where(" OR ".join(f"{quote(name)} IS NULL" for name in dict.fromkeys(time)))


def distributed(frame: DataFrame, pushed: Pushed) -> DataFrame:
    """Filter prepared rows, bring partitions together and sort them; only what the engine reads is left."""
    analysed = pushed.analysed
    form, schema = analysed.form, analysed.schema
    if not every_row_counts(pushed):
        frame = frame.where(f"{ROLES} <> 0")
    strict = form.strategy is Strategy.STRICT
    keys = [] if strict else [quote(name) for name in form.partition]
    if keys:
        frame = frame.where(" AND ".join(f"{key} IS NOT NULL" for key in keys))
        frame = frame.repartition(*(F.col(key) for key in keys))
    else:
        frame = frame.repartition(1)
    order = [F.col(quote(name)).asc_nulls_first() for name in schema.order_columns()]
    frame = frame.sortWithinPartitions(*(F.col(key) for key in keys), *order)
    return frame.select(*(quote(name) for name in prepared_columns(pushed)))


def _roles_sql(roles: tuple[Role, ...], schema: EventSchema, zoneless: bool) -> str:
    terms = []
    for role in roles:
        own = " AND ".join(to_sql(condition, zoneless=zoneless) for condition in role.conditions) or "TRUE"
        if role.type is not None and schema.type_column is not None:
            # Conditions are evaluated for rows of their own type only: elsewhere they might fail.
            own = f"CASE WHEN {_type_sql(schema)} = {text_literal(role.type)} THEN {own} ELSE FALSE END"
        terms.append(f"CASE WHEN {own} THEN {1 << role.bit}L ELSE 0L END")
    return " | ".join(terms)


def _type_sql(schema: EventSchema) -> str:
    assert schema.type_column is not None
    return f"CAST({quote(schema.type_column)} AS STRING)"


def _derived_sql(derived: Derived, schema: EventSchema, zoneless: bool) -> str:
    sql = to_sql(derived.expression, zoneless=zoneless)
    if schema.type_column is None or None in derived.types:
        return sql
    types = ", ".join(text_literal(str(each)) for each in sorted(map(str, derived.types)))
    return f"CASE WHEN {_type_sql(schema)} IN ({types}) THEN {sql} END"


def unite(inputs: Mapping[str, DataFrame], columns: Mapping[str, pa.DataType], type_column: str) -> DataFrame:
    """Return several inputs as one DataFrame with a type column; attributes a type lacks are null."""
    united: DataFrame | None = None
    for event_type, frame in inputs.items():
        typed = frame.withColumn(type_column, F.lit(event_type))
        united = typed if united is None else united.unionByName(typed, allowMissingColumns=True)
    assert united is not None
    return united.select(*(quote(name) for name in (*columns, type_column)))
