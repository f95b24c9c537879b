"""A streaming job in a process of its own, to be killed: files in, matches out, until all files are read.

``python -m tests.spark.stream_job FOLDER files|batches``.  With ``batches`` each micro-batch is written to a
file of its own by ``foreachBatch``, and the process dies once after the file and before the commit.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import fyke

QUERY = "PATTERN SEQ(A a, B+ b[], ~C c) WHERE greedy_skip_till_next_match { [k] } WITHIN 40 seconds"
OPTIONS = {"time": "ts", "type": "kind"}
SCHEMA = "ts timestamp, kind string, k bigint, n bigint"


def run(root: Path, sink: str) -> None:
    builder = SparkSession.builder.master("local[2,4]").appName("killed")
    builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.ui.enabled", "false")
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    # Two files are two tasks, so that the rows of a bucket come in an order that the next try may not repeat.
    events = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 2).parquet(str(root / "in"))
    matches = fyke.match(events, QUERY, **OPTIONS, watermark="5 seconds")
    writer = matches.writeStream.option("checkpointLocation", str(root / "checkpoint"))
    if sink == "files":
        writer = writer.format("parquet").option("path", str(root / "out"))
    else:
        writer = writer.foreachBatch(lambda frame, number: write(root, frame, number))
    threading.Thread(target=tell_failures, args=(spark, root), daemon=True).start()
    query = writer.trigger(availableNow=True).start()
    (root / "started").touch()
    query.awaitTermination()
    spark.stop()


def tell_failures(spark: SparkSession, root: Path) -> None:
    """Write down how many tasks have failed, again and again."""
    store = spark.sparkContext._jsc.sc().statusStore()  # type: ignore[union-attr]
    while True:
        (root / "failures.part").write_text(str(store.executorList(True).apply(0).failedTasks()))
        (root / "failures.part").rename(root / "failures")
        time.sleep(0.1)


def write(root: Path, frame: DataFrame, number: int) -> None:
    ids = sorted(row.match_id for row in frame.select("match_id").collect())
    turn = len(list((root / "out").glob(f"{number:04}.*"))) if (root / "out").exists() else 0
    (root / "out").mkdir(exist_ok=True)
    (root / "out" / f"{number:04}.{turn}").write_text("\n".join(ids))
    if number % 3 == 1 and turn == 0:
        os._exit(9)


if __name__ == "__main__":
    run(Path(sys.argv[1]), sys.argv[2])
