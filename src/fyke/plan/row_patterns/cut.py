"""How a long partition is cut into pieces that threads search side by side, and why it is not."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from fyke.logical.row_patterns.analysed import Located
from fyke.plan.row_patterns.plan import RowPlan


class Overlap(Enum):
    """What a piece must see of the rows behind it."""

    NODES = "nodes"  # nothing: passes over pieces are put together where they meet
    WINDOW = "window"  # the window of its last row
    ROWS = "rows"  # as many rows as a match can have
    WHOLE = "whole"  # everything: it is not cut


@dataclass(frozen=True, slots=True)
class Cut:
    """How a plan cuts long partitions; ``reason`` says it, or why it does not, in words.

    ``before`` and ``behind`` are how far conditions look to either side.  ``rows`` is the most that a match
    can have, under ROWS.
    """

    overlap: Overlap
    reason: str
    before: int
    behind: int
    rows: int = 0


def how_to_cut(plan: RowPlan) -> Cut:
    """Return how the long partitions of a plan are cut."""
    before, behind = _reach(plan)
    longest = plan.automaton.longest
    if plan.nodes is not None:
        reason = "cut anywhere; pieces are joined where their matches meet"
        return Cut(Overlap.NODES, reason, before, behind)
    if plan.analysed.timeouts:
        return Cut(Overlap.WHOLE, "not cut: attempts that expire are told in turn", before, behind)
    if plan.analysed.window is not None:
        return Cut(Overlap.WINDOW, "cut into pieces that overlap by the window", before, behind)
    if longest is not None:
        reason = f"cut into pieces that overlap by {longest:,} rows, the most a match has"
        return Cut(Overlap.ROWS, reason, before, behind, longest)
    if plan.linear:
        reason = "not cut: a match may have any number of rows, and the pattern has too many states"
    else:
        reason = "not cut: a match may have any number of rows, and conditions look back at them; add WITHIN"
    return Cut(Overlap.WHOLE, reason, before, behind)


def _reach(plan: RowPlan) -> tuple[int, int]:
    """Return how many rows back and on from rows of a match conditions look."""
    parts = [
        part for each in plan.conditions if each is not None for part in (each.column, each.across) if part
    ]
    offsets = [each.physical for part in parts for each in part.inputs if isinstance(each, Located)]
    return max(0, -min(offsets, default=0)), max(0, max(offsets, default=0))
