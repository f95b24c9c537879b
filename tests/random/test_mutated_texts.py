"""Query texts with slips in them: an error of Fyke's or rows, within a second, whatever they say."""

from __future__ import annotations

import datetime
import random
import re
import warnings
from decimal import Decimal
from time import process_time

import pyarrow as pa
import pytest

import fyke
from fyke.errors import FykeError

UTC = datetime.timezone.utc
ROWS = 8
EVENTS = pa.table(
    {
        "kind": ["A", "B", "A", "C", "B", "A", "B", "C"],
        "t": range(ROWS),
        "x": pa.array([1, 2, None, -(2**63), 2**63 - 1, 0, -1, 7], pa.int64()),
        "small": pa.array([1, -128, 127, None, 0, 3, 4, 5], pa.int8()),
        "u": pa.array([1, 2, 3, None, 5, 2**32 - 1, 7, 8], pa.uint32()),
        "f": [0.0, -0.0, float("nan"), float("inf"), None, 1e300, -2.5, 0.1],
        "d": pa.array([Decimal("0.10"), None, Decimal("9.99"), *[Decimal("-1.50")] * 5], pa.decimal128(5, 2)),
        "w": pa.array([Decimal("9" * 38), None, Decimal(1), *[Decimal(-7)] * 5], pa.decimal128(38, 0)),
        "s": ["", "straße", None, "100%_\\", "a\nb", "12", "ﬁ", "a"],
        "p": ["", "str", "x", None, "a", "1", "f", "a"],
        "ok": [True, False, None, True, False, True, False, None],
        "ts": pa.array([datetime.datetime(year, 1, 1, tzinfo=UTC) for year in range(1600, 2400, 100)]),
        "day": pa.array([datetime.date(2026, 1, 31)] * 7 + [None]),
        "gap": pa.array([0, None, 5, -1, 10**12, 7, 8, 9], pa.duration("us")),
        "list": pa.array([[1.0, 2.0], [0.5, None], None, [2.0, 2.0], *[[3.0, 1.0]] * 4]),
        "loc": pa.array([{"lat": 1.0, "name": "n"}] * 7 + [None]),
    }
)  # fmt: skip
TEXTS = """
PATTERN SEQ(A a, B+ b[], ~C c, A d) WHERE skip_till_any_match { [kind] AND a.x < d.x AND b[i].f > b[i-1].f } WITHIN 6
PATTERN SEQ(A a, B b) WHERE { a.s LIKE 'a%_' OR substring(a.s, 1, 2) = b.p } WITHIN 5 RETURN upper(a.s) AS x, b.x + 1
PATTERN AND(A a, B? b, C* c[]) WHERE strict_contiguity { coalesce(a.x, 1) > 0 AND c.len < 3 } RETURN count(*), sum(a.x)
PATTERN OR(A a, B a, SEQ(C c, ANY e)) WHERE partition_contiguity { a.x IN (1, 2, NULL) } WITHIN 100 EVENTS RETURN *
PATTERN A{2,3} a[] WHERE greedy_skip_till_next_match { sum(a[].x) > 1 AND a[1].x < a[a.len].x } WITHIN 7 RETURN a[].x, a[2].x
PATTERN SEQ(A a, B b) WHERE { a.ts + 5 minutes > b.ts AND b.gap * 2 < 1 hour } WITHIN 9 RETURN b.ts - a.ts AS gap
PATTERN A a WHERE { CASE WHEN a.x > 1 THEN a.f ELSE 0.5 END > 0 } RETURN CAST(a.x AS DECIMAL(10, 2)), round(a.d, 1)
PATTERN A a RETURN a.d * 1.1, a.d / 3, a.w + 1, -a.u, abs(a.small), floor(a.f), mod(a.x, 2), a.x % 3, nullif(a.x, 1)
PATTERN A a RETURN year(a.ts), hour(a.day), length(a.s), concat(a.s, a.p), startswith(a.s, a.p), trim(a.s), size(a.list)
PATTERN SEQ(A a, B b) WHERE { corr(a.list, b.list) > 0 OR greatest(a.d, b.d, 1) = 1 OR least(a.ts, b.ts) IS NULL } WITHIN 3
PATTERN SEQ(A a, B b) WHERE { a.d * b.d > 0.5 AND a.w != b.w AND a.small + b.d >= 0 AND if(a.ok, b.x, a.x) = 2 } WITHIN 8
PATTERN SEQ(A a, B+ b[]) RETURN median(b[].f), count(DISTINCT b[].x), max(b[].d), stddev(b[].x), first(b[].s), b[b.len-1].x
PATTERN A a WHERE { a.s RLIKE '^[a-z]+(ß|b)?$' AND a.list[1] > 0.5 AND a.loc.lat BETWEEN 0 AND 2 AND NOT a.ok }
PATTERN A a WHERE robust_skip_till_next_match { a.x = :limit AND a.s IN (:names) } RETURN sqrt(a.f), exp(a.x), ln(a.d), pow(a.x, 2)
Label: PATTERN {A a, B b} WHERE TRUE AND 1 = 1 WITHIN 2 RETURN a, b.x AS "odd name";
SELECT * PATTERN ab+c FROM [RANGE 5] A: a; B: b; C: c WHERE SKIP_TIL_ANY(a, b, c) { a.x < b.x AND b.f[i] > b.f[i-1] }
SELECT SUM(x), COUNT(*), MAX(f) FROM [RANGE 4 SLIDE 2] A WHERE [kind] AND x > 0
SELECT A.x, B.x AS y FROM [RANGE 3] A; B WHERE A.x < B.x AND A.s = B.p
""".strip().splitlines()  # noqa: E501
PIECES = [
    "NULL",
    "TRUE",
    "FALSE",
    "0",
    "-1",
    "2.5",
    "1e308",
    "1e999",
    "99999999999999999999",
    "0.1e-400",
    "''",
    "'a'",
    "'%'",
    "'\\'",
    "''''",
    "a.x",
    "b.x",
    "a.s",
    "a.f",
    "a.d",
    "a.w",
    "a.u",
    "a.ts",
    "a.day",
    "a.gap",
    "a.list",
    "a.loc",
    "a.loc.lat",
    "a.ok",
    "a[i].x",
    "a[i-1].x",
    "a[1].x",
    "a[2].x",
    "a[a.len].x",
    "a[a.len-1].x",
    "a[].x",
    "a[..i-1].x",
    "a.len",
    "AND",
    "OR",
    "NOT",
    "IN",
    "BETWEEN",
    "LIKE",
    "RLIKE",
    "IS",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ";",
    ":",
    ".",
    "..",
    "+",
    "-",
    "*",
    "/",
    "%",
    "=",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "~",
    "?",
    "+",
    "*",
    "CASE",
    "WHEN",
    "THEN",
    "ELSE",
    "END",
    "CAST",
    "AS",
    "DOUBLE",
    "DECIMAL(38,38)",
    "DECIMAL(1)",
    "BIGINT",
    "STRING",
    "DATE",
    "TIMESTAMP",
    "count(",
    "sum(",
    "min(",
    "avg(",
    "median(",
    "first(",
    "last(",
    "DISTINCT",
    "coalesce(",
    "nullif(",
    "greatest(",
    "least(",
    "if(",
    "substring(",
    "round(",
    "floor(",
    "abs(",
    "pow(",
    "mod(",
    "concat(",
    "upper(",
    "length(",
    "size(",
    "corr(",
    "year(",
    "element_at(",
    "rlike(",
    "prev(",
    "SEQ(",
    "AND(",
    "OR(",
    "WHERE",
    "WITHIN",
    "RETURN",
    "PATTERN",
    "SELECT",
    "FROM",
    "RANGE",
    "SLIDE",
    "EVENTS",
    "minutes",
    "hours",
    "ns",
    ":limit",
    ":names",
    "[kind]",
    "[x,f]",
    "TIMESTAMP'2026-01-01'",
    "DATE'0001-01-01'",
    "5minutes",
    "292years",
    "{2,3}",
    "{0}",
    "A",
    "B",
    "C",
    "ANY",
    "a",
    "b",
    "c",
    "😀",
    "\x00",
    "ß",
]
TOKEN = re.compile(r"\s+|\w+|'[^']*'|[^\w\s]")
ALIKE = [
    each.split()
    for each in (
        "x small u f d w s p ok ts day gap list loc lat",
        "0 1 2 3 5 7 0.5 1.1 2.5 9999999999999999999 0.12345678901234567890123 -1 NULL TRUE 1e308",
        "+ - * / % < > =",
        "upper trim length year hour floor round abs sqrt exp ln size median sum max count first stddev",
        "coalesce greatest least nullif mod pow concat startswith element_at",
        "AND OR",
        "'a%_' '' 'x' '^[a-z]+(ß|b)?$' '%' NULL",
        "skip_till_any_match strict_contiguity partition_contiguity greedy_skip_till_next_match",
        "A B C ANY",
    )
]
PARAMETERS = {"limit": 1, "names": ["a", "12"]}
LIMITS = fyke.Limits(runs=5_000, matches=5_000, steps=200_000)


