"""What time decides about events alone: whether a stretch fits the window, who may follow whom in a group."""

from __future__ import annotations

import numpy as np

from fyke.engine.kernels import layout as L
from fyke.engine.kernels.conditions.arena import ConditionArena
from fyke.engine.kernels.jit import jit


@jit
def span_fits(w: ConditionArena, start, end):
    """Say whether a stretch of time lies in the window; no difference of int64 can overflow it."""
    return np.uint64(end) - np.uint64(start) <= np.uint64(w.program[L.HEAD_WINDOW])


@jit
def follows(w: ConditionArena, last, position):
    """Say whether an event may stand behind another one in a group: after it, or at the same point."""
    if w.events[L.EVENT_HIGH, last] < w.events[L.EVENT_LOW, position]:
        return True
    start, end = w.events[L.EVENT_START, position], w.events[L.EVENT_END, position]
    return start == end and w.events[L.EVENT_START, last] == end and w.events[L.EVENT_END, last] == end
