"""Fyke in SQL: fyke_match, with columns known at analysis and errors of its own; programs over views."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from datetime import datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import fyke
from fyke.errors import InputError, OptionError, QueryTooLargeError, UnknownAttributeError

pytestmark = pytest.mark.spark

START = datetime(2026, 1, 5)
EVENTS = pa.table(
    {
        "ts": [START + timedelta(minutes=n) for n in range(60)],
        "kind": ["Cart", "Buy", "Cart", "Exit", "Cart", "View"] * 10,
        "user": [f"u{n % 7}" for n in range(60)],
        "price": [float(n % 11) for n in range(60)],
    }
)
QUERY = (
    "PATTERN SEQ(Cart a, ~Buy b, Exit c) WHERE { [user] AND a.price > 2 } WITHIN 1 hour RETURN a.price AS p"
)


@pytest.fixture(scope="module")
def views(spark: SparkSession) -> Iterator[SparkSession]:
    frame = spark.createDataFrame(EVENTS).repartition(3)
    frame.createOrReplaceTempView("events")
    for kind in ("Cart", "Buy", "Exit"):
        frame.where(f"kind = '{kind}'").drop("kind").createOrReplaceTempView(kind)
    fyke.register(spark)
    yield spark
    for name in ("events", "Cart", "Buy", "Exit", "Lost"):
        spark.catalog.dropTempView(name)


def call(query: str, more: str = "", table: str = "TABLE(events) PARTITION BY user ORDER BY ts") -> str:
    return f"SELECT * FROM fyke_match({table}, query => '{query}'{more})"


def rows(table: pa.Table) -> list[str]:
    """Return what is to be compared, without the time zone that Spark gives to times."""
    found = table.select(["match_id", "start", "p"]).to_pylist()
    return sorted(str(row | {"start": row["start"].replace(tzinfo=None)}) for row in found)


def test_the_function_finds_what_match_finds(views: SparkSession) -> None:
    found = views.sql(call(QUERY))
    expected = fyke.match(EVENTS, QUERY, time="ts", type="kind")
    assert expected.num_rows > 0
    assert found.columns == expected.column_names
    assert found.schema["p"].dataType.typeName() == "double"
    assert rows(found.toArrow()) == rows(expected)


def test_a_partition_is_matched_by_itself(views: SparkSession) -> None:
    without_key = QUERY.replace("[user] AND ", "")
    found = views.sql(call(without_key)).toArrow()
    expected = fyke.match(EVENTS, QUERY, time="ts", type="kind")
    assert found.num_rows == expected.num_rows
    single = views.sql(call(without_key, table="TABLE(events) WITH SINGLE PARTITION")).toArrow()
    assert rows(single) == rows(fyke.match(EVENTS, without_key, time="ts", type="kind"))


def test_without_partitions_it_is_refused(views: SparkSession) -> None:
    with pytest.raises(InputError, match="without PARTITION BY the events are in several tasks"):
        views.sql(call(QUERY, table="TABLE(events)")).collect()


def test_errors_are_those_of_fyke(views: SparkSession) -> None:
    with pytest.raises(UnknownAttributeError) as caught:
        views.sql(call(QUERY.replace("a.price > 2", "a.prise > 2"))).schema  # noqa: B018
    assert "Did you mean 'price'?" in str(caught.value)
    assert "^^^" in str(caught.value)
    assert "Traceback" not in str(caught.value)
    assert isinstance(caught.value, PySparkException)
    with pytest.raises(OptionError, match="fyke_match takes no argument 'tim'"):
        views.sql(call(QUERY, ", tim => 'ts'")).schema  # noqa: B018


@pytest.mark.parametrize(
    "written, params",
    [
        ("map('least', 2.0D)", {"least": 2.0}),
        ("named_struct('least', 2, 'kind', 'Cart')", {"least": 2, "kind": "Cart"}),
    ],
)
def test_parameters_and_limits_are_maps_or_structs(
    written: str, params: dict[str, object], views: SparkSession
) -> None:
    query = QUERY.replace("> 2", "> :least")
    if "kind" in params:
        query = query.replace(" }", " AND a.kind = :kind }")
    given = f", params => {written}, limits => map('matches', 1000)"
    spelled = query.replace("'", "''")
    found = views.sql(call(spelled, given)).toArrow()
    expected = fyke.match(EVENTS, query, time="ts", type="kind", params=params)
    assert expected.num_rows > 0
    assert rows(found) == rows(expected)
    with pytest.raises(QueryTooLargeError, match="the limit is 10"):
        views.sql(call(spelled, given.replace("'matches', 1000", "'query_characters', 10"))).schema  # noqa: B018


@pytest.mark.parametrize(
    "given, text",
    [
        ("limits => map('match', 5)", "there is no limit 'match'. Did you mean 'matches'?"),
        ("limits => 5", "limits of fyke_match is a map, found 5"),
        ("limits => map('runs', 0.5D)", "limit 'runs' must be a whole number above zero"),
        ("params => 'least'", "params"),
    ],
)
def test_wrong_parameters_and_limits_are_refused(given: str, text: str, views: SparkSession) -> None:
    with pytest.raises(OptionError, match=re.escape(text)):
        views.sql(call(QUERY, f", {given}")).schema  # noqa: B018


def test_pyspark_logs_no_page_about_them(views: SparkSession) -> None:
    logged: list[str] = []
    logger, kept = logging.getLogger("SQLQueryContextLogger"), logging.Handler()
    kept.emit = lambda record: logged.append(record.getMessage())  # type: ignore[method-assign]
    logger.addHandler(kept)
    try:
        with pytest.raises(OptionError, match="takes no argument"):
            views.sql(call(QUERY, ", tim => 'ts'"))
        assert logged == []
        with pytest.raises(PySparkException):
            views.sql("SELECT nothing FROM events")
        assert len(logged) == 1  # what is not Fyke's is still logged
    finally:
        logger.removeHandler(kept)


def test_a_program_over_views(views: SparkSession) -> None:
    program = """
        Lost: PATTERN SEQ(Cart a, ~Buy b, Exit c) WHERE { [user] } WITHIN 1 hour RETURN a.price AS p;
        Twice: PATTERN SEQ(Lost a, Lost b) WHERE { [user] } WITHIN 1 day RETURN a.p + b.p AS p
    """
    found = fyke.sql(views, program, time="ts")
    assert list(found) == ["Lost", "Twice"]
    kinds = {kind: EVENTS.filter(pc.field("kind") == kind) for kind in ("Cart", "Buy", "Exit")}
    typed = {kind: table.drop_columns("kind") for kind, table in kinds.items()}
    expected = fyke.program(program).run(typed, time="ts")
    for label, table in expected.items():
        assert rows(found[label].toArrow()) == rows(table), label
    assert views.sql("SELECT count(*) AS n FROM Lost").collect() == [(expected["Lost"].num_rows,)]
    one = fyke.sql(views, QUERY, time="ts", type="kind", events="events")
    assert rows(one.toArrow()) == rows(fyke.match(EVENTS, QUERY, time="ts", type="kind"))
    with pytest.raises(InputError, match="the session has no view or table 'Nothing'"):
        fyke.sql(views, "PATTERN SEQ(Nothing a, Cart b) WITHIN 1 hour", time="ts")
