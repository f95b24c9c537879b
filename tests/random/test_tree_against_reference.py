"""Join trees against the naive twin: push, pull, pass-down, every shape, any split into batches."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fyke
from fyke import Techniques, reference
from fyke.language.ast import Strategy
from fyke.plan.tree_shape import Shape, every_shape
from tests.random.results import difference
from tests.random.streams import Case, cases
from tests.random.test_advance import judge_splits
from tests.random.test_engine_against_reference import SETTINGS
from tests.random.test_lazy_against_reference import names_of

STRATEGIES = (Strategy.ANY, Strategy.ANY, Strategy.ANY, Strategy.STRICT)


@st.composite
def shapes(draw: st.DrawFn, names: list[str]) -> Shape:
    """Draw a tree of variables in any order."""
    parts: list[Shape] = list(draw(st.permutations(names)) if draw(st.booleans()) else names)
    while len(parts) > 1:
        at = draw(st.integers(0, len(parts) - 2))
        parts[at : at + 2] = [(parts[at], parts[at + 1])]
    return parts[0]


@st.composite
def tree_options(draw: st.DrawFn, case: Case) -> dict[str, Any]:
    """Draw a tree, or none, and a way to run it."""
    names = names_of(case)
    techniques = Techniques(
        tree=draw(shapes(names)) if len(set(names)) == len(names) and draw(st.booleans()) else None,
        propagation=draw(st.sampled_from(("push", "pull", "pull"))),
        pass_down=draw(st.sampled_from((None, False, True, True))),
        candidate_windows=draw(st.booleans()),
        **draw(st.sampled_from(({}, {"thresholds": (0.0, 0.0, -1.0), "chunk": draw(st.integers(1, 3))}))),
    )
    return {"engine": "tree", "techniques": techniques}


def judge(case: Case, options: dict[str, Any]) -> bool:
    expected = reference.match(case.table, case.query, **case.options)
    found = fyke.match(case.table, case.query, **case.options, **options)
    differing = difference(found, expected)
    assert differing is None, f"{options}: {differing}"
    return expected.num_rows > 0


def test_trees_equal_the_reference() -> None:
    matched, ways = [], set()

    @settings(SETTINGS, max_examples=250, derandomize=True)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        case = data.draw(cases(data.draw(st.sampled_from(STRATEGIES))))
        options = data.draw(tree_options(case))
        matched.append(judge(case, options))
        techniques = options["techniques"]
        ways.add((case.query.strategy, techniques.propagation, techniques.pass_down, techniques.tree is None))

    check()
    assert len(matched) >= 225
    assert sum(matched) >= len(matched) / 3
    assert len(ways) >= 20


def test_every_shape_gives_the_same_rows() -> None:
    tried = []

    @settings(SETTINGS, max_examples=40, derandomize=True)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        strategy = data.draw(st.sampled_from(STRATEGIES))
        case = data.draw(cases(strategy).filter(lambda case: 3 <= len(set(names_of(case))) <= 5))
        expected = reference.match(case.table, case.query, **case.options)
        names = list(dict.fromkeys(names_of(case)))
        for shape in every_shape(names):
            for propagation, pass_down in (("push", None), ("pull", False), ("pull", True)):
                switches = Techniques(tree=shape, propagation=propagation, pass_down=pass_down)
                found = fyke.match(case.table, case.query, **case.options, engine="tree", techniques=switches)
                differing = difference(found, expected)
                assert differing is None, f"{switches}: {differing}"
        tried.append(len(names))

    check()
    assert {3, 4, 5} <= set(tried)


def test_any_split_gives_the_same_matches_by_trees() -> None:
    drawn = st.sampled_from(STRATEGIES).flatmap(lambda strategy: cases(strategy, judged=False))
    judge_splits(drawn, tree_options)


@pytest.mark.long
def test_trees_equal_the_reference_for_long() -> None:
    @settings(SETTINGS, max_examples=10_000)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        case = data.draw(cases(data.draw(st.sampled_from(STRATEGIES))))
        judge(case, data.draw(tree_options(case)))

    check()
