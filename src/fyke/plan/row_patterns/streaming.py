"""What a clause keeps and waits for where more rows may come: how far it looks back and ahead.

A row that may still come is an *unknown* row: one stands behind the last row read of each partition.  Any
state may take it, so the automaton of an open partition ends with it.  A match that needs it is not decided.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from fyke.errors import StreamError
from fyke.language.ast import Call, walk
from fyke.language.row_patterns import Rows, SkipTo, unparse_row_pattern
from fyke.logical.row_patterns.analysed import From, Input, Located, RowValue
from fyke.plan.row_patterns.automaton import END, Automaton
from fyke.plan.row_patterns.plan import RowPlan

_AT_END = "$"  # in place of a variable: what a row that may come rules out


@dataclass(frozen=True, slots=True)
class Reach:
    """How far a clause looks beyond the rows of an attempt.

    Attributes
    ----------
    back
        Rows in front of the first undecided start that must be kept.
    from_begin, from_end
        How many rows behind the first row of a match, and behind its last, measures look at most.
    numbered
        Whether measures ask for the number of a match.
    apart
        Whether attempts from different rows have nothing to do with each other, so that one may be decided
        before an earlier one.
    waits_for_end
        Whether a match can end because its partition does.
    """

    back: int
    from_begin: int
    from_end: int
    numbered: bool
    apart: bool
    waits_for_end: bool


def reach_of(plan: RowPlan) -> Reach:
    """Return how far a plan looks."""
    analysed = plan.analysed
    measured = [each for value in analysed.measures for each in value.inputs]
    defined = [each for value in analysed.conditions.values() for each in value.inputs]
    numbered = any(
        isinstance(node, Call) and node.function == "match_number"
        for value in analysed.measures
        for node in walk(value.expression)
    )
    back = max((-each.physical for each in _located((*measured, *defined))), default=0)
    keeps_one = numbered or plan.automaton.first != plan.automaton.start
    ahead = [each for each in _located(measured) if each.physical > 0]
    of_first = [each for each in ahead if each.start is From.FIRST and each.labels is None]
    others = [each for each in ahead if each not in of_first]
    return Reach(
        back=max(back, int(keeps_one)),
        from_begin=max((each.logical + each.physical for each in of_first), default=0),
        from_end=max((each.physical - _rows_back(each) for each in others), default=0),
        numbered=numbered,
        apart=not numbered and (analysed.rows is Rows.MATCHES or analysed.skip_to is SkipTo.NEXT_ROW),
        waits_for_end=any(_needs_end(plan.automaton, state) for state in range(len(plan.automaton.labels))),
    )


def _located(inputs: Iterable[Input]) -> list[Located]:
    return [each for each in inputs if isinstance(each, Located)]


def _rows_back(each: Located) -> int:
    """Return how many rows in front of the last row of a match the row of an input is at least."""
    return each.logical if each.start is From.LAST else 0


def looks_ahead(value: RowValue) -> int:
    """Return how many rows behind its row a condition looks."""
    return max((each.physical for each in _located(value.inputs) if each.physical > 0), default=0)


# --- what may still come -----------------------------------------------------------------------------


def open_plan(plan: RowPlan) -> RowPlan:
    """Return a plan for partitions that end with an unknown row.

    If a match can end because its partition does, there is one variable more, of which only unknown rows are.
    """
    automaton, analysed = plan.automaton, plan.analysed
    states = range(len(automaton.labels))
    waiting = [state for state in states if _needs_end(automaton, state)]
    if not waiting:
        return replace(plan, automaton=replace(automaton, ends=(True,) * len(states)), nodes=None)
    moves = [(*to, len(states)) if state in waiting else to for state, to in enumerate(automaton.moves)]
    opened = replace(
        automaton,
        labels=(*automaton.labels, len(analysed.variables)),
        excluded=(*automaton.excluded, False),
        moves=(*moves, ()),
        ends=(True,) * (len(states) + 1),
    )
    return replace(
        plan,
        analysed=replace(analysed, variables=(*analysed.variables, _AT_END)),
        automaton=opened,
        conditions=(*plan.conditions, None),
        nodes=None,
    )


def _needs_end(automaton: Automaton, state: int) -> bool:
    """Say whether a match can end with a row of a state only if it is the last of its partition."""
    return automaton.ends[state] and END not in automaton.moves[state]


# --- what a stream needs -----------------------------------------------------------------------------


def check_streamable(plan: RowPlan) -> None:
    """Refuse a clause that a stream would keep rows of for ever, or whose order it cannot follow.

    Raises
    ------
    StreamError
    """
    analysed = plan.analysed
    if not analysed.order:
        raise StreamError(
            "on a stream ORDER BY must begin with the time of the rows, and there is none",
            remedy="Write ORDER BY with the column of times that the watermark is of.",
        )
    first = analysed.order[0]
    if first.descending:
        raise StreamError(
            f"on a stream rows are read as time goes on, and ORDER BY begins with {first.column} DESC",
            remedy=f"Write ORDER BY {first.column}.",
        )
    if analysed.window is None and plan.automaton.longest is None:
        raise StreamError(
            f"on a stream ({unparse_row_pattern(analysed.pattern)}) needs WITHIN: it may take any number of "
            "rows, and without a window all of them would be kept for ever",
            remedy="Write, for example, PATTERN (A+ B) WITHIN INTERVAL '1' HOUR, or bounds such as {1,10}.",
        )
