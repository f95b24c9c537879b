"""Old checkpoints: what goes on from them, and what is refused; see "Changes" in docs/streaming.md."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import fyke
from fyke.errors import UnknownAttributeError
from tests.spark.live import Live, finished
from tests.spark.streams import SECOND, START
from tests.spark.tables import assert_same, on_table, settings

pytestmark = [pytest.mark.spark, pytest.mark.long]  # every micro-batch of Spark takes seconds

OPTIONS: dict[str, Any] = {"time": "ts", "type": "kind"}
# Conditions on one attribute, and a result without whole events.
QUERY = """
PATTERN SEQ(A a, B b, C c)
WHERE skip_till_any_match { [k] AND a.x < b.x AND c.x > 0 }
WITHIN 1 minute
RETURN a.x AS x
"""
KEYS = 40


def some_events(second: int, kinds: str, x: int) -> pa.Table:
    """Return events of each type for each key, one a second from ``second`` on."""
    ticks = [START + (second + at) * SECOND for at in range(len(kinds)) for _ in range(KEYS)]
    return pa.table(
        {
            "kind": [kind for kind in kinds for _ in range(KEYS)],
            "ts": pa.array(ticks, pa.int64()).cast(pa.timestamp("us", tz="UTC")),
            "k": pa.array([*range(KEYS)] * len(kinds), pa.int64()),
            "x": pa.array([x + at for at in range(len(kinds)) for _ in range(KEYS)], pa.int64()),
            "spare": ["s"] * (len(kinds) * KEYS),
        }
    )


FIRST, SECOND_PART = some_events(0, "AB", 1), some_events(10, "BC", 5)
END = some_events(10_000, "X", 0)


class Stopped:
    """A query that has stopped with open runs; its checkpoint is copied for everyone who goes on from it."""

    def __init__(self, spark: SparkSession, root: Path, query: str, **options: Any) -> None:
        self.spark, self.root, self.count = spark, root, 0
        self.live = Live(spark, root, FIRST.schema)
        self.live.add(FIRST)
        frame = self.matches(query, **options)
        finished(lambda: self.live.start(frame, "base", once=True))
        self.live.add(SECOND_PART)
        self.live.add(END)

    def matches(self, query: str, events: DataFrame | None = None, **options: Any) -> DataFrame:
        events = self.live.events() if events is None else events
        return fyke.match(events, query, **{**OPTIONS, **options}, watermark="1 second")

    def copied(self) -> str:
        """Return the name of a copy of what the query has written, and of its checkpoint."""
        name, self.count = f"copy{self.count}", self.count + 1
        for suffix in ("", ".checkpoint"):
            shutil.copytree(self.root / f"base{suffix}", self.root / f"{name}{suffix}")
        return name

    def goes_on(self, frame: DataFrame) -> pa.Table:
        """Let another query go on; return all that has been written."""
        name = self.copied()
        finished(lambda: self.live.start(frame, name, once=True))
        return self.live.written(frame, name)

    def refused(self, frame: DataFrame, name: str | None = None) -> str:
        """Let another query go on; return why it was refused, before it has written or committed anything."""
        name = self.copied() if name is None else name
        commits = self.root / f"{name}.checkpoint" / "commits"
        before = sorted(path.name for path in commits.iterdir())
        with pytest.raises(StreamingQueryException) as caught:
            finished(lambda: self.live.start(frame, name, once=True))
        assert sorted(path.name for path in commits.iterdir()) == before
        assert self.live.written(frame, name).num_rows == 0
        return str(caught.value)


@pytest.fixture(scope="module")
def stopped(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Stopped:
    return Stopped(spark, tmp_path_factory.mktemp("stopped"), QUERY)


def expected(query: str, **options: Any) -> pa.Table:
    result = on_table(pa.concat_tables([FIRST, SECOND_PART]), query, **{**OPTIONS, **options})
    assert result.num_rows >= KEYS
    return result


def test_layout_label_comments_and_order_of_conditions_are_no_change(stopped: Stopped) -> None:
    cosmetic = """Alarm: PATTERN SEQ(A a, B b,
        C c) -- another comment
    WHERE skip_till_any_match { c.x > 0 AND a.x < b.x AND [k] } WITHIN 60 seconds RETURN a.x AS x"""
    assert_same(stopped.goes_on(stopped.matches(cosmetic)), expected(QUERY))


CHANGES: dict[str, tuple[str, str, str]] = {
    "pattern": ("C c)", "D c)", "-PATTERN SEQ(A a, B b, C c)\n+PATTERN SEQ(A a, B b, D c)"),
    "condition": ("c.x > 0", "c.x > 1", "c.x > 1"),
    "strategy": ("skip_till_any_match", "skip_till_next_match", "-WHERE skip_till_any_match"),
    "window": ("1 minute", "2 minutes", "-WITHIN 1 minute\n+WITHIN 2 minutes"),
    "return": ("a.x AS x", "b.x AS x", "-RETURN a.x AS x\n+RETURN b.x AS x"),
    "whole events": ("RETURN a.x AS x", "", "-RETURN a.x AS x"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_another_query_is_refused_with_the_difference(stopped: Stopped, name: str) -> None:
    old, new, difference = CHANGES[name]
    said = stopped.refused(stopped.matches(QUERY.replace(old, new)))
    assert "the saved state belongs to another query" in said
    assert difference in said
    assert "Start the changed query with a new checkpointLocation" in said


@pytest.mark.parametrize(
    "options, message, difference",
    [
        ({"output": "non_overlap"}, "was made for output='all'", "-output: all\n+output: non_overlap"),
        (
            {"engine": "lazy_chain"},
            "was made by engine 'lazy_tree'",
            "-engine: lazy_tree\n+engine: lazy_chain",
        ),
        ({"tie_breaker": ["spare"]}, "with another schema", "+tie_breaker: spare"),
    ],
    ids=["output", "engine", "tie_breaker"],
)
def test_other_options_are_refused_by_name(
    stopped: Stopped, options: dict[str, Any], message: str, difference: str
) -> None:
    said = stopped.refused(stopped.matches(QUERY, **options))
    assert message in said
    assert difference in said


def test_running_totals_instead_of_matches_are_refused(stopped: Stopped) -> None:
    totals = stopped.matches(QUERY.replace("a.x AS x", "count(*) AS n"))
    name = stopped.copied()
    writer = totals.writeStream.outputMode("update").foreachBatch(lambda *_: None)
    writer = writer.option("checkpointLocation", str(stopped.root / f"{name}.checkpoint"))
    with pytest.raises(StreamingQueryException) as caught:
        finished(lambda: writer.trigger(availableNow=True).start())
    assert "outputMode" in str(caught.value) or "belongs to another query" in str(caught.value)


def wider(events: DataFrame) -> DataFrame:
    return events.withColumn("more", F.lit(7))


def narrower(events: DataFrame) -> DataFrame:
    return events.drop("spare")


def turned(events: DataFrame) -> DataFrame:
    return events.select(*reversed(events.columns))


def retyped(events: DataFrame) -> DataFrame:
    return events.withColumn("x", F.col("x").cast("double"))


Drift = Callable[[DataFrame], DataFrame]


@pytest.mark.parametrize("drift", [wider, narrower])
def test_columns_that_the_query_does_not_need_may_come_and_go(stopped: Stopped, drift: Drift) -> None:
    frame = stopped.matches(QUERY, drift(stopped.live.events()))
    assert_same(stopped.goes_on(frame), expected(QUERY))


def test_a_needed_column_of_another_type_is_refused(stopped: Stopped) -> None:
    said = stopped.refused(stopped.matches(QUERY, retyped(stopped.live.events())))
    assert "events with another schema" in said
    assert "-column x: int64" in said
    assert "+column x: double" in said


def test_another_order_of_needed_columns_is_refused(stopped: Stopped) -> None:
    """They make up ``match_id`` in their order."""
    said = stopped.refused(stopped.matches(QUERY, turned(stopped.live.events())))
    assert "events with another schema" in said
    assert "-column k: int64" in said
    assert "+column k: int64" in said


def test_a_needed_column_that_is_missing_is_refused_by_the_call(stopped: Stopped) -> None:
    with pytest.raises(UnknownAttributeError, match="x"):
        stopped.matches(QUERY, stopped.live.events().drop("x"))


def test_spark_keeps_the_number_of_shuffle_partitions(stopped: Stopped) -> None:
    with settings(stopped.spark, {"spark.sql.shuffle.partitions": "7"}):
        assert_same(stopped.goes_on(stopped.matches(QUERY)), expected(QUERY))
    state = stopped.root / f"copy{stopped.count - 1}.checkpoint" / "state" / "0"
    assert sorted(path.name for path in state.glob("[0-9]*")) == ["0", "1", "2", "3"]


WHOLE = QUERY.replace("RETURN a.x AS x", "")
ORDERED = QUERY.replace("skip_till_any_match", "greedy_skip_till_next_match")


@pytest.fixture(scope="module")
def whole(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Stopped:
    return Stopped(spark, tmp_path_factory.mktemp("whole"), WHOLE)


@pytest.fixture(scope="module")
def ordered(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Stopped:
    return Stopped(spark, tmp_path_factory.mktemp("ordered"), ORDERED)


@pytest.mark.parametrize("drift, difference", [(wider, "+column more: int32"), (narrower, "-column spare")])
def test_a_column_more_or_less_is_refused_if_the_result_has_whole_events(
    whole: Stopped, drift: Drift, difference: str
) -> None:
    said = whole.refused(whole.matches(WHOLE, drift(whole.live.events())))
    assert "events with another schema" in said
    assert difference in said


@pytest.mark.parametrize("drift, difference", [(wider, "+column more"), (narrower, "-column spare")])
def test_a_column_that_may_order_simultaneous_events_is_needed(
    ordered: Stopped, drift: Drift, difference: str
) -> None:
    said = ordered.refused(ordered.matches(ORDERED, drift(ordered.live.events())))
    assert "events with another schema" in said
    assert difference in said


def test_where_times_order_all_events_columns_may_come(spark: SparkSession, tmp_path: Path) -> None:
    unique = Stopped(spark, tmp_path, ORDERED, unique_order=True)
    frame = unique.matches(ORDERED, wider(unique.live.events()), unique_order=True)
    assert_same(unique.goes_on(frame), expected(ORDERED, unique_order=True))


def test_a_changed_query_is_refused_wherever_the_state_is(stopped: Stopped) -> None:
    """The first rows after the start need not be of a key that has state."""
    live = Live(stopped.spark, stopped.root / "elsewhere", FIRST.schema)
    live.add(some_events(3, "A", 1).slice(KEYS - 1).set_column(2, "k", pa.array([10**6], pa.int64())))
    changed = stopped.matches(QUERY.replace("1 minute", "3 minutes"), live.events())
    assert "-WITHIN 1 minute\n+WITHIN 3 minutes" in stopped.refused(changed)


def files_of_state(root: Path, name: str) -> list[Path]:
    """Return the files that the state of a query is in, as it was when it stopped."""
    state = root / f"{name}.checkpoint" / "state" / "0"
    return sorted([*state.glob("[0-9]/SSTs/*.sst"), *state.glob("[0-9]/2.zip")])


def flip(path: Path, share: float) -> None:
    """Flip a bit of a file, and leave nothing by which the file system could notice."""
    data = bytearray(path.read_bytes())
    data[int(len(data) * share)] ^= 0x10
    path.write_bytes(data)
    (path.parent / f".{path.name}.crc").unlink(missing_ok=True)


@pytest.mark.parametrize("share", [0.05, 0.2])
def test_a_damaged_checkpoint_is_an_error_and_never_other_matches(stopped: Stopped, share: float) -> None:
    name = stopped.copied()
    for path in files_of_state(stopped.root, name):
        flip(path, share)
    said = stopped.refused(stopped.matches(QUERY), name)
    assert "CANNOT_LOAD_STATE_STORE" in said or "the saved state is damaged" in said, said


def test_running_totals_are_of_one_query_when_no_window_is_open(spark: SparkSession, tmp_path: Path) -> None:
    """Totals stay when the state of the pattern is gone, and another query must not add to them."""
    counted = "PATTERN SEQ(A a, B b) WHERE skip_till_any_match { [k] } WITHIN 1 minute RETURN count(*) AS n"
    live = Live(spark, tmp_path, FIRST.schema)
    told: list[int] = []

    def run(query: str) -> None:
        frame = fyke.match(live.events(), query, **OPTIONS, watermark="1 second")
        writer = frame.writeStream.outputMode("update").trigger(availableNow=True)
        writer = writer.foreachBatch(lambda batch, _: told.extend(row.n for row in batch.collect()))
        finished(lambda: writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start())

    live.add(some_events(0, "AB", 1))
    live.add(some_events(1_000, "X", 0))
    live.add(some_events(2_000, "X", 0))
    run(counted)
    assert told == [1] * KEYS
    live.add(some_events(3_000, "ABC", 1))
    live.add(some_events(4_000, "X", 0))
    live.add(some_events(5_000, "X", 0))
    with pytest.raises(StreamingQueryException, match="belongs to another query") as caught:
        run(counted.replace("B b", "C c"))
    assert "+PATTERN SEQ(A a, C c)" in str(caught.value)
    run(f"Counted: {counted}")
    assert told == [1] * KEYS + [2] * KEYS


def test_the_same_frame_is_refused_each_time(stopped: Stopped) -> None:
    """Workers outlive a query: what they know of its first start does not let the second one pass."""
    changed, name = stopped.matches(QUERY.replace("1 minute", "2 minutes")), stopped.copied()
    for _ in range(2):
        assert "belongs to another query" in stopped.refused(changed, name)
