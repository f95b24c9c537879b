"""The Python builder and the text give one Query, and one set of errors."""

from __future__ import annotations

import copy
from datetime import date, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest

from fyke.errors import (
    EmptyPatternError,
    FykeError,
    QuantifierError,
    QueryError,
    QuerySyntaxError,
    QueryTooLargeError,
    TypeClashError,
    WindowLengthError,
)
from fyke.language import builder as p
from fyke.language.ast import Duration, Literal, Strategy, Timestamp, walk
from fyke.language.query import Query
from fyke.language.sase import parse
from fyke.language.terms import Term, node_of

a, b, c = p.variables("a, b c")
A, B, C = p.event("A", "a"), p.event("B", "b"), p.event("C", "c")

PATTERNS: list[tuple[p.Part, str]] = [
    (A, "A a"),
    (p.event(p.ANY, "a"), "ANY a"),
    (p.event("any", "where"), '"any" "where"'),
    (A.plus(), "A+ a[]"),
    (A.star(), "A* a[]"),
    (A.optional(), "A? a"),
    (A.times(3), "A{3} a[]"),
    (A.times(2, 5), "A{2,5} a[]"),
    (A.at_least(2), "A{2,} a[]"),
    (p.seq(A, ~B, C), "SEQ(A a, ~B b, C c)"),
    (p.seq(p.all_of(A, B.plus()), C), "SEQ({A a, B+ b[]}, C c)"),
    (p.one_of(A, p.seq(B, C)), "OR(A a, SEQ(B b, C c))"),
    (~p.seq(A, B), "NOT SEQ(A a, B b)"),
    (~~A, "~~A a"),
    (p.seq(A), "A a"),
]


@pytest.mark.parametrize("built, text", PATTERNS, ids=[text for _, text in PATTERNS])
def test_pattern(built: p.Part, text: str) -> None:
    assert p.query(built) == parse("PATTERN " + text)
    assert parse("PATTERN " + str(built)) == p.query(built)


CONDITIONS: list[tuple[Term, str]] = [
    (a.price > b.price, "a.price > b.price"),
    (a["odd name"] == "x", "a.\"odd name\" = 'x'"),
    (a["len"] != a.len, 'a."len" != a.len'),
    (a.loc.lat <= 1.5, "a.loc.lat <= 1.5"),
    (a.loc["like"] >= 2, "a.loc.like >= 2"),
    (a["_id"] < 2, "a._id < 2"),
    (a.each.x > a.prev.x, "a[i].x > a[i-1].x"),
    (a.first.x + a.last.x == 0, "a[1].x + a[a.len].x = 0"),
    (a.each.first == 1, "a[i].first = 1"),
    (a.x > p.avg(a.before.x), "a.x > avg(a[..i-1].x)"),
    (p.sum(a.all.x) < 10, "sum(a[].x) < 10"),
    (p.min(a.all.x) == p.max(a.all.x), "min(a[].x) = max(a[].x)"),
    (p.stddev(a.all.x) > p.first(a.before.x), "stddev(a[].x) > first(a[..i-1].x)"),
    (p.last(a.before.x) > p.count(a.all.x), "last(a[..i-1].x) > count(a[].x)"),
    (p.function("prev", a.x) < a.x, "prev(a.x) < a.x"),
    (p.function("Upper", a.name) == "X", "upper(a.name) = 'X'"),
    (p.corr(a.history, b.history) > 0.9, "corr(a.history, b.history) > 0.9"),
    (p.same("tag_id"), "[tag_id]"),
    (p.same("x", "odd name"), '[x, "odd name"]'),
    (10 - a.x * 2 / 3 % 4 > -b.y, "10 - a.x * 2 / 3 % 4 > -b.y"),
    (1 + a.x == 2 * a.y, "1 + a.x = 2 * a.y"),
    (1 / a.x > 5 % a.y, "1 / a.x > 5 % a.y"),
    (0.8 * a.last.volume > b.volume, "80% * a[a.len].volume > b.volume"),
    ((a.x < 3) & (b.y > 1), "a.x < 3 AND b.y > 1"),
    ((a.x < 3) | (b.y > 1) & (c.z == 1), "a.x < 3 OR b.y > 1 AND c.z = 1"),
    (True & (a.x < 3), "TRUE AND a.x < 3"),
    (False | (a.x < 3), "FALSE OR a.x < 3"),
    (~(a.x < 3), "NOT a.x < 3"),
    (a.x.isin(1, 2, None), "a.x IN (1, 2, NULL)"),
    (a.x.isin(["u", "v"]), "a.x IN ('u', 'v')"),
    (~a.x.isin(1), "a.x NOT IN (1)"),
    (a.x.between(1, b.y), "a.x BETWEEN 1 AND b.y"),
    (~a.x.between(1, 2), "a.x NOT BETWEEN 1 AND 2"),
    (a.x.like("it's%"), "a.x LIKE 'it''s%'"),
    (a.x.is_null(), "a.x IS NULL"),
    (a.x.is_not_null(), "a.x IS NOT NULL"),
    (~a.x.is_null(), "a.x IS NOT NULL"),
    (b.ts - a.ts < p.minutes(5), "b.ts - a.ts < 5 minutes"),
    (b.ts - a.ts < p.hours(1.5), "b.ts - a.ts < 90 min"),
    (b.ts - a.ts < timedelta(seconds=1, microseconds=2), "b.ts - a.ts < 1000002 us"),
    (b.ts > p.timestamp("2026-01-31"), "b.ts > TIMESTAMP '2026-01-31'"),
    (b.ts > datetime(2026, 1, 31, 12), "b.ts > TIMESTAMP '2026-01-31 12:00:00'"),
    (a.x == np.int64(3), "a.x = 3"),
    (a.x == np.float64(0.5), "a.x = 0.5"),
    (p.variable("odd var").x == 1, '"odd var".x = 1'),
]


