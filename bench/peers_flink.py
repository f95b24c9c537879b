"""Apache Flink CEP on the same events and cores: the job of FlinkPeer.java, in a JVM that is warm."""

from __future__ import annotations

import functools
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa

import fyke
from bench.fetch import fetched, program
from bench.peer_cases import CASES, OPTIONS, Case, cores, in_order, numbers, on_threads, same
from bench.processes import keep_to
from bench.report import CannotRun, Line, Spread, show

LIBRARIES = "apache-flink-libraries==2.3.0"
SOURCE = Path(__file__).parent / "FlinkPeer.java"
BAR = 50.0  # times Flink's throughput
_DOUBLES = (("x", ">f8"), ("y", ">f8"))
_OPEN = ("java.lang", "java.util", "java.util.concurrent", "java.net", "java.io", "java.time")


def compiled(folder: Path) -> list[str]:
    """Compile the job and return the command that runs it."""
    java, compiler = program("java"), program("javac")
    jars = sorted((fetched("flink", LIBRARIES) / "pyflink" / "lib").glob("*.jar"))
    if not any(jar.name.startswith("flink-cep-") for jar in jars):
        raise CannotRun(f"{LIBRARIES} holds no jar of Flink CEP")
    path = os.pathsep.join(str(jar) for jar in jars)
    done = subprocess.run(
        [compiler, "-nowarn", "-cp", path, "-d", str(folder), str(SOURCE)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise CannotRun(f"javac does not compile {SOURCE.name}: {done.stderr.splitlines()[0]}")
    opened = [f"--add-opens=java.base/{each}=ALL-UNNAMED" for each in _OPEN]
    return [java, "-Xmx4g", *opened, "-cp", os.pathsep.join([str(folder), path]), "FlinkPeer"]


class Job:
    """A JVM that holds the events and runs the job whenever it is told to."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self._said()

    def run(self) -> tuple[float, int]:
        """Return the seconds of a run and its matches."""
        return self._ask("run")

    def rows(self, file: Path, width: int) -> np.ndarray[Any, Any]:
        """Return the matches of a run as rows of integers."""
        self._ask(f"rows {file}")
        found = np.fromfile(file, ">i8").reshape(-1, width)
        return in_order(list(found.T))

    def _ask(self, line: str) -> tuple[float, int]:
        stdin: IO[str] = self.process.stdin  # type: ignore[assignment]
        stdin.write(f"{line}\n")
        stdin.flush()
        seconds, matches = self._said().split()
        return float(seconds), int(matches)

    def _said(self) -> str:
        stdout: IO[str] = self.process.stdout  # type: ignore[assignment]
        line = stdout.readline()
        if not line:
            raise RuntimeError(f"Flink ended with code {self.process.wait()}")
        return line.strip()


@contextmanager
def job(command: list[str], case: Case, events: pa.Table, parallelism: int, folder: Path) -> Iterator[Job]:
    """Start a JVM with the events of a case; one on one core gets no other."""
    file = folder / "events"
    write_events(events, file)

    process = subprocess.Popen(
        [*command, str(file), case.shape, str(case.window), str(parallelism)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        preexec_fn=functools.partial(keep_to, parallelism),
    )  # fmt: skip
    try:
        yield Job(process)
    finally:
        process.kill()
        process.communicate()


def write_events(events: pa.Table, file: Path) -> None:
    """Write events for the job: numbers of eight bytes, types as their place in the alphabet."""
    names = events.column("kind").combine_chunks().dictionary_encode()
    codes = np.array(
        [ord(name) - ord("A") if len(name) == 1 else -1 for name in names.dictionary.to_pylist()]
    )
    rows = np.empty(
        events.num_rows, [("t", ">i8"), ("kind", ">i8"), ("key", ">i8"), ("x", ">f8"), ("y", ">f8")]
    )
    rows["kind"] = codes[names.indices.to_numpy()]
    for name in ("t", "key", "x", "y"):
        rows[name] = events.column(name).to_numpy()
    with file.open("wb") as data:
        data.write(events.num_rows.to_bytes(8, "big"))
        rows.tofile(data)


def compare(command: list[str], case: Case, rows: int, parallelism: int, times: int) -> Line:
    """Compare the throughputs of both, which find the same matches, on as many cores."""
    events = case.events(rows)
    options = {**OPTIONS, **on_threads(parallelism)}
    mine = numbers(fyke.match(events, case.query, **options))
    ratios, best = [], [float("inf"), float("inf")]
    with tempfile.TemporaryDirectory(prefix="bench-flink-") as name:
        folder = Path(name)
        with job(command, case, events, parallelism, folder) as flink:
            theirs = flink.rows(folder / "rows", mine.shape[1])  # warms up, too
            same(case, "Flink", mine, theirs)
            for _ in range(times):
                seconds, matches = flink.run()
                assert matches == len(mine), f"{case.name}: {matches} matches in a later run of Flink"
                begin = time.perf_counter()
                fyke.match(events, case.query, **options)
                took = time.perf_counter() - begin
                ratios.append(seconds / took)
                best = [min(best[0], seconds), min(best[1], took)]
    where = "one core" if parallelism == 1 else f"{parallelism} cores"
    note = (
        f"{len(mine):,} matches in {rows:,} events; "
        f"{rows / best[0]:,.0f} events a second by Flink, {rows / best[1]:,.0f} by Fyke"
    )
    return Line(
        f"{case.name}, {where}: throughput, Fyke / Flink", Spread(ratios), BAR, "x", note, at_least=True
    )


def main(*, quick: bool = False) -> bool:
    """Run the benchmark; return whether every bar holds."""
    rows, times = (200_000, 2) if quick else (1_000_000, 5)
    with tempfile.TemporaryDirectory(prefix="bench-flink-") as folder:
        command = compiled(Path(folder))
        pa.set_cpu_count(1)
        lines = [compare(command, case, rows, 1, times) for case in CASES]
        if cores() > 1:
            pa.set_cpu_count(cores())
            lines += [compare(command, case, rows, cores(), times) for case in CASES]
    remarks = (
        "Flink reads events that lie in its memory, only those of types in the pattern, with objects reused "
        "and its state on the heap. Its time is that from the first event read to the last one matched, in a "
        "JVM that is warm; starting a job does not count. Fyke reads the table and makes whole rows."
    )
    return show(f"Apache Flink CEP, {LIBRARIES}", lines, remarks=remarks)
