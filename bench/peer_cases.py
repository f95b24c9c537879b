"""The patterns that Fyke and its peers look for in the same events, and how their matches are compared."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import fyke
from bench.report import Line, Timed
from fyke.datasets import stocks

ROOM = fyke.Limits(steps=2**40, buffer_bytes=2**33, matches=2**40)
KEYS, TYPES = 1_000, 10
HOT = 0.7  # the share of events that one key has
OPTIONS: dict[str, Any] = {"time": "t", "type": "kind", "limits": ROOM}


@dataclass(frozen=True, slots=True)
class Case:
    """A pattern in Fyke's language; ``shape`` names it for peers, and a match is known by some numbers."""

    name: str
    shape: str
    pattern: str
    strategy: str
    conditions: str
    window: int
    events: Callable[[int], pa.Table]

    @property
    def query(self) -> str:
        return f"PATTERN {self.pattern} WHERE {self.strategy} {{ {self.conditions} }} WITHIN {self.window}"

    @property
    def counting(self) -> str:
        return f"{self.query} RETURN count(*) AS n"


def typed(rows: int, *, keys: int = KEYS, seed: int = 0) -> pa.Table:
    """Return events of ten types, equally frequent, one a time unit."""
    rng = np.random.default_rng(seed)
    kinds = pa.array([chr(ord("A") + k) for k in range(TYPES)])
    return pa.table(
        {
            "t": np.arange(rows),
            "kind": kinds.take(pa.array(rng.integers(0, TYPES, rows))),
            "key": rng.integers(0, keys, rows),
            "x": rng.random(rows),
            "y": rng.random(rows),
        }
    )


def with_hot_key(rows: int) -> pa.Table:
    """Return the same, but most events have one key."""
    events = typed(rows)
    hot = np.random.default_rng(1).random(rows) < HOT
    keys = np.where(hot, 7, events.column("key").to_numpy())
    return events.set_column(2, "key", pa.array(keys))


def ticks(rows: int) -> pa.Table:
    """Return the stock ticks of [N] 6 with the same columns: x is the price, y the volume."""
    table = stocks.generate(rows)
    return pa.table(
        {
            "t": np.arange(rows),
            "kind": table.column("kind"),
            "key": table.column("symbol"),
            "x": table.column("price").cast(pa.float64()),
            "y": table.column("volume").cast(pa.float64()),
        }
    )


_NEXT, _ANY = "skip_till_next_match", "skip_till_any_match"
_PAIRS = "a.x < b.y * 0.2 AND b.x < c.y * 0.2"
CASES = (
    Case("three in sequence, next match", "next", "SEQ(A a, B b, C c)", _NEXT, "[key]", 20_000, typed),
    Case("an absence, next match", "absence", "SEQ(A a, ~C c, B b)", _NEXT, "[key]", 20_000, typed),
    Case(
        "three in sequence, any match", "any", "SEQ(A a, B b, C c)", _ANY,
        f"[key] AND {_PAIRS}", 60_000, typed,
    ),
    Case("three in sequence, no key", "keyless", "SEQ(A a, B b, C c)", _ANY, _PAIRS, 60, typed),
    Case(
        "three in sequence, one hot key", "hot", "SEQ(A a, B b, C c)", _ANY,
        f"[key] AND {_PAIRS}", 80, with_hot_key,
    ),
    Case(
        "rising prices, contiguous", "rising", "SEQ(Stock+ a[], Stock b)", "partition_contiguity",
        "[key] AND a[1].x % 500 = 0 AND a[i].x > a[i-1].x AND b.y < 150", 1_000, ticks,
    ),
)  # fmt: skip


def count(found: pa.Table) -> int:
    """Return the number of matches that ``counting`` has found."""
    return int(np.sum(found.column("n").to_numpy()))


def numbers(found: pa.Table) -> np.ndarray[Any, Any]:
    """Return Fyke's matches as rows of integers, in order: times, and how long a group is."""
    columns = []
    for name in (name for name in ("a", "b", "c") if name in found.column_names):
        column = found.column(name).combine_chunks()
        if pa.types.is_list(column.type):
            first = pc.struct_field(pc.list_element(column, 0), "t")
            columns += [first, pc.list_value_length(column)]
        else:
            columns.append(pc.struct_field(column, "t"))
    return in_order([np.asarray(column.to_numpy(zero_copy_only=False)) for column in columns])


def in_order(columns: list[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """Return columns of integers as sorted rows."""
    rows = np.stack([column.astype(np.int64) for column in columns], axis=1)
    return rows[np.lexsort(rows.T[::-1])]


def same(case: Case, peer: str, mine: np.ndarray[Any, Any], theirs: np.ndarray[Any, Any]) -> None:
    """Raise unless both have the same matches."""
    assert mine.shape == theirs.shape, f"{case.name}: {len(mine):,} matches, {len(theirs):,} by {peer}"
    assert np.array_equal(mine, theirs), f"{case.name}: {peer} has as many matches, and other ones"
    assert len(mine) > 0, f"{case.name}: nothing matches"


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def on_threads(number: int) -> dict[str, Any]:
    """Return the option of ``fyke.match`` for so many threads, where it has one."""
    return {"threads": number} if "threads" in inspect.signature(fyke.match).parameters else {}


def faster(what: str, timed: Timed, peer: str, mine: str, bar: float | None, note: str) -> Line:
    """Return a line that says how many times faster Fyke is."""
    best = f"{timed.best(mine) * 1e3:,.0f} ms beside {timed.best(peer) * 1e3:,.0f} ms at best"
    return Line(what, timed.ratio(peer, mine), bar, "x", f"{note}, {best}", at_least=True)
