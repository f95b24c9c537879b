"""Patterns on streaming DataFrames: the rows of the batch, as soon as they are certain."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import fyke
from fyke.errors import InputError, OptionError, StreamError, TimeColumnError
from tests.spark.live import Live, counts, settle, state_rows
from tests.spark.streams import OPTIONS, QUERIES, SECOND, START, in_time, stream, the_end
from tests.spark.tables import assert_same, on_table

pytestmark = pytest.mark.spark

# Every strategy, absences everywhere, groups, alternatives, intervals, counted windows, several keys or none.
TOGETHER = [
    ("any", "next", "greedy", "robust"),
    ("partition contiguity", "strict contiguity", "keyless", "two keys"),
    ("absence between", "absence at the start", "absence at the end", "or"),
    ("non overlap", "tie breaker", "lasting, group", "returned"),
    ("funnel", "timeouts", "optional part", "touching"),
]


def shuffled(table: pa.Table, seed: int) -> pa.Table:
    return table.take(pa.array(np.random.default_rng(seed).permutation(table.num_rows)))


@pytest.mark.long  # every micro-batch of Spark takes seconds
@pytest.mark.parametrize("names", TOGETHER, ids=lambda names: names[0])
def test_a_stream_brings_the_rows_of_the_batch(
    spark: SparkSession, tmp_path: Path, names: tuple[str, ...]
) -> None:
    events = in_time(stream())
    live = Live(spark, tmp_path, events.schema)
    frames, queries = {}, {}
    for name in names:
        query, more = QUERIES[name]
        frames[name] = fyke.match(live.events(), query, **{**OPTIONS, **more}, watermark="2 minutes")
    third = events.num_rows // 3
    for part in range(3):
        live.add(shuffled(events.slice(part * third, None if part == 2 else third), part))
    live.add(the_end(events))
    for name, frame in frames.items():
        queries[name] = live.start(frame, name.replace(" ", "_").replace(",", ""))
    matched = 0
    for name, query in queries.items():
        settle(query)
        query.stop()
        expected = on_table(events, QUERIES[name][0], **{**OPTIONS, **QUERIES[name][1]})
        found = live.written(frames[name], name.replace(" ", "_").replace(",", ""))
        assert_same(found, expected)
        matched += expected.num_rows
        assert counts(query)["late"] == 0
        if QUERIES[name][1].get("output") != "non_overlap" and "EVENTS" not in QUERIES[name][0]:
            # A pattern of ANY looks at the last event, too, which waits to be read.
            assert state_rows(query) <= (3 if "ANY" in QUERIES[name][0] else 0), name
    assert matched > 50


@pytest.mark.long  # every micro-batch of Spark takes seconds
def test_a_watermark_that_falls_on_the_end_of_a_window_loses_nothing(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A timer for the next microsecond is one for the next millisecond, and must outlive this batch."""
    events = in_time(stream())
    live = Live(spark, tmp_path, events.schema)
    query = "PATTERN SEQ(A a, B+ b[], ~C c) WHERE greedy_skip_till_next_match { [k] } WITHIN 20 minutes"
    frame = fyke.match(live.events(), query, **OPTIONS, watermark="2 minutes")
    for part in (events.slice(0, 120), events.slice(120), the_end(events)):
        live.add(part)
    running = live.start(frame, "matches")
    settle(running)
    running.stop()
    assert_same(live.written(frame, "matches"), on_table(events, query, **OPTIONS))


def moments(*seconds: int, kinds: str) -> pa.Table:
    """Return events at seconds, of the types that letters name."""
    ticks = pa.array([START + second * SECOND for second in seconds], pa.int64())
    return pa.table(
        {"kind": list(kinds), "ts": ticks.cast(pa.timestamp("us", tz="UTC")), "k": [1] * len(kinds)}
    )


