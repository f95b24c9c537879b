"""Which engine runs a query, and why another one cannot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fyke.errors import OptionError, listed, near_misses
from fyke.plan.engines import DEFAULT_ENGINE, ENGINES
from fyke.plan.plan import Plan
from fyke.plan.tree_shape import leaves


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an engine cannot run a query: the ``reason``, what it does ``instead``, and a ``remedy``."""

    reason: str
    instead: str
    remedy: str


def choose_engine(asked: str, plan: Plan) -> str:
    """Return the engine for a query.

    Raises
    ------
    OptionError
        If the engine that is asked for cannot run it, or if an order or a tree does not fit the pattern.
    """
    engine = DEFAULT_ENGINE if asked == "auto" else asked
    refusal = why_not(engine, plan)
    if refusal is not None:
        raise OptionError(f"engine {engine!r} {refusal.reason}{refusal.instead}", remedy=refusal.remedy)
    techniques = plan.techniques
    if techniques.order is not None:
        _check_names("order", plan, techniques.order, "Leave the order out: then rare variables come first.")
    if techniques.tree is not None:
        remedy = "Leave the tree out: then the cheapest one is searched for."
        _check_names("tree", plan, leaves(techniques.tree), remedy)
    return engine


def why_not(engine: str, plan: Plan) -> Refusal | None:
    """Return why an engine cannot run a query; None if it can."""
    known, strategy = ENGINES[engine], plan.strategy
    if strategy not in known.strategies:
        able = sorted(each.value for each in known.strategies)
        others = [name for name, each in ENGINES.items() if strategy in each.strategies]
        remedy = f"Use {_engines(others)} or 'auto', or write WHERE {able[0]} {{ ... }}."
        return Refusal(f"does not evaluate {strategy.value}", f", only {listed(able)}", remedy)
    for technique in _asked_for(plan):
        if technique not in known.takes:
            others = [name for name, each in ENGINES.items() if technique in each.takes]
            remedy = f"Leave the {technique} out, or use {_engines(others)}."
            return Refusal(f"takes no {technique}", f", which is for {_engines(others)}", remedy)
    if known.stores and not plan.techniques.partition and plan.split and not plan.window.counts_events:
        # Equalities of variables it can leave conditions; where WITHIN counts events, all engines read apart.
        others = [name for name, each in ENGINES.items() if not each.stores]
        return Refusal(
            "searches one partition of [...] at a time",
            ", so technique 'partition' cannot be switched off",
            f"Leave partition=False out, or use {_engines(others)}.",
        )
    return None


def why_unwise(engine: str, plan: Plan) -> str:
    """Return why ``auto`` does not take an engine that could run a query, or an empty text."""
    known = ENGINES[engine]
    if plan.format.shared and not known.compresses:
        return f"does not make output {plan.output!r}"
    return (known.unwise or {}).get(plan.strategy, "")


def _asked_for(plan: Plan) -> list[str]:
    """Return the techniques of the call that are for one engine only."""
    techniques = plan.techniques
    asked = {
        "search": techniques.search != "breadth_first",
        "order": techniques.order is not None,
        "tree": techniques.tree is not None,
    }
    return [name for name, given in asked.items() if given]


def _engines(names: Sequence[str]) -> str:
    return "engine=" + " or ".join(map(repr, names))


def _check_names(what: str, plan: Plan, given: Sequence[str], remedy: str) -> None:
    names = plan.names
    said = (
        f"{what} must name each of {', '.join(names)} once, found {', '.join(map(str, given)) or 'nothing'}"
    )
    for name in given:
        if name not in names:
            raise OptionError(
                f"{said}: {name!r} is not bound by the pattern.{near_misses(str(name), names)}",
                remedy=remedy,
            )
    repeated = [name for name in names if given.count(name) > 1]
    if repeated:
        raise OptionError(f"{said}: {repeated[0]!r} appears {given.count(repeated[0])} times", remedy=remedy)
    missing = [name for name in names if name not in given]
    if missing:
        raise OptionError(f"{said}: {missing[0]!r} is missing", remedy=remedy)
