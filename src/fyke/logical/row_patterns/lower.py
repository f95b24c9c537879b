"""Expressions of a clause to scalar expressions over values found by looking at rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa

from fyke.errors import UnsupportedQueryError
from fyke.language.ast import (
    Binary,
    Call,
    Cast,
    Column,
    Expression,
    Like,
    Literal,
    Navigation,
    Reference,
    Seen,
    Star,
    Unary,
    map_children,
    walk,
)
from fyke.language.row_pattern_rules import ROW_AGGREGATES
from fyke.language.row_patterns import RowPatternQuery
from fyke.language.unparse import unparse_expression
from fyke.logical.kinds import ABOUT_NULLS, FUNCTIONS
from fyke.logical.row_patterns.analysed import Aggregated, From, Input, Located, RowValue, input_name
from fyke.logical.row_patterns.check import RowNames
from fyke.logical.scope import InferType
from fyke.logical.value_types import MOST_DIGITS, decimal, spell_out_decimals, type_of, wide

_UNKNOWN = pa.null()  # until an input is registered
_NOT_STRICT = ABOUT_NULLS | {"size", "corr"}


def lower(
    expression: Expression,
    names: RowNames,
    variable: str | None = None,
    infer: InferType | None = None,
    functions: Mapping[str, int] | None = None,
) -> RowValue:
    """Return a checked expression as a value of inputs; ``variable`` is the one whose condition it is.

    Raises
    ------
    UnsupportedQueryError
        If nobody can tell the type of the value.
    """
    lowering = _Lowering(names, variable, infer, functions)
    lowered = lowering.registered(lowering.lower(expression))
    lowered = spell_out_decimals(lowered, lowering.type_of_input)
    found = type_of(lowered, lowering.type_of_input)
    if found is None:
        raise UnsupportedQueryError(
            f"the type of {unparse_expression(expression)} is not known",
            place=expression.place,
            text=names.query.text,
            remedy="Say what it is with CAST, as in CAST(f(x) AS DOUBLE).",
        )
    return RowValue(lowered, tuple(lowering.inputs), found)


class _Lowering:
    """Collects the inputs of one condition or measure."""

    def __init__(
        self,
        names: RowNames,
        variable: str | None,
        infer: InferType | None,
        functions: Mapping[str, int] | None,
    ) -> None:
        self.names, self.variable = names, variable
        self.infer, self.functions = infer, functions or {}
        self.inputs: list[Input] = []

    @property
    def query(self) -> RowPatternQuery:
        return self.names.query

    # --- inputs ---------------------------------------------------------------------------------

    def registered(self, node: Expression | Input) -> Expression:
        """Return a node with a reference in place of an input, whose type is now found out."""
        if not isinstance(node, (Located, Aggregated)):
            return node
        value = None if node.value is None else spell_out_decimals(node.value, self.type_in_row)
        kind = pa.int64() if value is None else type_of(value, self.type_in_row)
        if isinstance(node, Aggregated):
            kind = _aggregate_type(node.function, kind)
        made: Input = replace(node, value=value, type=_UNKNOWN if kind is None else kind)  # type: ignore[arg-type]
        if made not in self.inputs:
            self.inputs.append(made)
        return Reference("", (input_name(self.inputs.index(made)),))

    def type_of_input(self, node: Expression) -> pa.DataType | None:
        """Return the type of a reference to an input, or of a call that the language does not know."""
        if isinstance(node, Reference):
            return self.inputs[int(node.path[0][1:])].type
        return self._type_of_call(node)

    def type_in_row(self, node: Expression) -> pa.DataType | None:
        """Return the type of a column, or of a call that the language does not know."""
        return self.names.type_at(node.path) if isinstance(node, Reference) else self._type_of_call(node)

    def _type_of_call(self, node: Expression) -> pa.DataType | None:
        assert isinstance(node, Call)
        known = {"classifier": pa.string(), "match_number": pa.int64()}
        if node.function in known:
            return known[node.function]
        if node.function in self.functions:
            return pa.float64()
        return None if self.infer is None else self.infer(node, tuple(self.names.columns))

    # --- nodes ----------------------------------------------------------------------------------

    def lower(self, node: Expression) -> Expression | Input:
        """Return what a node means: a value found in rows, or an expression over such values."""
        if isinstance(node, Column):
            return self._located(From.LAST, node, 0, 0, False)
        if isinstance(node, Navigation):
            return self._navigation(node, False)
        if isinstance(node, Seen):
            inner = node.operand
            if isinstance(inner, Navigation):
                return self._navigation(inner, node.final)
            assert isinstance(inner, Call)
            return self._aggregate(inner, node.final)
        if isinstance(node, Call) and node.function in ROW_AGGREGATES:
            return self._aggregate(node, False)
        if isinstance(node, Call) and node.function == "classifier":
            return self._located(From.LAST, node, 0, 0, False)
        lowered = [self.lower(child) for child in _children(node)]
        merged = self._merged(node, lowered)
        if merged is not None:
            return merged
        operands = iter([self.registered(each) for each in lowered])
        return map_children(node, lambda _: next(operands))

    def _navigation(self, node: Navigation, final: bool) -> Expression | Input:
        physical = {"PREV": -node.offset, "NEXT": node.offset}.get(node.function)
        if physical is None:
            return self._located(From[node.function], node.operand, node.offset, 0, final)
        inner = node.operand
        if isinstance(inner, Seen):
            final, inner = inner.final, inner.operand
        if isinstance(inner, Navigation):
            return self._located(From[inner.function], inner.operand, inner.offset, physical, final)
        return self._located(From.LAST, inner, 0, physical, final)

    def _located(
        self, start: From, operand: Expression, logical: int, physical: int, final: bool
    ) -> Expression | Input:
        labels = self._labels(operand)
        own = self.variable is not None and (labels is None or self.variable in labels)
        if own and start is From.LAST and logical == 0:
            start, labels = From.CURRENT, None
        value = _in_row(operand)
        if start is From.CURRENT and physical == 0:
            value = _with_label(value, self.variable)
            if isinstance(value, Literal):
                return value
        return Located(value, _UNKNOWN, start, labels, logical, physical, final)

    def _aggregate(self, node: Call, final: bool) -> Aggregated:
        argument = node.arguments[0]
        rows = isinstance(argument, Star) or (isinstance(argument, Column) and not argument.path)
        value = None if rows else _in_row(argument)
        return Aggregated(node.function, value, _UNKNOWN, self._labels(argument), final)

    def _labels(self, operand: Expression) -> frozenset[str] | None:
        for node in walk(operand):
            if isinstance(node, Column):
                return None if node.variable is None else self.query.labels(node.variable)
        return None

    def _merged(self, node: Expression, lowered: list[Expression | Input]) -> Located | None:
        """Return an operation on values of one row as one value of that row, if it means the same."""
        located = [each for each in lowered if isinstance(each, Located)]
        if not located or not all(isinstance(each, Located) or _is_constant(each) for each in lowered):
            return None
        first = located[0]
        if any(replace(each, value=first.value) != first for each in located):
            return None
        there = first.start is From.CURRENT and first.physical == 0
        if not (there or self._is_strict(node)) or self._is_foreign(node):
            return None
        operands = iter(
            [each.value if isinstance(each, Located) else self.registered(each) for each in lowered]
        )
        return replace(first, value=map_children(node, lambda _: next(operands)))

    def _is_strict(self, node: Expression) -> bool:
        """Say whether an operation is null if any of its operands is."""
        if isinstance(node, Binary):
            return node.operator not in ("AND", "OR")
        if isinstance(node, Call):
            return node.function in FUNCTIONS and node.function not in _NOT_STRICT
        return isinstance(node, (Unary, Cast, Like))

    def _is_foreign(self, node: Expression) -> bool:
        return isinstance(node, Call) and node.function in self.functions


def _children(node: Expression) -> list[Expression]:
    found: list[Expression] = []

    def keep(child: Expression) -> Expression:
        found.append(child)
        return child

    map_children(node, keep)
    return found


def _is_constant(node: Expression | Input) -> bool:
    """Say whether a lowered node has its value whatever the rows are."""
    if isinstance(node, (Located, Aggregated)):
        return False
    return not any(
        isinstance(each, Reference) or (isinstance(each, Call) and each.function not in FUNCTIONS)
        for each in walk(node)
    )


def _in_row(node: Expression) -> Expression:
    """Return an expression over one row."""
    if isinstance(node, Column):
        return Reference("", node.path, place=node.place)
    if isinstance(node, Call) and node.function == "classifier":
        return Call("classifier", (), place=node.place)
    return map_children(node, _in_row)


def _with_label(node: Expression, variable: str | None) -> Expression:
    """Return an expression over the row that has just got a label."""
    if isinstance(node, Call) and node.function == "classifier":
        return Literal(variable, place=node.place)
    return map_children(node, lambda child: _with_label(child, variable))


def _aggregate_type(function: str, kind: pa.DataType | None) -> pa.DataType | None:
    if function == "count":
        return pa.int64()
    if function in ("avg", "stddev", "median"):
        return pa.float64()
    if kind is None or function in ("min", "max"):
        return kind
    if function == "array_agg":
        return pa.list_(kind)
    return decimal(MOST_DIGITS, kind.scale) if pa.types.is_decimal(kind) else wide(kind)


def is_across(node: Expression) -> bool:
    """Say whether an operation can be evaluated over values of several rows while a match is searched."""
    if isinstance(node, Call):
        return node.function not in FUNCTIONS or FUNCTIONS[node.function].across
    if isinstance(node, Cast):
        return node.type == "DOUBLE"
    return not isinstance(node, Like)
