"""The compressed output of random queries, enumerated, is the output of all matches."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given, settings

import fyke
from fyke import reference
from fyke.language.ast import Strategy
from fyke.techniques import Techniques
from tests.random.results import difference
from tests.random.streams import Case, cases
from tests.random.test_engine_against_reference import SETTINGS

EXAMPLES = [25, pytest.param(200, marks=pytest.mark.long)]
WAYS = (Techniques(), Techniques(merging=False), Techniques(search="backtrack", robust="post_processing"))


@pytest.mark.parametrize("examples", EXAMPLES)
@pytest.mark.parametrize("strategy", Strategy)
def test_enumerated_graphs_are_all_matches(strategy: Strategy, examples: int) -> None:
    @settings(SETTINGS, max_examples=examples, derandomize=True)
    @given(cases(strategy, judged=False))
    def check(case: Case) -> None:
        query = replace(case.query, returns=None)
        options = {**case.options, "output": "all", "engine": "automaton"}
        expected = fyke.match(case.table, query, **options)
        for techniques in WAYS:
            options = {**options, "output": "compressed", "techniques": techniques}
            compressed = fyke.match(case.table, query, **options)
            batches = list(fyke.enumerate_matches(compressed))
            found = pa.Table.from_batches(batches) if batches else expected.schema.empty_table()
            differing = difference(found, expected)
            assert differing is None, differing
            assert sum(compressed["matches"].to_pylist()) == expected.num_rows

    check()


@pytest.mark.parametrize("examples", EXAMPLES)
@pytest.mark.parametrize("strategy", Strategy)
def test_graphs_hold_the_matches_of_the_reference(strategy: Strategy, examples: int) -> None:
    @settings(SETTINGS, max_examples=examples, derandomize=True)
    @given(cases(strategy))
    def check(case: Case) -> None:
        query = replace(case.query, returns=None)
        options = {**case.options, "output": "compressed"}
        compressed = fyke.match(case.table, query, **options, engine="automaton")
        certain = reference.match(case.table, query, **options)
        differing = difference(compressed.select(certain.column_names), certain)
        assert differing is None, differing
        expected = reference.match(case.table, query, **{**options, "output": "all"})
        differing = difference(reference.enumerate_matches(compressed), expected)
        assert differing is None, differing

    check()
