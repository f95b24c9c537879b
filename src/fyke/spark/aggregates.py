"""The aggregates of the language as Spark's: a sum that does not fit is null."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DecimalType

from fyke.language.rules import COUNT_DISTINCT
from fyke.logical.kinds import MEDIAN
from fyke.plan.match_aggregates import MatchAggregate
from fyke.spark.expression import quote

AGGREGATES: dict[str, Callable[[Column | str], Column]] = {
    "count": F.count,
    "sum": F.try_sum,
    "min": F.min,
    "max": F.max,
    "avg": F.avg,
    "stddev": F.stddev_samp,
    COUNT_DISTINCT: F.count_distinct,
    MEDIAN: F.median,
}


def with_all_digits(grouped: DataFrame, aggregates: Iterable[MatchAggregate]) -> DataFrame:
    """Give sums of decimals all digits, as on a table: those of what is computed from them depend on it."""
    sums = {each.column for each in aggregates if each.function == "sum"}
    wide = {
        field.name: F.col(quote(field.name)).cast(DecimalType(38, field.dataType.scale))
        for field in grouped.schema.fields
        if field.name in sums and isinstance(field.dataType, DecimalType)
    }
    return grouped.withColumns(wide) if wide else grouped
