"""Anchors: variables that every match of an alternative binds ([L] 4).

A match lies within one window of any of its events.  So rows further than a window from every candidate of
an anchor, preferably the rarest one, are in no match, and in no absence that decides about a match.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fyke.logical.normal_form import Absence, Alternative
from fyke.plan.plan import Plan


@dataclass(frozen=True, slots=True)
class Anchor:
    """A variable that every match binds: its role, and whether others may come before or after it."""

    role: int
    back: bool
    ahead: bool


@dataclass(frozen=True, slots=True)
class Anchors:
    """The possible anchors of each alternative, and how far from them a row can matter."""

    window: int
    alternatives: tuple[tuple[Anchor, ...], ...]


def find_anchors(plan: Plan) -> Anchors | None:
    """Return the anchors of a plan; None if rows far from an anchor must not be left out.

    They must not without a window of time, if rows without a role count, if events last, if an order is
    given, and with ``Techniques(candidate_windows=False)``.
    """
    if not plan.window.counts_time:
        return None
    # Whoever gives an order wants to see the chain do all of the work in that order.
    techniques = plan.techniques
    wanted = plan.stores and techniques.candidate_windows and techniques.order is None
    if not wanted or not plan.schema.points or plan.every_row_counts:
        return None
    anchors = (_anchors_of(plan, number, each) for number, each in enumerate(plan.alternatives))
    return Anchors(plan.window.length, tuple(anchors))


def needed_roles(plan: Plan) -> tuple[int, ...]:
    """Return, as bits, the roles that every match of an alternative needs, for each alternative."""
    needs = [0] * len(plan.alternatives)
    for bits in (plan.roles_of, plan.starts_of):
        for (number, name), bit in bits.items():
            bound = any(variable.name == name for variable in plan.alternatives[number].variables)
            needs[number] |= bound << bit
    return tuple(needs)


def _anchors_of(plan: Plan, number: int, alternative: Alternative) -> tuple[Anchor, ...]:
    names = {variable.name for variable in alternative.variables} | set(_absent(alternative.absences))
    anchors = []
    for variable in alternative.variables:
        others = names if variable.group else names - {variable.name}
        back = any((variable.name, other) not in alternative.order for other in others)
        ahead = any((other, variable.name) not in alternative.order for other in others)
        anchors.append(Anchor(plan.roles_of[number, variable.name], back, ahead))
    return tuple(anchors)


def _absent(absences: Iterable[Absence]) -> Iterator[str]:
    for absence in absences:
        yield from (variable.name for variable in absence.variables)
        yield from _absent(absence.absences)
