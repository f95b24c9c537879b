"""Checkpoints of streams that have stopped in the middle, kept for later versions to go on from.

``python -m tests.spark.leave_behind`` writes those of the state's format of today to
``tests/spark/left_behind/vN``.  Those of older formats are never written again: they are what users have.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

import fyke
from fyke.engine.state_bytes import FORMAT
from tests.spark.live import finished
from tests.spark.streams import OPTIONS, in_time, stream
from tests.spark.tables import settings

LEFT_BEHIND = Path(__file__).parent / "left_behind"
DELAY = "2 minutes"
_NOWHERE = "/left-behind"
# What the state of each holds: open runs with groups, stored events and matches that wait, ends of matches
# that were reported, nodes of a tree, running totals.
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "open_runs": (
        "PATTERN SEQ(A a, B+ b[], C c) WHERE { [k] AND b[i].x >= b[i-1].x } WITHIN 30 minutes",
        {},
    ),
    "waiting_matches": (
        "PATTERN SEQ(A a, B b, ~C c) WHERE skip_till_any_match { [k] AND a.x < b.x } WITHIN 20 minutes",
        {"engine": "lazy_chain"},
    ),
    "non_overlap": (
        "PATTERN SEQ(A a, B+ b[]) WHERE greedy_skip_till_next_match { [k] } WITHIN 20 minutes",
        {"output": "non_overlap"},
    ),
    "tree": (
        "PATTERN SEQ(A a, B b, C c) WHERE skip_till_any_match { [k] AND a.x < b.x } WITHIN 20 minutes",
        {"engine": "tree"},
    ),
    "totals": (
        "PATTERN SEQ(A a, B b) WHERE skip_till_any_match { [k] } WITHIN 10 minutes "
        "RETURN count(*) AS n, sum(b.x) AS total",
        {},
    ),
}


def run(
    spark: SparkSession, root: Path, query: str, options: dict[str, Any], schema: pa.Schema
) -> list[dict[str, Any]]:
    """Let a query go on from ``root/checkpoint`` with the files in ``root/in``; return what it reports."""
    kinds = from_arrow_schema(schema, prefer_timestamp_ntz=True)
    files = spark.readStream.schema(kinds).option("maxFilesPerTrigger", 1).parquet(str(root / "in"))
    matches = fyke.match(files, query, **{**OPTIONS, **options}, watermark=DELAY)
    reported: list[dict[str, Any]] = []

    def write(frame: DataFrame, _: int) -> None:
        reported.extend(row.asDict() for row in frame.collect())

    mode = "update" if "count(*)" in query else "append"
    writer = matches.writeStream.outputMode(mode).foreachBatch(write)
    writer = writer.option("checkpointLocation", str(root / "checkpoint")).trigger(availableNow=True)
    finished(writer.start)
    return reported


def move(checkpoint: Path, old: str, new: str) -> None:
    """Write another folder where a checkpoint names its own: Spark's checkpoints know their place."""
    for path in (*checkpoint.glob("sources/0/*"), *checkpoint.glob("state/0/_metadata/v2/*")):
        path.write_text(path.read_text().replace(old, new))


def take_up(left: Path, root: Path) -> None:
    """Copy a checkpoint that was left behind, so that a query can go on from it."""
    shutil.copytree(left / "checkpoint", root / "checkpoint")
    move(root / "checkpoint", _NOWHERE, str(root))


def leave(spark: SparkSession, folder: Path, name: str, before: pa.Table) -> None:
    """Write the checkpoint of one query that has read ``before``, without paths of this machine."""
    query, options = CASES[name]
    with tempfile.TemporaryDirectory() as made, settings(spark, {"spark.sql.shuffle.partitions": "1"}):
        root = Path(made)
        (root / "in").mkdir()
        pq.write_table(before, root / "in" / "before.parquet")
        reported = run(spark, root, query, options, before.schema)
        for path in (root / "checkpoint").rglob("*.crc"):
            path.unlink()
        move(root / "checkpoint", str(root), _NOWHERE)
        shutil.rmtree(folder / name, ignore_errors=True)
        shutil.copytree(root / "checkpoint", folder / name / "checkpoint")
    about = {
        "query": query,
        "options": options,
        "reported": sorted(row["match_id"] for row in reported if "match_id" in row),
    }
    (folder / name / "left.json").write_text(json.dumps(about, indent=1) + "\n")


def main() -> None:
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    folder = LEFT_BEHIND / f"v{FORMAT}"
    folder.mkdir(parents=True, exist_ok=True)
    events = in_time(stream())
    half = events.num_rows // 2
    pq.write_table(events.slice(0, half), folder / "before.parquet")
    pq.write_table(events.slice(half), folder / "after.parquet")
    for name in CASES:
        leave(spark, folder, name, events.slice(0, half))
    spark.stop()


if __name__ == "__main__":
    main()
