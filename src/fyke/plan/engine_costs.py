"""What each engine is expected to cost for a query, in nanoseconds per window of events."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from fyke.language.ast import Strategy
from fyke.plan.cost import CostModel, Work
from fyke.plan.search import CheapestPlan, automaton_work, best_order, best_tree, tree_work
from fyke.plan.tree_shape import orient, show

_CHOOSING = 1.5  # a lazy tree looks at every variable before it binds one


@dataclass(frozen=True, slots=True)
class CostedEngine:
    """An engine that was considered: how it would run, its work per window, or why it cannot run."""

    engine: str
    how: str
    work: Work
    refused: str = ""
    order: tuple[str, ...] | None = None

    def __str__(self) -> str:
        if self.refused:
            return f"{self.engine}: {self.refused}"
        rows, cost = _amount(self.work.made), _amount(self.work.cost / 1000)
        return (
            f"{self.engine}{f' {self.how}' if self.how else ''}: {rows} partial matches, {cost} us a window"
        )


def _amount(value: float) -> str:
    if value >= 1e6:
        return f"{value:.1e}"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _total(works: Sequence[Work], read: float) -> Work:
    return Work(
        sum(work.tried for work in works),
        sum(work.made for work in works),
        read + sum(work.cost for work in works),
    )


def cost_automaton(models: Sequence[CostModel], read: float, pull: bool) -> CostedEngine:
    """Return the cost of runs: of all states that events lead to in the order in which they arrive."""
    works = [
        automaton_work(model)
        if model.count <= 14 or model.strategy is not Strategy.ANY
        else Work(math.inf, math.inf, math.inf)
        for model in models
    ]
    return CostedEngine("automaton", "", _total(works, read))


@lru_cache(maxsize=64)
def model_order(model: CostModel) -> CheapestPlan:
    """Return the best order of a model, found once for all engines that ask."""
    return best_order(model)


def cost_chain(models: Sequence[CostModel], read: float, pull: bool) -> CostedEngine:
    """Return the cost of the cheapest chain of each alternative ([L] 4, 6)."""
    found = [model_order(model) for model in models]
    order = found[0].order if len(found) == 1 else None
    how = "; ".join(" ".join(each.order) for each in found[:4])
    return CostedEngine("lazy_chain", how, _total([f.work for f in found], read), order=order)


def cost_lazy_tree(models: Sequence[CostModel], read: float, pull: bool) -> CostedEngine:
    """Return the cost of a lazy tree, which finds the best order in every window and pays for choosing.

    Only chains share what alternatives have in common ([L] 5).
    """
    works = [
        replace(found.work, cost=_choosing(found.work, model, alone=len(models) == 1))
        for model, found in ((model, model_order(model)) for model in models)
    ]
    return CostedEngine("lazy_tree", "", _total(works, read))


def _choosing(work: Work, model: CostModel, *, alone: bool) -> float:
    """Return the cost of a search that gives up as soon as a variable has no candidate ([L] 7)."""
    share = model.present_share()
    saved = 0.3 + 0.5 * share if alone else 1.0
    return work.cost * saved + _CHOOSING * model.count * work.made * share


def cost_tree(models: Sequence[CostModel], read: float, pull: bool) -> CostedEngine:
    """Return the cost of the cheapest join tree of each alternative ([T] 5.3)."""
    works, how = [], []
    for model in models:
        shape = best_tree(model, pull=pull).shape
        assert shape is not None
        shape = orient(shape, model.alternative.order)
        works.append(tree_work(model, shape, pull=pull))
        how.append(show(shape))
    return CostedEngine("tree", "; ".join(how[:4]), _total(works, read))
