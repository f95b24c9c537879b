"""The parts of a query put together, with the rules that look at more than one node."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from fyke.errors import Place, QueryError, QuerySyntaxError, QueryTooLargeError
from fyke.language.ast import (
    Equivalence,
    Expression,
    Funnel,
    Node,
    Pattern,
    ReturnItem,
    Strategy,
    Window,
    children,
    walk,
)
from fyke.language.query import Query
from fyke.language.relational import RelationalQuery, Stream
from fyke.language.rules import checked_name, operands_of
from fyke.limits import Limits

# Trees are printed, compared and analysed by recursion, so no setting may allow deeper ones than this.
DEEPEST_TREE = 200


def assemble(
    pattern: Pattern,
    conditions: Iterable[Expression],
    strategy: Strategy,
    window: Window | None,
    returns: Sequence[ReturnItem] | None,
    label: str | None,
    text: str | None,
    limits: Limits,
) -> Query:
    """Return the query of these parts: conjuncts split, depth within limits, ``[x]`` only as a conjunct."""
    if label is not None:
        checked_name(label, "the query")
    check_depth(pattern, limits)
    _check_funnel(pattern, strategy)
    conjuncts = _conjuncts(conditions, limits)
    return Query(pattern, conjuncts, strategy, window, _items(returns, limits), label, text=text)


def assemble_relational(
    streams: Iterable[Stream],
    items: Sequence[ReturnItem] | None,
    window: Window,
    slide: Window | None,
    conditions: Iterable[Expression],
    label: str | None,
    text: str | None,
    limits: Limits,
) -> RelationalQuery:
    """Return the relational query of these parts, under the same rules."""
    checked, conjuncts = _items(items, limits), _conjuncts(conditions, limits)
    return RelationalQuery(tuple(streams), checked, window, slide, conjuncts, label, text=text)


def _check_funnel(pattern: Pattern, strategy: Strategy) -> None:
    """Raise for a funnel that is not the whole pattern, or under a strategy that does not go step by step."""
    for node in walk(pattern):
        if not isinstance(node, Funnel):
            continue
        if node is not pattern:
            raise QuerySyntaxError(
                "a funnel is a whole pattern, and this one is a part of another",
                place=node.place,
                remedy="Write PATTERN FUNNEL(A a, B b, C c), with what comes first as its first step.",
            )
        if strategy not in (Strategy.NEXT, Strategy.GREEDY):
            raise QuerySyntaxError(
                f"a funnel goes from each step to the next event that fits, and {strategy.value} does not",
                place=node.place,
                remedy="Use skip_till_next_match, which is the default.",
            )


def _conjuncts(conditions: Iterable[Expression], limits: Limits) -> tuple[Expression, ...]:
    conjuncts = [part for condition in conditions for part in operands_of("AND", condition)]
    for conjunct in conjuncts:
        check_depth(conjunct, limits)
        if not isinstance(conjunct, Equivalence):
            _check_no_equivalence(conjunct)
    return tuple(conjuncts)


def _items(items: Sequence[ReturnItem] | None, limits: Limits) -> tuple[ReturnItem, ...] | None:
    for item in items or ():
        check_depth(item.expression, limits)
        _check_no_equivalence(item.expression)
    return None if items is None else tuple(items)


def check_depth(tree: Node, limits: Limits) -> None:
    """Raise unless every path from the root of ``tree`` is within the depth limit."""
    deepest = min(limits.query_depth, DEEPEST_TREE)
    level: list[Node] = [tree]
    for _ in range(deepest):
        level = [child for node in level for child in children(node)]
        if not level:
            return
    raise too_deep(deepest, getattr(level[0], "place", None))


def too_deep(deepest: int, place: Place | None) -> QueryTooLargeError:
    """Return the error of a query nested more than ``deepest`` levels."""
    return QueryTooLargeError(
        f"the query is nested deeper than {deepest} levels",
        place=place,
        remedy="Use IN for long lists of values, split conditions at AND, "
        f"or raise the limit query_depth (at most {DEEPEST_TREE}).",
    )


def _check_no_equivalence(tree: Node) -> None:
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Equivalence):
            names = ", ".join(node.attributes)
            raise QuerySyntaxError(
                f"[{names}] must be a condition of its own",
                place=node.place,
                remedy=f"Join it with AND at the top level of WHERE, as in {{ [{names}] AND a.x > 1 }}.",
            )
        waiting.extend(children(node))


_Error = TypeVar("_Error", bound=QueryError)


def located(error: _Error, text: str) -> _Error:
    """Return the same error with the query text, so that it can show the place."""
    return type(error)(error.message, place=error.place, text=text, remedy=error.remedy)
