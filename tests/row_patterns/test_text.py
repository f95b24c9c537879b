"""Clauses as text: what is read, in which form it is kept, and that it is written as it was read."""

from __future__ import annotations

import pytest

import fyke
from fyke.errors import UnsupportedQueryError
from fyke.language.ast import (
    Binary,
    Call,
    Column,
    Duration,
    Expression,
    Literal,
    Navigation,
    Seen,
    Star,
    Window,
    WindowKind,
)
from fyke.language.row_patterns import (
    Alternation,
    Anchor,
    Concatenation,
    Empty,
    Excluded,
    OrderItem,
    Permutation,
    Quantified,
    RowPattern,
    RowPatternQuery,
    Rows,
    Skip,
    SkipTo,
    Subset,
    Variable,
)

A, B, C = (Variable(name) for name in "ABC")
HOUR = 3600 * 10**9


def parsed(text: str) -> RowPatternQuery:
    query = fyke.parse(text)
    assert isinstance(query, RowPatternQuery)
    assert fyke.parse(str(query)) == query
    assert str(fyke.parse(str(query))) == str(query)
    return query


def pattern(text: str) -> RowPattern:
    return parsed(f"MATCH_RECOGNIZE (PATTERN ({text}) DEFINE A AS TRUE)").pattern


def measure(text: str) -> Expression:
    clause = f"MATCH_RECOGNIZE (MEASURES {text} AS m PATTERN (A B*) SUBSET u = (A, B) DEFINE A AS TRUE)"
    return parsed(clause).measures[0].expression


@pytest.mark.parametrize(
    "text, made",
    [
        ("A", A),
        ("a", A),
        ('"a" A', Concatenation((Variable("a"), A))),
        ("A B C", Concatenation((A, B, C))),
        ("A (B C)", Concatenation((A, B, C))),
        ("A | B | C", Alternation((A, B, C))),
        ("A B | C", Alternation((Concatenation((A, B)), C))),
        ("A (B | C)", Concatenation((A, Alternation((B, C))))),
        ("A*", Quantified(A, 0, None)),
        ("A+?", Quantified(A, 1, None, greedy=False)),
        ("A??", Quantified(A, 0, 1, greedy=False)),
        ("A {2}", Quantified(A, 2, 2)),
        ("A{2,}? B", Concatenation((Quantified(A, 2, None, greedy=False), B))),
        ("A{,3}", Quantified(A, 0, 3)),
        ("A{2,3}", Quantified(A, 2, 3)),
        ("(A+)+ B", Concatenation((Quantified(Quantified(A, 1, None), 1, None), B))),
        ("A (A | ())", Concatenation((A, Alternation((A, Empty()))))),
        ("^ A $", Concatenation((Anchor(True), A, Anchor(False)))),
        ("A {- B+ -} C", Concatenation((A, Excluded(Quantified(B, 1, None)), C))),
        ("PERMUTE(A, B C)", Permutation((A, Concatenation((B, C))))),
        ("PERMUTE(A)", A),
    ],
)
def test_patterns(text: str, made: RowPattern) -> None:
    assert pattern(text) == made


def test_an_empty_pattern_is_one() -> None:
    assert parsed("MATCH_RECOGNIZE (PATTERN (A | ()) DEFINE A AS TRUE)").pattern == Alternation((A, Empty()))


X = Column(("x",))


