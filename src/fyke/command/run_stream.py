"""A pipeline on events as they come: a query of Spark for each sink, until one fails or is stopped."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fyke.command.asked import first_rows
from fyke.command.pipeline import TERMINAL, Pipeline, Sink
from fyke.command.run_batch import about, run_queries, take_events
from fyke.command.show import console, error_text, print_json, print_rows, working
from fyke.command.source import as_spark_sees
from fyke.command.watching import print_progress, progress_file, write_progress
from fyke.errors import FykeError, SinkError
from fyke.spark.local import spark_says
from fyke.spark.sinks import check_running, start_sink
from fyke.spark.stream.progress import progress, progress_line

_TICK = 0.5  # seconds


def run_stream(pipeline: Pipeline, *, once: bool, rows: int, json: bool) -> None:
    """Run a streaming pipeline: for ever, or ``once`` over what is there.

    However it ends, all queries have been stopped and their progress is written.
    """
    sinks = pipeline.sinks or tuple(Sink(each, each, TERMINAL) for each in pipeline.wanted)
    for sink in sinks:
        _check(pipeline, sink)
    with working("starting Spark"):
        events = take_events(pipeline, on=True)
        results = run_queries(pipeline, events, pipeline.options)
    file = progress_file(pipeline)
    if file is not None:
        _make_folder(pipeline, file.parent)
    trigger = _trigger(pipeline, once=once)
    queries: dict[str, Any] = {}
    with _told(pipeline, queries, json=json) as tell:
        for sink in sinks:
            with about(pipeline, f"sink.{sink.name}"):
                queries[sink.name] = _start(
                    pipeline, results[sink.query], sink, trigger, rows=rows, json=json
                )
        tell("running")
        while sum(map(check_running, queries.values())):  # a sum asks each of them
            time.sleep(_TICK)
            tell("running")


def _check(pipeline: Pipeline, sink: Sink) -> None:
    """Refuse a folder that Spark could not write to; one that is there is written further."""
    if sink.path is None or sink.remote:
        return
    path = Path(sink.path)
    with about(pipeline, f"sink.{sink.name}"):
        if path.is_file():
            raise SinkError(f"{sink.path!r} is a file, and a stream writes a folder")
        if not path.parent.is_dir():
            raise SinkError(f"there is no folder {str(path.parent)!r} to write {path.name!r} to")
        if not os.access(path if path.exists() else path.parent, os.W_OK | os.X_OK):
            raise SinkError(f"no permission to write {sink.path!r}")


def _make_folder(pipeline: Pipeline, folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SinkError(
            f"{pipeline.file}: [run] checkpoint: {str(folder)!r} cannot be made: {error.strerror}"
        ) from error


def _trigger(pipeline: Pipeline, *, once: bool) -> dict[str, Any]:
    if once:
        return {"availableNow": True}
    return {} if pipeline.run.trigger is None else {"processingTime": pipeline.run.trigger}


def _start(
    pipeline: Pipeline, frame: Any, sink: Sink, trigger: dict[str, Any], *, rows: int, json: bool
) -> Any:
    def show(batch: Any, number: int) -> None:
        shown, total = first_rows(batch, None if json else rows)
        if json:
            print_json({"query": sink.query, "batch": number, "rows": shown.to_pylist()})
        elif total:
            print_rows(shown, total, title=f"{sink.query}, micro-batch {number}")

    checkpoint = pipeline.run.checkpoint
    return start_sink(
        frame,
        sink.format,
        None if sink.path is None else as_spark_sees(sink.path),
        sink.options,
        name=sink.name,
        checkpoint=None if checkpoint is None else as_spark_sees(f"{checkpoint}/{sink.name}"),
        mode=sink.mode or "append",
        trigger=trigger,
        each_batch=show if sink.format == TERMINAL else None,
    )


@contextlib.contextmanager
def _told(pipeline: Pipeline, queries: dict[str, Any], *, json: bool) -> Iterator[Any]:
    """Lend what tells the progress, to people here and to ``fyke watch``; at the end stop all queries."""
    file, err = progress_file(pipeline), console(errors=True)
    status = err.status("starting the stream") if err.is_terminal and not json else None
    last: dict[str, Any] = {}

    def tell(state: str, **more: Any) -> None:
        seen = {name: progress(query) for name, query in queries.items()}
        told = {"state": state, "pipeline": str(pipeline.file), "queries": seen, **more}
        if told != last:
            last.clear()
            last.update(told)
            write_progress(file, told)
        if status is not None:
            status.update("\n".join(progress_line(each, name) for name, each in seen.items()))

    state, more = "failed", {"error": ""}
    try:
        with status or contextlib.nullcontext():
            yield tell
        state, more = "stopped", {}
    except (KeyboardInterrupt, SystemExit):
        state, more = "stopped", {}
        raise
    except Exception as error:
        expected = error if isinstance(error, FykeError) else spark_says(error)
        more = {"error": error_text(expected) if expected is not None else f"{type(error).__name__}: {error}"}
        raise
    finally:
        for query in queries.values():
            query.stop()
        tell(state, **more)
    print_progress(last, json=json)
