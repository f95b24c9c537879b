"""MATCH_RECOGNIZE on DataFrames: the rows of the table, whatever the partitions; one shuffle, few columns."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import fyke
from fyke import errors
from fyke.errors import (
    LimitError,
    QueryError,
    RowOrderError,
    SkipError,
    TypeClashError,
    UnknownAttributeError,
    UnknownFunctionError,
    UnsupportedQueryError,
)
from tests.random.row_clauses import row_case
from tests.row_patterns.golden_cases import RowCase, load_row_cases
from tests.spark.tables import assert_same, frame_of
from tests.spark.test_lean_road import names, nodes

pytestmark = pytest.mark.spark

GOLDEN = load_row_cases()
PARTITIONS = (1, 2, 7)
TICKS = pa.table(
    {
        "symbol": ["X", "Y", "X", None, "Y", "X", None, "X", "Y", None] * 3,
        "day": [n // 2 for n in range(30)],  # ties, also within a symbol
        "price": [float(7 * n % 13) for n in range(30)],
        "volume": [n % 5 for n in range(30)],
        "note": [f"row {n}" for n in range(30)],
    }
)
V_SHAPE = """
    MATCH_RECOGNIZE (
      PARTITION BY symbol ORDER BY day
      MEASURES MATCH_NUMBER() AS n, FIRST(price) AS top, LAST(down.price) AS low, LAST(up.price * 2) AS back
      PATTERN (strt down+ up+)
      DEFINE down AS price < PREV(price) AND volume < 5, up AS price > PREV(price)
    )
