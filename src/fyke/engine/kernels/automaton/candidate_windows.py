"""Candidate windows ([S] 5.2.2): an event whose window lacks what a match needs starts nothing.

For each variable the first event ahead that can be bound to it, behind the first ones of all
variables ordered before it: if one of them is not within the window of the start, no match begins
there.  That is [S]'s summary statistics taken along whole chains of the order, and since no
such event ever moves back, all starts of a partition together cost one pass per variable.

Variables without an order among them may share such an event, so the window must also have as many
events as they bind together.
"""

from __future__ import annotations

from fyke.engine.kernels import layout as L
from fyke.engine.kernels.automaton.runs import age_fits
from fyke.engine.kernels.jit import jit

LEFT, RIGHT, COUNT, COUNTED_SIZE = 0, 1, 2, 3  # events of a kind between two places


@jit
def look_from(w, event):
    """Begin with a partition."""
    for v in range(w.program[L.HEAD_VARIABLES]):
        w.ahead[v] = event
    for k in range(w.program[L.HEAD_NEEDS]):
        w.counted[k, LEFT], w.counted[k, RIGHT], w.counted[k, COUNT] = event, event, 0


@jit
def has_enough(w, event, end, flush, age):
    """Say whether the window that starts with ``event`` has as many events of each kind as a match binds."""
    for k in range(w.program[L.HEAD_NEEDS]):
        row = w.program[L.HEAD_NEED_TABLE] + k * L.NEED_SIZE
        roles, needed = w.program[row + L.NEED_ROLES], w.program[row + L.NEED_COUNT]
        left, right, count = w.counted[k, LEFT], w.counted[k, RIGHT], w.counted[k, COUNT]
        while left < event:
            if left < right and w.events[L.EVENT_ROLES, left] & roles:
                count -= 1
            left += 1
        right = max(left, right)
        while count < needed and right < end:
            if w.events[L.EVENT_ROLES, right] & roles:
                count += 1
            right += 1
        w.counted[k, LEFT], w.counted[k, RIGHT], w.counted[k, COUNT] = left, right, count
        if count < needed:
            if flush:
                return False
        elif not age_fits(w, age, right - 1):
            return False
    return True


@jit
def admits_match(w, event, end, flush):
    """Say whether the window that starts with ``event`` has a candidate for every variable, in order.

    Events from ``end`` on are not known; unless the input ends there, they may be what is missing.
    """
    age = w.events[L.EVENT_START, event]
    if w.program[L.HEAD_WINDOW_KIND] == L.WINDOW_EVENTS:
        age = w.events[L.EVENT_INDEX, event]
    if not has_enough(w, event, end, flush, age):
        return False
    for v in range(w.program[L.HEAD_VARIABLES]):
        row = w.program[L.HEAD_VARIABLE_TABLE] + v * L.VAR_SIZE
        role, before = w.program[row + L.VAR_START], w.program[row + L.VAR_BEFORE]
        at, u = max(w.ahead[v], event), 0
        while before != 0:  # variables are numbered along the order
            if before & 1:
                at = max(at, w.ahead[u] + 1)
            before >>= 1
            u += 1
        while at < end and not w.events[L.EVENT_ROLES, at] & role:
            at += 1
        w.ahead[v] = at
        if at >= end:
            return not flush
        if not age_fits(w, age, at):
            return False
    return True
