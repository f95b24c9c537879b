"""How far each row reaches: which rows can be before it, after it, or in one window with it.

Four row numbers per row turn ordering filters and windows into ranges of positions ([L] 4.1, prec and
succ): exact where no event lasts, otherwise a range that holds all that qualify.
"""

from __future__ import annotations

import numpy as np

from fyke.engine.kernels import layout as L
from fyke.engine.kernels.jit import entry, jit
from fyke.engine.kernels.kinds import IntegerRows

NEAR = np.int64(2**61)


@jit
def too_far(kind, window, earlier, later):
    """Say whether two moments, or numbers of events, are more than a window apart."""
    if later <= earlier:
        return False
    distance = np.uint64(later) - np.uint64(earlier)
    if kind == L.WINDOW_TIME:
        return distance > np.uint64(window)
    return distance >= np.uint64(window)


@jit
def first_within(row, x, first, last, kind, window):
    """Return the first place from ``first`` to ``last`` that is not too long before ``x``; rising values."""
    while first < last:
        middle = (first + last) // 2
        if too_far(kind, window, row[middle], x):
            first = middle + 1
        else:
            last = middle
    return first


@jit
def end_within(row, x, first, last, kind, window):
    """Return the place behind the last one that is not too long after ``x``; rising values."""
    while first < last:
        middle = (first + last) // 2
        if too_far(kind, window, x, row[middle]):
            last = middle
        else:
            first = middle + 1
    return first


@jit
def measure_windows(events, begin, end, kind, window, points, reach):
    """Fill the rows of a partition with where its window begins and ends."""
    if kind == L.WINDOW_NONE:
        for x in range(begin, end):
            reach[L.REACH_FIRST, x] = begin
            reach[L.REACH_END, x] = end
        return
    ends = events[L.EVENT_END] if kind == L.WINDOW_TIME else events[L.EVENT_INDEX]
    starts = events[L.EVENT_START] if kind == L.WINDOW_TIME else events[L.EVENT_INDEX]
    first, last = reach[L.REACH_FIRST], reach[L.REACH_END]
    rising = points or kind == L.WINDOW_EVENTS
    low, high = begin, begin
    if rising and ends[begin] > -NEAR and ends[end - 1] < NEAR:  # no difference overflows
        most = window if kind == L.WINDOW_TIME else window - 1
        for x in range(begin, end):
            now = ends[x]
            while now - ends[low] > most:
                low += 1
            first[x] = low
            while high < end and ends[high] - now <= most:
                high += 1
            last[x] = high
        return
    for x in range(begin, end):
        while too_far(kind, window, ends[low], ends[x]):
            low += 1
        first[x] = low
        if rising:
            while high < end and not too_far(kind, window, starts[x], ends[high]):
                high += 1
            last[x] = high
        else:
            last[x] = end_within(ends, starts[x], begin, end, kind, window)


@jit
def measure_order(events, begin, end, points, scratch, reach):
    """Fill the rows of a partition with what can be before and after them."""
    low, high = events[L.EVENT_LOW], events[L.EVENT_HIGH]
    before, after = reach[L.REACH_BEFORE], reach[L.REACH_AFTER]
    if points:
        first = begin
        for x in range(begin, end):
            if low[x] != low[first]:
                first = x
            before[x] = first
        last = end
        for x in range(end - 1, begin - 1, -1):
            if x + 1 < end and low[x] != low[x + 1]:
                last = x + 1
            after[x] = last
        return
    # The ranks of the ends of lasting events rise, except for those that end together.
    least = high[end - 1]
    for x in range(end - 1, begin - 1, -1):
        least = min(least, high[x])
        scratch[0, x] = least
    most = high[begin]
    for x in range(begin, end):
        most = max(most, high[x])
        scratch[1, x] = most
    for x in range(begin, end):
        first, last = begin, end
        while first < last:  # the first row from which on none ends before this one starts
            middle = (first + last) // 2
            if scratch[0, middle] >= low[x]:
                last = middle
            else:
                first = middle + 1
        before[x] = first
        first, last = begin, end
        while first < last:  # the first row that ends after this one
            middle = (first + last) // 2
            if scratch[1, middle] > high[x]:
                last = middle
            else:
                first = middle + 1
        after[x] = first


@entry
def measure_reach(
    events: IntegerRows,
    segments: IntegerRows,
    kind,
    window,
    points: bool,
    distinct: bool,
    scratch: IntegerRows,
    reach: IntegerRows,
):
    """Fill ``reach`` for the rows of every partition that are read; of ``distinct`` points not the order."""
    for segment in range(len(segments)):
        begin, end = segments[segment, L.SEGMENT_BEGIN], segments[segment, L.SEGMENT_END]
        if begin < end:
            measure_windows(events, begin, end, kind, window, points, reach)
            if not distinct:
                measure_order(events, begin, end, points, scratch, reach)
