"""The earliest rows of a DataFrame to statistics."""

from __future__ import annotations

import math

from pyspark.sql import DataFrame

from fyke.engine.measure.sample import SAMPLE_ROWS, longer, measure_rows
from fyke.plan.plan import Plan
from fyke.plan.statistics import Statistics
from fyke.spark.prepare import first_rows, prepared, relevant


def measure_frame(plan: Plan, frame: DataFrame) -> Statistics:
    """Return the statistics of the earliest relevant rows of a DataFrame; this runs a Spark job.

    If a window may be longer than what they cover, a second job counts all rows: how many more it can hold.
    """
    rows, most = first_rows(frame, plan, SAMPLE_ROWS), 1.0
    if rows.num_rows == SAMPLE_ROWS and longer(plan, rows, math.inf) > 1.0:
        most = relevant(prepared(frame, plan), plan).count() / SAMPLE_ROWS
    return measure_rows(plan, rows, most)
