"""Which engine runs a query, and whether it can."""

from __future__ import annotations

from fyke.errors import OptionError, near_misses
from fyke.language.ast import Strategy
from fyke.plan.plan import LAZY_ENGINES
from fyke.plan.pushdown import Pushed
from fyke.techniques import Techniques


def choose_engine(asked: str, pushed: Pushed, techniques: Techniques) -> str:
    """Return the engine for a query; refuse one that cannot evaluate its strategy, or a wrong order."""
    engine = "automaton" if asked == "auto" else asked
    if engine in LAZY_ENGINES:
        strategy = pushed.analysed.form.strategy
        if strategy is not Strategy.ANY:
            raise OptionError(
                f"engine {engine!r} evaluates skip_till_any_match, and the query asks for {strategy.value}",
                remedy="Use engine='automaton' or 'auto', or write WHERE skip_till_any_match { ... }.",
            )
    _check_order(engine, pushed, techniques.order)
    return engine


def _check_order(engine: str, pushed: Pushed, order: tuple[str, ...] | None) -> None:
    """Refuse an order that is not one of the pattern's variables, each once."""
    if order is None:
        return
    if engine != "lazy_chain":
        raise OptionError(
            f"technique 'order' is for engine='lazy_chain', and the engine is {engine!r}",
            remedy="Leave the order out, or use engine='lazy_chain'.",
        )
    names = list(dict.fromkeys(v.name for each in pushed.alternatives for v in each.variables))
    said = f"order must name each of {', '.join(names)} once, found {', '.join(map(str, order)) or 'nothing'}"
    remedy = "Leave the order out: then rare variables come first."
    for name in order:
        if name not in names:
            raise OptionError(
                f"{said}: {name!r} is no variable to be bound.{near_misses(str(name), names)}", remedy=remedy
            )
    repeated = [name for name in names if order.count(name) > 1]
    if repeated:
        raise OptionError(f"{said}: {repeated[0]!r} is there {order.count(repeated[0])} times", remedy=remedy)
    missing = [name for name in names if name not in order]
    if missing:
        raise OptionError(f"{said}: {missing[0]!r} is missing", remedy=remedy)
