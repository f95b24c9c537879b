"""Memory over long streams: events made batch by batch go through the engine, and nothing piles up."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa

import fyke
from bench.automaton import NEXT_MATCH, template
from bench.foundation import SEQUENCE
from bench.report import Line, show
from fyke.datasets import stocks
from fyke.engine.counters import Counters
from fyke.engine.engine import Engine
from fyke.engine.input.prepare import derived_types, prepare
from fyke.engine.output.rows import ResultBuilder
from fyke.language.sase import parse
from fyke.logical.analyse import analyse
from fyke.logical.schema import make_schema
from fyke.plan.plan import make_plan

BATCH = 250_000
PART = 0.1  # of the batches: the first warms up, the second is compared with the last
AT_MOST = 1.1  # times what was held in the beginning


class Feeding:
    """An engine with its state; each batch is forgotten once its matches are counted."""

    def __init__(self, query: str, schema: pa.Schema, time: str, type_column: str, **planned: Any) -> None:
        columns = dict(zip(schema.names, schema.types, strict=True))
        analysed = analyse(parse(query), make_schema(columns, time=time, type_column=type_column))
        self.plan, self.counters = make_plan(analysed, derived_types, **planned), Counters()
        self.engine, self.builder = Engine(self.plan), ResultBuilder(self.plan)
        self.state = self.engine.start(prepare(schema.empty_table(), self.plan).schema)

    def feed(self, batch: pa.Table, watermark: int | None) -> int:
        """Read a batch up to a watermark; return how many matches are certain now."""
        self.state, found = self.engine.advance(self.state, prepare(batch, self.plan), watermark)
        self.counters.merge(found.counters)
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
    """Feed a stream and compare what is held in the end with what was held in the beginning."""
    feeding = Feeding(query, next(batches(1))[0].schema, "t", "kind")
    resident, rows, found, seconds = [], [], 0, 0.0
    for batch, watermark in batches(events):
        begin = time.process_time()
        found += feeding.feed(batch, watermark)
        seconds += time.process_time() - begin
        resident.append(resident_megabytes())
        rows.append(feeding.state.rows.num_rows)
    part = max(2, int(PART * len(rows)))
    # Medians: how much the allocator keeps after a batch depends on its matches.
    early, late = median(resident[part : 2 * part]), median(resident[-part:])
    note = (
        f"{late:.0f} MB in the end, {early:.0f} MB after {2 * part * BATCH:,} events, "
        f"{peak_megabytes():.0f} MB at the peak; "
        f"{found:,} matches, {events / seconds / 1e6:.1f} million events a second"
    )
    return [
        Line(
            f"{name}, {events:,} events: resident memory, end / beginning",
            late / early,
            AT_MOST,
            "x",
            note,
        ),
        Line(
            f"{name}: rows held between batches, end / beginning",
            max(rows[-part:]) / max(1, *rows[part : 2 * part]),
            AT_MOST,
            "x",
            f"{max(rows):,} rows at most",
        ),
    ]


def resident_megabytes() -> float:
    """Return what the process holds now; where no one says, the most it has ever held.

    The most ever held would hide growth below the peak of compiling the kernels.
    """
    statistics = Path("/proc/self/statm")
    if not statistics.exists():
        return peak_megabytes()
    return int(statistics.read_text().split()[1]) * resource.getpagesize() / 2**20


def peak_megabytes() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def main(*, quick: bool = False) -> bool:
    """Run the benchmark; return whether every bar holds."""
    events = 10_000_000 if quick else 50_000_000
    pa.set_cpu_count(1)
    fyke.warm_up()
    lines = flat("sequence of three", f"{SEQUENCE} WITHIN 20000", typed_events, events)
    lines += flat("p2, next match", template("p2", NEXT_MATCH), ticks, max(events // 10, 8 * BATCH))
    return show("memory", lines)
