"""Which items left the shop unpaid, and by which door do they leave?  On Spark, from a Parquet file.

Run it with ``python examples/shoplifting_on_spark.py``.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import fyke
from fyke.datasets import rfid

# The last look at a shelf is enough: one match for each theft.
UNPAID = """
    PATTERN SEQ(Shelf s, ~OR(Shelf again, Register paid), Exit e)
    WHERE { [tag_id] }
    WITHIN 12 hours
    RETURN s.product AS product, s.area AS shelf, e.area AS door, e.ts AS gone
"""


def main() -> None:
    """Write readings to a file, as a shop would, and ask Spark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    builder = SparkSession.builder.master("local[*]").appName("shoplifting")
    # As many parts as this small machine can use; Spark's default is 200.
    spark = builder.config("spark.sql.shuffle.partitions", "4").getOrCreate()
    shop = rfid.generate(chosen.rows, chosen.seed)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "readings.parquet"
        pq.write_table(shop.table, path)
        readings = spark.read.parquet(str(path))
        thefts = fyke.match(readings, UNPAID, time="ts", type="kind").cache()
        print(f"{chosen.rows:,} readings, {thefts.count():,} thefts, {shop.truth.num_rows:,} planted")
        # The result is a DataFrame like any other.
        doors = thefts.groupBy("door").agg(F.count("*").alias("thefts"), F.mode("product").alias("favourite"))
        doors.orderBy(F.desc("thefts"), "door").show()
    spark.stop()


if __name__ == "__main__":
    main()
