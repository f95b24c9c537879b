"""MATCH_RECOGNIZE on tables, against the naive twin; and how many steps a search takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import fyke
from fyke.errors import InputError, LimitError, OptionError, SkipError

TICKS = pa.table(
    {
        "symbol": ["a", "b", "a", "a", "b", None, "a", "b", "a", "a", None, "b", "a", "a", "b", None],
        "ts": [3, 0, 1, 2, 5, 0, 4, 1, 5, 6, 1, 2, 7, None, 3, 2],
        "price": [5.0, 3.0, 6.0, 4.0, 2.0, 1.0, 3.0, 4.0, 6.0, 5.0, 2.0, None, 4.0, 9.0, 1.0, 0.5],
    }
)
DEFINE = "DEFINE down AS price < PREV(price), up AS price > PREV(price)"
MEASURES = """
    MEASURES FIRST(down.price) AS top, LAST(up.price) AS back, count(*) AS len, sum(down.price) AS low,
        MATCH_NUMBER() AS number, CLASSIFIER() AS label, FINAL LAST(price) AS last, PREV(FIRST(price)) AS
        before, FINAL count(up.*) AS ups, max(price) - min(price) AS spread, array_agg(down.ts) AS downs,
        avg(ts) AS middle
"""
CLAUSES = [
    f"MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY {order} {MEASURES} {rows} PER MATCH {missing} "
    f"AFTER MATCH SKIP {skip} PATTERN ({pattern}) {within} SUBSET moves = (down, up) {DEFINE})"
    for order in ("ts", "ts DESC NULLS FIRST", "price, ts")
    for rows, missing in (("ONE ROW", ""), ("ALL ROWS", ""), ("ALL ROWS", "OMIT EMPTY MATCHES"),
                          ("ALL ROWS", "WITH UNMATCHED ROWS"))
    for pattern, skip, within in (
        ("start_row down+ up+", "PAST LAST ROW", ""),
        ("down* up?", "TO NEXT ROW", ""),
        ("start_row (down | up)+", "TO FIRST moves", ""),
        ("start_row (down | up){1,3}?", "TO LAST up", "WITHIN 3"),
        ("^ start_row down* $ | PERMUTE(down, up)", "TO NEXT ROW", ""),
        ("start_row+ up | down? ()", "PAST LAST ROW", "WITHIN 2"),
    )
    if not (within and order.startswith("price"))
]  # fmt: skip


@pytest.mark.parametrize("clause", CLAUSES, ids=range(len(CLAUSES)))
def test_a_clause_gives_the_rows_of_the_twin(clause: str) -> None:
    expected, found = outcome(fyke.reference.match, clause), outcome(fyke.match, clause)
    if isinstance(expected, str) or isinstance(found, str):
        assert found == expected
    else:
        assert found.schema == expected.schema
        assert found.to_pylist() == expected.to_pylist()


def outcome(match: Callable[..., pa.Table], clause: str) -> pa.Table | str:
    """Return the result of a clause, or what cannot be skipped to."""
    try:
        return match(TICKS, clause)
    except SkipError as error:
        return error.message.split(" of the ")[0]


CONDITIONS = [
    ("a down+ up+", "", "down AS price < a.price, up AS price > LAST(down.price)"),
    (
        "a (down | up)+ z",
        "",
        "down AS price < FIRST(price), up AS price > avg(moves.price), z AS sum(price) > 9",
    ),
    (
        "(down+ up?)+ z",
        "WITHIN 4",
        "up AS count(*) < 4 AND price > PREV(price), z AS price = max(down.price)",
    ),
    ("down* up{1,2} z", "", "z AS count(down.*) >= count(up.price) AND price >= LAST(up.price, 1)"),
    (
        "a (down | up)*? z",
        "",
        "z AS LAST(CLASSIFIER(), 1) = 'UP' OR PREV(FIRST(price)) > price, up AS price > 3",
    ),
    ("PERMUTE(down, up, a+)", "", "a AS price != LAST(down.price), up AS stddev(price) < 4 OR ts = 2"),
]
ROWS = [
    ("ONE ROW PER MATCH", "AFTER MATCH SKIP TO NEXT ROW"),
    ("ALL ROWS PER MATCH", ""),
    ("ALL MATCHES", ""),
]
ACROSS = [
    f"""MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY ts {MEASURES} {rows} {skip}
        PATTERN ({pattern}) {within} SUBSET moves = (down, up) DEFINE {define})"""
    for rows, skip in ROWS
    for pattern, within, define in CONDITIONS
]


@pytest.mark.parametrize("clause", ACROSS, ids=range(len(ACROSS)))
def test_conditions_over_other_rows_of_the_match(clause: str) -> None:
    found, expected = fyke.match(TICKS, clause), fyke.reference.match(TICKS, clause)
    assert found.schema == expected.schema
    assert found.to_pylist() == expected.to_pylist()
    assert found.num_rows > 0


def test_excluded_rows_are_left_out() -> None:
    clause = f"""MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY ts MEASURES CLASSIFIER() AS label, count(*)
    AS n
        ALL ROWS PER MATCH PATTERN (start_row {{- down+ -}} up) {DEFINE})"""
    found = fyke.match(TICKS, clause)
    assert found.to_pylist() == fyke.reference.match(TICKS, clause).to_pylist()
    assert found["label"].unique().to_pylist() == ["START_ROW", "UP"]


# --- steps ------------------------------------------------------------------------------------------

LINEAR = ["A B", "A+ B+ C+ R", "(A+)+ B", "(A|B)* C", "A{3,5} B?", "((A*)* (B|A)*)* C", "A{40} B", "A{70} B"]


@pytest.mark.parametrize("pattern", LINEAR)
@pytest.mark.parametrize("letters", ["A", "AB", "AAB", "AABBC"])
def test_twice_the_rows_take_twice_the_steps(pattern: str, letters: str) -> None:
    """Whatever the pattern and whether it matches: `(A+)+ B` without a B included."""
    define = ", ".join(f"{name} AS kind = '{name}'" for name in "ABCR" if name in pattern)
    clause = f"MATCH_RECOGNIZE (MEASURES count(*) AS n PATTERN ({pattern}) DEFINE {define})"
    steps = []
    for rows in (3_000, 6_000, 12_000):
        metrics = fyke.Metrics()
        table = pa.table({"kind": [letters[k % len(letters)] for k in range(rows)]})
        fyke.match(table, clause, metrics=metrics)
        steps.append(metrics.get()["bindings_tried"])
    assert steps[0] <= 4 * 3_000
    assert abs(steps[1] - 2 * steps[0]) <= 100  # what is left over at the end
    assert abs(steps[2] - 2 * steps[1]) <= 100


# --- bad input --------------------------------------------------------------------------------------


def test_options_of_events_are_refused() -> None:
    clause = f"MATCH_RECOGNIZE (ORDER BY ts PATTERN (down) {DEFINE.split(', up')[0]})"
    for options in ({"time": "ts"}, {"type": "symbol"}, {"output": "non_overlap"}, {"engine": "tree"}):
        with pytest.raises(OptionError, match="has a meaning for queries over events"):
            fyke.match(TICKS, clause, **options)
    with pytest.raises(InputError, match="one table"):
        fyke.match({"A": TICKS}, clause)


def test_rows_of_matches_beyond_the_limit_name_partition_and_pattern() -> None:
    clause = """MATCH_RECOGNIZE (PARTITION BY k MEASURES CLASSIFIER() AS c ALL ROWS PER MATCH
        AFTER MATCH SKIP TO NEXT ROW PATTERN (A+) DEFINE A AS x > 0)"""
    table = pa.table({"k": ["few"] + ["many"] * 4000, "x": [1] * 4001})
    with pytest.raises(LimitError) as caught:
        fyke.match(table, clause, limits=fyke.Limits(buffer_bytes=1_000_000))
    assert "in the partition k = 'many' by the rows of the matches of (A+)" in str(caught.value)
    with pytest.raises(LimitError, match="steps"):
        fyke.match(table, clause, limits=fyke.Limits(steps=100_000))


@pytest.mark.parametrize(
    "pattern, parts",
    [
        ("(A | B)* C", ["(A | B)*"]),
        ("A A B+ C", ["A", "B+"]),
        ("A PERMUTE(B, A+) C", ["A", "PERMUTE(B, A+)"]),
        ("A+ B* C | A{3,} C", ["A", "B*"]),
    ],
)
@pytest.mark.parametrize("options", [{}, {"timeouts": True}])
def test_the_limit_of_a_search_names_the_part_it_was_in(
    pattern: str, parts: list[str], options: dict[str, Any]
) -> None:
    clause = f"""MATCH_RECOGNIZE (PARTITION BY k ORDER BY i PATTERN ({pattern}) WITHIN 5000
        DEFINE A AS x >= FIRST(x), B AS x >= FIRST(x) AND count(*) > 1, C AS x < FIRST(x) AND i > 0)"""
    table = pa.table({"k": [7] * 300, "i": range(300), "x": [1] * 300})
    with pytest.raises(LimitError) as caught:
        fyke.match(table, clause, limits=fyke.Limits(steps=5_000), **options)
    said, part = caught.value.message.split(", at ")
    assert said == f"limit 'steps' of 5,000 was exceeded in the partition k = 7 by the search of ({pattern})"
    assert part in parts


def test_explain_tells_what_is_decided_before() -> None:
    clause = f"MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY ts PATTERN (a down+ up{{2,3}}) {DEFINE})"
    told = fyke.explain(TICKS, clause)
    assert "  DOWN     price < PREV(price)" in told
    assert "  A        true of every row" in told
    assert "search   linear" in told


def test_no_rows() -> None:
    clause = f"""MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY ts {MEASURES} ALL ROWS PER MATCH
        PATTERN (down up*) {DEFINE})"""
    found = fyke.match(TICKS.slice(0, 0), clause)
    assert found.num_rows == 0
    assert found.schema == fyke.reference.match(TICKS, clause).schema
