"""Programs: results as the events of other queries, on tables and on Spark."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import fyke
from tests.spark.tables import assert_same, frame_of

SECONDS: dict[str, Any] = {"time": "t", "type": "stream", "time_unit": "s"}

# Table 2.1 of [T]: why one time is not enough.
TABLE_2_1 = pa.table({"id": ["a", "b", "c", "d"], "stream": ["S3", "S2", "S1", "S3"], "t": [20, 40, 60, 80]})


def joins(window: int) -> str:
    """Return the join of S1, S2 and S3 as two relational queries."""
    return f"""
        BC: SELECT S1.id AS c, S2.id AS b FROM [RANGE {window} SEC] S1; S2;
        All: SELECT BC.b, BC.c, S3.id AS other FROM [RANGE {window} SEC] BC; S3
    """


def patterns(window: int) -> str:
    """Return the same as two conjunctions."""
    return f"""
        BC: PATTERN AND(S1 c, S2 b) WITHIN {window} s RETURN b.id AS b, c.id AS c;
        All: PATTERN AND(BC x, S3 y) WITHIN {window} s RETURN x.b AS BC_b, x.c AS BC_c, y.id AS other
    """


@pytest.mark.parametrize("text", [joins, patterns], ids=["joins", "patterns"])
def test_table_2_1(text: Any) -> None:
    """b and c span 20 to 60: neither a nor d is within 30 of all of it, though each is of its middle."""
    assert fyke.program(text(30)).run(TABLE_2_1, **SECONDS)["BC"].num_rows == 1
    assert fyke.program(text(30)).run(TABLE_2_1, **SECONDS)["All"].num_rows == 0
    result = fyke.program(text(40)).run(TABLE_2_1, outputs=["All"], **SECONDS)["All"]
    rows = result.select(["start", "end", "BC_b", "BC_c", "other"]).sort_by("start").to_pylist()
    assert [tuple(row.values()) for row in rows] == [(20, 60, "b", "c", "a"), (40, 80, "b", "c", "d")]


@pytest.mark.parametrize("window", [30, 39, 40, 60])
def test_two_steps_are_one_join(window: int) -> None:
    once = f"SELECT S2.id AS b, S1.id AS c, S3.id AS other FROM [RANGE {window} SEC] S1; S2; S3"
    expected = fyke.match(TABLE_2_1, once, **SECONDS)
    found = fyke.program(joins(window)).run(TABLE_2_1, **SECONDS)["All"]
    assert found.rename_columns(expected.column_names) == expected


TEMPERATURES = pa.table(
    {
        "t": [0, 5, 11, 15, 22, 28, 31, 39, 45],
        "sensor": ["s"] * 9,
        "degrees": [10.0, 12.0, 14.0, 16.0, 20.0, 22.0, 21.0, 23.0, 5.0],
    }
)
RISING = """
    -- The average of every 10 seconds, and three of them that rise.
    Mean: SELECT sensor, AVG(degrees) AS mean FROM [RANGE 10 SEC] Reading WHERE [sensor];
    Rise: PATTERN SEQ(Mean a, Mean b, Mean c)
          WHERE strict_contiguity { [sensor] AND a.mean < b.mean AND b.mean < c.mean }
          WITHIN 30 s
          RETURN a.mean AS low, c.mean AS high;
    Burst: SELECT Reading.degrees FROM [RANGE 35 SEC] Rise; Reading
           WHERE Reading.degrees > Rise.high AND [sensor]
