"""A clause on a stream in words: when rows are read, when a match is certain, and what is kept until then."""

from __future__ import annotations

from fyke.language.unparse import unparse_window
from fyke.plan.row_patterns.automaton import END, Automaton
from fyke.plan.row_patterns.plan import RowPlan
from fyke.plan.row_patterns.streaming import Reach, looks_ahead, reach_of


def explain_row_stream(plan: RowPlan) -> list[str]:
    """Return the lines of an explanation that are about a stream."""
    reach, analysed = reach_of(plan), plan.analysed
    time = analysed.order[0].column
    lines = ["", "on a stream", "-----------"]
    lines.append(f"  reads    rows in the order of {time}, up to the watermark; others behind it are late")
    lines += _certain(plan, reach)
    if analysed.timeouts:
        lines.append(
            "  expired  an attempt when a row behind its window has come, or the watermark passed it"
        )
    if not reach.apart:
        lines.append("  in turn  and when all earlier attempts of its partition are decided")
    window = analysed.query.window
    most = f"{plan.automaton.longest} rows" if window is None else f"a window ({unparse_window(window)})"
    lines.append(f"  keeps    rows that wait for the watermark; those of open attempts, at most {most}")
    if reach.back:
        rows = "the last row" if reach.back == 1 else f"the last {reach.back} rows"
        lines.append(f"           of each partition {rows}, for ever")
    return lines


def _certain(plan: RowPlan, reach: Reach) -> list[str]:
    """Say when a match is certain."""
    over = "" if plan.analysed.window is None else ", or when the watermark has passed its window"
    ahead = [looks_ahead(value) for value in (*plan.analysed.conditions.values(), *plan.analysed.measures)]
    if _may_go_on(plan.automaton):
        lines = [f"  certain  a match when a row has come that ends what it prefers{over}"]
    else:
        lines = ["  certain  a match when the watermark reaches its last row"]
    if max(ahead, default=0):
        lines.append("           and the rows that NEXT looks at")
    if reach.waits_for_end:
        lines.append("           what ends with $ is certain when the stream is flushed")
    return lines


def _may_go_on(automaton: Automaton) -> bool:
    """Say whether a match may end where a longer one is preferred."""
    return any(END in moves and moves[0] != END for moves in automaton.moves)
