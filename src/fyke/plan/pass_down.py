"""When and where conditions with the triggering event are passed down a join tree ([T] 4.4, appendix A)."""

from __future__ import annotations

from collections.abc import Mapping

from fyke.logical.normal_form import Alternative
from fyke.plan.tree_shape import Shape, last_variable, leaves

RARITY = 1.0  # q of appendix A: the relative cost of making a partial match again


def passable(alternative: Alternative, shape: Shape) -> list[str]:
    """Return the variables that a condition with the triggering event can be passed down to, deepest first.

    The trigger must be the one variable that ends every match, so that it is at the end of the
    right-most path.  Passing down to its own neighbour saves nothing ([T] 4.4.3).
    """
    single = {variable.name for variable in alternative.variables if not variable.group}
    names = [variable.name for variable in alternative.variables]
    order = frozenset((u, v) for u, v in alternative.order if u in names and v in names)
    last = last_variable(names, order)
    if last is None or last not in single or isinstance(shape, str):
        return []
    depths = _depths(shape, 0)
    found = [
        name
        for name in leaves(shape)
        if name in single and any(each.variables == {name, last} for each in alternative.conditions)
        if not _beside(shape, name, last)
    ]
    return sorted(found, key=lambda name: -depths[name])


def choose_pass_down(
    alternative: Alternative,
    shape: Shape,
    rates: Mapping[str, float],
    selectivities: Mapping[frozenset[str], float],
) -> str | None:
    """Return the variable to pass down to, or None if a pull is better (appendix A).

    With f the time between two triggers and d the window, f / d is one over the triggers in a window;
    it must be above q times the selectivity of what is passed down.
    """
    found = passable(alternative, shape)
    if not found:
        return None
    last = last_variable([v.name for v in alternative.variables], alternative.order) or ""

    def selectivity(name: str) -> float:
        return selectivities.get(frozenset({name, last}), 1.0)

    best = min(found, key=selectivity)
    gap = 1.0 / max(rates.get(last, 1.0), 1e-9)
    return best if gap >= RARITY * selectivity(best) else None


def _depths(shape: Shape, depth: int) -> dict[str, int]:
    if isinstance(shape, str):
        return {shape: depth}
    return {**_depths(shape[0], depth + 1), **_depths(shape[1], depth + 1)}


def _beside(shape: Shape, name: str, last: str) -> bool:
    """Say whether a node joins exactly these two."""
    if isinstance(shape, str):
        return False
    return shape == (name, last) or _beside(shape[0], name, last) or _beside(shape[1], name, last)
