"""A query with the options that matter to its matches, as one value that can be changed and run again."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from fyke.language.ast import (
    And,
    Equivalence,
    Event,
    Expression,
    Funnel,
    Length,
    Not,
    Opt,
    Or,
    Pattern,
    Reference,
    Seq,
    events,
    walk,
)
from fyke.language.query import Query


@dataclass(frozen=True, slots=True)
class Setup:
    """What is asked, without RETURN, and how: ties in the order of the rows, touching, complete windows."""

    query: Query
    ties: bool = False
    touching: bool = False
    complete_windows: bool = False


def asked(query: Query) -> Query:
    """Return a query without its RETURN and label, which have no say in what matches."""
    return replace(query, returns=None, label=None)


def variables_in(expression: Expression) -> set[str]:
    """Return the variables that an expression mentions."""
    return {node.variable for node in walk(expression) if isinstance(node, (Reference, Length))}


def absences(pattern: Pattern) -> list[Not]:
    """Return the absences of a pattern, the outermost ones."""
    if isinstance(pattern, Not):
        return [pattern]
    if isinstance(pattern, Event):
        return []
    parts = (pattern.part,) if isinstance(pattern, Opt) else pattern.parts
    return [found for part in parts for found in absences(part)]


def present(pattern: Pattern) -> list[Event]:
    """Return the events of a pattern that may be bound, in the order in which they are written."""
    absent = {id(each) for absence in absences(pattern) for each in events(absence)}
    return [each for each in events(pattern) if id(each) not in absent]


def with_pattern(query: Query, pattern: Pattern) -> Query:
    """Return a query over another pattern; conditions that mention variables it lacks are dropped."""
    known = {each.variable for each in events(pattern)}
    kept = tuple(
        each for each in query.conditions if isinstance(each, Equivalence) or variables_in(each) <= known
    )
    return replace(query, pattern=pattern, conditions=kept)


def without_condition(query: Query, condition: Expression) -> Query:
    """Return a query without one of its conjuncts, known by identity."""
    return replace(query, conditions=tuple(each for each in query.conditions if each is not condition))


def with_condition(query: Query, old: Expression, new: Expression) -> Query:
    """Return a query with one of its conjuncts, known by identity, replaced."""
    return replace(query, conditions=tuple(new if each is old else each for each in query.conditions))


def without_agreement(query: Query, attribute: str) -> Query:
    """Return a query whose events need not agree on an attribute."""
    kept: list[Expression] = []
    for each in query.conditions:
        if isinstance(each, Equivalence):
            rest = tuple(name for name in each.attributes if name != attribute)
            if rest:
                kept.append(replace(each, attributes=rest))
        else:
            kept.append(each)
    return replace(query, conditions=tuple(kept))


def agreements(query: Query) -> list[str]:
    """Return the attributes of ``[x]``."""
    found = [each.attributes for each in query.conditions if isinstance(each, Equivalence)]
    return list(dict.fromkeys(name for names in found for name in names))


def pruned(pattern: Pattern, keep: Callable[[Event | Not], bool]) -> Pattern | None:
    """Return a pattern with only those of its events and absences that are to be kept."""
    if isinstance(pattern, (Event, Not)):
        return pattern if keep(pattern) else None
    if isinstance(pattern, Opt):
        inner = pruned(pattern.part, keep)
        return None if inner is None else replace(pattern, part=inner)
    parts = tuple(part for part in (pruned(each, keep) for each in pattern.parts) if part is not None)
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else replace(pattern, parts=parts)


def without_absences(query: Query, variables: Collection[str] | None = None) -> Query:
    """Return a query without the absences of some variables, or of any."""

    def keep(each: Event | Not) -> bool:
        if isinstance(each, Event):
            return True
        return variables is not None and not any(event.variable in variables for event in events(each))

    pattern = pruned(query.pattern, keep)
    assert pattern is not None  # a pattern binds an event
    return with_pattern(query, pattern)


def made_present(query: Query, absence: Not) -> Query:
    """Return a query in which the events of an absence are to be there, and no other absence is left."""

    def change(pattern: Pattern) -> Pattern:
        if pattern == absence:
            return absence.part
        if isinstance(pattern, (Event, Not)):
            return pattern
        if isinstance(pattern, Opt):
            return replace(pattern, part=change(pattern.part))
        return replace(pattern, parts=tuple(map(change, pattern.parts)))

    return without_absences(replace(query, pattern=change(query.pattern)))


def changed_event(query: Query, variable: str, change: Callable[[Event], Event]) -> Query:
    """Return a query with the declaration of a variable changed."""

    def changed(pattern: Pattern) -> Pattern:
        if isinstance(pattern, Event):
            return change(pattern) if pattern.variable == variable else pattern
        if isinstance(pattern, (Not, Opt)):
            return replace(pattern, part=changed(pattern.part))
        return replace(pattern, parts=tuple(map(changed, pattern.parts)))

    return replace(query, pattern=changed(query.pattern))


def in_any_order(query: Query) -> Query:
    """Return a query without absences whose events may come in any order."""

    def loose(pattern: Pattern) -> Pattern:
        if isinstance(pattern, (Event, Not)):
            return pattern
        if isinstance(pattern, Opt):
            return replace(pattern, part=loose(pattern.part))
        parts = tuple(map(loose, pattern.parts))
        return And(parts) if isinstance(pattern, Seq) else replace(pattern, parts=parts)

    bare = without_absences(query)
    return replace(bare, pattern=loose(bare.pattern))


def is_ordered(pattern: Pattern) -> bool:
    """Say whether a pattern puts events in sequence, and is no funnel."""
    if isinstance(pattern, Funnel):
        return False
    nodes = [node for node in walk(pattern) if isinstance(node, Seq)]
    return any(len(present(node)) > 1 for node in nodes)


def first_steps(query: Query, names: Collection[str]) -> Query:
    """Return a query for some of its events only, without absences; the last group is as short as it may be.

    An alternative without any of these events is left out, and so is what is optional.
    """

    def keep(each: Event | Not) -> bool:
        return isinstance(each, Event) and each.variable in names

    pattern = pruned(query.pattern, keep)
    assert pattern is not None
    pattern = _of_all(pattern, names)
    return with_pattern(query, pattern)


def _of_all(pattern: Pattern, names: Collection[str]) -> Pattern:
    """Return a pattern whose optional events must be there, and without alternatives to others."""
    if isinstance(pattern, Event):
        minimum = max(1, pattern.minimum)
        return replace(pattern, minimum=minimum, maximum=pattern.maximum if pattern.group else 1)
    if isinstance(pattern, Opt):
        return _of_all(pattern.part, names)
    if isinstance(pattern, Not):
        return pattern
    if isinstance(pattern, Or):
        best = max(pattern.parts, key=lambda part: len(present(part)))
        return _of_all(best, names)
    parts = tuple(_of_all(part, names) for part in pattern.parts)
    if isinstance(pattern, Funnel):
        return Seq(parts) if len(parts) > 1 else parts[0]
    return replace(pattern, parts=parts)
