"""How many runs a set needs ([S] 4.6, cases 1 to 4), how many merging leaves ([N] table 3), at what cost."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest

import fyke
from fyke.datasets import stocks
from fyke.engine.engine import Engine
from fyke.engine.input.prepare import derived_types, prepare
from fyke.language.sase import parse
from fyke.logical.analyse import analyse
from fyke.logical.schema import make_schema
from fyke.plan.plan import make_plan

APART = fyke.Techniques(merging=False, candidate_windows=False)
WINDOWS = (6, 12, 24)


def counted(
    table: pa.Table, query: str, techniques: fyke.Techniques = APART, **options: Any
) -> dict[str, Any]:
    metrics = fyke.Metrics()
    fyke.match(table, query, engine="automaton", techniques=techniques, metrics=metrics, **options)
    return metrics.get()


def instances(pattern: str, kinds: str, techniques: fyke.Techniques = APART) -> int:
    """Return the most runs alive at once that came of the one start S of a stream."""
    table = pa.table({"kind": list(kinds), "t": list(range(len(kinds)))})
    query = f"PATTERN SEQ(S s, {pattern}) WHERE greedy_skip_till_next_match {{ s.t >= 0 }}"
    return int(counted(table, query, techniques, time="t", type="kind")["peak_runs"])


@pytest.mark.parametrize("window", WINDOWS)
def test_case_1_exclusive_variables_need_one_run(window: int) -> None:
    assert instances("AND(A a, B b, C c), D d", "S" + "CAB" * window + "D") == 1


@pytest.mark.parametrize("window", WINDOWS)
def test_case_2_exclusive_variables_with_a_group_need_a_run_per_event(window: int) -> None:
    assert instances("AND(A+ a[], B b), A c, D d", "SB" + "A" * window + "D") == window


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_case_3_variables_of_one_kind_need_a_run_per_permutation(size: int) -> None:
    pattern = f"AND({', '.join(f'A a{k}' for k in range(size))}), D d"
    found = instances(pattern, "S" + "A" * size + "XXXD")
    assert found == math.factorial(size)


@pytest.mark.parametrize("window", WINDOWS)
def test_case_4_one_group_among_variables_of_one_kind(window: int) -> None:
    found = instances("AND(A+ a[], A b), D d", "S" + "A" * window + "D")
    assert window < found <= math.factorial(1) * window**2


@pytest.mark.parametrize("window", [4, 6, 8])
def test_case_4_two_groups_of_one_kind(window: int) -> None:
    found = instances("AND(A+ a[], A+ b[]), D d", "S" + "A" * window + "D")
    assert found == 2**window


@pytest.mark.parametrize("pattern", ["AND(A a0, A a1, A a2, A a3), D d", "AND(A+ a[], A+ b[]), D d"])
def test_merged_the_runs_are_no_more_than_the_states(pattern: str) -> None:
    merged = fyke.Techniques(candidate_windows=False)
    assert instances(pattern, "S" + "A" * 20 + "D", merged) <= 2**4


def test_states_of_a_large_set_are_built_on_demand() -> None:
    names = [f"T{k}" for k in range(63)]
    table = pa.table({"kind": names[::-1] + names, "t": list(range(126))})
    query = f"PATTERN AND({', '.join(f'{name} v{name}' for name in names)}) WHERE {{ vT0.t >= 0 }} WITHIN 62"
    schema = make_schema({"kind": pa.string(), "t": pa.int64()}, time="t", type_column="kind")
    plan = make_plan(analyse(parse(query), schema), derived_types)
    engine = Engine(plan)
    rows = prepare(table, plan)
    _, found = engine.advance(engine.start(rows.schema), rows, None)
    assert len(found.matches) == 2
    assert len(engine.searcher.programs[0].state_rows) < 4_000


# --- [N] section 6 ------------------------------------------------------------------------

ITERATOR = {
    "p1": "",
    "p2": "AND a[i].price > a[i-1].price",
    "p3": "AND a[i].price > min(a[..i-1].price)",
}


def ticks(iterator: str, window: int, *, merging: bool) -> dict[str, Any]:
    conditions = f"[symbol] AND a[1].price % 500 = 0 {ITERATOR[iterator]} AND b.volume < 150"
    query = f"""
        PATTERN SEQ(Stock+ a[], Stock b)
        WHERE skip_till_next_match {{ {conditions} }}
        WITHIN {window} EVENTS
    """
    table = stocks.generate(40 * window, seed=1)
    return counted(table, query, fyke.Techniques(merging=merging), time="ts", type="kind")


def test_merging_shares_most_under_p1_and_least_under_p3() -> None:
    shares, steps = {}, {}
    for iterator in ITERATOR:
        merged, apart = (ticks(iterator, 500, merging=merging) for merging in (True, False))
        assert merged["matches"] == apart["matches"]
        assert apart["runs_merged"] == 0
        shares[iterator] = 1 - merged["runs_created"] / apart["runs_created"]
        steps[iterator] = merged["bindings_tried"] / apart["bindings_tried"]
    assert shares["p1"] >= shares["p2"] >= shares["p3"] > 0
    assert all(share < 1 for share in steps.values())


def test_all_overlapping_runs_of_a_partition_merge_under_p1() -> None:
    found = ticks("p1", 500, merging=True)
    assert found["peak_runs"] == 1


@pytest.mark.parametrize("merging", [True, False])
@pytest.mark.parametrize("iterator", ITERATOR)
def test_work_grows_no_faster_than_the_output(iterator: str, merging: bool) -> None:
    """Figure 8(c): both grow with the window, and their ratio stays within a small factor."""
    ratios = []
    for window in (250, 500, 1000):
        found = ticks(iterator, window, merging=merging)
        ratios.append(found["bindings_tried"] / found["matches"] / window)
    assert max(ratios) <= 2 * ratios[0]


def test_breadth_first_reads_each_event_once_and_backtracking_again() -> None:
    table = stocks.generate(5_000, seed=1)
    query = stocks.QUERY
    once = counted(table, query, fyke.Techniques(), time="ts", type="kind")
    again = counted(table, query, fyke.Techniques(search="backtrack"), time="ts", type="kind")
    assert once["events_reread"] == 0
    assert again["events_reread"] > 0
    assert once["matches"] == again["matches"]


def test_the_buffer_does_not_grow_with_the_stream() -> None:
    def peak(rows: int) -> int:
        table = stocks.generate(rows, seed=2)
        return int(counted(table, stocks.QUERY, fyke.Techniques(), time="ts", type="kind")["buffer_peak"])

    assert peak(600_000) <= 1.1 * peak(300_000)


def test_a_match_ends_the_runs_of_its_partition_when_they_may_not_overlap() -> None:
    table = stocks.generate(20_000, seed=1)
    found = {
        output: counted(table, stocks.QUERY, fyke.Techniques(), time="ts", type="kind", output=output)
        for output in ("all", "non_overlap")
    }
    assert found["non_overlap"]["bindings_tried"] * 10 < found["all"]["bindings_tried"]
    assert found["non_overlap"]["intermediate_matches"] < 2 * found["non_overlap"]["matches"] + 10


def test_starts_without_a_candidate_window_are_skipped() -> None:
    table = pa.table({"kind": list("AAAABAAC"), "t": [0, 1, 2, 3, 4, 50, 51, 52]})
    query = "PATTERN SEQ(A a, B b, C c) WHERE skip_till_any_match { a.t >= 0 } WITHIN 10"
    found = counted(table, query, fyke.Techniques(), time="t", type="kind")
    assert found["starts_skipped"] == 6
    assert found["runs_created"] == 0
    without = counted(table, query, fyke.Techniques(candidate_windows=False), time="t", type="kind")
    assert without["starts_skipped"] == 0
    assert without["runs_created"] > 6


def test_filter_and_partition_spare_the_engine_events_and_runs() -> None:
    table = pa.table({"kind": list("AAXXXBB") * 10, "t": list(range(70)), "k": [0, 1, 1, 1, 1, 1, 0] * 10})
    query = "PATTERN SEQ(A a, B b) WHERE skip_till_next_match { [k] } WITHIN 100"
    both = counted(table, query, fyke.Techniques(), time="t", type="kind")
    unfiltered = counted(table, query, fyke.Techniques(filter=False), time="t", type="kind")
    joined = counted(table, query, fyke.Techniques(partition=False), time="t", type="kind")
    assert both["events_read"] == 40
    assert unfiltered["events_read"] == 70
    assert joined["bindings_tried"] > both["bindings_tried"]


@pytest.mark.parametrize("length", [8, 12])
def test_robust_by_backtracking_accepts_what_it_keeps(length: int) -> None:
    table = pa.table({"kind": ["A"] * length, "t": list(range(length)), "x": list(range(length))})
    query = "PATTERN SEQ(A a, A+ b[], A c) WHERE robust_skip_till_next_match { b[i].x > b[i-1].x }"
    found = counted(table, query, fyke.Techniques(), time="t", type="kind")
    listed = counted(table, query, fyke.Techniques(robust="post_processing"), time="t", type="kind")
    assert found["intermediate_matches"] == found["matches"] == listed["matches"]
    assert listed["intermediate_matches"] > 2 ** (length - 3)
