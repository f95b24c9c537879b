"""The engines by name.  A new one is added here, and to what plans choose from (:mod:`fyke.plan.engines`)."""

from __future__ import annotations

from collections.abc import Mapping

from fyke.engine.automaton.searcher import AutomatonSearcher
from fyke.engine.lazy.searcher import LazySearcher
from fyke.engine.searcher import Searcher
from fyke.engine.tree.searcher import TreeSearcher

SEARCHERS: Mapping[str, type[Searcher]] = {
    "automaton": AutomatonSearcher,
    "lazy_chain": LazySearcher,
    "lazy_tree": LazySearcher,
    "tree": TreeSearcher,
}
