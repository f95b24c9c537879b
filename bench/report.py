"""Timing and reporting shared by the benchmarks."""

from __future__ import annotations

import contextlib
import ctypes
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
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


class Timed:
    """Times of several works that took turns, in seconds of the processor."""

    def __init__(self, names: Iterable[str]) -> None:
        self.rounds: dict[str, list[float]] = {name: [] for name in names}

    def best(self, name: str) -> float:
        """Return the shortest time of a work."""
        return min(self.rounds[name])

    def ratio(self, one: str, other: str) -> float:
        """Return how much longer one work takes: the median of the ratios within a round.

        What slows the machine down slows neighbours in a round alike; shortest times need not
        come from the same round.
        """
        return median(x / y for x, y in zip(self.rounds[one], self.rounds[other], strict=True))


def interleaved(times: int, works: Mapping[str, Callable[[], Any]], *, seconds: float = 0.0) -> Timed:
    """Run works in turn, at least ``times`` times and until ``seconds`` are over.

    What counts is the processor's time: everything measured here runs on one core, and other programs
    must not count.  Results are dropped before the clock starts: giving memory back is not part of the
    next run.
    """
    timed, rounds, begun = Timed(works), 0, time.perf_counter()
    names = list(works)
    while rounds < times or time.perf_counter() - begun < seconds:
        first = rounds % len(names)  # not always the same one finds the caches full of another's data
        for name in names[first:] + names[:first]:
            begin = time.process_time()
            result = works[name]()
            timed.rounds[name].append(time.process_time() - begin)
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

    def cells(self) -> tuple[str, ...]:
        """Return the line as the cells of a table."""
        measured = (
            f"{self.value:,.2f} {self.unit}" if self.value < 1_000 else f"{self.value:,.0f} {self.unit}"
        )
        if self.bar is None:
            return self.what, measured, "", "", self.note
        sign = "at least" if self.at_least else "at most"
        verdict = "[green]holds" if self.holds else "[red]FAILS"
        return self.what, measured, f"{sign} {self.bar:g} {self.unit}", verdict, self.note


def show(title: str, lines: list[Line]) -> bool:
    """Print the lines as a table and return whether every bar holds."""
    table = Table(title=title)
    for column in ("what", "measured", "bar", "", "note"):
        table.add_column(column)
    for line in lines:
        table.add_row(*line.cells())
    Console(width=200).print(table)
    return all(line.holds for line in lines)
