"""[L] section 8 in exact counts: the lazy chain beside the eager automaton, over windows and rates."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

import fyke
from bench.lazy import EAGER, MANY, OPTIONS, Scenario, skewed, skewed_scenarios
from bench.report import Line, Plot, show

Curves = dict[str, list[tuple[float, float]]]
ROWS = 20_000


def counted(scenario: Scenario, events: pa.Table, engine: str) -> dict[str, float]:
    """Return the counters of a run that counts matches."""
    metrics = fyke.Metrics()
    techniques = EAGER if engine == "automaton" else None
    query = scenario.query("RETURN count(*) AS n")
    options = {**OPTIONS, "engine": engine, "techniques": techniques, "limits": MANY, "metrics": metrics}
    found = fyke.match(events, query, **options)
    return {**metrics.get(), "found": sum(found.column("n").to_pylist())}


def beside(scenario: Scenario, events: pa.Table, at: float, curves: Curves) -> list[Line]:
    """Return how much more the eager automaton evaluates and holds; enter both sides' work per event."""
    eager, lazy = (counted(scenario, events, engine) for engine in ("automaton", "lazy_chain"))
    assert eager["found"] == lazy["found"], f"{scenario.name}: {eager['found']} and {lazy['found']} matches"
    for name, side in (("eager", eager), ("lazy", lazy)):
        each = side["condition_evaluations"] / events.num_rows
        curves.setdefault(f"{scenario.name}, {name}", []).append((at, each))
    matches = lazy["found"]
    evaluated = [side["condition_evaluations"] for side in (eager, lazy)]
    note = f"{matches:,.0f} matches"
    if matches:
        note += f"; per match {', '.join(f'{each / matches:,.1f}' for each in evaluated)}"
    operations = eager["runs_created"] / max(1, lazy["memory_operations"])
    return [
        Line(
            f"{scenario.name}, {at:g}: conditions evaluated, eager / lazy",
            evaluated[0] / max(1, evaluated[1]), None, "x",
            note,
        ),
        Line(
            f"{scenario.name}, {at:g}: runs of the eager automaton / memory operations of the lazy chain",
            operations, None, "x",
            f"{eager['peak_runs']:,.0f} runs at once; the chain follows one at a time, and holds "
            f"{lazy['buffered_events']:,.0f} events",
        ),
    ]  # fmt: skip


def over_windows(windows: Iterable[int], curves: Curves) -> list[Line]:
    """8.1: longer and longer windows."""
    events = skewed(ROWS)
    return [
        line
        for window in windows
        for scenario in skewed_scenarios(window)
        for line in beside(scenario, events, window, curves)
    ]


def over_ratios(ratios: Iterable[int], curves: Curves) -> list[Line]:
    """8.2: a rarest type that is less and less frequent than the others."""
    lines = []
    for ratio in ratios:
        events = skewed(ROWS, rates={"A": ratio, "B": ratio, "C": 1, "D": 1})
        lines += beside(skewed_scenarios(60)[0], events, ratio, curves)
    return [Line(f"ratio of rates, {line.what}", *_rest(line)) for line in lines]


def _rest(line: Line) -> tuple[float, float | None, str, str]:
    return line.value, line.bar, line.unit, line.note


def main(*, quick: bool = False) -> bool:
    """Run the benchmark; it has no bars."""
    windows, ratios = ((50, 150), (3, 300)) if quick else ((50, 100, 150, 200), (3, 10, 30, 100, 300, 700))
    by_window: Curves = {}
    by_ratio: Curves = {}
    lines = over_windows(windows, by_window) + over_ratios(ratios, by_ratio)
    plots = [
        Plot("Conditions evaluated, by window", "window", "per event", by_window),
        Plot("Conditions evaluated, by ratio of rates", "most frequent / rarest", "per event", by_ratio),
    ]
    return show("lazy-work", lines, plots=plots)
