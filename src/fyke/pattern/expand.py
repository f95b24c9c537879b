"""Pattern to OR-free shapes: OR and optional parts become alternatives ([L] 5.2; SEMANTICS 2).

A :class:`Shape` is still without conditions: event declarations, order, absences.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from fyke.errors import (
    DuplicateVariableError,
    EmptyPatternError,
    QueryError,
    TooManyAlternativesError,
    TooManyVariablesError,
)
from fyke.language.ast import And, Event, Not, Or, Pattern, Seq, events
from fyke.limits import Limits

MAX_VARIABLES = 63


@dataclass(frozen=True, slots=True)
class Shape:
    """Declarations, order pairs over all names below, and absent shapes."""

    variables: tuple[Event, ...] = ()
    order: frozenset[tuple[str, str]] = frozenset()
    absences: tuple[Shape, ...] = ()

    def names(self) -> Iterator[str]:
        """Yield the names of all variables, those of absences included."""
        for declaration in self.variables:
            yield declaration.variable
        for absence in self.absences:
            yield from absence.names()


def expand(pattern: Pattern, limits: Limits, text: str | None = None) -> tuple[Shape, ...]:
    """Return the alternatives of a pattern, each binding at least one event, without repetition.

    Raises
    ------
    DuplicateVariableError, EmptyPatternError, TooManyAlternativesError, TooManyVariablesError
    """
    shapes = tuple(dict.fromkeys(shape for shape in _shapes(pattern, limits, text) if shape.variables))
    if not shapes:
        raise EmptyPatternError(
            "the pattern binds no event: a match needs at least one event that is present",
            place=pattern.place,
            text=text,
            remedy="Add an event that must be there beside the absent ones.",
        )
    for shape in shapes:
        _check_names(shape, pattern, text)
    _check_shared_names(shapes, text)
    return shapes


def _shapes(pattern: Pattern, limits: Limits, text: str | None) -> list[Shape]:
    if isinstance(pattern, Event):
        present = Shape((replace(pattern, minimum=max(1, pattern.minimum)),))
        return [Shape(), present] if pattern.minimum == 0 else [present]
    if isinstance(pattern, Or):
        return [shape for part in pattern.parts for shape in _shapes(part, limits, text)]
    if isinstance(pattern, Not):
        return [_absent(pattern, _shapes(pattern.part, limits, text), text)]
    choices = [_shapes(part, limits, text) for part in pattern.parts]
    if math.prod(map(len, choices)) > limits.alternatives:
        raise TooManyAlternativesError(
            f"OR and optional parts multiply into {math.prod(map(len, choices))} alternatives; "
            f"the limit is {limits.alternatives}",
            place=pattern.place,
            text=text,
            remedy="Use fewer optional parts, or raise limits.alternatives.",
        )
    return [_join(pattern, combination) for combination in itertools.product(*choices)]


def _absent(pattern: Not, shapes: list[Shape], text: str | None) -> Shape:
    if any(not shape.variables for shape in shapes):
        raise EmptyPatternError(
            "the absence of something optional, or of an absence alone, can never be told",
            place=pattern.place,
            text=text,
            remedy="Make what must be absent one or more events, as in ~B b or ~SEQ(B b, C c).",
        )
    return Shape((), frozenset().union(*(shape.order for shape in shapes)), tuple(shapes))


def _join(pattern: Seq | And, shapes: tuple[Shape, ...]) -> Shape:
    order: set[tuple[str, str]] = set().union(*(shape.order for shape in shapes))
    if isinstance(pattern, Seq):
        for left, right in itertools.combinations(shapes, 2):
            order.update(itertools.product(left.names(), right.names()))
    return Shape(
        tuple(itertools.chain.from_iterable(shape.variables for shape in shapes)),
        frozenset(order),
        tuple(itertools.chain.from_iterable(shape.absences for shape in shapes)),
    )


def _check_names(shape: Shape, pattern: Pattern, text: str | None) -> None:
    names = list(shape.names())
    for name in names:
        if names.count(name) > 1:
            places = [event.place for event in events(pattern) if event.variable == name]
            raise DuplicateVariableError(
                f"variable {name!r} is declared twice",
                place=places[-1],
                text=text,
                remedy="Give each event of the pattern its own name; only alternatives of OR may share one.",
            )
    if len(names) > MAX_VARIABLES:
        raise TooManyVariablesError(
            f"the pattern has {len(names)} variables in one alternative; the most is {MAX_VARIABLES}",
            place=pattern.place,
            text=text,
            remedy="Split it into labelled queries that feed one another.",
        )


def _check_shared_names(shapes: tuple[Shape, ...], text: str | None) -> None:
    """A name shared by alternatives is single, or a group, and present, or absent, in all of them."""
    seen: dict[str, tuple[Event, bool]] = {}
    for shape in shapes:
        present = {declaration.variable for declaration in shape.variables}
        for declaration in declarations(shape):
            here = (declaration, declaration.variable in present)
            first = seen.setdefault(declaration.variable, here)
            if (first[0].group, first[1]) != (declaration.group, here[1]):
                raise _shared_name_error(declaration, first[0].group != declaration.group, text)


def _shared_name_error(declaration: Event, kinds_differ: bool, text: str | None) -> QueryError:
    clash = "single in one and a group in the other" if kinds_differ else "present in one and absent in the other"
    return DuplicateVariableError(
        f"variable {declaration.variable!r} is shared by alternatives, but it is {clash}",
        place=declaration.place,
        text=text,
        remedy="Give the two different names.",
    )


def declarations(shape: Shape) -> Iterator[Event]:
    """Yield the declarations of a shape, those of its absences included."""
    yield from shape.variables
    for absence in shape.absences:
        yield from declarations(absence)
