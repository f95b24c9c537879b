"""The demo on few rows, in a process of its own: right answers, plain text, nothing but the demo's words."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from rich.console import Console

from fyke import demo

pytestmark = pytest.mark.spark


def run_demo(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fyke.demo", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


def test_the_demo_finds_what_is_planted(tmp_path: Path) -> None:
    page = tmp_path / "matches.html"
    done = run_demo("--rows", "20000", "--seed", "3", "--page", str(page))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(": right") == 4
    assert done.stdout.count("missing 0, false 0") == 4
    assert "Shoplifters, live" in done.stdout
    assert "PATTERN SEQ(Shelf a, ~Register b, Exit c)" in done.stdout
    assert "events per second" in done.stdout
    assert "\x1b" not in done.stdout
    assert done.stderr == ""
    assert done.stdout.rstrip().endswith(f"Open {page.as_uri()}")
    assert re.search(r"<h1>\d+ matches in 20,000 events</h1>", page.read_text(encoding="utf-8"))


def test_a_page_that_cannot_be_written_is_told_of(tmp_path: Path) -> None:
    console = Console(record=True, width=200)
    assert not demo.show_page(console, 0, tmp_path / "matches.pdf")
    assert "a timeline is saved as .html" in console.export_text()


def test_a_useless_number_of_rows_is_refused() -> None:
    done = run_demo("--rows", "10")
    assert done.returncode == 2
    assert "--rows must be at least 1000" in done.stderr


def test_a_wrong_answer_is_called_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    answer: Counter[tuple[object, ...]] = Counter({(1,): 2, (2,): 1})
    question = demo.Question("title", "story", pa.table({}), "query", ("key",), answer, "what is known")
    assert not demo.judge(Console(), question, Counter({(1,): 1, (3,): 1}))
    assert "expected 3, found 2, missing 2, false 1 (against what is known): WRONG" in capsys.readouterr().out
    assert demo.judge(Console(), question, answer)
