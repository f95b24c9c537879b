"""The engines that plans choose from: what each can evaluate, what it takes, and what it costs.

One table, read by the planner, by ``explain`` and by the errors about an engine that was asked for.
A new engine is added here, and to those that can be run (``engine/engines.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fyke.language.ast import Strategy
from fyke.plan.cost import CostModel
from fyke.plan.engine_costs import Option, cost_automaton, cost_chain, cost_lazy_tree, cost_tree


@dataclass(frozen=True, slots=True)
class Capability:
    """What one engine is able to do.

    Attributes
    ----------
    strategies
        The selection strategies it evaluates.
    unwise
        Strategies that it evaluates, but another one faster: why ``auto`` does not take it for them.
    compresses
        Whether its search can leave matches as graphs; otherwise compressed output is made of listed
        matches, and ``auto`` takes another engine for it.
    takes
        The techniques that are for this engine only: a ``search``, an ``order``, a ``tree``.
    stores
        Whether it stores events and searches them later ([L]): a partition at a time, without rows that
        are far from rare ones, and with matches that may be tallied and not listed.
    per_event
        What reading an event costs it, in nanoseconds, whatever it then searches.
    cost
        The expected work for a query, given what reading the events of a window costs and whether
        join trees are pulled.
    """

    strategies: frozenset[Strategy]
    per_event: float
    cost: Callable[[Sequence[CostModel], float, bool], Option]
    takes: frozenset[str] = frozenset()
    stores: bool = False
    compresses: bool = False
    unwise: Mapping[Strategy, str] | None = None


ENGINES: Mapping[str, Capability] = {
    "automaton": Capability(
        frozenset(Strategy), 35.0, cost_automaton, takes=frozenset({"search"}), compresses=True
    ),
    "lazy_chain": Capability(
        frozenset({Strategy.ANY}), 50.0, cost_chain, takes=frozenset({"order"}), stores=True
    ),
    "lazy_tree": Capability(frozenset({Strategy.ANY}), 50.0, cost_lazy_tree, stores=True),
    "tree": Capability(
        frozenset({Strategy.ANY, Strategy.STRICT}),
        120.0,
        cost_tree,
        takes=frozenset({"tree"}),
        unwise={Strategy.STRICT: "strict contiguity leaves few runs, which the automaton reads fastest"},
    ),
}
DEFAULT_ENGINE = "automaton"  # evaluates every strategy, and needs no statistics
