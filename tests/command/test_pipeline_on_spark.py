"""``fyke run`` and ``fyke watch`` on Spark: the same rows, streams that go on, stop or fail."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from fyke.command.main import main
from fyke.command.watching import read_progress
from fyke.spark.mapped import Mapped, map_frame
from fyke.spark.sinks import in_format
from tests.command.test_matching import Out
from tests.command.test_pipeline import GUESSED, LOGINS, QUERY, TRANSFERS, WHOLE

pytestmark = pytest.mark.spark

LIVE = f"""
[run]
stream = true
checkpoint = "state"

[source.Login]
path = "in"
format = "csv"
columns = "when timestamp_ntz, account string, result string"
map = {{ ts = "when", user = "account" }}
options = {{ maxFilesPerTrigger = 1 }}

[events]
time = "ts"
watermark = "5 minutes"
{GUESSED}
[sink.Guessed]
path = "guessed"
format = "parquet"
"""
LATER = """\
when,account,result
2026-03-02 11:00:00,bob,fail
2026-03-02 11:00:20,bob,fail
2026-03-02 11:00:40,bob,fail
2026-03-02 11:01:00,bob,ok
2026-03-02 12:30:00,cleo,ok
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "logins.csv").write_text(LOGINS)
    (tmp_path / "transfers.csv").write_text(TRANSFERS)
    (tmp_path / "robbed.fyke").write_text(QUERY)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.csv").write_text(LOGINS)
    (tmp_path / "live.toml").write_text(LIVE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def guessed() -> list[str]:
    return sorted(pq.read_table("guessed").column("user").to_pylist())


def test_spark_writes_the_same_rows(spark: SparkSession, folder: Path, capsys: Out) -> None:
    (folder / "pipeline.toml").write_text(WHOLE)
    assert main(["run", "pipeline.toml", "--spark"]) == 0
    assert capsys.readouterr().out == (
        "Guessed: 1 match written to guessed.parquet\nRobbed: 1 match written to alarms.csv\n"
    )
    on_spark = pq.read_table("guessed.parquet")
    (folder / "pipeline.toml").write_text(WHOLE.replace('parquet"', 'parquet"\nmode = "overwrite"', 1))
    (folder / "alarms.csv").rename(folder / "before")
    assert main(["run", "pipeline.toml"]) == 0
    assert pq.read_table("guessed.parquet").column("match_id") == on_spark.column("match_id")


@pytest.mark.long  # every micro-batch of Spark takes seconds
def test_a_stream_goes_on_where_it_stopped(spark: SparkSession, folder: Path, capsys: Out) -> None:
    assert main(["run", "live.toml", "--once"]) == 0
    assert capsys.readouterr().out.startswith("Guessed: 2 batches, 7 events, 1 match, ")
    assert guessed() == ["ann"]
    (folder / "in" / "2.csv").write_text(LATER)
    assert main(["run", "live.toml", "--once", "--json"]) == 0
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (told["state"], told["queries"]["Guessed"]["matches"]) == ("stopped", 1)
    assert guessed() == ["ann", "bob"]
    assert main(["watch", "live.toml"]) == 0
    assert capsys.readouterr().out.endswith("\nstopped\n")


def test_a_stream_without_a_sink_prints_its_rows(spark: SparkSession, folder: Path, capsys: Out) -> None:
    (folder / "live.toml").write_text(LIVE.partition("[sink")[0].replace('checkpoint = "state"', ""))
    assert main(["run", "live.toml", "--once"]) == 0
    out = capsys.readouterr().out
    assert "ann    2026-03-02 09:00:00   2026-03-02 09:01:00       3" in out
    assert main(["watch", "live.toml"]) == 1
    assert "[run] checkpoint: is not named" in capsys.readouterr().err


def test_a_stream_that_fails_is_one_line(spark: SparkSession, folder: Path, capsys: Out) -> None:
    (folder / "in" / "1.csv").write_text(LOGINS.replace("2026-03-02 09:00:20", "at nine"))
    assert main(["run", "live.toml", "--once"]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("error: Spark says: [INTERNAL_ERROR] Cannot parse field value 'at nine'")
    assert told.err.count("\n") == 1
    assert read_progress(folder / "state" / "progress.json")["state"] == "failed"
    assert main(["watch", "live.toml"]) == 1
    assert not spark.streams.active


@pytest.mark.parametrize("kind", ["kafka", "delta"])
def test_a_sink_without_its_connector_is_one_line(
    kind: str, spark: SparkSession, folder: Path, capsys: Out
) -> None:
    sink = f"format = '{kind}'\n" + ("path = 'rows'\n" if kind == "delta" else "options = { topic = 'm' }\n")
    batch, live = WHOLE.partition("[sink")[0], LIVE.partition("[sink")[0]
    for text in (batch, live):
        (folder / "p.toml").write_text(f"{text}[sink.Guessed]\n{sink}")
        assert main(["run", "p.toml", "--once"]) == 1
        told = capsys.readouterr().err
        assert f"[sink.Guessed]: Spark has no connector for '{kind}'. Name its package" in told
        assert told.count("\n") == (1 if text == live else 2)  # of a batch, a note says what is not run


def test_messages_of_kafka_have_the_row_as_json(spark: SparkSession) -> None:
    rows = spark.createDataFrame([("id", "ann", 3)], ["match_id", "user", "tries"])
    (row,) = in_format(rows, "kafka").collect()
    assert (row.key, json.loads(row.value)) == ("id", {"match_id": "id", "user": "ann", "tries": 3})


def test_columns_are_mapped_as_in_tables(spark: SparkSession) -> None:
    rows = pa.table({"at": [1767225600000], "who": [{"name": "ann"}], "n": ["5"], "left": [True]})
    mapped = (
        Mapped("ts", "at", "timestamp", "ms"),
        Mapped("user", "who.name"),
        Mapped("n", "n", "integer"),
        Mapped("kind", value="Login"),
    )
    found = map_frame(spark.createDataFrame(rows), mapped).toArrow()
    assert found.column_names == ["who", "left", "ts", "user", "n", "kind"]
    (row,) = found.to_pylist()
    assert row["ts"].isoformat() == "2026-01-01T00:00:00+00:00"
    assert (row["user"], row["n"], row["kind"], row["left"]) == ("ann", 5, "Login", True)


@pytest.mark.long
@pytest.mark.parametrize(
    "number, code, word",
    [(signal.SIGINT, 130, "by Ctrl-C"), (signal.SIGTERM, 143, "by a termination")],
)
def test_an_interrupted_stream_stops_cleanly(number: int, code: int, word: str, folder: Path) -> None:
    command = [sys.executable, "-m", "fyke", "run", "live.toml"]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
    file = folder / "state" / "progress.json"
    deadline = time.monotonic() + 200
    while not (file.exists() and read_progress(file)["queries"]["Guessed"]["matches"]):
        assert process.poll() is None, (folder / "log").read_text()
        assert time.monotonic() < deadline
        time.sleep(0.5)
    assert read_progress(file)["state"] == "running"
    watching = subprocess.run([sys.executable, "-m", "fyke", "watch", "live.toml", "--once"], cwd=folder)
    assert watching.returncode == 0
    os.kill(process.pid, number)
    assert process.wait(100) == code
    told = (folder / "log").read_text()
    assert told == f"stopped: {word}\n"
    assert read_progress(file)["state"] == "stopped"
    assert guessed() == ["ann"]


def test_a_process_that_is_gone_is_lost(folder: Path, capsys: Out) -> None:
    (folder / "state").mkdir()
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    told = {"pid": gone.pid, "state": "running", "queries": {}}
    (folder / "state" / "progress.json").write_text(json.dumps(told))
    assert main(["watch", "live.toml"]) == 1
    assert capsys.readouterr().err == f"error: process {gone.pid} is gone, and has not said why\n"
    (folder / "state" / "progress.json").unlink()
    assert main(["watch", "live.toml"]) == 1
    assert "the pipeline has not run yet: there is no 'state/progress.json'" in capsys.readouterr().err
