"""Every golden case under every strategy it lists, through the reference and through the engine on a table."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import fyke
from fyke import reference
from fyke.language.ast import Strategy
from tests.golden.cases import GoldenCase, Match, load_cases

CASES = [(case, strategy) for case in load_cases() for strategy in case.expected]
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
    options = {"time": case.time, "type": case.type, "tie_breaker": case.tie_breaker or None}
    check(case, strategy, implementation(case.table, query_under(case, strategy), **options))