# A pattern, and the watermark from which on its match of A at 0 s and B at 20 s is certain.  X comes at 29 s.
CERTAIN = {
    "any": ("PATTERN SEQ(A a, B b) WHERE skip_till_any_match { [k] } WITHIN 1 minute", 20),
    "next": ("PATTERN SEQ(A a, B b) WHERE { [k] } WITHIN 1 minute", 20),
    "contiguous": ("PATTERN SEQ(A a, B b) WHERE partition_contiguity { [k] } WITHIN 1 minute", 20),
    "strict": ("PATTERN SEQ(A a, B b) WHERE strict_contiguity { [k] } WITHIN 1 minute", 20),
    "streak": ("PATTERN SEQ(A a, B+ b[]) WHERE greedy_partition_contiguity { [k] } WITHIN 1 minute", 29),
    "strict streak": ("PATTERN SEQ(A a, B+ b[]) WHERE greedy_strict_contiguity { [k] } WITHIN 1 minute", 29),
    "non_overlap": ("PATTERN SEQ(A a, B b) WHERE { [k] } WITHIN 1 minute", 20),
    "absence between": ("PATTERN SEQ(A a, ~C c, B b) WHERE { [k] } WITHIN 1 minute", 20),
    "absence at the end": ("PATTERN SEQ(A a, B b, ~C c) WHERE { [k] } WITHIN 1 minute", 60),
    "greedy": ("PATTERN SEQ(A a, B+ b[]) WHERE greedy_skip_till_next_match { [k] } WITHIN 1 minute", 60),
    "robust": ("PATTERN SEQ(A a, B b) WHERE robust_skip_till_next_match { [k] } WITHIN 1 minute", 60),
}


@pytest.mark.long  # every micro-batch of Spark takes seconds
@pytest.mark.parametrize("third", range(3))  # each query needs workers of its own
def test_a_match_is_reported_as_soon_as_it_is_certain(
    spark: SparkSession, tmp_path: Path, third: int
) -> None:
    certain = dict(list(CERTAIN.items())[third::3])
    first = moments(0, 20, kinds="AB")
    live = Live(spark, tmp_path, first.schema)
    frames = {
        name: fyke.match(live.events(), query, **OPTIONS, watermark="10 seconds", output=output)
        for name, (query, _) in certain.items()
        for output in (name if name == "non_overlap" else "all",)
    }
    live.add(first)
    queries = {name: live.start(frame, name.replace(" ", "_")) for name, frame in frames.items()}
    seen: dict[str, int] = {}
    for second in (29, 30, 69, 70, 71):  # the watermark is ten seconds behind
        live.add(moments(second, kinds="X"))
        for name, query in queries.items():
            settle(query)
            if live.written(frames[name], name.replace(" ", "_")).num_rows:
                seen.setdefault(name, second - 10)
    for query in queries.values():
        query.stop()
    # The first watermark at which it could be known, of those that came.
    assert seen == {
        name: min(w for w in (19, 20, 59, 60, 61) if w >= at) for name, (_, at) in certain.items()
    }


@pytest.mark.long  # every micro-batch of Spark takes seconds
def test_a_query_goes_on_where_it_stopped(spark: SparkSession, tmp_path: Path) -> None:
    events = in_time(stream(120))
    live = Live(spark, tmp_path, events.schema)
    query, _ = QUERIES["next"]
    for part in range(4):
        live.add(events.slice(part * 30, None if part == 3 else 30))
        frame = fyke.match(live.events(), query, **OPTIONS, watermark="1 minute")
        running = live.start(frame, "out")
        settle(running)
        running.stop()
    live.add(the_end(events))
    running = live.start(frame, "out")
    settle(running)
    running.stop()
    assert_same(live.written(frame, "out"), on_table(events, query, **OPTIONS))


