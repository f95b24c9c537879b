"""What the text means, as trees; and that no text does anything but parse or raise a FykeError."""

# ruff: noqa: RUF001 - the typographic operators are the subject of the test

from __future__ import annotations

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fyke.errors import FykeError, OptionError, QueryError, QueryTooLargeError
from fyke.language.ast import (
    And,
    Between,
    Binary,
    Call,
    Duration,
    Equivalence,
    Event,
    Expression,
    In,
    Index,
    IsNull,
    Length,
    Like,
    Literal,
    Not,
    Or,
    Pattern,
    Reference,
    ReturnItem,
    Seq,
    Star,
    Strategy,
    Timestamp,
    Unary,
    Window,
    WindowKind,
)
from fyke.language.query import Query
from fyke.language.sase import parse
from fyke.limits import Limits

A, B, C = Event("A", "a"), Event("B", "b"), Event("C", "c")
SECOND = 10**9

PATTERNS: dict[str, Pattern] = {
    "A a": A,
    "a A": Event("a", "A"),
    "ANY a": Event(None, "a"),
    "any a": Event(None, "a"),
    '"ANY" a': Event("ANY", "a"),
    "`ANY`+ a[]": Event("ANY", "a", 1, None, True),
    "A? a": Event("A", "a", 0, 1),
    "A+ a[]": Event("A", "a", 1, None, True),
    "A + a [ ]": Event("A", "a", 1, None, True),
    "A* a[]": Event("A", "a", 0, None, True),
    "A{2,5} a[]": Event("A", "a", 2, 5, True),
    "A{2,} a[]": Event("A", "a", 2, None, True),
    "A{2} a[]": Event("A", "a", 2, 2, True),
    "A{0,2} a[]": Event("A", "a", 0, 2, True),
    "SEQ(A a, B b)": Seq((A, B)),
    "seq (A a, B b)": Seq((A, B)),
    "(A a, B b)": Seq((A, B)),
    "(A a)": A,
    "SEQ(A a)": A,
    "AND(A a, B b)": And((A, B)),
    "{A a, B b}": And((A, B)),
    "{A a}": A,
    "OR(A a, B b)": Or((A, B)),
    "OR(A a)": A,
    "~A a": Not(A),
    "∼A a": Not(A),
    "¬A a": Not(A),
    "NOT A a": Not(A),
    "NOT(A a)": Not(A),
    "not ( A a )": Not(A),
    "~SEQ(A a, B b)": Not(Seq((A, B))),
    "NOT(A a, B b)": Not(Seq((A, B))),
    "SEQ(A a, SEQ(B b, C c))": Seq((A, Seq((B, C)))),
    "SEQ({A a, B b}, C c)": Seq((And((A, B)), C)),
    "AND(SEQ(A a, B b), OR(C c, A d))": And((Seq((A, B)), Or((C, Event("A", "d"))))),
    "SEQ(Alert a, Like b, Pattern c, In d)": Seq(
        (Event("Alert", "a"), Event("Like", "b"), Event("Pattern", "c"), Event("In", "d"))
    ),
    "SEQ(A count, B from, C end, D i, E len)": Seq(
        (Event("A", "count"), Event("B", "from"), Event("C", "end"), Event("D", "i"), Event("E", "len"))
    ),
    "SEQ(Sequence android, Order orb, Anything notes)": Seq(
        (Event("Sequence", "android"), Event("Order", "orb"), Event("Anything", "notes"))
    ),
    '"A_Submitted COMPLETE" `and`': Event("A_Submitted COMPLETE", "and"),
    '"a""b" `c``d`': Event('a"b', "c`d"),
    "Überweisung ü": Event("Überweisung", "ü"),
    "A date": Event("A", "date"),
    "A /* one (of */ a -- ' the \" as )": A,
}


@pytest.mark.parametrize("text, expected", PATTERNS.items())
def test_pattern(text: str, expected: Pattern) -> None:
    assert parse("PATTERN " + text) == Query(expected)


def ref(variable: str, *path: str, index: Index = Index.NONE) -> Reference:
    return Reference(variable, path, index)


X, Y = ref("a", "x"), ref("b", "y")
ONE, TWO = Literal(1), Literal(2)

