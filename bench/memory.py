"""Memory over long streams: events made batch by batch go through the engine, and nothing piles up."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from bench.automaton import NEXT_MATCH, template
from bench.foundation import SEQUENCE
from bench.report import Line, show
from fyke.datasets import stocks
from fyke.engine.engine import Engine
from fyke.engine.prepare import derived_types, prepare
from fyke.engine.result import ResultBuilder
from fyke.engine.warm import warm_up
from fyke.language.sase import parse
from fyke.pattern.analyse import analyse
from fyke.pattern.schema import make_schema
from fyke.plan.plan import Plan
from fyke.plan.pushdown import push_down

BATCH = 250_000
WARM_UP = 0.2  # of the batches
AT_MOST = 1.1  # times what was held in the warm-up


@dataclass(slots=True)
class Held:
    """What was held at most, after any batch, during a part of a stream."""

    megabytes: float = 0.0
    rows: int = 0

    def note(self, rows: int) -> None:
        """Look at the process and at the state."""
        self.megabytes = max(self.megabytes, _resident_megabytes())
        self.rows = max(self.rows, rows)


class Feeding:
    """An engine with its state; each batch is forgotten once its matches are counted."""

    def __init__(self, query: str, schema: pa.Schema, time: str, type_column: str) -> None:
        columns = dict(zip(schema.names, schema.types, strict=True))
        analysed = analyse(parse(query), make_schema(columns, time=time, type_column=type_column))
        self.pushed = push_down(analysed, "all")
        plan = Plan(self.pushed, derived_types(self.pushed))
        self.engine, self.builder = Engine(plan), ResultBuilder(plan)
        self.state = self.engine.start(prepare(schema.empty_table(), self.pushed).schema)

    def feed(self, batch: pa.Table, watermark: int | None) -> int:
        """Read a batch up to a watermark; return how many matches are certain now."""
        self.state, found = self.engine.advance(self.state, prepare(batch, self.pushed), watermark)
        return self.builder.rows(found).num_rows


def typed_events(events: int) -> Iterator[tuple[pa.Table, int]]:
    """Yield batches of ten types and 1,000 keys, each with the watermark behind it."""
    rng = np.random.default_rng(0)
    names = pa.array([chr(ord("A") + k) for k in range(10)])
    for begin in range(0, events, BATCH):
        rows = min(BATCH, events - begin)
        kinds = names.take(pa.array(rng.integers(0, 10, rows)))
        numbers = np.arange(begin, begin + rows)
        yield pa.table({"t": numbers, "kind": kinds, "key": rng.integers(0, 1_000, rows)}), begin + rows - 1


def ticks(events: int) -> Iterator[tuple[pa.Table, int]]:
    """Yield batches of stock ticks, one a time unit."""
    for number, begin in enumerate(range(0, events, BATCH)):
        rows = min(BATCH, events - begin)
        batch = stocks.generate(rows, number).drop_columns(["id", "ts"])
        yield batch.append_column("t", pa.array(np.arange(begin, begin + rows))), begin + rows - 1


def flat(
    name: str, query: str, batches: Callable[[int], Iterator[tuple[pa.Table, int]]], events: int
) -> list[Line]:
    """Feed a stream and compare what is held after the warm-up with what is held in the end."""
    feeding = Feeding(query, next(batches(1))[0].schema, "t", "kind")
    early, late, found, seconds = Held(), Held(), 0, 0.0
    turn = max(4, int(WARM_UP * events / BATCH))
    for number, (batch, watermark) in enumerate(batches(events)):
        begin = time.process_time()
        found += feeding.feed(batch, watermark)
        seconds += time.process_time() - begin
        (early if number < turn else late).note(feeding.state.rows.num_rows)
    note = (
        f"{late.megabytes:.0f} MB at most, {early.megabytes:.0f} MB in the first {turn * BATCH:,} events, "
        f"{_peak_megabytes():.0f} MB at the peak; "
        f"{found:,} matches, {events / seconds / 1e6:.1f} million events a second"
    )
    return [
        Line(
            f"{name}, {events:,} events: resident memory, rest / warm-up",
            late.megabytes / early.megabytes,
            AT_MOST,
            "x",
            note,
        ),
        Line(
            f"{name}: rows held between batches, rest / warm-up",
            late.rows / max(1, early.rows),
            AT_MOST,
            "x",
            f"{late.rows:,} rows at most",
        ),
    ]


def _resident_megabytes() -> float:
    """Return what the process holds now; where no one says, the most it has ever held.

    The most ever held would hide growth below the peak of compiling the kernels.
    """
    statistics = Path("/proc/self/statm")
    if not statistics.exists():
        return _peak_megabytes()
    return int(statistics.read_text().split()[1]) * resource.getpagesize() / 2**20


def _peak_megabytes() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def main(events: int = 50_000_000) -> bool:
    """Run the benchmark; return whether every bar holds."""
    pa.set_cpu_count(1)
    warm_up()
    lines = flat("sequence of three", f"{SEQUENCE} WITHIN 20000", typed_events, events)
    lines += flat("p2, next match", template("p2", NEXT_MATCH), ticks, max(events // 10, 8 * BATCH))
    return show("memory", lines)
