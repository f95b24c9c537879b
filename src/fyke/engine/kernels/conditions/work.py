"""How much work a call has done, counted by all its kernels, so that each of them ends in time.

A kernel that can be resumed returns ``PAUSE`` now and then; the host looks at the clock and at the limit, and
calls again.  What cannot be resumed is cut off when its partition has cost all it may; the host then raises
the limit, so that no result depends on it.
"""

from __future__ import annotations

from fyke.engine.kernels import layout as L
from fyke.engine.kernels.conditions.arena import ConditionArena
from fyke.engine.kernels.jit import jit


@jit
def begin_work(w: ConditionArena):
    """Begin with a partition: what it may cost is counted from here."""
    w.work[L.WORK_BEGIN] = w.work[L.WORK_DONE]


@jit
def is_due(w: ConditionArena):
    """Say whether the host wants to be asked before more is done."""
    return w.work[L.WORK_DONE] > w.work[L.WORK_PAUSE]


@jit
def is_spent(w: ConditionArena):
    """Say whether the partition has cost all it may; whoever asks gives up, and the host is told."""
    if w.work[L.WORK_DONE] - w.work[L.WORK_BEGIN] <= w.work[L.WORK_MOST]:
        return False
    w.work[L.WORK_CUT] = 1
    return True
