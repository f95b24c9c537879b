"""Candidate windows ([S] 5.2.2): an event whose window lacks what a match needs starts nothing.

For each variable the first event ahead that can be bound to it, behind the first ones of all
variables ordered before it: if one of them is not within the window of the start, no match begins
there.  That is [S]'s summary statistics taken along whole chains of the order, and since no
such event ever moves back, all starts of a partition together cost one pass per variable.
"""

from __future__ import annotations

from fyke.engine.kernels import layout as L
from fyke.engine.kernels.automaton.runs import age_fits
from fyke.engine.kernels.jit import jit


@jit
def look_from(w, event):
    """Begin with a partition."""
    for v in range(w.program[L.HEAD_VARIABLES]):
        w.ahead[v] = event


@jit
def admits_match(w, event, end, flush):
    """Say whether the window that starts with ``event`` has a candidate for every variable, in order.

    Events from ``end`` on are not known; unless the input ends there, they may be what is missing.
    """
    age = w.events[L.EVENT_START, event]
    if w.program[L.HEAD_WINDOW_KIND] == L.WINDOW_EVENTS:
        age = w.events[L.EVENT_INDEX, event]
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
