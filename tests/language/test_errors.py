"""The texts of the errors that people meet: what, where, and what to do."""

from __future__ import annotations

import pytest

from fyke.errors import (
    QuantifierError,
    QueryError,
    QuerySyntaxError,
    UnknownVariableError,
    WindowError,
    WindowLengthError,
)
from fyke.language.sase import parse

INDICES = (
    "The indices of a group are a[i], a[i-1], a[1], a[2], a[a.len] and a[a.len-1]; inside an aggregate also "
    "a[] and a[..i-1]."
)
STRATEGIES = (
    "The strategies are skip_till_any_match, skip_till_next_match, greedy_skip_till_next_match, "
    "robust_skip_till_next_match, partition_contiguity, strict_contiguity, greedy_partition_contiguity, "
    "greedy_strict_contiguity."
)
UNITS = (
    "Units are ns, us, ms, s, seconds, minutes, hours, days, weeks; a window also takes EVENTS, or no unit."
)
WINDOW = "WITHIN takes a number and a unit, as in WITHIN 12 hours or WITHIN 100 EVENTS."
LENGTH = "Write a length above zero, as in WITHIN 12 hours, or leave WITHIN out."
BOUNDS = "Bounds are {n}, {n,} or {n,m} with 0 <= n <= m and m above 0."
AFTER = "an operator, AND, OR, WITHIN, RETURN or the end of the query"
A = "PATTERN A a "
S = QuerySyntaxError

