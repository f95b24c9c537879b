"""The text of a query in the language of [T] 2.1.6, by the grammar in ``dsms.lark``.

With PATTERN it is a :class:`~fyke.language.query.Query` like any other, without it a
:class:`~fyke.language.relational.RelationalQuery`.

>>> print(parse('SELECT * PATTERN ab+c FROM [RANGE 2 SEC] S: a,b,c WHERE SKIP_TIL_ANY(a,b,c) { a.x > 1 }'))
PATTERN SEQ(S a, S+ b[], S c)
WHERE skip_till_any_match { a.x > 1 }
WITHIN 2 seconds
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import replace
from decimal import Decimal
from functools import cache
from typing import Any, NamedTuple

from lark import Lark, Token
from lark.tree import Meta

from fyke.errors import (
    AggregateError,
    DuplicateVariableError,
    Place,
    QueryError,
    QuerySyntaxError,
    UnknownVariableError,
    WindowError,
    WindowLengthError,
    WindowUnitError,
    near_misses,
)
from fyke.language import ast, rules
from fyke.language.assemble import assemble, assemble_relational, located
from fyke.language.clauses import ClauseReader, Where, check_size, grammar, read
from fyke.language.query import Query
from fyke.language.relational import RelationalQuery, Stream
from fyke.language.sase_expression import Name, reads_rules
from fyke.language.syntax_errors import Dialect
from fyke.language.unparse import unparse_expression, unparse_window
from fyke.limits import Limits

_DEFAULTS = Limits()
_AGGREGATES = frozenset({"sum", "max", "min", "avg", "count", "stddev"})
_WORDS = {
    "_SELECT": "SELECT",
    "_FROM": "FROM",
    "_RANGE": "RANGE",
    "_SLIDE": "SLIDE",
    "_PATTERN": "PATTERN",
    "TYPE": "a stream",
    "SEMICOLON": "';'",
    "LSQB": "'[', as in FROM [RANGE 10 SEC] S1",
}
_CLAUSES = {"_PATTERN": "PATTERN", "_FROM": "FROM", "_RANGE": "RANGE", "_SLIDE": "SLIDE", "_WHERE": "WHERE"}


def _remedy(_text: str, _position: int, lexeme: str, accepted: Set[str]) -> str:
    """Return what to do, for the slips that can be told from what could stand there."""
    if near := near_misses(lexeme, [word for name, word in _CLAUSES.items() if name in accepted]):
        return near.strip()
    if "FLOAT" in accepted and "STRING" not in accepted:
        return "RANGE and SLIDE take a number and a unit, as in [RANGE 10 SEC SLIDE 5 SEC]."
    if lexeme.lower() in ("within", "return"):
        return "This language has its window in FROM [RANGE 10 SEC] and its result in SELECT."
    if lexeme == "," and "SEMICOLON" in accepted:
        return "Separate streams with ';'."
    if "_FROM" in accepted and lexeme.isidentifier():
        return "Separate items with ',', and name one with AS."
    return ""


_DIALECT = Dialect(_WORDS, _remedy)


def parse(text: str, limits: Limits = _DEFAULTS) -> Query | RelationalQuery:
    """Return the query that ``text`` states.

    Takes time linear in the text, runs no code, and raises nothing but errors of the
    :class:`~fyke.errors.QueryError` tree, each with its place in the text.
    """
    check_size(text, limits)
    try:
        query: Query | RelationalQuery = read(_grammar(), text, _DsmsReader(text, limits), limits, _DIALECT)
    except QueryError as error:
        raise located(error, text) from None
    return query


@cache
def _grammar() -> Lark:
    return grammar("expression.lark", "dsms.lark")


class _Span(NamedTuple):
    """RANGE or SLIDE as written."""

    amount: Decimal
    unit: Name | None
    place: Place


class _Source(NamedTuple):
    """A stream of FROM as written, with the events of the pattern that come from it."""

    stream: Stream
    events: tuple[Name, ...]
    renamed: bool


class _Element(NamedTuple):
    """A word of PATTERN and the quantifier behind it."""

    name: Name
    quantifier: str


@reads_rules
class _DsmsReader(ClauseReader):
    """The rules of the query and its FROM clause, on top of those of clauses and expressions."""

    def start(self, meta: Meta, parts: list[Any]) -> Query | RelationalQuery:
        label, items, structure, span, slide, _colon, *rest = parts
        where = rest.pop() or Where(None, (), ())
        if structure is None:
            return self._relational(label, items, span, slide, rest, where)
        return self._pattern(label, items, structure, span, slide, rest, where)

    # --- the two forms

    def _relational(
        self,
        label: str | None,
        items: list[ast.ReturnItem] | None,
        span: _Span,
        slide: _Span | None,
        sources: list[_Source],
        where: Where,
    ) -> RelationalQuery:
        if where.strategy is not None:
            raise QuerySyntaxError(
                "a selection strategy chooses the events of a pattern, and there is none",
                place=where.place,
                remedy="Leave the strategy out, or add PATTERN before FROM.",
            )
        for source in sources:
            if source.events:
                raise QuerySyntaxError(
                    f"the events of a pattern stand behind {source.stream.name!r}, but there is no pattern",
                    place=source.events[0].place,
                    remedy="Separate streams with ';', or add PATTERN before FROM.",
                )
        window = _window("RANGE", span, None)
        if window.kind is ast.WindowKind.EVENTS:
            raise WindowUnitError(
                "the window of a relational query is a length of time, not a number of events",
                place=span.place,
                remedy="Number the events in a column and give it as the time, with time_unit='s'.",
            )
        checked = None if slide is None else _slide(slide, span, window)
        aggregates = any(_is_aggregate(node) for item in items or () for node in ast.walk(item))
        if slide is not None and not aggregates:
            raise _slide_without_aggregates(slide)
        streams = _distinct([source.stream for source in sources])
        parts = (tuple(streams), items, window, checked, where.conditions, label, self._text, self._limits)
        return assemble_relational(*parts)

    def _pattern(
        self,
        label: str | None,
        items: list[ast.ReturnItem] | None,
        structure: list[_Element],
        span: _Span,
        slide: _Span | None,
        sources: list[_Source],
        where: Where,
    ) -> Query:
        if slide is not None:
            raise _slide_without_aggregates(slide)
        types = _types_of_events(sources)
        events = [event for element in structure for event in _events(element, types)]
        groups = {event.variable for event in events if event.group}
        named = dict.fromkeys(event.variable for event in events)
        for name in where.scope:
            if name.text not in named:
                raise _unknown_event(name, f"PATTERN names no event {name.text!r}", named)
        for source in sources:
            for name in source.events:
                if name.text not in named:
                    raise QuerySyntaxError(
                        f"PATTERN does not name the event {name.text!r} of FROM",
                        place=name.place,
                        remedy="Leave it out, or put it where it belongs in PATTERN.",
                    )
        returns = None if items is None else [_over_groups(item, groups) for item in items]
        pattern = rules.composite(ast.Seq, events, events[0].place)
        strategy = where.strategy or ast.Strategy.STRICT
        window = _window("RANGE", span, None)
        return assemble(pattern, where.conditions, strategy, window, returns, label, self._text, self._limits)

    # --- clauses

    def selection(self, meta: Meta, parts: list[Any]) -> list[ast.ReturnItem] | None:
        return None if isinstance(parts[0], Token) else parts

    def structure(self, meta: Meta, parts: list[_Element]) -> list[_Element]:
        return parts

    def element(self, meta: Meta, parts: list[Any]) -> _Element:
        name, quantifier = parts
        return _Element(name, str(quantifier or ""))

    def range(self, meta: Meta, parts: list[Any]) -> _Span:
        return _Span(parts[0], parts[1], self._place(meta))

    slide = range

    def stream(self, meta: Meta, parts: list[Any]) -> _Source:
        name, alias, events = parts
        rules.checked_name(name.text, "a stream", name.place)
        stream = Stream(name.text, (alias or name).text, place=name.place)
        return _Source(stream, tuple(events or ()), alias is not None)

    def events(self, meta: Meta, parts: list[Any]) -> list[Name]:
        return parts[1:]

    def _strategy(self, name: str) -> ast.Strategy:
        """Return a strategy by the name of the paper or of SEMANTICS: SKIP_TIL_ANY, STRICT."""
        full = name.lower().replace("skip_til_", "skip_till_")
        full += {"strict": "_contiguity"}.get(full, "_match" if full.endswith(("_any", "_next")) else "")
        return rules.strategy_named(full)

    # --- names

    def reference(self, meta: Meta, parts: list[Any]) -> ast.Expression:
        name, index, path = parts
        if name.quote == '"' and index is None and not path:
            return ast.Literal(name.text, place=self._place(meta))
        return super().reference(meta, parts)

    def reference_then_index(self, meta: Meta, parts: list[Any]) -> ast.Expression:
        name, *path, index = parts
        return super().reference(meta, [name, index, tuple(path)])


# --- windows --------------------------------------------------------------------------------


def _window(clause: str, span: _Span, unit: Name | None) -> ast.Window:
    """Return the window of RANGE or SLIDE; ``unit`` is what a missing unit means, or None: the time's own."""
    unit = span.unit or unit
    if unit is None and span.amount != span.amount.to_integral_value():
        raise WindowUnitError(
            f"{clause} {span.amount} has no unit",
            place=span.place,
            remedy=f"Write, for example, {clause} {span.amount} SEC.",
        )
    if unit is not None and unit.text.lower() not in (*rules.UNITS, "event", "events"):
        raise QuerySyntaxError(
            f"{unit.text!r} is not a unit of time",
            place=unit.place,
            remedy="Units are ns, us, ms, sec, min, hours, days, weeks; with PATTERN also EVENTS."
            + near_misses(unit.text, [name for name in rules.UNITS if len(name) > 2]),
        )
    if span.amount <= 0:
        raise WindowLengthError(
            f"{clause} must be longer than zero",
            place=span.place,
            remedy=f"Write a length above zero, as in {clause} 10 SEC.",
        )
    if unit is None:
        return rules.window(span.amount, None, span.place)
    return rules.window(span.amount, unit.text, span.place, unit.place)


