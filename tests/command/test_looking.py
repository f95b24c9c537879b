"""``fyke draw``, ``why-not``, ``bench`` and ``warm-up``: what they draw, say and refuse."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from fyke.command import trying
from fyke.command.main import main
from fyke.command.measure import QUESTIONS, measure
from tests.command.test_matching import COLUMNS, EVENTS, QUERY, Out

SHORT = QUERY.replace("12 hours", "10 minutes")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "events.csv").write_text(EVENTS)
    (tmp_path / "theft.fyke").write_text(QUERY)
    (tmp_path / "short.fyke").write_text(SHORT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def texts(path: str) -> str:
    root = ElementTree.fromstring(Path(path).read_text())
    return " ".join(each.text or "" for each in root.iter() if each.tag.endswith("text"))


def test_a_query_is_drawn(capsys: Out) -> None:
    assert main(["draw", "-q", "theft.fyke", "-o", "query.svg"]) == 0
    assert capsys.readouterr().out == "The automaton of a query drawn to query.svg\n"
    assert "Shelf" in texts("query.svg")


def test_matches_are_drawn_on_a_timeline(capsys: Out) -> None:
    assert main(["draw", "-q", "theft.fyke", "events.csv", *COLUMNS, "-o", "matches.svg"]) == 0
    assert "1 match in 5 events" in texts("matches.svg")
    assert main(["draw", "-q", "theft.fyke", "events.csv", *COLUMNS, "-o", "m.html", "--by", "key"]) == 0
    page = Path("m.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert '"razor"' in page
    assert main(["draw", "-q", "theft.fyke", "events.csv", *COLUMNS, "--plan", "-o", "plan.svg"]) == 0
    assert "automaton" in texts("plan.svg")
    assert sorted(each.name for each in Path().iterdir() if each.name[0] == ".") == []


def test_why_not_says_what_to_change(capsys: Out) -> None:
    assert main(["why-not", "-q", "short.fyke", "events.csv", *COLUMNS, "-o", "near.svg"]) == 0
    out = capsys.readouterr().out
    assert "Cause: window (the window is too short)" in out
    assert "Change: WITHIN 30 minutes gives 1 match." in out
    assert "the nearest match takes 30 minutes" in texts("near.svg")
    key = ("--key", "tag=razor", "--from", "2026-01-05 08:00:00")
    assert main(["why-not", "-q", "short.fyke", "events.csv", *COLUMNS, *key, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["cause"] == "window"
    assert "WITHIN 30 minutes" in told["changed_query"]


def test_a_result_without_rows_points_to_why_not(capsys: Out) -> None:
    assert main(["match", "-q", "short.fyke", "events.csv", *COLUMNS]) == 0
    told = capsys.readouterr()
    assert told.out == "0 matches\n"
    assert told.err == "note: fyke why-not, with the same arguments, says why there is none\n"


CLAUSE = "MATCH_RECOGNIZE (ORDER BY ts PATTERN (a b+) DEFINE b AS price < PREV(price))"
REFUSED = {
    ("draw", "-q", "theft.fyke", "-o", "p.gif"): "the picture 'p.gif' ends in none of .svg, .png, .html",
    ("draw", "-q", "theft.fyke", "-o", "nix/p.svg"): "there is no folder 'nix'",
    ("draw", "-q", "theft.fyke", "--plan", "-o", "p.svg"): "a plan is of a query on events",
    ("draw", "-q", CLAUSE, "-o", "p.svg"): "fyke draw is for queries over events",
    ("why-not", "-q", CLAUSE, "events.csv"): "fyke why-not is for queries over events",
    ("why-not", "events.csv"): "no query is given. Give --query FILE, or its text.",
    ("why-not", "-q", "theft.fyke", "events.csv", *COLUMNS, "--key", "tga=1"): "key names a column 'tga'",
    ("why-not", "-q", "theft.fyke", "events.csv", *COLUMNS, "--from", "noon"): "between=('noon', None)",
}


@pytest.mark.parametrize("arguments, line", REFUSED.items())
def test_bad_input_is_one_line(arguments: tuple[str, ...], line: str, capsys: Out) -> None:
    assert main(arguments) == 1
    told = capsys.readouterr()
    assert (told.out, told.err.count("\n")) == ("", 1)
    assert told.err.startswith(f"error: {line}"), told.err


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda each: each.title)
def test_the_loops_find_what_fyke_finds(question: object) -> None:
    measured = measure(question, 5_000)  # type: ignore[arg-type]
    assert measured.same
    assert measured.matches > 5


def test_bench_prints_both(capsys: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["bench", "--rows", "1000"]) == 0
    assert "left without paying" in capsys.readouterr().out
    assert main(["bench", "--rows", "1000", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [each["same"] for each in told] == [True] * 3
    assert main(["bench", "nfab"]) == 1
    assert "this folder is in no checkout" in capsys.readouterr().err


def test_bench_in_a_checkout_runs_its_benchmarks(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "bench").mkdir()
    (folder / "bench" / "__main__.py").write_text("import sys; sys.exit(5 if sys.argv[1:] == ['x'] else 0)")
    (folder / "src" / "fyke").mkdir(parents=True)
    monkeypatch.chdir(folder / "src")
    assert main(["bench", "x"]) == 5
    assert main(["bench", "--all"]) == 0


def test_warm_up_compiles_everything(capsys: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    called = []
    monkeypatch.setattr(trying.fyke, "warm_up", lambda *, progress: called.append(progress))
    assert main(["warm-up"]) == 0
    assert called == [False]  # no bar where there is no terminal
    assert capsys.readouterr().out.startswith("All kernels are ready, after ")


def test_the_demo_is_run_with_its_options(monkeypatch: pytest.MonkeyPatch) -> None:
    called = []
    monkeypatch.setattr(trying.demonstration, "main", lambda given: called.append(given) or 1)
    assert main(["demo", "--rows", "2000"]) == 1
    assert called == [["--rows", "2000", "--seed", "0"]]
