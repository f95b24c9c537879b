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
from fyke.plan.engines import ENGINES

_SEARCH, _EVENTS, _SPARK = "Search", "Events", "Spark"  # the panels of --help

QUERY = Annotated[
    str | None, typer.Option("--query", "-q", metavar="QUERY", help="A file with the query, or its text.")
]
RULES = Annotated[
    str | None,
    typer.Option("--rules", metavar="RULES", help="Many queries: a folder of files, or a table of them."),
]
EVENTS = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="EVENTS",
        help="Files, folders or globs of Parquet, CSV, JSON or Arrow; Type=file if each type has its own.",
        show_default=False,
    ),
]
TIME = Annotated[
    list[str] | None,
    typer.Option(
        "--time", "-t", metavar="COLUMN", rich_help_panel=_EVENTS,
        help="The time; twice for events with a start and an end. MATCH_RECOGNIZE needs none.",
    ),
]  # fmt: skip
TYPE = Annotated[
    str | None,
    typer.Option("--type", "-k", metavar="COLUMN", rich_help_panel=_EVENTS, help="The event type."),
]
TIES = Annotated[
    list[str] | None,
    typer.Option(
        "--tie-breaker", metavar="COLUMN", rich_help_panel=_EVENTS,
        help="Orders events of equal time; may be repeated.",
    ),
]  # fmt: skip
UNIT = Annotated[
    str | None,
    typer.Option(
        "--time-unit", metavar="UNIT", rich_help_panel=_EVENTS, help="Of integer times: s, ms, us or ns.",
        autocompletion=lambda: ["s", "ms", "us", "ns"],
    ),
]  # fmt: skip
KEEP = Annotated[
    str,
    typer.Option(
        "--matches", metavar="WHICH", rich_help_panel=_SEARCH, help="Which matches: all or non_overlap.",
        autocompletion=lambda: ["all", "non_overlap"],
    ),
]  # fmt: skip
ENGINE = Annotated[
    str,
    typer.Option(
        "--engine", metavar="NAME", rich_help_panel=_SEARCH,
        help="auto, automaton, lazy_chain, lazy_tree or tree.", autocompletion=lambda: ["auto", *ENGINES],
    ),
]  # fmt: skip
PARAMS = Annotated[
    list[str] | None,
    typer.Option(
        "--param", "-p", metavar="NAME=VALUE", rich_help_panel=_SEARCH,
        help="A value for :name in the query; may be repeated.",
    ),
]  # fmt: skip
LIMITS = Annotated[
    list[str] | None,
    typer.Option(
        "--limit", metavar="NAME=NUMBER", rich_help_panel=_SEARCH,
        help="A bound, as matches=1000000 or seconds=60; may be repeated.",
    ),
]  # fmt: skip
SPARK = Annotated[
    bool | None,
    typer.Option(
        "--spark/--no-spark", rich_help_panel=_SPARK,
        help="Match on Spark, or without; else the size decides.",
    ),
]  # fmt: skip
CONF = Annotated[
    list[str] | None,
    typer.Option(
        "--conf", metavar="KEY=VALUE", rich_help_panel=_SPARK, help="A setting of Spark; may be repeated."
    ),
]
FORMAT = Annotated[
    str | None,
    typer.Option(
        "--format", metavar="NAME", rich_help_panel=_SPARK,
        help="Of the events, if their names do not tell: csv, delta, kafka, ...",
    ),
]  # fmt: skip
READING = Annotated[
    list[str] | None,
    typer.Option(
        "--source", metavar="KEY=VALUE", rich_help_panel=_SPARK,
        help="An option of Spark's reader, as subscribe=topic; may be repeated.",
    ),
]  # fmt: skip
COLUMNS = Annotated[
    str | None,
    typer.Option(
        "--columns", metavar="LIST", rich_help_panel=_SPARK,
        help="The columns of Kafka's JSON: 'ts timestamp, kind string'.",
    ),
]  # fmt: skip
AS_JSON = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
KEY = Annotated[
    list[str] | None,
    typer.Option(
        "--key", metavar="COLUMN=VALUE", rich_help_panel=_SEARCH,
        help="Look at the events of one key only; may be repeated.",
    ),
]  # fmt: skip
FROM = Annotated[
    str | None,
    typer.Option("--from", metavar="TIME", rich_help_panel=_SEARCH, help="Look at events from here on."),
]
TO = Annotated[
    str | None,
    typer.Option("--to", metavar="TIME", rich_help_panel=_SEARCH, help="Look at events up to here."),
]


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
    clause: bool = False,
) -> dict[str, Any]:
    """Return the arguments of ``fyke.match``; a MATCH_RECOGNIZE clause needs no time.

    Raises
    ------
    OptionError
    """
    named = tuple(time or ())
    if not named and not clause:
        raise OptionError("no column of the time is named", remedy="Give --time COLUMN.")
    if len(named) > 2:
        raise OptionError(f"--time is given once, or twice for a start and an end, found {', '.join(named)}")
    return {
        "time": named if len(named) == 2 else next(iter(named), None),
        "type": type,
        "tie_breaker": list(ties) if ties else None,
        "time_unit": unit,
        "output": keep,
        "engine": engine,
        "params": {name: value_of(text) for name, text in pairs(params, "--param").items()} or None,
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


def value_of(text: str) -> Any:
    """Return the value that a text stands for: a number, a truth value or a list in JSON, else itself."""
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
