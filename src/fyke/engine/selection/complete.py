"""Which matches have windows that the data cover, as far as their absences reach (SEMANTICS 2.1)."""

from __future__ import annotations

import numpy as np

from fyke.engine.feed import Feed
from fyke.engine.kernels import layout as L
from fyke.engine.kernels.arrays import Array
from fyke.engine.matchset import MatchSet
from fyke.plan.plan import Plan

_LEAST, _GREATEST = -(2**63), 2**63 - 1


def in_complete_windows(plan: Plan, matches: MatchSet, feed: Feed, *, ahead: bool, back: bool) -> Array:
    """Say for which matches the data reach a window ahead of their start, and a window back of their end.

    Only the sides that are asked for are looked at.  A window of events lies in a partition, and all
    events that it can hold have been read; a window of time lies in all data, if the plan knows them.
    """
    keep = np.ones(len(matches), bool)
    if len(matches) == 0:
        return keep
    window = plan.window.length
    if plan.window.counts_events:
        events = feed.ordered.events
        numbers, codes = events[L.EVENT_INDEX], events[L.EVENT_SEGMENT]
        done = events[L.EVENT_END] <= feed.now
        seen = np.full(int(codes.max(initial=0)) + 2, -1, np.int64)
        np.maximum.at(seen, codes[done], numbers[done])
        last = matches.positions[matches.offsets[1:] - 1]
        if ahead:
            keep &= numbers[matches.first] <= seen[codes[matches.first]] + 1 - window
        if back:
            keep &= numbers[last] + 1 >= window
        return keep
    if plan.covered is None:
        return keep
    begin, end = plan.covered
    starts, ends = matches.spans(feed.ordered.events)
    if ahead:
        keep &= (starts <= max(end - window, _LEAST)) & (end - window >= _LEAST)
    if back:
        keep &= (ends >= min(begin + window, _GREATEST)) & (begin + window <= _GREATEST)
    return keep
