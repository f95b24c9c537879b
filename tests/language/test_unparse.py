"""``parse(str(query)) == query``, and the canonical text itself."""

# ruff: noqa: RUF001 - the typographic operators are the subject of the test

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings

from fyke.language import ast, unparse
from fyke.language.query import Query
from fyke.language.sase import _grammar, parse
from fyke.language.unparse import unparse_expression, unparse_pattern
from tests.language import strategies

CANONICAL = {
    # what is written -> what is printed, both as the one condition of a query about a
    "((a.x)) = (1)": "a.x = 1",
    "a.x==1": "a.x = 1",
    "a.x <> 1": "a.x != 1",
    "a.x ≤ 1 ∨ a.x ≥ 2": "a.x <= 1 OR a.x >= 2",
    "(a.x + 1) * 2 = (a.x * 2) + 1": "(a.x + 1) * 2 = a.x * 2 + 1",
    "a.x - (1 - 2) - 3 = 0": "a.x - (1 - 2) - 3 = 0",
    "a.x - (-5) > - a.y": "a.x - -5 > -a.y",
    "- - a.x > - -3": "-(-a.x) > 3",
    "NOT (NOT (a.x = 1))": "NOT NOT a.x = 1",
    "NOT (a.x = 1 AND a.y = 2)": "NOT (a.x = 1 AND a.y = 2)",
    "a.x = 1 OR (a.y = 2 OR a.z = 3)": "a.x = 1 OR (a.y = 2 OR a.z = 3)",
    "(a.x = 1 OR a.y = 2) OR a.z = 3": "a.x = 1 OR a.y = 2 OR a.z = 3",
    "(a.x = 1 AND a.y = 2) OR a.z = 3": "a.x = 1 AND a.y = 2 OR a.z = 3",
    "(a.x > 1) = TRUE": "(a.x > 1) = TRUE",
    "(a.x IS NULL) is not null": "(a.x IS NULL) IS NOT NULL",
    "a.x not in ( 1,2 )": "a.x NOT IN (1, 2)",
    "a.s LIKE 'it''s%'": "a.s LIKE 'it''s%'",
    "a.x BETWEEN (1 + 2) AND 1e3": "a.x BETWEEN 1 + 2 AND 1000.0",
    "80% * a.x > 12.5 %*a.y": "0.8 * a.x > 0.125 * a.y",
    "a.t > TIMESTAMP '2026-01-31' + 90 min": "a.t > TIMESTAMP '2026-01-31' + 90 minutes",
    "a.d > 1.5 hours": "a.d > 90 minutes",
    "a.d > -14 days": "a.d > -2 weeks",
    "a.d > 1000000001 ns": "a.d > 1000000001 ns",
    'a."len" = a.len': 'a."len" = a.len',
    'a."odd name" = a.`b"c`': 'a."odd name" = a."b""c"',
    'f("odd v") = f(`odd v`)': "f(`odd v`) = f(`odd v`)",
    "a.where = a.from": "a.where = a.from",
    "prev(a.x) < first(a).x": "a[i-1].x < a[1].x",
    "last( a ).x < AVG(a[ .. i - 1 ].x)": "a[a.len].x < avg(a[..i-1].x)",
    "Upper(a.x) = count( * )": "upper(a.x) = count(*)",
}


@pytest.mark.parametrize("written, printed", CANONICAL.items())
def test_canonical_expression(written: str, printed: str) -> None:
    (condition,) = parse(f'PATTERN SEQ(A a, B "odd v") WHERE {{ {written} }}').conditions
    assert unparse_expression(condition) == printed
    assert parse(f"PATTERN A a WHERE {printed}").conditions == (condition,)


