"""Columns by names in any case, as Spark takes them, and no others read than the query needs."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import fyke
from fyke.errors import FykeError, InputError, MissingColumnError, StreamError
from tests.spark.tables import assert_same, frame_of, settings

pytestmark = pytest.mark.spark

TABLE = pa.table(
    {
        "Kind": list("ABABAB"),
        "At": [1, 2, 3, 3, 5, 6],
        "Id": [1, 2, 3, 4, 5, 6],
        "User": ["u", "u", "v", "v", "u", "v"],
        "Price": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
        "Place": [{"City": "p", "Zip": k} for k in range(6)],
        "Note": ["x"] * 6,
    }
)
EXACT = (
    "PATTERN SEQ(A a, B b) WHERE { [User] AND a.Price < b.Price AND a.Place.City = 'p' } WITHIN 9 "
    "RETURN User, a.Price AS low, b.Place.Zip AS zip"
)
LOOSE = (
    "PATTERN SEQ(A a, B b) WHERE { [user] AND a.PRICE < b.price AND a.place.CITY = 'p' } WITHIN 9 "
    "RETURN USER, a.pRICE AS low, b.place.zip AS zip"
)
NAMED: dict[str, Any] = {"time": "At", "type": "Kind", "tie_breaker": "Id"}
LOOSELY: dict[str, Any] = {"time": "AT", "type": "kind", "tie_breaker": "ID"}


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    return frame_of(spark, TABLE)


def test_names_may_be_written_in_any_case(frame: DataFrame) -> None:
    expected = fyke.match(TABLE, EXACT, **NAMED)
    assert expected.num_rows > 0
    assert_same(fyke.match(frame, LOOSE, **LOOSELY).toArrow(), expected)
    assert "[User]" in fyke.explain(frame, LOOSE, **LOOSELY)
    assert fyke.statistics(frame, LOOSE, **LOOSELY).rows > 0
    assert fyke.rejected(frame, time="at").count() == 0
    parts = {kind: frame.where(f"Kind = '{kind}'").drop("Kind") for kind in "AB"}
    assert fyke.match(parts, LOOSE, time="at", tie_breaker="id").count() == expected.num_rows


def test_relational_queries_and_programs_too(frame: DataFrame) -> None:
    query = "SELECT a.PRICE, b.user FROM [RANGE 3 SEC] A AS a; B AS b WHERE a.USER = b.user"
    found = fyke.match(frame, query, time="at", type="kind", time_unit="s").toArrow()
    exact = query.replace("PRICE", "Price").replace("USER", "User").replace("user", "User")
    assert found.num_rows == fyke.match(TABLE, exact, time="At", type="Kind", time_unit="s").num_rows > 0
    shop = fyke.program(
        "Pair: PATTERN SEQ(A a, B b) WHERE { [user] } WITHIN 9; Two: PATTERN SEQ(Pair p, Pair q) WITHIN 99"
    )
    assert shop.run(frame, time="at", type="KIND")["Pair"].count() > 0


def test_unless_spark_says_otherwise_and_never_on_tables(spark: SparkSession, frame: DataFrame) -> None:
    with settings(spark, {"spark.sql.caseSensitive": "true"}):
        assert fyke.match(frame, EXACT, **NAMED).count() > 0
        for query, options in ((LOOSE, NAMED), (EXACT, LOOSELY)):
            with pytest.raises(FykeError, match="Did you mean"):
                fyke.match(frame, query, **options)
        both = frame.withColumn("price", frame["Price"] * 0)
        assert fyke.match(both, "PATTERN A a WHERE { a.price = 0 AND a.Price > 1 }", **NAMED).count() == 2
    with pytest.raises(MissingColumnError, match=r"no column 'AT'.*\n.*Did you mean 'At'"):
        fyke.match(TABLE, EXACT, **LOOSELY)


# --- columns that are not needed ----------------------------------------------------------------


def read_columns(frame: DataFrame) -> set[str]:
    """Return the columns that a plan reads from its files."""
    plan = frame._jdf.queryExecution().executedPlan().toString()
    found = re.findall(r"ReadSchema: struct<(.*?)>\n|ReadSchema: struct<([^\n]*)>", plan)
    return {part.split(":")[0] for each in found for part in "".join(each).split(",")}


@pytest.fixture(scope="module")
def stored(spark: SparkSession, frame: DataFrame, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    path = str(tmp_path_factory.mktemp("stored") / "events")
    frame.drop("Place").write.parquet(path)
    return spark.read.parquet(path)


NEXT = "PATTERN SEQ(A a, B b) WHERE { [User] } WITHIN 9 RETURN a.Price AS low"


def test_a_unique_order_needs_no_other_column(stored: DataFrame) -> None:
    needed = {"Kind", "At", "Id", "User", "Price"}
    usual = fyke.match(stored, NEXT, **NAMED)
    assert read_columns(usual) == {*needed, "Note"}  # where ties are left, it says which event is read first
    pruned = fyke.match(stored, NEXT, **NAMED, unique_order=True)
    assert read_columns(pruned) == needed
    assert_same(pruned.toArrow(), usual.toArrow())
    plan = pruned._jdf.queryExecution().executedPlan().toString()
    assert "Note" not in plan


def test_an_order_that_is_not_unique_is_refused(stored: DataFrame) -> None:
    text = r"unique_order=True, and two events of a partition have At = 3"
    with pytest.raises(InputError, match=text):
        fyke.match(stored.toArrow(), NEXT, time="At", type="Kind", unique_order=True)
    with pytest.raises(Exception, match=text):
        fyke.match(stored, NEXT, time="At", type="Kind", unique_order=True).toArrow()


# --- options on streams -------------------------------------------------------------------------


def test_what_a_stream_takes_of_the_options(spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load().selectExpr("timestamp AS Ts", "'A' AS Kind", "value AS X")
    options: dict[str, Any] = {
        "time": "ts",
        "type": "kind",
        "watermark": "1 minute",
        "complete_windows": True,
    }
    found = fyke.match(stream, "PATTERN SEQ(A a, ~B b) WHERE { [x] } WITHIN 1 hour", **options)
    assert found.isStreaming
    assert "X" in found.columns
    with pytest.raises(StreamError, match="complete_windows cannot be decided on a stream for an absence at"):
        fyke.match(stream, "PATTERN SEQ(~B b, A a) WITHIN 1 hour", **options)
