"""Name checks of references: each means one value of one event, or an error says why not."""

from __future__ import annotations

from dataclasses import replace
from typing import NoReturn

from fyke.errors import (
    AbsenceReferenceError,
    GroupAsSingleError,
    PreviousOfSingleError,
    QueryError,
    SingleAsGroupError,
    TypeClashError,
    UnsupportedQueryError,
)
from fyke.language.ast import Expression, Index, Length, Reference
from fyke.language.unparse import unparse_expression
from fyke.logical.kinds import Kind, kind_of
from fyke.logical.scope import Scope

_GROUP_INDEX = {Index.EACH, Index.FIRST, Index.LAST, Index.ALL, Index.BEFORE, Index.PREVIOUS}
_MOST_BACK = 1_000


class ReferenceChecker:
    """Checks references of one clause: conditions, or RETURN items (``returning``)."""

    def __init__(self, scope: Scope, *, returning: bool = False) -> None:
        self.scope = scope
        self.returning = returning

    def _fail(self, error: type[QueryError], node: Expression, message: str, remedy: str = "") -> NoReturn:
        raise error(message, place=node.place, text=self.scope.text, remedy=remedy)

    def _reference(self, node: Reference) -> Kind:
        name = node.variable
        self.scope.require_variable(name, node.place)
        group = self.scope.is_group(name)
        self._check_index(node, group)
        if self.returning:
            self._check_returned(node, group)
        if not node.path:
            if not self.returning:
                attribute = next(iter(self.scope.schema.attributes(self.scope.variables[name][0].type)))
                written = unparse_expression(replace(node, path=(attribute,)))
                self._fail(
                    TypeClashError,
                    node,
                    f"{unparse_expression(node)} is an event, not a value",
                    f"Name one of its attributes, as in {written}.",
                )
            return Kind.EVENT
        return kind_of(self.scope.attribute_type(name, node.path, node.place))

    def _check_index(self, node: Reference, group: bool) -> None:
        name, written = node.variable, unparse_expression(node)
        single = unparse_expression(replace(node, index=Index.NONE))
        if not group and node.index is Index.PREVIOUS:
            self._fail(
                PreviousOfSingleError,
                node,
                f"{written} asks for the element before, but {name!r} binds one event",
                f"Write {single}, or declare it as a group: Type+ {name}[].",
            )
        if not group and node.index in _GROUP_INDEX:
            self._fail(
                SingleAsGroupError,
                node,
                f"{written} uses {name!r} as a group, but it binds one event",
                f"Write {single}, or declare it as a group: Type+ {name}[].",
            )
        if node.index is Index.LAST and node.offset > _MOST_BACK and not self.returning:
            self._fail(
                UnsupportedQueryError,
                node,
                f"{written} is more than {_MOST_BACK:,} elements before the last, and a condition remembers "
                "as many for each run",
                f"Conditions have {name}[{name}.len-{_MOST_BACK}] at most; RETURN has any element.",
            )
        if node.index in (Index.ALL, Index.BEFORE):
            self._fail(
                GroupAsSingleError,
                node,
                f"{written} is many values where one is needed",
                f"Put it into an aggregate, as in avg({written})."
                if node.path
                else f"Write {name} for all of them.",
            )

    def _check_returned(self, node: Reference, group: bool) -> None:
        name, written = node.variable, unparse_expression(node)
        if name in self.scope.absent:
            self._fail_absent(node)
        each = (Index.NONE, Index.EACH, Index.PREVIOUS) if node.path else (Index.EACH, Index.PREVIOUS)
        if group and node.index in each:
            first, last, every = (
                unparse_expression(replace(node, index=index))
                for index in (Index.FIRST, Index.LAST, Index.ALL)
            )
            aggregated = f"aggregate them, as in max({every}), " if node.path else ""
            self._fail(
                GroupAsSingleError,
                node,
                f"{written} is one value for each element of the group {name!r}",
                f"Choose one, as in {first} or {last}, {aggregated}or return {name} whole.",
            )

    def _fail_absent(self, node: Reference | Length) -> NoReturn:
        self._fail(
            AbsenceReferenceError,
            node,
            f"{node.variable!r} is absent from every match, so RETURN cannot use it",
            "Return attributes of the events that are present.",
        )

    def _length(self, node: Length) -> Kind:
        self.scope.require_variable(node.variable, node.place)
        if not self.scope.is_group(node.variable):
            self._fail(
                SingleAsGroupError,
                node,
                f"{node.variable}.len counts a group, but {node.variable!r} binds one event",
                f"Declare it as a group: Type+ {node.variable}[]. "
                f'An attribute of that name is written {node.variable}."len".',
            )
        if self.returning and node.variable in self.scope.absent:
            self._fail_absent(node)
        return Kind.INTEGER
