"""One query under several switches: times taken in turn, with the counters of each."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

import fyke
from bench.report import Spread


@dataclass(frozen=True, slots=True)
class Variant:
    """A query over a table, and how it is to be evaluated."""

    events: pa.Table
    query: str
    time: str
    type: str | None = None
    techniques: fyke.Techniques = field(default_factory=fyke.Techniques)
    output: str = "all"
    limits: fyke.Limits | None = None


@dataclass(frozen=True, slots=True)
class Took:
    """What one evaluation took, in seconds of the processor: all of it, and the search."""

    seconds: float
    search: float


@dataclass(slots=True)
class Measured:
    """A variant's rounds, and its counters, which are the same in each."""

    rounds: list[Took] = field(default_factory=list)
    rows: int = 0
    counters: dict[str, float] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """The shortest time."""
        return min(each.seconds for each in self.rounds)

    @property
    def search(self) -> float:
        """The shortest time of the search."""
        return min(each.search for each in self.rounds)

    def count(self, name: str) -> float:
        """Return a counter, 0 if there is none of that name."""
        return self.counters.get(name, 0)

    def per_event(self, name: str) -> float:
        """Return a counter per event of the input."""
        return self.count(name) / max(1, self.count("rows"))


def over(one: Measured, other: Measured, per: float = 1.0) -> Spread:
    """Return how much longer one variant takes than another measured in turn with it, per so much more."""
    return Spread(x.seconds / y.seconds / per for x, y in zip(one.rounds, other.rounds, strict=True))


def search_over(one: Measured, other: Measured) -> Spread:
    """Return how much longer the search of one variant takes."""
    return Spread(x.search / y.search for x, y in zip(one.rounds, other.rounds, strict=True))


def run(variant: Variant) -> tuple[pa.Table, Measured]:
    """Evaluate a variant once."""
    metrics = fyke.Metrics()
    begin = time.process_time()
    result = fyke.match(
        variant.events,
        variant.query,
        time=variant.time,
        type=variant.type,
        output=variant.output,
        techniques=variant.techniques,
        limits=variant.limits,
        metrics=metrics,
    )
    seconds = time.process_time() - begin
    counters: dict[str, float] = dict(metrics.get())
    # Clocks of single phases are younger than the counters.
    took = Took(seconds, counters.get("seconds_search", seconds))
    return result, Measured([took], result.num_rows, counters)


def in_turn(times: int, variants: Mapping[str, Variant], *, seconds: float = 0.0) -> dict[str, Measured]:
    """Evaluate all variants in turn, at least ``times`` times and until ``seconds`` are over."""
    found = {name: Measured() for name in variants}
    turns, begun = 0, time.perf_counter()
    while turns < times or time.perf_counter() - begun < seconds:
        for name, variant in variants.items():
            _, now = run(variant)
            now.rounds = [*found[name].rounds, *now.rounds]
            found[name] = now
        turns += 1
    return found
