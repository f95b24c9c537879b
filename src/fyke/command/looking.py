"""``fyke draw`` and ``fyke why-not``: a query, its matches, or the lack of them, to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

import fyke
from fyke.command import options as O
from fyke.command.asked import asked_events, asked_part, asked_query, pointing_at, take
from fyke.command.show import console, print_json, working
from fyke.command.sink import check_folder, complete
from fyke.command.source import on_spark
from fyke.errors import OptionError
from fyke.language.text import AnyQuery
from fyke.pictures.svg import THEMES

Options = dict[str, Any]

_PAGE = (".html", ".htm")
_ENDINGS = (".svg", ".png", *_PAGE)
PICTURE = Annotated[
    Path,
    typer.Option("--output", "-o", metavar="FILE", help="The picture: .svg, .png or .html."),
]
SKETCH = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Draw the nearest attempt: .svg, .png or .html."),
]
PLAN = Annotated[bool, typer.Option("--plan", help="Draw the plan, with its estimated figures.")]
OPEN = Annotated[bool, typer.Option("--open", help="Open the picture when it is there.")]
BY = Annotated[
    str,
    typer.Option(
        "--by", metavar="WHAT", help="A lane is a variable, a key or a type.",
        autocompletion=lambda: ["variable", "key", "type"],
    ),
]  # fmt: skip
THEME = Annotated[
    str,
    typer.Option("--theme", metavar="NAME", help="light, dark or auto.", autocompletion=lambda: list(THEMES)),
]
SECONDS = Annotated[float, typer.Option("--seconds", metavar="N", help="How long to look for causes, about.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("draw", epilog=_DRAW_EXAMPLES)(draw)
    app.command("why-not", epilog=_WHY_NOT_EXAMPLES)(why_not)


_DRAW_EXAMPLES = """Examples:

fyke draw -q theft.fyke -o theft.svg

fyke draw -q theft.fyke events.csv --time ts --type kind -o matches.html --open

fyke draw -q theft.fyke events.csv --time ts --type kind --plan -o plan.svg"""
_WHY_NOT_EXAMPLES = """Examples:

fyke why-not -q theft.fyke events.csv --time ts --type kind

fyke why-not -q theft.fyke events.csv -t ts -k kind --key tag=razor --from 2026-01-05"""


def draw(
    output: PICTURE,
    query: O.QUERY = None,
    events: O.EVENTS = None,
    time: O.TIME = None,
    type: O.TYPE = None,
    plan: PLAN = False,
    by: BY = "variable",
    key: O.KEY = None,
    first: O.FROM = None,
    last: O.TO = None,
    theme: THEME = "auto",
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
    open_it: OPEN = False,
    json: O.AS_JSON = False,
) -> None:
    """Draw a query; with events its matches on a timeline, or with --plan how it would be run.

    A timeline in a file that ends in .html can be zoomed, panned and filtered, and needs no server.
    """
    asked = asked_query(query)
    wanted = asked.over_events("fyke draw")
    _check_picture(output)
    made: Any
    if not events and format is None:
        if plan:
            raise OptionError("a plan is of a query on events, and none are named", remedy="Name files.")
        with pointing_at(asked.where):
            made = fyke.draw(wanted, theme=theme)
    else:
        chosen = O.match_options(
            time=time, type=type, ties=tie_breaker, unit=time_unit, keep=matches, engine=engine, params=param,
            limits=limit,
        )  # fmt: skip
        named = asked_events(events, format, source, columns)
        on = on_spark(named, spark)
        taken = take(named, on, O.pairs(conf, "--conf"))
        keys, between = asked_part(key, first, last)
        look = {"by": by, "key": keys, "between": between, "theme": theme}
        with pointing_at(asked.where), working("drawing", tasks=on):
            made = _drawn(wanted, taken, chosen, look, plan=plan, page=output.suffix.lower() in _PAGE)
    _save(made, output)
    if json:
        print_json({"output": str(output)})
    else:
        console().print(f"{_said(made)} drawn to {output}", soft_wrap=True, markup=False)
    if open_it:
        typer.launch(str(output.resolve()))


def _drawn(query: AnyQuery, taken: Any, chosen: Options, look: Options, *, plan: bool, page: bool) -> Any:
    """Return the picture of a plan, or a timeline: as a picture, or as a page to look around in."""
    if plan:
        return fyke.draw(fyke.explain(taken, query, **chosen), theme=look["theme"])
    if page:
        del look["theme"]  # a page follows the settings of whoever looks at it
        return fyke.timeline(taken, query, **look, **chosen)
    return fyke.draw(taken, query, **look, **chosen)


def _said(made: Any) -> str:
    """Return what a picture is of, as the beginning of a sentence."""
    title = made.timeline.title if isinstance(made, fyke.TimelinePage) else made.title
    return f"{title[:1].upper()}{title[1:]}"


def why_not(
    query: O.QUERY = None,
    events: O.EVENTS = None,
    time: O.TIME = None,
    type: O.TYPE = None,
    key: O.KEY = None,
    first: O.FROM = None,
    last: O.TO = None,
    seconds: SECONDS = 8.0,
    output: SKETCH = None,
    tie_breaker: O.TIES = None,
    time_unit: O.UNIT = None,
    param: O.PARAMS = None,
    limit: O.LIMITS = None,
    spark: O.SPARK = None,
    conf: O.CONF = None,
    format: O.FORMAT = None,
    source: O.READING = None,
    columns: O.COLUMNS = None,
    json: O.AS_JSON = False,
) -> None:
    """Say why a query has no match, and what smallest change of it would have one."""
    asked = asked_query(query)
    wanted = asked.over_events("fyke why-not")
    chosen = O.match_options(
        time=time, type=type, ties=tie_breaker, unit=time_unit, params=param, limits=limit
    )  # fmt: skip
    del chosen["output"]
    named = asked_events(events, format, source, columns)
    if output is not None:
        _check_picture(output)
    on = on_spark(named, spark)
    taken = take(named, on, O.pairs(conf, "--conf"))
    keys, between = asked_part(key, first, last)
    with pointing_at(asked.where), working("looking for causes", tasks=on):
        told = fyke.why_not(taken, wanted, key=keys, between=between, seconds=seconds, **chosen)
    if output is not None:
        _save(told.picture(), output)
    if json:
        print_json(_as_json(told))
    else:
        console().print(Text(str(told)))
    if output is not None and not json:
        console().print(f"\nThe nearest attempt is drawn to {output}", soft_wrap=True, markup=False)


def _as_json(told: fyke.WhyNot) -> dict[str, Any]:
    findings = [
        {"cause": each.cause, "text": each.text, "change": each.change, "matches": each.matches}
        for each in told.findings
    ]
    changed = None if told.changed_query is None else str(told.changed_query)
    return {"cause": told.cause, "findings": findings, "changed_query": changed, "rows": told.rows()}


def _check_picture(path: Path) -> None:
    if path.suffix.lower() not in _ENDINGS:
        raise OptionError(f"the picture {str(path)!r} ends in none of {', '.join(_ENDINGS[:3])}")
    check_folder(path)


def _save(made: Any, path: Path) -> None:
    with complete(path) as part:
        made.save(part)
