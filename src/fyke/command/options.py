"""The options that commands share, and how their texts become the arguments of ``fyke.match``."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from fyke.errors import OptionError, near_misses
from fyke.limits import Limits

QUERY = Annotated[str, typer.Option("--query", "-q", help="A file with the query, or its text.")]
EVENTS = Annotated[
    list[str] | None,
    typer.Argument(
        help="Files, folders or globs of Parquet, CSV, JSON or Arrow; Type=file if each type has its own.",
        show_default=False,
    ),
]
TIME = Annotated[
    list[str] | None,
    typer.Option("--time", "-t", help="The column of the time; twice for events with a start and an end."),
]
TYPE = Annotated[str | None, typer.Option("--type", "-k", help="The column of the event type.")]
TIES = Annotated[
    list[str] | None,
    typer.Option("--tie-breaker", help="A column that orders events of equal time; may be repeated."),
]
UNIT = Annotated[str | None, typer.Option("--time-unit", help="Of integer times: s, ms, us or ns.")]
KEEP = Annotated[str, typer.Option("--matches", help="Which matches: all or non_overlap.")]
ENGINE = Annotated[str, typer.Option("--engine", help="auto, automaton, lazy_chain, lazy_tree or tree.")]
PARAMS = Annotated[
    list[str] | None,
    typer.Option("--param", "-p", help="A value for :name in the query, as name=5 or name=text; repeatable."),
]
LIMITS = Annotated[
    list[str] | None,
    typer.Option("--limit", help="A bound, as matches=1000000 or seconds=60; may be repeated."),
]
SPARK = Annotated[
    bool | None,
    typer.Option("--spark/--no-spark", help="Match on Spark, or without; else the size decides."),
]
CONF = Annotated[
    list[str] | None, typer.Option("--conf", help="A setting of Spark, as key=value; may be repeated.")
]
FORMAT = Annotated[
    str | None,
    typer.Option("--format", help="Of the events, if names do not tell: csv, delta, kafka, ... "),
]
READING = Annotated[
    list[str] | None,
    typer.Option("--source", help="An option of Spark's reader, as subscribe=topic; may be repeated."),
]
COLUMNS = Annotated[
    str | None, typer.Option("--columns", help="The columns of Kafka's JSON: 'ts timestamp, kind string'.")
]
AS_JSON = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


def query_text(query: str) -> tuple[str, str]:
    """Return the text of a query and where it is from: the name of its file, or nothing.

    Raises
    ------
    OptionError
        If it is neither a file nor a query.
    """
    path = Path(query)
    if "\n" not in query and len(query) < 1024 and path.is_file():
        try:
            return path.read_text(encoding="utf-8"), f"{query}: "
        except (OSError, UnicodeDecodeError) as error:
            raise OptionError(f"the query {query!r} cannot be read: {error}") from error
    if len(query.split()) < 2:
        raise OptionError(f"there is no file {query!r} with a query")
    return query, ""


def match_options(
    *,
    time: Sequence[str] | None,
    type: str | None,
    ties: Sequence[str] | None,
    unit: str | None,
    keep: str = "all",
    engine: str = "auto",
    params: Sequence[str] | None = None,
    limits: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Return the arguments of ``fyke.match``.

    Raises
    ------
    OptionError
    """
    if not time:
        raise OptionError("no column of the time is named", remedy="Give --time COLUMN.")
    if len(time) > 2:
        raise OptionError(f"--time is given once, or twice for a start and an end, found {', '.join(time)}")
    return {
        "time": time[0] if len(time) == 1 else tuple(time),
        "type": type,
        "tie_breaker": list(ties) if ties else None,
        "time_unit": unit,
        "output": keep,
        "engine": engine,
        "params": {name: _value(text) for name, text in pairs(params, "--param").items()} or None,
        "limits": _limits(limits),
    }


def pairs(texts: Sequence[str] | None, option: str) -> dict[str, str]:
    """Return ``name=value`` texts as a dict.

    Raises
    ------
    OptionError
    """
    found = {}
    for text in texts or ():
        name, sign, value = text.partition("=")
        if not sign or not name:
            raise OptionError(f"{option} takes name=value, found {text!r}")
        found[name] = value
    return found


def _value(text: str) -> Any:
    """Return the value of a parameter: a number, a truth value or a list as JSON writes it, else the text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _limits(texts: Sequence[str] | None) -> Limits | None:
    if not texts:
        return None
    known = [each.name for each in dataclasses.fields(Limits)]
    given: dict[str, Any] = {}
    for name, text in pairs(texts, "--limit").items():
        if name not in known:
            raise OptionError(f"there is no limit {name!r}.{near_misses(name, known)}")
        try:
            given[name] = float(text) if name == "seconds" else int(text.replace("_", ""))
        except ValueError:
            raise OptionError(f"the limit {name} is a number, found {text!r}") from None
    return Limits(**given)
