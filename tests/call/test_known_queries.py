"""A query that comes again: what was worked out for it holds for the same schema and options only."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest

import fyke
from fyke.call import known_queries
from fyke.errors import TypeClashError

QUERY = "PATTERN SEQ(A a, B b) WHERE { a.x < b.x } WITHIN 9 RETURN a.x AS a, b.x AS b"
KINDS = ["A", "B", "A", "B"]


def matched(x: pa.Array, query: str | fyke.Query = QUERY, **options: object) -> list[dict[str, object]]:
    table = pa.table({"t": range(4), "kind": KINDS, "x": x})
    found = fyke.match(table, query, **{"time": "t", "type": "kind", **options})
    rows: list[dict[str, object]] = found.select(["a", "b"]).to_pylist()
    return rows


def test_the_same_text_over_other_types_is_another_query() -> None:
    for _ in range(2):
        assert matched(pa.array([1, 2, 3, 10])) == [{"a": 1, "b": 2}, {"a": 3, "b": 10}]
        assert matched(pa.array(["1", "2", "3", "10"])) == [{"a": "1", "b": "2"}]
        with pytest.raises(TypeClashError):
            matched(pa.array([[1], [2], [3], [10]]))


def test_options_have_their_say() -> None:
    x = pa.array([1, 2, 3, 10])
    any_match = QUERY.replace("WHERE {", "WHERE skip_till_any_match {")
    for _ in range(2):
        assert len(matched(x, any_match)) == 3
        assert len(matched(x, any_match, output="non_overlap")) == 2
        assert len(matched(x, any_match, tie_breaker="x", engine="lazy_tree")) == 3


def test_functions_of_one_name_are_told_apart() -> None:
    query = QUERY.replace("a.x < b.x", "f(a.x) < b.x")
    x = pa.array([1, 2, 3, 10])
    for _ in range(2):
        assert [row["b"] for row in matched(x, query, functions={"f": lambda v: v})] == [2, 10]
        assert [row["b"] for row in matched(x, query, functions={"f": lambda v: v + 5})] == [10, 10]


def test_no_more_queries_are_kept_than_a_few_hundred() -> None:
    table = pa.table({"t": range(2), "kind": ["A", "B"]})
    for window in range(1, 600):
        fyke.match(table, f"PATTERN SEQ(A a, B b) WITHIN {window}", time="t", type="kind")
    assert 0 < len(known_queries._known) <= 256


def test_threads_may_share_a_query() -> None:
    x = np.random.default_rng(1).random(2_000)
    table = pa.table({"t": range(2_000), "kind": np.where(x < 0.5, "A", "B"), "x": x[::-1].copy()})
    query = "PATTERN SEQ(A a, B b) WHERE skip_till_any_match { a.x < b.x } WITHIN 20"
    for engine in ("automaton", "lazy_chain", "lazy_tree", "tree"):
        expected = fyke.match(table, query, time="t", type="kind", engine=engine)
        with ThreadPoolExecutor(4) as pool:
            work = [
                pool.submit(fyke.match, table, query, time="t", type="kind", engine=engine) for _ in range(8)
            ]
            assert all(each.result().equals(expected) for each in work)
