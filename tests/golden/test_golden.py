"""Every golden case under every strategy it lists: the reference, the engine on a table, and Spark."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
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
from tests.random.results import difference
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
    return {
        "time": case.time,
        "type": case.type,
        "tie_breaker": case.tie_breaker or None,
        "output": case.output,
    }


def check(case: GoldenCase, strategy: str, result: pa.Table) -> None:
    expected = case.expected[strategy]
    if isinstance(expected, int):
        assert result.num_rows == expected
        return

    def canonical(matches: list[Match]) -> Counter[Any]:
        return Counter(tuple(sorted((k, tuple(v)) for k, v in m.items())) for m in matches)

    assert canonical(bindings(result)) == canonical(expected)


@cache
def judged(name: str, strategy: str) -> pa.Table:
    """Return the result that the reference has for a case."""
    case = CASES_BY_NAME[name]
    return reference.match(case.table, query_under(case, strategy), **options(case))


@pytest.mark.parametrize("case, strategy", CASES, ids=IDS)
def test_golden_by_the_reference(case: GoldenCase, strategy: str) -> None:
    check(case, strategy, judged(case.name, strategy))


@pytest.mark.parametrize("case, strategy", CASES, ids=IDS)
def test_golden(case: GoldenCase, strategy: str) -> None:
    """The bindings are those expected, and the rest of the rows are as the reference has them."""
    found = fyke.match(case.table, query_under(case, strategy), **options(case))
    check(case, strategy, found)
    differing = difference(found, judged(case.name, strategy))
    assert differing is None, differing


@pytest.mark.parametrize("case, strategy", CASES, ids=IDS)
def test_golden_without_overlap_and_compressed(case: GoldenCase, strategy: str) -> None:
    query = query_under(case, strategy)
    for output in ("non_overlap", "compressed"):
        asked = options(case) | {"output": output}
        found = fyke.match(case.table, query, **asked)
        expected = reference.match(case.table, query, **asked)
        differing = difference(found.select(expected.column_names), expected)
        assert differing is None, f"{output}: {differing}"
    every = reference.match(case.table, query, **options(case) | {"output": "all"})
    differing = difference(reference.enumerate_matches(found), every)
    assert differing is None, differing


LAZY = [(case, name) for case, name in CASES if Strategy(name) is Strategy.ANY]


@pytest.mark.parametrize("case", [case for case, _ in LAZY], ids=[case.name for case, _ in LAZY])
@pytest.mark.parametrize("engine", ["lazy_chain", "lazy_tree", "tree"])
def test_golden_lazily(engine: str, case: GoldenCase) -> None:
    query = query_under(case, Strategy.ANY.value)
    found = fyke.match(case.table, query, **options(case), engine=engine)
    check(case, Strategy.ANY.value, found)
    differing = difference(found, judged(case.name, Strategy.ANY.value))
    assert differing is None, differing


@pytest.mark.spark
@pytest.mark.parametrize("name", CASES_BY_NAME)
def test_golden_on_spark(spark: SparkSession, name: str) -> None:
    """All strategies of a case in one job: their results in one union."""
    case = CASES_BY_NAME[name]
    frame = frame_of(spark, case.table)
    united: DataFrame | None = None
    for strategy in case.expected:
        matches = fyke.match(frame, query_under(case, strategy), **options(case))
        assert matches.columns == judged(name, strategy).column_names
        matches = matches.withColumn("under", F.lit(strategy))
        united = matches if united is None else united.unionByName(matches, allowMissingColumns=True)
    assert united is not None
    with settings(spark, {"spark.sql.shuffle.partitions": "2"}):
        found = united.toArrow()
    for strategy in case.expected:
        rows, expected = found.filter(pc.equal(found["under"], strategy)), judged(name, strategy)
        check(case, strategy, rows)
        differing = difference(rows.select(expected.column_names), expected)
        assert differing is None, differing
