"""``fyke match``, ``fyke check`` and ``fyke explain``: one query on files, or on what Spark reads."""

from __future__ import annotations

import contextlib
import time as clock
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer
from rich.text import Text

import fyke
from fyke.command import options as O
from fyke.command.show import console, error_json, error_text, print_json, print_line, print_rows, working
from fyke.command.sink import check_sink, write_frame, write_table
from fyke.command.source import Named, named_events, on_spark, take_frames, take_tables
from fyke.errors import FykeError, InputError, QueryError
from fyke.logical.returns import START
from fyke.spark.local import counting_rows

OUTPUT = Annotated[
    Path | None, typer.Option("--output", "-o", help="Where to write: .parquet, .csv, .json, .jsonl, .arrow.")
]
ROWS = Annotated[int, typer.Option("--rows", "-n", min=0, help="How many matches to print.")]
QUERIES = Annotated[list[str], typer.Option("--query", "-q", help="A query; may be repeated.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("match", epilog=_MATCH_EXAMPLES)(match)
    app.command("check", epilog=_CHECK_EXAMPLES)(check)
    app.command("explain", epilog=_EXPLAIN_EXAMPLES)(explain)


_MATCH_EXAMPLES = """Examples:

fyke match -q theft.fyke events.parquet --time ts --type kind

fyke match -q 'PATTERN SEQ(Cart a, Buy b) WHERE { \\[user] } WITHIN 1 hour' '*.csv' -t ts -k kind -o m.csv

fyke match -q theft.fyke Shelf=shelf.csv Exit=exit.csv --time ts --json"""
_CHECK_EXAMPLES = """Examples:

fyke check -q theft.fyke -q fraud.fyke

fyke check -q theft.fyke events.parquet --time ts --type kind"""
_EXPLAIN_EXAMPLES = "Example: fyke explain -q theft.fyke events.parquet --time ts --type kind"


def match(
    query: O.QUERY,
    events: O.EVENTS = None,
    time: O.TIME = None,
    type: O.TYPE = None,
    output: OUTPUT = None,
    rows: ROWS = 20,
    tie_breaker: O.TIES = None,
    time_unit: O.UNIT = None,
    matches: O.KEEP = "all",
    engine: O.ENGINE = "auto",
    param: O.PARAMS = None,
    limit: O.LIMITS = None,
    spark: O.SPARK = None,
    conf: O.CONF = None,
    format: O.FORMAT = None,
    source: O.READING = None,
    columns: O.COLUMNS = None,
    json: O.AS_JSON = False,
) -> None:
    """Find the matches of a query; print them, or write them to a file.

    Files that fit into memory are matched here, without a JVM; larger ones, and other formats, on Spark.
    """
    text, where = O.query_text(query)
    chosen = O.match_options(
        time=time, type=type, ties=tie_breaker, unit=time_unit, keep=matches, engine=engine, params=param,
        limits=limit,
    )  # fmt: skip
    named = named_events(events or (), format=format, options=O.pairs(source, "--source"), columns=columns)
    _check_named(named)
    on = on_spark(named, spark)
    if output is not None:
        check_sink(output, spark=on)
    begin = clock.perf_counter()
    taken = _taken(named, on, O.pairs(conf, "--conf"))
    with pointing_at(where), working("matching"):
        found = fyke.match(taken, text, **chosen)
        shown, total = _first(found, None if json else rows) if output is None else _written(found, output)
    seconds = round(clock.perf_counter() - begin, 3)
    if json:
        told = {"matches": total, "seconds": seconds, "spark": on}
        print_json(told | ({"rows": shown.to_pylist()} if output is None else {"output": str(output)}))
    elif output is None:
        print_rows(shown, total)
    else:
        console().print(
            f"{total:,} {'match' if total == 1 else 'matches'} written to {output}", soft_wrap=True
        )


def check(
    query: QUERIES,
    events: O.EVENTS = None,
    time: O.TIME = None,
    type: O.TYPE = None,
    tie_breaker: O.TIES = None,
    time_unit: O.UNIT = None,
    param: O.PARAMS = None,
    format: O.FORMAT = None,
    source: O.READING = None,
    columns: O.COLUMNS = None,
    conf: O.CONF = None,
    json: O.AS_JSON = False,
) -> None:
    """Check queries: their syntax, and with events also names and types of columns.  Nothing is matched."""
    named = named_events(events or (), format=format, options=O.pairs(source, "--source"), columns=columns)
    taken = None
    if named:
        chosen = O.match_options(time=time, type=type, ties=tie_breaker, unit=time_unit, params=param)
        on = on_spark(named, False)
        taken = _taken(named, on, O.pairs(conf, "--conf"), rows=False)
    results = []
    for each in query:
        text, where = O.query_text(each)
        error: FykeError | None = None
        try:
            fyke.parse(text) if taken is None else fyke.explain(taken, text, **chosen)
        except FykeError as found:
            error = found
        results.append({"query": where.rstrip(": ") or text, "ok": error is None})
        if error is not None:
            results[-1] |= error_json(error)
        if not json and error is None:
            console().print(f"{where or 'the query: '}ok", soft_wrap=True)
        elif not json and error is not None:
            print_line("error", error_text(error, where), "red")
    if json:
        print_json(results)
    if not all(each["ok"] for each in results):
        raise typer.Exit(1)


def explain(
    query: O.QUERY,
    events: O.EVENTS = None,
    time: O.TIME = None,
    type: O.TYPE = None,
    tie_breaker: O.TIES = None,
    time_unit: O.UNIT = None,
    matches: O.KEEP = "all",
    engine: O.ENGINE = "auto",
    param: O.PARAMS = None,
    limit: O.LIMITS = None,
    spark: O.SPARK = None,
    conf: O.CONF = None,
    format: O.FORMAT = None,
    source: O.READING = None,
    columns: O.COLUMNS = None,
    json: O.AS_JSON = False,
) -> None:
    """Say in words what a query means, and how it would be run."""
    text, where = O.query_text(query)
    chosen = O.match_options(
        time=time, type=type, ties=tie_breaker, unit=time_unit, keep=matches, engine=engine, params=param,
        limits=limit,
    )  # fmt: skip
    named = named_events(events or (), format=format, options=O.pairs(source, "--source"), columns=columns)
    _check_named(named)
    taken = _taken(named, on_spark(named, spark), O.pairs(conf, "--conf"))
    with pointing_at(where):
        told = fyke.explain(taken, text, **chosen)
    if json:
        print_json({"explain": told})
    else:
        console().print(Text(told), soft_wrap=True)


def _check_named(named: Mapping[str, Named]) -> None:
    if not named:
        raise InputError("no events are named", remedy="Give files, folders or globs.")


def _taken(named: Mapping[str, Named], on: bool, settings: Mapping[str, str], *, rows: bool = True) -> Any:
    with working("starting Spark" if on else "reading"):
        return take_frames(named, settings) if on else take_tables(named, rows=rows)


def _first(found: Any, most: int | None) -> tuple[pa.Table, int]:
    """Return the first rows of a result, all of them for None, and how many there are."""
    if isinstance(found, pa.Table):
        return (found if most is None else found.slice(0, most)), found.num_rows
    if most is None:
        rows = found.toArrow()
        return rows, rows.num_rows
    kept = found.cache()
    total = kept.count()
    order = [name for name in (START, "match_id") if name in kept.columns]
    return (kept.orderBy(*order) if order else kept).limit(most).toArrow(), total


def _written(found: Any, output: Path) -> tuple[pa.Table, int]:
    """Write a result; return no rows, and how many were written."""
    if isinstance(found, pa.Table):
        write_table(found, output)
        return found.slice(0, 0), found.num_rows
    counting, rows = counting_rows(found)
    write_frame(counting, output)
    return pa.table({}), rows()


@contextlib.contextmanager
def pointing_at(where: str) -> Iterator[None]:
    """Let errors about a query name the file it is from."""
    try:
        yield
    except QueryError as error:
        error.where = where  # type: ignore[attr-defined]
        raise