"""


def in_order(spark: SparkSession, table: pa.Table, partitions: int) -> DataFrame:
    """Return a table as a DataFrame of so many partitions, whose rows are in the order of the table."""
    size = -(-table.num_rows // partitions)
    frames = [frame_of(spark, table.slice(first, size)) for first in range(0, table.num_rows, size)]
    frame = frames[0].coalesce(1)
    for each in frames[1:]:
        frame = frame.union(each.coalesce(1))
    return frame


def in_microseconds(table: pa.Table) -> pa.Table:
    """Return a table with times as Spark has them."""
    for place, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            kind = pa.timestamp("us", field.type.tz)
            table = table.set_column(place, field.name, table[field.name].cast(kind))
    return table


def check(spark: SparkSession, table: pa.Table, clause: str, partitions: int) -> None:
    """Check that a clause has the same result on a table and on a DataFrame, rows shuffled; or errors."""
    table = in_microseconds(table)
    frame = frame_of(spark, table).repartition(partitions)
    try:
        expected = fyke.match(table, clause)
    except SkipError as error:
        with pytest.raises(SkipError, match=re.escape(error.message.split(" of the ")[0])):
            fyke.match(frame, clause).collect()
        return
    assert_same(fyke.match(frame, clause).toArrow(), expected)


def golden_ids(cases: list[RowCase]) -> list[str]:
    return [case.name for case in cases]


ORDERED = [case for case in GOLDEN if "ORDER BY" in case.clause]


@pytest.mark.parametrize("number", range(0, len(ORDERED), 17))
def test_published_examples(spark: SparkSession, number: int) -> None:
    case = ORDERED[number]
    check(spark, case.table, case.clause, PARTITIONS[number % 3])


@pytest.mark.parametrize("seed", range(6))
def test_random_clauses(spark: SparkSession, seed: int) -> None:
    case = row_case(seed)
    check(spark, case.table, case.clause, PARTITIONS[seed % 3])


@pytest.mark.long
@pytest.mark.parametrize("partitions", PARTITIONS)
@pytest.mark.parametrize("case", ORDERED, ids=golden_ids(ORDERED))
def test_all_published_examples(spark: SparkSession, case: RowCase, partitions: int) -> None:
    if isinstance(case.expected, str):
        with pytest.raises(getattr(errors, case.expected)):
            fyke.match(frame_of(spark, case.table).repartition(partitions), case.clause).collect()
        return
    found = fyke.match(frame_of(spark, in_microseconds(case.table)).repartition(partitions), case.clause)
    assert case.difference(found.toArrow()) is None


@pytest.mark.long
@pytest.mark.parametrize("block", range(10))
def test_many_random_clauses(spark: SparkSession, block: int) -> None:
    for seed in range(1000 + 30 * block, 1030 + 30 * block):
        case = row_case(seed)
        check(spark, case.table, case.clause, PARTITIONS[seed % 3])


@pytest.mark.parametrize("partitions", PARTITIONS)
def test_attempts_that_expire(spark: SparkSession, partitions: int) -> None:
    clause = V_SHAPE.replace("(strt down+ up+)", "(strt down+ up+) WITHIN 4")
    expected = fyke.match(TICKS, clause, timeouts=True)
    assert set(expected["status"].to_pylist()) == {"match", "timeout"}
    assert_same(fyke.match(in_order(spark, TICKS, partitions), clause, timeouts=True).toArrow(), expected)


# --- order and partitions -------------------------------------------------------------------------


@pytest.mark.parametrize("partitions", PARTITIONS)
def test_ties_stay_as_they_come_and_null_is_a_partition(spark: SparkSession, partitions: int) -> None:
    expected = fyke.match(TICKS, V_SHAPE)
    assert expected.num_rows > 3
    assert None in expected["symbol"].to_pylist()
    assert_same(fyke.match(in_order(spark, TICKS, partitions), V_SHAPE).toArrow(), expected)


@pytest.mark.parametrize("order", ["x", "x DESC", "x NULLS FIRST", "s DESC, x DESC NULLS FIRST"])
def test_orders(spark: SparkSession, order: str) -> None:
    table = pa.table(
        {
            "x": [1.5, None, float("nan"), -0.0, 0.0, None, -3.0, float("inf")],
            "s": ["b", "ä", None, "B", "", None, "a", "ab"],
            "i": range(8),
        }
    )
    clause = (
        f"MATCH_RECOGNIZE (ORDER BY {order} MEASURES array_agg(i) AS rows PATTERN (a+) DEFINE a AS i >= 0)"
    )
    expected = fyke.match(table, clause)
    assert len(expected["rows"][0]) == 8
    assert_same(fyke.match(in_order(spark, table, 2), clause).toArrow(), expected)


@pytest.mark.parametrize("name", ["a.b", "a`b", "${user} ä", '"'])
def test_odd_names(spark: SparkSession, name: str) -> None:
    written = '"' + name.replace('"', '""') + '"'
    table = pa.table({name: [3, 1, 2, 5], f"{name} 2": ["p", "p", "q", "q"], "t": [1, 2, 3, 4]})
    clause = f"""
        MATCH_RECOGNIZE (
          PARTITION BY {written[:-1]} 2" ORDER BY t
          MEASURES LAST(a.{written} + 1) AS {written[:-1]} 3" ALL ROWS PER MATCH
          PATTERN (a+) DEFINE a AS {written} > 1
        )
    """
    assert_same(fyke.match(frame_of(spark, table), clause).toArrow(), fyke.match(table, clause))


def test_more_rows_than_a_chunk(spark: SparkSession) -> None:
    frame = spark.range(700_000).selectExpr("id", "id % 3 = 0 AND id > 600000 AS small", "id % 1000 AS x")
    frame = frame.selectExpr("id", "if(small, 1, 2) AS k", "x")
    clause = """
        MATCH_RECOGNIZE (
          PARTITION BY k ORDER BY id MEASURES MATCH_NUMBER() AS n, FIRST(id) AS first, LAST(id) AS last
          PATTERN (strt up+) DEFINE up AS x > PREV(x)
        )
    """
    expected = fyke.match(frame.toArrow(), clause)
    assert_same(fyke.match(frame, clause).toArrow(), expected)


# --- what Spark does ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ticks(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    path: Path = tmp_path_factory.mktemp("rows") / "ticks.parquet"
    pq.write_table(TICKS, path)
    return spark.read.parquet(str(path))


def test_one_exchange_one_sort_and_only_needed_columns(ticks: DataFrame) -> None:
    found = fyke.match(ticks, V_SHAPE)
    plan = nodes(found)
    operators = names(found)
    assert operators.count("Exchange") == operators.count("Sort") == operators.count("MapInArrow") == 1
    exchange = next(node for node in plan if node.startswith("Exchange"))
    assert exchange.startswith("Exchange hashpartitioning(symbol#")
    assert plan[-1].endswith("ReadSchema: struct<symbol:string,day:bigint,price:double,volume:bigint>")
    # The symbol, the price and the bit of volume < 5: not the day, nor the volume.
    sent = next(node for node in plan if node.startswith("MapInArrow"))
    assert re.search(r"match_recognize\(c0#\w+, c1#\w+, c2#\w+\)", sent), sent


def test_conditions_on_one_row_are_bits_of_one_column(ticks: DataFrame) -> None:
    clause = """
        MATCH_RECOGNIZE (
          ORDER BY day MEASURES count(*) AS n PATTERN (a b+ c)
          DEFINE a AS price > 5 AND note LIKE 'row%', b AS volume IN (1, 2), c AS regexp_like(note, '[05]$')
        )
    """
    found = fyke.match(ticks, clause)
    plan = nodes(found)
    assert next(node for node in plan if node.startswith("Exchange")).startswith("Exchange SinglePartition")
    sent = next(node for node in plan if node.startswith("MapInArrow"))
    assert re.search(r"match_recognize\(c0#\w+\)", sent), sent
    assert_same(
        found.toArrow(), fyke.match(TICKS, clause.replace("regexp_like(note, '[05]$')", "note RLIKE '[05]$'"))
    )


def test_a_function_of_spark_alone(spark: SparkSession, ticks: DataFrame) -> None:
    clause = """
        MATCH_RECOGNIZE (
          PARTITION BY symbol ORDER BY day, note
          MEASURES LAST(crc32(note)) AS code, sum(crc32(a.note)) AS codes
          PATTERN (a+) DEFINE a AS crc32(note) > 0
        )
    """
    found = fyke.match(ticks, clause).toArrow().to_pylist()
    codes = {row[0] for row in ticks.selectExpr("crc32(note)").collect()}
    assert {row["code"] for row in found} <= codes
    assert sum(row["codes"] for row in found) == sum(codes)


def test_explain_says_what_spark_does(ticks: DataFrame) -> None:
    clause = """
        MATCH_RECOGNIZE (
          PARTITION BY symbol ORDER BY day DESC MEASURES LAST(crc32(a.note)) AS code
          PATTERN (a b c)
          DEFINE a AS volume < 3, b AS volume > 3 AND price < PREV(price), c AS price > a.price
        )
    """
    said = fyke.explain(ticks, clause)
    assert (
        """
