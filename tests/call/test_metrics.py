"""Counts of a call, and rows that are rejected: nothing is lost in silence."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import fyke
from fyke.engine.counters import Counters
from fyke.engine.measure.clock import PHASES
from fyke.errors import InputError, NotRunError, OptionError

POINTS = pa.table({"kind": ["A", "B", "B", "C", "A"], "t": [1, 2, 2, 3, None], "k": [1, 1, 1, 1, 1]})
LASTING = pa.table({"kind": ["A", "B", "B", "B"], "s": [1, 5, 9, None], "e": [2, 6, 8, 9]})
PAIR = "PATTERN SEQ(A a, B b) WITHIN 10"


def test_counts_on_a_table() -> None:
    metrics = fyke.Metrics()
    found = fyke.match(POINTS, PAIR, time="t", type="kind", metrics=metrics)
    counts = metrics.get()
    assert found.num_rows == counts["matches"] == 1
    assert (counts["rows"], counts["rejected_rows"], counts["events_read"]) == (5, 1, 3)
    assert (counts["events_filtered"], counts["tied_rows"]) == (1, 2)
    assert (counts["bindings_tried"], counts["runs_created"], counts["peak_runs"]) == (2, 2, 1)


@pytest.mark.parametrize("engine", ["automaton", "lazy_chain", "lazy_tree", "tree"])
def test_work_per_event_and_per_match(engine: str) -> None:
    table = pa.table({"kind": ["A", "B"] * 10, "t": [*range(19), None], "x": [1, 2] * 10})
    query = "PATTERN SEQ(A a, B b) WHERE skip_till_any_match { a.x < b.x } WITHIN 6"
    metrics = fyke.Metrics()
    found = fyke.match(table, query, time="t", type="kind", engine=engine, metrics=metrics)
    counts = metrics.get()
    for name in ("condition_evaluations", "memory_operations"):
        assert metrics.per_event()[name] == counts[name] / 19
        assert metrics.per_match()[name] == counts[name] / found.num_rows
    assert metrics.per_match()["condition_evaluations"] > 0.0
    nothing = fyke.Metrics()
    fyke.match(table.slice(0, 0), query, time="t", type="kind", engine=engine, metrics=nothing)
    assert nothing.per_event() == nothing.per_match() == {}


def test_ties_are_counted_within_a_partition() -> None:
    metrics = fyke.Metrics()
    apart = POINTS.set_column(2, "k", pa.array([1, 1, 2, 1, 1]))
    fyke.match(apart, "PATTERN SEQ(A a, B b) WHERE { [k] } WITHIN 10", time="t", type="kind", metrics=metrics)
    assert metrics.get()["tied_rows"] == 0


def test_rows_without_a_key_are_filtered_where_they_are_in_no_partition() -> None:
    lost = POINTS.set_column(2, "k", pa.array([1, 1, None, None, 1]))
    for strategy, read in (
        ("skip_till_next_match", 2),
        ("partition_contiguity", 2),
        ("strict_contiguity", 4),
        ("greedy_partition_contiguity", 2),
        ("greedy_strict_contiguity", 4),
    ):
        metrics = fyke.Metrics()
        query = f"PATTERN SEQ(A a, B b) WHERE {strategy} {{ [k] }} WITHIN 10"
        fyke.match(lost, query, time="t", type="kind", metrics=metrics)
        assert (metrics.get()["events_read"], metrics.get()["events_filtered"]) == (read, 4 - read)


def test_clocks_stand_apart_from_counts() -> None:
    metrics = fyke.Metrics()
    query = "PATTERN SEQ(A a, B b) WHERE skip_till_any_match { a.k = b.k } WITHIN 10"
    fyke.match(POINTS, query, time="t", type="kind", engine="tree", metrics=metrics)
    values = metrics.get()
    clocks = [name for name in values if name.startswith("seconds_")]
    assert clocks == list(PHASES) == list(values)[-len(PHASES) :]
    assert all(isinstance(values[name], float) for name in clocks)
    assert all(values[name] > 0 for name in clocks if name != "seconds_compile")  # that comes once
    assert all(isinstance(value, int) for name, value in values.items() if name not in clocks)


def test_peaks_are_not_added() -> None:
    one = Counters(runs_created=3, peak_runs=2, buffer_peak=80)
    one.merge(Counters(runs_created=4, peak_runs=1, buffer_peak=120))
    assert (one.runs_created, one.peak_runs, one.buffer_peak) == (7, 2, 120)


def test_rows_without_a_time_are_said_to_be_rejected() -> None:
    with pytest.warns(fyke.RejectedRowsWarning, match="1 of 5 rows have no time"):
        fyke.match(POINTS, PAIR, time="t", type="kind")
    assert fyke.rejected(POINTS, time="t").column("kind").to_pylist() == ["A"]


def test_an_event_that_ends_before_it_starts_is_rejected() -> None:
    metrics = fyke.Metrics()
    found = fyke.match(LASTING, PAIR, time=("s", "e"), type="kind", metrics=metrics)
    assert metrics.get()["rejected_rows"] == 2
    assert found.num_rows == 1
    assert fyke.rejected(LASTING, time=("s", "e")).column("e").to_pylist() == [8, 9]
    assert fyke.reference.match(LASTING, PAIR, time=("s", "e"), type="kind").equals(found)


def test_a_function_that_cannot_be_compiled_is_refused() -> None:
    query = "PATTERN SEQ(A a, B b) WHERE { f(a.t, b.t) > 1 } WITHIN 10"
    with pytest.raises(OptionError, match="function 'f' cannot be compiled"):
        fyke.match(POINTS, query, time="t", type="kind", functions={"f": lambda x, y: str(x) + y})


def test_metrics_say_that_nothing_has_run() -> None:
    metrics = fyke.Metrics()
    assert str(metrics) == repr(metrics) == "Metrics: nothing has run yet"
    assert not metrics.filled
    for ask in (metrics.get, metrics.per_event, metrics.per_match, metrics.statistics):
        with pytest.raises(NotRunError) as caught:
            ask()
        assert str(caught.value) == (
            "nothing has run yet that would have filled these metrics\n"
            "Give them to a call, as in fyke.match(events, query, ..., metrics=metrics)."
        )
    # What nothing has filled is nothing to set estimates against.
    assert "observed" not in fyke.explain(POINTS, PAIR, time="t", type="kind", metrics=metrics)


def test_metrics_print_readably() -> None:
    metrics = fyke.Metrics()
    fyke.match(POINTS, PAIR, time="t", type="kind", metrics=metrics)
    lines = str(metrics).splitlines()
    assert lines[0] == "Metrics"
    assert [line.split() for line in lines[1:3]] == [["rows", "5"], ["rejected_rows", "1"]]
    assert len(lines) == 1 + len(metrics.get())
    assert lines[-1].split()[0].startswith("seconds_")


PROGRAM = """
    Pairs: PATTERN SEQ(A a, B b) WHERE skip_till_any_match { [k] } WITHIN 10 seconds RETURN b.t AS t;
    Late: PATTERN SEQ(Pairs p, C c) WITHIN 10 seconds;
    Means: SELECT AVG(t) AS mean FROM [RANGE 5 SEC] B
