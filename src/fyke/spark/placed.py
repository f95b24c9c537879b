"""Rows that need not be shuffled: those of bucketed tables, and of an earlier match by the same key."""

from __future__ import annotations

from pyspark.sql import DataFrame

from fyke.plan.plan import Plan
from fyke.spark.expression import quote
from fyke.spark.prepare import Placed

_MATCHED_BY = "_fyke_keys"  # an attribute of the DataFrame that a match returns
_BUCKETS = ("Bucketed: true", "Bucketed: false (disabled by query planner)")


def placed(frame: DataFrame, plan: Plan) -> Placed:
    """Say where the rows of the input are."""
    if not plan.keys:
        return Placed.ANYWHERE
    before = frame.__dict__.get(_MATCHED_BY)
    if before and set(before) <= set(plan.keys):
        return Placed.TOGETHER
    return Placed.IN_BUCKETS if _has_buckets(frame, plan) else Placed.ANYWHERE


def remember_place(matches: DataFrame, plan: Plan) -> None:
    """Remember that the rows of a result are where their partitions were read."""
    if plan.keys and set(plan.keys) == set(plan.partition):
        matches.__dict__[_MATCHED_BY] = plan.keys


def _has_buckets(frame: DataFrame, plan: Plan) -> bool:
    """Say whether a frame is read from buckets that its keys decide; Spark judges whether that is enough."""
    if not hasattr(frame, "_jdf"):
        return False  # behind Connect nobody can see it
    keys = frame.select(*map(quote, plan.keys))
    text = str(keys._jdf.queryExecution().executedPlan())
    return any(each in text for each in _BUCKETS)
