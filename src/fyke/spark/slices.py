"""Slices of time on Spark: rows without a key, and those of hot keys, spread over several tasks.

All slices are equally long, so the time of a row says which slice it is in, and which slices next to it must
see it (:mod:`fyke.plan.slices`).  A sample says which keys are hot, in the same action: a scalar subquery.
"""

from __future__ import annotations

from functools import reduce
from typing import Any, cast

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from fyke.engine.kernels.arrays import Array
from fyke.plan.plan import Plan
from fyke.plan.slices import Slicing, explain_pieces, plan_task_slices, slice_length
from fyke.spark.expression import identifier, quote
from fyke.spark.placed import placed
from fyke.spark.prepare import SLICE, Placed

WHOLE = -(2**63)  # the slice of keys that are not cut
_SAMPLE, _SEED = 0.01, 42  # the share of rows in which hot keys are looked for
_HOT, _FEW = 0.05, 20  # a key is hot if it has this share of the sample, and so many rows at least
_EPOCH = "TIMESTAMP_NTZ '1970-01-01 00:00:00'"


def slices_of(frame: DataFrame, plan: Plan) -> Column | None:
    """Return the slices of each row of the input, one copy of it for each; None if nothing is to be cut."""
    slicing = plan_task_slices(plan)
    if isinstance(slicing, str):
        return None
    every = F.expr(_slices_sql(plan, slicing))
    if not plan.keys:
        return F.explode(every)
    hot = _hot_keys(frame, plan)
    if hot is None:
        return None
    cut = F.array_contains(hot, F.xxhash64(*(F.col(quote(name)) for name in plan.keys)))
    return F.explode(F.when(cut, every).otherwise(F.array(F.lit(WHOLE))))


def explain_tasks(frame: DataFrame, plan: Plan) -> str:
    """Say in one line how the events of a DataFrame are cut into pieces that tasks read."""
    usual, place = explain_pieces(plan, tasks=True), placed(frame, plan)
    keys = ", ".join(plan.keys)
    if place is not Placed.ANYWHERE:
        where = {
            Placed.TOGETHER: "an earlier match has brought its events together",
            Placed.IN_BUCKETS: "the table has its events in buckets",
        }
        return f"by {keys}, without a shuffle: {where[place]}; a hot key is not cut"
    if plan.keys and not isinstance(plan_task_slices(plan), str) and not _is_scan(frame):
        return f"by {keys}; a hot key is not cut: to find one, the events would be computed twice"
    return usual


def _slices_sql(plan: Plan, slicing: Slicing) -> str:
    """Return the SQL text of the slice of a row, and of its neighbours where they must see it."""
    end = plan.schema.end
    time = ticks_sql(end, plan.schema.columns[end])
    length, window = slice_length(plan), plan.window.length
    since = f"pmod({time}, {length}L)"
    own = f"({time} div {length}L - IF({time} % {length}L < 0L, 1L, 0L))"  # no step leaves 64 bits
    near = []
    if slicing.ahead:
        near.append(f"WHEN {since} <= {window}L THEN array({own}, {own} - 1L)")
    if slicing.back:
        near.append(f"WHEN {since} >= {length - window}L THEN array({own}, {own} + 1L)")
    cases = " ".join(near)
    return f"CASE {cases} ELSE array({own}) END" if near else f"array({own})"


def ticks_sql(column: str, kind: pa.DataType) -> str:
    """Return the SQL text of a time of a row as an integer, as :func:`times` has it in Python."""
    name = identifier(column)
    if pa.types.is_date(kind):
        return f"CAST(unix_date({name}) AS BIGINT)"
    if not pa.types.is_timestamp(kind):
        return f"CAST({name} AS BIGINT)"
    if kind.tz is not None:
        return f"unix_micros({name})"
    since = f"({name} - {_EPOCH})"  # a cast to a timestamp would depend on the time zone of the session
    parts = {"DAY": 86_400_000_000, "HOUR": 3_600_000_000, "MINUTE": 60_000_000}
    terms = [f"CAST(extract({part} FROM {since}) AS BIGINT) * {size}L" for part, size in parts.items()]
    return f"({' + '.join(terms)} + CAST(extract(SECOND FROM {since}) * 1000000 AS BIGINT))"


def _hot_keys(frame: DataFrame, plan: Plan) -> Column | None:
    """Return the hashes of the keys that have so many rows of a sample that one task would take too long.

    Only keys are read for it, and all rows count.  None if rows would have to be computed twice for it.
    """
    if not _is_scan(frame):
        return None
    keys = [F.col(quote(name)) for name in plan.keys]
    sampled = frame.select(*keys).sample(fraction=_SAMPLE, seed=_SEED)
    hashed = sampled.where(reduce(Column.__and__, [key.isNotNull() for key in keys]))
    # Counting all keys would take a shuffle of its own; of those that are hot this finds the same number.
    top = F.expr(f"approx_top_k(key, {int(1 / _HOT)})").alias("top")
    listed = hashed.select(F.xxhash64(*keys).alias("key")).agg(F.count(F.lit(1)).alias("all"), top)
    is_hot = f"each.count >= greatest({_FEW}, {_HOT} * all)"
    found = listed.select(F.expr(f"transform(filter(top, each -> {is_hot}), each -> each.item)").alias("hot"))
    return F.coalesce(found.scalar(), F.expr("CAST(array() AS ARRAY<BIGINT>)"))


def _is_scan(rows: DataFrame) -> bool:
    """Say whether rows are read, filtered and projected only, so that reading a sample first is cheap."""
    for line in _optimized(rows).splitlines():
        node = line.lstrip(" :+-")
        if node.startswith(_KEPT):
            return True  # what follows is how it was computed
        if node and not node.startswith(_CHEAP):
            return False
    return True


def _optimized(rows: DataFrame) -> str:
    """Return the optimised logical plan of rows as a text; there is no public function that does."""
    if hasattr(rows, "_jdf"):
        return str(rows._jdf.queryExecution().optimizedPlan())
    text = cast(Any, rows)._explain_string(extended=True)
    return str(text.split("== Optimized Logical Plan ==\n")[1].split("\n== Physical Plan ==")[0])


_KEPT = "InMemoryRelation"
_CHEAP = (
    "Project", "Filter", "Union", "Relation", "LocalRelation", "HiveTableRelation", "OneRowRelation",
    "EmptyRelation", "LogicalRDD", "Range",
)  # fmt: skip


def owned_rows(table: pa.Table, ends: Array, length: int) -> Array:
    """Say which rows the slices in their column own, given their ends."""
    slices = table.column(SLICE).to_numpy()
    whole = slices == WHOLE
    return np.asarray(whole if whole.all() else whole | (ends // length == slices))
