"""How far a funnel came, in terms of its variables (SEMANTICS 2.3)."""

from __future__ import annotations

from dataclasses import replace

from fyke.language.ast import (
    Call,
    Event,
    Expression,
    Funnel,
    IsNull,
    Literal,
    Pattern,
    Reference,
    ReturnItem,
    map_children,
)
from fyke.logical.schema import EventSchema

REACHED = "reached"
STATUS, MATCH, TIMEOUT = "status", "match", "timeout"  # what timeouts adds to a funnel


def spell_out_reached(item: ReturnItem, pattern: Pattern, schema: EventSchema) -> ReturnItem:
    """Return an item with ``reached()`` as an expression over the steps, if the pattern is a funnel."""
    if not isinstance(pattern, Funnel):
        return item
    number = reached(pattern, schema)

    def spelled(node: Expression) -> Expression:
        return number if _asks(node) else map_children(node, spelled)

    alias = item.alias or (REACHED if _asks(item.expression) else None)
    return replace(item, expression=spelled(item.expression), alias=alias)


def _asks(node: Expression) -> bool:
    return isinstance(node, Call) and node.function == REACHED and not node.arguments


def reached(pattern: Funnel, schema: EventSchema) -> Expression:
    """Return the number of steps that are bound: no event is without a time."""
    found: Expression = Literal(1)
    steps = [part.variable for part in pattern.parts if isinstance(part, Event)]
    for number, name in enumerate(steps[1:], start=2):
        found = Call("if", (IsNull(Reference(name, (schema.end,))), found, Literal(number)))
    return found
