"""Aggregates over matches (SEMANTICS 5): a value per match first, then one row per partition."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from fyke.engine.evaluate import Column, evaluate
from fyke.language.ast import Call, Expression, Reference, Star, map_children
from fyke.pattern.check import over_matches
from fyke.pattern.returns import Output

_ARROW = {"count": "count", "sum": "sum", "min": "min", "max": "max", "avg": "mean", "stddev": "stddev"}
_COLUMN = "__fyke_item_"


@dataclass(frozen=True, slots=True)
class MatchAggregate:
    """``function`` over the values of ``argument`` in all matches; None counts the matches.

    ``column`` is where the value of a match stands in the rows of :class:`ResultBuilder`.
    """

    column: str
    function: str
    argument: Expression | None


def split_aggregates(output: Output) -> tuple[list[MatchAggregate], list[Expression]]:
    """Return the aggregates over matches in RETURN, and the items with references in their place.

    The reference to aggregate k is to the variable "" and the path (its column,).
    """
    aggregates: list[MatchAggregate] = []

    def replaced(node: Expression) -> Expression:
        if not over_matches(node):
            return map_children(node, replaced)
        assert isinstance(node, Call)
        argument = None if isinstance(node.arguments[0], Star) else node.arguments[0]
        aggregates.append(MatchAggregate(f"{_COLUMN}{len(aggregates)}", node.function, argument))
        return Reference("", (aggregates[-1].column,), place=node.place)

    return aggregates, [replaced(column.expression) for column in output.columns]


def aggregate_rows(rows: pa.Table, partition: tuple[str, ...], output: Output) -> pa.Table:
    """Return one row per value of the partition attributes (one row in all without them)."""
    aggregates, items = split_aggregates(output)
    asked = [(each.column, _ARROW[each.function], _options(each.function)) for each in aggregates]
    grouped = rows.group_by(list(partition)).aggregate(asked)
    values = {each.column: grouped.column(f"{each.column}_{_ARROW[each.function]}") for each in aggregates}
    columns: dict[str, Column] = {name: grouped.column(name).combine_chunks() for name in partition}

    def resolve(node: Expression) -> Column | None:
        if isinstance(node, Reference):
            found = values.get(node.path[0])
            return columns[node.path[0]] if found is None else found.combine_chunks()
        return None

    for column, item in zip(output.columns, items, strict=True):
        columns[column.name] = evaluate(item, resolve)
    arrays = [
        value if isinstance(value, pa.Array) else pa.repeat(value, grouped.num_rows)
        for value in columns.values()
    ]
    return pa.Table.from_arrays(arrays, names=list(columns))


def _options(function: str) -> pc.FunctionOptions | None:
    if function == "stddev":
        return pc.VarianceOptions(ddof=1, min_count=2)
    return (
        pc.CountOptions(mode="only_valid") if function == "count" else pc.ScalarAggregateOptions(min_count=1)
    )
