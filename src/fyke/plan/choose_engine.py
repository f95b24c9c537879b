"""Which engine runs a query, and whether it can."""

from __future__ import annotations

from collections.abc import Sequence

from fyke.errors import OptionError, near_misses
from fyke.language.ast import Strategy
from fyke.plan.plan import LAZY_ENGINES, Plan
from fyke.plan.tree_shape import Shape, leaves
from fyke.techniques import Techniques

TREE_STRATEGIES = (Strategy.ANY, Strategy.STRICT)
ALWAYS_PARTS = "searches one partition of [...] at a time"


def choose_engine(asked: str, plan: Plan) -> str:
    """Return the engine for a query; refuse one that cannot evaluate its strategy, or a wrong order."""
    engine, techniques = "automaton" if asked == "auto" else asked, plan.techniques
    if engine in LAZY_ENGINES and plan.strategy is not Strategy.ANY:
        raise OptionError(
            f"engine {engine!r} evaluates skip_till_any_match, and the query asks for {plan.strategy.value}",
            remedy="Use engine='automaton' or 'auto', or write WHERE skip_till_any_match { ... }.",
        )
    if engine == "tree" and plan.strategy not in TREE_STRATEGIES:
        raise OptionError(
            "engine 'tree' evaluates skip_till_any_match and strict_contiguity, and the query asks for "
            f"{plan.strategy.value}",
            remedy="Use engine='automaton' or 'auto', or write WHERE skip_till_any_match { ... }.",
        )
    _check_search(engine, techniques)
    if parts_anyway(engine, plan):
        raise OptionError(
            f"engine {engine!r} {ALWAYS_PARTS}, so technique 'partition' cannot be switched off",
            remedy="Leave partition=False out, or use engine='automaton' or 'tree'.",
        )
    _check_order(engine, plan, techniques.order)
    if techniques.tree is not None:
        _check_tree(engine, plan, techniques.tree)
    return engine


def parts_anyway(engine: str, plan: Plan) -> bool:
    """Say whether partitions are not wanted, but the engine searches one at a time where [x] makes some.

    Equalities of variables it can leave conditions.  Where WITHIN counts events of the partition, every
    engine reads it apart.
    """
    unwanted = not plan.techniques.partition and not plan.window.counts_events
    return engine in LAZY_ENGINES and unwanted and bool(plan.split)


def _check_search(engine: str, techniques: Techniques) -> None:
    """Refuse a way to search that the engine does not know."""
    if engine != "automaton" and techniques.search != "breadth_first":
        raise OptionError(
            f"technique 'search' is for engine='automaton', and the engine is {engine!r}",
            remedy="Leave the search out, or use engine='automaton'.",
        )


def _check_tree(engine: str, plan: Plan, tree: Shape) -> None:
    """Refuse a tree whose leaves are not the pattern's variables, each once."""
    if engine != "tree":
        raise OptionError(
            f"technique 'tree' is for engine='tree', and the engine is {engine!r}",
            remedy="Leave the tree out, or use engine='tree'.",
        )
    _check_names("tree", plan, leaves(tree), "Leave the tree out: then the cheapest one is searched for.")


def _check_order(engine: str, plan: Plan, order: tuple[str, ...] | None) -> None:
    """Refuse an order that is not one of the pattern's variables, each once."""
    if order is None:
        return
    if engine != "lazy_chain":
        raise OptionError(
            f"technique 'order' is for engine='lazy_chain', and the engine is {engine!r}",
            remedy="Leave the order out, or use engine='lazy_chain'.",
        )
    _check_names("order", plan, order, "Leave the order out: then rare variables come first.")


def _check_names(what: str, plan: Plan, given: Sequence[str], remedy: str) -> None:
    names = plan.names
    said = (
        f"{what} must name each of {', '.join(names)} once, found {', '.join(map(str, given)) or 'nothing'}"
    )
    for name in given:
        if name not in names:
            raise OptionError(
                f"{said}: {name!r} is no variable to be bound.{near_misses(str(name), names)}", remedy=remedy
            )
    repeated = [name for name in names if given.count(name) > 1]
    if repeated:
        raise OptionError(f"{said}: {repeated[0]!r} is there {given.count(repeated[0])} times", remedy=remedy)
    missing = [name for name in names if name not in given]
    if missing:
        raise OptionError(f"{said}: {missing[0]!r} is missing", remedy=remedy)
