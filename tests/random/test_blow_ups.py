"""Whatever explodes ends soon and small, in a result or a typed error, and the next query works."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from fyke.language.ast import Strategy
from tests.random.blow_ups import ENGINES, OUTPUTS, SHAPES, blow_ups

CASES = list(enumerate(blow_ups()))
FEW = {1, 12, 19, 31, 43, 48}  # of many kinds, and quick
SECONDS, MEGABYTES = 20, 1_000


def run_apart(number: int) -> dict[str, Any]:
    """Run a case in a process of its own."""
    command = [sys.executable, "-m", "tests.random.blow_ups", str(number)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2_000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_the_cases_are_of_every_kind() -> None:
    cases = [case for _, case in CASES]
    assert len(cases) == 60
    assert {case.strategy for case in cases} == set(Strategy)
    assert {case.engine for case in cases} == set(ENGINES)
    assert {case.output for case in cases} == set(OUTPUTS)
    assert {case.shape for case in cases} == SHAPES.keys()
    assert sum(case.window == "" for case in cases) >= 20


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(n, marks=() if n in FEW else pytest.mark.long, id=f"{n} {case.shape}")
        for n, case in CASES
    ],
)
def test_it_ends_soon_and_small(number: int) -> None:
    found = run_apart(number)
    assert found["kind"] in ("result", "LimitError", "CountTooLargeError", "UnsupportedQueryError"), found
    assert found["seconds"] < SECONDS, found
    assert found["megabytes"] < MEGABYTES, found
    if found["kind"] == "LimitError":
        message, remedy = found["told"].split("\n")
        assert " by " in message
        assert "Or raise the limit: limits=fyke.Limits(" in remedy
