"""``fyke demo``, ``fyke warm-up`` and ``fyke bench``: see it work, make it ready, and measure it."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.table import Table

import fyke
from fyke import demo as demonstration
from fyke.command import options as O
from fyke.command.measure import QUESTIONS, Measured, measure
from fyke.command.show import console, print_json, working
from fyke.errors import FykeError, InputError

ROWS = Annotated[int, typer.Option("--rows", min=1_000, metavar="N", help="Events in the first stream.")]
SEED = Annotated[int, typer.Option("--seed", metavar="N", help="Of the random generators.")]
EVENTS = Annotated[int, typer.Option("--rows", min=1_000, metavar="N", help="Events of each question.")]
NAMES = Annotated[
    list[str] | None,
    typer.Argument(metavar="NAME", help="Benchmarks of the repository, in a checkout.", show_default=False),
]
EVERY = Annotated[bool, typer.Option("--all", help="All benchmarks of the repository, in a checkout.")]
QUICK = Annotated[bool, typer.Option("--quick", help="Of the repository's: on smaller data.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("demo", epilog="Example:\n\nfyke demo --rows 100000")(demo)
    app.command("warm-up", epilog="Example, in a Dockerfile:\n\nRUN fyke warm-up")(warm_up)
    app.command("bench", epilog=_BENCH_EXAMPLES)(bench)


_BENCH_EXAMPLES = """Examples:

fyke bench

fyke bench --rows 1000000 --json

fyke bench automaton --quick"""


def demo(rows: ROWS = 1_000_000, seed: SEED = 0) -> None:
    """Ask three questions to Spark on this machine and one to a live stream; their answers are known."""
    code = demonstration.main(["--rows", str(rows), "--seed", str(seed)])
    if code:
        raise typer.Exit(code)


def warm_up(json: O.AS_JSON = False) -> None:
    """Compile all kernels for this machine ahead, so that no query waits for them."""
    begin = time.perf_counter()
    fyke.warm_up(progress=console().is_terminal)
    seconds = time.perf_counter() - begin
    if json:
        print_json({"seconds": round(seconds, 3)})
    else:
        console().print(f"All kernels are ready, after {seconds:.1f} s.")


def bench(
    names: NAMES = None,
    rows: EVENTS = 200_000,
    every: EVERY = False,
    quick: QUICK = False,
    json: O.AS_JSON = False,
) -> None:
    """Measure Fyke on this machine beside loops in Python that are written for the same questions.

    With names of benchmarks or --all, in a checkout: run those of the repository and write their report.
    """
    if names or every:
        _run_repository(names or [], quick=quick)
        return
    results = []
    for question in QUESTIONS:
        with working(question.title):
            results.append(measure(question, rows))
    if json:
        print_json([asdict(each) | {"times_as_fast": each.times_as_fast} for each in results])
    else:
        _print(results)
    if not all(each.same for each in results):
        raise FykeError("Fyke and the loop have found different matches")


def _print(results: list[Measured]) -> None:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("question")
    for name in ("events", "matches", "Fyke", "a loop", "as fast"):
        table.add_column(name, justify="right")
    for each in results:
        seconds = (f"{value:.2f} s" for value in (each.fyke, each.loop))
        table.add_row(
            each.title, f"{each.events:,}", f"{each.matches:,}", *seconds, f"{each.times_as_fast:.1f} x"
        )
    out = console()
    out.print(table)
    out.print("On one core, with compiled kernels. The loops run over rows as dicts, in plain Python.")


def _run_repository(names: list[str], *, quick: bool) -> None:
    here = Path.cwd()
    roots = [each for each in (here, *here.parents) if (each / "bench" / "__main__.py").is_file()]
    root = next((each for each in roots if (each / "src" / "fyke").is_dir()), None)
    if root is None:
        raise InputError(
            "the benchmarks are in Fyke's repository, and this folder is in no checkout of it",
            remedy="Call it there, or without a name for a short measure of its own.",
        )
    command = [sys.executable, "-m", "bench", *names, *(["--quick"] if quick else [])]
    code = subprocess.run(command, cwd=root).returncode
    if code:
        raise typer.Exit(code)
