"""The naive twin: preference order, empty matches, skipping, output, by hand."""

from __future__ import annotations

import pyarrow as pa
import pytest

import fyke
from fyke import reference
from fyke.errors import ParameterError, SkipError
from tests.row_patterns.notation import found


@pytest.mark.parametrize(
    "rows, pattern, matches",
    [
        ("ABBC", "A B+ C", ["0:ABBC"]),
        ("ABAB", "A B", ["0:AB", "2:AB"]),
        ("AAB", "A+", ["0:AA"]),
        ("AAB", "A+?", ["0:A", "1:A"]),
        ("AAB", "A+? B", ["0:AAB"]),
        ("AAA", "A{2}", ["0:AA"]),
        ("AAAAA", "A{2,3}", ["0:AAA", "3:AA"]),
        ("AAAAA", "A{2,3}?", ["0:AA", "2:AA"]),
        ("AAAA", "A{,3}", ["0:AAA", "3:A"]),
        ("AB", "A | A B", ["0:A"]),
        ("AB", "A B | A", ["0:AB"]),
        ("AAB", "(A | A A) B", ["0:AAB"]),  # goes back to the second alternative
        ("ABC", "R+ C", ["0:RRC"]),
        ("ABCC", "R+? C", ["0:RRC"]),
        ("BA", "PERMUTE(A, B)", ["0:BA"]),
        ("CBA", "PERMUTE(A, B, C)", ["0:CBA"]),
        ("AAR", "PERMUTE(A, R)", ["0:AR"]),
        ("RAR", "PERMUTE(R, A?)", ["0:RA", "2:R"]),
        ("AAB", "^ A", ["0:A"]),
        ("AAB", "A+ $", []),
        ("ABB", "B $", ["2:B"]),
        ("AB", "B?", ["", "1:B"]),
        ("AB", "B??", ["", ""]),
        ("AB", "() | A", ["", ""]),
        ("AA", "(A | ())*", ["0:AA"]),
        ("AA", "(() | A)*", ["", ""]),  # a repetition that takes no row ends the loop
        ("AAB", "(() | A){2} B", ["0:AAB"]),
        ("AAAB", "(A+)+ B", ["0:AAAB"]),
        ("AAAA", "(A+)+ B", []),
        ("", "A*", []),
    ],
)
def test_preference_order(rows: str, pattern: str, matches: list[str]) -> None:
    assert found(rows, pattern) == matches


@pytest.mark.parametrize(
    "skip, matches",
    [
        ("PAST LAST ROW", ["0:ABBC"]),
        ("TO NEXT ROW", ["0:ABBC", "1:BBC", "2:BC"]),
        ("TO FIRST C", ["0:ABBC"]),
        ("TO FIRST B", SkipError),
        ("TO LAST B", SkipError),
        ("TO B", SkipError),
        ("TO LAST A", SkipError),
    ],
)
def test_skip(skip: str, matches: list[str] | type[SkipError]) -> None:
    if isinstance(matches, list):
        assert found("ABBC", "A* B+ C", f"AFTER MATCH SKIP {skip}") == matches
        return
    with pytest.raises(matches, match="leads back to the first row of a match of the input"):
        found("ABBC", "A* B+ C", f"AFTER MATCH SKIP {skip}")


def test_skip_to_a_variable_without_a_row() -> None:
    with pytest.raises(SkipError, match="TO LAST B finds no such row in a match of the input"):
        found("AC", "A B? C", "AFTER MATCH SKIP TO LAST B")


def test_skip_to_a_subset() -> None:
    skip = "AFTER MATCH SKIP TO LAST U ... SUBSET U = (B, C)"
    assert found("ABCBC", "(A | B) (B | C) C?", skip) == ["0:ABC", "3:BC"]


