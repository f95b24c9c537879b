"""Equality chains to partition attributes ([S] 5.2.3).

``[x]`` says it outright.  Conjuncts ``a.x = b.x`` say the same when they connect every variable of
every alternative, absences included.  Under strategies that select as they read, the chain must
also connect every set of variables a run can hold on its way: otherwise a run could bind an event
of another partition before the condition that forbids it can be decided, and partitioning first
would change the result.
"""

from __future__ import annotations

from collections.abc import Iterable

from fyke.language.ast import Binary, Expression, Index, Reference, Strategy
from fyke.pattern.normal_form import Absence, Alternative, Condition

_ELEMENT = (Index.NONE, Index.EACH)


def equality(expression: Expression) -> tuple[str, str, str] | None:
    """Return (attribute, variable, variable) for a conjunct ``a.x = b.x``, else None.

    ``a[i].x = a[i-1].x`` connects a group with itself.
    """
    if not (isinstance(expression, Binary) and expression.operator == "="):
        return None
    left, right = expression.left, expression.right
    if not (isinstance(left, Reference) and isinstance(right, Reference)):
        return None
    if left.path != right.path or len(left.path) != 1:
        return None
    indices = {left.index, right.index}
    if left.variable == right.variable:
        return (left.path[0], left.variable, left.variable) if indices == {Index.EACH, Index.PREVIOUS} else None
    return (left.path[0], left.variable, right.variable) if indices <= set(_ELEMENT) else None


def chained_attributes(alternatives: Iterable[Alternative], strategy: Strategy) -> tuple[str, ...]:
    """Return the attributes that equality conjuncts make all events of every alternative agree on."""
    selective = strategy not in (Strategy.ANY, Strategy.ROBUST)
    common: dict[str, None] | None = None
    for alternative in alternatives:
        here = {
            attribute: None
            for attribute, edges in _edges(alternative).items()
            if _connects(alternative, edges) and (not selective or _connects_on_the_way(alternative, edges))
        }
        common = here if common is None else {name: None for name in common if name in here}
    return tuple(common or ())


def without_equalities(conditions: tuple[Condition, ...], partition: tuple[str, ...]) -> tuple[Condition, ...]:
    """Drop the conjuncts that the partition attributes already guarantee."""

    def implied(condition: Condition) -> bool:
        edge = equality(condition.expression)
        return edge is not None and edge[0] in partition

    return tuple(condition for condition in conditions if not implied(condition))


def _edges(alternative: Alternative) -> dict[str, set[tuple[str, str]]]:
    edges: dict[str, set[tuple[str, str]]] = {}
    for condition in (*alternative.conditions, *_absence_conditions(alternative.absences)):
        edge = equality(condition.expression)
        if edge is not None:
            attribute, left, right = edge
            edges.setdefault(attribute, set()).update({(left, right), (right, left)})
    return edges


def _absence_conditions(absences: tuple[Absence, ...]) -> Iterable[Condition]:
    for absence in absences:
        yield from absence.conditions
        yield from _absence_conditions(absence.absences)


def _names(alternative: Alternative) -> set[str]:
    def below(absences: tuple[Absence, ...]) -> Iterable[str]:
        for absence in absences:
            yield from (variable.name for variable in absence.variables)
            yield from below(absence.absences)

    return {variable.name for variable in alternative.variables} | set(below(alternative.absences))


def _connects(alternative: Alternative, edges: set[tuple[str, str]]) -> bool:
    names = _names(alternative)
    reached = {alternative.variables[0].name}
    frontier = set(reached)
    while frontier:
        frontier = {right for left, right in edges if left in frontier} - reached
        reached |= frontier
    alone = len(names) == 1 and not edges
    return reached >= names and not alone


def _connects_on_the_way(alternative: Alternative, edges: set[tuple[str, str]]) -> bool:
    """Say whether each variable meets a neighbour among those bound before it, in every order.

    A group also needs one before its own second element: a neighbour ordered before it, or itself.
    """
    names = {variable.name for variable in alternative.variables}
    before = {name: {u for u, v in alternative.order if v == name and u in names} for name in names}
    minimal = {name for name in names if not before[name]}
    for variable in alternative.variables:
        name = variable.name
        neighbours = {right for left, right in edges if left == name}
        met = neighbours & before[name] if before[name] else minimal - {name} <= neighbours
        if not met and minimal != {name}:
            return False
        if variable.group and not (name in neighbours or neighbours & before[name]):
            return False
    return True
