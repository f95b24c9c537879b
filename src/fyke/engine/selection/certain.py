"""Which matches are certain: no later event can rule them out, or put another match before them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from fyke.engine.conditions.program import Program
from fyke.engine.feed import Feed
from fyke.engine.input.order import Ordered
from fyke.engine.kernels import layout as L
from fyke.engine.kernels.arrays import Array
from fyke.engine.matchset import MatchSet, no_matches
from fyke.language.ast import Strategy
from fyke.plan.counting import may_repeat
from fyke.plan.plan import Plan
from fyke.plan.window import Extent

_BEGINNING, _GREATEST = -(2**63), 2**63 - 1


def can_be_ruled_out(plan: Plan, programs: Sequence[Program]) -> Array:
    """Say for each alternative whether later events can rule out its matches.

    If two alternatives can find the same match, one of them may find it later, so all of them wait.
    """
    late = np.array([_can_be_ruled_out(program) for program in programs], bool)
    repeats = any(may_repeat(*pair) for pair in combinations(plan.alternatives, 2))
    if plan.strategy is Strategy.ROBUST or (repeats and (late.any() or plan.strategy.greedy)):
        late[:] = True
    return late


def _can_be_ruled_out(program: Program) -> bool:
    positive = (1 << program.positives) - 1
    for row in program.absence_rows:
        variables = range(row[L.ABSENCE_VARIABLES], row[L.ABSENCE_VARIABLES_END])
        if any(program.after[v] & positive == 0 for v in variables):
            return True
    return False


def split_certain(matches: MatchSet, feed: Feed, window: Extent, late: Array) -> tuple[MatchSet, MatchSet]:
    """Split matches into those that are certain and those that later events may rule out.

    Those of alternatives that are not ``late`` are certain at once.  No event later than a window after its
    first event can affect a match.
    """
    if feed.flush or len(matches) == 0:
        return matches, no_matches()
    events = feed.ordered.events[L.EVENT_INDEX if window.counts_events else L.EVENT_END]
    past = _is_past(matches, events[matches.first], feed, window) | ~late[matches.alternative]
    return matches.select(past), matches.select(~past)


def split_in_order(matches: MatchSet, waiting: MatchSet, feed: Feed, plan: Plan) -> tuple[MatchSet, MatchSet]:
    """Split matches into those that are next in the order of ``non_overlap`` for certain, and the others.

    That order is by end.  What ends by now has been found, so a match is next if none of those ``waiting``
    ends with it or before it.  A greedy run may still turn out to have ended long ago: every match with the
    same or an earlier end is certain one window after it.
    """
    if feed.flush or len(matches) == 0:
        return matches, no_matches()
    events, window = feed.ordered.events, plan.window
    if not plan.strategy.greedy:
        codes = events[L.EVENT_SEGMENT]
        first = np.full(int(codes.max()) + 1, _GREATEST)
        if len(waiting):
            np.minimum.at(first, codes[waiting.first], waiting.spans(events)[1])
        is_next = matches.spans(events)[1] < first[codes[matches.first]]
        return matches.select(is_next), matches.select(~is_next)
    reach = matches.spans(events)[1]
    if window.counts_events:
        moments = np.stack((events[L.EVENT_SEGMENT], events[L.EVENT_END]), axis=1)
        moment = np.unique(moments, axis=0, return_inverse=True)[1].reshape(-1)
        last = np.zeros(len(moment), np.int64)
        np.maximum.at(last, moment, events[L.EVENT_INDEX])
        # The last of the events of one time: by then all matches that end at that time are in order.
        latest = np.maximum.reduceat(matches.positions, matches.offsets[:-1])
        reach = last[moment[latest]]
    past = _is_past(matches, reach, feed, window)
    return matches.select(past), matches.select(~past)


def _is_past(matches: MatchSet, reach: Array, feed: Feed, window: Extent) -> Array:
    """Say for each match whether a window after ``reach`` (a time, or an event's number) has passed."""
    if not window.bounded:
        return np.zeros(len(matches), bool)
    if window.counts_events:
        numbers, codes = feed.ordered.events[L.EVENT_INDEX], feed.ordered.events[L.EVENT_SEGMENT]
        seen = np.full(int(codes.max(initial=0)) + 2, -1, np.int64)
        done = feed.ordered.events[L.EVENT_END] <= feed.now
        np.maximum.at(seen, codes[done], numbers[done])
        return np.asarray(seen[codes[matches.first]] - reach >= window.length - 1)
    return np.asarray(reach <= max(feed.now - window.length, _BEGINNING))


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