def _slide(slide: _Span, span: _Span, window: ast.Window) -> ast.Window:
    checked = _window("SLIDE", slide, span.unit)
    if checked.kind is not window.kind:
        raise WindowUnitError(
            f"SLIDE {unparse_window(checked)} and RANGE {unparse_window(window)} are not of one kind",
            place=slide.place,
            remedy="Give both a unit of time, or neither.",
        )
    if checked.amount > window.amount:
        raise WindowLengthError(
            f"SLIDE {unparse_window(checked)} is longer than RANGE {unparse_window(window)}: "
            "events between two windows would be in none",
            place=slide.place,
            remedy="Slide by at most RANGE; leave SLIDE out for windows that follow one another.",
        )
    return checked


def _slide_without_aggregates(slide: _Span) -> WindowError:
    return WindowError(
        "SLIDE says how often the aggregates of streams are reported, and there are none",
        place=slide.place,
        remedy="Leave SLIDE out; it goes with SELECT SUM(price), COUNT(*), ... and no PATTERN.",
    )


# --- streams and events -----------------------------------------------------------------------


def _distinct(streams: list[Stream]) -> list[Stream]:
    """Return the streams if no two go by one name."""
    seen: set[str] = set()
    for stream in streams:
        if stream.alias in seen:
            raise DuplicateVariableError(
                f"FROM has two streams named {stream.alias!r}",
                place=stream.place,
                remedy=f"Rename one of them, as in {stream.name} AS other.",
            )
        seen.add(stream.alias)
    return streams


