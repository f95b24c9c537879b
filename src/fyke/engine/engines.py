"""The searchers of all engines, by name.  :mod:`fyke.plan.engines` says what each engine can evaluate."""

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
