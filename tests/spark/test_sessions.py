"""Sessions of every kind, each in a process of its own: Connect, started before Fyke, workers with a zip."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import weakref
from pathlib import Path
from types import SimpleNamespace

import pytest
from pyspark.sql import SparkSession

from fyke.spark import session
from fyke.spark.session import arrange_workers, package_archive

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = "'spark.ui.enabled': 'false', 'spark.driver.memory': '512m', 'spark.sql.shuffle.partitions': '2'"
EVENTS = """
import pyarrow as pa
events = pa.table(
    {"kind": ["A", "B", "B", "A", "C"], "t": [1, 2, 3, 4, 5], "k": [1, 1, 2, 2, 1], "x.y": [5, 4, 3, 2, 1]}
)
QUERIES = [
    "PATTERN SEQ(A a, B+ b[], C c) WHERE { [k] AND a.'x.y' > c.'x.y' }".replace("'", '"'),
    "PATTERN SEQ(A a, ANY b) WHERE { regexp_like(a.kind, '^A') } RETURN count(*) AS n, max(b.t) AS t",
    "PATTERN SEQ(A a, ANY b) RETURN a.t, b.t",
]
OPTIONS = {"time": "t", "type": "kind"}
CLAUSE = (
    "MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES LAST(t) AS last "
    'PATTERN (a b+) DEFINE b AS "x.y" < PREV("x.y"))'
)
def rows(table):
    return sorted(map(repr, table.to_pylist()))
