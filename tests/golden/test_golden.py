"""Every golden case under every strategy it lists: the reference, the engine on a table, and Spark."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import fyke
from fyke import reference
from fyke.language.ast import Strategy
from tests.golden.cases import GoldenCase, Match, load_cases
from tests.spark.tables import frame_of, settings

CASES_BY_NAME = {case.name: case for case in load_cases()}
CASES = [(case, strategy) for case in CASES_BY_NAME.values() for strategy in case.expected]
IDS = [f"{case.name}-{strategy}" for case, strategy in CASES]


def query_under(case: GoldenCase, strategy: str) -> fyke.Query:
    return replace(fyke.parse(case.query), strategy=Strategy(strategy))


def bindings(result: pa.Table) -> list[Match]:
    """Read back the ids each match binds, leaving out unbound variables."""
    found: list[Match] = []
    for row in result.to_pylist():
        match: Match = {}
        for name, value in row.items():
            if isinstance(value, dict):
                match[name] = [value["id"]]
            elif isinstance(value, list):
                match[name] = [event["id"] for event in value]
        found.append(match)
    return found


def options(case: GoldenCase) -> dict[str, Any]:
    return {"time": case.time, "type": case.type, "tie_breaker": case.tie_breaker or None}


def check(case: GoldenCase, strategy: str, result: pa.Table) -> None:
    expected = case.expected[strategy]
    if isinstance(expected, int):
        assert result.num_rows == expected
        return

    def canonical(matches: list[Match]) -> Counter[Any]:
        return Counter(tuple(sorted((k, tuple(v)) for k, v in m.items())) for m in matches)

    assert canonical(bindings(result)) == canonical(expected)


@pytest.mark.parametrize("case, strategy", CASES, ids=IDS)
@pytest.mark.parametrize("implementation", [reference.match, fyke.match], ids=["reference", "engine"])
def test_golden(implementation: Any, case: GoldenCase, strategy: str) -> None:
    check(case, strategy, implementation(case.table, query_under(case, strategy), **options(case)))


LAZY = [(case, name) for case, name in CASES if Strategy(name) is Strategy.ANY]


@pytest.mark.parametrize("case", [case for case, _ in LAZY], ids=[case.name for case, _ in LAZY])
@pytest.mark.parametrize("engine", ["lazy_chain", "lazy_tree", "tree"])
def test_golden_lazily(engine: str, case: GoldenCase) -> None:
    query = query_under(case, Strategy.ANY.value)
    check(case, Strategy.ANY.value, fyke.match(case.table, query, **options(case), engine=engine))


@pytest.mark.spark
@pytest.mark.parametrize("name", CASES_BY_NAME)
def test_golden_on_spark(spark: SparkSession, name: str) -> None:
    """All strategies of a case in one job: their results in one union."""
    case = CASES_BY_NAME[name]
    frame = frame_of(spark, case.table)
    united: DataFrame | None = None
    for strategy in case.expected:
        matches = fyke.match(frame, query_under(case, strategy), **options(case))
        matches = matches.withColumn("under", F.lit(strategy))
        united = matches if united is None else united.unionByName(matches, allowMissingColumns=True)
    assert united is not None
    with settings(spark, {"spark.sql.shuffle.partitions": "2"}):
        found = united.toArrow()
    for strategy in case.expected:
        check(case, strategy, found.filter(pc.equal(found["under"], strategy)))