EXPRESSIONS: dict[str, Expression] = {
    "a.x": X,
    "a": ref("a"),
    "a.loc.lat": ref("a", "loc", "lat"),
    'a."odd name".`b`': ref("a", "odd name", "b"),
    '"odd var".x': ref("odd var", "x"),
    "a.type": ref("a", "type"),
    "a.and": ref("a", "and"),
    "a.where": ref("a", "where"),
    "date.from": ref("date", "from"),
    "a[i].x": ref("a", "x", index=Index.EACH),
    "a[i-1].x": ref("a", "x", index=Index.PREVIOUS),
    "a [ i - 1 ] . x": ref("a", "x", index=Index.PREVIOUS),
    "prev(a.x)": ref("a", "x", index=Index.PREVIOUS),
    "PREV(a[i].loc.x)": ref("a", "loc", "x", index=Index.PREVIOUS),
    "prev(a).x": ref("a", "x", index=Index.PREVIOUS),
    "a[1].x": ref("a", "x", index=Index.FIRST),
    "first(a).x": ref("a", "x", index=Index.FIRST),
    "a[a.len].x": ref("a", "x", index=Index.LAST),
    '"o v"["o v".len].x': ref("o v", "x", index=Index.LAST),
    "last(a).x.y": ref("a", "x", "y", index=Index.LAST),
    "a[].x": ref("a", "x", index=Index.ALL),
    "a[..i-1].x": ref("a", "x", index=Index.BEFORE),
    "i[i].i": ref("i", "i", index=Index.EACH),
    "a.len": Length("a"),
    "a.LEN": Length("a"),
    'a."len"': ref("a", "len"),
    "a.len.x": ref("a", "len", "x"),
    "avg(a[..i-1].x)": Call("avg", (ref("a", "x", index=Index.BEFORE),)),
    "first(a[..i-1].x)": Call("first", (ref("a", "x", index=Index.BEFORE),)),
    "LAST(a[].x)": Call("last", (ref("a", "x", index=Index.ALL),)),
    "first(a.x)": Reference("a", ("x",), Index.FIRST),
    "last(a.x)": Reference("a", ("x",), Index.LAST),
    "count(*)": Call("count", (Star(),)),
    "rand()": Call("rand", ()),
    "Corr (a.h, b.h)": Call("corr", (ref("a", "h"), ref("b", "h"))),
    "date(a.x)": Call("date", (X,)),
    "year(a.x) + 1": Binary("+", Call("year", (X,)), ONE),
    "1": ONE,
    "007": Literal(7),
    "1.0": Literal(1.0),
    ".5": Literal(0.5),
    "1e3": Literal(1000.0),
    "2.5E-3": Literal(0.0025),
    "-1": Literal(-1),
    "- 1.5": Literal(-1.5),
    "-0.0": Literal(-0.0),
    "-a.x": Unary("-", X),
    "'it''s'": Literal("it's"),
    "''": Literal(""),
    "'-- no /* comment'": Literal("-- no /* comment"),
    "TRUE": Literal(True),
    "false": Literal(False),
    "Null": Literal(None),
    "80%*a.x": Binary("*", Literal(0.8), X),
    "80 % a.x": Binary("%", Literal(80), X),
    "TIMESTAMP '2026-01-31 12:00:00'": Timestamp("2026-01-31 12:00:00"),
    "date '2026-01-31'": Timestamp("2026-01-31"),
    "5 minutes": Duration(300 * SECOND),
    "5min": Duration(300 * SECOND),
    "1.5 hours": Duration(5400 * SECOND),
    "-3 µs": Duration(-3000),
    "3 μs": Duration(3000),
    "a.x + 1 * 2 - 1": Binary("-", Binary("+", X, Binary("*", ONE, TWO)), ONE),
    "a.x - 1 - 2": Binary("-", Binary("-", X, ONE), TWO),
    "a.x - (1 - 2)": Binary("-", X, Binary("-", ONE, TWO)),
    "-a.x * 2": Binary("*", Unary("-", X), TWO),
    "-(a.x * 2)": Unary("-", Binary("*", X, TWO)),
    "a.x % 2 == 1": Binary("=", Binary("%", X, TWO), ONE),
    "a.x ≠ 1": Binary("!=", X, ONE),
    "a.x <> 1": Binary("!=", X, ONE),
    "a.x ≤ 1": Binary("<=", X, ONE),
    "a.x ≥ 1": Binary(">=", X, ONE),
    "NOT a.x = 1": Unary("NOT", Binary("=", X, ONE)),
    "¬ a.x = 1": Unary("NOT", Binary("=", X, ONE)),
    "NOT NOT a.x": Unary("NOT", Unary("NOT", X)),
    "a.x OR b.y AND 1": Binary("OR", X, Binary("AND", Y, ONE)),
    "(a.x OR b.y) AND 1 OR 2": Binary("OR", Binary("AND", Binary("OR", X, Y), ONE), TWO),
    "a.x ∧ b.y ∨ 1": Binary("OR", Binary("AND", X, Y), ONE),
    "a.x && b.y || 1": Binary("OR", Binary("AND", X, Y), ONE),
    "NOT a.x OR b.y": Binary("OR", Unary("NOT", X), Y),
    "a.x IN (1)": In(X, (ONE,)),
    "a.x + 1 NOT IN (1, b.y)": In(Binary("+", X, ONE), (ONE, Y), negated=True),
    "a.x BETWEEN 1 AND 2 OR b.y": Binary("OR", Between(X, ONE, TWO), Y),
    "a.x NOT BETWEEN -1 AND 2": Between(X, Literal(-1), TWO, negated=True),
    "a.x LIKE 'b%'": Like(X, Literal("b%")),
    "a.x not like b.y": Like(X, Y, negated=True),
    "a.x IS NULL": IsNull(X),
    "a.x IS NOT NULL": IsNull(X, negated=True),
    "NOT a.x IS NULL": Unary("NOT", IsNull(X)),
    "a.x -- why\n = 1": Binary("=", X, ONE),
}


