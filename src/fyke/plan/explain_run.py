"""The estimates of a run beside what was observed ([T] 3.5.5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fyke.language.ast import Strategy
from fyke.plan.plan import Plan
from fyke.plan.planner import Choice, choose_plan, expected_run, make_models
from fyke.plan.statistics import Statistics, short

_ASSUMED = " assumed"


@dataclass(frozen=True, slots=True)
class ObservedRun:
    """A run: its counts and clocks by name, and the statistics of what it has read."""

    counts: Mapping[str, float]
    seen: Statistics


def compare_run(plan: Plan, choice: Choice, ran: ObservedRun) -> list[tuple[str, str, str]]:
    """Return what is estimated and what was observed: of the statistics, and of the work."""
    known, seen, counts = choice.statistics, ran.seen, ran.counts
    windows = max(1.0, counts["events_read"] / max(1.0, seen.window_rows or known.window_rows))
    texts = plan.texts
    models = make_models(plan, known)
    work = expected_run(plan, choice).work
    expected = sum(model.made(model.everything) for model in models)
    if plan.strategy is not Strategy.ANY:
        expected = min(expected, work.made)
    lines = [
        ("rows looked at", f"{known.rows:,}", f"{seen.rows:,}"),
        ("rows per window", short(known.window_rows), short(seen.window_rows)),
    ]
    for name in dict.fromkeys(name for _, name in plan.roles_of):
        believed = short(known.rate(name)) + ("" if name in known.rates else _ASSUMED)
        lines.append((f"{name} per window", believed, _or_unknown(seen.rates.get(name), short)))
    for condition, text in texts.items():
        believed = _share(known.selectivity(condition, text))
        believed += "" if text in known.selectivities else _ASSUMED
        lines.append((text, believed, _or_unknown(seen.selectivities.get(text), _share)))
    return [
        *lines,
        ("partial matches per window", short(work.made), short(counts["runs_created"] / windows)),
        ("matches per window", short(expected), short(counts["matches"] / windows)),
        (
            "search per window",
            f"{short(work.cost / 1_000)} us",
            f"{short(counts['seconds_search'] * 1e6 / windows)} us",
        ),
        ("conditions decided", "", f"{counts['condition_evaluations']:,}"),
        ("replanned", "", f"{counts['replans']:,} times"),
    ]


def explain_run(plan: Plan, choice: Choice, ran: ObservedRun) -> list[str]:
    """Return a table of statistics and work, estimated and observed, and the plan that follows from it."""
    lines, known, seen = compare_run(plan, choice, ran), choice.statistics, ran.seen
    width, middle = (max(len(line[k]) for line in [*lines, ("", "estimated", "")]) for k in (0, 1))
    table = [("", "estimated", "observed"), *lines]
    found = [f"  {what:<{width}}  {then:>{middle}}  {now}".rstrip() for what, then, now in table]
    again = choose_plan("auto", plan, seen if seen.rows else known)
    return [*found, f"  with these numbers auto takes {again.chosen}"]


def _or_unknown(value: float | None, written: Callable[[float], str]) -> str:
    return "not counted" if value is None else written(value)


def _share(value: float) -> str:
    return f"{100 * value:.3g} %"
