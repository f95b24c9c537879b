"""Which roles may directly follow which in a pattern: where events of equal time are kept apart."""

from __future__ import annotations

from collections.abc import Iterable, Set

from fyke.logical.normal_form import Absence, Alternative
from fyke.plan.plan import Plan

Succession = tuple[int, int]  # the roles, as bits, that may come right before, and the bit of one role


def direct_successions(plan: Plan) -> tuple[Succession, ...]:
    """Return for every role that follows another one in some alternative the roles right before it.

    Absent events count: one at the time of an event that it would have to follow violates nothing.
    """
    before: dict[int, int] = {}
    for number, alternative in enumerate(plan.alternatives):
        for u, v in _direct_pairs(alternative):
            role = plan.roles_of[number, v]
            before[role] = before.get(role, 0) | 1 << plan.roles_of[number, u]
    return tuple((roles, role) for role, roles in before.items())


def _direct_pairs(alternative: Alternative) -> set[tuple[str, str]]:
    """Return the pairs of the order with no variable between, with absences and without them."""
    present = frozenset(variable.name for variable in alternative.variables)
    found = covering(alternative.order, present)
    for names in _with_absences(present, alternative.absences):
        found |= covering(alternative.order, names)
    return found


def _with_absences(names: frozenset[str], absences: Iterable[Absence]) -> Iterable[frozenset[str]]:
    for absence in absences:
        beside = names | {variable.name for variable in absence.variables}
        yield beside
        yield from _with_absences(beside, absence.absences)


def covering(order: frozenset[tuple[str, str]], names: Set[str]) -> set[tuple[str, str]]:
    """Return the pairs of an order between some variables that the others do not imply."""
    pairs = {(u, v) for u, v in order if u in names and v in names}
    return {(u, v) for u, v in pairs if not any((u, w) in pairs and (w, v) in pairs for w in names)}
