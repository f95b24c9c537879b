"""What limits promise holds for every engine; the clock and Ctrl-C end a search at any time."""

from __future__ import annotations

import signal
import time
from types import FrameType
from typing import Any

import pyarrow as pa
import pytest

import fyke
from fyke.errors import LimitError, OptionError

ENGINES = ["automaton", "lazy_chain", "lazy_tree", "tree"]
OPTIONS: dict[str, Any] = {"time": "t", "type": "kind"}
ENDLESS = fyke.Limits(steps=2**60, buffer_bytes=2**40, runs=2**40, matches=2**60)


def events(kinds: str, **columns: list[Any]) -> pa.Table:
    return pa.table({"kind": list(kinds), "t": list(range(len(kinds))), **columns})


LATE = "PATTERN SEQ(A a, A b, A c, A d, A e) WHERE skip_till_any_match { a.t + b.t + c.t + d.t + e.t < 0 }"
MANY_ALIKE = events("A" * 500)
SEARCHES = [(engine, LATE, MANY_ALIKE) for engine in ENGINES] + [
    (
        "automaton",
        "PATTERN SEQ(A a, ~B+ b[], C c) WHERE { sum(b[].t) < 0 }",
        events("A" + "B" * 200 + "C"),
    ),
    (
        "automaton",
        "PATTERN AND(A+ a[], A+ b[], A c) WHERE robust_skip_till_next_match { sum(a[].t) < c.t - 900 }",
        MANY_ALIKE,
    ),
    (
        "lazy_chain",
        "PATTERN SEQ(A{1,2} a[], A{1,2} b[]) "
        "WHERE skip_till_any_match { a[i].x > a[i-1].x AND b[i].x > b[i-1].x } "
        "WITHIN 4900 RETURN count(*) AS n",
        events("A" * 5_000, x=list(range(5_000))),
    ),
]


@pytest.mark.parametrize("engine, query, table", SEARCHES, ids=lambda each: each if each in ENGINES else "")
def test_seconds_end_a_call_by_the_clock(engine: str, query: str, table: pa.Table) -> None:
    fyke.match(table.slice(0, 3), query, engine=engine, **OPTIONS)  # compiling does not count
    limits = fyke.Limits(seconds=0.5, steps=2**60, buffer_bytes=2**34, runs=2**40)
    began = time.monotonic()
    with pytest.raises(
        LimitError, match=r"limit 'seconds' of 0\.5 was exceeded in the whole input by"
    ) as caught:
        fyke.match(table, query, engine=engine, limits=limits, **OPTIONS)
    assert time.monotonic() - began < 5
    assert (caught.value.limit, caught.value.value) == ("seconds", 0.5)
    again = LimitError.found_in(RuntimeError(f"worker failed: {caught.value}\n at ..."))
    assert again is not None
    assert again.__dict__ == caught.value.__dict__


@pytest.mark.parametrize("seconds", [0, -1, True, "5", float("nan"), float("inf")])
def test_seconds_that_are_none(seconds: Any) -> None:
    with pytest.raises(OptionError, match="limit 'seconds' must be a number above zero"):
        fyke.Limits(seconds=seconds)


@pytest.mark.parametrize("engine, query, table", SEARCHES, ids=lambda each: each if each in ENGINES else "")
def test_a_search_can_be_interrupted(engine: str, query: str, table: pa.Table) -> None:
    fyke.match(table.slice(0, 3), query, engine=engine, **OPTIONS)

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    began = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            fyke.match(table, query, engine=engine, limits=ENDLESS, **OPTIONS)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - began < 5
    assert fyke.match(events("AB"), "PATTERN SEQ(A a, B b)", **OPTIONS).num_rows == 1


@pytest.mark.parametrize("most", [3, 5, 20, 40])
@pytest.mark.parametrize("engine", ENGINES)
def test_no_engine_holds_more_partial_matches_than_runs(engine: str, most: int) -> None:
    table, metrics = events("A" * 10 + "B" * 10 + "C" * 10), fyke.Metrics()
    query = "PATTERN SEQ(A a, B b, C c) WHERE skip_till_any_match { a.t < b.t } WITHIN 100"
    techniques = fyke.Techniques(merging=False)
    options: dict[str, Any] = {**OPTIONS, "engine": engine, "techniques": techniques}
    fyke.match(table, query, metrics=metrics, **options)
    peak = metrics.get()["peak_runs"]
    if peak <= most:
        assert fyke.match(table, query, limits=fyke.Limits(runs=most), **options).num_rows == 1_000
        return
    with pytest.raises(LimitError, match=f"limit 'runs' of {most} was exceeded"):
        fyke.match(table, query, limits=fyke.Limits(runs=most), **options)


