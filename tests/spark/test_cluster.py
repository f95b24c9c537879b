"""A standalone cluster on this machine: a master and two workers, which get the package and the kernels."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

pytestmark = [pytest.mark.spark, pytest.mark.long]

HOME = Path(pyspark.__file__).parent
SOURCE = Path(__file__).resolve().parents[2] / "src"
CORES = 2

HEAD = """
    import os
    from collections import Counter
    from pathlib import Path
    import numpy as np, pyarrow as pa, pyarrow.parquet as pq
    import fyke
    from pyspark.sql import SparkSession

    def session():
        builder = SparkSession.builder.master(MASTER) if MASTER else SparkSession.builder.remote(REMOTE)
        settings = {
            "spark.executor.cores": "1", "spark.executor.memory": "512m", "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "4", "spark.sql.adaptive.enabled": "false",
            "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1",
            "spark.executorEnv.NUMBA_CACHE_DIR": WORKERS,
        }
        for name, value in settings.items() if MASTER else ():
            builder = builder.config(name, value)
        return builder.getOrCreate()
"""

BATCH = """
    kernels = Path(KERNELS)
    random = np.random.default_rng(1)
    events = pa.table({
        "kind": pa.array(np.array(list("ABC"))[random.integers(0, 3, 4000)]),
        "k": random.integers(0, 40, 4000), "v": random.random(4000), "t": np.arange(4000),
    })
    queries = [
        "PATTERN SEQ(A a, B b, C c) WHERE skip_till_next_match { [k] AND a.v < c.v } WITHIN 400",
        "PATTERN SEQ(A a, B b, C c) WHERE skip_till_next_match { a.v < c.v } WITHIN 4",
    ]
    options = {"time": "t", "type": "kind", "engine": "automaton"}
    expected = [sorted(fyke.match(events, query, **options)["match_id"].to_pylist()) for query in queries]
    compiled = {path: path.stat().st_mtime_ns for path in kernels.rglob("*.kernel")}
    assert compiled, "nothing was compiled here"

    spark = session()
    frame = spark.createDataFrame(events).repartition(4)
    for query, wanted in zip(queries, expected):
        found = fyke.match(frame, query, **options)
        assert sorted(found.toArrow()["match_id"].to_pylist()) == wanted and wanted
        assert found.count() == len(wanted)

    def look(batches):
        import os, fyke
        from fyke.engine.kernels.jit import ENTRIES
        own = [each.name for each in ENTRIES if each.compiled and each._kernel.stats.cache_misses]
        for batch in batches:
            where = os.environ.get("SPARK_EXECUTOR_DIRS", "")
            yield pa.record_batch({
                "file": [fyke.__file__], "executor": [where], "process": [os.getpid()],
                "own": pa.array([own], pa.list_(pa.string())),
            })

    told = frame.mapInArrow(look, "file string, executor string, process long, own array<string>").collect()
    print("files", sorted({row.file for row in told}))
    print("executors", len({row.executor for row in told}))
    own = Counter(name for each in {(row.process, *row.own) for row in told} for name in each[1:])
    print("compiled by workers", sum(own.values()))
    print("compiled twice", sorted(name for name in own if own[name] > 1))
    after = {path: path.stat().st_mtime_ns for path in kernels.rglob("*.kernel")}
    print("compiled anew", sorted(path.name for path in after if after[path] != compiled.get(path)))
    spark.stop()
"""

STREAM = """
    root = Path(KERNELS).parent
    (root / "in").mkdir()
    random = np.random.default_rng(1)
    events = pa.table({
        "kind": pa.array(np.array(list("ABCD"))[random.integers(0, 4, 6000)]),
        "k": random.integers(0, 40, 6000),
        "ts": pa.array(10**15 + np.arange(6000) * 10**6, pa.timestamp("us", "UTC")),
    })
    for number in range(6):  # two files a micro-batch, each in any order
        part = events.slice(number * 1000, 1000).take(random.permutation(1000))
        pq.write_table(part, root / "in" / f"{number}.parquet")
        os.utime(root / "in" / f"{number}.parquet", (1000 + number,) * 2)
    query = "PATTERN SEQ(A a, B+ b[], ~C c) WHERE greedy_skip_till_next_match { [k] } WITHIN 10 minutes"
    options = {"time": "ts", "type": "kind"}
    wanted = sorted(fyke.match(events, query, **options)["match_id"].to_pylist())

    spark = session()
    reader = spark.readStream.schema("kind string, k bigint, ts timestamp").option("maxFilesPerTrigger", 2)
    stream = reader.parquet(str(root / "in"))
    found = fyke.match(stream, query, **options, watermark="20 minutes")
    writer = found.writeStream.format("parquet").option("path", str(root / "out"))
    running = writer.option("checkpointLocation", str(root / "checkpoint")).trigger(availableNow=True).start()
    running.awaitTermination()
    written = [row.match_id for row in spark.read.parquet(str(root / "out")).select("match_id").collect()]
    rest = fyke.flush(stream, query, **options, watermark="20 minutes", checkpoint=str(root / "checkpoint"))
    rest = [row.match_id for row in rest.select("match_id").collect()]
    assert sorted(written + rest) == wanted and len(written) > 100, (len(written), len(rest), len(wanted))
    print("micro-batches", len({row["batchId"] for row in running.recentProgress if row["numInputRows"]}))
    spark.stop()
