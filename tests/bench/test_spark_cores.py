"""The benchmark of cores on Spark: what cannot run says why, and no engine that gives up ends it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import fyke
from bench import spark_cores
from bench.report import CannotRun
from bench.spark_cores import OTHERS, QUERIES, GaveUp, Server, engines
from fyke.plan.engines import ENGINES


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Server]:
    """Return a server whose process runs a program of Python instead."""

    def start(program: str) -> Server:
        def popen(_: list[str], **more: Any) -> subprocess.Popen[str]:
            return real([sys.executable, "-c", program], **more)

        real = subprocess.Popen
        with monkeypatch.context() as patch:
            patch.setattr(subprocess, "Popen", popen)
            return Server(2)

    return start


def test_without_java_the_benchmark_cannot_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(CannotRun, match="Spark needs Java, and there is none by JAVA_HOME or PATH"):
        spark_cores.main(quick=True)


def test_a_spark_that_does_not_start_says_the_last_it_said(ended: Callable[[str], Server]) -> None:
    server = ended("raise SystemExit('starting\\nthe JVM has no memory')")
    with pytest.raises(CannotRun, match="Spark on 2 cores ended with code 1: the JVM has no memory"):
        server.wait()
    server.close()


def test_a_spark_that_ends_later_breaks_the_benchmark(ended: Callable[[str], Server]) -> None:
    server = ended("print('ready'); input(); raise SystemExit('the JVM is gone')")
    server.wait()
    with pytest.raises(RuntimeError, match="keyed: Spark on 2 cores ended with code 1: the JVM is gone"):
        server.ask(Path("events"), "keyed")
    server.close()


def test_an_engine_that_gives_up_is_left_out() -> None:
    class Asked:
        def ask(self, _: Path, work: str) -> tuple[int, float]:
            if work.endswith("tree"):
                raise GaveUp(f"{work}: too many runs")
            return 1, 2.0 if work.endswith("chain") else 3.0

    (line,) = spark_cores.against_engines(Asked(), Path("events"), {"keyed": QUERIES["keyed"]}, 2)  # type: ignore[arg-type]
    assert line.value == 1.5
    assert line.note == ("best of 2: lazy_chain; keyed, lazy_tree: too many runs; keyed, tree: too many runs")


def test_each_query_is_asked_of_the_engines_that_evaluate_it() -> None:
    assert engines(OTHERS["next match"]) == ["automaton"]
    assert engines(OTHERS["group"]) == list(ENGINES)


@pytest.mark.parametrize("name", [*QUERIES, *OTHERS])
def test_all_engines_find_as_many_matches(tmp_path: Path, name: str) -> None:
    query = {**QUERIES, **OTHERS}[name]
    events = pq.read_table(spark_cores.write_events(tmp_path, 30_000))
    found = {
        engine: fyke.match(events, query, engine=engine, time="t", type="kind").num_rows
        for engine in engines(query)
    }
    assert len(set(found.values())) == 1
    assert min(found.values()) > 0
