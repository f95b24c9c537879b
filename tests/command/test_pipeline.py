"""``fyke run`` on files: what a pipeline reads, maps, feeds, writes and refuses."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from fyke.command import run_batch
from fyke.command.main import main
from fyke.command.map_columns import map_table
from fyke.command.pipeline import Sink, read_pipeline
from fyke.errors import FykeError, InputError
from fyke.spark.mapped import Mapped
from tests.command.test_matching import RULES, Out

LOGINS = """\
when,account,result
2026-03-02 09:00:00,ann,fail
2026-03-02 09:00:20,ann,fail
2026-03-02 09:00:40,ann,fail
2026-03-02 09:01:00,ann,ok
2026-03-02 09:02:00,bob,ok
2026-03-02 09:30:00,cleo,fail
2026-03-02 10:30:00,cleo,ok
"""
TRANSFERS = """\
ts,user,amount
2026-03-02 09:03:00,ann,900
2026-03-02 09:20:00,bob,20
"""
SOURCES = """
[source.Login]
path = "logins.csv"
map = { ts = "when", user = "account" }

[source.Transfer]
path = "transfers.csv"

[events]
time = "ts"
"""
GUESSED = """
[query.Guessed]
text = '''
PATTERN SEQ(Login{3,} f[], Login s)
WHERE greedy_skip_till_next_match { [user] AND f[i].result = 'fail' AND s.result = 'ok' }
WITHIN 10 minutes
RETURN f.len AS tries
'''
"""
ROBBED = """
[query.Robbed]
file = "robbed.fyke"
"""
QUERY = "PATTERN SEQ(Guessed g, Transfer t) WHERE { [user] } WITHIN 1 hour RETURN t.amount AS amount"
SINKS = """
[sink.Guessed]
path = "guessed.parquet"

[sink.alarms]
query = "Robbed"
path = "alarms.csv"
"""
WHOLE = SOURCES + GUESSED + ROBBED + SINKS


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "logins.csv").write_text(LOGINS)
    (tmp_path / "transfers.csv").write_text(TRANSFERS)
    (tmp_path / "robbed.fyke").write_text(QUERY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(text: str, *arguments: str) -> int:
    Path("pipeline.toml").write_text(text)
    return main(["run", "pipeline.toml", *arguments])


def test_queries_feed_each_other_and_sinks_take_their_rows(capsys: Out) -> None:
    assert run(WHOLE) == 0
    told = capsys.readouterr()
    lines = "Guessed: 1 match written to guessed.parquet\nRobbed: 1 match written to alarms.csv\n"
    assert (told.out, told.err) == (lines, "")
    assert pq.read_table("guessed.parquet").column("tries").to_pylist() == [3]
    (row,) = pa.csv.read_csv("alarms.csv").to_pylist()
    assert (row["user"], row["amount"]) == ("ann", 900)


def test_without_sinks_all_results_are_printed(capsys: Out) -> None:
    assert run(SOURCES + GUESSED + ROBBED) == 0
    out = capsys.readouterr().out
    assert out.startswith("Guessed\nuser ")
    assert "\nRobbed\nuser " in out
    assert run(SOURCES + GUESSED + ROBBED, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert [(each["query"], each["count"]) for each in told["results"]] == [("Guessed", 1), ("Robbed", 1)]
    assert told["results"][1]["rows"][0]["amount"] == 900


def test_what_nobody_wants_is_not_run(capsys: Out) -> None:
    other = "[query.Other]\ntext = 'PATTERN SEQ(Login a, Transfer t) WITHIN 1 minute'\n"
    assert run(WHOLE + other, "--check") == 0
    told = capsys.readouterr()
    assert (told.out, told.err) == ("pipeline.toml: ok\n", "note: no sink takes Other, so that is not run\n")


def test_paths_are_seen_from_the_file(folder: Path, capsys: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "pipeline.toml").write_text(WHOLE)
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    assert main(["run", "../pipeline.toml"]) == 0
    assert (folder / "alarms.csv").exists()


def test_a_column_may_say_the_type_and_programs_have_parameters(capsys: Out) -> None:
    program = """