def test_all_matches_are_numbered_by_start_and_preference() -> None:
    assert found("AAB", "A+ B?", "ALL MATCHES") == ["0:AAB", "0:AA", "0:A", "1:AB", "1:A"]
    assert found("AAB", "A+? B?", "ALL MATCHES") == ["0:A", "0:AAB", "0:AA", "1:AB", "1:A"]
    assert found("AA", "(A | A)+", "ALL MATCHES") == ["0:AA", "0:A", "1:A"]
    assert found("AB", "A?", "ALL MATCHES") == ["0:A", "", ""]


def test_within_bounds_the_search() -> None:
    assert found("AAAA", "A+", "... WITHIN 1") == ["0:AA", "2:AA"]
    assert found("AAAA", "A+?", "... WITHIN 1") == ["0:A", "1:A", "2:A", "3:A"]
    assert found("ARRB", "A R* B", "... WITHIN 2") == []


ROWS = pa.table({"g": ["a", "a", "a", "a", "b"], "i": [1, 2, 3, 4, 1], "x": [1, None, 3, 4, 5]})


def rows(text: str) -> list[dict[str, object]]:
    return list(reference.match(ROWS, f"MATCH_RECOGNIZE (PARTITION BY g ORDER BY i {text})").to_pylist())


def test_all_rows_running_and_final() -> None:
    measures = "MEASURES sum(x) AS s, FINAL sum(x) AS t, FIRST(i) AS f, FINAL LAST(i) AS l, count(B.*) AS n"
    made = rows(f"{measures} ALL ROWS PER MATCH PATTERN (A B+) DEFINE B AS x > 2 OR x IS NULL")
    assert made == [
        {"g": "a", "i": 1, "s": 1, "t": 8, "f": 1, "l": 4, "n": 0, "x": 1},
        {"g": "a", "i": 2, "s": 1, "t": 8, "f": 1, "l": 4, "n": 1, "x": None},
        {"g": "a", "i": 3, "s": 4, "t": 8, "f": 1, "l": 4, "n": 2, "x": 3},
        {"g": "a", "i": 4, "s": 8, "t": 8, "f": 1, "l": 4, "n": 3, "x": 4},
    ]


def test_excluded_rows_are_seen_but_not_put_out() -> None:
    made = rows("MEASURES count(*) AS n ALL ROWS PER MATCH PATTERN (A {- B+ -} C) DEFINE C AS i = 4")
    assert [(row["i"], row["n"]) for row in made] == [(1, 1), (4, 4)]


@pytest.mark.parametrize(
    "form, expected",
    [
        ("SHOW EMPTY MATCHES", [(1, 1, 0), (2, 2, 0), (3, 3, 1), (4, 3, 2), (1, 1, 1)]),
        ("OMIT EMPTY MATCHES", [(3, 3, 1), (4, 3, 2), (1, 1, 1)]),
        ("WITH UNMATCHED ROWS", [(1, 1, 0), (2, 2, 0), (3, 3, 1), (4, 3, 2), (1, 1, 1)]),
    ],
)
def test_empty_matches(form: str, expected: list[tuple[int, ...]]) -> None:
    measures = "MEASURES MATCH_NUMBER() AS m, count(*) AS n"
    made = rows(f"{measures} ALL ROWS PER MATCH {form} PATTERN (A*) DEFINE A AS x > 2")
    assert [(row["i"], row["m"], row["n"]) for row in made] == expected


def test_unmatched_rows_have_null_measures() -> None:
    made = rows(
        "MEASURES MATCH_NUMBER() AS m, count(*) AS n ALL ROWS PER MATCH WITH UNMATCHED ROWS "
        "PATTERN (A B) DEFINE A AS x = 3"
    )
    nothing = (None, None)
    assert [(row["m"], row["n"]) for row in made] == [nothing, nothing, (1, 1), (1, 2), nothing]


