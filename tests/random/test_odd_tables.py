"""Odd tables end in a FykeError or in the rows of the naive twin, each within a second."""

from __future__ import annotations

import warnings
from collections import Counter
from time import process_time

import pytest

import fyke
from tests.random.odd_tables import OddCase, odd_case
from tests.random.results import difference

LONGEST = 1.0  # seconds of work: a busy machine is no fault


def judge(case: OddCase) -> str:
    """Return what became of a case: an error of Fyke, no match, or matches."""
    fyke.warm_up()
    began = process_time()
    try:
        found = fyke.match(case.table, case.query, **case.options)
    except fyke.FykeError as error:
        return type(error).__name__
    finally:
        assert process_time() - began < LONGEST, f"took {process_time() - began:.2f} s\n{case}"
    if case.options.get("output") == "compressed":
        return "compressed"
    options = {name: value for name, value in case.options.items() if name != "engine"}
    expected = fyke.reference.match(case.table, case.query, **options)
    differing = difference(found, expected)
    assert differing is None, f"{differing}\n{case}"
    return "matches" if found.num_rows else "no match"


def check(seeds: range) -> Counter[str]:
    told: Counter[str] = Counter()
    raw = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in seeds:
            case = odd_case(seed)
            try:
                told[judge(case)] += 1
            except AssertionError:
                raise
            except Exception as error:
                raw.append(f"{type(error).__name__}: {str(error)[:200]}\n{case}")
    assert raw == [], "\n\n".join(raw[:5]) + f"\n{len(raw)} raw errors"
    return told


def test_odd_tables() -> None:
    told = check(range(200))
    assert told["matches"] >= 30
    assert len(told) >= 8


@pytest.mark.long
def test_odd_tables_for_long() -> None:
    check(range(200, 5_200))