[source.shop]
path = ["a.csv", "b.csv"]
[source.web]
path = "web.json"
map = { at = { column = "meta.ms", unit = "ms" }, kind = { value = "Click" }, user = "meta.who" }
[events]
time = "at"
type = "kind"
params = { least = 3 }
[program]
text = '''
Bought: PATTERN SEQ(Click c, Buy b) WHERE { [user] AND b.n >= :least } WITHIN 1 hour;
Count: SELECT COUNT(*) AS clicks FROM [RANGE 1 hour] Click WHERE [user]
'''
"""
    Path("a.csv").write_text("at,kind,user,n\n2026-01-01T00:10:00Z,Buy,ann,3\n")
    Path("b.csv").write_text("at,kind,user,n\n2026-01-01T00:10:00Z,Buy,bob,1\n")
    clicks = [{"meta": {"ms": 1767225600000, "who": who}} for who in ("ann", "bob")]
    Path("web.json").write_text(json.dumps(clicks))
    assert run(program, "--json") == 0
    found = {each["query"]: each for each in json.loads(capsys.readouterr().out)["results"]}
    assert [row["user"] for row in found["Bought"]["rows"]] == ["ann"]
    assert [row["clicks"] for row in found["Count"]["rows"]] == [1, 1]
    assert run(program, "--param", "least=1", "--json") == 0
    found = {each["query"]: each for each in json.loads(capsys.readouterr().out)["results"]}
    assert found["Bought"]["count"] == 2


def test_clauses_and_rules_run_too(capsys: Out) -> None:
    Path("rules.csv").write_text(RULES)
    Path("shop.csv").write_text("ts,kind,tag\n2026-01-05,Shelf,razor\n2026-01-06,Exit,razor\n")
    text = """
