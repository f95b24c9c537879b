"""Equality chains to attributes that part the work ([S] 5.2.3).

``[x]`` says it outright.  Conjuncts ``a.x = b.x`` come to the same when they connect every variable of
every alternative, absences included.  Under strategies that select as they read, the chain must
also connect every set of variables a run can hold on its way: otherwise a run could bind an event
of another partition before the condition that forbids it can be decided, and partitioning first
would change the result.  Contiguity and ``WITHIN n EVENTS`` look at every event of the partition
that ``[x]`` names, so there a chain is left what it is: a condition.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from fyke.language.ast import Binary, Expression, Index, Reference, Strategy, Window, WindowKind
from fyke.logical.normal_form import Absence, Alternative, Condition

_SELECTIVE = (Strategy.NEXT, Strategy.GREEDY)


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
        connects = indices == {Index.EACH, Index.PREVIOUS}
    else:
        connects = indices <= {Index.NONE, Index.EACH}
    return (left.path[0], left.variable, right.variable) if connects else None


def chained_attributes(
    alternatives: Iterable[Alternative], strategy: Strategy, window: Window | None
) -> tuple[str, ...]:
    """Return the attributes that equality conjuncts make all events of every alternative agree on."""
    if strategy.contiguous or (window is not None and window.kind is WindowKind.EVENTS):
        return ()
    common: dict[str, None] | None = None
    for alternative in alternatives:
        here = {
            attribute: None
            for attribute in _edges(alternative.conditions)
            if _connects(alternative, attribute)
            and (strategy not in _SELECTIVE or _connects_on_the_way(alternative, attribute))
        }
        common = here if common is None else {name: None for name in common if name in here}
    return tuple(common or ())


def drop_implied(alternative: Alternative, attributes: tuple[str, ...]) -> Alternative:
    """Drop the conjuncts that hold anyway once all events agree on ``attributes``."""

    def kept(conditions: tuple[Condition, ...]) -> tuple[Condition, ...]:
        edges = ((condition, equality(condition.expression)) for condition in conditions)
        return tuple(condition for condition, edge in edges if edge is None or edge[0] not in attributes)

    def absence(each: Absence) -> Absence:
        nested = tuple(map(absence, each.absences))
        return replace(each, conditions=kept(each.conditions), absences=nested)

    absences = tuple(map(absence, alternative.absences))
    return replace(alternative, conditions=kept(alternative.conditions), absences=absences)


def _edges(conditions: tuple[Condition, ...]) -> dict[str, set[tuple[str, str]]]:
    edges: dict[str, set[tuple[str, str]]] = {}
    for condition in conditions:
        edge = equality(condition.expression)
        if edge is not None:
            attribute, left, right = edge
            edges.setdefault(attribute, set()).update({(left, right), (right, left)})
    return edges


def _connects(alternative: Alternative, attribute: str) -> bool:
    """Say whether conjuncts make all events agree, and each of them differ from null.

    The events that are present agree by their own conjuncts, for those of an absence say only when
    it is violated.
    """
    names = {variable.name for variable in alternative.variables}
    edges = _edges(alternative.conditions)[attribute]
    if len(names) == 1:  # a[i].x = a[i-1].x says nothing of a group of one event
        connected = alternative.variables[0].minimum > 1
    else:
        connected = _reached({alternative.variables[0].name}, edges) >= names
    return connected and all(_absence_connects(each, names, attribute) for each in alternative.absences)


def _absence_connects(absence: Absence, outer: set[str], attribute: str) -> bool:
    visible = outer | {variable.name for variable in absence.variables}
    edges = _edges(absence.conditions).get(attribute, set())
    return _reached(outer, edges) >= visible and all(
        _absence_connects(each, visible, attribute) for each in absence.absences
    )


def _reached(start: set[str], edges: set[tuple[str, str]]) -> set[str]:
    reached = set(start)
    frontier = set(start)
    while frontier:
        frontier = {right for left, right in edges if left in frontier} - reached
        reached |= frontier
    return reached


def _connects_on_the_way(alternative: Alternative, attribute: str) -> bool:
    """Say whether each variable meets a neighbour among those bound before it, in every order.

    A group also needs one before its own second element: a neighbour ordered before it, or itself.
    """
    edges = _edges(alternative.conditions)[attribute]
    names = {variable.name for variable in alternative.variables}
    before = {name: {u for u, v in alternative.order if v == name and u in names} for name in names}
    minimal = {name for name in names if not before[name]}
    for variable in alternative.variables:
        name = variable.name
        neighbours = {right for left, right in edges if left == name}
        if not (neighbours & before[name] if before[name] else minimal - {name} <= neighbours):
            return False
        if variable.group and not (name in neighbours or neighbours & before[name]):
            return False
    return True