before matching, by Spark
-------------------------
  A        volume < 3
  B        volume > 3
  column   __fyke_d0 = crc32(note)
  carry    symbol, price, day
  shuffle  by symbol
  sort     symbol, day descending, then as the rows come

in the tasks, by Arrow
----------------------
  B        price < PREV(price)

matching
"""
        in said
    )
    assert "  shuffle  to one task\n" in fyke.explain(ticks, clause.replace("PARTITION BY symbol", ""))


def test_metrics(spark: SparkSession) -> None:
    on_table, on_frame = fyke.Metrics(), fyke.Metrics()
    expected = fyke.match(TICKS, V_SHAPE, metrics=on_table)
    result = fyke.match(in_order(spark, TICKS, 2), V_SHAPE, metrics=on_frame)
    assert_same(result.toArrow(), expected)

    def exact(metrics: fyke.Metrics) -> dict[str, Any]:
        return {name: value for name, value in metrics.get().items() if not name.startswith("seconds_")}

    assert exact(on_frame) == exact(on_table)
    assert on_frame.get()["matches"] == expected.num_rows
    nothing = fyke.Metrics()
    assert (
        fyke.match(in_order(spark, TICKS.slice(0, 1), 1).where("day < 0"), V_SHAPE, metrics=nothing).count()
        == 0
    )
    assert nothing.get()["rows"] == 0


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "clause, kind, said",
    [
        (
            "PATTERN (a b) DEFINE b AS x > 1",
            RowOrderError,
            "the rows of a DataFrame are in no order (line 1, c",
        ),
        ("ORDER BY dya PATTERN (a) DEFINE a AS price > 1", UnknownAttributeError, "Did you mean 'day'?"),
        ("ORDER BY day PATTERN (a) DEFINE a AS prise > 1", UnknownAttributeError, "Did you mean 'price'?"),
        ("ORDER BY day PATTERN (a) DEFINE a AS price > avg(price) OVER (ORDER BY day)", QueryError, "OVER"),
        ("ORDER BY day PATTERN (a) DEFINE a AS price > (SELECT 1)", QueryError, "SELECT"),
        ("ORDER BY day PATTERN (a) DEFINE a AS nonsense(price) > 1", UnknownFunctionError, "'nonsense'"),
        ("ORDER BY day PATTERN (a) DEFINE a AS rand() > 0.5", UnknownFunctionError, "'rand'"),
        ("ORDER BY day PATTERN (a) DEFINE a AS rank() > 1", TypeClashError, "rank()"),
        ("ORDER BY day PATTERN (a) DEFINE a AS crc32(price) > 1", TypeClashError, "crc32"),
        ("ORDER BY day PATTERN (a b) DEFINE a AS crc32(PREV(note)) > 1", UnsupportedQueryError, "row by row"),
        (
            "ORDER BY day MEASURES crc32(a.note) AS c PATTERN (a) DEFINE a AS price > 1",
            UnsupportedQueryError,
            "Write LAST(crc32(A.x))",
        ),
        (
            "ORDER BY day MEASURES hash(sum(a.price)) AS c PATTERN (a) DEFINE a AS price > 1",
            UnsupportedQueryError,
            "row by row",
        ),
    ],
)
def test_bad_input(ticks: DataFrame, clause: str, kind: type[QueryError], said: str) -> None:
    with pytest.raises(kind) as caught:
        fyke.match(ticks, f"MATCH_RECOGNIZE ({clause})")
    assert said in str(caught.value)
    assert "^" in str(caught.value)


def test_errors_of_workers_come_back_whole(ticks: DataFrame) -> None:
    clause = "MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY day {} PATTERN (a+ b) DEFINE a AS price >= 0)"
    with pytest.raises(SkipError, match="symbol"):
        fyke.match(ticks, clause.format("AFTER MATCH SKIP TO FIRST a")).collect()
    looks_back = clause.format("").replace("price >= 0", "price >= 0 * FIRST(price)")
    with pytest.raises(LimitError) as caught:
        fyke.match(ticks, looks_back, limits=fyke.Limits(steps=30)).collect()
    assert caught.value.limit == "steps"
    assert caught.value.message.endswith(" by the search of (A+ B), at A+")
