"""Laws between the strategies, and the definitions against a search that prunes nothing."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

from hypothesis import event, given, settings
from hypothesis import strategies as st

from fyke.language.ast import Binary, Strategy, WindowKind
from fyke.logical.normal_form import Alternative, Condition, NormalForm, Variable
from fyke.reference import Occurrence, before
from fyke.reference.expression import evaluate

from .notation import (
    ANY,
    GREEDY,
    GREEDY_PARTITION,
    GREEDY_STRICT,
    NEXT,
    PARTITION,
    ROBUST,
    STRICT,
    alternative,
    form,
    op,
    run,
)

Positions = frozenset[tuple[str, tuple[int, ...]]]

PATTERNS = [
    "A a ; B b ; C c",
    "A a ; B+ b[] ; C c",
    "A a, B+ b[] ; C c",
    "A+ a[] ; B b",
    "A a ; A+ b[]",
    "A+ a[], B+ b[]",
    "A a ; ~B x ; C c",
    "A+ a[] ; ANY b",
    "A a ; B{2,3} b[]",
    "A a ; B b, ~C x",
]
CONDITIONS = [
    op("a.v", "<=", "b.v"),
    op("b[i].v", ">=", "b[i-1].v"),
    op("sum(b[].v)", "<", 4),
    op("b.len", ">=", 2),
    op("a[i].v", "<", "b[i].v"),
    op("b[i].v", ">=", "avg(b[..i-1].v)"),
    op("b[len].v", "=", "c.v"),
]


def _fits(conjunct: Binary, pattern: str) -> bool:
    """Say whether each variable of a conjunct is single or a group as the conjunct takes it."""
    built = alternative(pattern, conjunct)
    names = {variable.name: variable.group for variable in built.variables}
    mentioned = [condition for condition in built.conditions if condition.variables <= names.keys()]
    return bool(mentioned) and all(
        names[name] == (name in condition.each | condition.whole)
        for condition in mentioned
        for name in condition.variables
    )


@st.composite
def cases(draw: st.DrawFn) -> tuple[NormalForm, list[Occurrence]]:
    """Draw a query without a strategy and a small stream, with ties and sometimes intervals."""
    pattern = draw(st.sampled_from(PATTERNS))
    fitting = [conjunct for conjunct in CONDITIONS if _fits(conjunct, pattern)]
    conjuncts = draw(st.lists(st.sampled_from(fitting), max_size=1)) if fitting else []
    by = draw(st.sampled_from([(), (), ("k",)]))
    within, counted = draw(st.sampled_from([(None, None), (3, None), (6, None), (None, 4)]))
    tied = draw(st.booleans())
    kinds = "".join(draw(st.lists(st.sampled_from(["ABC", "ABBC", "AB", "AAC", "BBC", "X"]), min_size=2)))[:8]
    rows = []
    end = 0
    for kind in kinds:
        end += draw(st.sampled_from([1, 0, 1, 2]))
        length = draw(st.sampled_from([0, 0, 0, 0, 0, 2]))
        values = {
            "v": draw(st.sampled_from([1, 2, 3, 2, 0, None])),
            "k": draw(st.sampled_from([1, 1, 1, 1, 2, None])),
        }
        rows.append((kind, end - length, end, values))
    events = [
        Occurrence(place, kind, start, end, (place,) if tied else None, values)
        for place, (kind, start, end, values) in enumerate(rows)
    ]
    return form(alternative(pattern, *conjuncts), by=by, within=within, events=counted), events


def _found(query: NormalForm, events: list[Occurrence], strategy: Strategy) -> set[Positions]:
    matches = run(replace(query, strategy=strategy), events)
    found = {frozenset(match.positions.items()) for match in matches}
    assert len(found) == len(matches)
    return found


@settings(max_examples=300, deadline=None)
@given(cases())
def test_strategies_contain_one_another(case: tuple[NormalForm, list[Occurrence]]) -> None:
    query, events = case
    found = {strategy: _found(query, events, strategy) for strategy in Strategy}
    assert found[GREEDY] <= found[ROBUST] <= found[ANY]
    assert found[NEXT] <= found[ANY]
    assert found[STRICT] <= found[PARTITION] <= found[NEXT]
    assert found[GREEDY_PARTITION] <= found[PARTITION]
    assert found[GREEDY_STRICT] <= found[STRICT]
    event("matches" if found[ANY] else "no match")


@settings(max_examples=300, deadline=None)
@given(cases())
def test_greedy_contiguity_reports_what_nothing_extends(case: tuple[NormalForm, list[Occurrence]]) -> None:
    query, events = case
    kept = [condition for condition in query.alternatives[0].conditions if not condition.whole]
    bare = replace(query.alternatives[0], absences=(), conditions=tuple(kept))
    query = replace(query, alternatives=(bare,))
    for greedy, plain in ((GREEDY_PARTITION, PARTITION), (GREEDY_STRICT, STRICT)):
        matches = _found(query, events, plain)
        final = {each for each in matches if not any(_extends(other, each) for other in matches)}
        assert _found(query, events, greedy) == final


def _extends(other: Positions, match: Positions) -> bool:
    """Say whether ``other`` starts with the same event, and binds all that ``match`` does and more."""
    more = dict(other)
    first, begins = (min(min(places) for _, places in each) for each in (match, other))
    return (
        other != match and first == begins and all(set(at) <= set(more.get(name, ())) for name, at in match)
    )


@settings(max_examples=300, deadline=None)
@given(cases())
def test_any_match_and_robust_are_their_definitions(case: tuple[NormalForm, list[Occurrence]]) -> None:
    query, events = case
    query = replace(query, alternatives=tuple(replace(part, absences=()) for part in query.alternatives))
    defined = set(_defined(query, events[:6]))
    assert _found(query, events[:6], ANY) == defined
    kept = {match for match in defined if not any(_beats(other, match) for other in defined)}
    assert _found(query, events[:6], ROBUST) == kept


def _beats(other: Positions, match: Positions) -> bool:
    """Say whether ``other`` begins like ``match`` and then takes an earlier event."""
    theirs, ours = (sorted((at, name) for name, places in m for at in places) for m in (other, match))
    return any(
        theirs[:length] == ours[:length] and len(theirs) > length and theirs[length][0] < ours[length][0]
        for length in range(1, len(ours))
    )


def _defined(query: NormalForm, events: list[Occurrence]) -> Iterator[Positions]:
    """Try every assignment of events to variables, and check each when it is complete."""
    (pattern,) = query.alternatives
    lists = [list(_lists(variable, events)) for variable in pattern.variables]
    for chosen in itertools.product(*lists):
        bindings = {variable.name: bound for variable, bound in zip(pattern.variables, chosen, strict=True)}
        if _is_match(query, pattern, bindings, events):
            yield frozenset((name, tuple(e.position for e in bound)) for name, bound in bindings.items())


def _lists(variable: Variable, events: list[Occurrence]) -> Iterator[tuple[Occurrence, ...]]:
    admitted = [e for e in events if variable.type in (None, e.type)]
    for size in range(variable.minimum, min(variable.maximum or len(admitted), len(admitted)) + 1):
        yield from itertools.combinations(admitted, size)


def _is_match(
    query: NormalForm,
    pattern: Alternative,
    bindings: dict[str, tuple[Occurrence, ...]],
    events: list[Occurrence],
) -> bool:
    bound = [e for elements in bindings.values() for e in elements]
    if len(set(bound)) < len(bound):
        return False
    for elements in bindings.values():
        for x, y in itertools.pairwise(elements):
            if not (before(x, y) or x.start == x.end == y.start == y.end):
                return False
    keys = [tuple(e.values[name] for name in query.partition) for e in bound]
    if any(key != keys[0] or None in key for key in keys):
        return False
    if not all(
        before(x, y)
        for u, v in pattern.order
        if {u, v} <= bindings.keys()
        for x in bindings[u]
        for y in bindings[v]
    ):
        return False
    if query.window is not None and query.window.kind is WindowKind.EVENTS:
        places = [e.position for e in bound]
        same = [e for e in events if tuple(e.values[name] for name in query.partition) == keys[0]]
        if sum(min(places) <= e.position <= max(places) for e in same) > query.window.amount:
            return False
    elif (
        query.window is not None
        and max(e.end for e in bound) - min(e.start for e in bound) > query.window.amount
    ):
        return False
    return all(_holds(condition, bindings) for condition in pattern.conditions)


def _holds(condition: Condition, bindings: dict[str, tuple[Occurrence, ...]]) -> bool:
    every = [
        [(name, at) for at in range(len(elements)) if at or name not in condition.lagged]
        for name, elements in bindings.items()
        if name in condition.each or (name in condition.variables and name not in condition.whole)
    ]
    return all(
        evaluate(condition.expression, bindings, dict(chosen)) is True for chosen in itertools.product(*every)
    )