"""


def test_aggregates_then_a_pattern_then_a_join() -> None:
    """Windows that follow one another are one before the other: the last moment of one is in no other."""
    result = fyke.program(RISING).run(TEMPERATURES, time="t", time_unit="s")
    assert list(result) == ["Mean", "Rise", "Burst"]
    assert [tuple(row.values()) for row in result["Mean"].to_pylist()] == [
        ("s", 0, 9, 11.0),
        ("s", 10, 19, 15.0),
        ("s", 20, 29, 21.0),
        ("s", 30, 39, 22.0),
        ("s", 40, 49, 5.0),
    ]
    rise = result["Rise"].drop_columns("match_id").to_pylist()
    assert [tuple(row.values()) for row in rise] == [("s", 0, 29, 11.0, 21.0), ("s", 10, 39, 15.0, 22.0)]
    # 22 at 28 is above the first rise's 21; 23 at 39 is above the second's 22, and too late for the first.
    burst = [tuple(row.values()) for row in result["Burst"].to_pylist()]
    assert burst == [("s", 0, 29, 22.0), ("s", 10, 39, 23.0)]


def test_only_what_is_needed_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = []
    real = fyke.call.relational.RelationalCall.run
    monkeypatch.setattr(
        "fyke.call.relational.RelationalCall.run", lambda call: ran.append(call.query.label) or real(call)
    )
    program = fyke.program(RISING)
    assert list(program.run(TEMPERATURES, time="t", time_unit="s", outputs=["Rise"])) == ["Rise"]
    assert ran == ["Mean"]
    ran.clear()
    program.run(TEMPERATURES, time="t", time_unit="s")
    assert ran == ["Mean", "Burst"]  # each once


def test_order_of_the_queries_does_not_matter() -> None:
    queries = [str(query) for query in fyke.program(RISING).queries.values()]
    options: dict[str, Any] = {"time": "t", "time_unit": "s"}
    forward, backward = (fyke.program(each) for each in (queries, list(reversed(queries))))
    assert backward.labels == ("Mean", "Rise", "Burst")
    assert forward.run(TEMPERATURES, **options) == backward.run(TEMPERATURES, **options)


def test_text_of_a_program_comes_back() -> None:
    program = fyke.program(RISING)
    assert fyke.program(str(program)).queries == program.queries


def test_dict_of_streams_and_label_that_hides_a_given_stream() -> None:
    """Query 1 of [T] has the label of the stream it reads: others then read the result."""
    streams = {
        "S1": pa.table({"t": [1, 2, 11], "price": [1, 2, 5]}),
        "Other": pa.table({"t": pa.array([], pa.int64()), "price": pa.array([], pa.string())}),
    }
    program = fyke.program(
        """
        S1: SELECT SUM(price) AS total FROM [RANGE 10 SEC] S1;
        Pair: PATTERN SEQ(S1 a, S1 b) WHERE skip_till_any_match { a.total < b.total } RETURN a.total, b.total
        """
    )
    result = program.run(streams, time="t", time_unit="s")
    assert result["S1"].column("total").to_pylist() == [3, 5]
    assert result["Pair"].select(["a_total", "b_total"]).to_pylist() == [{"a_total": 3, "b_total": 5}]


MIXED = pa.table(
    {
        "t": [1, 2, 3, 4, 5, 6, 7],
        "stream": ["A", "B", "X", "C", "A", "B", "C"],
        "n": [1, 2, 3, 4, 5, 6, 7],
    }
)


@pytest.mark.parametrize(
    "strategy, found",
    [("skip_till_any_match", [(2, 4), (2, 7), (6, 7)]), ("strict_contiguity", [(6, 7)])],
)
def test_given_events_beside_results(strategy: str, found: list[tuple[int, int]]) -> None:
    """A given event that the query does not name still breaks contiguity (SEMANTICS 4)."""
    program = fyke.program(
        f"""
        AB: PATTERN SEQ(A a, B b) WHERE strict_contiguity WITHIN 2 s RETURN b.n AS n;
        ABC: PATTERN SEQ(AB x, C c) WHERE {strategy} WITHIN 9 s RETURN x.n AS n, c AS c
        """
    )
    result = program.run(MIXED, **SECONDS)["ABC"]
    assert sorted((row["n"], row["c"]["n"]) for row in result.to_pylist()) == found


def test_any_type_beside_results() -> None:
    program = fyke.program(
        """
        AB: PATTERN SEQ(A a, B b) WITHIN 1 s RETURN b.n AS n;
        Next: PATTERN SEQ(AB x, ANY y) WITHIN 3 s RETURN x.n AS n, y.t AS t
        """
    )
    result = program.run(MIXED, outputs=["Next"], **SECONDS)["Next"]
    # Every given event may be y, A and B among them; AB itself is no given event.
    assert sorted((row["n"], row["t"]) for row in result.to_pylist()) == [(2, 3), (6, 7)]


def test_points_stay_points_where_no_result_is_read() -> None:
    program = fyke.program(["A1: PATTERN A a RETURN a AS a", "A2: PATTERN A1 x RETURN x.a.n AS n"])
    result = program.run(MIXED, **SECONDS)
    assert set(result["A1"].column("a")[0].as_py()) == {"t", "stream", "n"}
    assert result["A2"].column("n").to_pylist() == [1, 5]


def test_times_given_as_start_and_end() -> None:
    events = pa.table({"start": [0, 10], "end": [5, 12], "kind": ["A", "B"], "n": [1, 2]})
    program = fyke.program(
        "AB: SELECT A.n, B.n FROM [RANGE 12 SEC] A; B; C: PATTERN SEQ(AB x) RETURN x.A_n AS n"
    )
    result = program.run(events, time=("start", "end"), type="kind", time_unit="s")
    assert result["C"].drop_columns("match_id").to_pylist() == [{"start": 0, "end": 12, "n": 1}]


@pytest.mark.spark
@pytest.mark.parametrize(
    "text, events, options",
    [
        (joins(40), TABLE_2_1, SECONDS),
        (patterns(40), TABLE_2_1, SECONDS),
        (RISING, TEMPERATURES, {"time": "t", "time_unit": "s"}),
        (
            "AB: PATTERN SEQ(A a, B b) WHERE strict_contiguity WITHIN 2 s RETURN b.n AS n;"
            "ABC: PATTERN SEQ(AB x, C c) WHERE strict_contiguity WITHIN 9 s",
            MIXED,
            SECONDS,
        ),
    ],
    ids=["joins", "patterns", "rising", "contiguous"],
)
def test_spark_gives_the_same(
    spark: SparkSession, text: str, events: pa.Table, options: dict[str, Any]
) -> None:
    program = fyke.program(text)
    expected = program.run(events, **options)
    found = program.run(frame_of(spark, events), **options)
    for label, table in expected.items():
        assert table.num_rows > 0
        assert_same(found[label].toArrow(), table)


@pytest.mark.spark
def test_nothing_runs_before_rows_are_asked_for(spark: SparkSession) -> None:
    """A result is one plan down to the given events, whatever lies between."""
    frame = frame_of(spark, TEMPERATURES)
    failing = frame.selectExpr("t", "sensor", "degrees + raise_error('read') AS degrees")
    result = fyke.program(RISING).run(failing, time="t", time_unit="s")
    with pytest.raises(Exception, match="read"):
        result["Burst"].collect()
