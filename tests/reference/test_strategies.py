"""What a match is and which are selected: SEMANTICS 1, 2 and 4, case by case."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from fyke.errors import InputError, OptionError
from fyke.language.ast import Index, Literal, Reference, Strategy
from fyke.logical.normal_form import Absence, Alternative
from fyke.reference import match, non_overlap, return_value
from fyke.reference.matches import in_order

from .notation import (
    ANY,
    GREEDY,
    GREEDY_PARTITION,
    GREEDY_STRICT,
    NEXT,
    PARTITION,
    ROBUST,
    STRICT,
    alternative,
    condition,
    expression,
    form,
    found,
    op,
    run,
    stream,
    variable,
    written,
)

AB = alternative("A a ; B b")
A_GROUP = alternative("A a ; B+ b[]")
EVERY = list(Strategy)


# --- order and time ---------------------------------------------------------------------


@pytest.mark.parametrize("strategy", EVERY)
def test_simultaneous_events_are_never_in_sequence_without_tie_breaker(strategy: Strategy) -> None:
    assert found(form(AB, strategy=strategy), "A1 B1") == []


def test_tie_breaker_orders_simultaneous_point_events() -> None:
    assert found(form(AB), stream("B1:k=1 A1:k=2 B1:k=3", tie="k")) == ["a=A1 b=B1"]
    assert found(form(AB), stream("A1:k=2 B1:k=2", tie="k")) == []
    assert found(form(AB), stream("A1-2:k=1 B2:k=2", tie="k")) == []


def test_a_null_tie_breaker_comes_first() -> None:
    assert found(form(AB), stream("B1:k=0 A1:k=null", tie="k")) == ["a=A1 b=B1"]
    assert found(form(AB), stream("A1:k=0 B1:k=null", tie="k")) == []
    assert found(form(AB), stream("A1:k=null B1:k=null", tie="k")) == []


@pytest.mark.parametrize("strategy", EVERY)
def test_simultaneous_events_may_share_a_set_or_a_group(strategy: Strategy) -> None:
    assert found(form(alternative("A a, B b"), strategy=strategy), "A1 B1") == ["a=A1 b=B1"]
    assert "a=A0 b=B1,B1" in found(form(A_GROUP, strategy=strategy), "A0 B1 B1")


def test_an_interval_must_end_before_the_next_starts() -> None:
    assert found(form(AB), "A1-4 B4 B5-6") == ["a=A1-4 b=B5-6"]
    assert found(form(A_GROUP), "A0 B1-3 B2-4 B4-5") == [
        "a=A0 b=B1-3",
        "a=A0 b=B1-3,B4-5",
        "a=A0 b=B2-4",
        "a=A0 b=B4-5",
    ]


def test_the_window_counts_from_first_start_to_last_end_inclusive() -> None:
    assert found(form(AB, within=5), "A0-2 B5 B4-6 B6") == ["a=A0-2 b=B5"]


def test_identical_rows_are_two_events() -> None:
    assert found(form(AB), "A1 A1 B2") == ["a=A1 b=B2", "a=A1 b=B2"]


def test_positions_must_differ() -> None:
    with pytest.raises(InputError, match="share a position"):
        run(form(AB), stream("A1") + stream("B2"))


# --- partitions and windows of events ---------------------------------------------------


@pytest.mark.parametrize("strategy", [ANY, NEXT, GREEDY, ROBUST, PARTITION, GREEDY_PARTITION])
def test_events_of_a_match_agree_and_are_not_null(strategy: Strategy) -> None:
    events = "A1:k=1 A2:k=null B3:k=2 B4:k=null B5:k=1"
    assert found(form(AB, strategy=strategy, by=("k",)), events) == ["a=A1 b=B5"]


def test_nan_agrees_with_nan_and_minus_zero_with_zero() -> None:
    assert found(form(AB, by=("k",)), "A1:k=nan A2:k=-0.0 B3:k=0.0 B4:k=nan") == ["a=A1 b=B4", "a=A2 b=B3"]


@pytest.mark.parametrize("strategy", [STRICT, GREEDY_STRICT])
@pytest.mark.parametrize("other", ["k=2", "k=null", "k=1"])
def test_any_row_breaks_strict_contiguity(other: str, strategy: Strategy) -> None:
    strict = form(AB, strategy=strategy, by=("k",))
    assert found(strict, f"A1:k=1 X2:{other} B3:k=1") == []
    assert found(strict, f"X0:{other} A1:k=1 B3:k=1 X4:{other}") == ["a=A1 b=B3"]


@pytest.mark.parametrize("strategy", [PARTITION, GREEDY_PARTITION])
def test_only_rows_of_the_partition_break_partition_contiguity(strategy: Strategy) -> None:
    query = form(AB, strategy=strategy, by=("k",))
    assert found(query, "A1:k=1 X2:k=2 X2:k=null B3:k=1") == ["a=A1 b=B3"]
    assert found(query, "A1:k=1 X2:k=1 B3:k=1") == []


@pytest.mark.parametrize("strategy", [ANY, NEXT, GREEDY, ROBUST])
def test_window_of_events_counts_irrelevant_rows_of_the_partition(strategy: Strategy) -> None:
    events = "A1:k=1 X2:k=1 X3:k=2 X3:k=null B4:k=1"
    assert found(form(AB, strategy=strategy, by=("k",), events=3), events) == ["a=A1 b=B4"]
    assert found(form(AB, strategy=strategy, by=("k",), events=2), events) == []
    assert found(form(AB, strategy=strategy, events=4), events) == []
    assert found(form(AB, strategy=strategy, events=5), events) == ["a=A1 b=B4"]


# --- groups -----------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", [NEXT, PARTITION, STRICT])
def test_a_trailing_group_matches_at_every_extension(strategy: Strategy) -> None:
    assert found(form(A_GROUP, strategy=strategy), "A0 B1 B2") == ["a=A0 b=B1", "a=A0 b=B1,B2"]


def test_greedy_reports_a_trailing_group_once() -> None:
    assert found(form(A_GROUP, strategy=GREEDY), "A0 B1 B2 C3") == ["a=A0 b=B1,B2"]
    assert found(form(A_GROUP, strategy=GREEDY, within=2), "A0 B1 B2 B3") == ["a=A0 b=B1,B2"]


@pytest.mark.parametrize("strategy", [GREEDY_PARTITION, GREEDY_STRICT])
def test_greedy_contiguity_reports_a_run_at_the_first_event_it_cannot_take(strategy: Strategy) -> None:
    assert found(form(A_GROUP, strategy=strategy), "A0 B1 B2 C3 B4") == ["a=A0 b=B1,B2"]
    assert found(form(A_GROUP, strategy=strategy), "A0 B1 B2") == ["a=A0 b=B1,B2"]
    assert found(form(A_GROUP, strategy=strategy, within=2), "A0 B1 B2 B3") == ["a=A0 b=B1,B2"]
    assert found(form(A_GROUP, strategy=strategy), "A0 C1 B2") == []
    average = alternative("A a ; B+ b[]", op("avg(b[].x)", "<", 5))
    assert found(form(average, strategy=strategy), "A0 B1:x=1 B2:x=100 C3") == []


def test_a_whole_group_condition_filters_where_a_trailing_group_ends() -> None:
    pattern = alternative("A a ; B+ b[]", op("b.len", ">=", 2))
    assert found(form(pattern, strategy=NEXT), "A0 B1 B2 B3") == ["a=A0 b=B1,B2", "a=A0 b=B1,B2,B3"]
    average = alternative("A a ; B+ b[]", op("avg(b[].x)", "<", 5))
    assert found(form(average, strategy=GREEDY), "A0 B1:x=1 B2:x=100") == []
    assert found(form(average, strategy=NEXT), "A0 B1:x=1 B2:x=100") == ["a=A0 b=B1"]


def test_a_binding_that_closes_a_group_is_satisfied_only_if_its_conditions_hold_then() -> None:
    pattern = alternative("A a ; B+ b[] ; C c", op("b.len", ">=", 2))
    for strategy in (NEXT, GREEDY):
        assert found(form(pattern, strategy=strategy), "A0 B1 C2 B3 C4") == ["a=A0 b=B1,B3 c=C4"]


def test_a_full_group_is_closed() -> None:
    pattern = alternative("A a ; B{2,2} b[] ; C c", op("sum(b[].x)", "=", 3))
    # At its second event the group is full, so the sum is decided there, not at c.
    assert found(form(pattern, strategy=NEXT), "A0 B1:x=1 B2:x=5 B3:x=2 C4") == ["a=A0 b=B1,B3 c=C4"]
    bounded = alternative("A a ; B{1,2} b[] ; C c")
    assert found(form(bounded, strategy=NEXT), "A0 B1 B2 B3 C4") == ["a=A0 b=B1,B2 c=C4"]


def test_nothing_starts_after_a_group_below_its_minimum() -> None:
    pattern = alternative("A a ; B{2,} b[] ; C c")
    for strategy in (ANY, NEXT, GREEDY, ROBUST):
        assert found(form(pattern, strategy=strategy), "A0 B1 C2 B3 C4") == ["a=A0 b=B1,B3 c=C4"]


def test_a_start_that_closes_nothing_is_an_obligation() -> None:
    pattern = alternative("A a ; B{2,2} b[] ; C c")
    assert found(form(pattern, strategy=NEXT), "A0 B1 B2 C3 C4") == ["a=A0 b=B1,B2 c=C3"]


def test_conditions_range_over_every_pair_of_two_groups() -> None:
    pattern = alternative("A+ a[] ; B+ b[]", op("a[i].x", "<", "b[i].x"))
    assert found(form(pattern, strategy=GREEDY), "A0:x=1 A1:x=5 B2:x=3 B3:x=6") == [
        "a=A0,A1 b=B3",
        "a=A1 b=B3",
    ]


def test_every_event_that_can_start_starts_a_run() -> None:
    pattern = alternative("A+ a[] ; B b")
    assert found(form(pattern, strategy=NEXT), "A0 A1 B2") == ["a=A0,A1 b=B2", "a=A1 b=B2"]


def test_an_event_with_two_bindings_gives_two_runs() -> None:
    pattern = alternative("A a ; ANY+ x[] ; B b")
    assert found(form(pattern, strategy=NEXT), "A0 X1 B2 B3") == ["a=A0 x=X1 b=B2", "a=A0 x=X1,B2 b=B3"]


def test_robust_skips_what_belongs_to_no_match() -> None:
    pattern = alternative("A a ; B b ; C c", op("b.x", "=", "c.x"))
    events = "A0 B1:x=1 B2:x=2 C3:x=2 C4:x=2"
    assert found(form(pattern, strategy=GREEDY), events) == []
    assert found(form(pattern, strategy=ROBUST), events) == ["a=A0 b=B2 c=C3"]


# --- absences ---------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", [ANY, NEXT, GREEDY, ROBUST])
def test_absences_filter_and_never_steer(strategy: Strategy) -> None:
    pattern = alternative("A a ; ~X x ; B b ; C c")
    assert found(form(pattern, strategy=strategy), "A0 B1 X2 B3 C4") == ["a=A0 b=B1 c=C4"]
    # The earlier b is chosen and then refused; a later one does not take its place.
    late = alternative("A a ; B b ; ~X x ; C c")
    later = ["a=A0 b=B3 c=C4"] if strategy is ANY else []
    assert found(form(late, strategy=strategy), "A0 B1 X2 B3 C4") == later


def test_an_absence_has_conditions_on_bound_events() -> None:
    pattern = alternative("A a ; ~X x ; B b", op("x.v", ">", "a.v"))
    assert found(form(pattern), "A0:v=1 X1:v=1 B2 A3:v=1 X4:v=2 B5") == ["a=A0 b=B2"]
    assert found(form(pattern), "A0:v=1 X1:v=null B2") == ["a=A0 b=B2"]


def test_an_absence_is_of_the_partition() -> None:
    query = form(alternative("A a ; ~X x ; B b"), by=("k",))
    assert found(query, "A0:k=1 X1:k=2 X1:k=null B2:k=1") == ["a=A0 b=B2"]
    assert found(query, "A0:k=1 X1:k=1 B2:k=1") == []


def test_an_absence_needs_events_that_are_not_bound() -> None:
    assert found(form(alternative("A a, ~A x"), within=2), "A0 A5 A6") == ["a=A0"]


def test_an_absence_at_the_end_reaches_as_far_as_the_window_of_events() -> None:
    query = form(alternative("A a ; ~B b"), events=3)
    assert found(query, "A0 X1 B2") == []
    assert found(query, "A0 X1 X2 B3") == ["a=A0"]


def _absent_sequence(nested: tuple[Absence, ...] = ()) -> Alternative:
    """SEQ(A a, ~SEQ(X x, Y y), B b) with x.v = y.v, and what is nested between x and y."""
    positive = alternative("A a ; X x ; Z z ; Y y ; B b")
    absence = Absence((variable("X x"), variable("Y y")), (condition(op("x.v", "=", "y.v")),), nested)
    return Alternative((variable("A a"), variable("B b")), positive.order, (), (absence,))


def test_an_absent_sequence_needs_all_its_events_in_order() -> None:
    query = form(_absent_sequence())
    assert found(query, "A0 X1:v=1 Y2:v=1 B3") == []
    assert found(query, "A0 Y1:v=1 X2:v=1 B3") == ["a=A0 b=B3"]
    assert found(query, "A0 X1:v=1 Y2:v=2 B3") == ["a=A0 b=B3"]
    assert found(query, "A0 X1:v=1 Y2:v=2 Y3:v=1 B4") == []


def test_a_nested_absence_excuses() -> None:
    query = form(_absent_sequence((Absence((variable("Z z"),), ()),)))
    assert found(query, "A0 X1:v=1 Y3:v=1 B4") == []
    assert found(query, "A0 X1:v=1 Z2 Y3:v=1 B4") == ["a=A0 b=B4"]
    assert found(query, "A0 X1:v=1 Z2 X3:v=1 Y4:v=1 B5") == []


def test_an_absent_group_needs_its_minimum() -> None:
    query = form(alternative("A a ; ~X{2,} x[] ; B b", op("x[i].v", ">", "x[i-1].v")))
    assert found(query, "A0 X1:v=1 B2") == ["a=A0 b=B2"]
    assert found(query, "A0 X1:v=2 X2:v=1 B3") == ["a=A0 b=B3"]
    assert found(query, "A0 X1:v=2 X2:v=1 X3:v=3 B4") == []


# --- alternatives and output ------------------------------------------------------------


def test_a_match_found_by_two_alternatives_is_one() -> None:
    query = form(
        alternative("A a", op("a.x", ">", 0)), alternative("A a", op("a.x", "<", 5)), alternative("B b")
    )
    matches = run(query, stream("A0:x=1 A1:x=-1 B2"))
    assert [(match.alternative, written(match)) for match in matches] == [
        (0, "a=A0"),
        (1, "a=A1"),
        (2, "b=B2"),
    ]


def test_the_second_alternative_finds_what_an_absence_of_the_first_refuses() -> None:
    query = form(alternative("A a ; ~X x ; B b"), AB)
    assert [match.alternative for match in run(query, stream("A0 X1 B2"))] == [1]


def test_matches_have_an_order_of_end_start_and_size() -> None:
    matches = in_order(run(form(alternative("A+ a[]")), stream("A0 A1 A1")), ["a"])
    assert [match.positions["a"] for match in matches] == [
        (0,),
        (0, 1, 2),
        (0, 1),
        (0, 2),
        (1, 2),
        (1,),
        (2,),
    ]
    assert (matches[1].start, matches[1].end) == (0, 1)


def test_matches_alike_are_ordered_by_variable_and_the_unbound_come_first() -> None:
    """The alternatives of an optional variable come without it first, but it is the pattern that orders."""
    query = form(alternative("A b , A c"), alternative("A a , A b , A c"), alternative("A a , A c"))
    matches = in_order(run(query, stream("A0 A0 A0")), ["a", "b", "c"])
    bound = [[match.positions.get(name) for name in "abc"] for match in matches]
    assert bound[:3] == [[(0,), (1,), (2,)], [(0,), (2,), (1,)], [(1,), (0,), (2,)]]
    assert bound[6:8] == [[None, (0,), (1,)], [None, (0,), (2,)]]
    assert bound[12:14] == [[(0,), None, (1,)], [(0,), None, (2,)]]


def test_non_overlap_keeps_what_starts_after_the_last_end_per_partition() -> None:
    query = form(AB, by=("k",))
    matches = run(query, stream("A0:k=1 A1:k=2 A1:k=1 B2:k=1 A2:k=1 B3:k=1 B3:k=2 A4:k=1 B5:k=1"))
    kept = non_overlap(query, matches, ["a", "b"])
    assert [(match.start, match.end, match.events[0].values["k"]) for match in kept] == [
        (0, 2, 1),
        (1, 3, 2),
        (4, 5, 1),
    ]


def test_return_values() -> None:
    query = form(alternative("A a ; B+ b[]"), alternative("C c"), strategy=GREEDY)
    first, second = run(query, stream("A0:x=7 B1:x=1 B2:x=3 C3:x=9"))
    assert return_value(query, first, expression("sum(b[].x)")) == 4
    assert return_value(query, first, expression("b.len")) == 2
    assert return_value(query, first, expression("b.x")) == [1, 3]
    assert return_value(query, first, op("a.x", "+", "b[len].x")) == 10
    assert return_value(query, first, Reference("a", ())) is first.bindings["a"][0]
    assert return_value(query, first, Reference("b", (), Index.ALL)) == list(first.bindings["b"])
    assert return_value(query, second, expression("b.x")) is None
    assert return_value(query, second, expression("sum(b[].x)")) is None


def test_registered_functions_reach_conditions() -> None:
    pattern = alternative("A a ; B b", op("near(a.x & b.x)", "=", Literal(True)))
    events = stream("A0:x=1 B1:x=9 B2:x=2")
    assert found(form(pattern), events, functions={"near": lambda x, y: abs(x - y) < 3}) == ["a=A0 b=B2"]


# --- intervals that touch, windows that are not over ------------------------------------------


def test_intervals_that_touch_are_before_one_another_on_demand() -> None:
    query = form(alternative("A a ; B b"))
    for events in ("A1-3 B3-5", "A1-3 B3", "A3 B3-5"):
        assert found(query, events) == []
        assert len(found(query, events, touching=True)) == 1
    assert found(query, "A3 B3", touching=True) == []
    assert found(query, "A1-3 B2-5", touching=True) == []
    assert found(form(alternative("A+ a[]"), strategy=GREEDY), "A1-3 A3-5", touching=True) == [
        "a=A1-3,A3-5",
        "a=A3-5",
    ]


def test_touching_puts_what_ends_before_the_points_of_that_time() -> None:
    """In processing order too, or a run would meet the second event first."""
    table = pa.table({"kind": ["B", "A"], "since": [3, 1], "till": [3, 3], "n": [0, 1]})
    options: dict[str, Any] = {"time": ("since", "till"), "type": "kind"}
    query = "PATTERN SEQ(A a, B b)"
    for tie_breaker in (None, "n"):
        options["tie_breaker"] = tie_breaker
        assert match(table, query, **options).num_rows == 0
        assert match(table, query, **options, touching="before").num_rows == 1
    with pytest.raises(OptionError, match="touching must be 'before', or be left out, found 'after'"):
        match(table, query, **options, touching="after")


@pytest.mark.parametrize(
    "pattern, events, expected",
    [
        ("A a ; ~B b", "A0 A1 X5 A6 A7", ["a=A0", "a=A1"]),  # the data end at 7, the window of A2 at 7
        ("A a ; ~B b", "A0 A1 A2 X7", ["a=A0", "a=A1", "a=A2"]),
        ("~B b ; A a", "X0 A4 A5 A9", ["a=A5", "a=A9"]),
        ("A a, ~B b", "X0 A4 A5 A7 X12", ["a=A5", "a=A7"]),
        ("A a ; ~B b ; C c", "A0 C1", ["a=A0 c=C1"]),
        ("A a ; C c", "A0 C1", ["a=A0 c=C1"]),
    ],
)
def test_matches_whose_window_is_not_over_are_left_out_on_demand(
    pattern: str, events: str, expected: list[str]
) -> None:
    query = form(alternative(pattern), within=5)
    assert found(query, events, complete_windows=True) == expected


def test_windows_of_events_are_complete_in_their_partition() -> None:
    events = "A0:k=1 X1:k=1 A2:k=1 X3:k=2 X4:k=2"
    after = form(alternative("A a ; ~B b"), by=("k",), events=3)
    assert found(after, events) == ["a=A0", "a=A2"]
    assert found(after, events, complete_windows=True) == ["a=A0"]
    earlier = form(alternative("~B b ; A a"), by=("k",), events=3)
    assert found(earlier, events, complete_windows=True) == ["a=A2"]


def test_an_alternative_without_the_absence_needs_no_complete_window() -> None:
    query = form(alternative("A a ; ~B b"), alternative("A a", op("a.x", ">", 1)), within=5)
    assert found(query, "A0:x=1 A1:x=2 A2:x=1 X6:x=1", complete_windows=True) == ["a=A0", "a=A1"]
