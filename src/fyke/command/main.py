"""``fyke`` on the command line: all commands, and what becomes of their errors.

Exit codes: 0 if all went well, 1 if something is wrong with a query, events, rules or an output, 2 if the
command itself is wrong, 3 for an error that is not expected, 130 after Ctrl-C, 143 after a termination.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Annotated, Any

import typer

from fyke import __version__
from fyke.command import looking, matching, running, trying
from fyke.command.show import error_json, error_text, json_lines, plain_warnings, print_json, print_line
from fyke.errors import FykeError
from fyke.spark.local import spark_says

app = typer.Typer(
    name="fyke",
    help="Find patterns in events: what must follow what, and what must be missing.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)
matching.add_to(app)
running.add_to(app)
looking.add_to(app)
trying.add_to(app)


_STOPPED = {128 + signal.SIGINT: "by Ctrl-C", 128 + signal.SIGTERM: "by a termination"}
_UsageError: Any = typer.BadParameter.__base__  # of click, or of typer itself: versions differ


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fyke {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Take the options of all commands."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug, json = "--debug" in given, "--json" in given
    given = [each for each in given if each != "--debug"]
    with _own_signals(), json_lines(json):
        try:
            with plain_warnings():
                code = app(given, prog_name="fyke", standalone_mode=not json) or 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody reads on: say no more
            return 1
        except Exception as error:
            if debug:
                raise
            return _told(error, json=json)
        if code in _STOPPED:
            print_line("stopped", _STOPPED[code], "yellow")
        return int(code)


def _told(error: Exception, *, json: bool) -> int:
    """Print an error; return the exit code."""
    if isinstance(error, _UsageError):  # without --json typer has printed it
        told, code = str(error.format_message()), 2
        remedy = f"{error.ctx.command_path if error.ctx else 'fyke'} --help shows what is right"
    elif (expected := error if isinstance(error, FykeError) else spark_says(error)) is not None:
        if json:
            print_json(error_json(expected), errors=True)
        else:
            print_line("error", error_text(expected, getattr(error, "where", "")), "red")
        return 1
    else:
        told, code = " ".join(str(error).split()), 3
        remedy = "this is not expected; --debug shows where it comes from"
    if json:
        print_json({"error": type(error).__name__, "message": told, "remedy": remedy}, errors=True)
    else:
        print_line("error", f"{type(error).__name__}: {told}", "red")
        print_line("note", remedy, "dim")
    return code


@contextlib.contextmanager
def _own_signals() -> Iterator[None]:
    """End on a termination, and give the caller back what it does on signals: Spark changes Ctrl-C, too."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGTERM, _terminated)
    try:
        yield
    finally:
        for number, handler in before.items():
            if handler is not None:  # one that was not set by Python cannot be
                signal.signal(number, handler)


def _terminated(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