@pytest.mark.parametrize("text, expected", EXPRESSIONS.items())
def test_expression(text: str, expected: Expression) -> None:
    """An item of RETURN is an expression on its own."""
    (item,) = parse(f"PATTERN A a RETURN {text}").returns or ()
    assert item == ReturnItem(expected)


XY = (Binary("=", X, ONE), Binary("=", Y, TWO))
TAG = Equivalence(("tag",))
CONJUNCTS: dict[str, tuple[Expression, ...]] = {
    "WHERE a.x = 1 AND b.y = 2": XY,
    "WHERE (a.x = 1 AND b.y = 2)": XY,
    "WHERE (((a.x = 1) AND ((b.y = 2))))": XY,
    "WHERE { a.x = 1 AND b.y = 2 }": XY,
    "WHERE { a.x = 1, b.y = 2 }": XY,
    "WHERE { [tag], (a.x = 1 AND [tag]) AND b.y = 2 }": (TAG, XY[0], TAG, XY[1]),
    "WHERE [tag]": (TAG,),
    'WHERE [tag, "odd name", from]': (Equivalence(("tag", "odd name", "from")),),
    "WHERE skip_till_next_match(a, b) a.x = 1 AND b.y = 2": XY,
    "WHERE skip_till_next_match(a, b) [tag]": (TAG,),
    "WHERE skip_till_next_match(a, b)": (),
    "WHERE skip_till_next_match { }": (),
    "WHERE {}": (),
    "": (),
}


@pytest.mark.parametrize("text, expected", CONJUNCTS.items())
def test_conjuncts(text: str, expected: tuple[Expression, ...]) -> None:
    assert parse("PATTERN SEQ(A a, B b) " + text) == Query(Seq((A, B)), expected)


@pytest.mark.parametrize("strategy", Strategy)
@pytest.mark.parametrize("form", ["{}", "{}(a)", "{} {{ }}", "{}(a, b[]) {{ [x] }}", "{}(a, b[ ]) [x]"])
def test_strategy(strategy: Strategy, form: str) -> None:
    for name in (strategy.value, strategy.value.upper()):
        assert parse("PATTERN SEQ(A a, B+ b[]) WHERE " + form.format(name)).strategy is strategy


WINDOWS = {
    "12 hours": (WindowKind.DURATION, 12 * 3600 * SECOND),
    "1.5 hours": (WindowKind.DURATION, 5400 * SECOND),
    "+3 WEEKS": (WindowKind.DURATION, 21 * 86400 * SECOND),
    "1e3 ms": (WindowKind.DURATION, SECOND),
    "1 ns": (WindowKind.DURATION, 1),
    "15": (WindowKind.UNITS, 15),
    "100 EVENTS": (WindowKind.EVENTS, 100),
    "1 event": (WindowKind.EVENTS, 1),
}
UNITS = {
    1: "ns nanosecond nanoseconds",
    10**3: "us µs microsecond microseconds",
    10**6: "ms millisecond milliseconds",
    SECOND: "s sec second seconds",
    60 * SECOND: "min minute minutes",
    3600 * SECOND: "h hr hrs hour hours",
    86400 * SECOND: "d day days",
    604800 * SECOND: "w week weeks",
}
WINDOWS |= {
    f"2 {unit}": (WindowKind.DURATION, 2 * size) for size, units in UNITS.items() for unit in units.split()
}


