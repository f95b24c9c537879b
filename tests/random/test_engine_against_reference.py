"""The engine against its naive twin on random queries and streams: no difference in any column."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings

import fyke
from fyke import reference
from fyke.language.ast import Strategy
from tests.random.queries import features
from tests.random.results import difference
from tests.random.streams import Case, cases

SETTINGS = settings(
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)

SEEN = {
    *(strategy.value for strategy in Strategy),
    *("Seq", "And", "Or", "Not", "Not Seq", "Not And", "Not Or", "Not Event", "nested absence", "ANY"),
    *("{1,1}", "{0,1}", "{1,}[]", "{0,}[]", "{2,2}[]", "{2,}[]", "{1,2}[]", "{0,2}[]"),
    *("window units", "window duration", "window events", "no window"),
    *(f"index {name}" for name in ("NONE", "EACH", "PREVIOUS", "FIRST", "LAST", "ALL", "BEFORE")),
    *("index FIRST by number", "index LAST by number"),
    *(f"function {name}" for name in ("avg", "sum", "min", "max", "count", "stddev", "first", "last")),
    *(
        "Equivalence",
        "Length",
        "In",
        "Between",
        "IsNull",
        "Like",
        "operator NOT",
        "operator OR",
        "operator AND",
    ),
    *("operator +", "operator -", "operator *", "operator /", "operator %", "condition of an absence"),
    *("RETURN", "RETURN Call", "RETURN Length", "RETURN Star"),
    *("touching", "complete_windows"),
}


class Tally:
    """Counts what a run has covered."""

    def __init__(self) -> None:
        self.examples = 0
        self.with_matches = 0
        self.seen: Counter[str] = Counter()

    def add(self, case: Case, found: bool) -> None:
        self.examples += 1
        self.with_matches += found
        self.seen.update({*features(case.query), case.output, "tie-breaker" if case.tie_breaker else "ties"})
        self.seen.update(name for name in ("touching", "complete_windows") if getattr(case, name))

    def check(self) -> None:
        assert self.with_matches >= self.examples / 2, f"{self.with_matches} of {self.examples} have matches"
        missing = sorted(SEEN - self.seen.keys())
        assert missing == []


def judge(case: Case) -> bool:
    """Compare the automaton, and what the planner takes, with the twin; say whether there was a match."""
    expected = reference.match(case.table, case.query, **case.options)
    for engine in ("automaton", "auto"):
        found = fyke.match(case.table, case.query, **case.options, engine=engine)
        differing = difference(found, expected)
        assert differing is None, f"{engine}: {differing}"
        if "match_id" in found.column_names:
            assert len(set(found["match_id"].to_pylist())) == found.num_rows
    return _found_something(case, expected)


def _found_something(case: Case, expected: object) -> bool:
    rows = expected.to_pylist()  # type: ignore[attr-defined]
    if rows and "match_id" not in rows[0]:  # aggregates over matches: a row without any value means none
        return any(
            value not in (None, 0) for row in rows for name, value in row.items() if name.startswith("r")
        )
    return bool(rows)


def test_engine_is_its_naive_twin() -> None:
    tally = Tally()

    @settings(SETTINGS, max_examples=600, derandomize=True)
    @given(cases())
    def check(case: Case) -> None:
        tally.add(case, judge(case))

    check()
    assert tally.examples >= 400
    tally.check()


@pytest.mark.long
def test_engine_is_its_naive_twin_for_long() -> None:
    tally = Tally()

    @settings(SETTINGS, max_examples=20_000)
    @given(cases())
    def check(case: Case) -> None:
        tally.add(case, judge(case))

    check()
    tally.check()