def mutated(chance: random.Random) -> str:
    """Return a text with one to four slips: tokens left out, doubled, exchanged, replaced; characters."""
    tokens = TOKEN.findall(chance.choice(TEXTS))
    for _ in range(chance.choice((1, 1, 2, 3, 4))):
        at = chance.randrange(len(tokens)) if tokens else 0
        kind = chance.choice((0, 1, 2, 3, 4, 5, 6, *[7] * 8))
        if kind == 0 and tokens:
            del tokens[at]
        elif kind == 1 and tokens:
            tokens.insert(at, tokens[at])
        elif kind == 2 and tokens:
            other = chance.randrange(len(tokens))
            tokens[at], tokens[other] = tokens[other], tokens[at]
        elif kind == 3:
            tokens.insert(at, f" {chance.choice(PIECES)} ")
        elif kind == 4 and tokens:
            tokens[at] = f" {chance.choice(PIECES)} "
        elif kind == 7 and tokens:
            tokens = _exchanged(tokens, chance)
        elif kind == 5 and tokens:
            donor = TOKEN.findall(chance.choice(TEXTS))
            start = chance.randrange(len(donor))
            tokens[at : at + chance.randrange(5)] = donor[start : start + chance.randrange(1, 9)]
        elif tokens:
            text = tokens[at]
            place = chance.randrange(len(text) + 1)
            tokens[at] = text[:place] + chance.choice("()[]{}'\"`.,;:x1 -+*/%<>=~?\n\ud800é") + text[place:]
    return "".join(tokens)


