"""All the ways to ask for less: each part of a query, taken away by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from fyke.diagnosis.numbered import Numbered
from fyke.diagnosis.setup import (
    Setup,
    absences,
    agreements,
    changed_event,
    in_any_order,
    is_ordered,
    present,
    with_condition,
    without_absences,
    without_agreement,
    without_condition,
)
from fyke.language.ast import (
    Binary,
    Equivalence,
    Event,
    Strategy,
    Window,
    WindowKind,
    events,
)
from fyke.language.query import Query
from fyke.language.unparse import unparse_expression, unparse_pattern

FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_LOOSER = {
    Strategy.STRICT: (Strategy.PARTITION, Strategy.NEXT, Strategy.ANY),
    Strategy.GREEDY_STRICT: (Strategy.STRICT, Strategy.GREEDY_PARTITION, Strategy.NEXT, Strategy.ANY),
    Strategy.PARTITION: (Strategy.NEXT, Strategy.ANY),
    Strategy.GREEDY_PARTITION: (Strategy.PARTITION, Strategy.NEXT, Strategy.ANY),
    Strategy.NEXT: (Strategy.ANY,),
    Strategy.GREEDY: (Strategy.NEXT, Strategy.ANY),
    Strategy.ROBUST: (Strategy.ANY,),
    Strategy.ANY: (),
}


@dataclass(frozen=True, slots=True)
class Relaxation:
    """A part of a query taken away.

    ``cause`` is what is to blame if there is a match then.  ``cost`` says how much less is asked, roughly:
    if several changes give a match, the cheapest is told first.  ``subject`` is the part.  A way that
    ``turns`` a comparison round is worth trying only if the query has a match without it.
    """

    cause: str
    cost: float
    words: str
    change: Callable[[Setup], Setup]
    subject: Any = None
    turns: bool = False


def relaxations(setup: Setup, events_: Numbered) -> list[Relaxation]:
    """Return the ways to ask for less, the smallest changes first."""
    query = setup.query
    found = [*_of_time(setup, events_), *_windows(query, events_), *_conditions(query)]
    for attribute in agreements(query):
        found.append(
            Relaxation(
                "key", 4.0, f"leave [{attribute}] out", _on_query(without_agreement, attribute), attribute
            )
        )
    for absence in absences(query.pattern):
        names = frozenset(each.variable for each in events(absence))
        words = f"leave {unparse_pattern(absence)} out"
        found.append(Relaxation("absence", 1.6, words, _on_query(without_absences, names), absence))
    for rank, strategy in enumerate(_LOOSER[query.strategy]):
        found.append(
            Relaxation("strategy", 2.5 + rank / 10, strategy.value, _with_strategy(strategy), strategy)
        )
    found += [each for event in present(query.pattern) for each in _of_event(event, events_)]
    if is_ordered(query.pattern):
        found.append(Relaxation("order", 3.5, "any order", _on_query(in_any_order)))
    return sorted(found, key=lambda each: each.cost)


def _on_query(change: Callable[..., Query], *arguments: Any) -> Callable[[Setup], Setup]:
    return lambda setup: replace(setup, query=change(setup.query, *arguments))


def _with_strategy(strategy: Strategy) -> Callable[[Setup], Setup]:
    return lambda setup: replace(setup, query=replace(setup.query, strategy=strategy))


def _of_time(setup: Setup, events_: Numbered) -> Iterable[Relaxation]:
    """Yield what has to do with the order of events in time."""
    if setup.complete_windows:
        yield Relaxation(
            "complete_windows",
            1.0,
            "complete_windows=False",
            lambda each: replace(each, complete_windows=False),
        )
    if not events_.schema.points and not setup.touching:
        yield Relaxation("touching", 1.0, "touching='before'", lambda each: replace(each, touching=True))
    if not setup.ties:
        yield Relaxation(
            "tie", 1.2, "a tie_breaker that orders events of one time", lambda each: replace(each, ties=True)
        )


def _windows(query: Query, events_: Numbered) -> list[Relaxation]:
    """Return longer windows, up to one that holds all events."""
    window = query.window
    if window is None or events_.full.num_rows == 0:
        return []
    most = whole_window(window, events_)
    found: list[Relaxation] = []
    for rank, factor in enumerate((4, 64, None)):
        amount = most if factor is None else min(most, window.amount * factor)
        if amount > window.amount and (not found or amount > found[-1].subject.amount):
            longer = replace(window, amount=amount)
            found.append(Relaxation("window", 1.3 + rank, "a longer window", with_window(longer), longer))
    return found


def with_window(window: Window) -> Callable[[Setup], Setup]:
    """Return the change of a window."""
    return lambda setup: replace(setup, query=replace(setup.query, window=window))


def whole_window(window: Window, events_: Numbered) -> int:
    """Return the length of a window that holds all events."""
    if window.kind is WindowKind.EVENTS:
        return int(events_.full.num_rows)
    return window_amount(window, int(events_.ends.max()) - int(events_.starts.min()), events_)


def window_amount(window: Window, length: int, events_: Numbered) -> int:
    """Return what a window of a length, in units of the time column, is to say."""
    if window.kind is WindowKind.DURATION:
        return max(1, int(length) * (events_.schema.unit or 1))
    return max(1, int(length))


def _conditions(query: Query) -> Iterable[Relaxation]:
    for condition in query.conditions:
        if isinstance(condition, Equivalence):
            continue
        text = unparse_expression(condition)
        yield Relaxation(
            "condition", 3.0, f"leave {text} out", _on_query(without_condition, condition), condition
        )
        if isinstance(condition, Binary) and condition.operator in FLIPPED:
            turned = replace(condition, operator=FLIPPED[condition.operator])
            yield Relaxation(
                "condition",
                5.0,
                unparse_expression(turned),
                _on_query(with_condition, condition, turned),
                condition,
                turns=True,
            )


def _of_event(event: Event, events_: Numbered) -> Iterable[Relaxation]:
    name = event.variable
    if event.group and event.minimum > 1:
        yield Relaxation(
            "count", 2.4, f"fewer {name}", _on_query(changed_event, name, _short), (name, "minimum")
        )
    if event.group and event.maximum is not None:
        yield Relaxation(
            "count", 2.3, f"more {name}", _on_query(changed_event, name, _long), (name, "maximum")
        )
    if event.type is not None and events_.schema.type_column is not None:
        yield Relaxation("type", 4.5, f"{name} of any type", _on_query(changed_event, name, _any), name)


def _short(event: Event) -> Event:
    return replace(event, minimum=1)


def _long(event: Event) -> Event:
    return replace(event, maximum=None)


def _any(event: Event) -> Event:
    return replace(event, type=None)