@pytest.mark.parametrize("text, expected", WINDOWS.items())
def test_window(text: str, expected: tuple[WindowKind, int]) -> None:
    assert parse(f"PATTERN A a WITHIN {text}").window == Window(*expected)
    assert parse(f"PATTERN A a WHERE a.x = 1 WITHIN {text} RETURN a").window == Window(*expected)


def test_return() -> None:
    query = parse('PATTERN A a RETURN a, a.x AS from, count(*) AS "n!", 5 AS as')
    assert query.returns == (
        ReturnItem(ref("a")),
        ReturnItem(X, "from"),
        ReturnItem(Call("count", (Star(),)), "n!"),
        ReturnItem(Literal(5), "as"),
    )
    assert parse("PATTERN A a RETURN *").returns is None


def test_label_and_text() -> None:
    text = "Theft: PATTERN A a"
    assert parse(text).label == "Theft"
    assert parse(text).text == text
    assert parse('"odd label" : PATTERN A a').label == "odd label"
    assert parse("PATTERN A a").label is None


# --- hostile text -------------------------------------------------------------------------------


def outcome(text: str, limits: Limits | None = None) -> Query | FykeError:
    """Return the query or the error, in bounded time; anything else raised fails the test."""
    started = time.process_time()
    result: Query | FykeError
    try:
        result = parse(text, limits or Limits())
    except FykeError as error:
        result = error
    else:
        assert parse(str(result), limits or Limits()) == result
    assert time.process_time() - started < 30
    return result


WORDS = r"""
    PATTERN SEQ AND OR NOT WHERE WITHIN RETURN A a b x [ ] ( ) { } , . .. + - * / % = < ~ ? : ' " ` 1 2.5 i
    len skip_till_any_match IN BETWEEN LIKE IS NULL TRUE AS hours EVENTS prev first count -- /* */ é
""".split()  # noqa: SIM905


@settings(max_examples=300)
@given(st.text(max_size=60) | st.lists(st.sampled_from([*WORDS, "\n"]), max_size=25).map(" ".join))
@example("\ud800 PATTERN A a")
@example("PATTERN A a WHERE a.x = '\x00'")
@example("PATTERN ſeq(A a)")
def test_any_text_parses_or_raises_a_query_error(text: str) -> None:
    for whole in (text, "PATTERN " + text, "PATTERN A a WHERE { " + text):
        assert isinstance(outcome(whole), (Query, QueryError))


DEEP = {
    "(": "(" * 9000,
    "[": "[" * 9000,
    "patterns": "PATTERN " + "(" * 9000 + "A a" + ")" * 9000,
    "sets": "PATTERN " + "{" * 9000 + "A a" + "}" * 9000,
    "~": "PATTERN " + "~" * 9000 + "A a",
    "NOT": "PATTERN A a WHERE " + "NOT " * 9000 + "a.x",
    "-": "PATTERN A a WHERE " + "- " * 9000 + "a.x",
    "parentheses": "PATTERN A a WHERE " + "(" * 9000 + "a.x" + ")" * 9000,
    "calls": "PATTERN A a WHERE " + "f(" * 9000 + "a.x" + ")" * 9000,
    "sums": "PATTERN A a WHERE " + "a.x + " * 9000 + "1 > 0",
    "mixed": "PATTERN A a WHERE " + "NOT (a.x OR -(" * 200 + "1" + "))" * 200,
    "long": "PATTERN A a WHERE " + "a.x = 1 AND " * 9000 + "a.y = 2",
    "blank": " " * 100_001,
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP.keys())
@pytest.mark.parametrize("limits", [Limits(), Limits(query_depth=10**9)], ids=["default", "unlimited"])
def test_too_deep_or_too_long(text: str, limits: Limits) -> None:
    assert isinstance(outcome(text, limits), QueryTooLargeError)


