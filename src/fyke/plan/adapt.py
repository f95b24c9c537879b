"""When to replan a join tree ([T] 3.5.5): what has changed, and whether another tree is worth a rebuild."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fyke.plan.cost import CostModel
from fyke.plan.search import best_tree, tree_work
from fyke.plan.statistics import Statistics
from fyke.plan.tree_shape import Shape, orient


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Relative changes that matter: of a condition (p), of an input (i), and the saving of a rebuild (t).

    A ``total`` below zero rebuilds whenever something has changed, even into the same tree.
    """

    condition: float
    input: float
    total: float

    def exceeded(self, old: Statistics, new: Statistics) -> bool:
        """Say whether statistics have changed so much that it is time to search for a better tree."""
        return _moved(old.selectivities, new.selectivities, self.condition) or _moved(
            old.rates, new.rates, self.input
        )


def _moved(old: Mapping[str, float], new: Mapping[str, float], threshold: float) -> bool:
    """Say whether a value has changed by a share of what it was; a new value does not count as changed."""
    pairs = ((old[name], value) for name, value in new.items() if name in old)
    return any(abs(after - before) >= threshold * before for before, after in pairs)


def better_tree(model: CostModel, current: Shape, thresholds: Thresholds, *, pull: bool) -> Shape | None:
    """Return a tree that saves at least the given share of the current tree's cost, if there is one."""
    shape = best_tree(model, pull=pull).shape
    assert shape is not None
    shape = orient(shape, model.alternative.order)
    if thresholds.total < 0:
        return shape
    if shape == current:
        return None
    now, then = (tree_work(model, each, pull=pull).cost for each in (current, shape))
    return shape if then < (1 - thresholds.total) * now else None