@pytest.mark.long  # every micro-batch of Spark takes seconds
def test_a_changed_query_on_an_old_checkpoint_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    live = Live(spark, tmp_path, moments(0, kinds="A").schema)
    live.add(moments(0, kinds="A"))
    text = "PATTERN SEQ(A a, B b) WHERE { [k] } WITHIN 1 minute"
    running = live.start(fyke.match(live.events(), text, **OPTIONS, watermark="1 second"), "out")
    settle(running)
    running.stop()
    live.add(moments(5, kinds="B"))
    changed = text.replace("1 minute", "2 minutes")
    running = live.start(fyke.match(live.events(), changed, **OPTIONS, watermark="1 second"), "out")
    with pytest.raises(StreamingQueryException) as caught:
        settle(running)
    said = str(caught.value)
    assert "the saved state belongs to another query" in said
    assert "-WITHIN 1 minute\n+WITHIN 2 minutes" in said
    assert "Start the changed query with a new checkpointLocation" in said


@pytest.mark.long  # every micro-batch of Spark takes seconds
def test_late_events_are_not_matched_but_counted(spark: SparkSession, tmp_path: Path) -> None:
    live = Live(spark, tmp_path, moments(0, kinds="A").schema)
    frame = fyke.match(
        live.events(),
        "PATTERN SEQ(A a, B b) WHERE { [k] } WITHIN 1 minute",
        **OPTIONS,
        watermark="10 seconds",
    )
    for batch in (moments(0, 100, kinds="AX"), moments(20, 91, 95, kinds="BAB"), moments(300, kinds="X")):
        live.add(batch)
    running = live.start(frame, "out")
    settle(running)
    running.stop()
    assert counts(running)["late"] == 1
    assert live.written(frame, "out").num_rows == 1


