"""Queries that explode: every strategy, engine and output; groups, sets, absences and optional parts.

``python -m tests.random.blow_ups NUMBER`` runs one of them, after a small one that loads the kernels, and
prints what it came to: its seconds, the megabytes it took, and its error, if the next query worked.
"""

from __future__ import annotations

import json
import random
import resource
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

import fyke
from fyke.errors import FykeError
from fyke.language.ast import Strategy

_LATE = "a.x + d.x + e.x + f.x < 0"


def _of_one_type(count: int, quantifier: str = "") -> str:
    brackets = "[]" if quantifier else ""
    return ", ".join(f"A{quantifier} v{k}{brackets}" for k in range(count))


# What explodes: a pattern, a condition, and how many events it has to do with.
SHAPES: dict[str, tuple[str, str, int]] = {
    "a group": ("SEQ(A+ a[], B b)", "b.x >= 0", 5_000),
    "three groups": ("SEQ(A+ a[], B+ b[], C+ c[])", "a.x >= 0", 5_000),
    "a group that rises": ("SEQ(A+ a[], B b)", "a[i].x >= a[i-1].x", 2_000),
    "a group with a sum": ("SEQ(A+ a[], B b)", "sum(a[].x) > 1000000", 300),
    "groups, every pair": ("SEQ(A+ a[], B+ b[])", "a.x < b.x", 1_000),
    "eight groups in a set": (f"AND({_of_one_type(8, '+')})", "v0.x >= 0", 500),
    "two groups in a set": ("AND(A+ a[], A+ b[])", "a.x >= 0", 2_000),
    "a set of eight": (f"AND({_of_one_type(8)})", "v0.x < v7.x", 2_000),
    "a set of twenty": (f"AND({_of_one_type(20)})", "v0.x >= 0", 40),
    "a set of 62": (f"AND({_of_one_type(62)})", "v0.x >= 0", 200),
    "six of one type": ("SEQ(A a, A b, A c, A d, A e, A f)", _LATE, 5_000),
    "four of one type": ("SEQ(A a, A d, A e, A f)", _LATE, 5_000),
    "an absent group": ("SEQ(A a, ~B+ b[], C c)", "sum(b[].x) > 1000000 AND a.x >= 0", 1_000),
    "an absent sequence": ("SEQ(A a, ~SEQ(B b, B d, B e), C c)", "b.x + d.x + e.x < 0", 2_000),
    "optional parts": ("SEQ(A? a, A? d, A? e, A+ f[], B b)", "b.x >= 0", 3_000),
}
WINDOWS = ("", " WITHIN 200", " WITHIN 2000", " WITHIN 100 EVENTS")
OUTPUTS = ("all", "non_overlap", "compressed", "count")
ENGINES = ("auto", "automaton", "lazy_chain", "lazy_tree", "tree")


@dataclass(frozen=True, slots=True)
class BlowUp:
    """A query that explodes, and how it is run."""

    shape: str
    strategy: Strategy
    engine: str
    output: str
    window: str

    @property
    def query(self) -> str:
        """The text of the query."""
        pattern, condition, _ = SHAPES[self.shape]
        returns = " RETURN count(*) AS n" if self.output == "count" else ""
        return f"PATTERN {pattern} WHERE {self.strategy.value} {{ {condition} }}{self.window}{returns}"

    def options(self) -> dict[str, Any]:
        """Return the options of the call."""
        output = "all" if self.output == "count" else self.output
        return {"time": "t", "type": "kind", "engine": self.engine, "output": output}

    def events(self, rows: int | None = None) -> pa.Table:
        """Return events that make it explode, or a few."""
        count = SHAPES[self.shape][2] if rows is None else rows
        chance = random.Random(7)
        kinds = chance.choices("AAABC", k=count)
        if rows is None and self.shape == "three groups":
            kinds = sorted(kinds)
        return pa.table(
            {"kind": kinds, "t": list(range(count)), "x": [chance.randrange(100) for _ in range(count)]}
        )


def blow_ups() -> list[BlowUp]:
    """Return sixty of them: each shape four times, strategies, engines, outputs and windows in turn."""
    chance, found = random.Random(12), []
    strategies = [each for each in Strategy if each is not Strategy.ANY]
    for number, shape in enumerate(SHAPES):
        for turn in range(4):
            any_match = turn in (0, 1) or (turn == 2 and number % 2 == 0)
            strategy = Strategy.ANY if any_match else strategies[(number + turn) % len(strategies)]
            if turn == 3 and number % 2:
                strategy = Strategy.ROBUST
            engine = ENGINES[(number + 2 * turn) % len(ENGINES)] if any_match else "automaton"
            output = OUTPUTS[(number // 2 + turn) % len(OUTPUTS)]
            window = "" if turn in (0, 3) else chance.choice(WINDOWS)
            found.append(BlowUp(shape, strategy, engine, output, window))
    return found


def forget_peak() -> None:
    """Let the peak of this process' memory count from here."""
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")


def resident(name: str) -> int:
    """Return a line of /proc/self/status in kilobytes."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith(name):
            return int(line.split()[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def measure(case: BlowUp, limits: fyke.Limits | None = None) -> dict[str, Any]:
    """Run a query in this process; return what it came to."""
    small, events = case.events(6), case.events()
    fyke.match(small, case.query, **case.options())
    forget_peak()
    before, began = resident("VmRSS"), time.monotonic()
    try:
        told: str = f"{fyke.match(events, case.query, limits=limits, **case.options()).num_rows} rows"
        kind = "result"
    except FykeError as error:
        told, kind = str(error), type(error).__name__
    seconds = time.monotonic() - began
    megabytes = (resident("VmHWM") - before) / 1024
    fyke.match(small, case.query, **case.options())
    return {"seconds": round(seconds, 2), "megabytes": round(megabytes), "kind": kind, "told": told}


if __name__ == "__main__":
    print(json.dumps(measure(blow_ups()[int(sys.argv[1])])))
