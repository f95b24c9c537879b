"""How a search goes: what failed is remembered, a kernel goes on where it paused, clock and Ctrl-C end it."""

from __future__ import annotations

import random
import signal
import time
from types import FrameType
from typing import Any

import pyarrow as pa
import pytest

import fyke
from fyke.engine import meter
from fyke.engine.row_patterns.open_search import OpenSearch
from fyke.engine.row_patterns.search import HistorySearch
from fyke.errors import LimitError, SkipError
from tests.random.row_clauses import row_case, windowed

# --- what failed is remembered ----------------------------------------------------------------------


def steps(rows: int, pattern: str, define: str) -> int:
    """Return how many moves are tried on so many equal rows, in which there is no match."""
    metrics = fyke.Metrics()
    table = pa.table({"i": range(rows), "x": [1] * rows})
    clause = f"MATCH_RECOGNIZE (ORDER BY i MEASURES count(*) AS n PATTERN ({pattern}) DEFINE {define})"
    found = fyke.match(table, clause, metrics=metrics, limits=fyke.Limits(steps=20_000_000))
    assert found.num_rows == 0
    return int(metrics.get()["bindings_tried"])


NO_C = "A AS x >= FIRST(x), B AS x >= FIRST(x), C AS x < FIRST(x)"


@pytest.mark.parametrize(
    "pattern, define",
    [
        ("^ (A | B)* C", NO_C),
        ("^ (A+ | B)+ C", NO_C),
        ("^ (A | B)* C", "A AS sum(x) > 0, B AS count(*) >= x, C AS x < FIRST(x)"),
    ],
)
def test_from_one_start_twice_the_rows_take_twice_the_steps(pattern: str, define: str) -> None:
    """Without memory they would take 2 to the power of the rows."""
    first, second, third = (steps(rows, pattern, define) for rows in (200, 400, 800))
    assert first <= 20 * 200
    assert abs(second - 2 * first) <= 250  # rows are given back before anything is remembered
    assert abs(third - 2 * second) <= 250


@pytest.mark.parametrize("define", [NO_C, "A AS x >= FIRST(x), B AS sum(x) > 0, C AS x < FIRST(x)"])
def test_from_all_starts_the_steps_grow_with_the_square_of_the_rows(define: str) -> None:
    first, second, third = (steps(rows, "(A | B)* C", define) for rows in (100, 200, 400))
    assert 3 * first <= second <= 5 * first
    assert 3 * second <= third <= 5 * second


# --- a kernel goes on where it paused ---------------------------------------------------------------


@pytest.mark.parametrize("timeouts", [False, True])
def test_a_search_that_pauses_all_the_time_finds_the_same_rows(
    timeouts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = dict.fromkeys((HistorySearch, OpenSearch), 0)
    for kind in calls:
        monkeypatch.setattr(kind, "_call", counted(kind, calls))

    def run(seed: int) -> list[dict[str, Any]] | str:
        case = row_case(seed)
        options = {"timeouts": True} if timeouts else {}
        clause = windowed(case.clause, random.Random(seed)) if timeouts else case.clause
        try:
            rows: list[dict[str, Any]] = fyke.match(case.table, clause, **options).to_pylist()
        except SkipError as error:
            return error.message
        return rows

    seeds = range(60)
    expected = [run(seed) for seed in seeds]
    at_once = sum(calls.values())
    for slice_steps in (0, 3):
        monkeypatch.setattr(meter, "_SLICE", slice_steps)
        assert [run(seed) for seed in seeds] == expected
    assert sum(calls.values()) > 10 * at_once
    assert calls[OpenSearch if timeouts else HistorySearch] > 500


def counted(kind: type[HistorySearch], calls: dict[type[HistorySearch], int]) -> Any:
    """Return a kernel call that is counted."""
    call = kind._call

    def count(self: HistorySearch, arena: Any) -> int:
        calls[kind] += 1
        return call(self, arena)

    return count


# --- clock and Ctrl-C -------------------------------------------------------------------------------

ENDLESS = {"steps": 2**60, "buffer_bytes": 2**34, "runs": 2**40}
FOR_EVER = """
    MATCH_RECOGNIZE (
      ORDER BY i PATTERN ((A | B)* C) WITHIN 1000
      DEFINE A AS coalesce(LAST(CLASSIFIER(), 1), 'A') <> 'Z', C AS x < FIRST(x)
    )
"""
ROWS = pa.table({"i": range(80), "x": [1] * 80})


@pytest.mark.parametrize("options", [{}, {"timeouts": True}])
def test_seconds_end_a_search_by_the_clock(options: dict[str, Any]) -> None:
    fyke.match(ROWS.slice(0, 3), FOR_EVER, **options)  # compiling does not count
    began = time.monotonic()
    with pytest.raises(LimitError) as caught:
        fyke.match(ROWS, FOR_EVER, limits=fyke.Limits(seconds=0.3, **ENDLESS), **options)
    assert time.monotonic() - began < 5
    assert caught.value.message == (
        "limit 'seconds' of 0.3 was exceeded in the whole input by the search of ((A | B)* C), at (A | B)*"
    )


@pytest.mark.parametrize("options", [{}, {"timeouts": True}])
def test_a_search_can_be_interrupted(options: dict[str, Any]) -> None:
    fyke.match(ROWS.slice(0, 3), FOR_EVER, **options)

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    began = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            fyke.match(ROWS, FOR_EVER, limits=fyke.Limits(**ENDLESS), **options)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - began < 5
    assert fyke.match(ROWS.slice(0, 3), FOR_EVER, **options).num_rows == (3 if "timeouts" in options else 0)
