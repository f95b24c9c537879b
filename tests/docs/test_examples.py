"""The examples run on small data and find something."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.docs.blocks import ROOT

EXAMPLES = [
    pytest.param("cash_registers.py", ["--days", "2"], r"2 slumps, 2 planted"),
    pytest.param("logins_under_attack.py", ["--accounts", "200"], r"4 break-ins"),
    pytest.param("market_trend.py", ["--rows", "20000"], r"[1-9]\d* trends"),
    pytest.param(
        "shoplifting_on_spark.py",
        ["--rows", "8000"],
        r"10 thefts, 10 planted",
        marks=[pytest.mark.spark, pytest.mark.long],
    ),
]


@pytest.mark.parametrize("script, arguments, expected", EXAMPLES)
def test_example(script: str, arguments: list[str], expected: str) -> None:
    command = [sys.executable, str(ROOT / "examples" / script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert re.search(expected, done.stdout), done.stdout


LIVE = [
    pytest.param("shoplifting.py", r"stolen: .*\n(.*\n)*\d+ micro-batches"),
    pytest.param("card_fraud.py", r"card 7: \d tries, then"),
    pytest.param("logins.py", r"account 7: \d+ failures, then in at"),
]


@pytest.mark.long  # each starts Spark and waits for micro-batches
@pytest.mark.spark
@pytest.mark.parametrize("script, expected", LIVE)
def test_live_example(script: str, expected: str) -> None:
    command = [sys.executable, str(ROOT / "examples" / "live" / script), "--batches", "4", "--pause", "0.1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert re.search(expected, done.stdout), done.stdout


def test_every_live_example_is_run() -> None:
    there = {path.name for path in (ROOT / "examples" / "live").glob("*.py")} - {"feed.py"}
    assert {param.values[0] for param in LIVE} == there


def test_every_example_is_run() -> None:
    assert {param.values[0] for param in EXAMPLES} == {path.name for path in (ROOT / "examples").glob("*.py")}
