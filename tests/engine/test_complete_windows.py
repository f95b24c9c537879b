"""Matches whose absence reaches past the data, and intervals that touch: by default and on demand."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import fyke
from fyke.errors import OptionError

ENGINES = ["automaton", "lazy_chain", "lazy_tree", "tree"]
ANY = "WHERE skip_till_any_match { }"


def bound(table: pa.Table, query: str, **options: Any) -> list[int]:
    """Return the times at which a is bound, here and by the reference."""
    options = {"time": "t", "type": "kind", **options}
    found = fyke.match(table, query, **options)
    options.pop("engine", None)
    assert sorted(found["match_id"].to_pylist()) == sorted(
        fyke.reference.match(table, query, **options)["match_id"].to_pylist()
    )
    return sorted(row["a"]["t"] for row in found.to_pylist())


def events(text: str, **more: list[Any]) -> pa.Table:
    """Return events written as 'A0 X5'."""
    kinds, moments = [each[0] for each in text.split()], [int(each[1:]) for each in text.split()]
    return pa.table({"kind": kinds, "t": moments, **more})


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "pattern, stream, usual, complete",
    [
        ("SEQ(A a, ~B b)", "A0 A1 X5 A6 A7", [0, 1, 6, 7], [0, 1]),
        ("SEQ(A a, ~B b)", "A0 A1 A2 X7", [0, 1, 2], [0, 1, 2]),
        ("SEQ(~B b, A a)", "X0 A4 A5 A9", [4, 5, 9], [5, 9]),
        ("AND(A a, ~B b)", "X0 A4 A5 A7 X12", [4, 5, 7], [5, 7]),
        ("SEQ(A a, ~B b, C c)", "A0 C1", [0], [0]),
    ],
)
def test_windows_of_time(
    engine: str, pattern: str, stream: str, usual: list[int], complete: list[int]
) -> None:
    query = f"PATTERN {pattern} {ANY} WITHIN 5"
    assert bound(events(stream), query, engine=engine) == usual
    assert bound(events(stream), query, engine=engine, complete_windows=True) == complete
    counted = fyke.match(
        events(stream),
        f"{query} RETURN count(*) AS n",
        time="t",
        type="kind",
        engine=engine,
        complete_windows=True,
    )
    assert counted["n"].to_pylist() == [len(complete)]
    batches = fyke.match_batches(
        events(stream), query, time="t", type="kind", engine=engine, complete_windows=True
    )
    assert sum(batch.num_rows for batch in batches) == len(complete)


@pytest.mark.parametrize("output", ["all", "non_overlap", "compressed"])
def test_events_that_play_no_role_are_data_too(output: str) -> None:
    table = events("X0 A4 A5 A9 X14", k=[None, 1, 1, 1, None])
    options: dict[str, Any] = {"time": "t", "type": "kind", "output": output, "complete_windows": True}
    found = fyke.match(table, "PATTERN AND(A a, ~B b) WHERE { [k] } WITHIN 5", **options)
    assert found.num_rows == 2


def test_windows_of_events_lie_in_a_partition() -> None:
    table = events("A0 X1 A2 X3 X4", k=[1, 1, 1, 2, 2])
    after, earlier = "SEQ(A a, ~B b)", "SEQ(~B b, A a)"
    for pattern, complete in ((after, [0]), (earlier, [2])):
        query = f"PATTERN {pattern} WHERE {{ [k] }} WITHIN 3 EVENTS"
        assert bound(table, query) == [0, 2]
        assert bound(table, query, complete_windows=True) == complete


def test_extreme_times_do_not_overflow() -> None:
    for stream in ([-(2**63), 2**63 - 1], [2**63 - 2, 2**63 - 1], [-(2**63), 1 - 2**63]):
        table = pa.table({"kind": ["A", "A"], "t": stream})
        for pattern in ("SEQ(A a, ~B b)", "SEQ(~B b, A a)"):
            bound(table, f"PATTERN {pattern} WITHIN {2**62}", complete_windows=True)


@pytest.mark.parametrize("engine", ENGINES)
def test_intervals_that_touch(engine: str) -> None:
    stays = pa.table({"kind": list("ABBA"), "t": [1, 3, 3, 5], "till": [3, 5, 3, 5]})
    options: dict[str, Any] = {"time": ("t", "till"), "engine": engine}
    query = f"PATTERN SEQ(A a, B b) {ANY} WITHIN 10"
    assert bound(stays, query, **options) == []
    assert bound(stays, query, **options, touching="before") == [1, 1]
    back = f"PATTERN SEQ(B b, A a) {ANY} WITHIN 10"
    assert bound(stays, back, **options) == [5]
    assert bound(stays, back, **options, touching="before") == [5, 5]
    absent = f"PATTERN SEQ(A a, ~B b) {ANY} WITHIN 10"
    assert bound(stays, absent, **options) == [1, 5]
    assert bound(stays, absent, **options, touching="before") == [5]


def test_what_the_options_take() -> None:
    table = events("A0 B1")
    options: dict[str, Any] = {"time": "t", "type": "kind"}
    with pytest.raises(OptionError, match="touching must be 'before', or be left out, found 'after'"):
        fyke.match(table, "PATTERN SEQ(A a, B b)", **options, touching="after")
    with pytest.raises(OptionError, match="touching has a meaning for events that last, and with time='t'"):
        fyke.match(table, "PATTERN SEQ(A a, B b)", **options, touching="before")
    with pytest.raises(OptionError, match="complete_windows must be True or False, found 1"):
        fyke.match(table, "PATTERN SEQ(A a, B b)", **options, complete_windows=1)
    with pytest.raises(OptionError, match="complete_windows=True has a meaning for patterns"):
        fyke.match(
            table, "SELECT * FROM [RANGE 3 SEC] A AS a", **options, time_unit="s", complete_windows=True
        )


def test_a_program_gives_them_to_the_queries_they_concern() -> None:
    table = events("A0 B1 X9 A10")
    shop = fyke.program(
        [
            "Pair: PATTERN SEQ(A a, B b) WITHIN 5 seconds",
            "Alone: PATTERN SEQ(A a, ~B b) WITHIN 5 seconds",
            "Twice: PATTERN SEQ(Pair p, Alone q) WITHIN 100 seconds",
            "Plain: SELECT a.t FROM [RANGE 5 SEC] A AS a",
        ]
    )
    found = shop.run(table, time="t", type="kind", time_unit="s", touching="before", complete_windows=True)
    assert [found[label].num_rows for label in ("Pair", "Alone", "Twice", "Plain")] == [1, 0, 0, 2]


def test_explain_says_so() -> None:
    table = pa.table({"kind": list("AB"), "t": [1, 3], "till": [3, 5]})
    text = fyke.explain(
        table,
        "PATTERN SEQ(A a, ~B b) WITHIN 5",
        time=("t", "till"),
        type="kind",
        touching="before",
        complete_windows=True,
    )
    assert "  touching an event is before one that starts when it ends, unless both are points\n" in text
    assert "  complete no match whose absence reaches past the data\n" in text
