"""A plan drawn: the way of the rows from the events to the result, what engines cost, and the figures."""

from __future__ import annotations

import math

from fyke.language.unparse import unparse_window
from fyke.pictures.svg import NORMAL, SMALL, Svg, fitted, width_of, wrapped
from fyke.plan.explain import Explanation
from fyke.plan.explain_run import compare_run
from fyke.plan.statistics import short

_MARGIN, _BOX, _GAP, _LINE = 24.0, 196.0, 34.0, 17.0
_WIDTH = 2 * _MARGIN + 5 * _BOX + 4 * _GAP

Box = tuple[str, list[str]]


def draw_plan(told: Explanation) -> Svg:
    """Draw a plan with its estimated figures, and with the observed ones if it was run."""
    boxes = [
        (title, [line for each in lines for line in wrapped(each, _BOX - 20, SMALL)])
        for title, lines in _boxes(told)
    ]
    height = 44 + _LINE * max(len(lines) for _, lines in boxes)
    costs, figures = _costs(told), _figures(told)
    below = max(30 + 26 * len(costs), 30 + 20 * len(figures))
    svg = Svg(_WIDTH, 2 * _MARGIN + height + 34 + below)
    for number, (title, lines) in enumerate(boxes):
        x = _MARGIN + number * (_BOX + _GAP)
        chosen = title == told.plan.engine
        svg.rect(x, _MARGIN, _BOX, height, "panel", "accent" if chosen else "line", round_=6, name="stage")
        svg.text(x + 10, _MARGIN + 22, fitted(title, _BOX - 20), "ink", bold=True, name="stage-name")
        for place, line in enumerate(lines):
            svg.text(x + 10, _MARGIN + 44 + _LINE * place, line, "faint", size=SMALL, name="stage-line")
        if number:
            y = _MARGIN + height / 2
            svg.line(x - _GAP + 3, y, x - 3, y, "line", width=1.5, arrow=True, name="flow")
    top = 2 * _MARGIN + height + 10
    _draw_costs(svg, told, costs, top)
    _draw_figures(svg, figures, _MARGIN + 2 * (_BOX + _GAP) + 40, top)
    return svg


def _boxes(told: Explanation) -> list[Box]:
    plan, ran = told.plan, told.ran
    schema = plan.schema
    counts = {} if ran is None else ran.counts
    given = [f"time {schema.end}"] + ([f"type {schema.type_column}"] if schema.type_column else [])
    if "rows" in counts:
        given.append(counted(int(counts["rows"]), "row"))
    roles = [
        f"role {role.bit}: {role.type or 'any type'}"
        + (f" and {counted(len(role.conditions), 'test')}" if role.conditions else "")
        for role in plan.roles
    ]
    roles.append("all rows stay" if plan.every_row_counts else "rows without a role are left out")
    if "events_filtered" in counts:
        roles.append(f"{int(counts['events_filtered']):,} left out")
    parts = [f"by {', '.join(plan.keys)}" if plan.keys else "one stream", f"sorted by {schema.end}"]
    window = plan.query.window
    parts.append("no window" if window is None else f"WITHIN {unparse_window(window)}")
    search = [plan.strategy.value, ", ".join(plan.names)]
    if plan.order:
        search.append(f"first {', '.join(plan.order)}")
    absent = sum(len(alternative.absences) for alternative in plan.alternatives)
    if absent:
        search.append(counted(absent, "absence"))
    if "runs_created" in counts:
        search.append(counted(int(counts["runs_created"]), "partial match", "es"))
    result = [f"output {plan.output}"]
    if "matches" in counts:
        result.append(counted(int(counts["matches"]), "match", "es"))
    return [
        ("events", given),
        ("rows", roles),
        ("partitions", parts),
        (plan.engine, search),
        ("result", result),
    ]


def counted(count: int, what: str, ending: str = "s") -> str:
    """Return a number of things in words."""
    return f"1 {what}" if count == 1 else f"{count:,} {what}{ending}"


def _costs(told: Explanation) -> list[tuple[str, float, str, str]]:
    """Return each engine with its cost in a window, what is said of it, and its colour."""
    found = []
    for option in told.choice.options:
        if option.refused:
            found.append((option.engine, 0.0, option.refused, "faint"))
        else:
            chosen = option.engine == told.choice.engine
            text = f"{short(option.work.cost / 1_000)} us a window"
            found.append((option.engine, option.work.cost, text, "accent" if chosen else "line"))
    return found


def _draw_costs(svg: Svg, told: Explanation, costs: list[tuple[str, float, str, str]], top: float) -> None:
    svg.text(_MARGIN, top + 8, "estimated cost", "ink", size=NORMAL, bold=True)
    name_width = max(width_of(name, SMALL) for name, *_ in costs) + 14
    room = 2 * (_BOX + _GAP) - name_width - 10
    most = max([cost for _, cost, _, _ in costs] + [1e-9])
    for number, (name, cost, text, colour) in enumerate(costs):
        y = top + 22 + 26 * number
        svg.text(_MARGIN, y + 12, name, "ink", size=SMALL, name="engine")
        if cost > 0:
            # Costs differ by powers of ten: what is drawn is the logarithm.
            share = 0.05 + 0.95 * math.log10(1 + cost) / math.log10(1 + most)
            wide = max(6.0, (room - 130) * share)
            svg.rect(_MARGIN + name_width, y + 1, wide, 15, colour, round_=3, name="cost")
            svg.text(_MARGIN + name_width + wide + 8, y + 12, text, "faint", size=SMALL)
        else:
            svg.text(_MARGIN + name_width, y + 12, fitted(text, room, SMALL), "faint", size=SMALL)


def _figures(told: Explanation) -> list[tuple[str, str, str]]:
    plan, choice = told.plan, told.choice
    if told.ran is not None:
        return compare_run(plan, choice, told.ran)
    known = choice.statistics
    lines = [("rows looked at", f"{known.rows:,}", ""), ("rows per window", short(known.window_rows), "")]
    lines += [
        (f"{name} per window", short(known.rate(name)), "")
        for name in dict.fromkeys(n for _, n in plan.roles_of)
    ]
    for condition, text in plan.texts.items():
        lines.append((text, f"{100 * known.selectivity(condition, text):.3g} %", ""))
    return lines


def _draw_figures(svg: Svg, figures: list[tuple[str, str, str]], left: float, top: float) -> None:
    right = _WIDTH - _MARGIN
    columns = (right - 150, right)
    svg.text(left, top + 8, "figures", "ink", bold=True)
    svg.text(columns[0], top + 8, "estimated", "ink", anchor="end", bold=True)
    svg.text(columns[1], top + 8, "observed", "ink", anchor="end", bold=True)
    for number, (what, then, now) in enumerate(figures):
        y = top + 30 + 20 * number
        svg.text(left, y, fitted(what, columns[0] - left - 130, SMALL), "ink", size=SMALL, name="figure")
        svg.text(columns[0], y, then, "faint", size=SMALL, anchor="end", name="estimated")
        svg.text(columns[1], y, now, "accent", size=SMALL, anchor="end", name="observed")
        svg.line(left, y + 6, right, y + 6, "grid")
