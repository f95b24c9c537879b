"""Matches and attempts that expired told apart on a DataFrame."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from fyke.logical.funnel import MATCH, REACHED, STATUS, TIMEOUT


def status_of_rows(rows: DataFrame, steps: int) -> DataFrame:
    """Add the column ``status``: a row that reached all steps is a match."""
    arrived = F.col(REACHED) == steps
    return rows.withColumn(STATUS, F.when(arrived, F.lit(MATCH)).otherwise(F.lit(TIMEOUT)))