@pytest.mark.parametrize("engine", [*ENGINES, "auto"])
def test_matches_are_counted_by_partition(engine: str) -> None:
    table = events("AB" * 20, k=["x"] * 20 + ["y"] * 20)
    query = "PATTERN SEQ(A a, B b) WHERE skip_till_any_match { [k] } WITHIN 100"
    found = fyke.match(table, query, engine=engine, limits=fyke.Limits(matches=55), **OPTIONS)
    assert found.num_rows == 110
    with pytest.raises(LimitError, match="limit 'matches' of 54 was exceeded in the partition k = 'x'"):
        fyke.match(table, query, engine=engine, limits=fyke.Limits(matches=54), **OPTIONS)


def test_the_steps_of_robust_name_it_and_what_to_do() -> None:
    query = "PATTERN AND(A+ a[], A b) WHERE robust_skip_till_next_match { sum(a[].t) < b.t - 900 }"
    with pytest.raises(LimitError) as caught:
        fyke.match(MANY_ALIKE, query, limits=fyke.Limits(steps=100_000), **OPTIONS)
    assert caught.value.message == (
        "limit 'steps' of 100,000 was exceeded in the whole input by robust_skip_till_next_match, "
        "which goes back as long as it finds no match, for the group a[]"
    )
    assert "choose skip_till_next_match, which never goes back" in caught.value.remedy


def test_the_default_of_steps_grows_with_the_events() -> None:
    limits = fyke.Limits()
    assert limits.steps_for(0) == 250_000_000
    assert limits.steps_for(10_000_000) == 10_250_000_000
    assert fyke.Limits(steps=5).steps_for(10_000_000) == 5


# --- explosions that are none -----------------------------------------------------------------


def counted(table: pa.Table, query: str, **options: Any) -> dict[str, Any]:
    metrics = fyke.Metrics()
    fyke.match(table, query, metrics=metrics, engine="automaton", **OPTIONS, **options)
    return metrics.get()


@pytest.mark.parametrize("size, rows", [(20, 5), (20, 19), (62, 3), (62, 61)])
@pytest.mark.parametrize("window", ["", " WITHIN 1000", " WITHIN 500 EVENTS"])
def test_a_set_that_needs_more_events_than_there_are_starts_nothing(
    size: int, rows: int, window: str
) -> None:
    names = ", ".join(f"A v{k}" for k in range(size))
    query = f"PATTERN AND({names}) WHERE skip_till_any_match {{ v0.t >= 0 }}{window}"
    found = counted(events("A" * rows), query)
    assert (found["runs_created"], found["starts_skipped"]) == (0, rows)


def test_a_set_counts_the_events_of_its_window() -> None:
    query = "PATTERN AND(A a, A b, A c) WHERE skip_till_any_match { a.t >= 0 } WITHIN 2"
    table = pa.table({"kind": ["A"] * 6, "t": [0, 1, 5, 6, 7, 20]})
    found = counted(table, query)
    assert found["matches"] == 6
    assert found["starts_skipped"] == 5


@pytest.mark.parametrize("rows", [50, 100, 200])
def test_robust_follows_no_future_twice(rows: int) -> None:
    """A condition that fails at the last of five variables: n⁵ runs without dead ends, n² with them."""
    table = events("A" * rows)
    query = "PATTERN SEQ(A a, A b, A c, A d, A e) WHERE robust_skip_till_next_match { e.t < a.t }"
    found = counted(table, query)
    assert found["matches"] == 0
    assert found["bindings_tried"] <= 5 * rows**2
    some = "PATTERN SEQ(A a, A b, A c) WHERE robust_skip_till_next_match { c.t > a.t + 7 } WITHIN 9"
    for each in (query, some):
        one, other = (
            fyke.match(table.slice(0, 12), each, techniques=techniques, **OPTIONS)
            for techniques in (fyke.Techniques(), fyke.Techniques(merging=False, robust="post_processing"))
        )
        assert one.equals(other)
