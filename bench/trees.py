"""[T] chapter 6: adaptive join trees against left-deep ones, the automaton and the lazy chain; and ``auto``.

``python -m bench trees`` prints throughputs and whether the seed's order of results holds; with matplotlib
it also saves the plots of the chapter to ``bench/plots``.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from rich.console import Console
from rich.table import Table

import fyke
from bench.automaton import NEXT_MATCH, template
from bench.lazy import skewed as lazy_skewed
from bench.lazy import skewed_scenarios
from bench.report import Line, best_of, show
from bench.tree_workloads import Workload, changing, query, rare_last, skewed, stream
from fyke import Techniques
from fyke.datasets import stocks
from fyke.plan.tree_shape import left_deep

ROWS = 100_000
WINDOWS = (5, 10, 15, 20, 25, 30, 40, 45, 50)
LEFT_DEEP = left_deep("abcdef")
FORCED = ("automaton", "lazy_chain", "lazy_tree", "tree")
PLAIN: dict[str, Any] = {"candidate_windows": False}  # the seed's trees do not look ahead
ENGINES: dict[str, tuple[str, Techniques]] = {
    "automaton": ("automaton", Techniques(candidate_windows=False, merging=False)),
    "left-deep push": ("tree", Techniques(tree=LEFT_DEEP, propagation="push", pass_down=False, **PLAIN)),
    "left-deep pull": ("tree", Techniques(tree=LEFT_DEEP, pass_down=False, **PLAIN)),
    "adaptive pull": ("tree", Techniques(pass_down=False, **PLAIN)),
    "lazy chain": ("lazy_chain", Techniques()),
    "automaton, all techniques": ("automaton", Techniques()),
    "tree, all techniques": ("tree", Techniques()),
}


@dataclass
class Series:
    """Throughputs, in events a second, of some engines along one axis."""

    title: str
    axis: str
    points: list[Any] = field(default_factory=list)
    values: dict[str, list[float]] = field(default_factory=dict)

    def add(self, point: Any, measured: dict[str, float]) -> None:
        self.points.append(point)
        for name, value in measured.items():
            self.values.setdefault(name, []).append(value)

    def print(self) -> None:
        table = Table(title=f"{self.title} (thousand events a second)")
        table.add_column(self.axis)
        for name in self.values:
            table.add_column(name, justify="right")
        for k, point in enumerate(self.points):
            row = [values[k] for values in self.values.values()]
            best = max(row)
            table.add_row(
                str(point), *(f"[green]{v / 1000:,.0f}" if v == best else f"{v / 1000:,.0f}" for v in row)
            )
        Console(width=160).print(table)

    def ratio(self, above: str, below: str) -> float:
        """Return the geometric mean of how many times faster one engine is than another."""
        product = 1.0
        for x, y in zip(self.values[above], self.values[below], strict=True):
            product *= x / y
        return float(product ** (1 / len(self.points)))


def throughput(workload: Workload, engines: dict[str, tuple[str, Techniques]]) -> dict[str, float]:
    """Return events a second of each engine; all must count the same matches."""
    found, counts = {}, {}
    for name, (engine, techniques) in engines.items():
        run = runner(workload, engine, techniques)
        run()
        seconds, result = best_of(2, run)
        found[name] = workload.events.num_rows / seconds
        counts[name] = result.column("n").to_pylist()
    assert len({tuple(count) for count in counts.values()}) == 1, (workload.name, counts)
    return found


def runner(workload: Workload, engine: str, techniques: Techniques | None = None) -> Callable[[], pa.Table]:
    return lambda: fyke.match(
        workload.events,
        workload.query,
        time=workload.time,
        type=workload.type,
        engine=engine,
        techniques=techniques,
        limits=fyke.Limits(runs=20_000_000),
    )


# --- the chapter ------------------------------------------------------------------------------------


def frequencies() -> Iterator[Series]:
    """6.2: two types, at the beginning, in the middle or at the end, are more frequent."""
    for number in (5, 6):
        for part in ("first", "middle", "last"):
            series = Series(f"query {number}, window 20, {part} events frequent", "times as frequent")
            for frequency in (1, 2, 4, 8, 16):
                workload = Workload("", query(number, 20), skewed(ROWS, part, frequency))
                series.add(frequency, throughput(workload, ENGINES))
            yield series


def structures() -> Iterator[Series]:
    """6.3: all conditions with the first, the fourth or the last event."""
    for window in (20, 40):
        series = Series(f"structure of the query, window {window}", "query")
        for number in (7, 8, 9):
            series.add(number, throughput(Workload("", query(number, window), stream(ROWS)), ENGINES))
        yield series


def windows() -> Iterator[Series]:
    """6.4 and 6.6: longer windows, over random data and over data that changes every 5,000 events."""
    for kind, events in (("random", stream(ROWS)), ("changing", changing(ROWS))):
        for number in (10, 11):
            series = Series(f"query {number}, {kind} data", "window")
            for window in WINDOWS:
                series.add(window, throughput(Workload("", query(number, window), events), ENGINES))
            yield series


def groups() -> Iterator[Series]:
    """6.5: one and two groups."""
    for number in (12, 13):
        series = Series(f"query {number}, groups", "window")
        for window in (10, 20, 30, 40):
            series.add(window, throughput(Workload("", query(number, window), stream(ROWS)), ENGINES))
        yield series


def passing_down() -> Iterator[Series]:
    """6.7: the rarer the triggering event, the better it is to pass its conditions down."""
    engines = {
        "automaton": ENGINES["automaton"],
        "left-deep pull": ENGINES["left-deep pull"],
        "left-deep pass-down": ("tree", Techniques(tree=LEFT_DEEP, pass_down=True, **PLAIN)),
        "adaptive pull": ENGINES["adaptive pull"],
        "by appendix A": ("tree", Techniques(tree=LEFT_DEEP, **PLAIN)),
        "lazy chain": ENGINES["lazy chain"],
    }
    for number in (14, 15):
        series = Series(f"query {number}, window 50, pass-down", "events per trigger")
        for gap in (6, 25, 100, 400, 1600):
            events = rare_last(ROWS, 1 / gap)
            series.add(gap, throughput(Workload("", query(number, 50), events), engines))
        yield series


def plot(series: list[Series]) -> None:
    """Save a plot of each series, if matplotlib is there."""
    if importlib.util.find_spec("matplotlib") is None:
        Console().print("no plots: matplotlib is not installed, see the extra 'plots'", markup=False)
        return
    pyplot = importlib.import_module("matplotlib.pyplot")
    folder = Path(__file__).parent / "plots"
    folder.mkdir(exist_ok=True)
    for each in series:
        figure, axes = pyplot.subplots()
        for name, values in each.values.items():
            axes.plot([str(point) for point in each.points], values, marker="o", label=name)
        axes.set(title=each.title, xlabel=each.axis, ylabel="events a second", yscale="log")
        axes.legend(fontsize=7)
        name = each.title.replace(" ", "_").replace(",", "")
        figure.savefig(folder / f"{name}.png", dpi=100)
        pyplot.close(figure)


def verdicts(found: dict[str, list[Series]]) -> list[Line]:
    """Return the chapter's claims as bars: how many times slower the better side is, at most 1."""
    lines = []

    def claim(what: str, series: Series, better: str, worse: str) -> None:
        ratio = series.ratio(better, worse)
        lines.append(Line(what, 1 / ratio, 1.0, "x", f"{better} {ratio:.2f} times as fast as {worse}"))

    by_title = {series.title: series for group in found.values() for series in group}
    for series in found["frequencies"]:
        claim(f"6.2 {series.title}", series, "adaptive pull", "automaton")
    for series in found["structures"]:
        claim(f"6.3 {series.title}: trees", series, "adaptive pull", "automaton")
        claim(f"6.3 {series.title}: shape", series, "adaptive pull", "left-deep pull")
    for series in found["windows"]:
        claim(f"6.4, 6.6 {series.title}: trees", series, "adaptive pull", "automaton")
        claim(f"6.4, 6.6 {series.title}: shape", series, "adaptive pull", "left-deep pull")
    for series in found["groups"]:
        claim(f"6.5 {series.title}: trees", series, "adaptive pull", "automaton")
        claim(f"6.5 {series.title}: pull", series, "left-deep pull", "left-deep push")
    for number in (14, 15):
        series = by_title[f"query {number}, window 50, pass-down"]
        rare = Series(
            series.title, series.axis, series.points[2:], {k: v[2:] for k, v in series.values.items()}
        )
        claim(f"6.7 {series.title}, rare triggers", rare, "left-deep pass-down", "left-deep pull")
    return lines


