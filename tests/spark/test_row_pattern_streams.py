"""MATCH_RECOGNIZE on streaming DataFrames: the rows of the table, as soon as they are certain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

import fyke
from fyke.errors import InputError, OptionError, StreamError, TimeColumnError
from tests.row_patterns.row_streams import as_sorted
from tests.spark.live import Live, counts, finished, settle
from tests.spark.streams import SECOND, START, in_time, stream

pytestmark = pytest.mark.spark

VALLEYS = """
MATCH_RECOGNIZE (
  PARTITION BY k ORDER BY ts, n, x, v, s, kind, since
  MEASURES FIRST(ts) AS began, LAST(up.x) AS back, count(*) AS len, MATCH_NUMBER() AS number
  PATTERN (start_row down+ up+) WITHIN INTERVAL '20' MINUTE
  DEFINE down AS x < PREV(x), up AS x > PREV(x) AND kind <> 'E'
)
"""
CLAUSES = {
    "valleys": VALLEYS,
    "next row": VALLEYS.replace("PATTERN", "AFTER MATCH SKIP TO NEXT ROW PATTERN"),
    "one row": """
MATCH_RECOGNIZE (
  PARTITION BY k ORDER BY ts, n, x, v, s, kind, since
  MEASURES A.x + B.x AS total, upper(A.s) AS s, NEXT(B.kind) AS following
  PATTERN (A B) DEFINE A AS upper(kind) = 'A', B AS kind = 'B' AND x > 0
)""",
    "history": """
MATCH_RECOGNIZE (
  PARTITION BY k, s ORDER BY ts, n, x, v, kind, since
  MEASURES CLASSIFIER() AS label, sum(up.x) AS total
  ALL ROWS PER MATCH
  PATTERN (first_row up{1,4}? high) WITHIN INTERVAL '1' HOUR
  DEFINE high AS x > avg(up.x) AND x > FIRST(x)
)""",
    "unmatched": """
MATCH_RECOGNIZE (
  PARTITION BY k ORDER BY ts, n, x, v, s, kind, since
  MEASURES CLASSIFIER() AS label
  ALL ROWS PER MATCH WITH UNMATCHED ROWS
  AFTER MATCH SKIP TO LAST B
  PATTERN (A+ B+ C?) WITHIN INTERVAL '30' MINUTE
  DEFINE A AS kind = 'A', B AS kind = 'B', C AS kind = 'C' AND NEXT(kind) = 'D'
)""",
    "all matches": """
MATCH_RECOGNIZE (
  ORDER BY ts, n, x, v, s, kind, since
  MEASURES FIRST(n) AS first, count(*) AS len
  ALL MATCHES
  PATTERN (A R{0,3} B) DEFINE A AS kind = 'A', B AS kind = 'B'
)""",
    "timeouts": """
