"""Events to statistics: rates from candidates in windows, selectivities from pairs drawn at random."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from fyke.engine.columns import encode
from fyke.engine.engine import Engine
from fyke.engine.kernels import layout as L
from fyke.engine.kernels import lazy_layout as Z
from fyke.engine.kernels import tree_layout as T
from fyke.engine.kernels.arrays import Array, Data
from fyke.engine.lazy_tables import Candidates, find_candidates, find_reach
from fyke.engine.order import order_rows
from fyke.engine.program import Program
from fyke.engine.tree_tables import RowKeys
from fyke.language.ast import WindowKind
from fyke.pattern.normal_form import Alternative, Condition
from fyke.plan.plan import Plan
from fyke.plan.statistics import Statistics, condition_texts

SAMPLE_ROWS = 20_000
_PAIRS = 512
_SEED = 2_026


@dataclass(slots=True)
class Sample:
    """Events in order, with what can be bound to which variable and what is in one window with what."""

    data: Data
    candidates: Candidates
    reach: Array
    first: int
    end: int


def measure(plan: Plan, rows: pa.Table, scale: float = 1.0) -> Statistics:
    """Return the statistics of prepared rows, which are all rows of some stretch of time.

    ``scale``: how many times longer a window is than that stretch, if it is.
    """
    engine = Engine(replace(plan, engine="automaton"))
    ordered = order_rows(rows, plan)
    data, _ = encode(ordered.table, plan, engine.uses, engine.tick, ordered.events, engine.literals)
    roles = set(plan.pushed.roles_of.values())
    segments = np.zeros((len(ordered.segments) - 1, 5), np.int64)
    segments[:, 0] = segments[:, 1] = ordered.segments[:-1]
    segments[:, 2] = ordered.segments[1:]
    window = plan.pushed.analysed.form.window
    kind = L.WINDOW_NONE
    if window is not None:
        kind = L.WINDOW_EVENTS if window.kind is WindowKind.EVENTS else L.WINDOW_TIME
    length = min(plan.pushed.analysed.window or 0, 2**63 - 1)
    reach = find_reach(data, segments, kind, length, plan.pushed.analysed.schema.points)
    sample = Sample(data, find_candidates(data, roles), reach, 0, rows.num_rows)
    rates: dict[str, float] = {}
    for (_, name), bit in plan.pushed.roles_of.items():
        rates[name] = scale * in_window(sample, bit)
    texts = condition_texts(plan.pushed)
    selectivities: dict[str, float] = {}
    for alternative, program in zip(plan.pushed.alternatives, engine.programs, strict=True):
        selectivities |= draw_selectivities(alternative, program, sample, texts)
    held = reach[Z.REACH_END, : rows.num_rows] - np.arange(rows.num_rows)
    mean = float(held.mean()) if rows.num_rows else 0.0
    return Statistics(rates, selectivities, scale * mean, rows.num_rows)


def in_window(sample: Sample, bit: int) -> float:
    """Return how many candidates of a role a window holds, from a few windows."""
    if sample.end <= sample.first:
        return 0.0
    rows = np.arange(sample.first, sample.end, max(1, (sample.end - sample.first) // 256))
    ranks = sample.candidates.ranks[sample.candidates.rows[bit]]
    ends = sample.reach[Z.REACH_END, rows]
    # The last windows reach beyond what is known: leave them out if others are left.
    whole = ends < sample.end
    if whole.any():
        rows, ends = rows[whole], ends[whole]
    return float((ranks[ends] - ranks[rows]).mean())


def draw_selectivities(
    alternative: Alternative, program: Program, sample: Sample, texts: Mapping[Condition, str]
) -> dict[str, float]:
    """Return how often comparisons of two events hold for pairs in order and window."""
    found = {}
    keys = RowKeys(sample.data)
    for number, condition in enumerate(alternative.conditions):
        code = program.code[number]
        if len(code) != 1 or code[0][0] not in (L.COMPARE_LOADS_I, L.COMPARE_LOADS_F):
            continue
        store = "i" if code[0][0] == L.COMPARE_LOADS_I else "f"
        _, left, left_slot, right, right_slot, operator = code[0]
        u, v = program.everything[left_slot // 4].name, program.everything[right_slot // 4].name
        order = 0
        if (u, v) in alternative.order or right_slot % 4 != L.SLOT_PREVIOUS == left_slot % 4:
            order = 1
        elif (v, u) in alternative.order or u == v:
            order = -1
        x, y = _draw(sample, program.roles[u], program.roles[v], order)
        if len(x) >= 8:
            a, b = _keys(keys, store, left)[x], _keys(keys, store, right)[y]
            found[texts[condition]] = float((_compare(a, b, operator)).mean())
    return found


def _keys(keys: RowKeys, store: str, column: int) -> Array:
    keys.place(store, column)
    place = keys.places[store, column]
    part: Array = keys.parts[place // max(1, keys.data.events.shape[1])]
    return part


def _draw(sample: Sample, role: int, other: int, order: int) -> tuple[Array, Array]:
    """Return random pairs of candidates, the second one behind (1), in front of (-1) or around the first."""
    rng = np.random.default_rng(_SEED)
    own = sample.candidates.of(role)
    own = own[(own >= sample.first) & (own < sample.end)]
    theirs = sample.candidates.of(other)
    if len(own) == 0 or len(theirs) == 0:
        return own[:0], own[:0]
    x = own[rng.integers(0, len(own), _PAIRS)]
    low = sample.reach[Z.REACH_AFTER if order > 0 else Z.REACH_FIRST, x]
    high = sample.reach[Z.REACH_BEFORE if order < 0 else Z.REACH_END, x]
    ranks = sample.candidates.ranks[sample.candidates.rows[other]]
    first, count = ranks[low], ranks[np.maximum(high, low)] - ranks[low]
    some = count > 0
    x, first, count = x[some], first[some], count[some]
    y = theirs[first + (rng.random(len(x)) * count).astype(np.int64)]
    return x[x != y], y[x != y]


def _compare(x: Array, y: Array, operator: int) -> Array:
    known = (x != T.NULL_KEY) & (y != T.NULL_KEY)
    holds: Sequence[Array] = (x == y, x != y, x < y, x <= y, x > y, x >= y)
    return np.asarray(known & holds[operator])