def work(number: int, window: int, events: pa.Table) -> list[Line]:
    """Return how much an adaptive tree tries and makes against a left-deep one: exact counts, no clocks.

    Where a window holds little, evaluating it takes less time than planning anew; then the seed's order of
    results shows in the work that is left, and not in the throughput.
    """
    counted = {}
    for name in ("left-deep pull", "adaptive pull"):
        engine, techniques = ENGINES[name]
        metrics = fyke.Metrics()
        fyke.match(
            events, query(number, window), time="t", type="kind", engine=engine, techniques=techniques,
            metrics=metrics,
        )  # fmt: skip
        counted[name] = metrics.get()
    adaptive, fixed = counted["adaptive pull"], counted["left-deep pull"]
    note = f"{adaptive['replans']} times planned anew; {adaptive['bindings_tried']:,} pairs tried"
    return [
        Line(
            f"6.6 query {number}, window {window}, changing data: {what}",
            adaptive[counter] / fixed[counter],
            1.0,
            "x",
            note,
        )
        for what, counter in (("pairs tried", "bindings_tried"), ("rows made", "runs_created"))
    ]


# --- auto -----------------------------------------------------------------------------------------------


def workloads() -> Iterator[Workload]:
    """001 p1 to p3, 003 queries 5 to 15, 004 sequence, conjunction, absence and iteration."""
    ticks = stocks.generate(50_000)
    for name in ("p1", "p2", "p3"):
        text = template(name, NEXT_MATCH, 500)
        yield Workload(f"001 {name}", f"{text} RETURN count(*) AS n", ticks, "ts", "kind")
    for number in (5, 6):
        yield Workload(f"003 query {number}", query(number, 20), skewed(ROWS, "first", 4))
    for number in range(7, 16):
        events = rare_last(ROWS, 0.01) if number >= 14 else stream(ROWS)
        yield Workload(f"003 query {number}", query(number, 20), events)
    events = lazy_skewed(ROWS)
    for scenario in skewed_scenarios():
        yield Workload(f"004 {scenario.name}", scenario.query("RETURN count(*) AS n"), events)
    text = "PATTERN SEQ(B b, C+ c[], D d) WHERE skip_till_any_match { b.x < d.y * 0.2 } WITHIN 150"
    yield Workload("004 iteration", f"{text} RETURN count(*) AS n", events)


