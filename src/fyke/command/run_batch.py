"""A pipeline on events that are there: all results are complete before any of them gets its name."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

import fyke
from fyke.command.asked import first_rows
from fyke.command.map_columns import map_table
from fyke.command.pipeline import RULES, TERMINAL, Pipeline, Sink
from fyke.command.show import Done, working
from fyke.command.sink import check_folder, complete, write_part
from fyke.command.source import as_spark_sees, on_spark, take_frames, take_tables
from fyke.errors import FykeError, InputError, SinkError
from fyke.spark.local import counting_rows
from fyke.spark.mapped import map_frame, unite_frames, with_zones
from fyke.spark.sinks import write_rows


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a result: how many rows, where they are, and the first ones if they are to be shown."""

    query: str
    count: int
    where: str
    columns: list[str]
    rows: pa.Table | None = None


def run_batch(pipeline: Pipeline, *, spark: bool | None, rows: int | None) -> tuple[list[Outcome], Any]:
    """Run a pipeline; return what became of its results, and the results of its rules."""
    sinks = pipeline.sinks or tuple(Sink(each, each, TERMINAL) for each in pipeline.wanted)
    on = runs_on_spark(pipeline, sinks, spark)
    for sink in sinks:
        _check(pipeline, sink, on=on)
    with working("starting Spark" if on else "reading"):
        events = take_events(pipeline, on=on)
    with working("matching", tasks=on) as done:
        results, of_rules = _results(pipeline, events, done)
        return _written(pipeline, results, sinks, rows=rows), of_rules


def runs_on_spark(pipeline: Pipeline, sinks: tuple[Sink, ...], wanted: bool | None) -> bool:
    """Say whether Spark is to run a pipeline: because it was asked to, or since nothing else can."""
    if pipeline.run.stream or any(sink.for_spark for sink in sinks):
        return True
    named = {name: source.named for name, source in pipeline.sources.items()}
    with about(pipeline, "source"):
        return on_spark(named, pipeline.run.spark if wanted is None else wanted)


def _check(pipeline: Pipeline, sink: Sink, *, on: bool) -> None:
    if sink.path is None or sink.for_spark:
        return
    with about(pipeline, f"sink.{sink.name}"):
        if on and sink.format == "ipc":
            raise SinkError(f"Spark does not write {sink.path!r}", remedy="Let it end in .parquet.")
        replace = sink.mode == "overwrite"
        if Path(sink.path).is_dir() and not replace:
            raise SinkError(
                f"there is a folder {sink.path!r} already", remedy="Say mode = 'overwrite' to replace it."
            )
        check_folder(Path(sink.path), replace=replace)


@contextlib.contextmanager
def about(pipeline: Pipeline, section: str) -> Any:
    """Let errors say which section of the file they are about."""
    try:
        yield
    except FykeError as error:
        if not hasattr(error, "where"):
            error.where = f"{pipeline.file}: [{section}]: "  # type: ignore[attr-defined]
        raise


def take_events(pipeline: Pipeline, *, on: bool) -> Any:
    """Return the events of all sources, as attributes: one table or DataFrame, or a dict of them by type."""
    taken = {}
    for name, source in pipeline.sources.items():
        with about(pipeline, f"source.{name}"):
            given = {"": source.named}
            if not on:
                taken[name] = map_table(take_tables(given), source.mapped)
                continue
            frame = take_frames(given, pipeline.run.conf, stream=pipeline.run.stream)
            taken[name] = map_frame(frame, source.mapped)
            if pipeline.run.stream:
                times = pipeline.options["time"]
                taken[name] = with_zones(taken[name], [times] if isinstance(times, str) else list(times))
    if pipeline.by_type:
        return taken
    several = list(taken.values())
    if len(several) == 1:
        return several[0]
    with about(pipeline, "source"):
        return unite_frames(several) if on else _united(several)


def _united(tables: list[pa.Table]) -> pa.Table:
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        raise InputError(
            f"the sources have columns of one name that do not fit: {str(error).splitlines()[0]}",
            remedy="Give them one type, in [source.NAME.map].",
        ) from error


def _results(pipeline: Pipeline, events: Any, done: Done) -> tuple[dict[str, Any], Any]:
    """Return the results that are wanted by name, and those of rules."""
    options = {name: value for name, value in pipeline.options.items() if name != "watermark"}
    found = run_queries(pipeline, events, options)
    if pipeline.rules is None or RULES not in pipeline.wanted:
        return found, None
    results = pipeline.rules.run(events, done=done, **options)
    return found | {RULES: results.all()}, results


def run_queries(pipeline: Pipeline, events: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the results of the queries that are wanted: those of a program, and of clauses by themselves."""
    found: dict[str, Any] = {}
    labels = [name for name in pipeline.wanted if name in pipeline.labels]
    if pipeline.program is not None and labels:
        with about(pipeline, "query"):
            found |= pipeline.program.run(events, outputs=labels, **options)
    single = next(iter(events.values())) if isinstance(events, dict) and len(events) == 1 else events
    for name, clause in pipeline.clauses.items():
        if name in pipeline.wanted:
            with about(pipeline, f"query.{name}"):
                bounds = {each: options[each] for each in ("limits", "params")}
                found[name] = fyke.match(single, clause, **bounds)
    return found


# --- writing ---------------------------------------------------------------------------------------


def _written(
    pipeline: Pipeline, results: Mapping[str, Any], sinks: tuple[Sink, ...], *, rows: int | None
) -> list[Outcome]:
    """Write all results; only when the last is there do they get their names.

    What gets its rows at once, as a table of Delta or a topic of Kafka, gets them last: when all files are
    complete, so that nothing but another such sink can fail after it.
    """
    outcomes = {}
    with contextlib.ExitStack() as stack:
        for sink in sorted(sinks, key=lambda each: each.for_spark):
            with about(pipeline, f"sink.{sink.name}"):
                outcomes[sink.name] = _write(results[sink.query], sink, stack, rows=rows)
    return [outcomes[sink.name] for sink in sinks]


def _write(found: Any, sink: Sink, stack: contextlib.ExitStack, *, rows: int | None) -> Outcome:
    columns = found.column_names if isinstance(found, pa.Table) else found.columns
    if sink.format == TERMINAL:
        shown, total = first_rows(found, rows)
        return Outcome(sink.query, total, TERMINAL, columns, shown)
    local = sink.path is not None and not sink.for_spark
    path = str(stack.enter_context(complete(Path(str(sink.path))))) if local else sink.path
    if isinstance(found, pa.Table):
        write_part(found, Path(str(path)), sink.format)
        return Outcome(sink.query, found.num_rows, str(sink), columns)
    if sink.format == "kafka":
        return Outcome(sink.query, _sent(found, sink), str(sink), columns)
    counting, counted = counting_rows(found)
    mode = "errorifexists" if sink.mode is None or local else sink.mode
    seen = None if path is None else as_spark_sees(path)
    write_rows(counting, sink.format, seen, sink.options, mode=mode)
    return Outcome(sink.query, counted(), str(sink), columns)


def _sent(found: Any, sink: Sink) -> int:
    """Write rows to a topic; return how many.  Spark never tells what was observed of such a write."""
    kept = found.cache()
    try:
        count = int(kept.count())
        write_rows(kept, sink.format, None, sink.options)
    finally:
        kept.unpersist()
    return count
