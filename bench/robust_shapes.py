"""The patterns P_vars and P_1 to P_4 of [S] 6.5.1, and ticks to look for them in."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Shape:
    """A pattern without its strategy: ``text`` says ``{strategy}`` where it goes."""

    name: str
    text: str
    rows: int
    window: int

    def query(self, strategy: str) -> str:
        """Return the query under a strategy."""
        return self.text.format(strategy=strategy, window=self.window)


def _query(components: list[str], conditions: list[str]) -> str:
    pattern = f"PATTERN SEQ({', '.join(components)})"
    return f"{pattern} WHERE {{strategy}} {{{{ {' AND '.join(conditions)} }}}} WITHIN {{window}}"


def _rising(variable: str, singles: int) -> tuple[list[str], list[str]]:
    """Return ``singles`` variables and a group behind them, with rising values."""
    names = [f"{variable}{k}" for k in range(1, singles + 2)]
    group = names[-1]
    conditions = [f"{later}.x > {names[k]}.x" for k, later in enumerate(names[1:-1])]
    conditions += [f"{group}[i].x > {names[-2]}.x", f"{group}[i].x > {group}[i-1].x"]
    kind = variable.upper()
    return [*(f"{kind} {name}" for name in names[:-1]), f"{kind}+ {group}[]"], conditions


def _double_bottom() -> str:
    components = ["V+ v1[]", "V v2", "V+ v3[]", "V v4", "V+ v5[]", "V v6", "V+ v7[]"]
    conditions = [
        "v1[i].x < v1[i-1].x",
        "v2.x < last(v1).x",
        "v3[i].x > v2.x AND v3[i].x > v3[i-1].x",
        "v4.x > last(v3).x",
        "v5[i].x < v4.x AND v5[i].x < v5[i-1].x",
        "v6.x < last(v5).x",
        "v7[i].x > v6.x AND v7[i].x > v7[i-1].x",
    ]
    return _query(components, conditions)


def _interleaved() -> str:
    (v, of_v), (w, of_w) = _rising("v", 4), _rising("w", 4)
    return _query([f"{{{{{one}, {other}}}}}" for one, other in zip(v, w, strict=True)], of_v + of_w)


def shapes() -> list[Shape]:
    """Return the four patterns, with windows that all matches then post-processing can still cope with."""
    ten, of_ten = _rising("v", 9)
    five, of_five = _rising("v", 4)
    return [
        Shape("P_1", _query(ten, of_ten), 2_000, 20),
        Shape("P_2", _query([*five, "V+ v6[]"], [*of_five, "v6[i].x > v1.x"]), 1_000, 14),
        Shape("P_3", _double_bottom(), 1_000, 16),
        Shape("P_4", _interleaved(), 2_000, 22),
    ]


def falling(variables: int) -> Shape:
    """Return P_vars: so many events with a downward trend."""
    names = [f"v{k}" for k in range(1, variables + 1)]
    conditions = [f"{later}.x < {earlier}.x" for earlier, later in pairwise(names)]
    query = _query([f"V {name}" for name in names], conditions)
    return Shape(f"P_vars, {variables} variables", query, 1_000, 16)


def ticks(rows: int, kinds: str = "V", seed: int = 0) -> pa.Table:
    """Return one event a time unit, of the given types, whose value walks upwards with noise."""
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "t": np.arange(rows),
            "kind": np.array(list(kinds))[rng.integers(0, len(kinds), rows)],
            "x": np.cumsum(rng.integers(-3, 4, rows)),
        }
    )
