"""``--help`` of every command has examples, and the examples run as they are printed."""

from __future__ import annotations

import shlex
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import typer
from rich.text import Text

from fyke import demo
from fyke.command import trying
from fyke.command.main import app, main

EPILOGS = {each.name or "": Text.from_markup(each.epilog or "").plain for each in app.registered_commands}
EXAMPLES = [line for text in EPILOGS.values() for line in text.splitlines() if line.startswith("fyke ")]
LONG = ("fyke run live.toml", "fyke watch", "fyke bench automaton")  # streams on Spark, and measurements
EVENTS = """\
ts,kind,tag,x
2026-01-05 09:00:00,Shelf,razor,1
2026-01-05 09:01:00,Shelf,whisky,2
2026-01-05 09:30:00,Exit,razor,3
"""
SHOP = """\
ts,kind,user
2026-01-05 09:00:00,Cart,ann
2026-01-05 09:20:00,Buy,ann
"""
QUERY = "PATTERN SEQ(Shelf a, Exit b) WHERE { [tag] } WITHIN 1 hour"
LOGINS = "ts,user,ok\n" + "".join(f"2026-01-05 09:0{minute}:00,ann,0\n" for minute in range(5))
FILES = {
    "events.csv": EVENTS,
    "shelf.csv": "\n".join(line for line in EVENTS.splitlines() if "Exit" not in line),
    "exit.csv": "\n".join(line for line in EVENTS.splitlines() if "Shelf" not in line),
    "*.csv": SHOP,
    "theft.fyke": QUERY,
    "fraud.fyke": QUERY,
    "rules/": QUERY,
    "rules.csv": f'name,text\ntheft,"{QUERY}"\n',
    "pipeline.toml": EPILOGS["run"].partition("A pipeline file:")[2],
}


@pytest.mark.parametrize("command", EPILOGS)
def test_every_command_shows_its_examples(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert main([command, "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert f"fyke {command}" in EPILOGS[command]
    for line in EPILOGS[command].splitlines():
        assert " ".join(line.split()) in shown
    assert "{{" not in shown
    assert "\\[" not in shown


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(typer, "launch", lambda _: 0)
    monkeypatch.setattr(demo, "main", lambda _: 0)
    monkeypatch.setattr("fyke.warm_up", lambda progress: None)
    monkeypatch.setattr(trying, "QUESTIONS", ())
    return tmp_path


@pytest.mark.parametrize("line", [each for each in EXAMPLES if not each.startswith(LONG)])
def test_examples_run(line: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in FILES.items():
        if name in line:
            _write(folder, name, text)
    if "events.parquet" in line:
        (folder / "all.csv").write_text(EVENTS)
        pq.write_table(pyarrow.csv.read_csv(folder / "all.csv"), folder / "events.parquet")
        (folder / "all.csv").unlink()
    if "pipeline.toml" in line:
        (folder / "logins").mkdir()
        (folder / "logins" / "monday.csv").write_text(LOGINS)
    assert main(shlex.split(line)[1:]) == 0, capsys.readouterr()
    told = capsys.readouterr()
    assert "0 matches" not in told.out
    assert told.err == ""


def _write(folder: Path, name: str, text: str) -> None:
    """Write a file of an example; a glob and a folder have one file."""
    if name.endswith("/"):
        (folder / name).mkdir()
        name += "theft.fyke"
    (folder / name.replace("*", "all")).write_text(text)
