"""Spark Declarative Pipelines: matches of a stream as a table of a pipeline, and a view that it reads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fyke
from tests.spark.streams import in_time, stream, the_end

pytestmark = [pytest.mark.spark, pytest.mark.long]

QUERY = "PATTERN SEQ(A a, B+ b[], ~C c) WHERE greedy_skip_till_next_match { [k] } WITHIN 20 min RETURN a.x"
STORE = "spark.sql.streaming.stateStore.providerClass"
ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
SPEC = """
name: alerts
storage: file://{root}/storage
libraries:
  - glob:
      include: transformations/**
configuration:
  spark.sql.shuffle.partitions: "2"
  spark.sql.session.timeZone: UTC
"""
FLOWS = """
from pyspark import pipelines as dp
from pyspark.sql import SparkSession

import fyke

spark = SparkSession.active()
SCHEMA = "kind string, ts timestamp, since timestamp, k int, s string, x bigint, v double, n bigint"


def files():
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet("{root}/in")


matches, same_matches = (
    fyke.match(files(), {query!r}, time="ts", type="kind", watermark="2 minutes") for _ in range(2)
)


@dp.table
def alerts():
    return matches


@dp.temporary_view
def same_alerts():
    return same_matches


@dp.table
def copied():
    return spark.readStream.table("same_alerts")
"""


INSIDE = """
from pyspark import pipelines as dp
from pyspark.sql import SparkSession

import fyke


@dp.table
def alerts():
    rates = SparkSession.active().readStream.format("rate").load()
    return fyke.match(rates, {query!r}, time="timestamp", watermark="1 minute")
"""


def pipeline(
    root: Path, events: pa.Table, configuration: str, flows: str = FLOWS
) -> subprocess.CompletedProcess[str]:
    """Write a pipeline with its events, and run it."""
    (root / "in").mkdir()
    (root / "transformations").mkdir()
    for number, part in enumerate((events.slice(0, 120), events.slice(120), the_end(events))):
        pq.write_table(part, root / "in" / f"{number}.parquet")
        os.utime(root / "in" / f"{number}.parquet", (1_000 + number,) * 2)
    (root / "spark-pipeline.yml").write_text(SPEC.format(root=root) + configuration)
    (root / "transformations" / "alerts.py").write_text(flows.format(root=root, query=QUERY))
    script = Path(sys.executable).parent / "spark-pipelines"
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    return subprocess.run(
        [str(script), "--conf", f"spark.sql.warehouse.dir={root / 'tables'}", "run"],
        cwd=root, env=environment, capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip


def test_matches_are_tables_and_views_of_a_pipeline(tmp_path: Path) -> None:
    events = in_time(stream())
    done = pipeline(tmp_path, events, f"  {STORE}: {ROCKS}\n")
    assert done.returncode == 0, done.stdout[-3_000:] + done.stderr[-3_000:]
    expected = fyke.match(events, QUERY, time="ts", type="kind")["match_id"].to_pylist()
    assert len(expected) > 10
    for name in ("alerts", "copied"):
        found = pq.read_table(tmp_path / "tables" / name)["match_id"].to_pylist()
        assert sorted(found) == sorted(expected)


def test_a_pipeline_that_keeps_state_elsewhere_is_told_what_to_write(tmp_path: Path) -> None:
    done = pipeline(tmp_path, in_time(stream()), "")
    assert done.returncode != 0
    said = done.stdout + done.stderr
    assert "keeps its state in RocksDB, and this session cannot be told so" in said, said[-3_000:]
    assert f"Put {STORE}: {ROCKS} into the configuration of the pipeline." in said


def test_a_pattern_inside_a_function_is_told_where_to_go(tmp_path: Path) -> None:
    done = pipeline(tmp_path, in_time(stream()), f"  {STORE}: {ROCKS}\n", INSIDE)
    assert done.returncode != 0
    said = done.stdout + done.stderr
    assert "Call Fyke above the function, and let the function return what that returned." in said, said[
        -3_000:
    ]
