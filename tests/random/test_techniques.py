"""Every technique of evaluation, on and off, gives the same rows: at once, and in any split into batches."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fyke
from fyke.language.ast import Strategy
from fyke.techniques import Techniques
from tests.random.results import difference
from tests.random.streams import cases
from tests.random.test_advance import feed, splits, stream_of
from tests.random.test_engine_against_reference import SETTINGS

NONE = Techniques(
    filter=False, partition=False, candidate_windows=False, merging=False, robust="post_processing"
)
EXAMPLES = [30, pytest.param(200, marks=pytest.mark.long)]
VARIANTS = {
    "none of them": NONE,
    "no filter": Techniques(filter=False),
    "no partitions": Techniques(partition=False),
    "no candidate windows": Techniques(candidate_windows=False),
    "no merging": Techniques(merging=False),
    "backtracking": Techniques(search="backtrack"),
    "backtracking alone": Techniques(
        search="backtrack", filter=False, partition=False, candidate_windows=False
    ),
    "robust by post-processing": Techniques(robust="post_processing"),
}


@pytest.mark.parametrize("examples", EXAMPLES)
@pytest.mark.parametrize("strategy", Strategy)
def test_no_technique_changes_the_rows(strategy: Strategy, examples: int) -> None:
    """The default is judged by the reference elsewhere; here it is the judge."""

    @settings(SETTINGS, max_examples=examples, derandomize=True)
    @given(cases(strategy, judged=False))
    def check(case) -> None:  # type: ignore[no-untyped-def]
        options = {**case.options, "engine": "automaton"}
        expected = fyke.match(case.table, case.query, **options)
        for name, techniques in VARIANTS.items():
            found = fyke.match(case.table, case.query, techniques=techniques, **options)
            differing = difference(found, expected)
            assert differing is None, f"{name}: {differing}"

    check()


@pytest.mark.parametrize("examples", EXAMPLES)
@pytest.mark.parametrize("strategy", Strategy)
def test_no_technique_changes_what_batches_give(strategy: Strategy, examples: int) -> None:
    @settings(SETTINGS, max_examples=examples, derandomize=True)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        case = data.draw(cases(strategy, judged=False))
        batches, watermarks = data.draw(splits(case))
        name = data.draw(st.sampled_from(sorted(VARIANTS)))
        stream = stream_of(case, VARIANTS[name])
        feed(case, stream, batches, watermarks)
        expected = stream_of(case)
        expected.advance(case.table, None)
        differing = difference(stream.result(), expected.result())
        assert differing is None, f"{name}: {differing}"

    check()