[source.shop]
path = "shop.csv"
[events]
time = "ts"
type = "kind"
[query.Next]
text = "MATCH_RECOGNIZE (ORDER BY ts MEASURES LAST(b.kind) AS last PATTERN (a b) DEFINE b AS kind = 'Exit')"
[rules]
path = "rules.csv"
[sink.rules]
path = "found.jsonl"
[sink.Next]
"""
    assert run(text) == 1  # one of the rules is broken; the others have run
    told = capsys.readouterr()
    assert told.out == "rules: 2 matches written to found.jsonl\nNext\nlast\n────\nExit\n1 row\n"
    assert told.err.startswith("error: rule broken (version 1): ")
    rules = sorted(json.loads(line)["rule"] for line in Path("found.jsonl").read_text().splitlines())
    assert rules == ["gone", "unpaid"]


# --- what is wrong with a file ----------------------------------------------------------------------

EVENTS = '[source.A]\npath = "logins.csv"\n[events]\ntime = "when"\n'
ASKED = EVENTS + '[query.Q]\ntext = "PATTERN SEQ(A a, A b) WITHIN 1 hour"\n'
STREAM = "[run]\nstream = true\n"
REFUSED = {
    "[events]\ntime = 'ts'": "[source.NAME]: is missing: a pipeline has at least one source",
    "[source]\npath = 'x'": "[source] path: stands in a section without a name; write [source.NAME]",
    "[source.A]\npath = 5": "[source.A] path: must be a text or a list of texts, found 5",
    "[source.A]\npaht = 'x'": "[source.A] path: is missing",
    "[source.A]\npath = 'x'\npaht = 'x'": "[source.A] paht: is not known. Did you mean 'path'?",
    EVENTS: "[query.NAME]: is missing",
    ASKED + "[sources.B]": "sources: is not known. Did you mean 'source'?",
    ASKED.replace("time =", "tme ="): "[events] time: is missing: name the column of the time",
    ASKED.replace("SEQ(A a, A b)", "SEQ(A a A b)"): "[query.Q] ",
    ASKED.replace("A b)", "R b)") + "[query.R]\ntext='PATTERN SEQ(Q x, A y)'": "[query]: queries wait for",
    ASKED + "file = 'x'": "[query.Q] text: or file must be there, and not both",
    ASKED.replace('"PATT', '"B: PATT'): "[query.Q]: the query is labelled 'B'. Let the section be",
    ASKED + "[sink.R]\npath='r.csv'": "[sink.R] query: there is no query 'R'. There are Q.",
    ASKED + "[sink.Q]\npath='r.xls'": "[sink.Q] path: 'r.xls' ends in none of .parquet, .csv,",
    ASKED + "[sink.Q]\npath='r.csv'\nmode='add'": "[sink.Q] mode: must be one of append, overwrite,",
    ASKED + "[sink.Q]\npath='nix/r.csv'": "[sink.Q]: there is no folder 'nix'",
    ASKED + "[sink.Q]\nformat='delta'": "[sink.Q] path: is missing: where to write delta",
    ASKED.replace("logins.csv", "nix.csv"): "[source]: there is no file 'nix.csv'",
    ASKED.replace('"when"', '"ts"'): "[query]: the events have no column 'ts'",
    ASKED + "[source.A.map]\nts = 'wen'": "[source.A]: ts: the source has no column 'wen'. Did you",
    ASKED + "[source.A.map]\nts = 5": "[source.A.map] ts: must be a column, or a table of column",
    ASKED + "[source.A.map]\nts = {column='when', type='date64'}": "[source.A.map.ts] type: must",
    ASKED + "[source.A.map]\nn = {column='result', type='integer'}": "[source.A]: n: 'result' has no",
    ASKED + "[run]\ntrigger = '5 s'": "[run] trigger: is for streams, and this is a batch. Add stream",
    ASKED + "[events.limits]\nmath = 5": "[events.limits] math: is no limit. Did you mean 'matches'",
    ASKED + "[rules]\npath = 'twice.csv'": "[rules] path: two active rules have the name 'unpaid'",
    ASKED + "[rules]\npath = 'nix'": "[rules] path: there are no rules in 'nix'",
    STREAM + ASKED: "[events] watermark: is missing: say how late events may come. Write",
    STREAM + ASKED.replace("[query", "watermark = '1 s'\n[query") + "[sink.Q]\npath='r.csv'": (
        "[run] checkpoint: is missing: a stream remembers there how far it has come"
    ),
}  # fmt: skip


@pytest.mark.parametrize("text, line", REFUSED.items())
def test_a_wrong_file_is_one_line(text: str, line: str, capsys: Out) -> None:
    Path("twice.csv").write_text(RULES.replace("gone,1", "unpaid,2"))
    assert run(text) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith(f"error: pipeline.toml: {line}"), told.err
    if "^" not in told.err:  # an error in a query points at its place
        assert told.err.count("\n") == 1


def test_a_file_that_is_no_toml_is_one_line(capsys: Out) -> None:
    assert run("[source") == 1
    assert capsys.readouterr().err.startswith("error: pipeline.toml is no TOML: Expected ']'")
    for command in ("run", "watch"):
        assert main([command, "nix.toml"]) == 1
        assert capsys.readouterr().err == "error: there is no file 'nix.toml'\n"


def test_errors_as_json_say_where(capsys: Out) -> None:
    assert run(ASKED.replace("A b)", "A b.)"), "--json") == 1
    told = json.loads(capsys.readouterr().err)
    assert (told["where"], told["line"], told["error"]) == ("pipeline.toml: [query.Q]", 1, "QuerySyntaxError")


def test_no_result_is_there_unless_all_are(capsys: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("alarms.csv").write_text("of yesterday")
    before = sorted([*os.listdir(), "pipeline.toml"])
    writing = run_batch.write_part

    def interrupted(table: pa.Table, path: Path, kind: str) -> None:
        writing(table, path, kind)
        if kind == "csv":
            raise KeyboardInterrupt

    monkeypatch.setattr(run_batch, "write_part", interrupted)
    assert run(WHOLE) == 130
    told = capsys.readouterr().err.splitlines()
    assert told[-1] == "stopped: by Ctrl-C"
    removed = "was not complete, and what there was of it is removed"
    assert sorted(told[:-1]) == [f"note: '{name}' {removed}" for name in ("alarms.csv", "guessed.parquet")]
    assert sorted(os.listdir()) == before
    assert Path("alarms.csv").read_text() == "of yesterday"


def test_a_folder_is_replaced_only_on_request(capsys: Out) -> None:
    Path("alarms.csv").mkdir()
    Path("alarms.csv/part.csv").write_text("of yesterday")
    assert run(WHOLE) == 1
    assert capsys.readouterr().err == (
        "error: pipeline.toml: [sink.alarms]: there is a folder 'alarms.csv' already. "
        "Say mode = 'overwrite' to replace it.\n"
    )
    assert run(WHOLE + 'mode = "overwrite"') == 0
    assert Path("alarms.csv").is_file()
    assert [name for name in os.listdir() if name[0] == "."] == []


def test_no_permission_to_write(capsys: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: mode == os.R_OK)  # root may write anywhere
    assert run(WHOLE) == 1
    assert capsys.readouterr().err == (
        "error: pipeline.toml: [sink.Guessed]: no permission to write 'guessed.parquet'\n"
    )


def test_texts_become_instants_and_numbers() -> None:
    table = pa.table({"at": ["2026-01-01 10:00:00"], "zoned": ["2026-01-01T10:00:00+02:00"], "n": ["5"]})
    found = map_table(
        table,
        [Mapped("ts", "at", "timestamp"), Mapped("to", "zoned", "timestamp"), Mapped("n", "n", "integer")],
    )
    assert found.column_names == ["ts", "to", "n"]
    (row,) = found.to_pylist()
    assert (row["ts"].isoformat(), row["to"].isoformat()) == (
        "2026-01-01T10:00:00+00:00",
        "2026-01-01T08:00:00+00:00",
    )
    assert row["n"] == 5
    with pytest.raises(InputError, match=r"the source has no field 'n\.x'"):
        map_table(table, [Mapped("x", "n.x")])


def test_only_spark_reads_other_formats_and_machines() -> None:
    Path("p.toml").write_text(ASKED.replace("logins.csv", "s3a://bucket/logins.csv"))
    read = read_pipeline(Path("p.toml"))
    assert read.sources["A"].named.paths == ("s3a://bucket/logins.csv",)
    assert run_batch.runs_on_spark(read, (), None)
    Path("p.toml").write_text(ASKED + "[sink.Q]\nformat = 'kafka'\noptions = { topic = 'matches' }")
    read = read_pipeline(Path("p.toml"))
    assert run_batch.runs_on_spark(read, read.sinks, None)
    with pytest.raises(FykeError):
        read_pipeline(Path("nix.toml"))


def test_what_gets_its_rows_at_once_is_written_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """A topic and another machine keep what they got, so they get it when all files are complete."""
    written: list[str] = []
    monkeypatch.setattr(run_batch, "_write", lambda found, sink, stack, rows: written.append(sink.name))
    given = [("topic", "kafka", None), ("here", "csv", "a.csv"), ("there", "csv", "s3a://b/c")]
    sinks = tuple(Sink(name, "Q", kind, path) for name, kind, path in given)
    Path("pipeline.toml").write_text(WHOLE)
    run_batch._written(read_pipeline(Path("pipeline.toml")), {"Q": pa.table({})}, sinks, rows=None)
    assert written == ["here", "topic", "there"]
