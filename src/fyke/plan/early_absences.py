"""Which absences are decided before all variables are bound, and what each depends on ([L] 4.4.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fyke.pattern.normal_form import Absence, Alternative, Variable


def nearest(
    names: Sequence[str], order: frozenset[tuple[str, str]], bits: Mapping[str, int], side: int
) -> list[str]:
    """Return those variables that the others do not make superfluous; all of them in a tree."""
    if bits:
        return list(names)
    if side:
        return [u for u in names if not any((u, other) in order for other in names)]
    return [u for u in names if not any((other, u) in order for other in names)]


def may_be_one(left: Variable, right: Variable) -> bool:
    """Say whether one event could be bound to both variables."""
    return left.type is None or right.type is None or left.type == right.type


def early_absences(alternative: Alternative) -> tuple[int, ...]:
    """Return the absences that are decided once some single variables are bound, whatever else is.

    Such an absence is of one event, and single variables are ordered before and after it: then it lies
    within the window whenever they do.
    """
    groups = {variable.name for variable in alternative.variables if variable.group}
    found = []
    for k, absence in enumerate(alternative.absences):
        if len(absence.variables) != 1 or absence.absences:
            continue
        variable = absence.variables[0]
        if variable.group or (variable.minimum, variable.maximum) != (1, 1):
            continue
        names = {each.name for each in alternative.variables}
        between = any((u, variable.name) in alternative.order for u in names)
        between &= any((variable.name, u) in alternative.order for u in names)
        if between and not depends_on(alternative, absence) & groups:
            found.append(k)
    return tuple(found)


def depends_on(alternative: Alternative, absence: Absence) -> set[str]:
    """Return the variables an absence of one event depends on ([L] 4.4.2, DEP)."""
    order, (absent,) = alternative.order, absence.variables
    names = [variable.name for variable in alternative.variables]
    needed = set(nearest([u for u in names if (u, absent.name) in order], order, {}, 1))
    needed |= set(nearest([u for u in names if (absent.name, u) in order], order, {}, 0))
    for condition in absence.conditions:
        needed |= condition.variables - {absent.name}
    for variable in alternative.variables:
        apart = (variable.name, absent.name) not in order and (absent.name, variable.name) not in order
        if apart and may_be_one(variable, absent):
            needed.add(variable.name)
    return needed
