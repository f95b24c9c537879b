"""Three questions to generated events, each answered by Fyke and by a loop in Python written for it."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pyarrow as pa

import fyke
from fyke.datasets import rfid, stocks

_FEW = 1_000  # events to load kernels with
_MINUTE, _HALF_DAY = timedelta(minutes=1), timedelta(hours=12)

Event = dict[str, Any]
Found = list[tuple[Event, ...]]

RISE = """\
PATTERN SEQ(Stock a, Stock b, Stock c)
WHERE partition_contiguity { [symbol] AND a.price < b.price AND b.price < c.price }
"""
JUMP = """\
PATTERN SEQ(Stock a, Stock b)
WHERE skip_till_any_match { [symbol] AND b.volume > a.volume * 20 }
WITHIN 1 minute
"""


@dataclass(frozen=True, slots=True)
class Measured:
    """How long two ways to the same matches took, in seconds; ``same`` says whether they are the same."""

    title: str
    events: int
    matches: int
    fyke: float
    loop: float
    same: bool

    @property
    def times_as_fast(self) -> float:
        """How many times as fast Fyke is."""
        return self.loop / self.fyke


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its two answers."""

    title: str
    query: str
    make: Callable[[int], pa.Table]
    loop: Callable[[list[Event]], Found]


def measure(question: Question, rows: int) -> Measured:
    """Answer a question both ways, each on one core, once the kernels are loaded and the rows are dicts."""
    options: dict[str, Any] = {"time": "ts", "type": "kind", "threads": 1}
    fyke.match(question.make(_FEW), question.query, **options)
    events = question.make(rows)
    listed = events.to_pylist()
    begin = time.perf_counter()
    found = fyke.match(events, question.query, **options)
    between = time.perf_counter()
    expected = question.loop(listed)
    end = time.perf_counter()
    mine = zip(found.column("start").to_pylist(), found.column("end").to_pylist(), strict=True)
    same = sorted(mine) == sorted((match[0]["ts"], match[-1]["ts"]) for match in expected)
    return Measured(question.title, rows, found.num_rows, between - begin, end - between, same)


# --- the loops: plain Python over rows as dicts, as somebody would write them for one question -----


def unpaid(events: list[Event]) -> Found:
    """Return what left within 12 hours of being on a shelf and passed no register."""
    found: Found = []
    taken: dict[Any, list[Event]] = defaultdict(list)
    for event in events:
        if event["kind"] == "Shelf":
            taken[event["tag_id"]].append(event)
        elif event["kind"] == "Register":
            taken.pop(event["tag_id"], None)
        elif event["kind"] == "Exit":
            shelves = taken.pop(event["tag_id"], ())
            found += [(shelf, event) for shelf in shelves if event["ts"] - shelf["ts"] <= _HALF_DAY]
    return found


def rises(events: list[Event]) -> Found:
    """Return three ticks of a symbol, one right after the other, whose prices rise."""
    found: Found = []
    rising: dict[Any, list[Event]] = {}
    for event in events:
        run = rising.get(event["symbol"], [])
        run = [*run[-2:], event] if run and run[-1]["price"] < event["price"] else [event]
        if len(run) == 3:
            found.append(tuple(run))
        rising[event["symbol"]] = run
    return found


def jumps(events: list[Event]) -> Found:
    """Return all pairs of ticks of a symbol within a minute whose volume grows more than twentyfold."""
    found: Found = []
    recent: dict[Any, deque[Event]] = defaultdict(deque)
    for event in events:
        ticks = recent[event["symbol"]]
        while ticks and event["ts"] - ticks[0]["ts"] > _MINUTE:
            ticks.popleft()
        found += [(tick, event) for tick in ticks if event["volume"] > tick["volume"] * 20]
        ticks.append(event)
    return found


QUESTIONS = (
    Question("left without paying", rfid.QUERY, lambda rows: rfid.generate(rows).table, unpaid),
    Question("three rises in a row", RISE, lambda rows: stocks.generate(rows, symbols=50), rises),
    Question("volume jumps, all pairs", JUMP, lambda rows: stocks.generate(rows, seconds=0.5), jumps),
)
