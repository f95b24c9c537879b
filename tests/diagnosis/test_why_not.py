"""What why_not takes and returns: selections, tables, text, and the hint at a prompt."""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import fyke
from fyke.diagnosis import why_not
from fyke.diagnosis.finding import CAUSES
from fyke.diagnosis.probe import Found, Prober, now
from fyke.diagnosis.setup import Setup
from fyke.errors import LimitError
from tests.diagnosis.cases import CASES, LETTERS, POINTS, RUN, SALE, SHOP, STAMPED, STAMPS


def test_text_names_cause_change_rows_and_attempts() -> None:
    found = fyke.why_not(SHOP, SALE.replace("12", "5"), **POINTS)
    assert str(found) == (
        "No match in 9 events.\n\n"
        "Cause: window (the window is too short)\n"
        "  The events come, but not WITHIN 5: the nearest match takes 8.\n"
        "  Change: WITHIN 8 gives 1 match.\n\n"
        "Rows for each variable\n"
        "  a: 3 of type Shelf, 2 in a partition of tag with all variables\n"
        "  b: 2 of type Register, 2 in a partition of tag with all variables\n"
        "  c: 3 of type Exit, 2 in a partition of tag with all variables\n\n"
        "Attempts that came so far\n"
        "  a        3\n"
        "  a, b     2\n"
        "  a, b, c  0"
    )
    assert found.changed_query == fyke.parse(SALE.replace("12", "8"))


def test_table_has_the_same() -> None:
    table = fyke.why_not(SHOP, SALE.replace("12", "5"), **POINTS).to_table()
    assert table.column_names == ["part", "what", "rows", "told"]
    rows = table.to_pylist()
    assert rows[0]["what"] == "window"
    assert rows[1] == {"part": "change", "what": "WITHIN 8", "rows": 1, "told": "window"}
    assert {"part": "variable", "what": "a", "rows": 3, "told": "of type Shelf"} in rows
    assert [row["rows"] for row in rows if row["part"] == "attempt"] == [3, 2, 0]


def test_the_nearest_miss_is_not_only_of_the_next_event() -> None:
    """Without the condition the strategy takes the first reading, and would not look at the second."""
    heated = pa.table({"k": list("ARRB"), "heat": [0.0, 88.5, 91.25, 0.0], "t": [0, 1, 2, 3]})
    query = "PATTERN SEQ(A a, R r, B b) WHERE { r.heat > 95 } WITHIN 10"
    found = fyke.why_not(heated, query, time="t", type="k")
    assert "the nearest miss is 91.25 > 95" in str(found)
    assert "Change: r.heat >= 91.25 instead of r.heat > 95 gives 1 match." in str(found)


def test_a_query_with_matches_says_so() -> None:
    found = fyke.why_not(SHOP, SALE, **POINTS)
    assert found.cause == "matched"
    assert str(found).startswith("2 matches in 9 events.")


def test_key_and_interval_choose_events() -> None:
    found = fyke.why_not(STAMPED, RUN, key="m1", between=("2026-03-01 08:00:00", None), **STAMPS)
    assert found.cause == "matched"
    assert "with unit = 'm1' and a time from 2026-03-01 08:00:00 on" in str(found)
    named = fyke.why_not(STAMPED, RUN, key={"unit": "m2", "kind": "start"}, **STAMPS)
    assert named.cause == "not_in_selection"


@pytest.mark.parametrize(
    "wrong, text",
    [
        ({"key": 5}, "key has 5 for 'unit'"),
        ({"key": {"unt": "m1"}}, "Did you mean 'unit'"),
        ({"between": 5}, "between must be a pair"),
        ({"between": (5.5, None)}, "does not fit the time column"),
        ({"between": ("2027-01-01", "2026-01-01")}, "ends before it starts"),
        ({"seconds": 0}, "seconds must be a number above zero"),
        ({"output": "all"}, "takes no option 'output'"),
    ],
)
def test_wrong_options_are_refused(wrong: dict[str, object], text: str) -> None:
    with pytest.raises(fyke.FykeError, match=text):
        fyke.why_not(STAMPED, RUN, **{**STAMPS, **wrong})


def test_a_bare_key_needs_one_attribute() -> None:
    with pytest.raises(fyke.FykeError, match="needs the name of its column"):
        fyke.why_not(LETTERS, "PATTERN SEQ(A a, C c) WITHIN 3", key=1, **POINTS)


def test_relational_queries_are_refused() -> None:
    with pytest.raises(fyke.FykeError, match="about patterns"):
        fyke.why_not(LETTERS, "SELECT at FROM [RANGE 5] A", **POINTS)


def test_two_mistakes_are_told_together() -> None:
    query = SALE.replace("12", "5").replace("[tag]", "[tag] AND b.price > 500")
    found = fyke.why_not(SHOP, query, **POINTS)
    assert found.together
    assert set(found.causes) == {"window", "condition"}


