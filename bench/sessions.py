"""Spark sessions of the benchmarks."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from bench.report import CannotRun


def need_java() -> None:
    """Raise unless Spark will find Java."""
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java", path=str(Path(home) / "bin") if home else None) is None:
        raise CannotRun("Spark needs Java, and there is none by JAVA_HOME or PATH")


@contextmanager
def session(cores: int, **settings: str) -> Iterator[SparkSession]:
    """Start Spark on some cores of this machine, with as many shuffle partitions, and stop it in the end."""
    need_java()
    builder = SparkSession.builder.master(f"local[{cores}]").appName("bench")
    chosen = {
        "spark.sql.shuffle.partitions": str(cores),
        "spark.driver.memory": "4g",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        **settings,
    }
    for name, value in chosen.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    try:
        yield spark
    finally:
        spark.stop()
