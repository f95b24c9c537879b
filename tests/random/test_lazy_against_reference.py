"""The lazy engines against naive twin and automaton: every order, both forms of absence, any split."""

from __future__ import annotations

import itertools
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fyke
from fyke import Techniques, reference
from fyke.language.ast import Equivalence, Strategy, events
from fyke.logical.analyse import analyse
from fyke.logical.schema import make_schema
from fyke.plan.early_absences import early_absences, takes_one_event
from fyke.plan.pushdown import push_down
from tests.random.guarded import guarded_cases
from tests.random.queries import declared
from tests.random.results import difference
from tests.random.streams import Case, cases
from tests.random.test_advance import judge_splits
from tests.random.test_engine_against_reference import SETTINGS

ABSENCES = ("first_chance", "post_processing", None)


def names_of(case: Case) -> list[str]:
    return [variable.name for variable in declared(case.query.pattern) if variable.absence == 0]


@st.composite
def lazy_options(draw: st.DrawFn, case: Case) -> dict[str, Any]:
    """Draw a lazy engine, a form of absence and, for a chain, an order or none."""
    engine = draw(st.sampled_from(("lazy_chain", "lazy_tree")))
    order = None
    if engine == "lazy_chain" and draw(st.booleans()):
        order = tuple(draw(st.permutations(names_of(case))))
    absence, partition = draw(st.sampled_from(ABSENCES)), draw(st.sampled_from((True, True, False)))
    partition |= any(isinstance(each, Equivalence) for each in case.query.conditions)  # they part anyway
    return {"engine": engine, "techniques": Techniques(order=order, absence=absence, partition=partition)}


def judge(case: Case, options: dict[str, Any]) -> bool:
    expected = reference.match(case.table, case.query, **case.options)
    found = fyke.match(case.table, case.query, **case.options, **options)
    differing = difference(found, expected)
    assert differing is None, f"{options}: {differing}"
    eager = fyke.match(case.table, case.query, **case.options, engine="automaton")
    assert difference(found, eager) is None
    with patch("fyke.engine.lazy.tables._INDEX_FROM", 1):  # windows here hold too little for an index to pay
        indexed = fyke.match(case.table, case.query, **case.options, **options)
    assert difference(indexed, eager) is None
    return expected.num_rows > 0


def decides_several_early(case: Case) -> bool:
    """Say whether an absence of several events can be decided before the match is whole."""
    columns = dict(zip(case.table.schema.names, case.table.schema.types, strict=True))
    schema = make_schema(columns, time=case.time, type_column="kind", tie_breaker=case.tie_breaker)
    return any(
        not takes_one_event(alternative.absences[k])
        for alternative in push_down(analyse(case.query, schema)).alternatives
        for k in early_absences(alternative)
    )


def test_lazy_engines_equal_the_reference() -> None:
    matched, engines = [], set()

    @settings(SETTINGS, max_examples=250, derandomize=True)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        case = data.draw(cases(Strategy.ANY))
        options = data.draw(lazy_options(case))
        matched.append(judge(case, options))
        engines.add((options["engine"], options["techniques"].absence, options["techniques"].order is None))

    check()
    assert len(matched) >= 225
    assert sum(matched) >= len(matched) / 3
    assert len(engines) == 9  # a tree has no order


@pytest.mark.parametrize("examples", [150, pytest.param(2_000, marks=pytest.mark.long)])
def test_absences_of_several_events_equal_the_reference(examples: int) -> None:
    """Their first chance is before the match is whole, where no group has a say ([L] 4.4.2)."""
    matched, early, ways = [], [], set()

    @settings(SETTINGS, max_examples=examples, derandomize=True)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        case = data.draw(guarded_cases())
        options = data.draw(lazy_options(case))
        matched.append(judge(case, options))
        techniques = options["techniques"]
        early.append(techniques.absence != "post_processing" and decides_several_early(case))
        ways.add((options["engine"], techniques.absence, techniques.order is None, early[-1]))

    check()
    assert len(matched) >= 0.9 * examples
    assert sum(matched) >= len(matched) / 3
    assert sum(early) >= len(early) / 2
    forms = {(form, form != "post_processing") for form in ABSENCES}
    chosen = [("lazy_chain", True), ("lazy_chain", False), ("lazy_tree", True)]
    assert ways >= {(engine, form, free, first) for engine, free in chosen for form, first in forms}


def test_every_order_of_a_chain_gives_the_same_rows() -> None:
    tried = []

    @settings(SETTINGS, max_examples=15, derandomize=True)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        case = data.draw(cases(Strategy.ANY).filter(lambda case: 3 <= len(names_of(case)) <= 5))
        expected = reference.match(case.table, case.query, **case.options)
        for order in itertools.permutations(names_of(case)):
            switches = Techniques(order=order)
            found = fyke.match(
                case.table, case.query, **case.options, engine="lazy_chain", techniques=switches
            )
            differing = difference(found, expected)
            assert differing is None, f"{order}: {differing}"
        tried.append(len(names_of(case)))

    check()
    assert {3, 4, 5} <= set(tried)


def test_any_split_gives_the_same_matches_lazily() -> None:
    judge_splits(cases(Strategy.ANY, judged=False), lazy_options)


def test_any_split_gives_the_same_matches_beside_absences_of_several_events() -> None:
    judge_splits(
        guarded_cases(judged=False),
        lazy_options,
        tells=lambda case, _: decides_several_early(case),
        least=1 / 2,
    )


@pytest.mark.long
def test_lazy_engines_equal_the_reference_for_long() -> None:
    @settings(SETTINGS, max_examples=10_000)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        case = data.draw(cases(Strategy.ANY))
        judge(case, data.draw(lazy_options(case)))

    check()


def test_patterns_of_five_variables_are_drawn() -> None:
    """Guard the guard: the generator makes patterns long enough for every order of five."""
    sizes = set()

    @settings(SETTINGS, max_examples=100, derandomize=True)
    @given(cases(Strategy.ANY))
    def check(case: Case) -> None:
        sizes.add(len(list(events(case.query.pattern))))

    check()
    assert max(sizes) >= 5
