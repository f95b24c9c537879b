"""Counts of what a DataFrame loses on the road, observed while Spark reads it."""

from __future__ import annotations

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from fyke.spark.expression import rejected_sql

Observed = Observation


def observe_rejected(frame: DataFrame, time: tuple[str, str]) -> tuple[DataFrame, Observation]:
    """Return the DataFrame with an observation of its rows and of those without a time."""
    observation = Observation()
    missing = rejected_sql(time)
    observed = frame.observe(
        observation, F.count(F.lit(1)).alias("rows"), F.count_if(F.expr(missing)).alias("rejected_rows")
    )
    return observed, observation