@pytest.mark.parametrize(
    "start, end", [("NOT ", ""), ("-(", ")"), ("f(", ")"), ("1 + (", ")"), ("(1 = ", ")")]
)
def test_the_deepest_tree_there_can_be(start: str, end: str) -> None:
    limits = Limits(query_depth=10**9)
    assert isinstance(outcome("PATTERN A a WHERE " + start * 199 + "a.x" + end * 199, limits), Query)


WIDE = {
    "AND": ("PATTERN A a WHERE " + " AND ".join(["a.x = 1"] * 5000), 5000),
    "comma": ("PATTERN A a WHERE {" + ", ".join(["a.x = 1"] * 5000) + "}", 5000),
    "OR": ("PATTERN A a WHERE " + " OR ".join(["a.x = 1"] * 5000), 1),
    "IN": ("PATTERN A a WHERE a.x IN (" + ", ".join(["1"] * 20_000) + ")", 1),
    "path": ("PATTERN A a WHERE a" + ".x" * 20_000 + " = 1", 1),
    "SEQ": ("PATTERN SEQ(" + ", ".join(f"A a{n}" for n in range(5000)) + ") WHERE a1.x = 1", 1),
    "string": ("PATTERN A a WHERE a.x = '" + "''" * 40_000 + "'", 1),
    "name": ('PATTERN A a WHERE a."' + '""' * 40_000 + '" = 1', 1),
    "comment": ("PATTERN A a /*" + "*" * 90_000 + "*/ WHERE a.x = 1", 1),
    "nested just enough": ("PATTERN A a WHERE " + "(" * 100 + "a.x" + ")" * 100, 1),
}


@pytest.mark.parametrize("text, conditions", WIDE.values(), ids=WIDE.keys())
def test_wide_is_fine(text: str, conditions: int) -> None:
    query = outcome(text)
    assert isinstance(query, Query)
    assert len(query.conditions) == conditions


@pytest.mark.parametrize(
    "tail", ["'", '"', "`", "/*", "1e", "9" * 50_000, "a[", "1" * 5000 + "." + "1" * 5000]
)
def test_long_unfinished(tail: str) -> None:
    assert isinstance(outcome("PATTERN A a WHERE a.x = " + tail + "x" * 40_000), QueryError)


def test_numbers_out_of_range() -> None:
    for number in ("9" * 39, "1e999", "1e999999999 hours", "1e-999999999 hours", "0." + "1" * 200 + " hours"):
        assert isinstance(outcome(f"PATTERN A a WHERE a.x = {number}"), QueryError)
        assert isinstance(outcome(f"PATTERN A a WITHIN {number}"), QueryError)
    assert isinstance(outcome("PATTERN A a WITHIN 999999 weeks"), QueryError)
    assert isinstance(outcome("PATTERN A{99999999999} a[]"), QueryError)


@pytest.mark.parametrize("written", ["cast(a.x AS int)", "Cast (a.x as Integer)", "try_cast(a.x AS INT)"])
def test_a_cast_is_written_in_any_case(written: str) -> None:
    assert parse(f"PATTERN A a WHERE {written} > 1") == parse("PATTERN A a WHERE CAST(a.x AS INT) > 1")


@pytest.mark.parametrize(
    "written, message, remedy",
    [
        ("cast(a.x AS intt)", "'intt' is not a type of CAST", "Did you mean 'INT' or 'BIGINT'?"),
        ("cast(a.x AS int(3))", "INT has no number of digits", "Write CAST(a.x AS INT)."),
    ],
)
def test_a_cast_that_is_none(written: str, message: str, remedy: str) -> None:
    error = outcome(f"PATTERN A a WHERE {written} > 1")
    assert isinstance(error, QueryError)
    assert message in error.message
    assert error.remedy.endswith(remedy)


def test_limits_are_the_callers() -> None:
    assert isinstance(outcome("PATTERN A a", Limits(query_characters=10)), QueryTooLargeError)
    assert isinstance(outcome("PATTERN SEQ(A a, B b)", Limits(query_depth=1)), QueryTooLargeError)
    assert isinstance(outcome("PATTERN SEQ(A a, B b)", Limits(query_depth=2)), Query)
    with pytest.raises(OptionError, match="a query is text, found bytes"):
        parse(b"PATTERN A a")  # type: ignore[arg-type]
