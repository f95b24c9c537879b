"""One Spark session for all tests, started by the first test that asks for it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

# Tests have folders of kernels of their own; tests/engine/test_kernel_cache.py switches this on.
os.environ["FYKE_COMPILE_AHEAD"] = "0"
# Sessions of Spark in tests are short, also those of processes that tests start: the JVM's second compiler
# does not pay.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A small local session: two cores, no UI, UTC, four shuffle partitions that stay four."""
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "1g",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.warehouse.dir": "/nonexistent/no-test-writes-a-table",
    }
    builder = SparkSession.builder.master("local[2]").appName("fyke tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
