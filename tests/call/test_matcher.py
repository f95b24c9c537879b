"""A matcher: match without its events, which travels to other processes."""

from __future__ import annotations

import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pyarrow as pa
import pytest

import fyke
from fyke.errors import OptionError

EVENTS = pa.table({"kind": ["A", "B"], "t": [1, 2], "x": [1, 2]})
QUERIES = [
    "PATTERN SEQ(A a, B b) WHERE { a.x < b.x } WITHIN 9 RETURN a.x, b.x",
    "SELECT A.x AS a, B.x AS b FROM [RANGE 9 SEC] A; B",
    fyke.parse("PATTERN SEQ(A a, ~C c, B+ b[]) WHERE skip_till_any_match { b[i].x > b[i-1].x } WITHIN 9"),
]


@pytest.mark.parametrize("query", QUERIES, ids=["pattern", "relational", "parsed"])
def test_a_matcher_can_be_pickled(query: str | fyke.Query) -> None:
    options = {"time": "t", "type": "kind", "limits": fyke.Limits(runs=10), "techniques": fyke.Techniques()}
    if str(query).startswith("SELECT"):
        options["time_unit"] = "s"
    matcher = fyke.matcher(query, **options)
    again = pickle.loads(pickle.dumps(matcher))
    assert again == matcher
    assert again(EVENTS).equals(fyke.match(EVENTS, query, **options))
    assert again(EVENTS).num_rows == 1


def test_a_matcher_runs_in_another_process() -> None:
    matcher = fyke.matcher(QUERIES[0], time="t", type="kind", statistics=fyke.Statistics())
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert pool.submit(matcher, EVENTS).result(timeout=120).equals(matcher(EVENTS))


def test_a_matcher_prints_readably() -> None:
    matcher = fyke.matcher("PATTERN SEQ(A a, B b) WITHIN 9", time="t", type="kind")
    assert str(matcher) == ("PATTERN SEQ(A a, B b)\nWITHIN 9\n-- time = 't'\n-- type = 'kind'")


def test_options_are_checked_when_it_is_made() -> None:
    with pytest.raises(OptionError, match=r"matcher takes no option 'tpye'\. Did you mean 'type'"):
        fyke.matcher("PATTERN A a", time="t", tpye="kind")
