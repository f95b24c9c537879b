"""``fyke match``, ``check`` and ``explain`` on files: what is printed, written, refused; exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import fyke
from fyke.command import source
from fyke.command.main import main

EVENTS = """\
ts,kind,tag,price
2026-01-05 09:00:00,Shelf,razor,9.5
2026-01-05 09:01:00,Shelf,whisky,7
2026-01-05 09:08:00,Register,whisky,7
2026-01-05 09:09:00,Exit,whisky,7
2026-01-05 09:30:00,Exit,razor,9.5
"""
QUERY = """\
PATTERN SEQ(Shelf a, ~Register b, Exit c)
WHERE { [tag] AND a.price > 5 }
WITHIN 12 hours
RETURN a.price AS price
"""
COLUMNS = ("--time", "ts", "--type", "kind")
Out = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder like that of a new user: a CSV and a query."""
    (tmp_path / "events.csv").write_text(EVENTS)
    (tmp_path / "theft.fyke").write_text(QUERY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_matches_are_on_the_screen(capsys: Out) -> None:
    assert main(["match", "-q", "theft.fyke", "events.csv", *COLUMNS]) == 0
    out = capsys.readouterr().out
    assert "razor   2026-01-05 09:00:00   2026-01-05 09:30:00     9.5" in out
    assert out.endswith("1 match\n")
    assert "\x1b" not in out


def test_a_query_may_be_written_in_the_command(capsys: Out) -> None:
    query = "PATTERN SEQ(Shelf a, Exit c) WHERE { [tag] AND a.price > :least } WITHIN 1 day"
    assert main(["match", "-q", query, "events.csv", *COLUMNS, "-p", "least=8"]) == 0
    assert capsys.readouterr().out.endswith("1 match\n")


def test_json_is_for_programs(capsys: Out) -> None:
    assert main(["match", "-q", "theft.fyke", "events.csv", *COLUMNS, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["matches"] == 1
    assert told["spark"] is False
    assert told["rows"][0]["tag"] == "razor"
    assert told["rows"][0]["start"] == "2026-01-05T09:00:00"


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl", "arrow"])
def test_outputs_are_read_back(ending: str, capsys: Out) -> None:
    query = "PATTERN SEQ(Shelf a, Exit c) WHERE { [tag] } WITHIN 1 day"
    assert main(["match", "-q", query, "events.csv", *COLUMNS, "-o", f"out.{ending}"]) == 0
    assert capsys.readouterr().out == f"2 matches written to out.{ending}\n"
    wanted = fyke.match("events.csv", query, time="ts", type="kind")
    found = fyke.call.files.read_files([Path(f"out.{ending}")])
    assert found.column_names == wanted.column_names
    assert found.column("tag").to_pylist() == wanted.column("tag").to_pylist()
    first = found.column("a")[0].as_py()
    first = json.loads(first) if isinstance(first, str) else first
    assert first["price"] == wanted.column("a")[0].as_py()["price"]


def test_folders_globs_and_types(capsys: Out, folder: Path) -> None:
    table = pa.csv.read_csv("events.csv")
    (folder / "parts").mkdir()
    for number in range(2):
        pq.write_table(table.slice(3 * number, 3), f"parts/{number}.parquet")
    for kind in ("Shelf", "Register", "Exit"):
        wanted = pa.compute.equal(table.column("kind"), kind)
        pa.csv.write_csv(table.filter(wanted).drop_columns("kind"), f"{kind}.csv")
    for events in (["parts"], ["parts/*.parquet"], ["parts/0.parquet", "parts/1.parquet"]):
        assert main(["match", "-q", "theft.fyke", *events, *COLUMNS]) == 0
        assert capsys.readouterr().out.endswith("1 match\n")
    typed = [f"{kind}={kind}.csv" for kind in ("Shelf", "Register", "Exit")]
    assert main(["match", "-q", "theft.fyke", *typed, "--time", "ts"]) == 0
    assert capsys.readouterr().out.endswith("1 match\n")
    assert main(["match", "-q", "theft.fyke", "Shelf=Shelf.csv", "events.csv", "--time", "ts"]) == 1
    assert "either all events are named by their type" in capsys.readouterr().err


def test_the_size_decides_who_matches(monkeypatch: pytest.MonkeyPatch) -> None:
    named = source.named_events(["events.csv"])
    assert not source.on_spark(named, None)
    assert source.on_spark(named, True)
    size = os.path.getsize("events.csv")
    monkeypatch.setattr(source, "free_memory", lambda: 8 * size - 1)
    assert source.on_spark(named, None)
    assert not source.on_spark(named, False)
    monkeypatch.setattr(source, "free_memory", lambda: 8 * size)
    assert not source.on_spark(named, None)
    assert source.on_spark(source.named_events(["table"], format="delta"), None)


def test_queries_are_checked(capsys: Out, folder: Path) -> None:
    (folder / "wrong.fyke").write_text("PATTERN SEQ(Shelf a Exit c)")
    assert main(["check", "-q", "theft.fyke"]) == 0
    assert capsys.readouterr().out == "theft.fyke: ok\n"
    assert main(["check", "-q", "wrong.fyke", "-q", "theft.fyke"]) == 1
    told = capsys.readouterr()
    assert told.out == "theft.fyke: ok\n"
    assert told.err.startswith("error: wrong.fyke: ")
    assert "PATTERN SEQ(Shelf a Exit c)\n                      ^" in told.err
    (folder / "column.fyke").write_text(QUERY.replace("a.price > 5", "a.prise > 5"))
    assert main(["check", "-q", "column.fyke"]) == 0
    capsys.readouterr()
    assert main(["check", "-q", "column.fyke", "events.csv", *COLUMNS, "--json"]) == 1
    (verdict,) = json.loads(capsys.readouterr().out)
    assert (verdict["ok"], verdict["line"], verdict["column"]) == (False, 2, 19)
    assert verdict["error"] == "UnknownAttributeError"


def test_a_query_is_explained(capsys: Out) -> None:
    assert main(["explain", "-q", "theft.fyke", "events.csv", *COLUMNS]) == 0
    wanted = fyke.explain("events.csv", QUERY, time="ts", type="kind")
    assert capsys.readouterr().out == wanted.rstrip("\n") + "\n"


ON = "-q theft.fyke events.csv -t ts -k kind"
REFUSED = {
    "-q theft.fyke nix.csv -t ts -k kind": "there is no file 'nix.csv'",
    "-q nix.fyke events.csv -t ts -k kind": "there is no file 'nix.fyke' with a query",
    "-q theft.fyke events.csv -k kind": "no column of the time is named. Give --time COLUMN.",
    "-q theft.fyke -t ts -k kind": "no events are named. Give files, folders or globs.",
    "-q theft.fyke events.csv -t when -k kind": "the events have no column 'when'. Their columns are ts,",
    "-q theft.fyke bad.csv -t ts -k kind": "'bad.csv' cannot be read as csv: CSV parse error: Row #3",
    f"{ON} -o nix/m.csv": "there is no folder 'nix'",
    f"{ON} -o m.xls": "the output 'm.xls' ends in none of",
    f"{ON} -p least": "--param takes name=value, found 'least'",
    f"{ON} --limit math=1": "there is no limit 'math'. Did you mean 'matches'",
}


@pytest.mark.parametrize("arguments, line", REFUSED.items())
def test_bad_input_is_one_line(arguments: str, line: str, capsys: Out, folder: Path) -> None:
    (folder / "bad.csv").write_text(EVENTS.replace(",whisky,7\n", ",whisky\n", 1))
    assert main(["match", *arguments.split()]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith(f"error: {line}"), told.err
    assert told.err.count("\n") == 1


def test_errors_as_json(capsys: Out) -> None:
    assert main(["match", "-q", "theft.fyke", "nix.csv", *COLUMNS, "--json"]) == 1
    told = json.loads(capsys.readouterr().err)
    assert told == {"error": "InputError", "message": "there is no file 'nix.csv'", "remedy": ""}


def test_only_debug_shows_a_traceback() -> None:
    with pytest.raises(fyke.FykeError, match=r"nix\.csv"):
        main(["match", "-q", "theft.fyke", "nix.csv", *COLUMNS, "--debug"])


def test_a_wrong_command_is_code_2(capsys: Out) -> None:
    assert main(["match", "--nix"]) == 2
    assert "No such option" in capsys.readouterr().err
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"fyke {fyke.__version__}\n"


def test_no_permission_to_write(folder: Path, capsys: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write anywhere
    assert main(["match", "-q", "theft.fyke", "events.csv", *COLUMNS, "-o", "m.csv"]) == 1
    assert capsys.readouterr().err == "error: no permission to write 'm.csv'\n"


def test_nothing_half_written_is_left(folder: Path, capsys: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(table: pa.Table, path: Path) -> None:
        Path(path).write_text("half")
        raise KeyboardInterrupt

    (folder / "m.parquet").write_text("of yesterday")
    monkeypatch.setattr("fyke.command.sink.pq.write_table", interrupted)
    before = sorted(os.listdir())
    assert main(["match", "-q", "theft.fyke", "events.csv", *COLUMNS, "-o", "m.parquet"]) == 130
    assert capsys.readouterr().err == (
        "note: 'm.parquet' was not complete, and what there was of it is removed\nstopped: by Ctrl-C\n"
    )
    assert sorted(os.listdir()) == before
    assert (folder / "m.parquet").read_text() == "of yesterday"


def test_a_warning_is_one_line(capsys: Out) -> None:
    query = "PATTERN SEQ(Shelf a, Exist c) WITHIN 1 day"
    assert main(["match", "-q", query, "events.csv", *COLUMNS]) == 0
    assert capsys.readouterr().err.startswith("warning: No event is of type 'Exist'")


def test_help_offers_completion() -> None:
    shown = [sys.executable, "-m", "fyke", "--help"]
    done = subprocess.run(shown, capture_output=True, text=True, env={**os.environ, "COLUMNS": "200"})
    assert done.returncode == 0
    assert "--install-completion" in done.stdout


def test_a_clause_needs_no_time(capsys: Out) -> None:
    clause = """MATCH_RECOGNIZE (PARTITION BY kind ORDER BY ts MEASURES LAST(b.tag) AS cheap
                PATTERN (a b+) DEFINE b AS price < PREV(price))"""
    assert main(["match", "-q", clause, "events.csv"]) == 0
    out = capsys.readouterr().out
    assert "Shelf   whisky" in out
    assert out.endswith("1 row\n")
    assert main(["explain", "-q", clause, "events.csv"]) == 0
    assert main(["check", "-q", clause, "events.csv"]) == 0
    capsys.readouterr()
    assert main(["match", "-q", clause, "events.csv", "--time", "ts"]) == 1
    assert capsys.readouterr().err.startswith("error: time has a meaning for queries over events")


RULES = """\
name,version,text
unpaid,2,"PATTERN SEQ(Shelf a, ~Register b, Exit c) WHERE { [tag] } WITHIN 1 day"
broken,1,"PATTERN SEQ(Shelf a Exit c)"
gone,1,"PATTERN SEQ(Shelf a, Exit c) WHERE { [tag] } WITHIN 1 day"
"""


def test_rules_run_together(capsys: Out, folder: Path) -> None:
    (folder / "rules.csv").write_text(RULES)
    assert main(["match", "--rules", "rules.csv", "events.csv", *COLUMNS, "-o", "found.csv"]) == 1
    told = capsys.readouterr()
    assert told.out == "3 matches written to found.csv\n"
    assert told.err.startswith("error: rule broken (version 1): ")
    found = pa.csv.read_csv("found.csv").select(["rule", "version"]).to_pylist()
    assert sorted((row["rule"], row["version"]) for row in found) == [("gone", 1), ("gone", 1), ("unpaid", 2)]
    assert main(["check", "--rules", "rules.csv", "events.csv", *COLUMNS, "--json"]) == 1
    verdicts = {each["query"]: each["ok"] for each in json.loads(capsys.readouterr().out)}
    assert verdicts == {
        "rule unpaid (version 2)": True,
        "rule gone (version 1)": True,
        "rule broken (version 1)": False,
    }


@pytest.mark.parametrize("command", ["match", "check"])
def test_a_rule_table_with_duplicate_names_is_one_line(command: str, capsys: Out, folder: Path) -> None:
    (folder / "rules.csv").write_text(RULES.replace("gone,1", "unpaid,2"))
    assert main([command, "--rules", "rules.csv", "events.csv", *COLUMNS]) == 1
    told = capsys.readouterr()
    assert told.err.startswith("error: two active rules have the name 'unpaid' and the version '2'. Rename")
    assert (told.out, told.err.count("\n")) == ("", 1)


def test_events_show_what_is_not_known_yet(capsys: Out) -> None:
    query = "PATTERN SEQ(Shelf a, Exit c) WHERE { [tag] } WITHIN 1 day"
    assert main(["match", "-q", query, "events.csv", *COLUMNS]) == 0
    assert "   ts=09:00:00 price=9.5   ts=09:30:00 price=9.5" in capsys.readouterr().out


def test_shells_complete_commands_and_values() -> None:
    for line, wanted in (("fyke m", "match"), ("fyke match --engine lazy_c", "lazy_chain")):
        words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
        asked = {**os.environ, **words, "_FYKE_COMPLETE": "complete_bash"}
        done = subprocess.run([sys.executable, "-m", "fyke"], capture_output=True, text=True, env=asked)
        assert done.stdout.split() == [wanted]
