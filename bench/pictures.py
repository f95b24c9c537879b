"""The plots of the report, as SVG."""

from __future__ import annotations

import io
from collections.abc import Sequence

import matplotlib
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.report import Line, Plot, Section, Spread

_GREEN, _RED, _YELLOW = "#2e7d32", "#c62828", "#b28704"
_COLOURS = {"holds": _GREEN, "agrees": _GREEN, "FAILS": _RED, "differs": _YELLOW}
_MOST = 40  # bars in one picture


def draw(plot: Plot) -> str:
    """Return curves as SVG."""
    figure, axes = pyplot.subplots(figsize=(6.4, 3.8), layout="constrained")
    for name, points in plot.curves.items():
        axes.plot(*zip(*points, strict=True), marker=".", label=name)
    scale = "log" if plot.log else "linear"
    axes.set(title=plot.title, xlabel=plot.across, ylabel=plot.up, xscale=scale, yscale=scale)
    axes.grid(visible=True, which="both", alpha=0.2)
    if len(plot.curves) > 1:
        axes.legend(fontsize="small")
    return _svg(figure)


def draw_bars(section: Section) -> str | None:
    """Return how near each line is to its bar, with the range of its rounds; None where there is no bar."""
    lines = [line for line in section.lines if line.bar and 0 < line.value < float("inf")][:_MOST]
    if not lines:
        return None
    figure, axes = pyplot.subplots(figsize=(9, 1.1 + 0.24 * len(lines)), layout="constrained")
    for row, line in enumerate(lines):
        _draw_line(axes, row, line, _COLOURS[section.verdict(line)])
    axes.axvline(1, color="#888888", linewidth=1)
    axes.set(xscale="log", xlabel="measured / bar; where at least the bar is asked for, bar / measured")
    axes.set_yticks(range(len(lines)), [line.what for line in lines], fontsize="x-small")
    axes.invert_yaxis()
    axes.grid(visible=True, axis="x", which="both", alpha=0.2)
    return _svg(figure)


def _draw_line(axes: Axes, row: int, line: Line, colour: str) -> None:
    rounds: Sequence[float] = [line.value]
    if isinstance(line.value, Spread):
        rounds = [line.value.low, line.value, line.value.high]
    bar = line.bar or 1.0
    near = [bar / each if line.at_least else each / bar for each in rounds if each > 0]
    axes.plot([min(near), max(near)], [row, row], color=colour, linewidth=2, alpha=0.5)
    axes.plot([near[len(near) // 2]], [row], marker="o", color=colour, markersize=4)


def _svg(figure: Figure) -> str:
    text = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "fyke"}):
        figure.savefig(text, format="svg", metadata={"Date": None})
    pyplot.close(figure)
    svg = text.getvalue()
    return svg[svg.index("<svg") :]
