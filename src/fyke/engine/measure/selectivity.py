"""Events to statistics: rates from candidates in windows, selectivities from pairs drawn at random."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fyke.engine.candidates.candidates import Candidates
from fyke.engine.candidates.keys import ALL_ROWS, KeyColumn, Keys
from fyke.engine.conditions.comparison import comparison_of
from fyke.engine.conditions.program import Program
from fyke.engine.kernels import layout as L
from fyke.engine.kernels.arrays import Array, Data
from fyke.engine.kernels.candidates.pairs import draw_pairs
from fyke.logical.normal_form import Alternative, Condition

_PAIRS = 512
_DRAWN = np.random.default_rng(2_026).random((2, _PAIRS))  # choose candidates, and others
_HOLDS = (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)


@dataclass(slots=True)
class Sample:
    """Ordered events, with the candidates of each variable and how far each event reaches."""

    data: Data
    candidates: Candidates
    reach: Array
    first: int
    end: int


def in_windows(sample: Sample, bits: Sequence[int]) -> list[float]:
    """Return how many candidates of each role a window holds, from a few windows."""
    rows = np.arange(sample.first, sample.end, max(1, (sample.end - sample.first) // 256))
    ends = sample.reach[L.REACH_END, rows]
    some = ends > rows
    # The last windows reach beyond the known events: leave them out if there are others.
    whole = some & (ends < sample.end)
    chosen = whole if whole.any() else some
    if not chosen.any():
        return [0.0] * len(bits)
    rows, ends = rows[chosen], ends[chosen]
    ranks, own = sample.candidates.ranks, np.array([[sample.candidates.rows[bit]] for bit in bits])
    return [float(mean) for mean in (ranks[own, ends] - ranks[own, rows]).mean(axis=1)]


def draw_selectivities(
    alternative: Alternative, program: Program, sample: Sample, texts: Mapping[Condition, str], keys: Keys
) -> dict[str, float]:
    """Return how often comparisons of two events hold, for pairs that fit order and window.

    Pairs are drawn regardless of other conditions, so that the result does not depend on the current plan.
    """
    found = {}
    for number, condition in enumerate(alternative.conditions):
        compared = comparison_of(program.code[number])
        if compared is None:
            continue
        left, right = compared.left, compared.right
        u, v = (program.everything[side.variable].name for side in (left, right))
        order = 0
        if (u, v) in alternative.order or right.slot != L.SLOT_PREVIOUS == left.slot:
            order = 1
        elif (v, u) in alternative.order or u == v:
            order = -1
        x, y = _draw(sample, program.roles[u], program.roles[v], order)
        if len(x) >= 8:
            a, b = (
                keys.of(KeyColumn(ALL_ROWS, compared.store, side.column))[rows]
                for side, rows in ((left, x), (right, y))
            )
            # What was never seen may still occur: count half a pair.
            found[texts[condition]] = max(float(_compare(a, b, compared.operator).mean()), 0.5 / len(x))
    return found


def _draw(sample: Sample, role: int, other: int, order: int) -> tuple[Array, Array]:
    """Return random pairs of candidates, the second after (1), before (-1) or around the first."""
    own = sample.candidates.of(role)
    own = own[np.searchsorted(own, sample.first) : np.searchsorted(own, sample.end)]
    theirs = sample.candidates.of(other)
    if len(own) == 0 or len(theirs) == 0:
        return own[:0], own[:0]
    low = sample.reach[L.REACH_AFTER if order > 0 else L.REACH_FIRST]
    high = sample.reach[L.REACH_BEFORE if order < 0 else L.REACH_END]
    ranks = sample.candidates.ranks[sample.candidates.rows[other]]
    pairs = np.empty((2, _PAIRS), np.int64)
    count = draw_pairs(own, theirs, low, high, ranks, _DRAWN, pairs)
    return pairs[0, :count], pairs[1, :count]


def _compare(x: Array, y: Array, operator: int) -> Array:
    known = (x != L.NULL_KEY) & (y != L.NULL_KEY)
    return np.asarray(known & _HOLDS[operator](x, y))
