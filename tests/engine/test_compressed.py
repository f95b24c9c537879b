"""Compressed output: one graph per last event, counted without being listed, read lazily."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest

import fyke
from fyke.errors import InputError, OptionError

OPTIONS = {"time": "t", "type": "kind", "output": "compressed"}
ALL = "PATTERN SEQ(A+ a[], B b) WHERE skip_till_any_match { a.t >= 0 }"


def events(kinds: str) -> pa.Table:
    return pa.table({"kind": list(kinds), "t": list(range(len(kinds)))})


def test_one_row_per_event_that_ends_matches() -> None:
    compressed = fyke.match(events("AABAB"), ALL, **OPTIONS)
    assert compressed.column_names == ["end", "matches", "query", "last", "nodes"]
    assert compressed["end"].to_pylist() == [2, 4]
    assert compressed["matches"].to_pylist() == [3, 7]


@pytest.mark.parametrize("strategy", ["skip_till_any_match", "robust_skip_till_next_match"])
def test_an_event_has_one_row_however_the_search_comes_to_it(strategy: str) -> None:
    """States that are met for the first time, and going back, part the matches of an event."""
    query = f"PATTERN AND(A+ x[], A y, A z) WHERE {strategy} {{ x.t >= 0 }}"
    compressed = fyke.match(events("AAAA"), query, **OPTIONS, engine="automaton")
    assert compressed["end"].to_pylist() == [2, 3]
    assert len(set(compressed["end"].to_pylist())) == compressed.num_rows
    nodes = [tuple(map(repr, node.values())) for node in compressed["nodes"][1].as_py()]
    assert len(set(nodes)) == len(nodes)
    rows = sum(batch.num_rows for batch in fyke.enumerate_matches(compressed))
    assert rows == sum(compressed["matches"].to_pylist()) > 2


def test_a_graph_grows_with_the_events_and_not_with_the_matches() -> None:
    sizes = []
    for length in (20, 40):
        compressed = fyke.match(events("A" * length + "B"), ALL, **OPTIONS)
        assert compressed["matches"].to_pylist() == [2**length - 1]
        sizes.append(len(compressed["nodes"][0]))
    assert sizes[1] < 2.2 * sizes[0]


def test_more_matches_than_integers_are_read_one_by_one() -> None:
    compressed = fyke.match(events("A" * 100 + "B"), ALL, **OPTIONS)
    assert compressed["matches"].to_pylist() == [None]
    first = list(itertools.islice(fyke.enumerate_matches(compressed), 3))
    rows = [row for batch in first for row in batch.to_pylist()]
    assert len({row["match_id"] for row in rows}) == len(rows) > 1_000
    assert all(row["b"] == {"kind": "B", "t": 100} for row in rows)


def test_histories_outside_the_window_are_not_in_the_graph() -> None:
    query = f"{ALL} WITHIN 2"
    compressed = fyke.match(events("AAAB"), query, **OPTIONS)
    assert compressed["matches"].to_pylist() == [3]
    found = [row["a"] for batch in fyke.enumerate_matches(compressed) for row in batch.to_pylist()]
    assert sorted([event["t"] for event in group] for group in found) == [[1], [1, 2], [2]]


@pytest.mark.parametrize("engine", ["auto", "automaton", "lazy_chain", "lazy_tree", "tree"])
@pytest.mark.parametrize(
    "pattern",
    ["SEQ(A+ a[], B b)", "AND(A a, B b)", "SEQ(A a, ~C c, B b)", "OR(SEQ(A a, B b), SEQ(A a, C c))"],
)
def test_every_engine_compresses_what_it_finds(pattern: str, engine: str) -> None:
    table = events("ABACABBAACBAB")
    query = f"PATTERN {pattern} WHERE skip_till_any_match {{ a.t >= 0 }} WITHIN 6"
    compressed = fyke.match(table, query, **OPTIONS, engine=engine)
    listed = fyke.match(table, query, time="t", type="kind")
    read = [row["match_id"] for batch in fyke.enumerate_matches(compressed) for row in batch.to_pylist()]
    assert sorted(read) == sorted(listed["match_id"].to_pylist()) != []
    assert sum(compressed["matches"].to_pylist()) == listed.num_rows


def test_nothing_found_is_an_empty_result() -> None:
    compressed = fyke.match(events("BBA"), ALL, **OPTIONS)
    assert compressed.num_rows == 0
    assert list(fyke.enumerate_matches(compressed)) == []


def test_return_has_no_place_in_a_graph() -> None:
    with pytest.raises(OptionError) as caught:
        fyke.match(events("AB"), f"{ALL} RETURN b.t", **OPTIONS)
    assert str(caught.value) == (
        "output='compressed' holds the events of matches, and the query has RETURN\n"
        "Leave RETURN out, and compute from the rows of fyke.enumerate_matches(...)."
    )


def test_only_compressed_results_are_enumerated() -> None:
    with pytest.raises(InputError) as caught:
        fyke.enumerate_matches(events("AB"))
    assert str(caught.value) == (
        "the result is not compressed, or it was changed: it has no column 'end'\n"
        'Give what fyke.match(..., output="compressed") has returned.'
    )
    with pytest.raises(InputError, match=r"takes a DataFrame or a pyarrow\.Table, found a list of int"):
        fyke.enumerate_matches([1])