CASES: list[tuple[str, type[QueryError], int, str, str]] = [
    # text, error, column, message, remedy
    ("", S, 1, "unexpected end of the query; expected PATTERN", ""),
    ("PATTERN", S, 8, "unexpected end of the query; expected a pattern", ""),
    ("PATERN SEQ(A a)", S, 8, "unexpected 'SEQ'; expected ':'", "Did you mean 'PATTERN'?"),
    (
        "SELECT * FROM t",
        S,
        8,
        "unexpected '*'; expected ':'",
        "A query starts with PATTERN, or with a label, as in 'Name: PATTERN ...'.",
    ),
    # patterns
    (
        "PATTERN SEQQ(A a)",
        S,
        13,
        "unexpected '('; expected a quantifier or a variable name",
        "Did you mean 'SEQ'?",
    ),
    (
        "PATTERN SEQ(A, B b)",
        S,
        14,
        "unexpected ','; expected a quantifier or a variable name",
        "Every event has a variable, as in 'A a'.",
    ),
    (
        "PATTERN Stock WHERE a.x = 1",
        S,
        15,
        "unexpected 'WHERE'; expected a quantifier or a variable name",
        "Every event has a variable, as in 'Stock s'.",
    ),
    ("PATTERN SEQ()", S, 13, "unexpected ')'; expected a pattern", ""),
    (
        "PATTERN SEQ(A a, B b",
        S,
        21,
        "unexpected end of the query; expected ',' or ')'",
        "The '(' at line 1, column 12 is never closed.",
    ),
    (
        "PATTERN SEQ(A a, {B b)",
        S,
        22,
        "unexpected ')'; expected ',' or '}'",
        "Close the '{' at line 1, column 18 first.",
    ),
    ("PATTERN A a)", S, 12, "unexpected ')'; expected WHERE, WITHIN, RETURN or the end of the query", ""),
    ('PATTERN "" a', S, 9, "the name of an event type is empty", ""),
    (
        "PATTERN A a[]",
        QuantifierError,
        9,
        "'a[]' declares a group, but 'A' binds one event",
        "Write 'A a' for one event, or 'A+ a[]' for a group.",
    ),
    (
        "PATTERN A? a[]",
        QuantifierError,
        9,
        "'a[]' declares a group, but 'A?' binds one event",
        "Write 'A? a' for one event, or 'A{0,1} a[]' for a group.",
    ),
    (
        "PATTERN A+ a",
        QuantifierError,
        9,
        "'A+' binds a group, but 'a' is declared without '[]'",
        "Write 'A+ a[]'.",
    ),
    (
        "PATTERN ANY{2,3} a",
        QuantifierError,
        9,
        "'ANY{2,3}' binds a group, but 'a' is declared without '[]'",
        "Write 'ANY{2,3} a[]'.",
    ),
    ("PATTERN A{0} a[]", QuantifierError, 9, "no number of events satisfies the quantifier {0}", BOUNDS),
    ("PATTERN A{3,2} a[]", QuantifierError, 9, "no number of events satisfies the quantifier {3,2}", BOUNDS),
    # WHERE
    (
        A + "WHERE skip_til_any_match { a.x = 1 }",
        S,
        19,
        "unknown selection strategy 'skip_til_any_match'",
        STRATEGIES + " Did you mean 'skip_till_any_match' or 'skip_till_next_match' or "
        "'robust_skip_till_next_match'?",
    ),
    (A + "WHERE foo(a, b[]) { }", S, 19, "unknown selection strategy 'foo'", STRATEGIES),
    (
        A + "WHERE skip_till_any_match(a, b) { }",
        UnknownVariableError,
        42,
        "the pattern declares no variable 'b'",
        "It declares a.",
    ),
    (A + "WHERE a.x =", S, 24, "unexpected end of the query; expected an expression", ""),
    (A + "WHERE a.x IN ()", S, 27, "unexpected ')'; expected an expression", ""),
    (A + "WHERE a.x = $1", S, 25, "unexpected '$'; expected an expression", ""),
    (A + "WHERE a.x = \x07", S, 25, "unexpected character U+0007; expected an expression", ""),
    (A + "WHERE a.x b.y", S, 23, f"unexpected 'b'; expected {AFTER}", "Join two conditions with AND or OR."),
    (
        A + "WHERE a.x = 5 b.y",
        S,
        28,
        f"unexpected '.'; expected {AFTER}",
        "Join two conditions with AND or OR.",
    ),
    (
        A + "WHERE a.x BETWEN 1 AND 2",
        S,
        23,
        f"unexpected 'BETWEN'; expected {AFTER}",
        "Did you mean 'BETWEEN'?",
    ),
    (A + "WHERE a.x = b.y WITHN 5", S, 29, f"unexpected 'WITHN'; expected {AFTER}", "Did you mean 'WITHIN'?"),
    (
        A + "WHERE 1 < a.x < 3",
        S,
        27,
        f"unexpected '<'; expected {AFTER}",
        "Comparisons do not chain: write a < b AND b < c.",
    ),
    (
        A + "WHERE (a.x = 1]",
        S,
        27,
        "unexpected ']'; expected an operator, AND, OR or ')'",
        "Close the '(' at line 1, column 19 first.",
    ),
    (
        A + "WHERE { a.x = 1",
        S,
        28,
        "unexpected end of the query; expected an operator, AND, OR, ',' or '}'",
        "The '{' at line 1, column 19 is never closed.",
    ),
    (A + "WHERE a.x = 'b", S, 25, "this quote is never closed", "Close it with '; inside, write '' for one."),
    (
        A + 'WHERE a."x = 1',
        S,
        21,
        "this double quote is never closed",
        'Close it with "; inside, write "" for one.',
    ),
    (A + "/* WHERE", S, 13, "this comment is never closed", "Close it with */."),
    (
        A + 'WHERE a.x = "it\'s"',
        S,
        25,
        'double quotes are for names, and "it\'s" names no variable',
        "For a string use single quotes: 'it''s'.",
    ),
    (
        A + "WHERE NOT [x]",
        S,
        23,
        "[x] must be a condition of its own",
        "Join it with AND at the top level of WHERE, as in { [x] AND a.x > 1 }.",
    ),
    (A + "WHERE a[0].x = 1", S, 20, "there is no index [0]", INDICES),
    (A + "WHERE a[i+1].x = 1", S, 20, "there is no index [i+1]", INDICES),
    (A + "WHERE a[i-2].x = 1", S, 20, "there is no index [i-2]", INDICES),
    (A + "WHERE a[j].x = 1", S, 20, "there is no index [j]", INDICES),
    (A + "WHERE a[..i].x = 1", S, 24, "unexpected ']'; expected '-'", INDICES),
    (A + "WHERE a[-1].x = 1", S, 21, "unexpected '-'; expected a name, a whole number, '..' or ']'", INDICES),
    (
        A + "WHERE a[b.len].x = 1",
        S,
        21,
        "the index of 'a' is the length of 'b'",
        "Write a[a.len].",
    ),
    (A + "WHERE prev(3) = 1", S, 19, "prev takes one attribute of a group", "Write prev(a.x) or a[i-1].x."),
    (A + "WHERE sum(*) = 1", S, 19, "only count takes '*', found sum(*)", "Write sum(a.x)."),
    (
        A + "WHERE f(a).x = 1",
        S,
        24,
        "a call of f has no attributes",
        "Only first(a), last(a) and prev(a) of a group variable can be followed by '.x'.",
    ),
    (
        A + "WHERE a.x = 5 minuts",
        S,
        27,
        "'minuts' is not a unit of time",
        UNITS + " Did you mean 'minutes' or 'minute' or 'min'?",
    ),
    (A + "WHERE a.x = 0.5 ns", S, 25, "0.5 ns is not a whole number of nanoseconds", ""),
    (
        A + "WHERE a.x = 1e999",
        S,
        25,
        "inf is not a number a query can hold",
        "Numbers are finite and below 1.8e308; test NaN with isnan(x).",
    ),
    # WITHIN and RETURN
    (
        A + "WITHN 5",
        S,
        13,
        "unexpected 'WITHN'; expected WHERE, WITHIN, RETURN or the end of the query",
        "Did you mean 'WITHIN'?",
    ),
    (A + "WITHIN", S, 19, "unexpected end of the query; expected a number", WINDOW),
    (A + "WITHIN minutes", S, 20, "unexpected 'minutes'; expected a number", WINDOW),
    (A + "WITHIN 5 parsecs", S, 22, "'parsecs' is not a unit of time", UNITS + " Did you mean 'sec'?"),
    (A + "WITHIN 0", WindowLengthError, 13, "a window must be longer than zero", LENGTH),
    (A + "WITHIN -5 minutes", WindowLengthError, 13, "a window must be longer than zero", LENGTH),
    (A + "WITHIN 0 EVENTS", WindowLengthError, 13, "a window must be longer than zero", LENGTH),
    (
        A + "WITHIN 1.5",
        WindowError,
        13,
        "a window counts whole units of the time column, found 1.5",
        "Add a unit of time, as in WITHIN 1.5 hours.",
    ),
    (
        A + "WITHIN 5 hours WHERE a.x = 1",
        S,
        28,
        "unexpected 'WHERE'; expected RETURN or the end of the query",
        "The clauses come in the order PATTERN, WHERE, WITHIN, RETURN, each at most once.",
    ),
    (A + "RETURN", S, 19, "unexpected end of the query; expected an expression or '*'", ""),
    (A + "RETURN a.x AS", S, 26, "unexpected end of the query; expected a name", ""),
]


