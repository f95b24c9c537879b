"""A streaming job in a process of its own: events of a Kafka topic to matches in another.

``python -m tests.spark.kafka_job FOLDER ADDRESS JAR,JAR,...`` sends the events of ``FOLDER/events.parquet``
in three portions, stops and starts the query in between, and writes what the topic of matches has at the end.
The last micro-batches are written twice, as after a death between the write and its commit.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming import StreamingQuery

import fyke
from tests.spark.live import die_before_the_last_commits, finished

QUERY = "PATTERN SEQ(A a, B+ b[], C c) WHERE greedy_skip_till_next_match { [k] } WITHIN 40 minutes"
OPTIONS = {"time": "ts", "type": "kind"}
PORTIONS = 3


def run(root: Path, address: str, jars: str) -> None:
    builder = SparkSession.builder.master("local[2]").config("spark.jars", jars)
    builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.ui.enabled", "false")
    spark = builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    table = pq.read_table(root / "events.parquet")
    kinds = from_arrow_schema(table.schema)
    size = -(-table.num_rows // PORTIONS)
    for portion in range(PORTIONS):
        rows = spark.createDataFrame(table.slice(portion * size, size), kinds)
        message = F.to_json(F.struct("*")).alias("value")
        rows.select(F.col("k").cast("string").alias("key"), message).write.format("kafka").options(
            **{"kafka.bootstrap.servers": address, "topic": "events"}
        ).save()
        read = spark.readStream.format("kafka").option("kafka.bootstrap.servers", address)
        messages = read.option("subscribe", "events").option("startingOffsets", "earliest").load()
        event = F.from_json(F.col("value").cast("string"), kinds)
        matches = fyke.match(
            messages.select(event.alias("e")).select("e.*"), QUERY, **OPTIONS, watermark="2 minutes"
        )
        finished(partial(start, matches, root, address))
    die_before_the_last_commits(root / "checkpoint")
    finished(partial(start, matches, root, address))
    stored = spark.read.format("kafka").option("kafka.bootstrap.servers", address)
    found = (
        stored.option("subscribe", "matches")
        .load()
        .selectExpr("CAST(key AS STRING)", "CAST(value AS STRING)")
    )
    found.coalesce(1).write.json(str(root / "found"))
    spark.stop()


def start(matches: DataFrame, root: Path, address: str) -> StreamingQuery:
    message = F.to_json(F.struct("*")).alias("value")
    writer = matches.select(F.col("match_id").alias("key"), message).writeStream.format("kafka")
    writer = writer.option("kafka.bootstrap.servers", address).option("topic", "matches")
    writer = writer.option("checkpointLocation", str(root / "checkpoint"))
    return writer.trigger(availableNow=True).start()


if __name__ == "__main__":
    run(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
