"""What commands print: tables of matches for people, JSON for programs, one line for an error."""

from __future__ import annotations

import contextlib
import sys
import threading
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from contextvars import ContextVar
from datetime import date, datetime
from typing import Any, TextIO

import pyarrow as pa
from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from fyke.call.row_texts import as_json
from fyke.errors import FykeError, QueryError
from fyke.logical.returns import START
from fyke.spark.local import running_tasks

Done = Callable[[int, int], None]  # takes how many of how many are done

MATCH_ID = "match_id"
_LONGEST_CELL = 48
_BLINK = 0.2  # seconds
_AS_OPTIONS = {"tie_breaker='column'": "--tie-breaker COLUMN"}  # what warnings say to those who write Python
_JSON_LINES: ContextVar[bool] = ContextVar("json_lines", default=False)
_WIDE = 200  # columns, where there is no terminal to ask


def console(*, errors: bool = False) -> Console:
    """Return where to print: with colours on a terminal, and plain and wide elsewhere."""
    stream = sys.stderr if errors else sys.stdout
    width = None if stream.isatty() else _WIDE
    return Console(file=stream, highlight=False, soft_wrap=False, width=width, no_color=not stream.isatty())


def print_json(value: Any, *, errors: bool = False) -> None:
    """Print one JSON document on a line."""
    stream = sys.stderr if errors else sys.stdout
    stream.write(as_json(value) + "\n")
    stream.flush()


# --- tables ---------------------------------------------------------------------------------------


def print_rows(rows: pa.Table, total: int, *, hidden: Collection[str] = (), title: str = "") -> None:
    """Print the first rows of a result, and how many there are in all.

    ``hidden`` are attributes of events that the reader knows anyway, as their type.
    """
    out = console()
    names = [name for name in rows.column_names if name != MATCH_ID]
    known = {*hidden, *names}
    if title:
        out.print(Text(title, style="bold"))
    if rows.num_rows and names:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        for name in names:
            kind = rows.schema.field(name).type
            numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
            table.add_column(Text(name), justify="right" if numeric else "left", overflow="fold")
        for row in rows.select(names).to_pylist():
            table.add_row(*map(Text, cells(row, known)))
        out.print(table)
    told = count_of(total, rows.column_names)
    out.print(told if rows.num_rows == total else f"{told}, {rows.num_rows:,} of them shown")


def count_of(total: int, columns: Collection[str]) -> str:
    """Return how many matches there are, or rows if a result is about something else."""
    one, many = ("match", "matches") if MATCH_ID in columns else ("row", "rows")
    return f"{total:,} {one if total == 1 else many}"


def cells(row: Mapping[str, Any], hidden: Collection[str] = ()) -> list[str]:
    """Return the values of a row for people: an event is its attributes, a group its events.

    Of the times of events, the day is left out if it is the one on which the match starts.
    """
    start = row.get(START)
    day = start.date() if isinstance(start, datetime) else None
    told = [_told(value, hidden, day) for value in row.values()]
    return [text if len(text) <= _LONGEST_CELL else f"{text[: _LONGEST_CELL - 1]}…" for text in told]


def _told(value: Any, hidden: Collection[str], day: date | None) -> str:
    if isinstance(value, Mapping):
        told = {name: each for name, each in value.items() if each is not None and name not in hidden}
        return " ".join(f"{name}={_attribute(each, hidden, day)}" for name, each in told.items())
    if isinstance(value, (list, tuple)):
        texts = [_told(each, hidden, day) for each in value[:4]]
        return f"{len(value)}: " + " | ".join(texts) + (" | …" if len(value) > 4 else "")
    if isinstance(value, datetime):
        return value.isoformat(sep=" ").removesuffix("+00:00")
    return "" if value is None else str(value)


def _attribute(value: Any, hidden: Collection[str], day: date | None) -> str:
    if isinstance(value, datetime) and value.date() == day:
        return value.time().isoformat()
    return _told(value, hidden, day)


# --- errors and warnings ----------------------------------------------------------------------------


def error_text(error: FykeError, where: str = "") -> str:
    """Return what an error says: one line, unless it points at a place in a query."""
    if isinstance(error, QueryError) and error.place is not None:
        return f"{where}{error}"
    parts = " ".join(f"{error.message}\n{error.remedy}".split())
    if error.remedy and error.message and error.message[-1] not in ".?!":
        message = " ".join(error.message.split())
        parts = f"{message}. {' '.join(error.remedy.split())}"
    return f"{where}{parts}"


def error_json(error: FykeError) -> dict[str, Any]:
    """Return an error for programs."""
    told: dict[str, Any] = {"error": type(error).__name__, "message": error.message, "remedy": error.remedy}
    if isinstance(error, QueryError) and error.place is not None:
        told |= {"line": error.place.line, "column": error.place.column}
    where = getattr(error, "where", "")
    return told | {"where": where.rstrip(": ")} if where else told


@contextlib.contextmanager
def json_lines(wanted: bool) -> Iterator[None]:
    """Let all that :func:`print_line` prints be JSON, if that is wanted."""
    before = _JSON_LINES.set(wanted)
    try:
        yield
    finally:
        _JSON_LINES.reset(before)


def print_line(kind: str, text: str, colour: str) -> None:
    """Print an error, a warning or a note to standard error; as JSON it is one object, ``{kind: text}``."""
    if _JSON_LINES.get():
        print_json({kind: text}, errors=True)
        return
    out = console(errors=True)
    out.print(Text(f"{kind}: ", style=f"bold {colour}") + Text(text), soft_wrap=True)


@contextlib.contextmanager
def plain_warnings() -> Iterator[None]:
    """Print warnings as one line each, and each of them once."""
    seen: set[str] = set()

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        text = " ".join(str(message).split())
        for told, here in _AS_OPTIONS.items():
            text = text.replace(told, here)
        if issubclass(category, UserWarning) and text not in seen:
            seen.add(text)
            print_line("warning", text, "yellow")

    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = show
        yield


# --- progress -----------------------------------------------------------------------------------


@contextlib.contextmanager
def working(label: str, *, tasks: bool = False, out: Console | None = None) -> Iterator[Done]:
    """Show on a terminal that work goes on and for how long, and lend what is told how much is done.

    With ``tasks`` nobody need tell: Spark is asked how many tasks of its running stages have ended.
    """
    shown = out or console(errors=True)
    said, counted = TextColumn("{task.description}"), TextColumn("{task.fields[done]}")
    columns = (SpinnerColumn(), said, BarColumn(bar_width=30), counted, TimeElapsedColumn())
    with Progress(*columns, console=shown, transient=True, disable=not shown.is_terminal) as bar:
        number = bar.add_task(label, total=None, done="")

        def tell(done: int, total: int) -> None:
            if total:
                unit = "tasks" if tasks else "rules"
                bar.update(number, total=total, completed=done, done=f"{done:,}/{total:,} {unit}")

        with _asking_spark(tell) if tasks and shown.is_terminal else contextlib.nullcontext():
            yield tell


@contextlib.contextmanager
def _asking_spark(tell: Done) -> Iterator[None]:
    over = threading.Event()

    def ask() -> None:
        while not over.wait(_BLINK):
            tell(*running_tasks())

    asker = threading.Thread(target=ask, daemon=True)
    asker.start()
    try:
        yield
    finally:
        over.set()
        asker.join()
