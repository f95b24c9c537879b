"""The golden files are well formed, and a malformed one is refused with the place and the reason."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from tests.golden.cases import (
    STRATEGIES,
    GoldenCase,
    GoldenError,
    load_case,
    load_cases,
    parse_case,
)

GOOD = """\
# Two steps

source: nowhere
note:   one line
        and another
type:   kind
time:   start, end
tie_breaker: seq

# a comment
events:
    id  kind      start  end  seq  x     k     ok
    a1  A         0      1    1    1     null  true
    b1  "B done"  2      3    2    -2.5  u     false
    x   X         4      4    3    null  "7"   null
    x   X         4      4    3    null  u     null

query:
    PATTERN SEQ(A a, "B done"+ b[])
    WHERE {
        a.x < b.x
    }

expect skip_till_next_match, greedy_skip_till_next_match:
    a=a1 b=b1
    b=b1

expect strict_contiguity:
    none

expect skip_till_any_match:
    count 12
"""


def test_a_case_is_read_as_written() -> None:
    case = parse_case(GOOD, "two_steps")
    assert case.name == "two_steps"
    assert case.title == "Two steps"
    assert case.source == "nowhere"
    assert case.note == "one line and another"
    assert (case.type, case.time, case.tie_breaker) == ("kind", ("start", "end"), ("seq",))
    assert case.query == 'PATTERN SEQ(A a, "B done"+ b[])\nWHERE {\n    a.x < b.x\n}'
    assert case.expected == {
        "skip_till_next_match": [{"a": ["a1"], "b": ["b1"]}, {"b": ["b1"]}],
        "greedy_skip_till_next_match": [{"a": ["a1"], "b": ["b1"]}, {"b": ["b1"]}],
        "strict_contiguity": [],
        "skip_till_any_match": 12,
    }
    assert [case.count(strategy) for strategy in case.expected] == [2, 2, 0, 12]


def test_cells_decide_the_types_of_columns() -> None:
    table = parse_case(GOOD, "two_steps").table
    assert table.schema == pa.schema(
        {
            "id": pa.string(),
            "kind": pa.string(),
            "start": pa.int64(),
            "end": pa.int64(),
            "seq": pa.int64(),
            "x": pa.float64(),
            "k": pa.string(),
            "ok": pa.bool_(),
        }
    )
    assert table["kind"].to_pylist() == ["A", "B done", "X", "X"]
    assert table["x"].to_pylist() == [1.0, -2.5, None, None]
    assert table["k"].to_pylist() == [None, "u", "7", "u"]
    assert table["ok"].to_pylist() == [True, False, None, None]


def test_type_note_and_tie_breaker_may_be_left_out() -> None:
    text = GOOD.replace("type:   kind\n", "").replace("tie_breaker: seq\n", "")
    text = text.replace("start, end\n", "start\n").replace("note:   one line\n        and another\n", "")
    case = parse_case(text, "two_steps")
    assert (case.type, case.time, case.tie_breaker, case.note) == (None, "start", (), "")


@pytest.mark.parametrize(
    "found,replaced,message",
    [
        ("# Two steps", "Two steps", "line 1: the first line is the title"),
        ("source: nowhere\n", "", "line 1: section 'source:' is missing"),
        ("source: nowhere", "sauce: nowhere", "line 3: unknown section 'sauce'"),
        ("source: nowhere", "source nowhere", "line 3: expected 'section: ...'"),
        ("source: nowhere", "    nowhere", "line 3: an indented line belongs to a section"),
        ("source: nowhere", "type: kind", "line 6: 'type' is there twice"),
        ("    a1  A ", "\ta1  A ", "line 13: found a tab"),
        ("start, end\n", "when\n", "line 7: time names 'when'; columns are id, kind"),
        ("start, end\n", "start, end, seq\n", "line 7: time is one column, or two"),
        ("type:   kind", "type:   kind, x", "line 6: type is one column"),
        ("    id  kind", "    nr  kind", "line 12: column names must differ, and the first one is id"),
        ("-2.5  u     false", "-2.5  u", "line 14: expected 8 cells"),
        ("1    1     null  true", "1    1     null  1", "line 11: column 'ok' mixes"),
        ("PATTERN", "", "line 18: the query has no PATTERN"),
        ("WHERE {", "WHERE strict_contiguity {", "the query names strict_contiguity"),
        ("tie_breaker: seq", "output: few", "line 8: output is one of all, non_overlap"),
        ("expect strict_contiguity", "expect contiguity", "unknown section 'expect contiguity'"),
        ("expect strict_contiguity", "expect skip_till_next_match", "is there twice"),
        ("    none\n", "", "an expect block needs matches, 'count <n>', or 'none'"),
        ("    b=b1\n", "    b\n", "line 26: expected variable=id,id,...; found 'b'"),
        ("    b=b1\n", "    a=a1 b=b1\n", "line 26: this match is listed twice"),
        ("    b=b1\n", "    b=b1 b=b1\n", "line 26: variable 'b' is bound twice"),
        ("    b=b1\n", "    c=b1\n", "line 26: the query has no variable 'c'"),
        ("    b=b1\n", "    b=b2\n", "line 26: 0 rows have the id 'b2'"),
        ("    b=b1\n", "    b=x\n", "line 26: 2 rows have the id 'x'"),
        ("    b=b1\n", "    b=b1,b1\n", "line 26: event 'b1' is bound twice"),
    ],
)
def test_a_malformed_file_is_refused_by_place_and_reason(found: str, replaced: str, message: str) -> None:
    assert found in GOOD
    with pytest.raises(GoldenError) as refusal:
        parse_case(GOOD.replace(found, replaced, 1), "two_steps")
    assert str(refusal.value).startswith("two_steps.golden, line ")
    assert message in str(refusal.value)


def test_a_file_without_expectations_is_refused() -> None:
    with pytest.raises(GoldenError, match="no 'expect <strategy>:' block"):
        parse_case(GOOD[: GOOD.index("expect skip")], "two_steps")


@pytest.mark.parametrize("path", sorted(Path(__file__).parent.glob("*.golden")), ids=lambda path: path.stem)
def test_every_golden_file_loads_and_says_why(path: Path) -> None:
    case = load_case(path)
    assert case.note, "a golden case explains its expectations"
    assert set(case.expected) <= set(STRATEGIES)
    assert _contained(case, "skip_till_next_match", "skip_till_any_match")
    assert _contained(case, "greedy_skip_till_next_match", "robust_skip_till_next_match")
    assert _contained(case, "robust_skip_till_next_match", "skip_till_any_match")
    assert _contained(case, "strict_contiguity", "partition_contiguity")
    if case.output == "all":
        assert _contained(case, "greedy_strict_contiguity", "strict_contiguity")
        assert _contained(case, "greedy_partition_contiguity", "partition_contiguity")


def _contained(case: GoldenCase, smaller: str, larger: str) -> bool:
    """Return whether the matches of one strategy are among those of the other, where both are listed."""
    few, many = case.expected.get(smaller), case.expected.get(larger)
    if few is None or many is None:
        return True
    if isinstance(few, int) or isinstance(many, int):
        return case.count(smaller) <= case.count(larger)
    return all(match in many for match in few)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_has_cases_with_few_and_with_many_matches(strategy: str) -> None:
    counts = [case.count(strategy) for case in load_cases() if strategy in case.expected]
    assert min(counts) < 2 < max(counts) or {0, 2} <= set(counts)
