"""Where the MATCH_RECOGNIZE clauses of a statement are, whatever is quoted, commented or nested."""

from __future__ import annotations

import pytest

from fyke.errors import QuerySyntaxError, QueryTooLargeError
from fyke.language.sql_statement import MOST_CLAUSES, read_statement

CLAUSE = "MATCH_RECOGNIZE (PATTERN (A {- B -}) DEFINE A AS s = 'x)\\' AND \"q)\" > 1 -- )\n AND `a)` /* ) */)"


def tables(text: str) -> list[str]:
    statement = read_statement(text)
    assert statement is not None
    assert all(text[slice(*each.clause)] == CLAUSE for each in statement.clauses)
    return [text[slice(*each.table)] for each in statement.clauses]


@pytest.mark.parametrize(
    "text, found",
    [
        ("SELECT * FROM ticks {} AS m WHERE m.x > 1", ["ticks"]),
        ("select * from a.b.`c d` as t {} m, z {};", ["a.b.`c d` as t", "z"]),
        ("SELECT * FROM (SELECT ')' AS x FROM t) {}", ["(SELECT ')' AS x FROM t)"]),
        ("SELECT * FROM a JOIN b ON a.x = b.x, c {}", ["c"]),
        ("SELECT * FROM a LEFT JOIN b {} ON a.x = b.x", ["b"]),
        ("SELECT * FROM (a {} x JOIN b {} y ON x.k = y.k)", ["a", "b"]),
        ("SELECT 'it\\'s', 'it''s (', r'\\', \"FROM\" FROM t {}", ["t"]),
        ("SELECT 1 -- FROM x MATCH_RECOGNIZE (\nFROM /* a /* b ( */ c */ t {}", ["t"]),
        ("SELECT * FROM range(3) AS r(id) {} UNION ALL SELECT * FROM u {}", ["range(3) AS r(id)", "u"]),
        ("SELECT * FROM t WHERE x IN (SELECT y FROM u {})", ["u"]),
    ],
)
def test_tables(text: str, found: list[str]) -> None:
    assert tables(text.format(*[CLAUSE] * len(found))) == found


def test_a_clause_behind_a_clause_comes_later() -> None:
    text = f"SELECT * FROM t {CLAUSE} AS a {CLAUSE}"
    assert tables(text) == ["t", f"t {CLAUSE} AS a"]
    assert [each.label for each in read_statement(text).clauses] == ["a", None]  # type: ignore[union-attr]


def test_names_of_with_that_a_table_may_have() -> None:
    text = (
        f"WITH RECURSIVE a AS (SELECT 1), b (x, y) AS (SELECT * FROM a {CLAUSE}), "
        f"c AS (WITH d AS (SELECT 2) SELECT * FROM d {CLAUSE}) SELECT * FROM b {CLAUSE} WHERE 1 = 1"
    )
    statement = read_statement(text)
    assert statement is not None
    scopes = [[text[slice(*scope)].strip() for scope in each.scopes] for each in statement.clauses]
    first = "RECURSIVE a AS (SELECT 1)"
    second = f"{first}, b (x, y) AS (SELECT * FROM a {CLAUSE})"
    third = f"{second}, c AS (WITH d AS (SELECT 2) SELECT * FROM d {CLAUSE})"
    assert scopes == [[first], [second, "d AS (SELECT 2)"], [third]]


@pytest.mark.parametrize(
    "text, command, parameters",
    [
        ("SELECT * FROM t {} WHERE x > :least AND y::int > 1", None, {"least"}),
        ("INSERT INTO x SELECT * FROM t {}", "INSERT", set()),
        ("WITH a AS (SELECT 1) INSERT INTO x SELECT replace(y, 'a') FROM t {}", "INSERT", set()),
        ("CREATE TABLE x AS SELECT * FROM t {}", "CREATE", set()),
        ("(SELECT update, delete FROM t {})", None, set()),
    ],
)
def test_what_a_statement_does(text: str, command: str | None, parameters: set[str]) -> None:
    statement = read_statement(text.format(CLAUSE))
    assert statement is not None
    assert (statement.command, statement.parameters) == (command, parameters)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT match_recognize FROM t",
        "SELECT 'MATCH_RECOGNIZE (' FROM `MATCH_RECOGNIZE (` -- MATCH_RECOGNIZE (",
        "PATTERN SEQ(A a, B b)",
        f"/* alone */ {CLAUSE} ;",
    ],
)
def test_no_statement_with_clauses(text: str) -> None:
    assert read_statement(text) is None


@pytest.mark.parametrize(
    "text, said",
    [
        (f"SELECT * FROM a JOIN b ON a.x = b.x {CLAUSE}", "in front of this one is ON"),
        (f"SELECT * FROM t WHERE x > 1 {CLAUSE}", "in front of this one is WHERE"),
        (f"SELECT * FROM {CLAUSE}", "in front of this one is none"),
        (f"{CLAUSE} AS m", "in front of this one is none"),
        (f"SELECT a, b {CLAUSE} FROM t", "not behind FROM or JOIN"),
        (f"SELECT * FROM VALUES (1), (2) AS t(x) {CLAUSE}", "not behind FROM or JOIN"),
    ],
)
def test_misplaced_clauses(text: str, said: str) -> None:
    with pytest.raises(QuerySyntaxError, match=f"MATCH_RECOGNIZE stands behind a table, .*{said}") as caught:
        read_statement(text)
    assert text.split("\n")[0][caught.value.column - 1 :].startswith("MATCH_RECOGNIZE")  # type: ignore[operator]


def test_a_clause_that_is_never_closed_goes_to_the_end() -> None:
    text = "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS (x > 1)"
    statement = read_statement(text)
    assert statement is not None
    assert statement.clauses[0].clause[1] == len(text)


@pytest.mark.parametrize("text", ["'" * 9_999, "/*" * 5_000, "(" * 10_000, "`" * 9_999, "FROM t,," * 1_000])
def test_hostile_texts_take_little_time(text: str) -> None:
    with pytest.raises(QuerySyntaxError, match="stands behind a table"):
        read_statement(f"SELECT 1 MATCH_RECOGNIZE () {text}")


def test_too_many_clauses() -> None:
    with pytest.raises(QueryTooLargeError, match=f"at most {MOST_CLAUSES} MATCH_RECOGNIZE clauses"):
        read_statement(f"SELECT * FROM t {CLAUSE * (MOST_CLAUSES + 1)}")
