"""Windows: their length in units of the events' times, and whether a match can fit into them."""

from __future__ import annotations

from collections.abc import Iterator

from fyke.errors import ContradictionError, WindowLengthError, WindowUnitError
from fyke.language.ast import Event, Window, WindowKind, events
from fyke.language.query import Query
from fyke.language.unparse import unparse_pattern
from fyke.logical.normal_form import Alternative
from fyke.logical.schema import DAY, NANOSECONDS, EventSchema

_UNITS = {
    NANOSECONDS["ns"]: "nanosecond",
    NANOSECONDS["us"]: "microsecond",
    NANOSECONDS["ms"]: "millisecond",
    NANOSECONDS["s"]: "second",
    DAY: "day",
}


def measure_window(query: Query, schema: EventSchema) -> int | None:
    """Return the window in units of the time column, or a number of events, or None without a window.

    Raises
    ------
    WindowLengthError, WindowUnitError
    """
    window = query.window
    if window is None:
        return None
    if window.amount <= 0:
        raise WindowLengthError(
            f"a window must be longer than zero, found {window.amount}",
            place=window.place,
            text=query.text,
            remedy="Leave WITHIN out for no window.",
        )
    if window.kind is WindowKind.EVENTS:
        return window.amount
    if window.kind is WindowKind.UNITS:
        return _plain_window(window, query, schema)
    if schema.unit is None:
        raise WindowUnitError(
            f"the window is a length of time, but the time column {schema.end!r} is a plain number",
            place=window.place,
            text=query.text,
            remedy="Write the window as a number in the column's own units, or say what they are, "
            "as in time_unit='ms'.",
        )
    return window.amount // schema.unit


def _plain_window(window: Window, query: Query, schema: EventSchema) -> int:
    if schema.unit is not None:
        raise WindowUnitError(
            f"the window {window.amount} has no unit, but the time column {schema.end!r} measures time",
            place=window.place,
            text=query.text,
            remedy=f"Write, for example, WITHIN {window.amount} minutes, or WITHIN {window.amount} EVENTS.",
        )
    return window.amount


def check_window_holds(
    alternatives: tuple[Alternative, ...], query: Query, schema: EventSchema, length: int | None
) -> None:
    """Raise ContradictionError if the window is too short for one of the groups, or for every alternative.

    An alternative that does not fit beside one that does is no error: the pattern still has matches.
    ``length`` is that of :func:`measure_window`.
    """
    window = query.window
    if window is None or length is None:
        return
    if window.kind is not WindowKind.EVENTS:
        _check_sequences(alternatives, query, schema, length)
        return
    for group in _groups(query):
        if group.minimum > length:
            raise ContradictionError(
                f"{unparse_pattern(group)} needs at least {group.minimum} events, but WITHIN allows {length}",
                place=group.place,
                text=query.text,
                remedy="Lengthen the window or lower the repetition bounds.",
            )
    needed = min(sum(variable.minimum for variable in alternative.variables) for alternative in alternatives)
    if needed > length:
        raise ContradictionError(
            f"the pattern needs at least {needed} events, but WITHIN allows {length}",
            place=window.place,
            text=query.text,
            remedy="Lengthen the window or lower the repetition bounds.",
        )


def _groups(query: Query) -> Iterator[Event]:
    """Yield the group declarations of a pattern, those of absences included."""
    return (declared for declared in events(query.pattern) if declared.group)


def _check_sequences(
    alternatives: tuple[Alternative, ...], query: Query, schema: EventSchema, length: int
) -> None:
    """Events in sequence have different times, unless a tie-breaker puts those of one time in sequence.

    Events of one group may all have the same time.
    """
    if schema.tie_breaker or query.window is None:
        return
    chain = min(_longest_chain(alternative) for alternative in alternatives)
    if chain - 1 <= length:
        return
    unit = "unit" if schema.unit is None else _UNITS[schema.unit]
    least = f"{chain - 1} {unit}" if chain == 2 else f"{chain - 1} {unit}s"
    raise ContradictionError(
        f"{chain} events in sequence are at least {least} of {schema.end!r} apart, "
        f"but WITHIN allows {length}",
        place=query.window.place,
        text=query.text,
        remedy="Lengthen the window, or give a tie_breaker, which puts events of one time in sequence.",
    )


def _longest_chain(alternative: Alternative) -> int:
    """Return the largest number of variables that the pattern puts one after the other."""
    names = [variable.name for variable in alternative.variables]
    before = {name: [u for u in names if (u, name) in alternative.order] for name in names}
    depth: dict[str, int] = {}
    # The order is transitive: whatever is before a variable has fewer before it.
    for name in sorted(names, key=lambda each: len(before[each])):
        depth[name] = 1 + max((depth[u] for u in before[name]), default=0)
    return max(depth.values())