def _exchanged(tokens: list[str], chance: random.Random) -> list[str]:
    """Exchange an attribute, a number, a text or an operator for another one, which may even be legal."""
    places = [(at, alike) for at, token in enumerate(tokens) for alike in ALIKE if token in alike]
    if not places:
        return tokens
    at, alike = chance.choice(places)
    return [*tokens[:at], chance.choice(alike), *tokens[at + 1 :]]


def run(count: int, seed: int) -> int:
    """Run mutated texts and return how many of them had rows or none, and no error."""
    chance = random.Random(seed)
    passed = 0
    for _ in range(count):
        text = mutated(chance)
        params = {name: value for name, value in PARAMETERS.items() if f":{name}" in text}
        started = process_time()  # of this process alone: others may be busy
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = fyke.match(EVENTS, text, time="t", type="kind", params=params, limits=LIMITS)
            assert isinstance(found, pa.Table)
            passed += 1
        except FykeError as error:
            told = str(error)
            if not told:
                pytest.fail(f"{type(error).__name__} says nothing\n{text!r}")
        except BaseException as error:
            pytest.fail(f"{type(error).__name__}: {error}\n{text!r}")
        took = process_time() - started
        assert took < 1, f"{took:.1f} s\n{text!r}"
    return passed


@pytest.fixture(autouse=True, scope="module")
def _compiled() -> None:
    fyke.warm_up()


def test_the_texts_themselves() -> None:
    for text in TEXTS:
        params = {name: value for name, value in PARAMETERS.items() if f":{name}" in text}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fyke.match(EVENTS, text, time="t", type="kind", params=params, limits=LIMITS)


@pytest.mark.parametrize("seed", range(4))
def test_mutated_texts(seed: int) -> None:
    assert run(250, seed) > 20


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100))
def test_a_hundred_thousand_mutated_texts(seed: int) -> None:
    assert run(1_000, 1_000 + seed) > 80