def test_every_cause_has_a_case_or_a_test() -> None:
    elsewhere = {"matched", "unknown"}
    assert {case.cause for case in CASES} | elsewhere == CAUSES.keys()


def test_what_no_change_mends_is_unknown() -> None:
    alone = pa.table({"kind": ["A"], "at": [1]})
    found = fyke.why_not(alone, "PATTERN SEQ(A a, A b, A c) WITHIN 9", **POINTS)
    assert found.cause == "unknown"


def ask(monkeypatch: pytest.MonkeyPatch, *, prompt: bool) -> list[str]:
    if prompt:
        monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        fyke.match(LETTERS, "PATTERN SEQ(C c, A a)", **POINTS)
    return [str(each.message) for each in said if each.category is fyke.NoMatchWarning]


def test_a_result_without_rows_points_here_at_a_prompt_only(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ask(monkeypatch, prompt=False) == []
    assert ask(monkeypatch, prompt=True) == [
        "no match; fyke.why_not, called with the same arguments, says why"
    ]


def test_metrics_of_a_run_without_matches_point_here() -> None:
    metrics = fyke.Metrics()
    fyke.match(LETTERS, "PATTERN SEQ(C c, A a)", metrics=metrics, **POINTS)
    assert "fyke.why_not" in repr(metrics)


def many(rows: int) -> pa.Table:
    random = np.random.default_rng(1)
    return pa.table(
        {
            "kind": random.choice(list("ABCDE"), rows),
            "user": random.integers(0, 2000, rows),
            "x": random.random(rows) * 100,
            "at": np.sort(random.integers(0, 10 * rows, rows)),
        }
    )


MISTAKES = {
    "condition": "PATTERN SEQ(A a, B b, C c) WHERE { [user] AND a.x > 1000 } WITHIN 50000",
    "window": "PATTERN SEQ(A a, B b, C c) WHERE { [user] } WITHIN 2",
    "missing_type": "PATTERN SEQ(A a, Bx b, C c) WHERE { [user] } WITHIN 50000",
    "absence": "PATTERN SEQ(A a, ~ANY b, C c) WHERE { a.user = c.user AND c.at - a.at > 100 } WITHIN 50000",
}


@pytest.mark.parametrize("cause", ["condition", "window"])
def test_many_events_take_few_searches(cause: str) -> None:
    found = fyke.why_not(many(250_000), MISTAKES[cause], seconds=120, **POINTS)
    assert found.cause == cause, str(found)
    assert 0 < found.searches <= 40


def test_changes_that_take_long_keep_no_other_from_being_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    search = Prober._search

    def slow_beside_absences(prober: Prober, setup: Setup, events: pa.Table) -> Found:
        if "~" not in str(setup.query):
            return search(prober, setup, events)
        seconds = prober.plan(setup, events).limits.seconds
        assert seconds is not None
        time.sleep(seconds)
        raise LimitError("too slow", limit="seconds", value=seconds)

    monkeypatch.setattr(Prober, "_search", slow_beside_absences)
    found = fyke.why_not(LETTERS, "PATTERN SEQ(A a, ~ANY b, C c) WITHIN 50", seconds=4, **POINTS)
    assert found.cause == "absence", str(found)
    text = str(found)
    assert text.startswith("No match seen in 6 events; to search all of them takes longer.")
    assert "~ANY b rules out matches of the rest: such an event is there" in text
    assert "each time" not in text
    assert "Not decided in time: whether the query itself has a match" in text


@pytest.mark.long
@pytest.mark.parametrize("cause", MISTAKES)
def test_a_million_events_take_less_than_ten_seconds(cause: str) -> None:
    events = many(1_000_000)
    fyke.why_not(many(1_000), MISTAKES[cause], **POINTS)  # compiles
    begin = time.process_time()
    found = fyke.why_not(events, MISTAKES[cause], seconds=120, **POINTS)
    assert found.cause == cause, str(found)
    assert time.process_time() - begin < 10


@pytest.mark.parametrize("seconds, least, most", [(4.0, 1.0, 3.7), (0.2, 0.0, 0.05)])
def test_reading_the_events_takes_of_the_time(
    seconds: float, least: float, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search gets what is left of it, or a fourth."""
    taken, left = why_not.take_events, []

    class Watched(Prober):
        def __init__(self, events: Any, deadline: float) -> None:
            left.append(deadline - now())
            super().__init__(events, deadline)

    def slowly(events: Any) -> Any:
        time.sleep(0.3)
        return taken(events)

    monkeypatch.setattr(why_not, "take_events", slowly)
    monkeypatch.setattr(why_not, "Prober", Watched)
    fyke.why_not(SHOP, SALE.replace("12", "5"), seconds=seconds, **POINTS)
    assert least <= left[0] <= most
