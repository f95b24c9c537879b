"""How a long partition is cut into pieces that threads search side by side, and why it is not."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from fyke.logical.row_patterns.analysed import Located, RowValue
from fyke.plan.row_patterns.automaton import END
from fyke.plan.row_patterns.nodes import MOST_BITS
from fyke.plan.row_patterns.plan import RowPlan


class Overlap(Enum):
    """What a piece must see of the rows behind it."""

    NODES = "nodes"  # nothing: passes over pieces are put together where they meet
    WINDOW = "window"  # the window of its last row
    ROWS = "rows"  # as many rows as a match can have
    BARRIERS = "barriers"  # nothing: pieces begin at rows that no attempt from before can take
    WHOLE = "whole"  # everything: it is not cut


@dataclass(frozen=True, slots=True)
class Cut:
    """How a plan cuts long partitions; ``reason`` says it, or why it does not, in words.

    ``before`` and ``behind`` are how far conditions look to either side.  ``rows`` is the most that a match
    can have, under ROWS; a row of which all ``barring`` conditions are false is a barrier, under BARRIERS.
    """

    overlap: Overlap
    reason: str
    before: int
    behind: int
    rows: int = 0
    barring: tuple[RowValue, ...] = ()


def how_to_cut(plan: RowPlan) -> Cut:
    """Return how the long partitions of a plan are cut."""
    before, behind = _reach(plan)
    longest = plan.automaton.longest
    if plan.nodes is not None:
        reason = "cut anywhere; pieces are joined where their matches meet"
        return Cut(Overlap.NODES, reason, before, behind)
    if plan.analysed.window is not None and not plan.analysed.timeouts:
        return Cut(Overlap.WINDOW, "cut into pieces that overlap by the window", before, behind)
    if longest is not None and not plan.analysed.timeouts:
        reason = f"cut into pieces that overlap by {longest:,} rows, the most a match has"
        return Cut(Overlap.ROWS, reason, before, behind, longest)
    later = _later_labels(plan)
    anywhere = [label for label in later if label not in plan.column_of]
    if anywhere:
        reason = f"not cut: {_why_not(plan, plan.analysed.variables[anywhere[0]])}"
        return Cut(Overlap.WHOLE, reason, before, behind)
    numbers = {plan.column_of[label] for label in later}
    barring = tuple(condition for condition, number in plan.columns.items() if number in numbers)
    return Cut(Overlap.BARRIERS, _why_at_barriers(plan, later), before, behind, barring=barring)


def _later_labels(plan: RowPlan) -> list[int]:
    """Return the labels that a row of a match can have which is not its first."""
    automaton = plan.automaton
    return sorted({automaton.labels[to] for moves in automaton.moves for to in moves if to != END})


def _why_at_barriers(plan: RowPlan, later: list[int]) -> str:
    if not later:
        return "cut anywhere: no attempt has a second row"
    *names, last = (plan.analysed.variables[label] for label in later)
    either = f"{', '.join(names)} or {last}" if names else last
    return f"cut at rows that cannot be {either}, which no attempt crosses"


def _why_not(plan: RowPlan, anywhere: str) -> str:
    """Say why a plan is not cut; ``anywhere`` is a variable that any row may be, as far as one row tells."""
    if plan.analysed.timeouts:
        return f"attempts that expire are told in turn, and any row may go on with one as {anywhere}"
    if not plan.linear:
        return (
            "a match may have any number of rows, and conditions look back at them; add WITHIN, or to "
            f"{anywhere} a condition on its row alone"
        )
    much = f"more than {MOST_BITS} conditions" if len(plan.columns) > MOST_BITS else "too many states"
    return f"a match may have any number of rows, any row may be {anywhere}, and the pattern has {much}"


def _reach(plan: RowPlan) -> tuple[int, int]:
    """Return how many rows back and on from rows of a match conditions look."""
    parts = [
        part for each in plan.conditions if each is not None for part in (each.column, each.across) if part
    ]
    offsets = [each.physical for part in parts for each in part.inputs if isinstance(each, Located)]
    return max(0, -min(offsets, default=0)), max(0, max(offsets, default=0))
