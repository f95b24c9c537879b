"""The table of engines: what each can evaluate, which techniques it takes, and what it costs.

The planner, ``explain`` and the errors about an engine that was asked for all read this table.  The searcher
of each engine is listed in ``engine/engines.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fyke.language.ast import Strategy
from fyke.plan.cost import CostModel
from fyke.plan.engine_costs import CostedEngine, cost_automaton, cost_chain, cost_lazy_tree, cost_tree


@dataclass(frozen=True, slots=True)
class Capability:
    """What one engine can do.

    Attributes
    ----------
    strategies
        The selection strategies it evaluates.
    unwise
        Strategies that it evaluates but another engine evaluates faster, with the reason why ``auto`` does
        not take it for them.
    compresses
        Whether its search returns matches as graphs.  Otherwise compressed output is built from listed
        matches, and ``auto`` takes another engine for it.
    takes
        The techniques that only this engine takes: a ``search``, an ``order``, a ``tree``.
    stores
        Whether it stores events and searches them later ([L]).  Such an engine searches one partition at a
        time, does not read rows that are far from rare ones, and may tally matches without listing them.
    per_event
        The cost of reading an event, in nanoseconds, before any search.
    cost
        The expected work for a query, given the cost of reading the events of a window and whether join
        trees are pulled.
    """

    strategies: frozenset[Strategy]
    per_event: float
    cost: Callable[[Sequence[CostModel], float, bool], CostedEngine]
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