MATCH_RECOGNIZE (
  PARTITION BY k ORDER BY ts, n, x, v, s, kind, since
  MEASURES FIRST(ts) AS began, LAST(CLASSIFIER()) AS label, MATCH_NUMBER() AS number
  PATTERN (A R{0,3}? B) WITHIN INTERVAL '10' MINUTE DEFINE A AS kind = 'A', B AS kind = 'B' AND x > A.x
)""",
}
OPTIONS = {"timeouts": {"timeouts": True}}


def shuffled(table: pa.Table, seed: int) -> pa.Table:
    return table.take(pa.array(np.random.default_rng(seed).permutation(table.num_rows)))


def run(spark: SparkSession, root: Path, names: list[str], parts: int) -> None:
    events = in_time(stream())
    live = Live(spark, root, events.schema)
    size = -(-events.num_rows // parts)
    for part in range(parts):
        live.add(shuffled(events.slice(part * size, size), part))
    for name in names:
        clause, file = CLAUSES[name], name.replace(" ", "_")
        options: dict[str, Any] = OPTIONS.get(name, {})
        frame = fyke.match(live.events(), clause, watermark="2 minutes", **options)
        query = finished(lambda frame=frame, file=file: live.start(frame, file, once=True))  # type: ignore[misc]
        written = live.written(frame, file)
        checkpoint = str(root / f"{file}.checkpoint")
        rest = fyke.flush(live.events(), clause, checkpoint=checkpoint, **options).toArrow()
        expected = fyke.match(events, clause, **options)
        found = pa.concat_tables([written.cast(rest.schema), rest]).cast(expected.schema)
        assert as_sorted(found) == as_sorted(expected), name
        assert expected.num_rows > 3, name
        assert written.num_rows >= expected.num_rows / 2, name
        if options:
            assert set(written["status"].to_pylist()) == {"match", "timeout"}
        seen = counts(query)
        assert (seen["late"], seen["events"]) == (0, events.num_rows), name


def test_a_stream_brings_the_rows_of_the_table(spark: SparkSession, tmp_path: Path) -> None:
    run(spark, tmp_path, ["timeouts"], 2)


@pytest.mark.long  # every micro-batch of Spark takes seconds
@pytest.mark.parametrize("name", CLAUSES)
def test_every_form_of_a_clause_brings_the_rows_of_the_table(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    run(spark, tmp_path, [name], 3)


def moments(*seconds: int, kinds: str, k: int = 1) -> pa.Table:
    ticks = pa.array([START + second * SECOND for second in seconds], pa.int64())
    times = ticks.cast(pa.timestamp("us", tz="UTC"))
    return pa.table({"ts": times, "kind": list(kinds), "k": pa.array([k] * len(kinds), pa.int32())})


# A pattern, and the watermark from which on its match of A at 0 s and B at 20 s is certain.
CERTAIN = {"A B": 20, "A B+": 60, "A B C | A B": 60}


def pairs(pattern: str) -> str:
    return (
        "MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES count(*) AS n "
        f"PATTERN ({pattern}) WITHIN INTERVAL '1' MINUTE "
        "DEFINE A AS kind = 'A', B AS kind = 'B'" + (", C AS kind = 'C'" if "C" in pattern else "") + ")"
    )


@pytest.mark.long  # every micro-batch of Spark takes seconds
def test_a_match_is_reported_as_soon_as_it_is_certain(spark: SparkSession, tmp_path: Path) -> None:
    first = moments(0, 20, kinds="AB")
    live = Live(spark, tmp_path, first.schema)
    frames = [fyke.match(live.events(), pairs(each), watermark="10 seconds") for each in CERTAIN]
    live.add(first)
    queries = [live.start(frame, f"out{number}") for number, frame in enumerate(frames)]
    seen: dict[str, int] = {}
    for second in (29, 30, 69, 70, 71):  # the watermark is ten seconds behind
        live.add(moments(second, kinds="X", k=2))
        for number, (pattern, query) in enumerate(zip(CERTAIN, queries, strict=True)):
            settle(query)
            if live.written(frames[number], f"out{number}").num_rows:
                seen.setdefault(pattern, second - 10)
    for query in queries:
        query.stop()
    assert seen == CERTAIN


@pytest.mark.long  # every micro-batch of Spark takes seconds
def test_a_changed_clause_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    live = Live(spark, tmp_path, moments(0, kinds="A").schema)
    live.add(moments(0, 20, kinds="AA"))
    frame = fyke.match(live.events(), pairs("A B"), watermark="1 second")
    finished(lambda: live.start(frame, "out", once=True))
    live.add(moments(30, kinds="B"))
    changed = fyke.match(live.events(), pairs("A B B"), watermark="1 second")
    with pytest.raises(StreamingQueryException, match=r"(?s)belongs to another query.*-.*A B\).*\+.*A B B\)"):
        finished(lambda: live.start(changed, "out", once=True))
    same = fyke.match(live.events(), pairs("A  B") + " -- the same", watermark="1 second")
    finished(lambda: live.start(same, "out", once=True))
    rest = fyke.flush(live.events(), pairs("A B"), checkpoint=str(tmp_path / "out.checkpoint"))
    assert live.written(frame, "out").num_rows + rest.count() == 1


@pytest.mark.long  # every micro-batch of Spark takes seconds
def test_late_rows_and_rows_without_a_time_are_counted(spark: SparkSession, tmp_path: Path) -> None:
    first = moments(100, kinds="A")
    live = Live(spark, tmp_path, first.schema)
    frame = fyke.match(live.events(), pairs("A B"), watermark="5 seconds")
    untimed = pa.table(
        {"ts": pa.nulls(1, first.schema.field("ts").type), "kind": ["B"], "k": pa.array([1], pa.int32())}
    )
    seen = dict.fromkeys(("late", "rejected", "matches"), 0)
    for rows in (first, pa.concat_tables([moments(10, 101, kinds="BB"), untimed]), moments(200, kinds="X")):
        live.add(rows)
        told = fyke.progress(finished(lambda: live.start(frame, "out", once=True)))
        seen = {name: count + told[name] for name, count in seen.items()}
    assert seen == {"late": 1, "rejected": 1, "matches": 1}
    assert live.written(frame, "out").to_pylist() == [{"k": 1, "n": 2}]


def test_what_a_stream_cannot_decide_is_refused_by_the_call(spark: SparkSession, tmp_path: Path) -> None:
    live = Live(spark, tmp_path, moments(0, kinds="A").schema)
    events = live.events()
    with pytest.raises(StreamError, match=r"\(A\+\) needs WITHIN"):
        fyke.match(
            events, "MATCH_RECOGNIZE (ORDER BY ts PATTERN (A+) DEFINE A AS kind = 'A')", watermark="1 s"
        )
    with pytest.raises(TimeColumnError, match="'kind' is string"):
        fyke.match(
            events, "MATCH_RECOGNIZE (ORDER BY kind PATTERN (A) DEFINE A AS kind = 'A')", watermark="1 s"
        )
    with pytest.raises(OptionError, match="needs a watermark"):
        fyke.match(events, pairs("A B"))
    with pytest.raises(OptionError, match="timeouts needs a window"):
        fyke.match(events, "MATCH_RECOGNIZE (ORDER BY ts PATTERN (A) DEFINE A AS kind = 'A')", timeouts=True)
    with pytest.raises(OptionError, match="metrics are of one run"):
        fyke.match(events, pairs("A B"), watermark="1 second", metrics=fyke.Metrics())
    with pytest.raises(OptionError, match="these rows are no stream"):
        fyke.match(moments(0, kinds="A"), pairs("A B"), watermark="1 second")
    with pytest.raises(InputError, match="no state of a pattern at the checkpoint"):
        fyke.flush(events, pairs("A B"), checkpoint=str(tmp_path / "nowhere"))
