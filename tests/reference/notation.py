"""A stream, a pattern and its matches, each as one string, without the parser.

A stream is ``"A0 B1:x=5,k=1 C2-4"``: type, time or start-end, attributes.  A pattern is a sequence of
sets, ``"C c, P+ p[] ; ~X x ; B b"``.  A match reads ``"c=C0 p=P1,P2 b=B5"``, without the attributes.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Sequence
from typing import Any

from fyke.language.ast import (
    Binary,
    Call,
    Expression,
    Index,
    Length,
    Literal,
    Reference,
    Strategy,
    Window,
    WindowKind,
    walk,
)
from fyke.logical.normal_form import Absence, Alternative, Condition, NormalForm, Variable
from fyke.reference import Match, Occurrence, matches

ANY, NEXT, GREEDY = Strategy.ANY, Strategy.NEXT, Strategy.GREEDY
ROBUST, PARTITION, STRICT = Strategy.ROBUST, Strategy.PARTITION, Strategy.STRICT
GREEDY_PARTITION, GREEDY_STRICT = Strategy.GREEDY_PARTITION, Strategy.GREEDY_STRICT

_INDEXES = {f"[{index.value}]": index for index in (Index.EACH, Index.PREVIOUS, Index.FIRST, Index.LAST)}
_INDEXES |= {"[]": Index.ALL, "[..i-1]": Index.BEFORE, "": Index.NONE}


def stream(text: str, *, tie: str | None = None) -> list[Occurrence]:
    """Read events; those of one time are in the order of the tie-breaker, then as written."""
    read = []
    for token in text.split():
        parsed = re.fullmatch(r"([A-Z]+)(-?\d+)(?:-(\d+))?(?::(.*))?", token)
        assert parsed, token
        kind, start, end, attributes = parsed.groups()
        pairs = [pair.split("=") for pair in attributes.split(",")] if attributes else []
        read.append((kind, int(start), int(end or start), {key: literal(value) for key, value in pairs}))
    if tie is not None:
        read.sort(key=lambda event: (event[3].get(tie) is not None, event[3].get(tie)))
    read.sort(key=lambda event: event[2])
    return [
        Occurrence(position, kind, start, end, None if tie is None else (values.get(tie),), values)
        for position, (kind, start, end, values) in enumerate(read)
    ]


def literal(text: str) -> Any:
    """Read a value of an attribute: a number, null, nan, or a string."""
    if text in ("null", "nan"):
        return None if text == "null" else float("nan")
    return ast.literal_eval(text) if re.fullmatch(r"-?[\d.]+", text) else text


def expression(value: str | int | float | Expression) -> Expression:
    """Read ``a[i].x``, ``a.len`` or ``avg(a[].x)``; other values are literals."""
    if not isinstance(value, str):
        return Literal(value) if isinstance(value, (int, float)) else value
    if call := re.fullmatch(r"(\w+)\((.*)\)", value):
        return Call(call[1], tuple(expression(part) for part in call[2].split(" & ")))
    parsed = re.fullmatch(r"(\w+)(\[.*\])?\.(\w+)", value)
    assert parsed, value
    if parsed[3] == "len":
        return Length(parsed[1])
    return Reference(parsed[1], (parsed[3],), _INDEXES[parsed[2] or ""])


def op(left: str | int | float | Expression, operator: str, right: str | int | float | Expression) -> Binary:
    """Return ``left operator right``."""
    return Binary(operator, expression(left), expression(right))


def condition(conjunct: Expression) -> Condition:
    """Say of a conjunct what :class:`Condition` wants to know, from its references."""
    names: dict[str, set[str]] = {"variables": set(), "each": set(), "lagged": set(), "whole": set()}
    for node in walk(conjunct):
        if isinstance(node, Length):
            names["whole"].add(node.variable)
        if isinstance(node, Reference):
            if node.index in (Index.EACH, Index.PREVIOUS, Index.BEFORE):
                names["each"].add(node.variable)
            if node.index in (Index.PREVIOUS, Index.BEFORE):
                names["lagged"].add(node.variable)
            if node.index in (Index.LAST, Index.ALL):
                names["whole"].add(node.variable)
            names["variables"].add(node.variable)
    names["variables"] |= names["whole"]
    return Condition(conjunct, **{key: frozenset(value) for key, value in names.items()})


def variable(text: str) -> Variable:
    """Read ``A a``, ``A+ a[]``, ``A{2,3} a[]`` or ``ANY a``."""
    parsed = re.fullmatch(r"([A-Z]+)(\+|\{(\d+)(,?)(\d*)\})? (\w+)(\[\])?", text)
    assert parsed, text
    kind, repeat, least, comma, most, name, group = parsed.groups()
    minimum = int(least) if least else 1
    maximum = 1 if not repeat else int(most) if most else None if comma or not least else minimum
    return Variable(name, None if kind == "ANY" else kind, minimum, maximum, group is not None)


def alternative(pattern: str, *conjuncts: Expression) -> Alternative:
    """Read a sequence of sets; a conjunct that mentions an absent variable belongs to its absence."""
    sets = [
        [part.strip() for part in members.split(",")]
        for members in re.sub(r"\{(\d*),(\d*)\}", r"{\1!\2}", pattern).split(";")
    ]
    sets = [[part.replace("!", ",") for part in members] for members in sets]
    variables = [[variable(part.lstrip("~")) for part in members] for members in sets]
    order = {
        (u.name, v.name)
        for earlier, later in itertools.combinations(variables, 2)
        for u in earlier
        for v in later
    }
    conditions = [condition(conjunct) for conjunct in conjuncts]
    absent = [
        found
        for texts, members in zip(sets, variables, strict=True)
        for text, found in zip(texts, members, strict=True)
        if text.startswith("~")
    ]
    absent_names = {found.name for found in absent}
    return Alternative(
        tuple(found for members in variables for found in members if found not in absent),
        frozenset(order),
        tuple(part for part in conditions if not part.variables & absent_names),
        tuple(
            Absence((found,), tuple(part for part in conditions if found.name in part.variables))
            for found in absent
        ),
    )


def form(
    *alternatives: Alternative,
    strategy: Strategy = ANY,
    by: tuple[str, ...] = (),
    within: int | None = None,
    events: int | None = None,
) -> NormalForm:
    """Put alternatives together; ``within`` is in time units, ``events`` a number of events."""
    window = None if within is None else Window(WindowKind.UNITS, within)
    if events is not None:
        window = Window(WindowKind.EVENTS, events)
    return NormalForm(alternatives, by, strategy, window, "")


def run(query: NormalForm, events: Sequence[Occurrence], **options: Any) -> list[Match]:
    """Return the matches of a form that carries its window in units or events."""
    return matches(query, events, query.window.amount if query.window else None, **options)


def written(match: Match) -> str:
    """Return a match as text."""
    return " ".join(
        f"{name}={','.join(map(_written_event, bound))}" for name, bound in match.bindings.items()
    )


def found(query: NormalForm, events: str | Sequence[Occurrence], **options: Any) -> list[str]:
    """Return the matches as sorted texts."""
    given = stream(events) if isinstance(events, str) else events
    return sorted(written(match) for match in run(query, given, **options))


def _written_event(event: Occurrence) -> str:
    return f"{event.type}{event.start}" + (f"-{event.end}" if event.end != event.start else "")
