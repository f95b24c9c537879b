"""RLIKE: what Arrow, Java and Python share of regular expressions, with one answer from all."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import fyke
from fyke import pattern as p
from fyke import reference
from fyke.errors import QuerySyntaxError, TypeClashError
from tests.spark.tables import assert_same, frame_of

OPTIONS: dict[str, Any] = {"time": "t"}
TEXTS = [
    "",
    "a",
    "ab",
    "aab\n",
    "a\r",
    "Straße 12",
    "x\ty",
    "0_9",
    "\u017fK",
    "ä€𝄞z",
    "a.b",
    "a-b]",
    "\x0b",
    " é",
    None,
]
EVENTS = pa.table({"t": range(len(TEXTS)), "s": TEXTS})
PATTERNS = {
    "a+b?$": ["a", "ab"],
    "^a": ["a", "ab", "aab\n", "a\r", "a.b", "a-b]"],
    "^.$": ["a", "\x0b"],
    "b.$": ["a-b]"],
    r"\d\d": ["Straße 12"],
    r"^\w+$": ["a", "ab", "0_9"],
    r"\s": ["aab\n", "a\r", "Straße 12", "x\ty", " é"],
    r"\W": ["aab\n", "a\r", "Straße 12", "x\ty", "\u017fK", "ä€𝄞z", "a.b", "a-b]", "\x0b", " é"],
    "k": [],
    "[ß-é]": ["Straße 12", "ä€𝄞z", " é"],
    "^...z$": ["ä€𝄞z"],
    r"a\.b|\]": ["a.b", "a-b]"],
    r"[.\-]b": ["a.b", "a-b]"],
    "^(?:a|ab){1,2}?.?$": ["a", "ab", "a\r"],
    "(^$)": [""],
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_on_a_table_and_in_the_reference(pattern: str) -> None:
    query = f"PATTERN ANY a WHERE {{ a.s RLIKE '{pattern}' }} RETURN a.s AS s"
    found = fyke.match(EVENTS, query, **OPTIONS)
    assert sorted(found["s"].to_pylist()) == sorted(PATTERNS[pattern])
    assert_same(found, reference.match(EVENTS, query, **OPTIONS))


def random_pattern(chance: random.Random, depth: int = 3) -> str:
    kind = chance.randrange(9 if depth else 4)
    if kind < 3:
        return chance.choice(("a", "b", "ß", "é", " ", "_", "1", "z", "𝄞", r"\.", r"\-", r"\]", r"\n"))
    if kind == 3:
        return chance.choice(
            (".", r"\d", r"\w", r"\s", r"\D", r"\W", r"\S", "[a-c]", "[^a]", r"[\d_]", "[ä-ü€]", "[]a]")
        )
    inner = random_pattern(chance, depth - 1)
    if kind == 4:
        return f"({inner}){chance.choice(('*', '+', '?', '{2}', '{1,}', '{0,3}', '*?', '+?'))}"
    if kind == 5:
        return f"(?:{inner}|{random_pattern(chance, depth - 1)})"
    if kind == 6:
        return chance.choice((f"^{inner}", f"{inner}$"))
    return inner + random_pattern(chance, depth - 1)


@pytest.mark.spark
def test_random_patterns_have_one_answer(spark: SparkSession) -> None:
    chance = random.Random(3)
    items = ", ".join(f"a.s RLIKE '{random_pattern(chance)}' AS x{n}" for n in range(60))
    conditions = " OR ".join(f"a.s RLIKE '{random_pattern(chance)}'" for n in range(20))
    query = f"PATTERN ANY a WHERE {{ {conditions} OR a.s IS NULL }} RETURN a.t AS t, {items}"
    found = fyke.match(EVENTS, query, **OPTIONS)
    assert found.num_rows > 5
    assert_same(found, reference.match(EVENTS, query, **OPTIONS))
    assert_same(fyke.match(frame_of(spark, EVENTS), query, **OPTIONS).toArrow(), found)


def test_one_meaning_has_one_text() -> None:
    a = p.variable("a")
    built = p.query(p.event("A", "a"), where=[~a.s.rlike("^x")])
    assert fyke.parse("PATTERN A a WHERE { a.s NOT RLIKE '^x' }") == built == fyke.parse(str(built))


@pytest.mark.parametrize(
    "pattern, message",
    [
        ("(a", r"'\(' is never closed \(character 3\)"),
        ("a)", r"'\)' closes nothing"),
        ("[a", r"'\[' is never closed"),
        ("*a", r"'\*' has nothing before it"),
        ("a**", "two repetitions"),
        ("a{3,2}", r"no number is in \{3,2\}"),
        ("a{", "begins a number of repetitions"),
        ("(?i)a", r"case is ignored with lower\(a.x\)"),
        ("(?=a)", "not known to all"),
        (r"\bword", r"\\b is not known to all"),
        (r"(a)\1", r"\\1 is not known to all"),
        (r"\p{L}", r"\\p is not known to all"),
        ("[a&&b]", "inside"),
        ("[z-a]", "no range from 'z' to 'a'"),
        ("^*", r"nothing is there that \* could repeat"),
        ("(a{100}){100}", "more than 1000 characters"),
        ("a\\", "not known to all"),
    ],
)
def test_refused_by_name(pattern: str, message: str) -> None:
    with pytest.raises(QuerySyntaxError, match=message) as caught:
        fyke.match(EVENTS, f"PATTERN ANY a WHERE {{ a.s RLIKE '{pattern}' }}", **OPTIONS)
    assert caught.value.place is not None
    assert "repetitions" in caught.value.remedy


def test_the_pattern_is_written_out() -> None:
    with pytest.raises(TypeClashError, match=r"RLIKE takes a regular expression in quotes, found a\.s"):
        fyke.match(EVENTS, "PATTERN ANY a WHERE { a.s RLIKE a.s }", **OPTIONS)
