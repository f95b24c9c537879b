"""Name and type checks of the expressions of a clause."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NoReturn

import pyarrow as pa

from fyke.errors import (
    AggregateError,
    Place,
    UnknownAttributeError,
    UnknownFunctionError,
    UnknownVariableError,
    listed,
    near_misses,
)
from fyke.language.ast import Call, Column, Expression, Navigation, Seen, Star, map_children
from fyke.language.row_pattern_rules import ROW_AGGREGATES
from fyke.language.row_patterns import RowPatternQuery
from fyke.language.unparse import unparse_expression
from fyke.logical.check import Checker
from fyke.logical.kinds import FUNCTIONS, NUMERIC, Kind, kind_of
from fyke.logical.schema import EventSchema
from fyke.logical.scope import InferType, Scope
from fyke.logical.spelling import spelled


class RowNames:
    """What the names of a clause stand for: its columns, as the rows spell them."""

    def __init__(self, query: RowPatternQuery, columns: Mapping[str, pa.DataType]) -> None:
        self.query, self.columns = query, columns

    def spelled(self, node: Expression) -> Expression:
        """Return an expression whose columns are there, in the spelling of the rows.

        Raises
        ------
        UnknownAttributeError, UnknownVariableError
        """
        if isinstance(node, Column):
            return replace(node, path=self._path(node)) if node.path else node
        return map_children(node, self.spelled)

    def type_at(self, path: tuple[str, ...]) -> pa.DataType:
        """Return the type of a column, or of a field of a struct, that is there."""
        found = self.columns[path[0]]
        for step in path[1:]:
            found = found.field(step).type
        return found

    def column(self, name: str, clause: str, place: Place | None) -> str:
        """Return a column of PARTITION BY or ORDER BY as the rows spell it."""
        found = spelled(name, self.columns)
        if found not in self.columns:
            raise UnknownAttributeError(
                f"{clause} names {name!r}, and the rows have no such column",
                place=place,
                text=self.query.text,
                remedy=f"Their columns are {listed(self.columns)}.{near_misses(name, self.columns)}",
            )
        return found

    def _path(self, node: Column) -> tuple[str, ...]:
        known: Mapping[str, pa.DataType] = self.columns
        path: list[str] = []
        for step in node.path:
            name = spelled(step, known)
            if name not in known:
                self._fail_unknown(node, path, step, known)
            path.append(name)
            kind = known[name]
            known = {each.name: each.type for each in kind} if pa.types.is_struct(kind) else {}
        return tuple(path)

    def _fail_unknown(
        self, node: Column, path: list[str], step: str, known: Mapping[str, pa.DataType]
    ) -> NoReturn:
        text, place = self.query.text, node.place
        if path:
            has = f"has the fields {listed(known)}" if known else "has no fields"
            raise UnknownAttributeError(
                f"{'.'.join(path)} has no field {step!r}",
                place=place,
                text=text,
                remedy=f"The column {has}.{near_misses(step, known)}",
            )
        columns = f"The rows have {listed(self.columns)}.{near_misses(step, self.columns)}"
        if node.variable is None and len(node.path) > 1:
            variables = (*self.query.variables, *(each.name for each in self.query.subsets))
            raise UnknownVariableError(
                f"the pattern has no variable {step!r}, and the rows no column of that name",
                place=place,
                text=text,
                remedy=f"The pattern has {listed(variables)}.{near_misses(step, variables)}",
            )
        raise UnknownAttributeError(
            f"the rows have no column {step!r}", place=place, text=text, remedy=columns
        )


class RowChecker(Checker):
    """Checks expressions of a clause: conditions, or measures (``returning``)."""

    def __init__(
        self,
        names: RowNames,
        *,
        returning: bool,
        infer: InferType | None = None,
        functions: Mapping[str, int] | None = None,
    ) -> None:
        schema = EventSchema(names.columns, ("", ""))
        arities = None if functions is None else dict(functions)
        super().__init__(
            Scope(schema, {}, frozenset(), names.query.text, infer, arities), returning=returning
        )
        self.names = names

    def kind(self, node: Expression) -> Kind:
        """Return the kind of an expression, or raise the error that says what is wrong with it."""
        if isinstance(node, Column):
            return kind_of(self.names.type_at(node.path))
        if isinstance(node, (Navigation, Seen)):
            return self.kind(node.operand)
        if isinstance(node, Call) and node.function == "classifier":
            return Kind.STRING
        if isinstance(node, Call) and node.function == "match_number":
            return Kind.INTEGER
        if isinstance(node, Call) and node.function in ROW_AGGREGATES:
            return self._row_aggregate(node)
        return super().kind(node)

    def _row_aggregate(self, node: Call) -> Kind:
        argument = node.arguments[0]
        if isinstance(argument, Star) or (isinstance(argument, Column) and not argument.path):
            return Kind.INTEGER
        kind = self.kind(argument)
        if node.function == "count":
            return Kind.INTEGER
        if node.function == "array_agg":
            return Kind.LIST
        if node.function in ("avg", "sum", "stddev", "median"):
            self._need(argument, kind, NUMERIC | {Kind.NULL}, node.function)
            return kind if node.function == "sum" else Kind.FLOAT
        if kind in (Kind.LIST, Kind.STRUCT, Kind.OTHER):
            written = unparse_expression(argument)
            self._fail(
                AggregateError,
                node,
                f"{node.function} takes values that can be compared, but {written} is {kind.value}",
                f"Name a column of numbers, strings or times, as in {node.function}(A.x).",
            )
        return kind

    def _foreign(self, node: Call) -> Kind:
        """Ask the input's SQL dialect about a function of one row that Fyke does not know."""
        arrow = None if self.scope.infer is None else self.scope.infer(node, tuple(self.names.columns))
        if arrow is None:
            known = near_misses(node.function, [*FUNCTIONS, *ROW_AGGREGATES])
            self._fail(
                UnknownFunctionError,
                node,
                f"unknown function {node.function!r}",
                f"On a DataFrame any Spark SQL function of the columns of one row may be used.{known}",
            )
        return kind_of(arrow)

    def _check_one_event(self, node: Expression, by: str) -> None:
        """Leave it to analysis, which knows what one row decides, to say what needs several rows."""
