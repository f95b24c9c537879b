"""Times at the edges: before 1970, year 9999, all equal, and the ends of int64 with a window."""

from __future__ import annotations

import datetime
from typing import Any

import pyarrow as pa
import pytest

import fyke
from fyke import reference

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1


def pairs(
    times: list[Any], kind: pa.DataType, window: str, pattern: str = "SEQ(A a, A b)", **options: Any
) -> list[Any]:
    """Return the pairs of row numbers that a pattern finds under any-match."""
    table = pa.table({"kind": ["A"] * len(times), "t": pa.array(times, kind), "n": list(range(len(times)))})
    query = f"PATTERN {pattern} WHERE skip_till_any_match {{ a.n >= 0 }} {window} RETURN a.n AS a, b.n AS b"
    results = []
    for match in (fyke.match, reference.match):
        found = match(table, query, time="t", type="kind", **options)
        results.append(sorted(zip(found["a"].to_pylist(), found["b"].to_pylist(), strict=True)))
    assert results[0] == results[1]
    return results[0]


def test_before_1970() -> None:
    times = [datetime.datetime(1969, 12, 31, 23, 59, 59), datetime.datetime(1970, 1, 1, 0, 0, 1)]
    times += [datetime.datetime(1900, 1, 1), datetime.datetime(1900, 1, 2)]
    assert pairs(times, pa.timestamp("us"), "WITHIN 2 seconds") == [(0, 1)]
    assert pairs(times, pa.timestamp("s"), "WITHIN 1 day") == [(0, 1), (2, 3)]


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_year_9999_and_year_1(unit: str) -> None:
    times = [datetime.datetime(9999, 12, 31, 23, 59, 58), datetime.datetime(9999, 12, 31, 23, 59, 59)]
    times += [datetime.datetime(1, 1, 1), datetime.datetime(1, 1, 1, 0, 0, 1)]
    assert pairs(times, pa.timestamp(unit), "WITHIN 10 hours") == [(0, 1), (2, 3)]
    assert pairs(times, pa.timestamp(unit), "")[-1] == (3, 1)


def test_dates() -> None:
    times = [datetime.date(9999, 12, 30), datetime.date(9999, 12, 31), datetime.date(1, 1, 1)]
    assert pairs(times, pa.date32(), "WITHIN 1 day") == [(0, 1)]


def test_equal_times_are_not_in_sequence_but_stand_together() -> None:
    assert pairs([5, 5, 5], pa.int64(), "WITHIN 1") == []
    assert pairs([5, 5], pa.int64(), "WITHIN 1", tie_breaker="n") == [(0, 1)]
    assert pairs([5, 5], pa.int64(), "WITHIN 1", "AND(A a, A b)") == [(0, 1), (1, 0)]


@pytest.mark.parametrize(
    "times, window, expected",
    [
        ([INT64_MIN, INT64_MAX], "WITHIN 1", []),
        ([INT64_MIN, INT64_MAX], f"WITHIN {INT64_MAX}", []),
        ([INT64_MIN, -1], f"WITHIN {INT64_MAX}", [(0, 1)]),
        ([INT64_MIN, 0], f"WITHIN {INT64_MAX}", []),
        ([-1, INT64_MAX], f"WITHIN {INT64_MAX}", []),
        ([0, INT64_MAX], f"WITHIN {INT64_MAX}", [(0, 1)]),
        ([INT64_MAX - 1, INT64_MAX], "WITHIN 1", [(0, 1)]),
        ([INT64_MIN, INT64_MIN + 1], "WITHIN 1", [(0, 1)]),
        ([INT64_MIN, INT64_MAX], "", [(0, 1)]),
    ],
)
def test_int64_extremes(times: list[int], window: str, expected: list[Any]) -> None:
    assert pairs(times, pa.int64(), window) == expected


@pytest.mark.parametrize(
    "times, expected",
    [
        ([INT64_MIN, INT64_MAX], 2),
        ([INT64_MAX - 1, INT64_MAX], 1),
        ([INT64_MIN, INT64_MIN + 1], 1),
        ([INT64_MIN, INT64_MIN], 2),
    ],
)
def test_absence_at_the_ends_of_int64(times: list[int], expected: int) -> None:
    table = pa.table({"kind": ["A", "A"], "t": times, "n": [0, 1]})
    for match in (fyke.match, reference.match):
        assert match(table, "PATTERN SEQ(A a, ~A b) WITHIN 10", time="t", type="kind").num_rows == expected
        assert match(table, "PATTERN SEQ(~A b, A a) WITHIN 10", time="t", type="kind").num_rows == expected
        assert match(
            table, "PATTERN A a WITHIN 10", time="t", type="kind", output="non_overlap"
        ).num_rows == len(set(times))


def test_intervals_touch_but_do_not_follow() -> None:
    table = pa.table({"kind": list("ABC"), "from": [1, 3, 4], "to": [3, 4, 9]})
    for pattern, expected in {
        "SEQ(A a, B b)": 0,
        "SEQ(A a, C c)": 1,
        "AND(A a, B b)": 1,
        "SEQ(A a, ~B b, C c)": 1,
    }.items():
        for match in (fyke.match, reference.match):
            found = match(table, f"PATTERN {pattern} WITHIN 8", time=("from", "to"), type="kind")
            assert found.num_rows == expected, (match, pattern)
