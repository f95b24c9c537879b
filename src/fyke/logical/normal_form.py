"""The normal form: a union of OR-free patterns (SEMANTICS 2), the only thing engines see.

An :class:`Alternative` is variables, a strict partial order between them, conditions, absences.
A chain order is [N]'s sequence, a series of antichains is [S]'s sequenced event set, no order is a
conjunction ([L] 4.2, 4.3).  Everything here is plain data; :mod:`fyke.logical.expand` makes it.
"""

from __future__ import annotations

from dataclasses import dataclass

from fyke.language.ast import Expression, Strategy, Window


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of one alternative.  ``type`` None admits every type; ``minimum`` is at least 1."""

    name: str
    type: str | None
    minimum: int
    maximum: int | None
    group: bool


@dataclass(frozen=True, slots=True)
class Condition:
    """A conjunct, holding for every choice of elements of the groups in ``each``.

    Attributes
    ----------
    expression
        The conjunct.  A plain reference to a group is written with ``Index.EACH``; an
        ``Equivalence`` never stands here.
    variables
        Every variable mentioned.
    each
        Groups the conjunct ranges over element by element (``a[i]``, ``a[i-1]``, ``a[..i-1]``).
    lagged
        Those of ``each`` whose range starts at the second element.
    whole
        Groups that must be closed before the conjunct can be decided (``a.len``, ``a[a.len]``,
        aggregates of ``a[]``).
    reached
        Those of ``whole`` of which only elements by number matter (``a[2]``), with the largest number: so
        many elements are enough.

    It is decided when every variable is bound and every group of ``whole`` is closed, or has ``reached`` so
    many elements; over a group of ``each`` that is still open it is decided again for every new element
    ([N] 3.2, step 2).
    """

    expression: Expression
    variables: frozenset[str]
    each: frozenset[str] = frozenset()
    lagged: frozenset[str] = frozenset()
    whole: frozenset[str] = frozenset()
    reached: frozenset[tuple[str, int]] = frozenset()


@dataclass(frozen=True, slots=True)
class Absence:
    """What must not be there: violated when ``variables`` can be bound beside a substitution.

    The added events are distinct from one another and from the bound ones, satisfy ``conditions``
    (which may mention bound variables), the alternative's order, the window over bound and added
    events together, and violate none of the nested ``absences``.
    """

    variables: tuple[Variable, ...]
    conditions: tuple[Condition, ...]
    absences: tuple[Absence, ...] = ()


@dataclass(frozen=True, slots=True)
class Alternative:
    """One OR-free pattern.

    ``order`` holds every pair (u, v) with u before v, transitively closed, over the names of
    positive and absent variables alike.
    """

    variables: tuple[Variable, ...]
    order: frozenset[tuple[str, str]]
    conditions: tuple[Condition, ...]
    absences: tuple[Absence, ...] = ()


@dataclass(frozen=True, slots=True)
class NormalForm:
    """The union of ``alternatives``, each under ``strategy`` by itself, within ``window``.

    ``partition`` are the attributes on which ``[x]`` makes all events of a match, and of an absence
    beside it, agree and be not null.  ``split`` adds those on which equality chains make them agree:
    the work may be parted by them.  ``fingerprint`` identifies the query's meaning.  ``names`` are the
    variables that some alternative binds, in the order in which the pattern names them.
    """

    alternatives: tuple[Alternative, ...]
    partition: tuple[str, ...]
    strategy: Strategy
    window: Window | None
    fingerprint: str
    split: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
