"""``fyke run`` and ``fyke watch``: a pipeline from its file, and how far one has come that runs elsewhere."""

from __future__ import annotations

import time as clock
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from fyke.command import options as O
from fyke.command.matching import report_failures, rule_failures
from fyke.command.pipeline import TERMINAL, Pipeline, read_pipeline
from fyke.command.run_batch import Outcome, run_batch
from fyke.command.run_stream import run_stream
from fyke.command.show import console, count_of, print_json, print_line, print_rows
from fyke.command.watching import watch_pipeline

PIPELINE = Annotated[Path, typer.Argument(metavar="PIPELINE", help="A pipeline file, in TOML.")]
CHECK = Annotated[bool, typer.Option("--check", help="Only check the file: nothing is read or written.")]
ONCE = Annotated[bool, typer.Option("--once", help="Of a stream: take what is there, and stop.")]
ROWS = Annotated[int, typer.Option("--rows", "-n", min=0, metavar="N", help="How many rows to print.")]
NOW = Annotated[bool, typer.Option("--once", help="Say it once, and do not wait for the end.")]
EVERY = Annotated[float, typer.Option("--every", min=0.1, metavar="SECONDS", help="How often to look.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("run", epilog=_RUN_EXAMPLES)(run)
    app.command("watch", epilog=_WATCH_EXAMPLES)(watch)


_RUN_EXAMPLES = """Examples:

fyke run pipeline.toml

fyke run pipeline.toml --check

fyke run live.toml --once --conf spark.master=local\\[2]

A pipeline file:

\\[source.Login]                   # each source is a type of events
path = "logins/*.csv"

\\[events]
time = "ts"

\\[query.Guess]
text = "PATTERN Login{4,} l\\[] WHERE { \\[user] AND l\\[i].ok = 0 } WITHIN 5 minutes"

\\[sink.Guess]
path = "guesses.parquet" """
_WATCH_EXAMPLES = """Examples:

fyke watch live.toml

fyke watch live.toml --once --json"""


def run(
    pipeline: PIPELINE,
    check: CHECK = False,
    once: ONCE = False,
    rows: ROWS = 20,
    param: O.PARAMS = None,
    spark: O.SPARK = None,
    conf: O.CONF = None,
    json: O.AS_JSON = False,
) -> None:
    """Run a pipeline: sources, event mapping, queries that feed each other, and sinks; a batch or a stream.

    Results that have no sink are not computed, unless there is no sink at all: then all are printed.
    """
    read = read_pipeline(pipeline)
    params = {name: O.value_of(text) for name, text in O.pairs(param, "--param").items()}
    settings = {**read.run.conf, **O.pairs(conf, "--conf")}
    read = replace(
        read,
        run=replace(read.run, conf=settings),
        options={**read.options, "params": {**(read.options["params"] or {}), **params} or None},
    )
    if read.left_out and not json:
        print_line("note", f"no sink takes {', '.join(read.left_out)}, so that is not run", "dim")
    if check:
        _say_checked(read, json=json)
    elif read.run.stream:
        run_stream(read, once=once, rows=rows, json=json)
    else:
        _run_batch(read, spark=spark, rows=rows, json=json)


def _say_checked(read: Pipeline, *, json: bool) -> None:
    told = {
        "sources": list(read.sources),
        "results": read.results,
        "sinks": {sink.name: sink.query for sink in read.sinks},
    }
    if json:
        print_json({"ok": True, **told})
    else:
        console().print(f"{read.file}: ok", soft_wrap=True, markup=False)


def _run_batch(read: Pipeline, *, spark: bool | None, rows: int, json: bool) -> None:
    begin = clock.perf_counter()
    outcomes, of_rules = run_batch(read, spark=spark, rows=None if json else rows)
    failed = [] if of_rules is None else rule_failures(of_rules)
    if json:
        told: dict[str, Any] = {"seconds": round(clock.perf_counter() - begin, 3)}
        told["results"] = [_as_json(each) for each in outcomes]
        print_json(told if of_rules is None else told | {"failed": failed})
    else:
        for each in outcomes:
            _say(each, several=len(outcomes) > 1)
    report_failures(failed, json=json)


def _say(outcome: Outcome, *, several: bool) -> None:
    if outcome.rows is not None:
        print_rows(outcome.rows, outcome.count, title=outcome.query if several else "")
        return
    told = count_of(outcome.count, outcome.columns)
    console().print(f"{outcome.query}: {told} written to {outcome.where}", soft_wrap=True, markup=False)


def _as_json(outcome: Outcome) -> dict[str, Any]:
    told: dict[str, Any] = {"query": outcome.query, "count": outcome.count, "sink": outcome.where}
    return (
        told
        if outcome.where != TERMINAL or outcome.rows is None
        else told | {"rows": outcome.rows.to_pylist()}
    )


def watch(pipeline: PIPELINE, every: EVERY = 1.0, once: NOW = False, json: O.AS_JSON = False) -> None:
    """Show how far a streaming pipeline has come that runs in another process, until it ends.

    The exit code is 1 if it has failed, or is gone without a word.
    """
    if not watch_pipeline(read_pipeline(pipeline), every=every, once=once, json=json):
        raise typer.Exit(1)