@pytest.mark.parametrize("built, text", CONDITIONS, ids=[text for _, text in CONDITIONS])
def test_condition(built: Term, text: str) -> None:
    query = p.query(A, where=built)
    assert query == parse(f"PATTERN A a WHERE {{ {text} }}")
    assert parse(str(query)) == query


def test_values() -> None:
    assert node_of(p.literal(True)) == Literal(True)
    assert node_of(np.float32(0.5)) == Literal(0.5)
    assert node_of(date(2026, 1, 31)) == Timestamp("2026-01-31")
    assert node_of(datetime(2026, 1, 31, tzinfo=timezone.utc)) == Timestamp("2026-01-31 00:00:00+00:00")
    assert node_of(-p.days(1)) == Duration(-86400 * 10**9)
    units = (p.weeks(1), p.days(7), p.hours(168), p.minutes(10080), p.seconds(604800))
    assert len({str(unit) for unit in units}) == 1
    assert str(p.milliseconds(1)) == str(p.microseconds(1000)) == str(p.nanoseconds(10**6)) == "1 ms"


def test_the_whole_query() -> None:
    query = p.query(
        p.seq(p.event("Stock", "a").plus(), p.event("Stock", "b")),
        where=[p.same("symbol") & (a.first.volume > 1000), a.each.price > p.avg(a.before.price)],
        strategy="skip_till_any_match",
        within="1 hour",
        returns=[a, b.price.alias("price"), p.alias(b, "last one"), p.count().alias("n"), a.len],
        label="Rise",
    )
    assert query == parse("""
        Rise: PATTERN SEQ(Stock+ a[], Stock b)
        WHERE skip_till_any_match(a[], b) {
            [symbol] AND a[1].volume > 1000 AND a[i].price > avg(a[..i-1].price)
        }
        WITHIN 1 hour
        RETURN a, b.price AS price, b AS "last one", count(*) AS n, a.len""")
    assert query.text is None


WINDOWS: list[tuple[Any, str]] = [
    ("12 hours", "12 hours"),
    ("1.5h", "90 minutes"),
    ("100 events", "100 EVENTS"),
    ("15", "15"),
    (15, "15"),
    (timedelta(minutes=5), "5 minutes"),
    (p.minutes(5), "5 minutes"),
    (p.events(100), "100 EVENTS"),
]


@pytest.mark.parametrize("within, text", WINDOWS)
def test_window(within: Any, text: str) -> None:
    assert p.query(A, within=within) == parse(f"PATTERN A a WITHIN {text}")


def test_strategy() -> None:
    for strategy in Strategy:
        assert p.query(A, strategy=strategy) == p.query(A, strategy=strategy.value.upper())


