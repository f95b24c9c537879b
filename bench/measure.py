"""One query under several switches: times taken in turn, with the counters of each."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

import fyke


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


@dataclass(slots=True)
class Measured:
    """Shortest times of a variant in seconds of the processor, and its counters."""

    seconds: float = float("inf")
    search: float = float("inf")
    rows: int = 0
    counters: dict[str, float] = field(default_factory=dict)

    def count(self, name: str) -> float:
        """Return a counter, 0 if there is none of that name."""
        return self.counters.get(name, 0)

    def per_event(self, name: str) -> float:
        """Return a counter per event of the input."""
        return self.count(name) / max(1, self.count("rows"))


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
    return result, Measured(seconds, counters.get("seconds_search", seconds), result.num_rows, counters)


def in_turn(times: int, variants: Mapping[str, Variant], *, seconds: float = 0.0) -> dict[str, Measured]:
    """Evaluate all variants in turn, at least ``times`` times and until ``seconds`` are over."""
    best = {name: Measured() for name in variants}
    rounds, begun = 0, time.perf_counter()
    while rounds < times or time.perf_counter() - begun < seconds:
        for name, variant in variants.items():
            _, now = run(variant)
            then = best[name]
            now.seconds, now.search = min(now.seconds, then.seconds), min(now.search, then.search)
            best[name] = now
        rounds += 1
    return best
