"""why_not names the true cause of prepared mistakes, and a change that really gives a match."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import fyke
from tests.diagnosis.cases import CASES, Case

LEAST = 55


def asked(case: Case) -> tuple[Any, dict[str, Any]]:
    events = case.events if case.damaged is None else case.damaged
    options = {**case.options, **case.changed}
    return events, {name: value for name, value in options.items() if value is not None}


def matches(events: Any, query: str, options: dict[str, Any]) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return int(fyke.match(events, query, **options).num_rows)


def test_there_are_many_cases() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= LEAST


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "_"))
def test_the_cause_is_named(case: Case) -> None:
    assert matches(case.events, case.right, case.options) > 0, "the query without the mistake matches"
    events, options = asked(case)
    if not case.ask and case.cause != "contradiction":
        assert matches(events, case.wrong, options) == 0, "the mistake costs all matches"
    found = fyke.why_not(events, case.wrong, **options, **case.ask, seconds=60)
    text = str(found)
    assert found.cause == case.cause, text
    assert case.says in text, text
    assert case.change in found.findings[0].change, text
    changed, setup = found.changed_query, found.findings[0].setup
    if changed is not None and setup is not None and not case.ask:  # the change gives what it promises
        assert matches(events, str(changed), options) == found.findings[0].matches