SLIPS: list[tuple[Any, type[FykeError], str]] = [
    (lambda: a.x < 3 and b.y > 1, QueryError, "the condition a.x < 3 is neither true nor false"),
    (lambda: 1 < a.x < 3, QueryError, r"the condition a.x > 1 is neither"),
    (lambda: not a.x, QueryError, "the condition a.x is neither true"),
    (lambda: a.x in [1, 2], QueryError, "the condition a.x = 1 is neither"),
    (lambda: list(a.x), QuerySyntaxError, "a column is named by a string, found 0"),
    (lambda: a[1].x, QuerySyntaxError, r"found 1(.|\n)*a.first, a.last, a.each"),
    (lambda: A and B, QuerySyntaxError, "a pattern is neither true nor false"),
    (lambda: p.seq(), EmptyPatternError, "SEQ of no patterns binds no event"),
    (lambda: p.seq(A, "B b"), QuerySyntaxError, "a pattern is made of patterns, found 'B b'"),
    (lambda: p.query("A a"), QuerySyntaxError, "a pattern is made of patterns"),
    (lambda: A.plus().star(), QuantifierError, r"only an event without a quantifier(.|\n)*A\+ a\[\]"),
    (lambda: p.seq(A, B).plus(), QuantifierError, "only an event without a quantifier"),
    (lambda: A.times(3, 2), QuantifierError, r"no number of events satisfies the quantifier \{3,2\}"),
    (lambda: A.times(0), QuantifierError, r"no number of events satisfies the quantifier \{0\}"),
    (lambda: A.times(-1, 2), QuantifierError, "no number of events satisfies"),
    (lambda: A.times(1.5), QuantifierError, "a quantifier takes whole numbers, found 1.5"),
    (lambda: p.event("", "a"), QuerySyntaxError, "the name of an event type is empty"),
    (lambda: p.event("A", ""), QuerySyntaxError, "the name of a variable is empty"),
    (lambda: p.event("A", a), QuerySyntaxError, "the names of types and variables are strings"),
    (lambda: p.variable(""), QuerySyntaxError, "the name of a variable is empty"),
    (lambda: p.variables([1]), QuerySyntaxError, "the name of a variable is a string, found 1"),
    (lambda: a[""], QuerySyntaxError, "the name of a column is empty"),
    (lambda: p.same(), QuerySyntaxError, "needs the name of an attribute"),
    (lambda: a.x.isin(), QuerySyntaxError, r"isin\(\) needs a value"),
    (lambda: a.x.isin([]), QuerySyntaxError, r"isin\(\) needs a value"),
    (lambda: a.x == float("nan"), QuerySyntaxError, "nan is not a number a query can hold"),
    (lambda: a.x == float("inf"), QuerySyntaxError, "inf is not a number a query can hold"),
    (lambda: a.x == 10**38, QuerySyntaxError, "at most 38 digits"),
    (lambda: a.x == b"1", TypeClashError, "a query cannot hold a value of type bytes"),
    (lambda: a.x == object(), TypeClashError, "a query cannot hold a value of type object"),
    (lambda: (a.x + 1)["y"], QuerySyntaxError, r"a.x \+ 1 has no fields"),
    (lambda: p.sum(p.function("prev", 3)), QuerySyntaxError, "prev takes one attribute of a group"),
    (lambda: p.query(A, where=~p.same("x")), QuerySyntaxError, r"\[x\] must be a condition of its own"),
    (lambda: p.query(A, returns=[p.same("x")]), QuerySyntaxError, r"\[x\] must be a condition of its own"),
    (lambda: p.query(A, returns=[]), QuerySyntaxError, "returns is empty"),
    (lambda: p.query(A, strategy="skip_till_any"), QuerySyntaxError, "Did you mean 'skip_till_any_match'"),
    (lambda: p.query(A, within="5 parsecs"), QuerySyntaxError, "'parsecs' is not a unit of time"),
    (lambda: p.query(A, within="soon"), QuerySyntaxError, "'soon' is not a window"),
    (lambda: p.query(A, within=1.5), QuerySyntaxError, "'1.5' is not a window"),
    (lambda: p.query(A, within=a.x), QuerySyntaxError, "is not a window"),
    (lambda: p.query(A, within=0), WindowLengthError, "a window must be longer than zero"),
    (lambda: p.query(A, within=timedelta(0)), WindowLengthError, "a window must be longer than zero"),
    (lambda: p.query(A, within=-p.minutes(1)), WindowLengthError, "a window must be longer than zero"),
    (lambda: p.events(0), WindowLengthError, "a window must be longer than zero"),
    (lambda: p.minutes(float("nan")), QuerySyntaxError, "a number out of range"),
    (lambda: p.query(A, label=""), QuerySyntaxError, "the name of the query is empty"),
    (lambda: p.query(_deep(500)), QueryTooLargeError, "nested deeper than 100 levels"),
    (lambda: p.query(A, where=sum([a.x] * 500, 1) > 1), QueryTooLargeError, "nested deeper than 100 levels"),
]


