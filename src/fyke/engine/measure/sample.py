"""The first rows of a table to statistics, for plans made before anything runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fyke.engine.candidates.candidates import find_candidates
from fyke.engine.candidates.keys import Keys
from fyke.engine.candidates.reach import reach_of_read_rows
from fyke.engine.compiled import CompiledQuery, literals_of
from fyke.engine.conditions.program import Program
from fyke.engine.input.order import Ordered, order_rows, times
from fyke.engine.input.prepare import prepare
from fyke.engine.kernels import layout as L
from fyke.engine.measure.selectivity import Sample, draw_selectivities, in_windows
from fyke.engine.window import kernel_window
from fyke.plan.plan import Plan
from fyke.plan.statistics import Statistics

SAMPLE_ROWS = 5_000


class Measuring:
    """The conditions of a plan, compiled for measuring; it holds no events, so threads may share it."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.compiled = CompiledQuery(plan)
        self.programs = self.compiled.programs(Program)
        self.literals = literals_of(self.programs)


@dataclass(frozen=True, slots=True)
class EarliestRows:
    """The earliest rows of a table, and how many rows it has for each of them."""

    rows: pa.Table
    rest: float


def earliest_rows(table: pa.Table, end: str) -> EarliestRows:
    """Return the rows of a table, all of which have a time, that end first."""
    ends, whole = times(table.column(end)), table.num_rows
    if whole > SAMPLE_ROWS:
        if ends[:SAMPLE_ROWS].max() <= ends[SAMPLE_ROWS:].min():
            table = table.slice(0, SAMPLE_ROWS)
        else:
            table = table.take(pa.array(np.argpartition(ends, SAMPLE_ROWS)[:SAMPLE_ROWS]))
    return EarliestRows(table, whole / max(1, table.num_rows))


def measure_table(plan: Plan, earliest: EarliestRows, measuring: Measuring | None = None) -> Statistics:
    """Return the statistics of the earliest rows of a table.

    What is compiled for it may be given.
    """
    return measure_rows(plan, prepare(earliest.rows, plan), earliest.rest, measuring)


def measure_rows(
    plan: Plan, rows: pa.Table, most: float = 1.0, measuring: Measuring | None = None
) -> Statistics:
    """Return the statistics of prepared rows, which are all relevant rows of some stretch of time.

    A window longer than that stretch holds more than they show, up to ``most`` times as much.
    """
    if rows.num_rows == 0:
        return Statistics()
    return measure_ordered(measuring or Measuring(plan), order_rows(rows, plan), longer(plan, rows, most))


def measure_ordered(measuring: Measuring, ordered: Ordered, scale: float = 1.0) -> Statistics:
    """Return the statistics of ordered rows; a window holds ``scale`` times as much as they show."""
    plan, table = measuring.plan, ordered.table
    data, _ = measuring.compiled.encode(table, ordered.events, measuring.literals)
    segments = np.zeros((len(ordered.segments) - 1, 5), np.int64)
    segments[:, 0] = segments[:, 1] = ordered.segments[:-1]
    segments[:, 2] = ordered.segments[1:]
    reach = reach_of_read_rows(data, segments, *kernel_window(plan.window), points=plan.schema.points)
    sample = Sample(data, find_candidates(data, set(plan.roles_of.values())), reach, 0, table.num_rows)
    names = [name for _, name in plan.roles_of]
    found = in_windows(sample, list(plan.roles_of.values()))
    rates = {name: scale * rate for name, rate in zip(names, found, strict=True)}
    selectivities: dict[str, float] = {}
    keys = Keys(sample.candidates)
    for alternative, program in zip(plan.alternatives, measuring.programs, strict=True):
        selectivities |= draw_selectivities(alternative, program, sample, plan.texts, keys)
    held = reach[L.REACH_END, : table.num_rows] - np.arange(table.num_rows)
    return Statistics(rates, selectivities, scale * float(held.mean()), table.num_rows)


def longer(plan: Plan, rows: pa.Table, most: float) -> float:
    """Return how many times longer a window is than the time that the rows cover, at most ``most``."""
    if rows.num_rows < 2 or most <= 1:
        return 1.0
    if not plan.window.bounded:
        return most
    if plan.window.counts_events:
        return 1.0
    ends = times(rows.column(plan.schema.end))
    covered = max(1, int(ends.max()) - int(ends.min()))
    return min(most, max(1.0, plan.window.length / covered))
