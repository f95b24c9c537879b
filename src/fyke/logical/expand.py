"""Pattern to OR-free shapes: OR and optional parts become alternatives ([L] 5.2; SEMANTICS 2).

A :class:`Shape` is still without conditions: event declarations, order, absences.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from fyke.errors import (
    DuplicateVariableError,
    EmptyPatternError,
    TooManyAlternativesError,
    TooManyVariablesError,
)
from fyke.language.ast import And, Event, Funnel, Not, Opt, Or, Pattern, Seq
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
    if not isinstance(pattern, Funnel):  # the step that is not reached is absent
        _check_shared_names(shapes, text)
    return shapes


def _shapes(pattern: Pattern, limits: Limits, text: str | None) -> list[Shape]:
    if isinstance(pattern, Event):
        present = Shape((replace(pattern, minimum=max(1, pattern.minimum)),))
        return [Shape(), present] if pattern.minimum == 0 else [present]
    if isinstance(pattern, Opt):
        return [Shape(), *_shapes(pattern.part, limits, text)]
    if isinstance(pattern, Not):
        return [_absent(pattern, _shapes(pattern.part, limits, text), text)]
    choices = [_shapes(part, limits, text) for part in pattern.parts]
    sizes = [len(each) for each in choices]
    if (math.prod(sizes) if isinstance(pattern, (Seq, And)) else sum(sizes)) > limits.alternatives:
        raise TooManyAlternativesError(
            f"OR and optional parts make more than {limits.alternatives} alternatives",
            place=pattern.place,
            text=text,
            remedy="Use fewer of them, for each optional part doubles the number, or raise the limit "
            "'alternatives'.",
        )
    if isinstance(pattern, Or):
        return list(itertools.chain.from_iterable(choices))
    if isinstance(pattern, Funnel):
        return _prefixes(pattern, text)
    return [_join(pattern, combination, text) for combination in itertools.product(*choices)]


def _prefixes(pattern: Funnel, text: str | None) -> list[Shape]:
    """Return the first steps of a funnel, for each number of them: the next one is absent."""
    events = [part for part in pattern.parts if isinstance(part, Event)]
    steps = [Shape((event,)) for event in events]
    _check_names(pattern, tuple(steps), text)
    shapes = []
    for reached in range(1, len(steps) + 1):
        absent = [Shape((), frozenset(), (step,)) for step in steps[reached : reached + 1]]
        shapes.append(_join(Seq(pattern.parts, place=pattern.place), (*steps[:reached], *absent), text))
    return shapes


def _absent(pattern: Not, shapes: list[Shape], text: str | None) -> Shape:
    if any(not shape.variables for shape in shapes):
        raise EmptyPatternError(
            "the absence of something optional, or of an absence alone, can never be told",
            place=pattern.place,
            text=text,
            remedy="Make what must be absent one or more events, as in ~B b or ~SEQ(B b, C c).",
        )
    kept = _least(shapes)
    twice = _declared_twice(kept)
    if twice is not None:
        raise DuplicateVariableError(
            f"variable {twice.variable!r} is shared by alternatives inside an absence",
            place=twice.place,
            text=text,
            remedy="Inside an absence, give each alternative of OR names of its own, and put no optional "
            "part beside another absence.",
        )
    return Shape((), frozenset().union(*(shape.order for shape in kept)), kept)


def _least(shapes: list[Shape]) -> tuple[Shape, ...]:
    """Leave out what cannot be there anyway: where no B b may be, there is no SEQ(A a, B b) either."""
    different = {shape: set(shape.variables) for shape in shapes}

    def contains(whole: Shape, part: Shape) -> bool:
        nested = whole.absences or part.absences
        return not nested and different[part] < different[whole] and part.order <= whole.order

    return tuple(shape for shape in different if not any(contains(shape, other) for other in different))


def _join(pattern: Seq | And, shapes: tuple[Shape, ...], text: str | None) -> Shape:
    _check_names(pattern, shapes, text)
    order: set[tuple[str, str]] = set().union(*(shape.order for shape in shapes))
    if isinstance(pattern, Seq):
        for left, right in itertools.combinations(shapes, 2):
            order.update(itertools.product(left.names(), right.names()))
    return Shape(
        tuple(itertools.chain.from_iterable(shape.variables for shape in shapes)),
        frozenset(order),
        tuple(itertools.chain.from_iterable(shape.absences for shape in shapes)),
    )


def _check_names(pattern: Pattern, shapes: tuple[Shape, ...], text: str | None) -> None:
    """Check names before order pairs are made of them: their number grows with the square."""
    count = sum(1 for shape in shapes for _ in shape.names())
    if count > MAX_VARIABLES:
        raise TooManyVariablesError(
            f"{count} variables stand together in the pattern; the most is {MAX_VARIABLES}",
            place=pattern.place,
            text=text,
            remedy="Use a group, as in Type+ v[], for events that repeat, or split the query into labelled "
            "queries that feed one another.",
        )
    twice = _declared_twice(shapes)
    if twice is not None:
        raise DuplicateVariableError(
            f"variable {twice.variable!r} is declared twice",
            place=twice.place,
            text=text,
            remedy="Give each event of the pattern its own name; only alternatives of OR may share one.",
        )


def _declared_twice(shapes: Iterable[Shape]) -> Event | None:
    seen: set[str] = set()
    for shape in shapes:
        for declaration in declarations(shape):
            if declaration.variable in seen:
                return declaration
            seen.add(declaration.variable)
    return None


def _check_shared_names(shapes: tuple[Shape, ...], text: str | None) -> None:
    """Check that alternatives sharing a name agree: single or group, present or absent."""
    seen: dict[str, tuple[Event, bool]] = {}
    for shape in shapes:
        present = {declaration.variable for declaration in shape.variables}
        for declaration in declarations(shape):
            here = (declaration, declaration.variable in present)
            first = seen.setdefault(declaration.variable, here)
            if (first[0].group, first[1]) != (declaration.group, here[1]):
                kinds = "single in one and a group in the other"
                presence = "present in one and absent in the other"
                clash = kinds if first[0].group != declaration.group else presence
                raise DuplicateVariableError(
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
