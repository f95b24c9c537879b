"""Statements of Spark SQL with MATCH_RECOGNIZE clauses: nested, joined, filtered; errors that show where."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import fyke
from fyke.errors import (
    OptionError,
    ParameterError,
    QueryError,
    QuerySyntaxError,
    RowOrderError,
    TableError,
    UnknownAttributeError,
    UnsupportedQueryError,
)
from tests.spark.tables import assert_same

pytestmark = pytest.mark.spark

TICKS = pa.table(
    {
        "symbol": [f"S{n % 4}" for n in range(48)],
        "market": [n % 3 for n in range(48)],
        "day": [n // 4 for n in range(48)],
        "price": [float(5 * n % 17) for n in range(48)],
        "note": [f"row {n}" for n in range(48)],
    }
)
RISES = """MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY day
  MEASURES FIRST(day) AS first, LAST(day) AS last, LAST(price) - FIRST(price) AS gain
  PATTERN (strt up+) DEFINE up AS price > PREV(price)
)"""
LONG = """MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY first MEASURES count(*) AS n, sum(gain) AS total
  PATTERN (a b+) DEFINE b AS gain >= PREV(gain)
)"""


@pytest.fixture(scope="module")
def session(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    path: Path = tmp_path_factory.mktemp("sql") / "ticks.parquet"
    pq.write_table(TICKS, path)
    spark.read.parquet(str(path)).createOrReplaceTempView("ticks")
    names = pa.table({"symbol": ["S0", "S1", "S2"], "name": ["zero", "one", "two"]})
    spark.createDataFrame(names).createOrReplaceTempView("names")
    yield spark
    for name in ("ticks", "names"):
        spark.catalog.dropTempView(name)


def rises(table: pa.Table = TICKS) -> pa.Table:
    return fyke.match(table, RISES)


def test_a_statement_is_the_clause_and_the_rest(session: SparkSession) -> None:
    found = fyke.sql(session, f"SELECT m.* FROM ticks {RISES} AS m WHERE m.gain > 5 ORDER BY last")
    expected = rises().filter(pc.field("gain") > 5)
    assert expected.num_rows > 3
    assert_same(found.toArrow(), expected)


def test_attempts_that_expire_are_rows_of_a_statement(session: SparkSession) -> None:
    clause = RISES.replace("(strt up+)", "(strt up up up) WITHIN 3")
    found = fyke.sql(
        session, f"SELECT m.* FROM ticks {clause} AS m WHERE m.status = 'timeout'", timeouts=True
    )
    told = fyke.match(TICKS, clause, timeouts=True)
    expected = told.filter(pc.field("status") == "timeout")
    assert 0 < expected.num_rows < told.num_rows
    assert_same(found.toArrow(), expected)


STATEMENTS = {
    "joined": (
        f"SELECT n.name, m.gain FROM ticks t {RISES} AS m JOIN names AS n ON n.symbol = m.symbol",
        lambda: (
            rises()
            .join(
                pa.table({"symbol": ["S0", "S1", "S2"], "name": ["zero", "one", "two"]}),
                "symbol",
                join_type="inner",
            )
            .select(["name", "gain"])
        ),
    ),
    "over a subquery": (
        f"SELECT * FROM (SELECT symbol, day, price FROM ticks WHERE market <> 1) {RISES}",
        lambda: rises(TICKS.filter(pc.field("market") != 1)),
    ),
    "chained": (f"SELECT * FROM ticks {RISES} {LONG} AS l", lambda: fyke.match(rises(), LONG)),
    "nested": (
        f"SELECT * FROM (SELECT * FROM ticks {RISES} WHERE gain < 12) AS r {LONG}",
        lambda: fyke.match(rises().filter(pc.field("gain") < 12), LONG),
    ),
    "with names": (
        f"""WITH some AS (SELECT * FROM ticks WHERE market > 0),
                 r(symbol, first, last, gain) AS (SELECT * FROM some {RISES} AS r)
            SELECT * FROM (WITH s AS (SELECT * FROM r) SELECT * FROM s {LONG}) -- MATCH_RECOGNIZE (
            WHERE '{{MATCH_RECOGNIZE (' <> concat(`n`, '') /* in /* a */ comment */;""",
        lambda: fyke.match(rises(TICKS.filter(pc.field("market") > 0)), LONG),
    ),
    "both sides": (
        f"SELECT a.symbol, a.gain, b.gain AS other FROM ticks {RISES} a, ticks {RISES} b "
        "WHERE a.symbol = b.symbol AND a.last = b.last",
        lambda: rises().select(["symbol", "gain"]).append_column("other", rises()["gain"]),
    ),
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_statements(session: SparkSession, name: str) -> None:
    statement, expected = STATEMENTS[name]
    before = {table.name for table in session.catalog.listTables()}
    found = fyke.sql(session, statement)
    assert_same(found.toArrow(), expected())
    assert {table.name for table in session.catalog.listTables()} == before


def test_a_clause_alone_parameters_and_metrics(session: SparkSession) -> None:
    assert_same(fyke.sql(session, RISES, events="ticks").toArrow(), rises())
    with pytest.raises(OptionError, match="does not say which rows"):
        fyke.sql(session, RISES)
    clause, metrics = RISES.replace("PREV(price)", "PREV(price) + :least"), fyke.Metrics()
    statement = f"SELECT * FROM (SELECT * FROM ticks WHERE market < :most) {clause} WHERE gain > :least"
    found = fyke.sql(session, statement, params={"least": 1, "most": 2}, metrics=metrics)
    wanted = fyke.match(TICKS.filter(pc.field("market") < 2), clause, params={"least": 1})
    assert_same(found.toArrow(), wanted.filter(pc.field("gain") > 1))
    assert metrics.get()["matches"] == wanted.num_rows
    with pytest.raises(OptionError, match=r"no parameter 'mots'\. Did you mean 'most'"):
        fyke.sql(session, statement, params={"least": 1, "mots": 2})
    with pytest.raises(ParameterError, match="the parameter :least has no value"):
        fyke.sql(session, statement, params={"most": 2})
    both = fyke.Metrics()
    assert fyke.sql(session, f"SELECT * FROM ticks {RISES} AS r {LONG}", metrics=both).count() > 0
    assert list(both.queries) == ["r", "clause 2"]
    assert both.queries["r"].get()["matches"] == rises().num_rows


def test_a_statement_may_change_tables(session: SparkSession, tmp_path: Path) -> None:
    fyke.sql(
        session, f"INSERT OVERWRITE DIRECTORY '{tmp_path}/out' USING parquet SELECT * FROM ticks {RISES}"
    )
    assert_same(pq.read_table(tmp_path / "out"), rises())
    with pytest.raises(UnsupportedQueryError, match="createOrReplaceTempView"):
        fyke.sql(session, f"CREATE TEMPORARY VIEW v AS SELECT * FROM ticks {RISES}")


def test_a_statement_over_a_stream_is_a_stream(session: SparkSession) -> None:
    rate = session.readStream.format("rate").load().withWatermark("timestamp", "1 minute")
    rate.createOrReplaceTempView("rate")
    clause = RISES.replace("symbol", "key").replace("day", "timestamp").replace("price", "value")
    statement = f"""
        SELECT key, gain FROM (SELECT timestamp, value, value % 2 AS key FROM rate)
        {clause.replace("(strt up+)", "(strt up)")} WHERE key = 1
    """
    found = fyke.sql(session, statement)
    assert found.isStreaming
    assert found.columns == ["key", "gain"]
    session.catalog.dropTempView("rate")


# --- filters --------------------------------------------------------------------------------------


def plan_of(frame: DataFrame) -> list[str]:
    """Return the lines of a physical plan."""
    return str(frame._jdf.queryExecution().executedPlan()).splitlines()  # type: ignore[operator]


def scan_of(plan: list[str]) -> str:
    """Return how the ticks are read, which must be once."""
    (found,) = (line for line in plan if "FileScan" in line)
    return found.partition("PushedFilters: ")[2]


@pytest.mark.parametrize(
    "query, pushed",
    [
        ("SELECT * FROM {} AS m WHERE m.symbol = 'S1' AND gain > 2", "EqualTo(symbol,S1)"),
        ("SELECT * FROM {} WHERE symbol IN ('S1', 'S''2') AND rand() < 2", "In(symbol, [S'2,S1])"),
        (
            "SELECT gain FROM (SELECT symbol AS s, gain FROM {}) WHERE s LIKE 'S1%'",
            "StringStartsWith(symbol,S1)",
        ),
        (
            "SELECT m.gain FROM {} m JOIN names n ON n.symbol = m.symbol WHERE n.symbol >= 'S1'",
            "GreaterThanOrEqual(symbol,S1)",
        ),
        ("WITH r AS (SELECT * FROM {}) SELECT * FROM r WHERE symbol IS NULL", "IsNull(symbol)"),
    ],
)
def test_filters_on_partition_columns_are_below_the_clause(
    session: SparkSession, query: str, pushed: str
) -> None:
    statement = query.format(f"ticks {RISES}")
    found = fyke.sql(session, statement)
    plan = plan_of(found)
    assert pushed in scan_of(plan)
    below = plan[next(place for place, line in enumerate(plan) if "MapInArrow" in line) :]
    assert sum("Exchange hashpartitioning(symbol" in line for line in below) == 1
    session.createDataFrame(rises()).createOrReplaceTempView("rises")
    expected = session.sql(query.format("rises"))
    assert_same(found.toArrow(), expected.toArrow())
    session.catalog.dropTempView("rises")


@pytest.mark.parametrize(
    "query, pushed",
    [
        ("SELECT * FROM {} WHERE gain > 2", "[]"),
        ("SELECT * FROM {} WHERE symbol = 'S1' OR gain > 2", "[]"),
        ("SELECT count(*) AS n FROM {} HAVING max(symbol) = 'S1'", "[]"),
        ("SELECT a.gain FROM {} a WHERE symbol = (SELECT max(symbol) FROM names)", "[IsNotNull(symbol)]"),
        (  # rows without a symbol join nothing, all others must be there to be found
            "SELECT n.name, m.gain FROM names n LEFT JOIN {} m ON n.symbol = m.symbol WHERE m.symbol IS NULL",
            "[IsNotNull(symbol)]",
        ),
    ],
)
def test_other_filters_are_not(session: SparkSession, query: str, pushed: str) -> None:
    found = fyke.sql(session, query.format(f"ticks {RISES}"))
    assert scan_of(plan_of(found)).startswith(f"{pushed}, ")
    session.createDataFrame(rises()).createOrReplaceTempView("rises")
    assert_same(found.toArrow(), session.sql(query.format("rises")).toArrow())
    session.catalog.dropTempView("rises")


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "statement, kind, message, pointed",
    [
        (
            f"SELECT *\nFROM ticks {RISES.replace('strt up+', 'strt up+ |')}",
            QuerySyntaxError,
            "unexpected ')'",
            ")",
        ),
        (
            f"SELECT *\nFROM ticks {RISES.replace('PREV(price)', 'PREV(prise)')}",
            UnknownAttributeError,
            "prise",
            "prise",
        ),
        (
            f"SELECT *\nFROM ticks {RISES.replace(' ORDER BY day', '')}",
            RowOrderError,
            "no ORDER BY",
            "strt up+",
        ),
        (f"SELECT *\nFROM tikcs {RISES}", TableError, "Spark cannot read the table", "tikcs"),
        (f"SELECT *\nFROM (SELECT day FROM) {RISES}", TableError, "Spark cannot read", "(SELECT day FROM)"),
        (f"SELECT *\nFROM (SELECT day FROM ticks) {RISES}", UnknownAttributeError, "'symbol'", "symbol"),
        (
            f"SELECT *\nFROM ticks WHERE day > 1 {RISES}",
            QuerySyntaxError,
            "stands behind a table",
            "MATCH_RECOGNIZE",
        ),
        (f"SELECT day, {RISES}", QuerySyntaxError, "stands behind a table", "MATCH_RECOGNIZE"),
    ],
)
def test_errors_show_the_place_in_the_statement(
    session: SparkSession, statement: str, kind: type[QueryError], message: str, pointed: str
) -> None:
    with pytest.raises(kind) as caught:
        fyke.sql(session, statement)
    error: Any = caught.value
    assert message in str(error)
    line = statement.split("\n")[error.line - 1]
    assert line[error.column - 1 :].startswith(pointed)
    assert line[:90] in str(error)


def test_errors_of_the_rest_are_sparks(session: SparkSession) -> None:
    with pytest.raises(PySparkException, match="gian"):
        fyke.sql(session, f"SELECT gian FROM ticks {RISES} AS m")
    with pytest.raises(PySparkException) as caught:
        fyke.sql(session, f"SELECT *\nFROM ticks {RISES} AS m\nWHER gain > 1")
    assert f"line {RISES.count(chr(10)) + 3}" in str(caught.value)


def test_queries_over_events_still_need_their_time(session: SparkSession) -> None:
    with pytest.raises(OptionError, match="time"):
        fyke.sql(session, "PATTERN SEQ(ticks a, ticks b) WITHIN 3")
    with pytest.raises(OptionError, match="time has a meaning for queries over events"):
        fyke.sql(session, f"SELECT * FROM ticks {RISES}", time="day")
