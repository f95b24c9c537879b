"""How far a streaming pipeline has come: a file in its checkpoint, written there and read by others."""

from __future__ import annotations

import contextlib
import json as jsons
import os
import time
from pathlib import Path
from typing import Any

from fyke.call.row_texts import as_json
from fyke.command.pipeline import Pipeline
from fyke.command.show import console, print_json, print_line
from fyke.errors import InputError
from fyke.spark.stream.progress import progress_line

_NAME = "progress.json"


def progress_file(pipeline: Pipeline) -> Path | None:
    """Return where the progress of a pipeline is written; None if its checkpoint is not on this machine."""
    checkpoint = pipeline.run.checkpoint
    return None if checkpoint is None or "://" in checkpoint else Path(checkpoint) / _NAME


def write_progress(file: Path | None, told: dict[str, Any]) -> None:
    """Write the progress of a pipeline, so that a reader sees the old or the new one, whole."""
    if file is None:
        return
    part = file.with_name(f".part{os.getpid()}.{file.name}")
    with contextlib.suppress(OSError):  # a full disk is told by the stream itself
        part.write_text(as_json({"pid": os.getpid(), **told}), encoding="utf-8")
        os.replace(part, file)


def read_progress(file: Path) -> dict[str, Any]:
    """Return the progress of a pipeline; ``state`` is running, stopped, failed, or lost without a word.

    Raises
    ------
    InputError
        If there is none.
    """
    try:
        told: dict[str, Any] = jsons.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(
            f"the pipeline has not run yet: there is no {str(file)!r}", remedy="Start it with fyke run."
        ) from None
    except (OSError, ValueError) as error:
        raise InputError(f"the progress in {str(file)!r} cannot be read: {error}") from error
    if told["state"] == "running" and not _is_alive(told["pid"]):
        told["state"] = "lost"
    return told


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def watch_pipeline(pipeline: Pipeline, *, every: float, once: bool, json: bool) -> bool:
    """Show the progress of a pipeline until it ends, or ``once``; say whether it is well.

    Raises
    ------
    InputError
        If it is no stream, or has not run, or its checkpoint is elsewhere.
    """
    file = progress_file(pipeline)
    if file is None:
        why = "is on another machine" if pipeline.run.checkpoint else "is not named"
        raise InputError(
            f"{pipeline.file}: [run] checkpoint: {why}, and progress is written beside it",
            remedy="A stream with a checkpoint on this machine can be watched.",
        )
    last = ""
    while True:
        told = read_progress(file)
        if (text := as_json(told)) != last:
            last = text
            print_progress(told, json=json)
        if once or told["state"] != "running":
            return told["state"] in ("running", "stopped")
        time.sleep(every)


def print_progress(told: dict[str, Any], *, json: bool) -> None:
    """Print the progress of a pipeline: a line for each query, and its end."""
    if json:
        print_json(told)
        return
    out = console()
    for name, seen in told["queries"].items():
        if told["state"] != "running":
            seen["lag_seconds"] = None  # nothing is behind what does not run
        out.print(progress_line(seen, name), soft_wrap=True, markup=False)
    if told["state"] == "failed":
        print_line("error", told["error"], "red")
    elif told["state"] == "lost":
        print_line("error", f"process {told['pid']} is gone, and has not said why", "red")
    elif told["state"] == "stopped":
        out.print("stopped")
