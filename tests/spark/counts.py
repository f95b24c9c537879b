"""Exact counts of matches on Spark: rows and bytes shuffled, bytes sent to Python, conditions decided.

``python -m tests.spark.counts`` prints what they are now, for ``counts.txt``: look at the difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import fyke
from tests.spark.test_slices import KEYED, OPTIONS, PATTERNS, events

PINNED = Path(__file__).parent / "counts.txt"
TABLE = events(3_000)
NAMES = ("rows_shuffled", "bytes_shuffled", "bytes_to_python", "condition_evaluations", "matches")
_TYPES = "PATTERN SEQ(A a, B b) WHERE skip_till_any_match {{ [k]{more} }} WITHIN {within}{rest}"
QUERIES: dict[str, tuple[str, dict[str, Any]]] = {
    **{f"no key, {name}": (query, {}) for name, query in PATTERNS.items()},
    "keyed": (KEYED, {}),
    "keyed, unique order": (KEYED, {"unique_order": True, "tie_breaker": "n"}),
    "keyed, few columns": (f"{KEYED} RETURN a.v AS first, c.v AS last", {}),
    "keyed, filtered": (_TYPES.format(more=" AND a.v > 0.9 AND a.v < b.v", within=50, rest=""), {}),
    "keyed, lazy": (_TYPES.format(more=" AND a.v < b.v", within=50, rest=""), {"engine": "lazy_chain"}),
    "keyed, tree": (_TYPES.format(more=" AND a.v < b.v", within=50, rest=""), {"engine": "tree"}),
    "keyed, counted": (_TYPES.format(more="", within=50, rest=" RETURN count(*) AS n"), {}),
    "keyed, apart": (KEYED, {"output": "non_overlap"}),
    "keyed, compressed": (KEYED, {"output": "compressed"}),
    "strict contiguity": (PATTERNS["contiguity"].replace("partition", "strict"), {}),
    "events": (PATTERNS["any"].replace("WITHIN 8", "WITHIN 8 EVENTS"), {}),
    "one hot key": (KEYED, {}),
}


def counts(spark: SparkSession, name: str) -> dict[str, int]:
    """Return the counts of one query, on two partitions of input and four of the shuffle."""
    with _input(spark, name) as frame:
        return _counts(frame, *QUERIES[name])


def _counts(frame: DataFrame, query: str, options: dict[str, Any]) -> dict[str, int]:
    metrics = fyke.Metrics()
    found = fyke.match(frame, query, metrics=metrics, **{"engine": "automaton", **options, **OPTIONS})
    found.collect()
    told, plan = metrics.get(), _operators(found._jdf.queryExecution().executedPlan())  # type: ignore[operator]
    shuffle = [each for each in plan if each.nodeName() == "Exchange"][-1]  # the first that runs
    python = next(each for each in plan if each.nodeName() == "MapInArrow")
    values = (
        _metric(shuffle, "shuffleRecordsWritten"),
        _metric(shuffle, "dataSize"),
        _metric(python, "pythonDataSent"),
        int(told["condition_evaluations"]),
        int(told["matches"]),
    )
    return dict(zip(NAMES, values, strict=True))


@contextmanager
def _input(spark: SparkSession, name: str) -> Iterator[DataFrame]:
    """Return the events of a query; where one key is hot, a file, of which a sample finds that key."""
    if name != "one hot key":
        yield _frame(spark, TABLE)
        return
    with TemporaryDirectory() as folder:
        pq.write_table(events(12_000, hot=0.8), f"{folder}/events.parquet")
        yield spark.read.parquet(folder)


def _frame(spark: SparkSession, table: pa.Table) -> DataFrame:
    half = table.num_rows // 2
    one, two = (spark.createDataFrame(each) for each in (table.slice(0, half), table.slice(half)))
    return one.union(two).coalesce(2)


def _operators(plan: Any) -> list[Any]:
    """Return a physical plan and all that is below it, from the top."""
    below = plan.children()
    return [plan, *(each for k in range(below.size()) for each in _operators(below.apply(k)))]


def _metric(plan: Any, name: str) -> int:
    return int(plan.metrics().apply(name).value())


def line(name: str, found: dict[str, int]) -> str:
    """Return counts as a line of the file."""
    return f"{name:<22}{''.join(f'{found[each]:>23,}' for each in NAMES)}"


def head() -> str:
    """Return the first line of the file."""
    return f"{'query':<22}{''.join(f'{each:>23}' for each in NAMES)}"


if __name__ == "__main__":
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.adaptive.enabled", "false").config(
        "spark.sql.shuffle.partitions", "4"
    )
    session = builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    print(head())
    for each in QUERIES:
        print(line(each, counts(session, each)))
    session.stop()
