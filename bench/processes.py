"""A process for each benchmark: what malloc or a cache of one keeps does neither help nor harm another."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console

from bench.record import Record, read_record, write_record
from bench.report import SHOWN, CannotRun, Section


def keep_to(cores: int) -> None:
    """Let this process, and those it starts, run on so many cores, where the system can say so."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])


def run_here(name: str, work: Callable[..., bool], *, quick: bool, file: Path | None) -> bool:
    """Run a benchmark in this process, and write what it shows to a file; return whether its bars hold."""
    begin, broken, holds, shown = time.perf_counter(), "", True, len(SHOWN.sections)
    try:
        holds = work(**_arguments(work, quick=quick))
    except CannotRun as reason:
        SHOWN.sections.append(Section(name, skipped=str(reason)))
        Console().print(f"{name} cannot run: {reason}", markup=False)
    except Exception as error:
        broken = f"{type(error).__name__}: {error}"
        traceback.print_exc()
    record = Record(name, SHOWN.sections[shown:], time.perf_counter() - begin, holds, broken)
    if file is not None:
        write_record(record, file)
    return record.passed


def _arguments(work: Callable[..., bool], *, quick: bool) -> dict[str, Any]:
    """Return ``quick`` for a benchmark that knows a quick mode; others run as they are."""
    return {"quick": True} if quick and "quick" in inspect.signature(work).parameters else {}


def run_apart(name: str, *, quick: bool) -> Record:
    """Run a benchmark in a process of its own and return what it has shown."""
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        file = Path(folder) / "record.json"
        command = [sys.executable, "-m", "bench", name, "--record", str(file)]
        ended = subprocess.run(command + ["--quick"] * quick, check=False)
        if file.exists():
            return read_record(file)
    broken = f"its process ended with code {ended.returncode} before it could report"
    return Record(name, (), time.perf_counter() - begin, False, broken)
