"""PySpark's own SQL on the same files, end to end: Parquet in, matches counted."""

from __future__ import annotations

import functools
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import fyke
from bench.peer_cases import CASES, OPTIONS, Case, cores, faster, in_order, numbers, same
from bench.peer_sql import SPARK, ways
from bench.report import Line, best_of, interleaved, show
from bench.sessions import session

BARS = {"skip_till_any_match": 1.0, "skip_till_next_match": 3.0}  # times as fast as the best SQL


def compare(spark: SparkSession, case: Case, folder: Path, rows: int, times: int) -> Line:
    """Compare the time of a job that counts matches with that of the best SQL, which finds the same ones."""
    file = folder / f"{case.shape}.parquet"
    pq.write_table(case.events(rows), file, row_group_size=max(10_000, rows // 16))
    spark.read.parquet(str(file)).createOrReplaceTempView("events")
    known = ways(case, SPARK)

    def matches() -> DataFrame:
        return fyke.match(spark.read.parquet(str(file)), case.query, **OPTIONS)

    mine = numbers(matches().toArrow())
    took = {}
    for name, sql in known.items():
        found = spark.sql(sql).toArrow()
        columns = [np.asarray(column.to_numpy()) for column in found.columns]
        same(case, f"Spark's {name}", mine, in_order(columns))
        took[name], _ = best_of(1, functools.partial(_count, spark, sql))
    best = min(took, key=lambda name: took[name])
    works: dict[str, Callable[[], Any]] = {
        "spark": functools.partial(_count, spark, known[best]),
        "fyke": lambda: matches().count(),
    }
    assert works["fyke"]() == len(mine)
    timed = interleaved(times, works, clock=time.perf_counter)
    note = f"Spark by {best}, {len(mine):,} matches in {rows:,} events"
    return faster(f"{case.name}: Spark SQL / Fyke", timed, "spark", "fyke", BARS.get(case.strategy), note)


def _count(spark: SparkSession, sql: str) -> int:
    return spark.sql(sql).count()


def main(*, quick: bool = False) -> bool:
    """Run the benchmark; return whether every bar holds."""
    rows, times = (1_000_000, 3) if quick else (10_000_000, 5)
    with session(cores()) as spark, tempfile.TemporaryDirectory(prefix="bench-spark-") as folder:
        lines = [compare(spark, case, Path(folder), rows, times) for case in CASES]
    return show("PySpark SQL", lines, remarks="Parquet in, matches counted, on all cores.")
