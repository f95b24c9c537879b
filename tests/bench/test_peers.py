"""Peers find the same matches, and what is missing is said."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession

import fyke
from bench import fetch, peers_duckdb, peers_flink
from bench.peer_cases import CASES, OPTIONS, Case, in_order, numbers, same
from bench.peer_sql import DUCKDB, SPARK, ways
from bench.report import CannotRun

EVENTS = {case.shape: case.events(20_000) for case in CASES}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.shape)
def test_duckdb_finds_the_same_matches_in_every_way(case: Case) -> None:
    mine = numbers(fyke.match(EVENTS[case.shape], case.query, **OPTIONS))
    connection = peers_duckdb.connect(EVENTS[case.shape], 1)
    for name, sql in ways(case, DUCKDB).items():
        same(case, name, mine, peers_duckdb.rows_of(connection, sql))


@pytest.mark.long  # its joins take half a minute
@pytest.mark.spark
def test_spark_sql_finds_the_same_matches(spark: SparkSession) -> None:
    for case in CASES:
        events = EVENTS[case.shape]
        spark.createDataFrame(events).createOrReplaceTempView("events")
        for name, sql in ways(case, SPARK).items():
            columns = [np.asarray(column.to_numpy()) for column in spark.sql(sql).toArrow().columns]
            same(case, name, numbers(fyke.match(events, case.query, **OPTIONS)), in_order(columns))


def test_other_matches_are_an_error() -> None:
    rows = in_order([np.array([1, 2]), np.array([5, 4])])
    with pytest.raises(AssertionError, match="2 matches, 1 by a peer"):
        same(CASES[0], "a peer", rows, rows[:1])
    with pytest.raises(AssertionError, match="and other ones"):
        same(CASES[0], "a peer", rows, rows + 1)


def test_what_pip_cannot_install_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess([], 1, "", "looking\nERROR: no such package\n")

    monkeypatch.setattr(fetch, "FOLDER", tmp_path)
    monkeypatch.setattr(subprocess, "run", fails)
    with pytest.raises(CannotRun, match=r"could not install flink==0: ERROR: no such package"):
        fetch.fetched("flink", "flink==0")


def test_what_is_not_on_the_path_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(CannotRun, match="no javac on the PATH"):
        fetch.program("javac")


def test_events_are_written_as_the_job_reads_them(tmp_path: Path) -> None:
    events = EVENTS["next"].slice(0, 7)
    peers_flink.write_events(events, tmp_path / "events")
    data = (tmp_path / "events").read_bytes()
    assert (len(data), data[:8]) == (8 + 7 * 40, (7).to_bytes(8, "big"))
    kinds = np.frombuffer(data[8:], ">i8").reshape(7, 5)[:, 1]
    assert [chr(ord("A") + kind) for kind in kinds] == events.column("kind").to_pylist()
