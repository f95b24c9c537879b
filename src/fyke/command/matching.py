"""``fyke match``, ``fyke check`` and ``fyke explain``: a query or rules on files, or on what Spark reads."""

from __future__ import annotations

import time as clock
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer
from rich.text import Text

import fyke
from fyke.command import options as O
from fyke.command.asked import (
    Asked,
    asked_events,
    asked_query,
    asked_rules,
    first_rows,
    pointing_at,
    take,
)
from fyke.command.show import (
    Done,
    console,
    count_of,
    error_json,
    error_text,
    print_json,
    print_line,
    print_rows,
    working,
)
from fyke.command.sink import check_sink, write_frame, write_table
from fyke.command.source import named_events, on_spark
from fyke.errors import FykeError, OptionError
from fyke.spark.local import counting_rows

OUTPUT = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="FILE", help="Where to write: .parquet, .csv, .json, .jsonl, .arrow."
    ),
]
ROWS = Annotated[int, typer.Option("--rows", "-n", min=0, metavar="N", help="How many matches to print.")]
QUERIES = Annotated[
    list[str] | None, typer.Option("--query", "-q", metavar="QUERY", help="A file or a text; repeatable.")
]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("match", epilog=_MATCH_EXAMPLES)(match)
    app.command("check", epilog=_CHECK_EXAMPLES)(check)
    app.command("explain", epilog=_EXPLAIN_EXAMPLES)(explain)


_MATCH_EXAMPLES = """Examples:

fyke match -q theft.fyke events.parquet --time ts --type kind

fyke match -q 'PATTERN SEQ(Cart a, Buy b) WHERE { \\[user] } WITHIN 1 hour' '*.csv' -t ts -k kind -o m.csv

fyke match -q theft.fyke Shelf=shelf.csv Exit=exit.csv --time ts --json

fyke match --rules rules/ events.parquet --time ts --type kind

fyke match -q 'MATCH_RECOGNIZE (ORDER BY ts PATTERN (a b+) DEFINE b AS x > PREV(x))' events.csv"""
_CHECK_EXAMPLES = """Examples:

fyke check -q theft.fyke -q fraud.fyke

fyke check --rules rules.csv

fyke check -q theft.fyke events.parquet --time ts --type kind"""
_EXPLAIN_EXAMPLES = """Example:

fyke explain -q theft.fyke events.parquet --time ts --type kind"""