def _types_of_events(sources: Iterable[_Source]) -> dict[str, str]:
    """Return the stream of each event of the pattern."""
    types: dict[str, str] = {}
    for source in sources:
        if source.renamed or not source.events:
            raise QuerySyntaxError(
                f"FROM does not say which events of the pattern come from {source.stream.name!r}",
                place=source.stream.place,
                remedy=f"List them, as in {source.stream.name}: a, b, c.",
            )
        for name in source.events:
            rules.checked_name(name.text, "an event", name.place)
            if name.text in types:
                raise DuplicateVariableError(
                    f"FROM lists the event {name.text!r} twice",
                    place=name.place,
                    remedy="An event comes from one stream.",
                )
            types[name.text] = source.stream.name
    return types


def _events(element: _Element, types: dict[str, str]) -> list[ast.Event]:
    """Return the events that a word of PATTERN stands for: itself if FROM lists it, else its letters."""
    name, place = element.name, element.name.place
    if name.text in types or name.quote:
        names = [name]
    else:
        at = enumerate(name.text)
        names = [Name(letter, Place(place.line, place.column + n, 1), "") for n, letter in at]
    made = []
    for number, each in enumerate(names):
        if each.text not in types:
            raise _unknown_event(each, f"no stream of FROM has the event {each.text!r}", types)
        sign = element.quantifier if number == len(names) - 1 else ""
        bounds = {"+": (1, None), "*": (0, None)}.get(sign)
        optional, group = sign == "?", bounds is not None
        event = rules.event(
            types[each.text], each.text, bounds, group=group, optional=optional, place=each.place
        )
        made.append(event)
    return made


def _unknown_event(name: Name, message: str, known: Iterable[str]) -> UnknownVariableError:
    remedy = f"There are {', '.join(known)}." + near_misses(name.text, known)
    return UnknownVariableError(message, place=name.place, remedy=remedy)


# --- aggregates -------------------------------------------------------------------------------


def _is_aggregate(node: ast.Node) -> bool:
    return isinstance(node, ast.Call) and node.function in _AGGREGATES


def _over_groups(item: ast.ReturnItem, groups: set[str]) -> ast.ReturnItem:
    """Let aggregates be over the events of a group ([T] 2.1.2): ``sum(b.x)`` is ``sum(b[].x)``."""

    def whole(reference: ast.Reference) -> ast.Expression:
        written = reference.index is ast.Index.NONE and reference.variable in groups
        return replace(reference, index=ast.Index.ALL) if written else reference

    def change(node: ast.Expression) -> ast.Expression:
        if not (isinstance(node, ast.Call) and _is_aggregate(node)):
            return ast.map_children(node, change)
        found = [each for each in ast.walk(node) if isinstance(each, ast.Reference)]
        if not any(reference.variable in groups for reference in found):
            raise AggregateError(
                f"{unparse_expression(node)} is over no group of events",
                place=node.place,
                remedy="With PATTERN an aggregate is over the events of a group, as SUM(b.price) in ab+c.",
            )
        counted = node.arguments[0]
        if node.function == "count" and isinstance(counted, ast.Reference) and not counted.path:
            return ast.Length(counted.variable, place=node.place)
        return ast.map_references(node, whole)

    return replace(item, expression=change(item.expression))
