"""Events of a table as a live stream: a file for each micro-batch, or messages of a Kafka topic.

The three examples beside this file use it.  It is no part of Fyke.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming import StreamingQuery

import fyke

_KAFKA = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"


def options(description: str | None) -> argparse.Namespace:
    """Return the options that all live examples have."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--batches", type=int, default=12, help="how many portions the events come in")
    parser.add_argument("--pause", type=float, default=1.0, help="seconds between two of them")
    parser.add_argument("--kafka", help="send them through this broker, as localhost:9092")
    parser.add_argument("--topic", default="events")
    parser.add_argument("--packages", default=_KAFKA, help="Spark's Kafka connector, as Maven knows it")
    parser.add_argument("--jars", help="its jars, separated by commas, where they are here already")
    return parser.parse_args()


def session(name: str, chosen: argparse.Namespace) -> SparkSession:
    """Return a Spark session for a small machine, with the Kafka connector if it is needed."""
    builder = SparkSession.builder.master("local[*]").appName(name)
    builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.ui.enabled", "false")
    if chosen.kafka and chosen.jars:
        builder = builder.config("spark.jars", chosen.jars)
    elif chosen.kafka:
        builder = builder.config("spark.jars.packages", chosen.packages)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


class Feed:
    """A table whose rows arrive portion by portion, in the order they have."""

    def __init__(self, spark: SparkSession, table: pa.Table, chosen: argparse.Namespace) -> None:
        self.spark, self.table, self.chosen = spark, table, chosen
        self.folder = Path(tempfile.mkdtemp(prefix="live-"))
        (self.folder / "in").mkdir()
        self.schema = from_arrow_schema(table.schema)
        self.begun = threading.Event()

    def events(self) -> DataFrame:
        """Return the stream."""
        reader = self.spark.readStream
        if not self.chosen.kafka:
            return reader.schema(self.schema).option("maxFilesPerTrigger", 1).parquet(f"{self.folder}/in")
        messages = (
            reader.format("kafka")
            .option("kafka.bootstrap.servers", self.chosen.kafka)
            .option("subscribe", self.chosen.topic)
            .option("startingOffsets", "earliest")
            .load()
        )
        return messages.select(F.from_json(F.col("value").cast("string"), self.schema).alias("e")).select(
            "e.*"
        )

    def start(self) -> threading.Thread:
        """Begin to send."""
        thread = threading.Thread(target=self._send, daemon=True)
        thread.start()
        return thread

    def _send(self) -> None:
        size = -(-self.table.num_rows // self.chosen.batches)
        for number in range(self.chosen.batches):
            part = self.table.slice(number * size, size)
            if self.chosen.kafka:
                rows = self.spark.createDataFrame(part.to_pandas(), self.schema)
                rows.select(F.to_json(F.struct("*")).alias("value")).write.format("kafka").option(
                    "kafka.bootstrap.servers", self.chosen.kafka
                ).option("topic", self.chosen.topic).save()
            else:
                path = self.folder / f"{number:04}.parquet"
                pq.write_table(part, path)
                path.rename(self.folder / "in" / path.name)  # a file appears whole
            self.begun.set()
            time.sleep(self.chosen.pause)

    def show(self, matches: DataFrame, line: str) -> StreamingQuery:
        """Print every match as it comes, as ``line`` with its columns; return the query."""

        def write(frame: DataFrame, _: int) -> None:
            for row in frame.collect():
                print(line.format(**row.asDict()), flush=True)

        writer = matches.writeStream.foreachBatch(write)
        return writer.option("checkpointLocation", f"{self.folder}/checkpoint").start()

    def run(self, matches: DataFrame, line: str) -> None:
        """Send everything, print what is found, and say at the end what was counted."""
        sender = self.start()
        self.begun.wait()  # the first message makes the topic
        query = self.show(matches, line)
        sender.join()
        query.processAllAvailable()
        seen = fyke.progress(query)
        query.stop()
        print(f"{seen['batches']} micro-batches, {seen['events']:,} events, {seen['matches']:,} matches")
