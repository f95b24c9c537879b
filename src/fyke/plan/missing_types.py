"""Event types that a query names and no event has: mostly typing errors."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from fyke.errors import near_misses
from fyke.logical.normal_form import Absence, Alternative, Variable
from fyke.plan.plan import Plan


def named_types(plan: Plan) -> dict[str, tuple[str, ...]]:
    """Return the types that a query names, each with its variables; nothing if no column holds types.

    The keys of a dict of events are types whether or not they have events.
    """
    schema = plan.schema
    if schema.type_column is None or schema.attributes_of is not None:
        return {}
    found: dict[str, dict[str, None]] = {}
    for alternative in plan.alternatives:
        for variable in _variables(alternative):
            if variable.type is not None:
                found.setdefault(variable.type, {})[variable.name] = None
    return {name: tuple(variables) for name, variables in found.items()}


def _variables(part: Alternative | Absence) -> Iterable[Variable]:
    yield from part.variables
    for absence in part.absences:
        yield from _variables(absence)


def missing_types(named: Mapping[str, tuple[str, ...]], there: Collection[str]) -> dict[str, str]:
    """Return the named types that are not among those of the events, each with what may be meant.

    >>> missing_types({"a": ("A",), "B": ("b",)}, ["A", "B"])
    {'a': " 'A' is a type: the type comes first, as in A a."}
    >>> missing_types({"Paymnt": ("p",)}, ["Payment", "Fine"])
    {'Paymnt': " Did you mean 'Payment'?"}
    """
    return {
        name: _swapped(name, variables, there) or near_misses(name, there)
        for name, variables in named.items()
        if name not in there
    }


def _swapped(name: str, variables: Iterable[str], there: Collection[str]) -> str:
    """Return what to say if a variable of a type is itself a type of the events."""
    for variable in variables:
        if variable in there:
            return f" {variable!r} is a type: the type comes first, as in {variable} {name}."
    return ""


def told_missing(missing: Mapping[str, str]) -> str:
    """Return a sentence about each missing type."""
    return " ".join(f"No event is of type {name!r}.{hint}" for name, hint in missing.items())