def _deep(levels: int) -> p.Part:
    part = A
    for _ in range(levels):
        part = ~part
    return part


@pytest.mark.parametrize("slip, kind, message", SLIPS, ids=[message for *_, message in SLIPS])
def test_slip(slip: Any, kind: type[FykeError], message: str) -> None:
    with pytest.raises(kind, match=message) as raised:
        slip()
    assert type(raised.value) is kind


def test_a_long_and_is_split_into_conditions() -> None:
    condition = a.x == 0
    for number in range(1, 5000):
        condition = condition & (a.x != number)
    assert len(p.query(A, where=condition).conditions) == 5000


def test_python_protocols_find_no_columns() -> None:
    for thing in (a, a.x, a.each):
        assert not hasattr(thing, "__array__")
        assert not hasattr(thing, "_repr_html_")
        assert repr(copy.copy(thing)) == repr(thing)
        assert repr(copy.deepcopy(thing)) == repr(thing)
    assert not hasattr(a.x + 1, "y")
    with pytest.raises(TypeError):
        hash(a.x)


def test_repr() -> None:
    assert repr(a.x > 1) == "<term a.x > 1>"
    assert repr(a) == "<variable a>"
    assert repr(p.seq(A, B)) == "<pattern SEQ(A a, B b)>"


def test_query_is_a_value() -> None:
    first, second = (p.query(p.seq(A, B), where=a.x == 1, within=3) for _ in range(2))
    assert isinstance(first, Query)
    assert first == second
    assert len({first, second}) == 1


PAIR = p.seq(A, B)


@pytest.mark.parametrize(
    "where, conditions",
    [
        ("a.x > 1", "a.x > 1"),
        ("a.x > 1 AND [u], b.y = 'q' OR a.x < b.x", "a.x > 1 AND [u] AND (b.y = 'q' OR a.x < b.x)"),
        (["a.x > 1", "b.x > 2"], "a.x > 1 AND b.x > 2"),
        (["a.x > 1", b.x > 2, p.same("u")], "a.x > 1 AND b.x > 2 AND [u]"),
    ],
    ids=["one", "several", "a list", "beside terms"],
)
def test_conditions_as_text(where: Any, conditions: str) -> None:
    built = p.query(PAIR, where=where)
    assert built == parse(f"PATTERN SEQ(A a, B b) WHERE {{ {conditions} }}")
    assert not any(node.place for each in built.conditions for node in walk(each))


def test_items_as_text() -> None:
    built = p.query(PAIR, returns="a.x, b.y AS z")
    assert built == parse("PATTERN SEQ(A a, B b) RETURN a.x, b.y AS z")


@pytest.mark.parametrize(
    "slip, text",
    [
        (
            lambda: p.query(PAIR, where="a.x >"),
            "unexpected end of the query; expected an expression (line 1, column 6)\n  a.x >\n       ^",
        ),
        (
            lambda: p.query(PAIR, where="a.x > 1 } WITHIN 5"),
            "unexpected '}'; expected an operator, AND, OR, ',' or the end of the query (line 1, column 9)\n"
            "  a.x > 1 } WITHIN 5\n          ^",
        ),
        (
            lambda: p.query(PAIR, where='a.x = "q"'),
            "double quotes are for names, and 'q' names no variable (line 1, column 7)\n"
            "  a.x = \"q\"\n        ^^^\nFor a string use single quotes: 'q'.",
        ),
        (
            lambda: p.query(PAIR, where=5),
            "where is a condition or a list of them, found 5\n"
            'Write where="a.x > 1", or where=[a.x > 1, p.same("user")].',
        ),
        (
            lambda: p.query(PAIR, returns="a.x AS"),
            "unexpected end of the query; expected a name (line 1, column 7)\n  a.x AS\n        ^",
        ),
    ],
    ids=["unfinished", "more than conditions", "double quotes", "no condition", "items"],
)
def test_slips_in_texts(slip: Any, text: str) -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        slip()
    assert str(caught.value) == text


def test_texts_are_bounded() -> None:
    for where in ("(" * 500, "1" + "+1" * 20_000 + " > a.x", "a.x > 1 AND " * 20_000 + "a.x > 1"):
        with pytest.raises(QueryTooLargeError):
            p.query(PAIR, where=where)