PATTERNS = {
    "(A a, B b)": "SEQ(A a, B b)",
    "{A a, B+ b[]}": "AND(A a, B+ b[])",
    "SEQ(A a)": "A a",
    "NOT(A a)": "~A a",
    "¬ {A a}": "~A a",
    "∼ NOT A a": "~~A a",
    "any a": "ANY a",
    '"any" a': '"any" a',
    '"A_Submitted COMPLETE" `b`': '"A_Submitted COMPLETE" b',
    "A {2} a[]": "A{2} a[]",
    "A{1,} a[]": "A+ a[]",
    "A{0,} a[ ]": "A* a[]",
    "A{0,1} a[]": "A{0,1} a[]",
    "A ? a": "A? a",
    "SEQ(A a, SEQ(B b, C c))": "SEQ(A a, SEQ(B b, C c))",
    'Like "in"': 'Like "in"',
}


@pytest.mark.parametrize("written, printed", PATTERNS.items())
def test_canonical_pattern(written: str, printed: str) -> None:
    query = parse("PATTERN " + written)
    assert unparse_pattern(query.pattern) == printed
    assert parse("PATTERN " + printed) == query


def test_layout() -> None:
    text = """
        Theft: pattern seq(Shelf a, not Register b, Exit c)
        where SKIP_TILL_ANY_MATCH(a, b, c) { [tag_id], (a.x = 1 or b.y = 2) and c.z = 'x' }
        within 12 h return a.tag_id as tag, c"""
    assert (
        str(parse(text))
        == """\
Theft: PATTERN SEQ(Shelf a, ~Register b, Exit c)
WHERE skip_till_any_match {
    [tag_id]
    AND (a.x = 1 OR b.y = 2)
    AND c.z = 'x'
}
WITHIN 12 hours
RETURN a.tag_id AS tag, c"""
    )


@pytest.mark.parametrize(
    "text, printed",
    [
        ("PATTERN A a WHERE { }", "PATTERN A a"),
        ("PATTERN A a WHERE strict_contiguity", "PATTERN A a\nWHERE strict_contiguity { }"),
        ("PATTERN A a WITHIN 15", "PATTERN A a\nWITHIN 15"),
        ("PATTERN A a WITHIN 1 event", "PATTERN A a\nWITHIN 1 EVENTS"),
        ("PATTERN A a WITHIN 0.5 s", "PATTERN A a\nWITHIN 500 ms"),
        ("PATTERN A a RETURN *", "PATTERN A a"),
    ],
)
def test_clauses(text: str, printed: str) -> None:
    assert str(parse(text)) == printed
    assert parse(printed) == parse(text)


@settings(max_examples=400, deadline=None)
@given(strategies.queries)
def test_round_trip(query: Query) -> None:
    assert parse(str(query)) == query


def test_long_chains_are_shallow_and_come_back() -> None:
    for count in (63, 64, 65, 1000):
        text = "PATTERN A a WHERE " + " OR ".join(f"a.x = {number}" for number in range(count))
        query = parse(text)
        assert "(" not in str(query)
        assert parse(str(query)) == query


def test_the_words_that_need_quotes_are_those_of_the_grammar() -> None:
    def excluded(pattern: str) -> set[str]:
        found = re.search(r"\(\?!\(\?:([^)]*)\)", pattern)
        assert found is not None
        return set(found.group(1).split("|"))

    grammar = {terminal.name: terminal.pattern.value for terminal in _grammar().terminals}
    assert excluded(grammar["TYPE"]) | {"pattern"} == excluded(unparse._TYPE.pattern)
    assert excluded(grammar["VARIABLE"]) == excluded(unparse._VARIABLE.pattern)


def test_nodes_know_their_place_and_ignore_it_when_compared() -> None:
    text = "PATTERN A a\nWHERE a.x = 1\n  AND a.y + 1 < 2"
    first, second = parse(text).conditions
    assert isinstance(second, ast.Binary)
    assert second.place is not None
    assert (second.place.line, second.place.column, second.place.length) == (3, 7, 11)
    assert parse(text.replace("\n", "   ")) == parse(text)
    assert first.place != second.place
