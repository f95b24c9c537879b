"""Commands that a signal stops while they write: the exit code, a word about it, nothing half written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import pytest

import fyke.command.main as main_module
from fyke.command.main import main
from tests.command.test_matching import EVENTS
from tests.command.test_pipeline import LOGINS, TRANSFERS, WHOLE
from tests.command.test_pipeline import QUERY as ROBBED_QUERY

SLOW_FILE = """
import signal, sys, time
from fyke.command import run_batch, sink
from fyke.command.main import main

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell lets what runs behind it ignore Ctrl-C
write_part = sink.write_part

def slowly(table, path, kind):
    write_part(table, path, kind)
    time.sleep(120)

sink.write_part = run_batch.write_part = slowly
sys.exit(main(sys.argv[1:]))
"""
SLOW_ROWS = """
import signal, sys, time
from fyke.command.main import main
from fyke.spark import sinks

signal.signal(signal.SIGINT, signal.default_int_handler)
in_format = sinks.in_format

def slowly(batches):
    for batch in batches:
        for row in range(batch.num_rows):
            yield batch.slice(row, 1)
            time.sleep(2)

def slow_format(frame, kind):
    made = in_format(frame, kind)
    return made.mapInArrow(slowly, made.schema)

sinks.in_format = slow_format
sys.exit(main(sys.argv[1:]))
"""
QUERY = "PATTERN Shelf a RETURN a.tag AS tag"
MATCH = ("match", "-q", QUERY, "events.csv", "-t", "ts", "-k", "kind", "-o", "m.parquet")
WRITING = [(MATCH, "m.parquet"), (("run", "pipeline.toml"), "guessed.parquet")]
SIGNALS = [(signal.SIGINT, 130, "by Ctrl-C"), (signal.SIGTERM, 143, "by a termination")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shelves = "".join(f"2026-01-05 10:{minute:02}:00,Shelf,gin,9\n" for minute in range(60))
    (tmp_path / "events.csv").write_text(EVENTS + shelves)
    (tmp_path / "logins.csv").write_text(LOGINS)
    (tmp_path / "transfers.csv").write_text(TRANSFERS)
    (tmp_path / "robbed.fyke").write_text(ROBBED_QUERY)
    (tmp_path / "pipeline.toml").write_text(WHOLE)
    return tmp_path


@pytest.mark.parametrize("number, code, word", SIGNALS)
@pytest.mark.parametrize("arguments, left", WRITING, ids=["match", "run"])
def test_a_file_of_a_table(
    arguments: tuple[str, ...], left: str, number: int, code: int, word: str, folder: Path
) -> None:
    (folder / left).write_text("of yesterday")
    told = _stopped(SLOW_FILE, arguments, number, code, folder, lambda part: True)
    assert told == f"note: '{left}' was not complete, and what there was of it is removed\nstopped: {word}\n"
    assert (folder / left).read_text() == "of yesterday"


@pytest.mark.spark
@pytest.mark.long  # starts Spark in a process of its own
@pytest.mark.parametrize("number, code, word", SIGNALS)
@pytest.mark.parametrize("arguments, left", WRITING, ids=["match", "run"])
def test_a_folder_of_spark(
    arguments: tuple[str, ...], left: str, number: int, code: int, word: str, folder: Path
) -> None:
    def tasks_write(part: Path) -> bool:
        return any(part.glob("_temporary/0/_temporary/*/*"))

    told = _stopped(SLOW_ROWS, (*arguments, "--spark"), number, code, folder, tasks_write)
    assert told == f"note: '{left}' was not complete, and what there was of it is removed\nstopped: {word}\n"


def _stopped(
    script: str,
    arguments: tuple[str, ...],
    number: int,
    code: int,
    folder: Path,
    writes: Callable[[Path], bool],
) -> str:
    """Send a signal to a command while it writes; return what it says, when all is as it was before."""
    before = sorted(os.listdir(folder))
    command = [sys.executable, "-c", script, *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder)
    until = time.monotonic() + 200
    while not any(map(writes, folder.glob(".part*"))):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.1)
    process.send_signal(number)
    said, told = process.communicate(timeout=100)
    assert (process.returncode, said) == (code, "")
    assert sorted(os.listdir(folder)) == before
    return told


def test_a_program_that_calls_the_command_has_its_own_signals_again() -> None:
    before = {number: signal.getsignal(number) for number, _, _ in SIGNALS}
    assert main(["check", "-q", QUERY]) == 0
    with patch.object(main_module, "app", lambda *_, **__: 0 * bool(signal.signal(signal.SIGINT, print))):
        main(["check", "-q", QUERY])  # as one that starts Spark
    assert {number: signal.getsignal(number) for number, _, _ in SIGNALS} == before
