"""Exactly once: a job that is killed in the middle of a micro-batch, again and again, writes what it must."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fyke
from tests.docs.blocks import ROOT
from tests.spark.stream_job import OPTIONS, QUERY

pytestmark = [pytest.mark.spark, pytest.mark.long]

FILES, ROWS, KILLS = 60, 200, 20
SECOND = 1_000_000


def make_events(root: Path, files: int = FILES) -> pa.Table:
    """Write files of events, each of five seconds, with ties and in no order."""
    (root / "in").mkdir(parents=True)
    tables = []
    for number in range(files):
        rng = np.random.default_rng(number)
        ticks = rng.integers(number * 5, number * 5 + 5, ROWS) * SECOND + 10**15
        table = pa.table(
            {
                "ts": pa.array(ticks, pa.timestamp("us", tz="UTC")),
                "kind": rng.choice(["A", "B", "C", "D"], ROWS, p=[0.2, 0.3, 0.1, 0.4]),
                "k": rng.integers(0, 60, ROWS),
                "n": np.arange(number * ROWS, (number + 1) * ROWS),
            }
        )
        path = root / "in" / f"{number:04}.parquet"
        pq.write_table(table, path)
        os.utime(path, (1_000 + number,) * 2)
        tables.append(table)
    return pa.concat_tables(tables)


def start(root: Path, sink: str) -> subprocess.Popen[bytes]:
    for name in ("started", "failures"):
        (root / name).unlink(missing_ok=True)
    command = [sys.executable, "-m", "tests.spark.stream_job", str(root), sink]
    with (root / "log").open("ab") as log:
        return subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log, start_new_session=True)


def is_in_a_batch(root: Path) -> bool:
    """Say whether a micro-batch is planned and not committed."""
    planned, done = (
        {path.name for path in (root / "checkpoint" / log).glob("[0-9]*")} for log in ("offsets", "commits")
    )
    return bool(planned - done)


def wait_for_batch(root: Path, job: subprocess.Popen[bytes], shown: int, chance: random.Random) -> bool:
    """Wait until the job is somewhere within a micro-batch that it has begun itself."""
    deadline = time.monotonic() + 120
    while job.poll() is None and time.monotonic() < deadline:
        offsets = len(list((root / "checkpoint" / "offsets").glob("[0-9]*")))
        if (root / "started").exists() and offsets > shown and is_in_a_batch(root):
            time.sleep(chance.random() * 0.8)
            return job.poll() is None and is_in_a_batch(root)
        time.sleep(0.02)
    return False


def workers_of(job: subprocess.Popen[bytes]) -> list[int]:
    """Return the Python workers of a job: processes of its session that the daemon has forked."""
    found: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            stat = (path / "stat").read_text().rsplit(")", 1)[1].split()
            command = (path / "cmdline").read_bytes()
        except OSError:
            continue
        if int(stat[3]) == job.pid and b"pyspark.daemon" in command and int(stat[1]) != job.pid:
            found[int(path.name)] = int(stat[1])
    return [pid for pid, parent in found.items() if parent in found]


def failures(root: Path) -> int:
    """Return how many tasks of the job have failed."""
    return int((root / "failures").read_text()) if (root / "failures").exists() else 0


def hits_a_task(root: Path, job: subprocess.Popen[bytes], worker: int) -> bool:
    """Kill a worker; say whether a task has failed by that, before the micro-batch was over."""
    before = failures(root)
    try:
        os.kill(worker, signal.SIGKILL)
    except ProcessLookupError:  # it has ended by itself
        return False
    deadline, over = time.monotonic() + 60, 0.0
    while job.poll() is None and time.monotonic() < deadline and over < 1.0:
        if failures(root) > before:
            return True
        time.sleep(0.05)
        over += 0.0 if is_in_a_batch(root) else 0.05  # Spark tells of failures a moment later
    return job.poll() not in (None, 0)


def kill_all(job: subprocess.Popen[bytes]) -> None:
    os.killpg(job.pid, signal.SIGKILL)
    job.wait()


def committed(root: Path) -> list[str]:
    """Return the identifiers that the sink has committed: what a killed task left there is in no log."""
    logged = [line for path in (root / "out" / "_spark_metadata").glob("[0-9]*") for line in _lines(path)]
    paths = {json.loads(line)["path"].removeprefix("file://") for line in logged}
    tables = [pq.read_table(path, columns=["match_id"]) for path in sorted(paths)]
    return pa.concat_tables(tables)["match_id"].to_pylist()


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines()[1:]  # behind the version


def assert_written_once(root: Path, events: pa.Table) -> None:
    """Compare what the sink has committed with the batch, which never failed; the open end is flushed."""
    written = committed(root)
    assert max(Counter(written).values()) == 1
    batch = fyke.match(events, QUERY, **OPTIONS)
    latest = max(events["ts"].to_pylist())
    certain = {
        row["match_id"] for row in batch.to_pylist() if (latest - row["start"]).total_seconds() > 45 + 10
    }
    assert len(certain) > 200
    assert certain <= set(written) <= set(batch["match_id"].to_pylist())


def assert_ends(root: Path, job: subprocess.Popen[bytes]) -> None:
    """Wait for the end of a job, which must be a good one; on a busy machine a micro-batch takes long."""
    try:
        code = job.wait(1_200)
    except subprocess.TimeoutExpired:
        kill_all(job)
        raise
    assert code == 0, (root / "log").read_text()[-2_000:]


def uninterrupted(root: Path) -> list[str]:
    assert_ends(root, start(root, "files"))
    return sorted(committed(root))


def test_the_driver_is_killed(tmp_path: Path) -> None:
    make_events(tmp_path / "calm")
    expected = uninterrupted(tmp_path / "calm")
    events, root, chance = make_events(tmp_path / "killed"), tmp_path / "killed", random.Random(1)
    hits = tries = 0
    while hits < KILLS and tries < 3 * KILLS:
        tries += 1
        shown = len(list((root / "checkpoint" / "offsets").glob("[0-9]*")))
        job = start(root, "files")
        # The batch that was cut off is run first; only a later one is a new point.
        if wait_for_batch(root, job, shown - (hits % 2), chance):
            kill_all(job)
            hits += is_in_a_batch(root)
        elif job.poll() is not None:
            break
        else:
            kill_all(job)
    assert hits == KILLS, f"{hits} of {tries} hit"
    assert_ends(root, start(root, "files"))
    assert_written_once(root, events)
    assert sorted(committed(root)) == expected


def test_workers_are_killed(tmp_path: Path) -> None:
    make_events(tmp_path / "calm")
    expected = uninterrupted(tmp_path / "calm")
    events, root, chance = make_events(tmp_path / "killed"), tmp_path / "killed", random.Random(2)
    hits = 0
    job = start(root, "files")
    deadline = time.monotonic() + 900
    while time.monotonic() < deadline:
        if job.poll() is not None:
            if job.returncode == 0:
                break
            job = start(root, "files")  # too many deaths at once end a query, as any failure does
        if hits < KILLS and (root / "started").exists() and is_in_a_batch(root):
            time.sleep(chance.random() * 0.4)
            workers = workers_of(job)
            if workers and is_in_a_batch(root):
                hits += hits_a_task(root, job, chance.choice(workers))
        time.sleep(0.02)
    assert_ends(root, job)
    assert hits == KILLS
    assert_written_once(root, events)
    assert sorted(committed(root)) == expected


def test_death_between_the_sink_and_the_commit_repeats_the_batch(tmp_path: Path) -> None:
    make_events(tmp_path, files=24)
    for _ in range(12):
        job = start(tmp_path, "batches")
        if job.wait(300) == 0:
            break
    assert job.returncode == 0, (tmp_path / "log").read_text()[-2_000:]
    twice = sorted((tmp_path / "out").glob("*.1"))
    assert len(twice) >= 3
    for again in twice:
        assert again.read_text() == again.with_suffix(".0").read_text()
    assert any(again.read_text() for again in twice)
