"""Statistics to a choice: which engine, and for it which order or tree, from cost.

Every engine that can run the query is costed in one unit, nanoseconds per window of events; the
cheapest is taken.  Engines that cannot run it are listed with the reason.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from fyke.language.ast import Strategy
from fyke.plan.choose_engine import ALWAYS_PARTS, TREE_STRATEGIES, parts_anyway
from fyke.plan.cost import CostModel, Work
from fyke.plan.plan import LAZY_ENGINES, Plan
from fyke.plan.search import Found, automaton_work, best_order, best_tree, tree_work
from fyke.plan.statistics import Statistics
from fyke.plan.tree_shape import orient, show
from fyke.techniques import Techniques

# What reading an event costs, in nanoseconds: candidates, windows, roles, one level of every search.
PER_EVENT = {"automaton": 35.0, "lazy_chain": 50.0, "lazy_tree": 50.0, "tree": 120.0}
_LEFT_OUT = 10.0  # an event that a lazy engine leaves out, since no rare one is near
_CHOOSING = 1.5  # a lazy tree looks at every variable before it binds one


@dataclass(frozen=True, slots=True)
class Option:
    """An engine that was looked at: how it would run, its work per window, or why it cannot run."""

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


@dataclass(frozen=True, slots=True)
class Choice:
    """What was chosen and what it was chosen from, the cheapest first."""

    engine: str
    order: tuple[str, ...] | None
    options: tuple[Option, ...]
    statistics: Statistics

    @property
    def chosen(self) -> Option:
        """The option of the engine that runs."""
        return next(option for option in self.options if option.engine == self.engine)


def _amount(value: float) -> str:
    if value >= 1e6:
        return f"{value:.1e}"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def choose_plan(asked: str, plan: Plan, statistics: Statistics | None, *, quick: bool = False) -> Choice:
    """Return the engine for a query: the one asked for, or the cheapest of those that can run it.

    ``quick``: an engine that for reading the events alone needs longer than another one for everything is
    left out, unless it was asked for.
    """
    known = statistics or Statistics()
    quick = quick and asked == "auto"
    options = sorted(
        cost_engines(plan, known, quick=quick),
        key=lambda o: (o.refused != "", o.work.cost),
    )
    engine = options[0].engine if asked == "auto" else asked
    best = next(option for option in options if option.engine == engine)
    return Choice(engine, None if statistics is None else best.order, tuple(options), known)


def cost_engines(plan: Plan, statistics: Statistics, *, quick: bool = False) -> list[Option]:
    """Return every engine with its work for a query."""
    models = [CostModel(alternative, statistics, plan.texts) for alternative in plan.alternatives]
    strategy, output, techniques = plan.strategy, plan.output, plan.techniques
    asked_for = techniques.order is not None or techniques.tree is not None
    found: list[Option] = []
    engines = ("automaton", *LAZY_ENGINES, "tree")
    reads = {engine: reading(engine, models, techniques, statistics) for engine in engines}
    for engine, read in sorted(reads.items(), key=lambda item: item[1] if quick else 0.0):
        if quick and any(option.work.cost < read for option in found):
            continue
        refused = ""
        fits = TREE_STRATEGIES if engine == "tree" else (Strategy.ANY,)
        if engine != "automaton" and strategy not in fits:
            refused = f"does not evaluate {strategy.value}"
        elif engine != "automaton" and output not in ("all", "non_overlap"):
            refused = f"does not make output {output!r}"
        elif strategy is Strategy.STRICT and engine == "tree":
            refused = "strict contiguity leaves few runs, which the automaton reads fastest"
        elif engine != "automaton" and techniques.search != "breadth_first":
            refused = f"takes no search {techniques.search!r}"
        elif parts_anyway(engine, plan):
            refused = ALWAYS_PARTS
        elif techniques.order is not None and engine != "lazy_chain" and asked_for:
            refused = "takes no order"
        elif techniques.tree is not None and engine != "tree":
            refused = "takes no tree"
        if refused:
            found.append(Option(engine, "", Work(0.0, 0.0, math.inf), refused))
        else:
            found.append(_COST[engine](models, read, techniques.propagation == "pull"))
    return found


def reading(
    engine: str, models: Sequence[CostModel], techniques: Techniques, statistics: Statistics
) -> float:
    """Return what reading the events of a window costs an engine, whatever it then searches."""
    events = max(statistics.window_rows, sum(statistics.rates.values()))
    if engine not in LAZY_ENGINES or not techniques.candidate_windows or techniques.order is not None:
        return PER_EVENT[engine] * events
    near = min(1.0, sum(model.near_share() for model in models))
    return (_LEFT_OUT + (PER_EVENT[engine] - _LEFT_OUT) * near) * events


def _total(works: Sequence[Work], read: float) -> Work:
    return Work(
        sum(work.tried for work in works),
        sum(work.made for work in works),
        read + sum(work.cost for work in works),
    )


def _cost_automaton(models: Sequence[CostModel], read: float, pull: bool) -> Option:
    works = [
        automaton_work(model) if model.count <= 14 else Work(math.inf, math.inf, math.inf) for model in models
    ]
    return Option("automaton", "", _total(works, read))


@lru_cache(maxsize=64)
def model_order(model: CostModel) -> Found:
    """Return the best order of a model, found once for all engines that ask."""
    return best_order(model)


def _cost_chain(models: Sequence[CostModel], read: float, pull: bool) -> Option:
    found = [model_order(model) for model in models]
    order = found[0].order if len(found) == 1 else None
    how = "; ".join(" ".join(each.order) for each in found[:4])
    return Option("lazy_chain", how, _total([f.work for f in found], read), order=order)


def _cost_lazy_tree(models: Sequence[CostModel], read: float, pull: bool) -> Option:
    """A lazy tree finds the best order of every window by itself, and pays for the choice at every level.

    Alternatives share what they have in common in chains only ([L] 5).
    """
    works = [
        replace(found.work, cost=_choosing(found.work, model, alone=len(models) == 1))
        for model, found in ((model, model_order(model)) for model in models)
    ]
    return Option("lazy_tree", "", _total(works, read))


def _choosing(work: Work, model: CostModel, *, alone: bool) -> float:
    """Return the cost of a search that gives up as soon as a variable has no candidate ([L] 7)."""
    share = model.present_share()
    saved = 0.3 + 0.5 * share if alone else 1.0
    return work.cost * saved + _CHOOSING * model.count * work.made * share


def _cost_tree(models: Sequence[CostModel], read: float, pull: bool) -> Option:
    works, how = [], []
    for model in models:
        shape = best_tree(model, pull=pull).shape
        assert shape is not None
        shape = orient(shape, model.alternative.order)
        works.append(tree_work(model, shape, pull=pull))
        how.append(show(shape))
    return Option("tree", "; ".join(how[:4]), _total(works, read))


_COST: dict[str, Callable[[Sequence[CostModel], float, bool], Option]] = {
    "automaton": _cost_automaton,
    "lazy_chain": _cost_chain,
    "lazy_tree": _cost_lazy_tree,
    "tree": _cost_tree,
}