"""


def test_metrics_of_a_program() -> None:
    metrics = fyke.Metrics()
    options: dict[str, Any] = {"time": "t", "type": "kind", "time_unit": "s"}
    results = fyke.program(PROGRAM).run(POINTS, metrics=metrics, **options)
    assert list(metrics.queries) == ["Pairs", "Late", "Means"]
    parts = {label: each.get() for label, each in metrics.queries.items()}
    assert {label: each["matches"] for label, each in parts.items()} == {
        label: each.num_rows for label, each in results.items()
    }
    assert parts["Pairs"]["rejected_rows"] == 1
    whole = metrics.get()
    for name in ("rows", "rejected_rows", "events_read", "matches", "condition_evaluations"):
        assert whole[name] == sum(each[name] for each in parts.values())
    assert whole["peak_runs"] == max(each["peak_runs"] for each in parts.values())
    assert str(metrics).startswith("Metrics of Pairs, Late, Means\n  rows")
    assert metrics.queries["Pairs"].statistics().rows > 0
    with pytest.raises(InputError, match="statistics are of one query, and these are the metrics of Pairs"):
        metrics.statistics()
    fyke.program(PROGRAM).run(POINTS, metrics=metrics, outputs=["Pairs"], **options)
    assert list(metrics.queries) == ["Pairs"]
    fyke.match(POINTS, PAIR, time="t", type="kind", metrics=metrics)
    assert metrics.queries == {}
    assert metrics.get()["rows"] == 5


def test_a_program_prints_readably() -> None:
    assert repr(fyke.program(PROGRAM)) == "Program of 3 queries: Pairs, Late (reads Pairs), Means"
    assert repr(fyke.program(["Q: PATTERN A a"])) == "Program of 1 query: Q"