def match(
    query: O.QUERY = None,
    events: O.EVENTS = None,
    rules: O.RULES = None,
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
    """Find the matches of a query, or of many; print them, or write them to a file.

    Files that fit into memory are matched here, without a JVM; larger ones, and other formats, on Spark.
    """
    asked = _query_or_rules(query, rules)
    chosen = O.match_options(
        time=time, type=type, ties=tie_breaker, unit=time_unit, keep=matches, engine=engine, params=param,
        limits=limit, clause=isinstance(asked, Asked) and asked.clause,
    )  # fmt: skip
    named = asked_events(events, format, source, columns)
    on = on_spark(named, spark)
    if output is not None:
        check_sink(output, spark=on)
    begin = clock.perf_counter()
    taken = take(named, on, O.pairs(conf, "--conf"))
    with working("matching", tasks=on) as done:
        found, results = _found(asked, taken, chosen, done)
        shown, total = (
            first_rows(found, None if json else rows) if output is None else _written(found, output)
        )
    names = found.column_names if isinstance(found, pa.Table) else found.columns
    failed = [] if results is None else rule_failures(results)
    if json:
        told: dict[str, Any] = {
            "matches": total,
            "seconds": round(clock.perf_counter() - begin, 3),
            "spark": on,
        }
        told |= {"rows": shown.to_pylist()} if output is None else {"output": str(output)}
        print_json(told if results is None else told | {"failed": failed})
    elif output is None:
        print_rows(shown, total, hidden={type} if type else ())
        if total == 0 and isinstance(asked, Asked) and isinstance(asked.query, fyke.Query):
            print_line("note", "fyke why-not, with the same arguments, says why there is none", "dim")
    else:
        console().print(f"{count_of(total, names)} written to {output}", soft_wrap=True)
    report_failures(failed, json=json)


def _query_or_rules(query: str | None, rules: str | None) -> Asked | fyke.Rules:
    if rules is None:
        return asked_query(query)
    if query is not None:
        raise OptionError("a query and rules are given", remedy="Give either --query or --rules.")
    return asked_rules(rules)


def _found(asked: Asked | fyke.Rules, taken: Any, chosen: dict[str, Any], done: Done) -> tuple[Any, Any]:
    """Return the rows found, and of rules also what tells them apart."""
    if isinstance(asked, Asked):
        with pointing_at(asked.where):
            return fyke.match(taken, asked.query, **chosen), None
    results = asked.run(taken, done=done, **chosen)
    return results.all(), results


def rule_failures(results: fyke.RuleResults) -> list[dict[str, Any]]:
    """Return what is wrong with rules that failed, for programs."""
    return [
        {"rule": name, "version": version, **error_json(error), "text": error_text(error)}
        for (name, version), error in results.failed.items()
    ]


def report_failures(failed: list[dict[str, Any]], *, json: bool) -> None:
    """Print what is wrong with rules that failed, and end with 1 if any did; the others have their rows."""
    for each in () if json else failed:
        print_line("error", f"rule {each['rule']} (version {each['version']}): {each['text']}", "red")
    if failed:
        raise typer.Exit(1)


def check(
    query: QUERIES = None,
    events: O.EVENTS = None,
    rules: O.RULES = None,
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
    if not query and rules is None:
        raise OptionError("no query is given", remedy="Give --query or --rules.")
    named = named_events(events or (), format=format, options=O.pairs(source, "--source"), columns=columns)
    taken = take(named, on_spark(named, False), O.pairs(conf, "--conf"), rows=False) if named else None

    def problem(text: str) -> FykeError | None:
        try:
            parsed = fyke.parse(text)
            if taken is not None:
                clause = isinstance(parsed, fyke.RowPatternQuery)
                chosen = O.match_options(
                    time=time, type=type, ties=tie_breaker, unit=time_unit, params=param, clause=clause
                )
                fyke.explain(taken, parsed, **chosen)
        except FykeError as found:
            return found
        return None

    texts = [(where or "the query: ", text) for text, where in map(O.query_text, query or ())]
    if rules is not None:
        loaded = asked_rules(rules)
        texts += [(f"rule {rule}: ", rule.text) for rule in (*loaded.rules, *loaded.broken)]
    results = [(where, text, problem(text)) for where, text in texts]
    _say_checked(results, json=json)
    if any(error is not None for _, _, error in results):
        raise typer.Exit(1)


def _say_checked(results: list[tuple[str, str, FykeError | None]], *, json: bool) -> None:
    if json:
        print_json(
            [
                {"query": text if where == "the query: " else where.rstrip(": "), "ok": error is None}
                | ({} if error is None else error_json(error))
                for where, text, error in results
            ]
        )
        return
    for where, _, error in results:
        if error is None:
            console().print(f"{where}ok", soft_wrap=True, markup=False)
        else:
            print_line("error", error_text(error, "" if where == "the query: " else where), "red")


def explain(
    query: O.QUERY = None,
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
    asked = asked_query(query)
    chosen = O.match_options(
        time=time, type=type, ties=tie_breaker, unit=time_unit, keep=matches, engine=engine, params=param,
        limits=limit, clause=asked.clause,
    )  # fmt: skip
    named = asked_events(events, format, source, columns)
    taken = take(named, on_spark(named, spark), O.pairs(conf, "--conf"))
    with pointing_at(asked.where):
        told = fyke.explain(taken, asked.query, **chosen)
    if json:
        print_json({"explain": told})
    else:
        console().print(Text(told), soft_wrap=True)


def _written(found: Any, output: Path) -> tuple[pa.Table, int]:
    """Write a result; return no rows, and how many were written."""
    if isinstance(found, pa.Table):
        write_table(found, output)
        return found.slice(0, 0), found.num_rows
    counting, rows = counting_rows(found)
    write_frame(counting, output)
    return pa.table({}), rows()
