"""Aggregates over matches in RETURN: found in its items, and combined from tallies (SEMANTICS 5)."""

from __future__ import annotations

from dataclasses import dataclass

from fyke.language.ast import Binary, Call, Expression, Reference, Star, map_children
from fyke.language.rules import COUNT_DISTINCT
from fyke.logical.check import over_matches
from fyke.logical.returns import Output

_COLUMN = "__fyke_item_"
VALID = "_n"  # the number of values in the sum of an average
MERGEABLE = ("count", "sum", "avg", "min", "max")  # these can be combined from tallies


@dataclass(frozen=True, slots=True)
class MatchAggregate:
    """``function`` over the values of ``argument`` in all matches; None counts the matches.

    ``column`` holds the value of each match in the rows of :class:`ResultBuilder`.
    """

    column: str
    function: str
    argument: Expression | None
    counts: bool = False  # without matches it is 0, not null


def split_aggregates(output: Output) -> tuple[list[MatchAggregate], list[Expression]]:
    """Return the aggregates over matches in RETURN, and the items with references in their place.

    The reference to an aggregate has the variable "" and the path (its column,).
    """
    aggregates: list[MatchAggregate] = []

    def replaced(node: Expression) -> Expression:
        if not over_matches(node):
            return map_children(node, replaced)
        assert isinstance(node, Call)
        argument = None if isinstance(node.arguments[0], Star) else node.arguments[0]
        aggregates.append(
            MatchAggregate(
                f"{_COLUMN}{len(aggregates)}",
                node.function,
                argument,
                node.function in ("count", COUNT_DISTINCT),
            )
        )
        return Reference("", (aggregates[-1].column,), place=node.place)

    return aggregates, [replaced(column.expression) for column in output.columns]


def combine_tallies(output: Output) -> tuple[list[MatchAggregate], list[Expression]]:
    """Return what :func:`split_aggregates` returns, for rows that are tallies of many matches each.

    Counts and sums are summed, an average is a sum and a count of values.
    """
    found, items = split_aggregates(output)
    combined: list[MatchAggregate] = []
    averages = {each.column for each in found if each.function == "avg"}
    for each in found:
        function = "sum" if each.function in ("count", "avg") else each.function
        combined.append(MatchAggregate(each.column, function, each.argument, each.counts))
        if each.column in averages:
            combined.append(MatchAggregate(each.column + VALID, "sum", None))

    def replaced(node: Expression) -> Expression:
        if isinstance(node, Reference) and node.variable == "" and node.path[0] in averages:
            return Binary("/", node, Reference("", (node.path[0] + VALID,)), place=node.place)
        return map_children(node, replaced)

    return combined, [replaced(item) for item in items]