@pytest.mark.parametrize("text, kind, column, message, remedy", CASES, ids=[case[0] for case in CASES])
def test_error(text: str, kind: type[QueryError], column: int, message: str, remedy: str) -> None:
    with pytest.raises(QueryError) as raised:
        parse(text)
    error = raised.value
    assert (type(error), error.message, error.remedy) == (kind, message, remedy)
    assert (error.line, error.column) == (1, column)


def test_the_caret_stands_under_the_place() -> None:
    with pytest.raises(QuerySyntaxError) as raised:
        parse("PATTERN SEQ(Alert a,\n\tShipment+ b[])\r\nWHERE\ta[0].x = 1\r\n")
    assert str(raised.value) == (
        "there is no index [0] (line 3, column 8)\n  WHERE a[0].x = 1\n         ^^^\n" + INDICES
    )


def test_only_the_neighbourhood_of_a_long_line_is_shown() -> None:
    with pytest.raises(QuerySyntaxError) as raised:
        parse("PATTERN A a WHERE " + "a.x = 1 AND " * 100 + "a[0].x = 1" + " AND a.x = 1" * 100)
    _, line, carets, *_ = str(raised.value).split("\n")
    assert len(line) <= 102
    assert line[carets.index("^") : carets.rindex("^") + 1] == "[0]"


def test_no_terminal_name_is_ever_shown() -> None:
    for text, *_ in CASES:
        with pytest.raises(QueryError) as raised:
            parse(text)
        for name in ("__ANON", "RPAR", "LSQB", "QMARK", "QUOTED", "VARIABLE", "COMPARISON", "$END", "_IN"):
            assert name not in str(raised.value)
