"""[L] section 8 in exact counts: the lazy chain beside the eager automaton, over windows and rates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

import fyke
from bench.lazy import EAGER, MANY, OPTIONS, Scenario, skewed, skewed_scenarios
from bench.memory import Feeding
from bench.report import Line, Plot, show

Curves = dict[str, list[tuple[float, float]]]
ROWS, FED = 20_000, 25  # events of a stream, and of each batch of it where memory is looked at


def counted(scenario: Scenario, events: pa.Table, engine: str) -> dict[str, float]:
    """Return the counters of a run that counts matches."""
    metrics = fyke.Metrics()
    techniques = EAGER if engine == "automaton" else None
    query = scenario.query("RETURN count(*) AS n")
    options = {**OPTIONS, "engine": engine, "techniques": techniques, "limits": MANY, "metrics": metrics}
    found = fyke.match(events, query, **options)
    return {**metrics.get(), "found": sum(found.column("n").to_pylist())}


@dataclass(frozen=True, slots=True)
class Held:
    """The most that an engine holds of a stream at once: partial matches, and events between batches."""

    partial: int
    events: int


def held(scenario: Scenario, events: pa.Table, engine: str) -> Held:
    """Feed a stream in batches that are short beside the window, as [L] reads one."""
    techniques = EAGER if engine == "automaton" else fyke.Techniques()
    query = scenario.query(f"RETURN {scenario.variables[0]}.t AS t")
    planned = {"engine": engine, "techniques": techniques, "limits": MANY}
    feeding, most = Feeding(query, events.schema, "t", "kind", **planned), 0
    for begin in range(0, events.num_rows, FED):
        batch = events.slice(begin, FED)
        feeding.feed(batch, batch.column("t")[-1].as_py())
        most = max(most, feeding.state.rows.num_rows)
    return Held(feeding.counters.peak_runs, most)


def memory(scenario: Scenario, events: pa.Table, at: float, curves: Curves) -> list[Line]:
    """Figures 11 and 12: what both engines hold of a stream at most."""
    eager, lazy = (held(scenario, events, engine) for engine in ("automaton", "lazy_chain"))
    for name, side in (("eager", eager), ("lazy", lazy)):
        curves.setdefault(f"{scenario.name}, {name}", []).append((at, side.partial + side.events))
    parts = [f"{side.partial:,} partial matches and {side.events:,} events" for side in (eager, lazy)]
    whole = (eager.partial + eager.events) / max(1, lazy.partial + lazy.events)
    return [
        Line(
            f"{scenario.name}, {at:g}: peak partial matches, eager / lazy",
            eager.partial / max(1, lazy.partial), None, "x",
        ),
        Line(
            f"{scenario.name}, {at:g}: partial matches and buffered events held, eager / lazy",
            whole, None, "x",
            " beside ".join(parts),
        ),
    ]  # fmt: skip


def beside(scenario: Scenario, events: pa.Table, at: float, curves: Curves) -> list[Line]:
    """Return how much more the eager automaton evaluates and holds; enter both sides' work per event."""
    eager, lazy = (counted(scenario, events, engine) for engine in ("automaton", "lazy_chain"))
    assert eager["found"] == lazy["found"], f"{scenario.name}: {eager['found']} and {lazy['found']} matches"
    for name, side in (("eager", eager), ("lazy", lazy)):
        each = side["condition_evaluations"] / events.num_rows
        curves.setdefault(f"{scenario.name}, {name}", []).append((at, each))
    matches = lazy["found"]
    evaluated = [side["condition_evaluations"] for side in (eager, lazy)]
    moved = [eager["runs_created"], lazy["memory_operations"]]
    note = f"{matches:,.0f} matches"
    operations = moved[0] / max(1, moved[1])
    per_match = [
        Line(
            f"{scenario.name}, {at:g}: {what} per match, lazy",
            of_lazy / matches, None, "a match",
            f"{of_eager / matches:,.1f} by the eager automaton",
        )
        for what, (of_eager, of_lazy) in (("computations", evaluated), ("operations on memory", moved))
        if matches
    ]  # fmt: skip
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
        *per_match,
    ]  # fmt: skip


def over_windows(windows: Iterable[int], curves: Curves, holding: Curves) -> list[Line]:
    """8.1: longer and longer windows."""
    events = skewed(ROWS)
    return [
        line
        for window in windows
        for scenario in skewed_scenarios(window)
        for line in (
            *beside(scenario, events, window, curves),
            *memory(scenario, events, window, holding),
        )
    ]


def over_ratios(ratios: Iterable[int], curves: Curves) -> list[Line]:
    """8.2: a rarest type that is as frequent as the others, and then less and less."""
    lines = []
    for ratio in ratios:
        events = skewed(ROWS, rates={"A": ratio, "B": ratio, "C": 1, "D": 1})
        lines += beside(skewed_scenarios(60)[0], events, ratio, curves)
    return [Line(f"ratio of rates, {line.what}", *_rest(line)) for line in lines]


def _rest(line: Line) -> tuple[float, float | None, str, str]:
    return line.value, line.bar, line.unit, line.note


def main(*, quick: bool = False) -> bool:
    """Run the benchmark; it has no bars."""
    windows, ratios = ((50, 150), (1, 300)) if quick else ((50, 100, 150, 200), (1, 3, 10, 30, 100, 300, 700))
    by_window: Curves = {}
    holding: Curves = {}
    by_ratio: Curves = {}
    lines = over_windows(windows, by_window, holding) + over_ratios(ratios, by_ratio)
    plots = [
        Plot("Conditions evaluated, by window", "window", "per event", by_window),
        Plot("Partial matches and buffered events held, by window", "window", "at most", holding),
        Plot("Conditions evaluated, by ratio of rates", "most frequent / rarest", "per event", by_ratio),
    ]
    return show("lazy-work", lines, plots=plots)