@pytest.mark.parametrize(
    "text, made",
    [
        ("x", X),
        ("a.x", Column(("x",), "A")),
        ("u.x", Column(("x",), "U")),
        ("loc.lat", Column(("loc", "lat"))),
        ("A.loc.lat", Column(("loc", "lat"), "A")),
        ("A", Column(("A",))),
        ("PREV(x)", Navigation("PREV", X, 1)),
        ("prev(x, 0)", Navigation("PREV", X, 0)),
        ("NEXT(x + 1, 2)", Navigation("NEXT", Binary("+", X, Literal(1)), 2)),
        ("FIRST(A.x, 2)", Navigation("FIRST", Column(("x",), "A"), 2)),
        ("PREV(FINAL LAST(x), 3)", Navigation("PREV", Seen(Navigation("LAST", X, 0), True), 3)),
        ("RUNNING sum(x)", Seen(Call("sum", (X,)), False)),
        ("count(*)", Call("count", (Star(),))),
        ("count(u.*)", Call("count", (Column((), "U"),))),
        ("CLASSIFIER()", Call("classifier", ())),
        ("CLASSIFIER(b)", Call("classifier", (Column((), "B"),))),
        ("MATCH_NUMBER()", Call("match_number", ())),
        ("final", Column(("final",))),
        ("INTERVAL '1' HOUR", Duration(HOUR)),
        ("INTERVAL '90 minutes'", Duration(HOUR * 3 // 2)),
        ("INTERVAL 2 HOURS", Duration(2 * HOUR)),
        ("INTERVAL '1 12:00:00' DAY TO SECOND", Duration(36 * HOUR)),
    ],
)
def test_expressions(text: str, made: Expression) -> None:
    assert measure(text) == made


def test_all_clauses() -> None:
    query = parsed(
        """match_recognize (
        partition by region, "Shop"  order by ts desc, id nulls first
        measures count(*) as n, last(x) as "Last x"
        all rows per match with unmatched rows
        after match skip to first up
        pattern (start down+ up) within interval '1' hour
        subset move = (down, up)
        define down as x < prev(x), up as x > prev(x)
        )"""
    )
    assert query.partition == ("region", "Shop")
    assert query.order == (OrderItem("ts", descending=True), OrderItem("id", nulls_first=True))
    assert [each.name for each in query.measures] == ["n", "Last x"]
    assert query.rows is Rows.WITH_UNMATCHED
    assert query.skip == Skip(SkipTo.FIRST, "UP")
    assert query.window == Window(WindowKind.DURATION, HOUR)
    assert query.subsets == (Subset("MOVE", ("DOWN", "UP")),)
    assert query.variables == ("START", "DOWN", "UP")
    assert query.labels("MOVE") == {"DOWN", "UP"}
    assert query.labels("UP") == {"UP"}


@pytest.mark.parametrize(
    "text, rows",
    [
        ("", Rows.ONE),
        ("ONE ROW PER MATCH", Rows.ONE),
        ("ALL ROWS PER MATCH", Rows.ALL),
        ("ALL ROWS PER MATCH SHOW EMPTY MATCHES", Rows.ALL),
        ("ALL ROWS PER MATCH OMIT EMPTY MATCHES", Rows.OMIT_EMPTY),
        ("ALL MATCHES", Rows.MATCHES),
    ],
)
def test_rows(text: str, rows: Rows) -> None:
    assert parsed(f"MATCH_RECOGNIZE ({text} PATTERN (A) DEFINE A AS TRUE)").rows is rows


@pytest.mark.parametrize(
    "text, skip",
    [
        ("PAST LAST ROW", Skip()),
        ("TO NEXT ROW", Skip(SkipTo.NEXT_ROW)),
        ("TO FIRST a", Skip(SkipTo.FIRST, "A")),
        ("TO LAST a", Skip(SkipTo.LAST, "A")),
        ("TO a", Skip(SkipTo.LAST, "A")),
        ("TO last", Skip(SkipTo.LAST, "LAST")),
        ("TO FIRST first", Skip(SkipTo.FIRST, "FIRST")),
    ],
)
def test_skips(text: str, skip: Skip) -> None:
    clause = f"MATCH_RECOGNIZE (AFTER MATCH SKIP {text} PATTERN (A first last) DEFINE A AS TRUE)"
    assert parsed(clause).skip == skip


def test_words_of_the_clause_are_names_where_nothing_else_can_stand() -> None:
    text = """MATCH_RECOGNIZE (PARTITION BY "order" ORDER BY define MEASURES pattern AS measures, match AS one
    PATTERN (define rows) DEFINE define AS subset > 1 AND define.pattern < 2,
    rows AS "in" = 3 AND running > 1)"""
    assert parsed(text).variables == ("DEFINE", "ROWS")


def test_comments_and_a_semicolon() -> None:
    text = "-- V shapes\nMATCH_RECOGNIZE (PATTERN (A) /* one */ DEFINE A AS x -- row\n > 1) ;"
    assert parsed(text).variables == ("A",)


def test_a_query_over_events_is_asked_for_elsewhere() -> None:
    with pytest.raises(UnsupportedQueryError, match="takes a query over events"):
        fyke.program(["MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS TRUE)"])
