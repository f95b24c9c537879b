"""``--json`` holds for standard error, too: whatever goes wrong is an object on a line of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fyke.command import sink
from fyke.command.main import main
from tests.command.test_matching import COLUMNS, EVENTS, QUERY, Out


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "events.csv").write_text(EVENTS)
    (tmp_path / "theft.fyke").write_text(QUERY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(capsys: Out) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def test_a_wrong_query_says_where(capsys: Out) -> None:
    query = "PATTERN SEQ(Shelf a Exit b)"
    assert main(["match", "-q", query, "events.csv", *COLUMNS, "--json"]) == 1
    (error,) = told(capsys)
    assert (error["error"], error["line"], error["column"]) == ("QuerySyntaxError", 1, 21)


@pytest.mark.parametrize(
    "arguments, error, text",
    [
        (["match", "--tim", "ts", "--json"], "NoSuchOption", "No such option: --tim"),
        (["draw", "-q", "theft.fyke", "--json"], "MissingParameter", "--output"),
        (["match", "--rows", "many", "--json"], "BadParameter", "Invalid value for '--rows'"),
        (["matsch", "--json"], "UsageError", "No such command 'matsch'"),
    ],
)
def test_a_wrong_command_is_an_object(arguments: list[str], error: str, text: str, capsys: Out) -> None:
    assert main(arguments) == 2
    (found,) = told(capsys)
    assert found["error"] == error
    assert text in found["message"]
    assert found["remedy"].startswith("fyke")
    assert found["remedy"].endswith("--help shows what is right")


def test_what_is_not_expected_is_an_object(capsys: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise ZeroDivisionError("nobody thought\nof this")

    monkeypatch.setattr("fyke.match", fails)
    assert main(["match", "-q", "theft.fyke", "events.csv", *COLUMNS, "--json"]) == 3
    assert told(capsys) == [
        {
            "error": "ZeroDivisionError",
            "message": "nobody thought of this",
            "remedy": "this is not expected; --debug shows where it comes from",
        }
    ]


def test_warnings_are_objects(capsys: Out) -> None:
    query = "PATTERN SEQ(Shelf a, Exist c) WITHIN 1 day"
    assert main(["match", "-q", query, "events.csv", *COLUMNS, "--json"]) == 0
    (warning,) = told(capsys)
    assert warning["warning"].startswith("No event is of type 'Exist'")


@pytest.mark.parametrize(
    "stop, code, word",
    [(KeyboardInterrupt(), 130, "by Ctrl-C"), (SystemExit(143), 143, "by a termination")],
)
def test_who_is_stopped_is_told_so(
    stop: BaseException, code: int, word: str, capsys: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise stop

    monkeypatch.setattr(sink, "write_part", stopped)
    given = ["match", "-q", "theft.fyke", "events.csv", *COLUMNS]
    assert main([*given, "-o", "m.csv", "--json"]) == code
    note = "'m.csv' was not complete, and what there was of it is removed"
    assert told(capsys) == [{"note": note}, {"stopped": word}]
    monkeypatch.setattr("fyke.match", stopped)
    assert main(given) == code
    assert capsys.readouterr().err == f"stopped: {word}\n"  # nothing is written, so nothing is removed