def test_navigation() -> None:
    made = rows(
        "MEASURES PREV(x) AS p, NEXT(x) AS q, PREV(FIRST(x), 1) AS before, NEXT(LAST(A.x), 2) AS after, "
        "LAST(x, 1) AS last_but_one, FIRST(B.x, 1) AS second, B.x AS b, CLASSIFIER(U) AS c, "
        "PREV(CLASSIFIER()) AS pc, array_agg(x) AS every "
        "ALL ROWS PER MATCH PATTERN (A B B) SUBSET U = (A, B) DEFINE A AS i = 2"
    )
    keys = ("p", "q", "before", "after", "last_but_one", "second", "b", "c", "pc", "every")
    assert [tuple(row[key] for key in keys) for row in made] == [
        (1, 3, 1, 4, None, None, None, "A", None, [None]),
        (None, 4, 1, 4, None, None, 3, "B", "A", [None, 3]),
        (3, None, 1, 4, 3, 4, 4, "B", "B", [None, 3, 4]),
    ]


def test_order_and_partitions() -> None:
    table = pa.table(
        {"g": [1.0, float("nan"), 1.0, None, float("nan"), None, -0.0, 0.0], "x": [None, *range(7)]}
    )
    text = "PARTITION BY g ORDER BY x {} MEASURES array_agg(x) AS xs PATTERN (A+) DEFINE A AS TRUE"
    made = reference.match(table, f"MATCH_RECOGNIZE ({text.format('DESC')})")
    assert made["xs"].to_pylist() == [[1, None], [3, 0], [4, 2], [6, 5]]
    made = reference.match(table, f"MATCH_RECOGNIZE ({text.format('NULLS FIRST')})")
    assert made["xs"].to_pylist()[0] == [None, 1]


def test_without_an_order_rows_stay_as_they_are() -> None:
    table = pa.table({"x": [3, 1, 2]})
    made = reference.match(
        table, "MATCH_RECOGNIZE (MEASURES array_agg(x) AS xs PATTERN (A+) DEFINE A AS TRUE)"
    )
    assert made["xs"].to_pylist() == [[3, 1, 2]]


def test_within_a_time_and_rows_without_one() -> None:
    table = pa.table({"t": pa.array([0, 60, 119, 180, None], pa.timestamp("s"))})
    clause = "MATCH_RECOGNIZE (ORDER BY t {} MEASURES count(*) AS n PATTERN (A+) WITHIN {} DEFINE A AS TRUE)"
    for order in ("", "DESC"):
        made = reference.match(table, clause.format(order, "INTERVAL '2' MINUTE"))
        assert made["n"].to_pylist() == [3, 1]
    made = reference.match(table, clause.format("", "1 minute"))
    assert made["n"].to_pylist() == [2, 1, 1]


def test_conditions_see_their_own_row_with_its_label() -> None:
    table = pa.table({"i": range(6), "x": [1, 2, 3, 4, 5, 6]})
    clause = "MATCH_RECOGNIZE (MEASURES sum(A.x) AS s PATTERN (A+) DEFINE A AS sum(A.x) < 7)"
    assert reference.match(table, clause)["s"].to_pylist() == [6, 4, 5, 6]


def test_decimals_beside_numbers_that_are_written_out() -> None:
    table = pa.table({"x": pa.array(["0.10", "0.20"], pa.string()).cast(pa.decimal128(4, 2))})
    clause = "MATCH_RECOGNIZE (MEASURES x * 1.5 AS y PATTERN (A) DEFINE A AS x = 0.1)"
    made = reference.match(table, clause)
    assert [str(value) for value in made["y"].to_pylist()] == ["0.150"]


def test_parameters() -> None:
    clause = "MATCH_RECOGNIZE (MEASURES x AS y PATTERN (A) DEFINE A AS x > :least)"
    table = pa.table({"x": [1, 2, 3]})
    assert reference.match(table, clause, params={"least": 1})["y"].to_pylist() == [2, 3]
    with pytest.raises(ParameterError, match="the parameter :least has no value"):
        reference.match(table, clause)
    assert fyke.parse(clause)
