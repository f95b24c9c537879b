"""What a user is told without asking: ties that keep events apart, and types that no event has."""

from __future__ import annotations

import warnings
from typing import Any

import pyarrow as pa
import pytest

import fyke

FINES = pa.table(
    {
        "case": [1, 1, 2, 2, 3, 3],
        "kind": ["Fine", "Payment", "Fine", "Payment", "Payment", "Fine"],
        "day": [1, 1, 1, 4, 6, 6],
        "id": [1, 2, 3, 4, 5, 6],
    }
)
PAID = "PATTERN SEQ(Fine f, Payment p) WHERE skip_till_any_match { [case] } WITHIN 10"
ENGINES = ["automaton", "lazy_chain", "lazy_tree", "tree"]


def test_an_order_said_to_be_unique_is_one_that_needs_no_other_column() -> None:
    """Time and ``id`` tell all events apart: nothing is refused, and the matches are the same."""
    options: dict[str, Any] = {"time": "day", "type": "kind", "tie_breaker": "id"}
    found = fyke.match(FINES, PAID, unique_order=True, **options)
    assert found.num_rows == 2
    assert found.equals(fyke.match(FINES, PAID, **options))
    order = "  order    day, id"
    assert f"{order}\n" in fyke.explain(FINES, PAID, unique_order=True, **options)
    assert f"{order}, then all columns\n" in fyke.explain(FINES, PAID, **options)


