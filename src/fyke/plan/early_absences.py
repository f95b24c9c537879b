"""Which absences can be decided before all variables are bound, and what each depends on ([L] 4.4.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from fyke.logical.normal_form import Absence, Alternative, Condition, Variable


def nearest(
    names: Sequence[str], order: frozenset[tuple[str, str]], bits: Mapping[str, int], side: int
) -> list[str]:
    """Return the variables that no other one of them makes superfluous; in a tree, all of them."""
    if bits:
        return list(names)
    if side:
        return [u for u in names if not any((u, other) in order for other in names)]
    return [u for u in names if not any((other, u) in order for other in names)]


def may_be_one(left: Variable, right: Variable) -> bool:
    """Say whether one event could be bound to both variables."""
    return left.type is None or right.type is None or left.type == right.type


def early_absences(alternative: Alternative) -> tuple[int, ...]:
    """Return the absences that are decided once some single variables are bound, whatever else is bound.

    All their events, those of nested absences too, come after one single variable and before another, so
    they lie within the window whenever these do.  No group takes part in deciding them.
    """
    groups = {variable.name for variable in alternative.variables if variable.group}
    singles = [variable.name for variable in alternative.variables if not variable.group]
    order, found = alternative.order, []
    for k, absence in enumerate(alternative.absences):
        absent = [variable.name for variable in absent_variables(absence)]
        between = all(
            any((u, v) in order for u in singles) and any((v, u) in order for u in singles) for v in absent
        )
        if between and not depends_on(alternative, absence) & groups:
            found.append(k)
    return tuple(found)


def takes_one_event(absence: Absence) -> bool:
    """Say whether an absence is violated by one event alone."""
    first, *others = absence.variables
    several = first.group or (first.minimum, first.maximum) != (1, 1)
    return not others and not several and not absence.absences


def absent_variables(absence: Absence) -> Iterator[Variable]:
    """Yield the variables of an absence and of those nested in it."""
    yield from absence.variables
    for nested in absence.absences:
        yield from absent_variables(nested)


def depends_on(alternative: Alternative, absence: Absence) -> set[str]:
    """Return the variables to be bound that decide an absence ([L] 4.4.2, DEP).

    They are the neighbours of its events, what its conditions mention, and what could be bound to one of
    its events.
    """
    order = alternative.order
    names = [variable.name for variable in alternative.variables]
    needed = {each for condition in _conditions(absence) for each in condition.variables} & set(names)
    for absent in absent_variables(absence):
        needed |= set(nearest([u for u in names if (u, absent.name) in order], order, {}, 1))
        needed |= set(nearest([u for u in names if (absent.name, u) in order], order, {}, 0))
        for variable in alternative.variables:
            apart = (variable.name, absent.name) not in order and (absent.name, variable.name) not in order
            if apart and may_be_one(variable, absent):
                needed.add(variable.name)
    return needed


def _conditions(absence: Absence) -> Iterator[Condition]:
    yield from absence.conditions
    for nested in absence.absences:
        yield from _conditions(nested)
