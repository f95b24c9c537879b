"""The queries and streams of [T] chapter 6: six types of stocks, one event a second."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

NAMES = ("IBM", "Google", "Sun", "Oracle", "Microsoft", "Yahoo")
_SIX = "IBM a, Google b, Sun c, Oracle d, Microsoft e, Yahoo f"
CONDITIONS = {
    5: "a.price = d.price AND b.price = e.price AND c.price = f.price",
    6: "a.price = b.price AND c.price = d.price AND e.price = f.price",
    7: "a.price < b.price AND a.price < c.price AND a.price < d.price AND a.price < e.price "
    "AND a.price < f.price",
    8: "a.price < d.price AND b.price < d.price AND c.price < d.price AND d.price < e.price "
    "AND d.price < f.price",
    9: "a.price < f.price AND b.price < f.price AND c.price < f.price AND d.price < f.price "
    "AND e.price < f.price",
    10: "a.volume < b.volume AND c.price < d.price AND e.type < f.type",
    11: "a.volume < d.volume AND c.price < f.price AND b.type < e.type",
    12: "a.volume < d.volume AND c.price < f.price AND b.price < 100",
    13: "a.volume < d.volume AND c.price < f.price AND b.price < 100 AND e.price < 100",
    14: "a.volume < d.volume AND c.price < e.price AND b.type < f.type",
    15: "b.type < f.type",
}


@dataclass(frozen=True, slots=True)
class Workload:
    """A query over a stream; matches are counted."""

    name: str
    query: str
    events: pa.Table
    time: str = "t"
    type: str | None = "kind"


def query(number: int, window: int) -> str:
    """Return a query of the thesis with a window in seconds."""
    pattern = _SIX
    if number in (12, 13):
        pattern = pattern.replace("Google b", "Google+ b[]")
    if number == 13:
        pattern = pattern.replace("Microsoft e", "Microsoft+ e[]")
    head = f"PATTERN SEQ({pattern}) WHERE skip_till_any_match {{ {CONDITIONS[number]} }}"
    return f"{head} WITHIN {window} RETURN count(*) AS n"


def stream(rows: int, seed: int = 0, weights: Sequence[float] = (1,) * 6, prices: int = 1000) -> pa.Table:
    """Return events of the six types by weight, with three attributes drawn at random."""
    rng = np.random.default_rng(seed)
    share = np.array(weights, float)
    kinds = rng.choice(6, rows, p=share / share.sum())
    columns = {name: rng.integers(0, 1000, rows) for name in ("type", "volume")}
    price = rng.integers(0, prices, rows)
    return pa.table({"t": np.arange(rows), "kind": np.array(NAMES)[kinds], "price": price, **columns})


def skewed(rows: int, part: str, frequency: int, seed: int = 0) -> pa.Table:
    """Return events of which two types, the first, middle or last of the pattern, are more frequent."""
    first = {"first": 0, "middle": 2, "last": 4}[part]
    weights = [frequency if first <= k < first + 2 else 1 for k in range(6)]
    return stream(rows, seed, weights, prices=2)


def changing(rows: int, every: int = 5_000, seed: int = 0) -> pa.Table:
    """Return events whose selective condition changes from batch to batch ([T] 6.6)."""
    table = stream(rows, seed)
    phase = np.arange(rows) // every % 3
    kind = np.array(table.column("kind").to_pylist())
    columns = {name: table.column(name).to_numpy().copy() for name in ("price", "type", "volume")}
    columns["volume"][(phase == 0) & (kind == "IBM")] = 950
    columns["type"][(phase == 1) & (kind == "Google")] = 950
    columns["type"][(phase == 1) & (kind == "Yahoo")] = 50
    columns["price"][(phase == 2) & (kind == "Sun")] = 950
    return pa.table({"t": table.column("t"), "kind": table.column("kind"), **columns})


def rare_last(rows: int, share: float, seed: int = 0) -> pa.Table:
    """Return events with a rare triggering event."""
    return stream(rows, seed, (1, 1, 1, 1, 1, 5 * share / max(1e-9, 1 - share)))
