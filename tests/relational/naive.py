"""Relational queries by their definition: every combination of events, every window, one by one.

The twin of the engines: it knows nothing of sorting, hashing or Spark.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

Event = Mapping[str, Any]
Joined = Sequence[Event]


class Case(NamedTuple):
    """A query as text, and what it says in Python: the streams, the condition, the items.

    Without ``slide`` the items are values of one joined event, with it of all events of a window;
    ``key`` is the value of ``[x]``, for which there are rows of their own.
    """

    text: str
    streams: Sequence[str]
    holds: Callable[..., bool]
    items: Callable[..., tuple[Any, ...]]
    window: int
    slide: int | None = None
    key: Callable[..., Any] = lambda *_: None


def joined(streams: Mapping[str, Sequence[Event]], case: Case) -> list[Joined]:
    """Return the joined events: all combinations that meet the condition and span at most the window."""
    every = itertools.product(*(streams[name] for name in case.streams))
    return [
        events
        for events in every
        if max(e["end"] for e in events) - min(e["start"] for e in events) <= case.window
        and case.holds(*events)
    ]


def rows(streams: Mapping[str, Sequence[Event]], case: Case) -> list[tuple[Any, ...]]:
    """Return the rows of the result as (key, start, end, items...), sorted by their text."""
    found = [
        (min(e["start"] for e in each), max(e["end"] for e in each), each) for each in joined(streams, case)
    ]
    if case.slide is None:
        result = [(case.key(*each), start, end, *case.items(*each)) for start, end, each in found]
        return sorted(result, key=repr)
    result = []
    first = min((start for start, _, _ in found), default=0) - case.window
    last = max((end for _, end, _ in found), default=0)
    for begin in range(first - first % case.slide, last + 1, case.slide):
        inside = [each for start, end, each in found if begin <= start and end < begin + case.window]
        for key in {case.key(*each) for each in inside}:
            group = [each for each in inside if case.key(*each) == key]
            result.append((key, begin, begin + case.window - 1, *case.items(group)))
    return sorted(result, key=repr)
