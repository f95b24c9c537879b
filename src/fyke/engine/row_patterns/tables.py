"""An automaton as the arrays that kernels walk along."""

from __future__ import annotations

import numpy as np

from fyke.engine.kernels.arrays import Array
from fyke.engine.kernels.row_patterns import layout as R
from fyke.language.row_patterns import SkipTo
from fyke.plan.row_patterns.automaton import END
from fyke.plan.row_patterns.plan import RowPlan

_SKIPS = {
    SkipTo.PAST_LAST: R.SKIP_PAST_LAST,
    SkipTo.NEXT_ROW: R.SKIP_NEXT_ROW,
    SkipTo.FIRST: R.SKIP_FIRST,
    SkipTo.LAST: R.SKIP_LAST,
}
_BYTE = 256


def automaton_tables(
    plan: RowPlan, conditions: dict[int, int], truths: int, *, marked: bool = True
) -> dict[str, Array]:
    """Return the arrays of a plan's automaton.

    ``conditions`` has the row of ``truth`` for the labels that have a condition; there are ``truths`` of
    them.  Without ``marked`` what is about marks of rows is left out.
    """
    automaton, analysed = plan.automaton, plan.analysed
    states = len(automaton.labels)
    lists = [*automaton.moves, automaton.first, automaton.start]
    of_state = [conditions.get(label, R.ALWAYS) for label in automaton.labels]
    narrow = states <= R.MOST_BITS and analysed.window is None and marked
    settings = np.zeros(R.SET_SIZE, np.int64)
    settings[R.SET_STATES], settings[R.SET_NARROW] = states, int(narrow)
    settings[R.SET_SKIP] = _SKIPS[analysed.skip_to]
    settings[R.SET_LABELS] = int(plan.keeps_labels or not plan.linear)
    settings[R.SET_WINDOW] = -1 if analysed.window is None else analysed.window
    settings[R.SET_FIRST_EMPTY], settings[R.SET_START_EMPTY] = END in automaton.first, END in automaton.start
    masks, before = np.zeros(truths, np.int64), np.zeros(_BYTE, np.int64)
    if narrow:
        settings[R.SET_ALWAYS] = _mask(s for s in range(states) if of_state[s] == R.ALWAYS)
        settings[R.SET_GOES_ON] = _mask(s for s in range(states) if END in automaton.moves[s])
        settings[R.SET_ENDS] = _mask(s for s in range(states) if automaton.ends[s])
        settings[R.SET_FIRST], settings[R.SET_START] = _mask(automaton.first), _mask(automaton.start)
        masks[:] = [_mask(s for s in range(states) if of_state[s] == c) for c in range(truths)]
        before = _before(plan)
    skipped = analysed.skip_labels or frozenset()
    flags = [
        (R.FLAG_SKIPPED_TO if analysed.variables[label] in skipped else 0) | (R.FLAG_ENDS if ends else 0)
        for label, ends in zip(automaton.labels, automaton.ends, strict=True)
    ]
    return {
        "settings": settings,
        "moves": np.array([to for each in lists for to in each] or [END], np.int64),
        "offsets": np.concatenate(([0], np.cumsum([len(each) for each in lists]))).astype(np.int64),
        "conditions": np.array(of_state or [R.ALWAYS], np.int64),
        "masks": masks,
        "before": before,
        "flags": np.array(flags or [0], np.uint8),
    }


def _mask(states: object) -> int:
    return sum(1 << state for state in set(states) if state != END)  # type: ignore[call-overload]


def _before(plan: RowPlan) -> Array:
    """Return, for each byte of a set of states and each value of it, the states that move to one of them."""
    moves = plan.automaton.moves
    sources = [0] * (-(-len(moves) // 8) * 8)
    for state, targets in enumerate(moves):
        for to in targets:
            if to != END:
                sources[to] |= 1 << state
    tables = np.zeros((max(1, len(sources) // 8), _BYTE), np.int64)
    values = np.arange(_BYTE)
    for state, each in enumerate(sources):
        tables[state // 8, values >> state % 8 & 1 == 1] |= each
    return tables.ravel()
