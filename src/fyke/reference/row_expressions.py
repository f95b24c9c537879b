"""Expressions of MATCH_RECOGNIZE over the rows of a match, evaluated literally from the clause as written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from fyke.language.ast import Call, Column, Expression, Navigation, Reference, Seen, Star, map_children, walk
from fyke.language.row_patterns import RowPatternQuery
from fyke.logical.value_types import spell_out_decimals
from fyke.reference.explicit_types import with_casts
from fyke.reference.expression import Functions, Occurrence, evaluate
from fyke.reference.types import item_type
from fyke.reference.values import Value, aggregate

_AGGREGATES = frozenset({"count", "sum", "avg", "min", "max", "stddev", "median", "array_agg"})
Row = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Sight:
    """What an expression sees: a match, as far as it goes, in the rows of its partition.

    ``labels`` are those of the rows from ``start`` on that have one.  Of these, ``seen`` rows are seen; FINAL
    sees all of them.
    """

    rows: Sequence[Row]
    start: int
    labels: Sequence[str]
    seen: int
    number: int | None


class RowEvaluator:
    """Evaluates the expressions of one clause, whose columns are spelled as the rows spell them."""

    def __init__(
        self, query: RowPatternQuery, columns: Mapping[str, pa.DataType], functions: Functions
    ) -> None:
        self.query, self.columns, self.functions = query, columns, functions
        self._scalars: dict[int, tuple[Expression, Expression, list[Expression]]] = {}
        self._types: dict[int, pa.DataType] = {}

    def value(self, node: Expression, sight: Sight) -> Value:
        """Return the value of a condition or measure."""
        _, scalar, leaves = self._scalar(node)
        return self._evaluated(scalar, [self._leaf(leaf, sight) for leaf in leaves])

    def _evaluated(self, scalar: Expression, leaves: list[Value]) -> Value:
        values = {f"v{number}": value for number, value in enumerate(leaves)}
        return evaluate(scalar, {"": (Occurrence(0, None, 0, 0, None, values),)}, {"": 0}, self.functions)

    # --- the scalar part ------------------------------------------------------------------------

    def _scalar(self, node: Expression) -> tuple[Expression, Expression, list[Expression]]:
        """Return the node, the expression over its leaves as ``v0``, ``v1``, ..., and the leaves."""
        if id(node) not in self._scalars:
            leaves: list[Expression] = []
            types: dict[str, pa.DataType] = {}

            def cut(part: Expression) -> Expression:
                if not _is_leaf(part):
                    return map_children(part, cut)
                name = f"v{len(leaves)}"
                leaves.append(part)
                types[name] = self._leaf_type(part)
                return Reference("", (name,))

            def known(reference: Expression) -> pa.DataType:
                assert isinstance(reference, Reference)
                return types[reference.path[0]]

            scalar = with_casts(spell_out_decimals(cut(node), known), known)
            self._scalars[id(node)] = node, scalar, leaves  # the node, so that nobody else gets its identity
            self._types[id(node)] = item_type(scalar, known)
        return self._scalars[id(node)]

    def _type(self, node: Expression) -> pa.DataType:
        self._scalar(node)
        return self._types[id(node)]

    def _leaf_type(self, leaf: Expression) -> pa.DataType:
        if isinstance(leaf, Column):
            kind = self.columns[leaf.path[0]]
            for step in leaf.path[1:]:
                kind = kind.field(step).type
            return kind
        if isinstance(leaf, (Navigation, Seen)):
            return self._type(leaf.operand)
        assert isinstance(leaf, Call)
        if leaf.function == "classifier":
            return pa.string()
        if leaf.function in ("match_number", "count"):
            return pa.int64()
        kind = self._type(leaf.arguments[0])
        if leaf.function == "array_agg":
            return pa.list_(kind)
        if leaf.function in ("avg", "stddev", "median"):
            return pa.float64()
        return pa.decimal128(38, kind.scale) if leaf.function == "sum" and pa.types.is_decimal(kind) else kind

    # --- what is found in rows ------------------------------------------------------------------

    def _leaf(self, leaf: Expression, sight: Sight) -> Value:
        if isinstance(leaf, Seen):
            seen = replace(sight, seen=len(sight.labels)) if leaf.final else sight
            return self._leaf(leaf.operand, seen)
        if isinstance(leaf, Navigation):
            return self._navigated(leaf, sight)
        if isinstance(leaf, Call) and leaf.function == "match_number":
            return sight.number
        if isinstance(leaf, Call) and leaf.function in _AGGREGATES:
            return self._aggregated(leaf, sight)
        rows = self._rows(leaf, sight)
        return self._at(leaf, rows[-1], sight) if rows else None

    def _navigated(self, node: Navigation, sight: Sight) -> Value:
        operand: Expression = node.operand
        moved = {"PREV": -node.offset, "NEXT": node.offset}.get(node.function)
        if moved is None:
            return self._at(operand, self._logical(node, sight), sight)
        if isinstance(operand, Seen):
            sight = replace(sight, seen=len(sight.labels)) if operand.final else sight
            operand = operand.operand
        if isinstance(operand, Navigation):
            row, operand = self._logical(operand, sight), operand.operand
        else:
            rows = self._rows(operand, sight)
            row = rows[-1] if rows else None
        return self._at(operand, None if row is None else row + moved, sight)

    def _logical(self, node: Navigation, sight: Sight) -> int | None:
        rows = self._rows(node.operand, sight)
        if node.offset >= len(rows):
            return None
        return rows[node.offset] if node.function == "FIRST" else rows[-1 - node.offset]

    def _aggregated(self, node: Call, sight: Sight) -> Value:
        argument = node.arguments[0]
        rows = self._rows(argument, sight)
        if isinstance(argument, Star) or (isinstance(argument, Column) and not argument.path):
            return len(rows)
        values = [self._at(argument, row, sight) for row in rows]
        return aggregate("collect" if node.function == "array_agg" else node.function, values)

    def _rows(self, operand: Expression, sight: Sight) -> list[int]:
        """Return the positions of the seen rows that an operand speaks of."""
        variables = [node.variable for node in walk(operand) if isinstance(node, Column)]
        wanted = self.query.labels(variables[0]) if variables and variables[0] is not None else None
        return [
            sight.start + number
            for number, label in enumerate(sight.labels[: sight.seen])
            if wanted is None or label in wanted
        ]

    def _at(self, operand: Expression, row: int | None, sight: Sight) -> Value:
        """Return the value of an expression at one row of the partition; null if there is no such row."""
        if row is None or not 0 <= row < len(sight.rows):
            return None
        _, scalar, leaves = self._scalar(operand)
        return self._evaluated(scalar, [_in_row(leaf, row, sight) for leaf in leaves])


def _is_leaf(node: Expression) -> bool:
    if isinstance(node, Call):
        return node.function in _AGGREGATES or node.function in ("classifier", "match_number")
    return isinstance(node, (Column, Navigation, Seen))


def _in_row(leaf: Expression, row: int, sight: Sight) -> Value:
    if isinstance(leaf, Column):
        found: Value = sight.rows[row]
        for step in leaf.path:
            found = None if found is None else found.get(step)
        return found
    assert isinstance(leaf, Call)
    if leaf.function == "match_number":
        return sight.number
    inside = 0 <= row - sight.start < len(sight.labels)
    return sight.labels[row - sight.start] if inside else None
