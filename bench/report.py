"""Timing and reporting shared by the benchmarks."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table


def best_of(times: int, work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the shortest time of several runs, in seconds, and the last result."""
    best, result = float("inf"), None
    for _ in range(times):
        begin = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - begin)
    return best, result


@dataclass(frozen=True, slots=True)
class Line:
    """One measured bar: ``value`` must not exceed ``bar``."""

    what: str
    value: float
    bar: float
    unit: str
    note: str = ""

    @property
    def holds(self) -> bool:
        return self.value <= self.bar


def show(title: str, lines: list[Line]) -> bool:
    """Print the lines as a table and return whether every bar holds."""
    table = Table(title=title)
    for column in ("what", "measured", "bar", "", "note"):
        table.add_column(column)
    for line in lines:
        verdict = "[green]holds" if line.holds else "[red]FAILS"
        table.add_row(
            line.what, f"{line.value:.2f} {line.unit}", f"{line.bar:g} {line.unit}", verdict, line.note
        )
    Console(width=160).print(table)
    return all(line.holds for line in lines)
