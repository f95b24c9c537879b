"""What a new user does, in an empty folder with nothing but the wheel: run by scripts/matrix.py.

Every road is taken once: the command on a CSV, tables of several kinds, every engine, rules, why_not, a
picture, a DataFrame, SQL and a stream.  Each result is compared with what it must be.
"""

from __future__ import annotations

import csv
import importlib.metadata
import json
import platform
import subprocess
import sys
import tempfile
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import fyke

READINGS = [
    {"minute": 0, "kind": "Shelf", "tag": "razor"},
    {"minute": 1, "kind": "Shelf", "tag": "whisky"},
    {"minute": 8, "kind": "Register", "tag": "whisky"},
    {"minute": 13, "kind": "Exit", "tag": "whisky"},
    {"minute": 17, "kind": "Exit", "tag": "razor"},
]
STOLEN = "PATTERN SEQ(Shelf a, ~Register b, Exit c) WHERE { [tag] } WITHIN 720"
ANY = "PATTERN SEQ(Shelf a, Exit c) WHERE skip_till_any_match { [tag] } WITHIN 720"
TREND = "PATTERN Shelf+ a[] WHERE skip_till_next_match { a[i].minute > a[i-1].minute } WITHIN 720"
COLUMNS = {"time": "minute", "type": "kind"}
DAY = datetime(2026, 1, 1, tzinfo=timezone.utc)
WHO = [("razor", 0, 17)]


def same(what: str, found: object, expected: object) -> None:
    """Print that a road works, or end the run."""
    if found != expected:
        sys.exit(f"{what}: found {found!r}, expected {expected!r}")
    print(f"  {what}")


def who(rows: list[dict[str, object]]) -> list[tuple[object, ...]]:
    """Return which tag matched, from when to when."""
    return sorted((row["tag"], row["start"], row["end"]) for row in rows)


def on_the_command_line() -> None:
    """Match a CSV file with the command that was installed."""
    with open("readings.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, READINGS[0])
        writer.writeheader()
        writer.writerows(READINGS)
    printed = command("match", "readings.csv", "-q", STOLEN, "--time", "minute", "--type", "kind", "--json")
    same("the command on a CSV", who(json.loads(printed)["rows"]), WHO)
    for name in ("match", "check", "explain"):
        same(f"the help of fyke {name}", "--time" in command(name, "--help"), True)


def command(*arguments: str) -> str:
    """Run the command and return what it prints."""
    program = str(Path(sys.executable).parent / "fyke")
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"fyke {arguments[0]}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def on_tables() -> None:
    """Match lists, Arrow and pandas; try each engine, a group, the diagnosis and the pictures."""
    same("a list of dicts", who(fyke.match(READINGS, STOLEN, **COLUMNS).to_pylist()), WHO)
    table = pa.Table.from_pylist(READINGS)
    same("an Arrow table", who(fyke.match(table, STOLEN, **COLUMNS).to_pylist()), WHO)
    frame = fyke.match(pd.DataFrame(READINGS), STOLEN, **COLUMNS)
    same("a pandas frame", who(frame.to_dict("records")), WHO)
    for engine in ("automaton", "lazy_chain", "lazy_tree", "tree"):
        found = fyke.match(table, ANY, engine=engine, **COLUMNS)
        same(f"the engine {engine}", sorted(found["tag"].to_pylist()), ["razor", "whisky"])
    same("a group", fyke.match(table, TREND, **COLUMNS).num_rows, 3)
    rules = fyke.rules({"stolen": STOLEN, "broken": "PATTERN SEQ("}).run(table, **COLUMNS)
    same("rules", [len(rules.failed), rules.all().num_rows], [1, 1])
    cause = fyke.why_not(table, STOLEN.replace("Exit", "exit"), **COLUMNS).cause
    same("why_not", cause, "missing_type")
    same("a picture", fyke.draw(fyke.parse(STOLEN)).svg.startswith("<svg"), True)


def on_spark(spark: SparkSession) -> None:
    """Match a DataFrame, in SQL, and as a stream."""
    frame = spark.createDataFrame(READINGS)
    found = fyke.match(frame, STOLEN, **COLUMNS)
    same("a DataFrame", who([row.asDict() for row in found.collect()]), WHO)
    on_sql(spark, frame)
    with tempfile.TemporaryDirectory() as folder:
        timed = [{**each, "minute": DAY + timedelta(minutes=each["minute"])} for each in READINGS]
        pq.write_table(pa.Table.from_pylist(timed), f"{folder}/readings.parquet")
        schema = spark.read.parquet(folder).schema
        stream = fyke.match(
            spark.readStream.schema(schema).parquet(folder),
            ANY.replace("720", "12 hours"),
            watermark="1 minute",
            **COLUMNS,
        )
        query = stream.writeStream.format("memory").queryName("found").start()
        query.processAllAvailable()
        query.stop()
    same("a stream", [row.tag for row in spark.table("found").collect()], ["whisky"])


def on_sql(spark: SparkSession, frame: DataFrame) -> None:
    """Match with the table function."""
    frame.createOrReplaceTempView("readings")
    text = f"""SELECT * FROM fyke_match(TABLE(readings) PARTITION BY tag ORDER BY minute,
               query => '{STOLEN}', time => 'minute', type => 'kind')"""
    fyke.register(spark)
    same("fyke_match in SQL", who([row.asDict() for row in spark.sql(text).collect()]), WHO)


def main() -> None:
    """Take every road."""
    here = Path(fyke.__file__)
    if "site-packages" not in here.parts:
        sys.exit(f"this is not the wheel: {here}")
    names = ("fyke", "pyspark", "pyarrow", "numpy", "numba", "pandas", "lark", "rich", "typer")
    print(
        f"  Python {platform.python_version()}",
        *(f"{each} {importlib.metadata.version(each)}" for each in names),
        sep=", ",
    )
    on_the_command_line()
    on_tables()
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    on_spark(spark)
    spark.stop()


if __name__ == "__main__":
    main()