@pytest.mark.parametrize(
    "query, options, error, message",
    [
        ("PATTERN SEQ(A a, B b)", {"watermark": "1 minute"}, StreamError, "needs a window"),
        *(
            (
                f"PATTERN A a WITHIN 1 minute RETURN {total}",
                {"watermark": "1 minute"},
                StreamError,
                "running total",
            )
            for total in ("median(a.n)", "count(DISTINCT a.n)", "stddev(a.n)")
        ),
        (
            "PATTERN SEQ(~B b, A a) WITHIN 1 minute",
            {"watermark": "1 minute", "complete_windows": True},
            StreamError,
            "complete_windows cannot be decided",
        ),
        ("PATTERN SEQ(A a, B b) WITHIN 1 minute", {}, OptionError, "a stream needs a watermark"),
        (
            "PATTERN SEQ(A a, B b) WITHIN 1 minute",
            {"watermark": "soon"},
            OptionError,
            "must be a length of time",
        ),
        (
            "PATTERN SEQ(A a, B b) WITHIN 60",
            {"watermark": "1 minute", "time": "n"},
            TimeColumnError,
            "'n' is int64",
        ),
        (
            "PATTERN SEQ(A a, B b) WITHIN 1 minute",
            {"watermark": "1 minute", "time": "local"},
            TimeColumnError,
            "'local' is one without a time zone",
        ),
    ],
)
def test_what_cannot_run_is_refused_before_the_first_batch(
    spark: SparkSession, query: str, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    rate = spark.readStream.format("rate").load()
    events = rate.selectExpr(
        "timestamp AS ts", "value AS n", "cast(timestamp AS timestamp_ntz) AS local", "'A' AS kind"
    )
    with pytest.raises(error, match=message):
        fyke.match(events, query, **{**OPTIONS, **options})


@pytest.mark.parametrize("name", ["agg", "cube", "groupBy", "groupby", "groupingSets", "rollup"])
def test_running_totals_are_not_aggregated_again(spark: SparkSession, name: str) -> None:
    """Spark itself takes a second aggregation in update mode, and would count matches again and again."""
    rate = spark.readStream.format("rate").load()
    events = rate.select(F.col("timestamp").alias("ts"), F.lit("A").alias("kind"))
    totals = fyke.match(
        events, "PATTERN A a WITHIN 1 minute RETURN count(*) AS n", **OPTIONS, watermark="1 minute"
    )
    with pytest.raises(StreamError, match="cannot be aggregated further") as caught:
        getattr(totals, name)("n")
    assert "Write the totals to a table" in str(caught.value)


@pytest.mark.long  # every micro-batch of Spark takes seconds
def test_events_of_1970(spark: SparkSession, tmp_path: Path) -> None:
    """Spark takes a watermark of 0 for none, and 0 is a time."""
    first = moments(0, 20, 90, kinds="ABX")
    early = pc.subtract(first["ts"].cast(pa.int64()), START).cast(first.schema.field("ts").type)
    live = Live(spark, tmp_path, first.schema)
    frame = fyke.match(live.events(), CERTAIN["greedy"][0], **OPTIONS, watermark="10 seconds")
    live.add(first.set_column(1, "ts", early))
    running = live.start(frame, "out")
    settle(running)
    running.stop()
    assert live.written(frame, "out").num_rows == 1


TOTALS = {
    "by key": "PATTERN SEQ(A a, B b) WHERE skip_till_any_match { [k] } WITHIN 10 minutes "
    "RETURN count(*) AS n, sum(b.x) AS total, max(b.x) AS most, avg(a.x) AS mean",
    "of all": "PATTERN SEQ(A a, B b) WITHIN 1 minute RETURN count(*) AS n, min(a.x) AS least",
}


@pytest.mark.long  # every micro-batch of Spark takes seconds
@pytest.mark.parametrize("name", TOTALS)
def test_aggregates_over_matches_are_running_totals(spark: SparkSession, tmp_path: Path, name: str) -> None:
    events = in_time(stream(90))
    live = Live(spark, tmp_path, events.schema)
    frame = fyke.match(live.events(), TOTALS[name], **OPTIONS, watermark="1 second")
    told: dict[Any, list[dict[str, Any]]] = {}

    def write(batch: DataFrame, _: int) -> None:
        for row in batch.collect():
            told.setdefault(row.asDict().get("k"), []).append(row.asDict())

    for part in (events.slice(0, 30), events.slice(30, 30), events.slice(60), the_end(events)):
        live.add(part)
    writer = frame.writeStream.outputMode("update").foreachBatch(write)
    running = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    settle(running)
    running.stop()
    expected = {row.get("k"): row for row in on_table(events, TOTALS[name], **OPTIONS).to_pylist()}
    assert {key: rows[-1] for key, rows in told.items()} == expected
    assert any(len(rows) > 1 for rows in told.values())
    for rows in told.values():
        assert [row["n"] for row in rows] == sorted({row["n"] for row in rows})  # each time more


@pytest.mark.long  # every micro-batch of Spark takes seconds
def test_late_rows_are_a_stream_of_their_own(spark: SparkSession, tmp_path: Path) -> None:
    live = Live(spark, tmp_path, moments(0, kinds="A").schema)
    late = fyke.late(live.events(), time="ts", watermark="10 seconds")
    for batch in (moments(0, 100, kinds="AX"), moments(20, 91, 90, kinds="BAZ"), moments(300, kinds="X")):
        live.add(batch)
    running = live.start(late, "late")
    settle(running)
    running.stop()
    rows = live.written(late, "late")
    assert sorted(rows["kind"].to_pylist()) == ["B", "Z"]  # at the watermark or before it
    assert rows.schema.names == live.schema.names
    assert state_rows(running) == 0


@pytest.mark.long  # every micro-batch of Spark takes seconds
def test_the_end_of_a_finite_stream_is_flushed(spark: SparkSession, tmp_path: Path) -> None:
    events = in_time(stream(120))
    live = Live(spark, tmp_path, events.schema)
    query = QUERIES["absence at the end"][0]
    for part in range(3):
        live.add(events.slice(part * 40, None if part == 2 else 40))
    given = live.events()
    frame = fyke.match(given, query, **OPTIONS, watermark="1 minute")
    running = live.start(frame, "out", once=True)
    running.awaitTermination()
    reported = live.written(frame, "out")
    rest = fyke.flush(
        given, query, **OPTIONS, watermark="1 minute", checkpoint=str(tmp_path / "out.checkpoint")
    ).toArrow()
    assert rest.num_rows > 0
    assert_same(pa.concat_tables([reported, rest.cast(reported.schema)]), on_table(events, query, **OPTIONS))


def test_flush_and_late_take_streams(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame(moments(0, kinds="A").to_pandas())
    with pytest.raises(InputError, match="late takes a streaming DataFrame"):
        fyke.late(frame, time="ts", watermark="1 second")
    with pytest.raises(InputError, match="flush takes the streaming DataFrame"):
        fyke.flush(frame, CERTAIN["any"][0], **OPTIONS, checkpoint=str(tmp_path))
    rate = spark.readStream.format("rate").load()
    events = rate.select(F.col("timestamp").alias("ts"), F.col("value").alias("k"), F.lit("A").alias("kind"))
    with pytest.raises(InputError, match="there is no state of a pattern at the checkpoint"):
        fyke.flush(events, CERTAIN["any"][0], **OPTIONS, checkpoint=str(tmp_path))
    with pytest.raises(OptionError, match="a stream needs a watermark"):
        fyke.late(events, time="ts")
    with pytest.raises(TimeColumnError, match="timestamp"):
        fyke.late(events.withColumn("n", F.lit(5)), time="n", watermark="1 second")


@pytest.mark.long  # every micro-batch of Spark takes seconds
def test_progress_is_a_dict_and_can_be_watched(spark: SparkSession, tmp_path: Path) -> None:
    live = Live(spark, tmp_path, moments(0, kinds="A").schema)
    frame = fyke.match(live.events(), CERTAIN["next"][0], **OPTIONS, watermark="10 seconds")
    untimed = moments(0, kinds="A").set_column(1, "ts", pa.nulls(1, live.schema.field("ts").type))
    live.add(pa.concat_tables([moments(0, 20, 70, kinds="ABA"), untimed]))
    running = live.start(frame, "out")
    settle(running)
    seen = fyke.progress(running)
    assert (seen["events"], seen["matches"], seen["rejected"], seen["late"]) == (3, 1, 1, 0)
    assert (seen["live_runs"], seen["state_rows"]) == (0, 1)  # the last event waits for the watermark
    assert seen["watermark"].startswith("20")
    assert seen["lag_seconds"] > 0
    running.stop()
    out = io.StringIO()
    assert fyke.watch(running, out=out) == fyke.progress(running)
    assert "3 events, 1 match, 0 late, 1 rejected" in out.getvalue()
    with pytest.raises(InputError, match="progress takes a running query"):
        fyke.progress(frame)


@pytest.mark.parametrize(
    "name, said",
    [
        ("next", "when the watermark reaches its last event"),
        ("greedy", "or earlier, at an event that ends its run"),
        ("robust", "until then a later event may make another match the better one"),
        ("absence at the end", "until then an absent event may still come"),
    ],
)
def test_explain_says_when_a_match_is_certain(spark: SparkSession, name: str, said: str) -> None:
    rate = spark.readStream.format("rate").load()
    events = rate.select(F.col("timestamp").alias("ts"), F.col("value").alias("k"), F.lit("A").alias("kind"))
    text = fyke.explain(events, CERTAIN[name][0], **OPTIONS, watermark="1 minute")
    assert "on a stream\n-----------" in text
    assert said in text
    assert ("window (1 minute)" in text) == (name != "next")


def test_many_more_tasks_than_buckets_are_warned_of(spark: SparkSession) -> None:
    rate = spark.readStream.format("rate").load()
    events = rate.select(F.col("timestamp").alias("ts"), F.col("value").alias("k"), F.lit("A").alias("kind"))
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "200")
    try:
        with pytest.warns(fyke.SlowStreamWarning, match="starts 200 tasks for each micro-batch"):
            fyke.match(events, CERTAIN["any"][0], **OPTIONS, watermark="1 minute")
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", before)


def test_a_watermark_is_for_streams() -> None:
    with pytest.raises(OptionError, match="these events are no stream"):
        fyke.match(stream(), QUERIES["next"][0], **OPTIONS, watermark="1 minute")