def measure_auto() -> list[Line]:
    """Return how much slower ``auto`` is than the best engine by force."""
    lines = []
    for workload in workloads():
        times = {}
        for engine in (*FORCED, "auto"):
            run = runner(workload, engine)
            try:
                run()
            except fyke.FykeError:
                continue
            times[engine], _ = best_of(5, run)
        forced = {engine: seconds for engine, seconds in times.items() if engine != "auto"}
        best = min(forced, key=lambda engine: forced[engine])
        shown = ", ".join(f"{engine} {1000 * seconds:.1f}" for engine, seconds in times.items())
        lines.append(Line(workload.name, times["auto"] / forced[best], 1.5, "x", f"{shown} ms"))
    return lines


def main() -> bool:
    """Run the chapter and the report on ``auto``; return whether ``auto`` keeps its bar.

    Of the chapter's claims it is reported which hold: they are the seed's, not bars of this program.
    """
    found = {part.__name__: list(part()) for part in (frequencies, structures, windows, groups, passing_down)}
    every = [series for group in found.values() for series in group]
    for series in every:
        series.print()
    plot(every)
    events = changing(ROWS)
    counted = [line for number in (10, 11) for window in (40, 50) for line in work(number, window, events)]
    show("[T] chapter 6: how the seed's order of results holds", [*verdicts(found), *counted])
    return show("auto against the best forced engine", measure_auto())
