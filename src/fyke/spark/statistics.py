"""The earliest rows of a DataFrame to statistics."""

from __future__ import annotations

import math
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from fyke.engine.measure.sample import SAMPLE_ROWS, longer, measure_rows
from fyke.engine.measure.types_seen import types_in
from fyke.plan.missing_types import missing_types, named_types
from fyke.plan.plan import Plan
from fyke.plan.statistics import Statistics
from fyke.spark.expression import timed_sql
from fyke.spark.prepare import first_rows, prepared, relevant, type_sql

_TYPES = 1_000  # among which a near miss is looked for


def measure_frame(plan: Plan, frame: DataFrame) -> Statistics:
    """Return the statistics of the earliest relevant rows of a DataFrame; this runs a Spark job.

    If a window may be longer than what they cover, a second job counts all rows: how many more it can hold.
    """
    rows, most = first_rows(frame, plan, SAMPLE_ROWS), 1.0
    if rows.num_rows == SAMPLE_ROWS and longer(plan, rows, math.inf) > 1.0:
        most = relevant(prepared(frame, plan), plan).count() / SAMPLE_ROWS
    found = measure_rows(plan, rows, most)
    return replace(found, missing_types=_missing_types(plan, frame, rows))


def _missing_types(plan: Plan, frame: DataFrame, rows: pa.Table) -> dict[str, str]:
    """Return the types that the query names and no row has; it runs jobs only if none is among some rows."""
    named, kind = named_types(plan), F.expr(type_sql(plan.schema)) if named_types(plan) else F.lit("")
    if named and rows.num_rows:
        seen = types_in(rows.column(plan.schema.type_column))
        named = {name: variables for name, variables in named.items() if name not in seen}
    if not named:
        return {}
    types = frame.where(timed_sql(plan.schema.time)).select(kind.alias("type")).distinct()
    there = {row["type"] for row in types.where(F.col("type").isin(list(named))).collect()}
    named = {name: variables for name, variables in named.items() if name not in there}
    some = [row["type"] for row in types.limit(_TYPES).collect() if row["type"] is not None] if named else []
    return missing_types(named, some) if some else {}
