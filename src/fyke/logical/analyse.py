"""Query and schema to a legal, typed normal form: valid first, fast later.

After :func:`analyse` every name is known, every type fits, every window can be measured, and the
pattern is a union of OR-free alternatives with its conditions placed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace

from fyke.errors import MissingWindowError, TypeClashError
from fyke.language.ast import Equivalence, Expression, Funnel, events
from fyke.language.query import Query
from fyke.language.unparse import unparse_expression
from fyke.limits import Limits
from fyke.logical.check import Checker
from fyke.logical.check_window import check_window_holds, measure_window
from fyke.logical.constants import always_holds
from fyke.logical.contradictions import find_contradiction
from fyke.logical.expand import expand
from fyke.logical.kinds import comparable, kind_of
from fyke.logical.normal_form import Alternative, NormalForm
from fyke.logical.partition import chained_attributes, drop_implied
from fyke.logical.place_conditions import (
    absent_names,
    bound_names,
    classify,
    place_conditions,
    spell_out_groups,
)
from fyke.logical.returns import Output, analyse_returns
from fyke.logical.schema import EventSchema
from fyke.logical.scope import InferType, Scope, make_scope
from fyke.logical.value_types import spell_out_decimals


@dataclass(frozen=True, slots=True)
class Analysed:
    """A query that fits its events.

    ``window`` is in units of the time column, or a number of events for WITHIN n EVENTS, or None.
    """

    query: Query
    schema: EventSchema
    form: NormalForm
    window: int | None
    output: Output
    functions: dict[str, int]


def analyse(
    query: Query,
    schema: EventSchema,
    limits: Limits = Limits(),
    *,
    infer: InferType | None = None,
    functions: dict[str, int] | None = None,
) -> Analysed:
    """Check a query against the schema of its events and bring it into normal form.

    Raises
    ------
    QueryError
        One of its subclasses, with the place in the query.
    """
    shapes = expand(query.pattern, limits, query.text)
    scope = make_scope(
        query.pattern, absent_names(query.pattern, shapes), schema, query.text, infer, functions
    )
    equivalences = _equivalences(query, scope)
    conjuncts = _conjuncts(query, scope)
    conditions = tuple(classify(conjunct) for conjunct in conjuncts)
    find_contradiction(query.pattern, conditions, scope, limits)
    alternatives = tuple(place_conditions(shape, conditions, scope) for shape in shapes)
    chained = chained_attributes(alternatives, query.strategy, query.window)
    alternatives = tuple(drop_implied(alternative, equivalences) for alternative in alternatives)
    window = measure_window(query, schema)
    check_window_holds(alternatives, query, schema, window)
    _check_absences_end(alternatives, query)
    names = bound_names(query.pattern, shapes)
    output = analyse_returns(query, scope, names, equivalences)
    form = NormalForm(
        alternatives,
        equivalences,
        query.strategy,
        query.window,
        fingerprint(query, conjuncts, equivalences),
        tuple(dict.fromkeys((*equivalences, *chained))),
        names,
    )
    return Analysed(query, schema, form, window, output, functions or {})


def fingerprint(query: Query, conjuncts: Iterable[Expression], equivalences: Iterable[str]) -> str:
    """Return a hash of what a query means: not of its layout, label or the order of its conditions."""
    texts = sorted({unparse_expression(conjunct) for conjunct in conjuncts})
    agreed = Equivalence(tuple(sorted(set(equivalences))))
    bare = replace(query, conditions=(), label=None)
    canonical = "\n".join([str(bare), unparse_expression(agreed) if agreed.attributes else "", *texts])
    return hashlib.blake2b(canonical.encode(), digest_size=16).hexdigest()


def _equivalences(query: Query, scope: Scope) -> tuple[str, ...]:
    """Return the attributes of the ``[x]`` conjuncts; every variable must have them."""
    found: dict[str, None] = {}
    for conjunct in query.conditions:
        if isinstance(conjunct, Equivalence):
            for attribute in conjunct.attributes:
                for variable in scope.variables:
                    arrow = scope.attribute_type(variable, (attribute,), conjunct.place)
                    if not comparable(kind_of(arrow), kind_of(arrow)):
                        raise TypeClashError(
                            f"[{attribute}] needs values that can be compared, found {arrow}",
                            place=conjunct.place,
                            text=query.text,
                            remedy="Agree on a number, a string, a time or a boolean.",
                        )
                found[attribute] = None
    return tuple(found)


def _conjuncts(query: Query, scope: Scope) -> tuple[Expression, ...]:
    checker = Checker(scope)
    conjuncts = []
    for conjunct in query.conditions:
        if not isinstance(conjunct, Equivalence):
            checker.condition(conjunct)
            if not always_holds(conjunct):
                conjuncts.append(spell_out_decimals(spell_out_groups(conjunct, scope), scope.type_at))
    return tuple(conjuncts)


def _check_absences_end(alternatives: tuple[Alternative, ...], query: Query) -> None:
    """Without a window an absence must lie between two events that are present."""
    if query.window is not None:
        return
    for alternative in alternatives:
        present = {variable.name for variable in alternative.variables}
        for absence in alternative.absences:
            for variable in absence.variables:
                after = any(u == variable.name and v in present for u, v in alternative.order)
                before = any(v == variable.name and u in present for u, v in alternative.order)
                if not (after and before):
                    if isinstance(query.pattern, Funnel):
                        raise MissingWindowError(
                            "a funnel needs a window: how long after its first step another one counts",
                            place=query.pattern.place,
                            text=query.text,
                            remedy="Add one, as in WITHIN 12 hours.",
                        )
                    raise MissingWindowError(
                        f"the absence of {variable.name!r} reaches as far as the window, and there is none",
                        place=next(e.place for e in events(query.pattern) if e.variable == variable.name),
                        text=query.text,
                        remedy="Add a window, as in WITHIN 12 hours, or put the absence between two events.",
                    )