def told(events: Any, query: str, **options: Any) -> list[str]:
    """Return the warnings of a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fyke.match(events, query, **{"time": "day", "type": "kind"} | options)
    return [str(each.message) for each in caught]


@pytest.mark.parametrize("engine", ENGINES)
def test_events_that_only_their_time_kept_apart_are_told_of(engine: str) -> None:
    assert told(FINES, PAID, engine=engine) == [
        "2 events have the same time as another one that could come right before them in the pattern, and "
        "events of the same time are never in sequence; give tie_breaker='column' if a column says which "
        "comes first"
    ]
    with pytest.warns(fyke.TiedEventsWarning, match="2 events have") as caught:
        fyke.match(FINES, PAID, time="day", type="kind", engine=engine)
    assert [each.filename for each in caught] == [__file__]
    with pytest.warns(fyke.TiedEventsWarning, match="2 events have"):
        list(fyke.match_batches(FINES, PAID, time="day", type="kind", engine=engine))


@pytest.mark.parametrize("engine", ENGINES)
def test_metrics_count_them_in_silence(engine: str) -> None:
    metrics = fyke.Metrics()
    assert told(FINES, PAID, engine=engine, metrics=metrics) == []
    assert (metrics.get()["tied_rows"], metrics.get()["tied_successors"]) == (4, 2)


@pytest.mark.parametrize(
    "query",
    [
        "PATTERN AND(Fine f, Payment p) WHERE { [case] } WITHIN 10",
        "PATTERN Fine+ f[] WHERE { [day] } WITHIN 10",
        "PATTERN SEQ(Fine f, Fine g) WHERE { [case] } WITHIN 10",
        "PATTERN SEQ(Fine f, Payment p) WHERE { [id] } WITHIN 10",
        "PATTERN SEQ(Fine f, ANY x, Payment p) WHERE { [case] AND x.id > 10 } WITHIN 10",
    ],
)
def test_ties_that_cannot_matter_are_not_told_of(query: str) -> None:
    assert told(FINES, query) == []


def test_a_tie_breaker_needs_no_advice_but_what_it_leaves_is_counted() -> None:
    assert told(FINES, PAID, tie_breaker="id") == []
    metrics = fyke.Metrics()
    fyke.match(FINES, PAID, time="day", type="kind", tie_breaker="id", metrics=metrics)
    assert metrics.get()["tied_successors"] == 0
    fyke.match(FINES, PAID, time="day", type="kind", tie_breaker="case", metrics=metrics)
    assert metrics.get()["tied_successors"] == 2


@pytest.mark.parametrize(
    "kinds, query, count",
    [
        ("AA", "PATTERN SEQ(A a, A b) WITHIN 5", 2),  # each may follow the other
        ("AB", "PATTERN SEQ(A a, A b, B c) WITHIN 5", 1),
        ("AC", "PATTERN SEQ(A a, B b, C c) WITHIN 5", 0),  # between them there must be a B
        ("AB", "PATTERN SEQ(A a, ~B b, C c) WITHIN 5", 1),  # it is not between them
        ("AC", "PATTERN SEQ(A a, ~B b, C c) WITHIN 5", 1),
        ("ABB", "PATTERN SEQ(A a, B+ b[]) WITHIN 5", 2),
        ("BB", "PATTERN SEQ(A a, B+ b[]) WITHIN 5", 0),
        ("AB", "PATTERN OR(SEQ(B b, A a), SEQ(A c, B d)) WITHIN 5", 2),
        ("AB", "PATTERN SEQ(A a, B b) WHERE strict_contiguity { [k] } WITHIN 5", 1),
    ],
)
def test_what_counts_as_a_tie_that_matters(kinds: str, query: str, count: int) -> None:
    days = [3] * len(kinds) + [3, 4]
    events = pa.table({"kind": [*kinds, *"XY"], "day": days, "k": [1] * len(days)})
    metrics = fyke.Metrics()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fyke.MissingTypeWarning)
        fyke.match(events, query, time="day", type="kind", metrics=metrics)
    assert metrics.get()["tied_successors"] == count


def test_under_strict_contiguity_partitions_lie_among_one_another() -> None:
    events = pa.table({"kind": list("ABAB"), "day": [1, 1, 1, 1], "k": [1, 2, 2, 1], "order": [1, 2, 3, 4]})
    metrics = fyke.Metrics()
    query = "PATTERN SEQ(A a, B b) WHERE strict_contiguity { [k] } WITHIN 5"
    fyke.match(events.select(["order", "kind", "day", "k"]), query, time="day", type="kind", metrics=metrics)
    assert (metrics.get()["tied_rows"], metrics.get()["tied_successors"]) == (4, 2)


def test_of_lasting_events_only_points_are_tied() -> None:
    events = pa.table({"kind": list("ABAB"), "from": [1, 1, 3, 3], "to": [2, 2, 3, 3]})
    metrics = fyke.Metrics()
    query = "PATTERN SEQ(A a, B b) WITHIN 5"
    fyke.match(events, query, time=("from", "to"), type="kind", metrics=metrics)
    assert metrics.get()["tied_successors"] == 1


# --- types that no event has --------------------------------------------------------------------


@pytest.mark.parametrize(
    "query, message",
    [
        ("PATTERN SEQ(Fine f, Paymnt p)", "No event is of type 'Paymnt'. Did you mean 'Payment'?"),
        ("PATTERN SEQ(Fine f, ~payment p, Fine g)", "No event is of type 'payment'. Did you mean 'Payment'?"),
        ("PATTERN SEQ(Fine f, Xyz p)", "No event is of type 'Xyz'."),
        (
            "PATTERN SEQ(f Fine, p Payment)",
            "No event is of type 'f'. 'Fine' is a type: the type comes first, as in Fine f. "
            "No event is of type 'p'. 'Payment' is a type: the type comes first, as in Payment p.",
        ),
        ("SELECT * FROM [RANGE 10 SEC] Paymnt AS p", "No event is of type 'Paymnt'. Did you mean 'Payment'?"),
    ],
)
def test_a_type_that_no_event_has_is_told_of(query: str, message: str) -> None:
    if "SELECT" in query:
        assert told(FINES, query, time_unit="s") == [message]
        return
    assert told(FINES, f"{query} WITHIN 10", tie_breaker="id") == [message]
    with pytest.warns(fyke.MissingTypeWarning, match="No event is of type"):
        list(fyke.match_batches(FINES, f"{query} WITHIN 10", time="day", type="kind"))


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())])
def test_types_are_known_however_they_are_held(kind: pa.DataType) -> None:
    held = FINES.set_column(1, "kind", FINES["kind"].cast(kind))
    assert told(held, "PATTERN SEQ(Fine f, Fine g) WHERE { [case] } WITHIN 9") == []
    assert len(told(held, "PATTERN SEQ(Fines f, Fine g) WHERE { [case] } WITHIN 9")) == 1
    # What is only in the dictionary is no type of an event.
    if pa.types.is_dictionary(kind):
        fines = held.filter(pa.array([name == "Fine" for name in held["kind"].to_pylist()]))
        assert told(fines, "PATTERN SEQ(Fine f, Payment g) WITHIN 9") == ["No event is of type 'Payment'."]


def test_types_are_not_missed_where_conditions_or_nothing_at_all_leave_no_event() -> None:
    assert told(FINES, "PATTERN SEQ(Fine f, Payment p) WHERE { p.id > 99 } WITHIN 10") == []
    assert told(FINES.slice(0, 0), "PATTERN SEQ(Fin f, Payment p) WITHIN 10") == []
    assert told(FINES, "PATTERN SEQ(Any f, Any g) WITHIN 10", type=None, tie_breaker="id") == []
    nothing = {"Fine": FINES, "Payment": FINES.slice(0, 0)}
    assert told(nothing, "PATTERN SEQ(Fine f, Payment p) WITHIN 10", type=None) == []


def test_metrics_and_statistics_name_missing_types() -> None:
    metrics = fyke.Metrics()
    query = "PATTERN SEQ(Fine f, Paymnt p) WITHIN 10"
    hint = {"Paymnt": " Did you mean 'Payment'?"}
    with pytest.warns(fyke.MissingTypeWarning):
        fyke.match(FINES, query, time="day", type="kind", metrics=metrics)
    assert (metrics.get()["missing_types"], metrics.missing_types) == (1, hint)
    assert "\n  No event is of type 'Paymnt'. Did you mean 'Payment'?" in str(metrics)
    assert metrics.statistics().missing_types == hint
    assert fyke.statistics(FINES, query, time="day", type="kind").missing_types == hint
    line = "no event is of type 'Paymnt'. Did you mean 'Payment'?"
    assert line in fyke.explain(FINES, query, time="day", type="kind")