"""


def start(folder: Path, name: str, *arguments: str, says: str) -> tuple[subprocess.Popen[bytes], str]:
    """Start a part of Spark, wait until its log says that it is there, and return what it says."""
    log = folder / f"{name}.log"
    environment = {
        **os.environ,
        "SPARK_HOME": str(HOME),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "600m",
    }
    environment.pop("PYTHONPATH", None)  # so that workers have what they are sent, or what is installed
    with log.open("wb") as file:
        process = subprocess.Popen(
            [str(HOME / "bin" / "spark-class"), *arguments],
            env=environment,
            stdout=file,
            stderr=file,
            cwd=folder,
        )
    until = time.monotonic() + 120
    while time.monotonic() < until:
        found = re.search(says, log.read_text(errors="replace"))
        if found:
            return process, found[1]
        assert process.poll() is None, log.read_text(errors="replace")[-3_000:]
        time.sleep(0.2)
    process.kill()
    raise AssertionError(log.read_text(errors="replace")[-3_000:])


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of the master of a cluster with two workers of one core each."""
    folder = tmp_path_factory.mktemp("cluster")
    running = []
    try:
        options = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        process, address = start(
            folder, "master", "org.apache.spark.deploy.master.Master", *options,
            says=r"Starting Spark master at (spark://\S+)",
        )  # fmt: skip
        running.append(process)
        for number in range(CORES):
            own = (
                "--cores",
                "1",
                "--memory",
                "1g",
                "--webui-port",
                "0",
                "--work-dir",
                str(folder / f"w{number}"),
            )
            process, _ = start(
                folder, f"worker{number}", "org.apache.spark.deploy.worker.Worker", *own, address,
                says=r"(Successfully registered with master)",
            )  # fmt: skip
            running.append(process)
        yield address
    finally:
        for process in reversed(running):
            process.terminate()
            process.wait(30)


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as each:
        each.bind(("127.0.0.1", 0))
        return int(each.getsockname()[1])


def run(
    folder: Path, script: str = BATCH, *, master: str = "", remote: str = "", workers: str = "kernels"
) -> dict[str, str]:
    """Run a script as a driver, and return the lines that it prints by their first words.

    ``workers`` names the folder of compiled kernels that workers use; by default it is that of the driver.
    """
    kernels = folder / "kernels"
    kernels.mkdir()
    head = f"MASTER, REMOTE, KERNELS = {master!r}, {remote!r}, {str(kernels)!r}\n"
    head += f"WORKERS = {str(folder / workers)!r}\n"
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "NUMBA_CACHE_DIR": str(kernels)}
    environment |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", head + textwrap.dedent(HEAD) + textwrap.dedent(script)],
        env=environment, capture_output=True, text=True, timeout=580, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-5_000:]
    return dict(
        re.findall(
            r"^(files|executors|compiled anew|compiled by workers|compiled twice|micro-batches) (.*)$",
            done.stdout,
            re.MULTILINE,
        )
    )


def test_a_standalone_cluster_gets_package_and_kernels(master: str, tmp_path: Path) -> None:
    told = run(tmp_path, master=master)
    assert "fyke.zip" in told["files"]
    assert told["executors"] == "2"
    assert told["compiled anew"] == "[]"
    assert told["compiled by workers"] == "0"


def test_workers_that_find_no_kernels_compile_each_of_them_once(master: str, tmp_path: Path) -> None:
    """Both executors want the same kernels at the same time: one compiles, and the other waits for it."""
    told = run(tmp_path, master=master, workers="empty")
    assert told["executors"] == "2"
    assert int(told["compiled by workers"]) > 0
    assert told["compiled twice"] == "[]"
    assert list((tmp_path / "empty").rglob("*.kernel"))


def test_a_stream_on_a_cluster_keeps_its_state_wherever_its_tasks_run(master: str, tmp_path: Path) -> None:
    assert run(tmp_path, STREAM, master=master)["micro-batches"] == "3"


def test_spark_connect_to_a_cluster(master: str, tmp_path: Path) -> None:
    pytest.importorskip("grpc")
    kernels = tmp_path / "kernels"
    settings = {
        "spark.connect.grpc.binding.port": str(free_port()),
        "spark.executor.cores": "1",
        "spark.executor.memory": "512m",
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "4",
        "spark.executorEnv.NUMBA_CACHE_DIR": str(kernels),
    }
    options = [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
    process, port = start(
        tmp_path, "connect", "org.apache.spark.deploy.SparkSubmit", "--master", master, *options,
        "--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal",
        says=r"Spark Connect server started at: \S+?:(\d+)",
    )  # fmt: skip
    try:
        told = run(tmp_path, remote=f"sc://127.0.0.1:{port}")
    finally:
        process.terminate()
        process.wait(30)
    assert "fyke.zip" in told["files"]
    assert told["compiled anew"] == "[]"