"""


def run(script: str, **environment: str | None) -> str:
    """Run a script in a fresh interpreter and return what it prints."""
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **environment}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", EVENTS + textwrap.dedent(script)],
        env={name: value for name, value in variables.items() if value is not None},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-5_000:]
    return done.stdout


@pytest.mark.long  # a server of Spark Connect, and a session of its own for each kind of call
@pytest.mark.spark
def test_spark_connect() -> None:
    pytest.importorskip("grpc")
    printed = run(
        f"""
        import fyke
        from pyspark.sql import SparkSession
        builder = SparkSession.builder.remote("local[2]")
        for name, value in {{{SETTINGS}}}.items():
            builder = builder.config(name, value)
        spark = builder.getOrCreate()
        from fyke.spark.session import is_connect
        assert is_connect(spark)
        frame = spark.createDataFrame(events)
        metrics = fyke.Metrics()
        for query in (QUERIES[0], QUERIES[2]):
            found = fyke.match(frame, query, metrics=metrics, **OPTIONS)
            try:
                raise AssertionError(metrics.get(timeout=0.1))
            except fyke.errors.NotRunError as error:
                assert "nothing has run yet" in str(error)
            on_table = fyke.Metrics()
            expected = fyke.match(events, query, metrics=on_table, **OPTIONS)
            assert rows(found.toArrow()) == rows(expected), query
            for name, value in on_table.get().items():
                assert name.startswith("seconds_") or metrics.get()[name] == value, name
        assert fyke.match(frame, QUERIES[1], **OPTIONS).collect() == [(2, 5)]
        frame.createOrReplaceTempView("stored")
        assert fyke.match("stored", QUERIES[1], **OPTIONS).collect() == [(2, 5)]
        try:
            raise AssertionError(fyke.match("unstored", QUERIES[1], **OPTIONS))
        except fyke.errors.InputError as error:
            assert "the Spark session has no view or table 'unstored'" in str(error)
        try:
            fyke.match(frame, "PATTERN A a WHERE {{ no_such(a.k) > 1 }}", **OPTIONS)
        except fyke.FykeError as error:
            assert "unknown function 'no_such'" in str(error)
        join = "SELECT a.t AS x, b.`x.y` AS y FROM [RANGE 3 SEC] A AS a; B AS b WHERE [k]"
        counts = "SELECT k, COUNT(*) AS n FROM [RANGE 4 SEC SLIDE 2] A WHERE [k]"
        for query in (join, counts):
            expected = fyke.match(events, query, time_unit="s", **OPTIONS)
            found = fyke.match(frame, query, time_unit="s", **OPTIONS)
            assert rows(found.toArrow()) == rows(expected), query
        found, on_table = fyke.match(frame, CLAUSE, metrics=metrics), fyke.Metrics()
        assert rows(found.toArrow()) == rows(fyke.match(events, CLAUSE, metrics=on_table))
        for name, value in on_table.get().items():
            assert name.startswith("seconds_") or metrics.get()[name] == value, name
        joined = "SELECT a.k, a.last FROM stored " + CLAUSE + " AS a, stored s WHERE s.t = a.last AND a.k = 1"
        assert fyke.sql(spark, joined).collect() == [(1, 5)]
        try:
            raise AssertionError(fyke.sql(spark, joined, metrics=metrics))
        except fyke.errors.OptionError as error:
            assert "the session is of Spark Connect" in str(error)
        limited = fyke.match(frame, QUERIES[0], limits=fyke.Limits(buffer_bytes=1), **OPTIONS)
        try:
            raise AssertionError(limited.collect())
        except fyke.errors.LimitError as error:
            assert str(error).startswith("limit 'buffer_bytes' of 1 was exceeded"), str(error)
        print("connected")
        spark.stop()
        """,
        PYSPARK_PYTHON=None,
    )
    assert "connected" in printed


@pytest.mark.long
@pytest.mark.spark
def test_a_session_started_before_fyke(tmp_path: Path) -> None:
    """Its workers would run the first python3 on the path, here one that is not Python at all."""
    other = tmp_path / "python3"
    other.write_text("#!/bin/sh\nexit 77\n")
    other.chmod(0o755)
    printed = run(
        f"""
        from pyspark.sql import SparkSession
        builder = SparkSession.builder.master("local[2]")
        for name, value in {{{SETTINGS}}}.items():
            builder = builder.config(name, value)
        spark = builder.getOrCreate()
        assert spark.sparkContext.pythonExec == "python3"
        import fyke
        frame = spark.createDataFrame(events)
        for query in (QUERIES[0], QUERIES[2]):
            expected = rows(fyke.match(events, query, **OPTIONS))
            assert rows(fyke.match(frame, query, **OPTIONS).toArrow()) == expected
        print("matched")
        """,
        PYSPARK_PYTHON=None,
        PATH=os.pathsep.join([str(tmp_path), os.environ["PATH"]]),
    )
    assert "matched" in printed


class Cluster:
    """A session whose workers run elsewhere."""

    sparkContext = SimpleNamespace(master="spark://host:7077")

    def __init__(self) -> None:
        self.sent: list[str] = []

    def addArtifacts(self, path: str, *, pyfile: bool) -> None:
        assert pyfile
        self.sent.append(Path(path).name)


@pytest.mark.spark
def test_kernels_are_compiled_for_workers_of_this_machine_alone(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []
    monkeypatch.setattr(session, "compile_for_workers", lambda: asked.append(True))
    monkeypatch.setattr(session, "_shipped", weakref.WeakSet())
    cluster = Cluster()
    for _ in range(2):  # once a session
        arrange_workers(cluster)  # type: ignore[arg-type]
    assert (asked, cluster.sent) == ([], ["fyke.zip"])
    for _ in range(2):
        arrange_workers(spark)
    assert asked == [True]


@pytest.mark.long  # a session of its own, whose workers compile
@pytest.mark.spark
@pytest.mark.parametrize("cache", ["damaged", "not to be written to"])
def test_workers_without_good_kernels_on_disk(tmp_path: Path, cache: str) -> None:
    folder = tmp_path / "kernels"
    if cache == "not to be written to":
        folder.write_text("no folder can be here")
    printed = run(
        f"""
        import fyke
        from pathlib import Path
        from pyspark.sql import SparkSession
        expected = rows(fyke.match(events, QUERIES[0], **OPTIONS))
        halves = {{}}
        for file in Path({str(tmp_path)!r}).rglob("*.kernel"):
            whole = file.read_bytes()
            halves[file] = len(whole) // 2
            file.write_bytes(whole[: len(whole) // 2])
        assert halves
        builder = SparkSession.builder.master("local[2]")
        for name, value in {{{SETTINGS}}}.items():
            builder = builder.config(name, value)
        spark = builder.getOrCreate()
        frame = spark.createDataFrame(events)
        assert rows(fyke.match(frame, QUERIES[0], **OPTIONS).toArrow()) == expected
        print("healed", sum(file.stat().st_size > half for file, half in halves.items()) > 0)
        """,
        NUMBA_CACHE_DIR=str(folder),
        TMPDIR=str(tmp_path),
        PYSPARK_PYTHON=None,
    )
    assert printed.splitlines()[-1] == "healed True"


def test_the_shipped_package_can_be_imported_from_its_zip(tmp_path: Path) -> None:
    archive = package_archive()
    path = os.pathsep.join([str(archive), *(each for each in sys.path if each.endswith("site-packages"))])
    script = """
    import fyke
    assert ".zip" in fyke.__file__, fyke.__file__
    print(fyke.match(events, QUERIES[2], **OPTIONS).num_rows)
    """
    # Compiling takes some seconds, so the match runs without; one small kernel is compiled and cached.
    assert run(script, PYTHONPATH=path, FYKE_JIT="0").split() == ["2"]
    script = """
    import numpy as np
    from fyke.engine.kernels.input.sorting import is_identity
    print(is_identity(np.arange(3)))
    """
    for _ in ("compiled", "cached"):
        assert run(script, PYTHONPATH=path, NUMBA_CACHE_DIR=None, HOME=str(tmp_path)).split() == ["True"]


def test_a_table_needs_neither_connect_nor_java() -> None:
    printed = run(
        """
        import sys
        for name in ("grpc", "google.protobuf", "zstandard"):
            sys.modules[name] = None
        import fyke
        print(fyke.match(events, QUERIES[2], **OPTIONS).num_rows)
        """,
        FYKE_JIT="0",
        PATH="/nonexistent",
        JAVA_HOME=None,
    )
    assert printed.split() == ["2"]
