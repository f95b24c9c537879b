"""A plan on a stream in words: what waits for what, and when a match is certain."""

from __future__ import annotations

from itertools import combinations

from fyke.language.ast import Strategy
from fyke.language.unparse import unparse_window
from fyke.plan.counting import may_repeat
from fyke.plan.open_absences import open_sides
from fyke.plan.plan import Plan


def explain_stream(plan: Plan) -> list[str]:
    """Return when events are read, when a match is certain, and what is kept until then."""
    window = "window" if plan.query.window is None else f"window ({unparse_window(plan.query.window)})"
    over = f"when the watermark has passed the end of its {window}, which begins with its first event"
    if plan.window.counts_events:
        over = f"when its partition has had as many events as its {window} holds, counted from its first one"
    repeats = any(may_repeat(*pair) for pair in combinations(plan.alternatives, 2))
    reasons = []
    if plan.strategy is Strategy.ROBUST:
        reasons.append("until then a later event may make another match the better one")
    elif plan.strategy.greedy and repeats:
        reasons.append("until then another alternative may find the same match")
    elif plan.strategy.greedy:
        reasons.append("or earlier, at an event that ends its run")
    late = [open_sides(each)[0] for each in plan.alternatives]
    if any(late):
        reasons.append("until then an absent event may still come")
    lines = ["  reads    events in the order of their times, up to the watermark; others behind it are late"]
    if any(late) and not all(late) and not repeats and plan.strategy is not Strategy.ROBUST:
        lines.append(
            "  certain  a match that no absence can rule out when the watermark reaches its last event,"
        )
        lines.append(f"           others {over}")
    elif reasons:
        lines.append(f"  certain  a match is reported {over}:")
        lines += [f"           {reason}" for reason in reasons]
    else:
        lines.append("  certain  a match is reported when the watermark reaches its last event")
    if plan.format.apart and plan.strategy.greedy:
        lines.append("  apart    and once no match of its partition that ends earlier can come any more,")
        lines.append("           one window later")
    elif plan.format.apart:
        lines.append("  apart    and once all of its partition that end with it or before it are certain")
    if plan.result.over_matches:
        lines.append("  totals   a micro-batch returns those it has changed, in update mode")
    kept = "events of two windows" if reasons or plan.format.apart else "runs, and events of one window"
    return [*lines, f"  keeps    events that wait for the watermark; {kept} at most"]
