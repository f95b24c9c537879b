"""Which matches are certain: no later event can rule them out, or put another match before them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fyke.engine.conditions.program import Program
from fyke.engine.feed import Feed
from fyke.engine.input.order import Ordered
from fyke.engine.kernels import layout as L
from fyke.engine.kernels.arrays import Array
from fyke.engine.matchset import MatchSet, no_matches
from fyke.language.ast import Strategy
from fyke.plan.plan import Plan
from fyke.plan.window import Extent

_BEGINNING = -(2**63)


def can_be_ruled_out(plan: Plan, programs: Sequence[Program]) -> bool:
    """Say whether later events can rule out a match.

    If two greedy alternatives find the same match, one of them may find it later.
    """
    if plan.strategy is Strategy.ROBUST or (plan.strategy.greedy and len(programs) > 1):
        return True
    for program in programs:
        positive = (1 << program.positives) - 1
        for row in program.absence_rows:
            variables = range(row[L.ABSENCE_VARIABLES], row[L.ABSENCE_VARIABLES_END])
            if any(program.after[v] & positive == 0 for v in variables):
                return True
    return False


def split_certain(matches: MatchSet, feed: Feed, window: Extent) -> tuple[MatchSet, MatchSet]:
    """Split matches into those that are certain and those that later events may rule out.

    No event later than a window after its first event can affect a match.
    """
    if feed.flush or len(matches) == 0:
        return matches, no_matches()
    events = feed.ordered.events[L.EVENT_INDEX if window.counts_events else L.EVENT_END]
    return _split_past(matches, events[matches.first], feed, window)


def split_in_order(matches: MatchSet, feed: Feed, window: Extent) -> tuple[MatchSet, MatchSet]:
    """Split matches into those that are next in the order of ``non_overlap`` for certain, and the others.

    That order is by end, and every match with the same or an earlier end is certain one window after it.
    """
    if feed.flush or len(matches) == 0:
        return matches, no_matches()
    events = feed.ordered.events
    reach = matches.spans(events)[1]
    if window.counts_events:
        moments = np.stack((events[L.EVENT_SEGMENT], events[L.EVENT_END]), axis=1)
        moment = np.unique(moments, axis=0, return_inverse=True)[1].reshape(-1)
        last = np.zeros(len(moment), np.int64)
        np.maximum.at(last, moment, events[L.EVENT_INDEX])
        # The last of the events of one time: by then all matches that end at that time are in order.
        latest = np.maximum.reduceat(matches.positions, matches.offsets[:-1])
        reach = last[moment[latest]]
    return _split_past(matches, reach, feed, window)


def _split_past(matches: MatchSet, reach: Array, feed: Feed, window: Extent) -> tuple[MatchSet, MatchSet]:
    """Split matches by whether a window after ``reach`` (a time, or an event's number) has passed."""
    if not window.bounded:
        return no_matches(), matches
    if window.counts_events:
        numbers, codes = feed.ordered.events[L.EVENT_INDEX], feed.ordered.events[L.EVENT_SEGMENT]
        seen = np.full(int(codes.max(initial=0)) + 2, -1, np.int64)
        done = feed.ordered.events[L.EVENT_END] <= feed.now
        np.maximum.at(seen, codes[done], numbers[done])
        past = seen[codes[matches.first]] - reach >= window.length - 1
    else:
        past = reach <= max(feed.now - window.length, _BEGINNING)
    return matches.select(past), matches.select(~past)


def still_visible(feed: Feed, read: Array, window: Extent, *, waits: bool) -> Array:
    """Say which of the rows read an absence, or the numbering of events, may still look at.

    ``waits``: matches wait until a window after them has passed; what decides about them stays as long.
    """
    events = feed.ordered.events
    if not window.bounded:
        return np.ones(events.shape[1], bool)
    if window.counts_events:
        codes, numbers = events[L.EVENT_SEGMENT], events[L.EVENT_INDEX]
        newest = np.full(int(codes.max(initial=0)) + 2, -1, np.int64)
        np.maximum.at(newest, codes[read], numbers[read])
        return np.asarray(numbers > newest[codes] - 2 * window.length)
    margin = 2 * window.length if waits else window.length
    return np.asarray(events[L.EVENT_END] >= max(feed.now - margin, _BEGINNING))


def same_moment(ordered: Ordered, rows: Array) -> Array:
    """Say which rows end when one of some rows of their partition does.

    ``match_id`` tells equal rows of one moment apart by their number, so these stay together.
    """
    events = ordered.events
    changes = (events[L.EVENT_END][1:] != events[L.EVENT_END][:-1]) | (
        events[L.EVENT_SEGMENT][1:] != events[L.EVENT_SEGMENT][:-1]
    )
    moments = np.concatenate(([0], np.cumsum(changes)))[: events.shape[1]]
    wanted = np.zeros(int(moments.max(initial=0)) + 1, bool)
    wanted[moments[rows]] = True
    return np.asarray(wanted[moments])
