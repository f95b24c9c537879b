"""The command line on Spark, in a process of its own: the same matches, and one line if Spark cannot."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from fyke.errors import SparkError
from fyke.spark.local import read_frame
from tests.command.test_matching import COLUMNS, EVENTS, QUERY

pytestmark = pytest.mark.spark

PIPELINE = f"""
[source.shop]
path = "events.csv"

[events]
time = "ts"
type = "kind"

[query.theft]
text = '''{QUERY}'''

[sink.theft]
path = "thefts.parquet"
"""


def run(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fyke", *arguments]
    variables = {**os.environ, **environment}
    return subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=folder, env=variables)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "events.csv").write_text(EVENTS)
    (tmp_path / "theft.fyke").write_text(QUERY)
    return tmp_path


def test_spark_writes_the_same_matches(folder: Path) -> None:
    done = run(folder, "match", "-q", "theft.fyke", "events.csv", *COLUMNS, "--spark", "-o", "m.parquet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "1 match written to m.parquet\n", "")
    found = pq.read_table(folder / "m.parquet")
    assert found.column("tag").to_pylist() == ["razor"]
    assert sorted(os.listdir(folder)) == ["events.csv", "m.parquet", "theft.fyke"]


@pytest.mark.parametrize("kind", ["kafka", "delta"])
def test_without_a_connector_there_is_one_line(kind: str, spark: SparkSession) -> None:
    columns = "ts timestamp, kind string"
    with pytest.raises(SparkError, match=f"Spark has no connector for '{kind}'\nName its package"):
        read_frame(spark, kind, [], columns=columns)


def test_kafka_needs_columns(spark: SparkSession) -> None:
    with pytest.raises(SparkError, match="no columns that are known before"):
        read_frame(spark, "kafka", [])


def test_without_java_there_is_one_line(folder: Path) -> None:
    nothing = str(folder)
    done = run(folder, "match", "-q", "theft.fyke", "events.csv", *COLUMNS, "--spark", JAVA_HOME=nothing)
    assert done.returncode == 1
    assert done.stderr.startswith("error: Spark did not start: it needs Java 17 or newer"), done.stderr
    assert done.stderr.count("\n") == 1
    assert run(folder, "match", "-q", "theft.fyke", "events.csv", *COLUMNS, JAVA_HOME=nothing).returncode == 0


def test_without_java_a_pipeline_says_so_in_one_line(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Neither JAVA_HOME nor PATH leads to Java; what starts Spark finds only a shell."""
    tools = tmp_path_factory.mktemp("tools")
    for name in ("bash", "dirname", "env"):
        (tools / name).symlink_to(str(shutil.which(name)))
    (folder / "pipeline.toml").write_text(PIPELINE)
    before = sorted(os.listdir(folder))
    done = run(folder, "run", "pipeline.toml", "--spark", JAVA_HOME="", PATH=str(tools))
    assert done.returncode == 1
    where = "error: pipeline.toml: [source.shop]: "
    assert done.stderr.startswith(f"{where}Spark did not start: it needs Java 17 or newer"), done.stderr
    assert done.stderr.count("\n") == 1
    assert sorted(os.listdir(folder)) == before
    assert run(folder, "run", "pipeline.toml", JAVA_HOME="", PATH=str(tools)).returncode == 0


@pytest.mark.long  # starts Spark in a process of its own
def test_bad_rows_of_a_csv_are_one_line(folder: Path) -> None:
    rows = EVENTS.splitlines()
    rows.insert(-1, "2026-01-05 09:10:00,Exit,gin,cheap")
    (folder / "first.csv").write_text(EVENTS)
    (folder / "second.csv").write_text("\n".join(rows))
    files = ("first.csv", "second.csv")
    done = run(folder, "match", "-q", "theft.fyke", *files, *COLUMNS, "--spark", "-o", "m.csv")
    assert done.returncode == 1
    assert done.stderr.startswith("error: Spark says: [MALFORMED_RECORD_IN_PARSING"), done.stderr
    assert done.stderr.count("\n") == 1
    assert not (folder / "m.csv").exists()
