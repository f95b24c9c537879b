"""Timing and reporting shared by the benchmarks."""

from __future__ import annotations

import contextlib
import ctypes
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

_M_MMAP_MAX, _M_TRIM_THRESHOLD = -4, -1  # of malloc.h


def best_of(times: int, work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the shortest time of several runs, in seconds, and the last result."""
    best, result = float("inf"), None
    for _ in range(times):
        begin = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - begin)
    return best, result


def keep_memory() -> None:
    """Let freed memory stay with the process, where the C library can do that.

    By default it depends on earlier sizes whether an array gets fresh pages, which cost more than
    what many loops do with them: the same work takes 20 ms or 60 ms.  Like this only work counts.
    """
    with contextlib.suppress(OSError, AttributeError):
        library = ctypes.CDLL("libc.so.6")
        library.mallopt(_M_MMAP_MAX, 0)
        library.mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)


class CannotRun(Exception):
    """A benchmark lacks something to run with: Java, jars, a package.  The report says what."""


class Spread(float):
    """The median of some rounds, which remembers the least and the most."""

    low: float
    high: float

    def __new__(cls, rounds: Iterable[float]) -> Spread:
        values = sorted(rounds)
        found = super().__new__(cls, median(values))
        found.low, found.high = values[0], values[-1]
        return found


class Timed:
    """Times of several works that took turns, in seconds."""

    def __init__(self, names: Iterable[str]) -> None:
        self.rounds: dict[str, list[float]] = {name: [] for name in names}

    def best(self, name: str) -> float:
        """Return the shortest time of a work."""
        return min(self.rounds[name])

    def ratio(self, one: str, other: str) -> Spread:
        """Return how much longer one work takes: the median of the ratios within a round.

        What slows the machine down slows neighbours in a round alike; shortest times need not
        come from the same round.
        """
        return Spread(x / y for x, y in zip(self.rounds[one], self.rounds[other], strict=True))


def interleaved(
    times: int,
    works: Mapping[str, Callable[[], Any]],
    *,
    seconds: float = 0.0,
    clock: Callable[[], float] = time.process_time,
) -> Timed:
    """Run works in turn, at least ``times`` times and until ``seconds`` are over.

    What counts is the processor's time: most of what is measured runs on one core, and other programs
    must not count.  Where several cores or processes work, ``time.perf_counter`` is the clock.  Results
    are dropped before the clock starts: giving memory back is not part of the next run.
    """
    timed, rounds, begun = Timed(works), 0, time.perf_counter()
    names = list(works)
    while rounds < times or time.perf_counter() - begun < seconds:
        first = rounds % len(names)  # not always the same one finds the caches full of another's data
        for name in names[first:] + names[:first]:
            begin = clock()
            result = works[name]()
            timed.rounds[name].append(clock() - begin)
            del result
        rounds += 1
    return timed


@dataclass(frozen=True, slots=True)
class Line:
    """One measured number; where there is a bar, ``value`` must not exceed it (or fall below a floor)."""

    what: str
    value: float
    bar: float | None
    unit: str
    note: str = ""
    at_least: bool = False

    @property
    def holds(self) -> bool:
        if self.bar is None:
            return True
        return self.value >= self.bar if self.at_least else self.value <= self.bar

    @property
    def spread(self) -> str:
        """The least and the most of the rounds; nothing for a count, which is the same every time."""
        if not isinstance(self.value, Spread):
            return ""
        return f"{number(self.value.low)} to {number(self.value.high)}"

    @property
    def measured(self) -> str:
        return f"{number(self.value)} {self.unit}"

    @property
    def asked(self) -> str:
        """The bar in words."""
        if self.bar is None:
            return ""
        return f"{'at least' if self.at_least else 'at most'} {self.bar:g} {self.unit}"


def number(value: float) -> str:
    """Print a number with as many digits as mean something."""
    return f"{value:,.2f}" if value < 1_000 else f"{value:,.0f}"


@dataclass(frozen=True, slots=True)
class Plot:
    """Curves by name, as pairs of numbers; both axes are logarithmic if ``log``."""

    title: str
    across: str
    up: str
    curves: dict[str, list[tuple[float, float]]]
    log: bool = True


@dataclass(frozen=True, slots=True)
class Section:
    """What one table of the report shows.

    The lines of ``claims`` compare with what a paper reports: they agree or differ, and are no bars.
    ``skipped`` says why there are none.
    """

    title: str
    lines: Sequence[Line] = ()
    plots: Sequence[Plot] = ()
    remarks: str = ""
    claims: bool = False
    skipped: str = ""

    @property
    def holds(self) -> bool:
        return self.claims or all(line.holds for line in self.lines)

    def verdict(self, line: Line) -> str:
        """Say in a word whether a line keeps its bar."""
        if line.bar is None:
            return ""
        if self.claims:
            return "agrees" if line.holds else "differs"
        return "holds" if line.holds else "FAILS"


@dataclass(slots=True)
class Shown:
    """All sections that this process has shown, for the report."""

    sections: list[Section] = field(default_factory=list)


SHOWN = Shown()


def show(
    title: str,
    lines: Sequence[Line],
    *,
    plots: Sequence[Plot] = (),
    remarks: str = "",
    claims: bool = False,
) -> bool:
    """Print the lines as a table, keep them for the report, and return whether every bar holds."""
    section = Section(title, lines, plots, remarks, claims)
    SHOWN.sections.append(section)
    table = Table(title=title)
    for column in ("what", "measured", "rounds", "bar", "", "note"):
        table.add_column(column)
    colours = {"holds": "[green]", "FAILS": "[red]", "agrees": "[green]", "differs": "[yellow]", "": ""}
    for line in lines:
        verdict = section.verdict(line)
        coloured = f"{colours[verdict]}{verdict}"
        table.add_row(line.what, line.measured, line.spread, line.asked, coloured, line.note)
    console = Console(width=200)
    console.print(table)
    if remarks:
        console.print(remarks, markup=False)
    return section.holds
