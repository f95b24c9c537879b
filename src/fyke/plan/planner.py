"""Statistics to a choice: which engine, with which order or tree, by cost.

The cost of every engine that can run the query is estimated in one unit, nanoseconds per window of events,
and the cheapest is taken.  Engines that cannot run it are listed with the reason.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from fyke.language.ast import Strategy
from fyke.plan.choose_engine import why_not, why_unwise
from fyke.plan.cost import CostModel, Work
from fyke.plan.counting import Counting, coupling
from fyke.plan.engine_costs import CostedEngine
from fyke.plan.engines import ENGINES
from fyke.plan.plan import Plan
from fyke.plan.statistics import Statistics
from fyke.techniques import Techniques

_LEFT_OUT = 10.0  # nanoseconds for an event that is left out because no rare one is near


@dataclass(frozen=True, slots=True)
class Choice:
    """What was chosen and what it was chosen from, the cheapest first."""

    engine: str
    order: tuple[str, ...] | None
    options: tuple[CostedEngine, ...]
    statistics: Statistics

    @property
    def chosen(self) -> CostedEngine:
        """The option of the engine that runs."""
        return next(option for option in self.options if option.engine == self.engine)


def choose_plan(asked: str, plan: Plan, statistics: Statistics | None, *, quick: bool = False) -> Choice:
    """Return the engine for a query: the one asked for, or the cheapest of those that can run it.

    ``quick``: skip an engine that needs longer to read the events than another one needs for everything,
    unless it was asked for.
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


def make_models(plan: Plan, statistics: Statistics, *, elements: bool = False) -> list[CostModel]:
    """Return the cost models of a plan's alternatives; see :class:`CostModel`."""
    return [
        CostModel(alternative, statistics, plan.texts, strategy=plan.strategy, elements=elements)
        for alternative in plan.alternatives
    ]


def counts_subsets(plan: Plan, engine: str) -> bool:
    """Say whether an engine would count the lists of groups without listing them."""
    counting = replace(plan, engine=engine).counting
    return isinstance(counting, Counting) and counting.subsets


def expected_run(plan: Plan, choice: Choice) -> CostedEngine:
    """Return the chosen engine with what it is expected to do, for ``explain``.

    That is what it was chosen by, except that runs which differ only in the elements of a group are merged.
    """
    chosen = choice.chosen
    merges = plan.engine == "automaton" and plan.strategy is Strategy.ANY and plan.techniques.merging
    if chosen.refused or not merges or any(map(coupling, plan.alternatives)):
        return chosen
    models = make_models(plan, choice.statistics, elements=True)
    read = reading(plan.engine, models, plan.techniques, choice.statistics)
    return ENGINES[plan.engine].cost(models, read, plan.techniques.propagation == "pull")


def cost_engines(plan: Plan, statistics: Statistics, *, quick: bool = False) -> list[CostedEngine]:
    """Return every engine with its work for a query."""
    models = make_models(plan, statistics)
    found: list[CostedEngine] = []
    reads = {engine: reading(engine, models, plan.techniques, statistics) for engine in ENGINES}
    for engine, read in sorted(reads.items(), key=lambda item: item[1] if quick else 0.0):
        if quick and any(option.work.cost < read for option in found):
            continue
        refusal = why_not(engine, plan)
        refused = why_unwise(engine, plan) if refusal is None else refusal.reason
        if refused:
            found.append(CostedEngine(engine, "", Work(0.0, 0.0, math.inf), refused))
        else:
            counted = plan.result.over_matches and counts_subsets(plan, engine)
            own = make_models(plan, statistics, elements=True) if counted else models
            found.append(ENGINES[engine].cost(own, read, plan.techniques.propagation == "pull"))
    return found


def reading(
    engine: str, models: Sequence[CostModel], techniques: Techniques, statistics: Statistics
) -> float:
    """Return the cost of reading the events of a window, before any search."""
    events, known = max(statistics.window_rows, sum(statistics.rates.values())), ENGINES[engine]
    if not known.stores or not techniques.candidate_windows or techniques.order is not None:
        return known.per_event * events
    near = min(1.0, sum(model.near_share() for model in models))
    return (_LEFT_OUT + (known.per_event - _LEFT_OUT) * near) * events
