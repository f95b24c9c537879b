"""Conjuncts to placed conditions: what each ranges over, and which alternative or absence it is about."""

from __future__ import annotations

from dataclasses import replace

from fyke.errors import UnsupportedQueryError
from fyke.language.ast import (
    Event,
    Expression,
    Index,
    Length,
    Pattern,
    Reference,
    events,
    map_references,
    walk,
)
from fyke.language.unparse import unparse_expression
from fyke.logical.expand import Shape
from fyke.logical.normal_form import Absence, Alternative, Condition, Variable
from fyke.logical.scope import Scope


def spell_out_groups(expression: Expression, scope: Scope) -> Expression:
    """Write plain references to groups as ``a[i].x``, so that one meaning has one form."""

    def spelled(reference: Reference) -> Expression:
        plain = reference.index is Index.NONE and reference.path and scope.is_group(reference.variable)
        return replace(reference, index=Index.EACH) if plain else reference

    return map_references(expression, spelled)


def classify(expression: Expression) -> Condition:
    """Return the condition of a checked conjunct: its variables and how it ranges over groups."""
    variables: set[str] = set()
    each: set[str] = set()
    lagged: set[str] = set()
    whole: set[str] = set()
    reached: dict[str, int] = {}
    for node in walk(expression):
        if isinstance(node, Length):
            variables.add(node.variable)
            whole.add(node.variable)
        elif isinstance(node, Reference):
            variables.add(node.variable)
            if node.index in (Index.EACH, Index.PREVIOUS, Index.BEFORE):
                each.add(node.variable)
            if node.index in (Index.PREVIOUS, Index.BEFORE):
                lagged.add(node.variable)
            if node.index in (Index.LAST, Index.ALL):
                whole.add(node.variable)
            elif node.index is Index.FIRST and node.offset:
                reached[node.variable] = max(reached.get(node.variable, 0), node.offset + 1)
    counted = frozenset((name, count) for name, count in reached.items() if name not in whole)
    return Condition(
        expression,
        frozenset(variables),
        frozenset(each),
        frozenset(lagged),
        frozenset(whole.union(reached)),
        counted,
    )


def place_conditions(shape: Shape, conditions: tuple[Condition, ...], scope: Scope) -> Alternative:
    """Return a shape with the conditions that are about it; conjuncts about other alternatives drop out.

    What no event has a say in is asked of the first one.

    Raises
    ------
    UnsupportedQueryError
        If a condition relates two absences.
    """
    names = set(shape.names())
    first = frozenset({shape.variables[0].variable})
    known = (c if c.variables else replace(c, variables=first) for c in conditions)
    here = [condition for condition in known if condition.variables <= names]
    own = {declaration.variable for declaration in shape.variables}
    absences = tuple(_absence(absence, own, here) for absence in shape.absences)
    placed = [condition for condition in here if condition.variables <= own]
    taken = {id(condition) for condition in (*placed, *_within(absences))}
    for condition in here:
        if id(condition) not in taken:
            raise UnsupportedQueryError(
                f"the condition {unparse_expression(condition.expression)} relates two absences, "
                "and neither is ever bound",
                place=condition.expression.place,
                text=scope.text,
                remedy="Put what must be absent together into one absence: ~SEQ(...) or ~AND(...).",
            )
    return Alternative(tuple(map(_variable, shape.variables)), shape.order, tuple(placed), absences)


def _absence(shape: Shape, outer: set[str], conditions: list[Condition]) -> Absence:
    own = {declaration.variable for declaration in shape.variables}
    visible = outer | own
    placed = tuple(c for c in conditions if c.variables & own and c.variables <= visible)
    nested = tuple(_absence(absence, visible, conditions) for absence in shape.absences)
    return Absence(tuple(map(_variable, shape.variables)), placed, nested)


def _within(absences: tuple[Absence, ...]) -> list[Condition]:
    found: list[Condition] = []
    for absence in absences:
        found += [*absence.conditions, *_within(absence.absences)]
    return found


def _variable(declaration: Event) -> Variable:
    return Variable(
        declaration.variable, declaration.type, declaration.minimum, declaration.maximum, declaration.group
    )


def bound_names(pattern: Pattern, shapes: tuple[Shape, ...]) -> tuple[str, ...]:
    """Return the names of the variables that an alternative binds, in the order the pattern names them."""
    bound = {declaration.variable for shape in shapes for declaration in shape.variables}
    written = dict.fromkeys(declaration.variable for declaration in events(pattern))
    return tuple(name for name in written if name in bound)


def absent_names(pattern: Pattern, shapes: tuple[Shape, ...]) -> frozenset[str]:
    """Return the names of the variables that no alternative binds."""
    written = frozenset(declaration.variable for declaration in events(pattern))
    return written.difference(bound_names(pattern, shapes))
