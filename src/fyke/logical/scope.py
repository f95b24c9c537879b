"""What the names of a query stand for: variables, their attributes and types."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from fyke.errors import (
    Place,
    UnknownAttributeError,
    UnknownTypeError,
    UnknownVariableError,
    UnsupportedQueryError,
    listed,
    near_misses,
)
from fyke.language.ast import Call, Event, Expression, Pattern, Reference, events
from fyke.logical.schema import EventSchema

InferType = Callable[[Expression, tuple[str, ...]], "pa.DataType | None"]


@dataclass(frozen=True, slots=True)
class Scope:
    """Variables by name with their declarations, and the schema their attributes come from.

    ``infer`` asks the input's own SQL dialect for the type of an expression over one event whose
    function Fyke does not know (None: there is no such dialect, as for a table).  ``functions`` are
    the names of user functions and how many arguments they take.
    """

    schema: EventSchema
    variables: dict[str, tuple[Event, ...]]
    absent: frozenset[str]
    text: str | None
    infer: InferType | None = None
    functions: dict[str, int] | None = None

    def is_group(self, name: str) -> bool:
        """Say whether a declared variable binds a group."""
        return self.variables[name][0].group

    def require_variable(self, name: str, place: Place | None) -> None:
        """Raise UnknownVariableError if the pattern does not declare ``name``."""
        if name not in self.variables:
            hint = near_misses(name, self.variables)
            if name in self.schema.columns:
                example = f"{next(iter(self.variables))}.{name}"
                hint = f" {name!r} is an attribute: say of which event, as in {example}."
            raise UnknownVariableError(
                f"unknown variable {name!r}",
                place=place,
                text=self.text,
                remedy=f"The pattern declares {listed(self.variables)}.{hint}",
            )

    def attribute_type(self, variable: str, path: tuple[str, ...], place: Place | None) -> pa.DataType:
        """Return the Arrow type of ``variable.path``, or raise UnknownAttributeError."""
        for declaration in self.variables[variable]:
            known = self.schema.attributes(declaration.type)
            if path[0] not in known:
                shared = self.schema.attributes_of is None or declaration.type is None
                owner = "the events" if shared else f"the events of type {declaration.type!r}"
                raise UnknownAttributeError(
                    f"variable {variable!r} has no attribute {path[0]!r}",
                    place=place,
                    text=self.text,
                    remedy=f"The attributes of {owner} are {listed(known)}.{near_misses(path[0], known)}",
                )
        arrow = self.schema.columns[path[0]]
        for depth, name in enumerate(path[1:], start=1):
            fields = {f.name: f.type for f in arrow} if pa.types.is_struct(arrow) else {}
            if name not in fields:
                has = f"has the fields {listed(fields)}" if fields else f"is {arrow} and has no fields"
                raise UnknownAttributeError(
                    f"{'.'.join((variable, *path[:depth]))} has no field {name!r}",
                    place=place,
                    text=self.text,
                    remedy=f"The attribute {'.'.join(path[:depth])} {has}.{near_misses(name, fields)}",
                )
            arrow = fields[name]
        return arrow

    def type_at(self, node: Expression) -> pa.DataType | None:
        """Return the type of a reference or of a call that the language does not know.

        A reference to the variable ``""`` is to an attribute that all events have; a whole event has no type.
        """
        if isinstance(node, Reference):
            if node.variable == "":
                return self.schema.columns[node.path[0]]
            return self.attribute_type(node.variable, node.path, node.place) if node.path else None
        assert isinstance(node, Call)
        if self.functions is not None and node.function in self.functions:
            return pa.float64()
        return None if self.infer is None else self.infer(node, self.schema.attributes(None))


def make_scope(
    pattern: Pattern,
    absent: frozenset[str],
    schema: EventSchema,
    text: str | None,
    infer: InferType | None = None,
    functions: dict[str, int] | None = None,
) -> Scope:
    """Collect the declarations of a pattern and check their event types against the schema.

    Raises
    ------
    UnknownTypeError
        If the inputs are a dict that lacks a type.
    UnsupportedQueryError
        If there is no type column and the pattern names more than one type.
    """
    variables: dict[str, tuple[Event, ...]] = {}
    for declaration in events(pattern):
        _check_type(declaration, schema, text)
        variables[declaration.variable] = (*variables.get(declaration.variable, ()), declaration)
    named = {event.type: event for event in events(pattern) if event.type is not None}
    if schema.type_column is None and len(named) > 1:
        extra = list(named.values())[1]
        raise UnsupportedQueryError(
            f"the pattern names the types {', '.join(map(repr, named))}, but the events have no type column",
            place=extra.place,
            text=text,
            remedy="Give type='column', or a dict {type: events}; without either a pattern names one type.",
        )
    # The type of one call is asked for more than once.
    return Scope(schema, variables, absent, text, infer and functools.cache(infer), functions)


def _check_type(declaration: Event, schema: EventSchema, text: str | None) -> None:
    if declaration.type is None or schema.attributes_of is None:
        return
    if declaration.type not in schema.attributes_of:
        raise UnknownTypeError(
            f"unknown event type {declaration.type!r}",
            place=declaration.place,
            text=text,
            remedy=f"The inputs are {listed(schema.attributes_of)}."
            f"{near_misses(declaration.type, schema.attributes_of)}",
        )
