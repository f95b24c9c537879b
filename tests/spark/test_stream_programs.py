"""Programs and several inputs on streams: the rows of the batch, or a refusal before the first batch."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, SparkSession

import fyke
from fyke.errors import OptionError, StreamError, UnsupportedQueryError
from tests.spark.live import Live, finished
from tests.spark.streams import OPTIONS, in_time, stream, the_end
from tests.spark.tables import assert_same

pytestmark = pytest.mark.spark

PROGRAM = """
Quick: PATTERN SEQ(A a, B b) WHERE { [k] } WITHIN 5 minutes RETURN a.x AS x;
Slow: PATTERN SEQ(A a, B+ b[], ~C c) WHERE greedy_skip_till_next_match { [k] } WITHIN 20 minutes;
Near: SELECT A.x AS a, B.x AS b FROM [RANGE 2 min] A; B WHERE A.k = B.k;
Counts: SELECT COUNT(*) AS n, MAX(b) AS most FROM [RANGE 10 min] Near
"""


def parts(events: pa.Table) -> list[pa.Table]:
    """Return events in three portions, and one that ends every window."""
    third = events.num_rows // 3
    cut = [events.slice(0, third), events.slice(third, third), events.slice(2 * third)]
    return [*cut, the_end(events)]


@pytest.mark.long  # every micro-batch of Spark takes seconds
def test_a_program_on_a_stream_brings_the_rows_of_the_batch(spark: SparkSession, tmp_path: Path) -> None:
    events = in_time(stream())
    live = Live(spark, tmp_path, events.schema)
    for part in parts(events):
        live.add(part)
    program = fyke.program(PROGRAM)
    frames = program.run(live.events(), **OPTIONS, watermark="2 minutes")
    expected = program.run(events, **OPTIONS)
    assert frames.keys() == expected.keys() == {"Quick", "Slow", "Near", "Counts"}
    for label, frame in frames.items():
        finished(partial(live.start, frame, label, once=True))
        assert expected[label].num_rows > 3
        assert_same(live.written(frame, label), expected[label])


@pytest.mark.long  # every micro-batch of Spark takes seconds
@pytest.mark.parametrize("each", [False, True], ids=["one watermark", "a watermark each"])
def test_a_dict_of_streams_brings_the_rows_of_the_batch(
    spark: SparkSession, tmp_path: Path, each: bool
) -> None:
    events = in_time(stream())
    kinds = {kind: events.filter(pc.equal(events["kind"], kind)).drop_columns(["kind"]) for kind in "ABC"}
    end = the_end(events).drop_columns(["kind"])
    lives = {}
    for kind, table in kinds.items():
        lives[kind] = Live(spark, tmp_path / kind, table.schema)
        half = table.num_rows // 2
        for part in (table.slice(0, half), table.slice(half)):
            lives[kind].add(part)
        lives[kind].add(end.set_column(end.schema.get_field_index("k"), "k", pa.nulls(1, pa.int32())))
    query = "PATTERN SEQ(A a, B+ b[], C c) WHERE greedy_skip_till_next_match { [k] } WITHIN 40 minutes"
    # The portions of one kind may come long before those of another.
    inputs = {kind: live.events() for kind, live in lives.items()}
    if each:
        inputs = {kind: frame.withWatermark("ts", "2 minutes") for kind, frame in inputs.items()}
    frame = fyke.match(inputs, query, time="ts", watermark=None if each else "3 hours")
    finished(partial(lives["A"].start, frame, "out", once=True))
    expected = fyke.match(kinds, query, time="ts")
    assert expected.num_rows > 10
    assert_same(lives["A"].written(frame, "out"), expected)


def rate(spark: SparkSession) -> DataFrame:
    events = spark.readStream.format("rate").load()
    return events.selectExpr("timestamp AS ts", "'A' AS kind", "value AS k", "value AS x")


@pytest.mark.parametrize(
    "query, error, message",
    [
        ("SEQ(Pair p, A a) WITHIN 1 minute", StreamError, "a pattern reads no results of other queries"),
        ("SEQ(Total t, A a) WITHIN 1 minute", StreamError, "a pattern reads no results of other queries"),
    ],
)
def test_a_pattern_that_reads_results_is_refused(
    spark: SparkSession, query: str, error: type[Exception], message: str
) -> None:
    program = fyke.program(
        f"""
        Pair: PATTERN SEQ(A a, B b) WITHIN 1 minute;
        Total: SELECT SUM(x) AS total FROM [RANGE 1 min] A;
        Last: PATTERN {query}
        """
    )
    with pytest.raises(error, match=message) as caught:
        program.run(rate(spark), **OPTIONS, watermark="1 minute")
    assert "Write them to a table" in str(caught.value)


def test_matches_are_not_aggregated_again(spark: SparkSession) -> None:
    program = fyke.program(
        """
        Pair: PATTERN SEQ(A a, B b) WITHIN 1 minute RETURN a.x AS x;
        Last: SELECT COUNT(*) AS n FROM [RANGE 10 min] Pair
        """
    )
    with pytest.raises(StreamError) as caught:
        program.run(rate(spark), **OPTIONS, watermark="1 minute")
    assert str(caught.value) == (
        "on a stream the matches of 'Pair' cannot be joined or aggregated further: they are "
        "reported when they are certain, and Spark would take them for late events then\n"
        "Write them to a table, and query what comes there as a stream of its own."
    )


def test_totals_over_matches_are_no_events(spark: SparkSession) -> None:
    program = fyke.program(
        """
        Total: PATTERN SEQ(A a, B b) WITHIN 1 minute RETURN count(*) AS n;
        Last: PATTERN SEQ(Total t, A a) WITHIN 1 minute
        """
    )
    with pytest.raises((StreamError, UnsupportedQueryError)):
        program.run(rate(spark), **OPTIONS, watermark="1 minute")


def test_a_watermark_is_for_streams_in_relational_queries_too() -> None:
    table: dict[str, Any] = {"A": pa.table({"t": [1, 2]})}
    with pytest.raises(OptionError, match="these events are no stream"):
        fyke.match(table, "SELECT COUNT(*) AS n FROM [RANGE 1 SEC] A", time="t", watermark="1 minute")
