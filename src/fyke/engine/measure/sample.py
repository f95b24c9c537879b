"""The first rows of a table to statistics, for plans that are made before anything runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from fyke.engine.engine import Engine
from fyke.engine.input.encode import encode
from fyke.engine.input.order import Ordered, order_rows, times
from fyke.engine.input.prepare import prepare
from fyke.engine.kernels import layout as L
from fyke.engine.lazy.tables import find_candidates
from fyke.engine.measure.selectivity import Sample, draw_selectivities, in_windows, reach_of_rows
from fyke.engine.tree.tables import RowKeys
from fyke.language.ast import WindowKind
from fyke.plan.plan import Plan
from fyke.plan.statistics import Statistics

SAMPLE_ROWS = 5_000


def measuring_engine(plan: Plan) -> Engine:
    """Return an engine that knows the conditions of a plan, for others to measure them."""
    return Engine(replace(plan, engine="automaton"), only_conditions=True)


def measure_table(plan: Plan, table: pa.Table, engine: Engine | None = None) -> Statistics:
    """Return the statistics of the earliest rows of a table, all of which have a time.

    The :func:`measuring_engine` may be given.
    """
    ends = times(table.column(plan.pushed.analysed.schema.end))
    if len(ends) > SAMPLE_ROWS:
        if ends[:SAMPLE_ROWS].max() <= ends[SAMPLE_ROWS:].min():
            table = table.slice(0, SAMPLE_ROWS)
        else:
            table = table.take(pa.array(np.argpartition(ends, SAMPLE_ROWS)[:SAMPLE_ROWS]))
    rest = len(ends) / max(1, table.num_rows)
    return measure_rows(plan, prepare(table, plan.pushed), rest, engine)


def measure_rows(plan: Plan, rows: pa.Table, most: float = 1.0, engine: Engine | None = None) -> Statistics:
    """Return the statistics of prepared rows, which are all rows of some stretch of time.

    Where a window is longer than that stretch, it holds more than they show: up to ``most`` times as much.
    """
    if rows.num_rows == 0:
        return Statistics()
    engine = engine or measuring_engine(plan)
    return measure_ordered(engine, order_rows(rows, plan), longer(plan, rows, most))


def measure_ordered(engine: Engine, ordered: Ordered, scale: float = 1.0) -> Statistics:
    """Return the statistics of rows in order; a window holds ``scale`` times as much as they can show."""
    pushed, table = engine.plan.pushed, ordered.table
    data, _ = encode(table, engine.plan, engine.uses, engine.tick, ordered.events, engine.literals)
    segments = np.zeros((len(ordered.segments) - 1, 5), np.int64)
    segments[:, 0] = segments[:, 1] = ordered.segments[:-1]
    segments[:, 2] = ordered.segments[1:]
    window = pushed.analysed.form.window
    kind = L.WINDOW_NONE
    if window is not None:
        kind = L.WINDOW_EVENTS if window.kind is WindowKind.EVENTS else L.WINDOW_TIME
    length = min(pushed.analysed.window or 0, 2**63 - 1)
    reach = reach_of_rows(data, segments, kind, length, points=pushed.analysed.schema.points)
    sample = Sample(data, find_candidates(data, set(pushed.roles_of.values())), reach, 0, table.num_rows)
    names = [name for _, name in pushed.roles_of]
    found = in_windows(sample, list(pushed.roles_of.values()))
    rates = {name: scale * rate for name, rate in zip(names, found, strict=True)}
    selectivities: dict[str, float] = {}
    keys = RowKeys(data)
    for alternative, program in zip(pushed.alternatives, engine.programs, strict=True):
        selectivities |= draw_selectivities(alternative, program, sample, pushed.texts, keys)
    held = reach[L.REACH_END, : table.num_rows] - np.arange(table.num_rows)
    return Statistics(rates, selectivities, scale * float(held.mean()), table.num_rows)


def longer(plan: Plan, rows: pa.Table, most: float) -> float:
    """Return how many times longer a window is than what the rows cover, at most ``most`` times."""
    window = plan.pushed.analysed.form.window
    if rows.num_rows < 2 or most <= 1:
        return 1.0
    if window is None:
        return most
    if window.kind is WindowKind.EVENTS:
        return 1.0
    ends = times(rows.column(plan.pushed.analysed.schema.end))
    covered = max(1, int(ends.max()) - int(ends.min()))
    return min(most, max(1.0, (plan.pushed.analysed.window or 0) / covered))
