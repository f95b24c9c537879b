"""How aggregates over matches are computed: from rows, by counting, or without listing subsets.

A pure function of the plan.  Counting writes no match down; groups whose conditions couple at most
neighbouring elements need not even be enumerated: the number of subsets follows from a recurrence over
the candidates, in polynomial time.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from fyke.pattern.normal_form import Alternative
from fyke.plan.early_absences import early_absences, may_be_one
from fyke.plan.match_aggregates import MatchAggregate, split_aggregates
from fyke.plan.pushdown import Pushed


@dataclass(frozen=True, slots=True)
class Counting:
    """How matches are tallied.

    Attributes
    ----------
    aggregates
        The aggregates over matches, in the order of their columns.
    subsets
        Whether groups are counted by a recurrence; otherwise every match is met, but none is kept.
    reason
        Why, for ``explain``.
    """

    aggregates: tuple[MatchAggregate, ...]
    subsets: bool
    reason: str


def plan_counting(pushed: Pushed, output: str, *, first_chance: bool) -> Counting | str:
    """Return how a lazy engine tallies the matches of a query, or why it must make a row of each."""
    found, _ = split_aggregates(pushed.output)
    if not pushed.output.over_matches:
        return "RETURN asks for matches"
    if output != "all":
        return f"output is {output!r}"
    for alternative in pushed.alternatives:
        if len(early_absences(alternative) if first_chance else ()) < len(alternative.absences):
            return "an absence is checked on whole matches"
    if any(_may_repeat(*pair) for pair in itertools.combinations(pushed.alternatives, 2)):
        return "two alternatives may find the same match"
    if any(each.argument is not None for each in found):
        return "an aggregate needs values of matches"
    return Counting(tuple(found), subsets=False, reason="every match is met, none is kept")


def _may_repeat(left: Alternative, right: Alternative) -> bool:
    """Say whether two alternatives can find a match with the same bindings."""
    others = {variable.name: variable for variable in right.variables}
    if {variable.name for variable in left.variables} != others.keys():
        return False
    return all(may_be_one(variable, others[variable.name]) for variable in left.variables)
