"""The aggregates of the language as Spark's: a sum that does not fit is null."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F

AGGREGATES: dict[str, Callable[[Column | str], Column]] = {
    "count": F.count,
    "sum": F.try_sum,
    "min": F.min,
    "max": F.max,
    "avg": F.avg,
    "stddev": F.stddev_samp,
}
