"""Values of expressions: null, NaN, arithmetic, functions and aggregates (SEMANTICS 1 and 3)."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from fyke.errors import AggregateError, InputError, UnknownFunctionError, UnsupportedQueryError
from fyke.language.ast import (
    Between,
    Binary,
    Call,
    Duration,
    Equivalence,
    Expression,
    In,
    Index,
    IsNull,
    Length,
    Like,
    Literal,
    Reference,
    Star,
    Timestamp,
    Unary,
)
from fyke.reference.expression import Occurrence, evaluate

BIG, SMALL = 2**63 - 1, -(2**63)
NAN, INF = math.nan, math.inf


def value(expression: Expression, **attributes: Any) -> Any:
    """Evaluate over one event ``e`` with these attributes."""
    event = Occurrence(0, "E", 0, 0, None, attributes)
    return evaluate(expression, {"e": (event,)}, {"e": 0})


def binary(left: Any, operator: str, right: Any) -> Any:
    return value(Binary(operator, Reference("e", ("x",)), Reference("e", ("y",))), x=left, y=right)


def call(name: str, *arguments: Any) -> Any:
    names = [f"x{number}" for number in range(len(arguments))]
    references = tuple(Reference("e", (attribute,)) for attribute in names)
    return value(Call(name, references), **dict(zip(names, arguments, strict=True)))


def same(left: Any, right: Any) -> bool:
    """Equality that tells types apart, and knows NaN."""
    both_nan = isinstance(left, float) and isinstance(right, float) and math.isnan(left) and math.isnan(right)
    return both_nan or (type(left) is type(right) and left == right)


UTC = timezone.utc
NOON = datetime(2026, 1, 31, 12)


@pytest.mark.parametrize(
    "left, operator, right, expected",
    [
        (1, "<", 2, True),
        (1, "=", None, None),
        (None, "!=", None, None),
        (NAN, "=", NAN, True),
        (NAN, ">", INF, True),
        (INF, "<", NAN, True),
        (NAN, "<", 1, False),
        (-0.0, "=", 0.0, True),
        (-0.0, "<", 0, False),
        (2**53 + 1, "=", float(2**53), True),
        (Decimal("0.1"), "=", 0.1, True),
        (Decimal("1.50"), "=", Decimal("1.5"), True),
        ("a", "<", "b", True),
        ("\uffff", "<", "\U00010000", True),
        (False, "<", True, True),
        (NOON, "=", NOON.replace(tzinfo=UTC), True),
        (NOON, ">", date(2026, 1, 31), True),
        (timedelta(hours=1), "<", timedelta(hours=2), True),
        ([1, None], "<", [1, 2], True),
        ([1], "<", [1, 2], True),
    ],
)
def test_comparison(left: Any, operator: str, right: Any, expected: bool | None) -> None:
    assert binary(left, operator, right) is expected


@pytest.mark.parametrize(
    "left, operator, right, expected",
    [
        (True, "AND", None, None),
        (False, "AND", None, False),
        (None, "AND", False, False),
        (True, "AND", True, True),
        (True, "OR", None, True),
        (None, "OR", False, None),
        (False, "OR", False, False),
        (None, "OR", None, None),
    ],
)
def test_logic(left: Any, operator: str, right: Any, expected: bool | None) -> None:
    assert binary(left, operator, right) is expected


def test_not() -> None:
    assert [value(Unary("NOT", Literal(truth))) for truth in (True, False, None)] == [False, True, None]


@pytest.mark.parametrize(
    "left, operator, right, expected",
    [
        (1, "+", 2, 3),
        (BIG, "+", 1, None),
        (SMALL, "-", 1, None),
        (BIG, "*", 2, None),
        (7, "/", 2, 3.5),
        (6, "/", 2, 3.0),
        (2**53 + 1, "/", 1, float(2**53)),
        (1, "/", 0, None),
        (1.0, "/", 0.0, None),
        (1, "%", 0, None),
        (-7, "%", 3, -1),
        (7, "%", -3, 1),
        (SMALL, "%", -1, 0),
        (-7.5, "%", 2, -1.5),
        (INF, "%", 2.0, NAN),
        (1e308, "*", 10, INF),
        (None, "+", 1, None),
        (Decimal("0.1"), "+", Decimal("0.2"), Decimal("0.3")),
        (Decimal("0.5"), "*", 2, Decimal("1.0")),
        (Decimal("9e37"), "+", Decimal("9e37"), Decimal("1.8e38")),
        (Decimal("1"), "/", Decimal("3"), Decimal("0." + 38 * "3")),
        (timedelta(seconds=3), "*", 1.5, timedelta(seconds=4.5)),
        (2, "*", timedelta(seconds=3), timedelta(seconds=6)),
        (timedelta(microseconds=1), "/", 2, timedelta(microseconds=1)),
        (timedelta(microseconds=-1), "/", 2, timedelta(microseconds=-1)),
        (timedelta(seconds=3), "/", 0, None),
        (timedelta(seconds=3), "*", NAN, None),
        (Decimal("-7"), "%", Decimal("3"), Decimal("-1")),
        (Decimal("0.5"), "+", 0.25, 0.75),
        (NOON, "-", datetime(2026, 1, 31, 11), timedelta(hours=1)),
        (NOON, "+", timedelta(minutes=5), datetime(2026, 1, 31, 12, 5)),
        (timedelta(minutes=5), "+", NOON, datetime(2026, 1, 31, 12, 5)),
        (date(2026, 1, 31), "+", timedelta(hours=12), NOON),
        (datetime.max, "+", timedelta(1), None),
        (timedelta(1), "-", timedelta(hours=1), timedelta(hours=23)),
    ],
)
def test_arithmetic(left: Any, operator: str, right: Any, expected: Any) -> None:
    assert same(binary(left, operator, right), expected)


def test_time_is_elapsed_time_across_a_change_of_clocks() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    evening, morning = (datetime(2026, 3, day, 12, tzinfo=berlin) for day in (28, 29))
    assert binary(morning, "-", evening) == timedelta(hours=23)
    assert binary(evening, "+", timedelta(hours=23)) == morning.astimezone(UTC)


def test_timestamps_and_durations_are_literals() -> None:
    later = Binary(">", Reference("e", ("t",)), Timestamp("2026-01-31 12:00:00"))
    assert value(later, t=NOON) is False
    assert value(later, t=datetime(2026, 1, 31, 13, tzinfo=UTC)) is True
    assert value(later, t=date(2026, 2, 1)) is True
    offset = Binary("=", Reference("e", ("t",)), Timestamp("2026-01-31 13:00:00+01:00"))
    assert value(offset, t=NOON.replace(tzinfo=UTC)) is True
    assert value(Binary("+", Timestamp("2026-01-31 12:00:00"), Duration(60 * 10**9))) == datetime(
        2026, 1, 31, 12, 1, tzinfo=UTC
    )


def test_minus() -> None:
    assert [value(Unary("-", Literal(number))) for number in (3, None, SMALL)] == [-3, None, None]
    assert math.copysign(1, value(Unary("-", Literal(0.0)))) == -1


@pytest.mark.parametrize(
    "operand, options, expected",
    [(1, (1, None), True), (1, (2, None), None), (1, (2, 3), False), (None, (1,), None)],
)
def test_in(operand: Any, options: tuple[Any, ...], expected: bool | None) -> None:
    literals = tuple(Literal(option) for option in options)
    assert value(In(Literal(operand), literals)) is expected
    assert value(In(Literal(operand), literals, True)) is (None if expected is None else not expected)


@pytest.mark.parametrize(
    "operand, low, high, expected",
    [(1, 1, 2, True), (2, 1, 2, True), (3, 1, None, None), (0, 1, None, False), (None, 1, 2, None)],
)
def test_between(operand: Any, low: Any, high: Any, expected: bool | None) -> None:
    assert value(Between(Literal(operand), Literal(low), Literal(high))) is expected


@pytest.mark.parametrize(
    "text, pattern, expected",
    [
        ("abc", "a%", True),
        ("abc", "a_", False),
        ("abc", "___", True),
        ("a\nc", "a_c", True),
        ("100%", r"100\%", True),
        ("1000", r"100\%", False),
        ("a.c", "a.c", True),
        ("abc", "a.c", False),
        ("", "%", True),
        ("a\\b", r"a\\b", True),
        (None, "%", None),
        ("a", None, None),
    ],
)
def test_like(text: str | None, pattern: str | None, expected: bool | None) -> None:
    assert value(Like(Literal(text), Literal(pattern))) is expected


def test_is_null() -> None:
    assert value(IsNull(Literal(None))) is True
    assert value(IsNull(Literal(None), True)) is False
    assert value(IsNull(Reference("e", ("x", "y"))), x={"y": 1}) is False
    assert value(IsNull(Reference("e", ("x", "y"))), x=None) is True


@pytest.mark.parametrize(
    "name, arguments, expected",
    [
        ("abs", (-3,), 3),
        ("abs", (SMALL,), None),
        ("sign", (-3,), -1.0),
        ("sign", (0,), 0.0),
        ("sqrt", (4,), 2.0),
        ("sqrt", (-1,), NAN),
        ("exp", (0,), 1.0),
        ("exp", (1000,), INF),
        ("ln", (0,), None),
        ("ln", (1,), 0.0),
        ("log10", (1000,), 3.0),
        ("log2", (8,), 3.0),
        ("log2", (-8,), None),
        ("pow", (2, 3), 8.0),
        ("power", (0, -1), INF),
        ("pow", (-1, 0.5), NAN),
        ("pow", (1, NAN), NAN),
        ("pow", (-10.0, 309), -INF),
        ("floor", (-1.5,), -2),
        ("floor", (NAN,), 0),
        ("floor", (INF,), BIG),
        ("ceil", (1.2,), 2),
        ("ceil", (Decimal("1.2"),), 2),
        ("round", (2.5,), 3.0),
        ("round", (-2.5,), -3.0),
        ("round", (1.005, 2), 1.01),
        ("round", (15, -1), 20),
        ("round", (BIG, -1), None),
        ("round", (Decimal("2.45"), 1), Decimal("2.5")),
        ("round", (1e300, 2), 1e300),
        ("round", (NAN,), NAN),
        ("mod", (-7, 3), -1),
        ("least", (3, None, 1), 1),
        ("greatest", (3, None, 1), 3),
        ("greatest", (3.0, NAN), NAN),
        ("least", (None, None), None),
        ("coalesce", (None, 2, 3), 2),
        ("coalesce", (None, None), None),
        ("nullif", (1, 1), None),
        ("nullif", (1, None), 1),
        ("if", (None, 1, 2), 2),
        ("if", (True, 1, 2), 1),
        ("upper", ("aß",), "ASS"),
        ("lower", ("AB",), "ab"),
        ("trim", ("  a\t ",), "a\t"),
        ("length", ("a\U0001f600",), 2),
        ("substring", ("abcdef", 2), "bcdef"),
        ("substring", ("abcdef", 2, 3), "bcd"),
        ("substring", ("abcdef", 0, 2), "ab"),
        ("substring", ("abcdef", -2), "ef"),
        ("substring", ("abc", -5, 3), "a"),
        ("substring", ("abc", 2, -1), ""),
        ("concat", ("a", "b", "c"), "abc"),
        ("concat", ("a", None), None),
        ("startswith", ("abc", "ab"), True),
        ("endswith", ("abc", "ab"), False),
        ("contains", ("abc", "b"), True),
        ("year", (NOON,), 2026),
        ("month", (NOON,), 1),
        ("day", (date(2026, 1, 31),), 31),
        ("hour", (NOON,), 12),
        ("hour", (date(2026, 1, 31),), 0),
        ("minute", (NOON,), 0),
        ("second", (None,), None),
        ("corr", ([1, 2, 3], [2, 4, 6]), 1.0),
        ("corr", ([1, 1], [1, 2]), None),
        ("corr", ([1, None], [1, 2]), None),
        ("corr", ([], []), None),
        ("size", ([1, None],), 2),
        ("size", (None,), None),
    ],
)
def test_function(name: str, arguments: tuple[Any, ...], expected: Any) -> None:
    assert same(call(name, *arguments), expected)


def test_lists_of_different_lengths_are_not_correlated() -> None:
    with pytest.raises(InputError, match="corr compares lists of one length, found 2 and 3 numbers"):
        call("corr", [1, 2], [1, 2, 3])


def test_unknown_function() -> None:
    with pytest.raises(UnknownFunctionError, match="Did you mean 'floor'"):
        call("flor", 1)


def group(name: str, *elements: Any, index: Index = Index.ALL, cursor: int | None = None) -> Any:
    events = tuple(Occurrence(at, "G", at, at, None, {"x": element}) for at, element in enumerate(elements))
    cursors = {} if cursor is None else {"g": cursor}
    return evaluate(Call(name, (Reference("g", ("x",), index),)), {"g": events}, cursors)


@pytest.mark.parametrize(
    "name, elements, expected",
    [
        ("sum", (1, None, 2), 3),
        ("sum", (BIG, 1), None),
        ("sum", (1, 0.5), 1.5),
        ("sum", (None,), None),
        ("avg", (1, 2, None), 1.5),
        ("avg", (BIG, BIG), float(BIG)),
        ("min", (2.0, NAN, None), 2.0),
        ("max", (2.0, NAN, None), NAN),
        ("max", ("a", "b"), "b"),
        ("count", (1, None, 2), 2),
        ("count", (None,), 0),
        ("stddev", (1, 3), math.sqrt(2)),
        ("stddev", (1, None), None),
        ("first", (None, 1), None),
        ("last", (1, None), None),
    ],
)
def test_aggregate(name: str, elements: tuple[Any, ...], expected: Any) -> None:
    assert same(group(name, *elements), expected)


def test_elements_of_a_group() -> None:
    assert group("sum", 1, 2, 4, index=Index.BEFORE, cursor=2) == 3
    events = tuple(Occurrence(at, "G", at, at, None, {"x": at}) for at in range(3))
    indexes = (Index.EACH, Index.PREVIOUS, Index.FIRST, Index.LAST)
    values = [evaluate(Reference("g", ("x",), index), {"g": events}, {"g": 1}) for index in indexes]
    assert values == [1, 0, 0, 2]
    assert evaluate(Length("g"), {"g": events}, {}) == 3
    assert evaluate(Length("h"), {"g": events}, {}) is None


def test_what_has_no_value_in_one_match_is_refused() -> None:
    with pytest.raises(AggregateError, match="over matches"):
        call("max", 1)
    for expression in (Star(), Equivalence(("x",))):
        with pytest.raises(UnsupportedQueryError, match="no value of its own"):
            value(expression)
