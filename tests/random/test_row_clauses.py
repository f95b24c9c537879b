"""Random clauses are legal, have matches and cover the language; patterns of letters match as ``re`` does."""

from __future__ import annotations

import random
import re
from collections import Counter
from itertools import permutations

import pytest

import fyke
from fyke import reference
from fyke.errors import SkipError
from tests.random.row_clauses import SEEN, features, row_case
from tests.row_patterns.notation import found


def run(seeds: range) -> None:
    matched = 0
    seen: Counter[str] = Counter()
    for seed in seeds:
        case = row_case(seed)
        seen.update(set(features(case)))
        assert fyke.parse(str(case.query)) == case.query, f"case {seed}"
        try:
            rows = reference.match(case.table, case.clause)
        except SkipError:
            matched += 1
            continue
        matched += any(count is not None for count in rows["m"].to_pylist())
    assert matched >= len(seeds) / 2, f"{matched} of {len(seeds)} have matches"
    missing = sorted(SEEN - seen.keys())
    assert missing == []


def test_a_few_clauses() -> None:
    run(range(250))


@pytest.mark.long
def test_many_clauses() -> None:
    run(range(5_000))


# --- patterns of letters are regular expressions ----------------------------------------------------


def letters_pattern(draw: random.Random, depth: int) -> tuple[str, str]:
    """Return a row pattern and the regular expression that means the same."""
    kind = draw.choice(
        ("letter", "letter", *(("sequence", "choice", "loop", "loop", "permute") if depth else ()))
    )
    if kind == "letter":
        letter = draw.choice("ABC")
        return letter, letter
    if kind == "loop":
        row, text = letters_pattern(draw, depth - 1)
        sign = draw.choice(("*", "+", "?", "{2}", "{1,}", "{,2}", "{1,2}")) + draw.choice(("", "?"))
        return f"({row}){sign}", f"(?:{text}){sign.replace('{,', '{0,')}"
    parts = [letters_pattern(draw, depth - 1) for _ in range(2)]
    rows, texts = zip(*parts, strict=True)
    if kind == "sequence":
        return " ".join(rows), "".join(texts)
    if kind == "choice":
        return f"({' | '.join(rows)} | ())", f"(?:{'|'.join(texts)}|)"
    orders = "|".join("".join(order) for order in permutations(texts))
    return f"PERMUTE({', '.join(rows)})", f"(?:{orders})"


def expected(text: str, pattern: str) -> list[str]:
    """Return the matches of a regular expression, as SKIP PAST LAST ROW finds them."""
    made, at = [], 0
    while at < len(text):
        match = re.compile(pattern).match(text, at)
        if match is not None:
            made.append(f"{at}:{match[0]}" if match[0] else "")
        at = match.end() if match is not None and match[0] else at + 1
    return made


@pytest.mark.parametrize("block", range(4))
def test_patterns_of_letters_match_as_regular_expressions_do(block: int) -> None:
    draw = random.Random(block)
    for _ in range(60):
        row, text = letters_pattern(draw, 3)
        letters = "".join(draw.choice("AABBC") for _ in range(draw.randint(1, 8)))
        assert found(letters, row) == expected(letters, text), f"{row} on {letters}"
