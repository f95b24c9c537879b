"""Queries built in Python; ``fyke.pattern`` is this module.

The builder makes the same :class:`~fyke.language.query.Query` as the text, by the same rules.

Examples
--------
>>> from fyke.language import builder as p
>>> a, b = p.variables("a b")
>>> query = p.query(
...     p.seq(p.event("Stock", "a").plus(), p.event("Stock", "b")),
...     where=[p.same("symbol"), a.each.price > p.avg(a.before.price), b.volume < 0.8 * a.last.volume],
...     within="1 hour",
... )
>>> print(query)
PATTERN SEQ(Stock+ a[], Stock b)
WHERE skip_till_next_match {
    [symbol]
    AND a[i].price > avg(a[..i-1].price)
    AND b.volume < 0.8 * a[a.len].volume
}
WITHIN 1 hour
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import timedelta
from decimal import Decimal

from fyke.errors import QuantifierError, QuerySyntaxError, shown
from fyke.language import ast, rules
from fyke.language.assemble import assemble
from fyke.language.query import Query
from fyke.language.sase import parse_conditions, parse_items
from fyke.language.terms import Item, Operand, Term, Variable, node_of, term
from fyke.language.unparse import unparse_pattern
from fyke.limits import Limits

__all__ = [
    "ANY",
    "Item",
    "Part",
    "Term",
    "Variable",
    "alias",
    "all_of",
    "avg",
    "case",
    "corr",
    "count",
    "count_distinct",
    "days",
    "event",
    "events",
    "first",
    "function",
    "funnel",
    "hours",
    "last",
    "literal",
    "max",
    "median",
    "microseconds",
    "milliseconds",
    "min",
    "minutes",
    "nanoseconds",
    "one_of",
    "parameter",
    "query",
    "same",
    "seconds",
    "seq",
    "stddev",
    "sum",
    "timestamp",
    "variable",
    "variables",
    "weeks",
]

ANY = None
"""The type that admits every type: ``event(ANY, "a")``."""

_DEFAULTS = Limits()
_WINDOW = re.compile(r"\s*([+-]?[0-9.]+(?:e[+-]?[0-9]+)?)\s*([^\W\d]\w*)?\s*", re.IGNORECASE)


# --- patterns -----------------------------------------------------------------------------


class Part:
    """A piece of a pattern; ``~part`` is its absence."""

    __slots__ = ("_node",)

    def __init__(self, node: ast.Pattern) -> None:
        self._node = node

    @property
    def node(self) -> ast.Pattern:
        """The tree that this piece stands for."""
        return self._node

    def plus(self) -> Part:
        """One or more: ``Type+ v[]``."""
        return self._repeated(1, None)

    def star(self) -> Part:
        """Any number, none included: ``Type* v[]``."""
        return self._repeated(0, None)

    def times(self, minimum: int, maximum: int | None = None) -> Part:
        """Between ``minimum`` and ``maximum``, or exactly ``minimum``: ``Type{n,m} v[]``, ``Type{n} v[]``."""
        return self._repeated(minimum, minimum if maximum is None else maximum)

    def at_least(self, minimum: int) -> Part:
        """``minimum`` or more: ``Type{n,} v[]``."""
        return self._repeated(minimum, None)

    def optional(self) -> Part:
        """All of it or nothing: ``Type? v``, ``SEQ(...)?``."""
        return Part(rules.optional(self._node))

    def _repeated(self, minimum: int, maximum: int | None) -> Part:
        node = self._single()
        for bound in (minimum, maximum):
            if bound is not None and (not isinstance(bound, int) or isinstance(bound, bool)):
                raise QuantifierError(f"a quantifier takes whole numbers, found {bound!r}")
        return Part(rules.event(node.type, node.variable, (minimum, maximum), group=True))

    def _single(self) -> ast.Event:
        if not isinstance(self._node, ast.Event) or self._node.group or self._node.minimum == 0:
            raise QuantifierError(
                f"only an event without a quantifier can be given one, found {self}",
                remedy='Quantify an event, as in event("Stock", "a").plus().',
            )
        return self._node

    def __invert__(self) -> Part:
        return Part(ast.Not(self._node))

    def __bool__(self) -> bool:
        raise QuerySyntaxError(
            "a pattern is neither true nor false",
            remedy="Use seq(...), all_of(...), one_of(...) and ~ in place of 'and', 'or' and 'not'.",
        )

    def __str__(self) -> str:
        return unparse_pattern(self._node)

    def __repr__(self) -> str:
        return f"<pattern {self}>"


def event(type: str | None, variable: str) -> Part:
    """Return one event of a type, bound to a variable: ``Type v``."""
    for name in (type, variable):
        if name is not None and not isinstance(name, str):
            raise QuerySyntaxError(f"the names of types and variables are strings, found {name!r}")
    return Part(rules.event(type, variable, None, group=False))


def seq(*parts: Part) -> Part:
    """Return the parts one after another: ``SEQ(...)``."""
    return Part(rules.composite(ast.Seq, _nodes(parts)))


def all_of(*parts: Part) -> Part:
    """Return the parts in any order: ``AND(...)``."""
    return Part(rules.composite(ast.And, _nodes(parts)))


def one_of(*parts: Part) -> Part:
    """Return a choice of the parts: ``OR(...)``."""
    return Part(rules.composite(ast.Or, _nodes(parts)))


def funnel(*parts: Part) -> Part:
    """Return as many of the first parts as there are, one after another: ``FUNNEL(...)``."""
    return Part(rules.funnel(_nodes(parts)))


def _nodes(parts: Sequence[Part]) -> list[ast.Pattern]:
    for part in parts:
        if not isinstance(part, Part):
            raise QuerySyntaxError(
                f"a pattern is made of patterns, found {part!r}", remedy='Write event("Type", "v").'
            )
    return [part.node for part in parts]


# --- conditions ---------------------------------------------------------------------------


def variable(name: str) -> Variable:
    """Return a variable, to state conditions about."""
    return Variable(name)


def variables(names: str | Iterable[str]) -> tuple[Variable, ...]:
    """Return variables, for names in one string with spaces or commas between them, or in a list."""
    listed = names.replace(",", " ").split() if isinstance(names, str) else names
    return tuple(Variable(name) for name in listed)


def same(*attributes: str) -> Term:
    """Return the condition that all events of the match agree on the attributes: ``[x, y]``."""
    if not attributes:
        raise QuerySyntaxError("same() needs the name of an attribute", remedy='Write same("tag_id").')
    return Term(ast.Equivalence(tuple(rules.checked_name(name, "a column") for name in attributes)))


def literal(value: Operand) -> Term:
    """Return a value as a term: a number, string, bool, None, date, datetime or timedelta."""
    return term(value)


def timestamp(text: str) -> Term:
    """Return ``TIMESTAMP 'text'``."""
    return Term(ast.Timestamp(text))


def parameter(name: str) -> Term:
    """Return ``:name``: a value given with ``params``."""
    if not isinstance(name, str) or not re.fullmatch(r"[^\W\d]\w*", name):
        raise QuerySyntaxError(
            f"the name of a parameter is a word, found {shown(name)}", remedy="Write p.parameter('limit')."
        )
    return Term(ast.Parameter(name))


def case(*branches: tuple[Operand, Operand], otherwise: Operand = None, of: Operand = None) -> Term:
    """Return ``CASE WHEN test THEN value ... ELSE otherwise END``; with ``of``, what equals a test.

    A branch is a pair of a test and a value.
    """
    pairs = [(node_of(test), node_of(value)) for test, value in branches]
    if not pairs:
        raise QuerySyntaxError("case() needs a branch", remedy="Write p.case((a.x > 1, 10), otherwise=0).")
    return Term(rules.case(None if of is None else node_of(of), pairs, node_of(otherwise)))


def function(name: str, *arguments: Operand | Variable) -> Term:
    """Return a call of a function: built in, registered, or of Spark SQL."""
    return Term(rules.call(name, tuple(node_of(argument) for argument in arguments)))


def count(argument: Operand | Variable | None = None) -> Term:
    """Return ``count(argument)``, or ``count(*)`` without one."""
    return Term(rules.call("count", (ast.Star() if argument is None else node_of(argument),)))


def avg(argument: Operand | Variable) -> Term:
    """Return the average, as in ``avg(a.all.price)`` or ``avg(a.before.price)``."""
    return function("avg", argument)


def sum(argument: Operand | Variable) -> Term:
    """Return the sum, as in ``sum(a.all.price)``."""
    return function("sum", argument)


def min(argument: Operand | Variable) -> Term:
    """Return the least, as in ``min(a.all.price)``."""
    return function("min", argument)


def max(argument: Operand | Variable) -> Term:
    """Return the greatest, as in ``max(a.all.price)``."""
    return function("max", argument)


def median(argument: Operand | Variable) -> Term:
    """Return ``median(argument)``, for ``returns``."""
    return function("median", argument)


def count_distinct(argument: Operand | Variable) -> Term:
    """Return ``count(DISTINCT argument)``, for ``returns``."""
    return function(rules.COUNT_DISTINCT, argument)


def stddev(argument: Operand | Variable) -> Term:
    """Return the standard deviation, as in ``stddev(a.all.price)``."""
    return function("stddev", argument)


def first(argument: Operand | Variable) -> Term:
    """Return the first, as in ``first(a.before.price)``."""
    return function("first", argument)


def last(argument: Operand | Variable) -> Term:
    """Return the last, as in ``last(a.before.price)``."""
    return function("last", argument)


def corr(left: Operand, right: Operand) -> Term:
    """Return the correlation of two arrays, as in ``corr(a.history, b.history)``."""
    return function("corr", left, right)


# --- lengths of time ----------------------------------------------------------------------


def _length(amount: float, unit: str) -> Term:
    return Term(rules.duration(rules.exact_number(str(amount)), unit))


def weeks(amount: float) -> Term:
    """Return a length of time in weeks."""
    return _length(amount, "weeks")


def days(amount: float) -> Term:
    """Return a length of time in days."""
    return _length(amount, "days")


def hours(amount: float) -> Term:
    """Return a length of time in hours."""
    return _length(amount, "hours")


def minutes(amount: float) -> Term:
    """Return a length of time in minutes."""
    return _length(amount, "minutes")


def seconds(amount: float) -> Term:
    """Return a length of time in seconds."""
    return _length(amount, "seconds")


def milliseconds(amount: float) -> Term:
    """Return a length of time in milliseconds."""
    return _length(amount, "milliseconds")


def microseconds(amount: float) -> Term:
    """Return a length of time in microseconds."""
    return _length(amount, "microseconds")


def nanoseconds(amount: int) -> Term:
    """Return a length of time in nanoseconds."""
    return _length(amount, "nanoseconds")


def events(amount: int) -> ast.Window:
    """Return a window of so many input events: ``WITHIN n EVENTS``."""
    return rules.window(rules.exact_number(str(amount)), "events")


# --- the query ----------------------------------------------------------------------------


def alias(expression: Operand | Variable, name: str) -> Item:
    """Return an item of ``returns`` with a name: ``expression AS name``."""
    return Item(ast.ReturnItem(node_of(expression), rules.checked_name(name, "an item of RETURN")))


def query(
    pattern: Part,
    *,
    where: str | Term | Iterable[str | Term] = (),
    strategy: str | ast.Strategy = ast.Strategy.NEXT,
    within: str | int | timedelta | Term | ast.Window | None = None,
    returns: str | Iterable[Operand | Variable | Item] | None = None,
    label: str | None = None,
    limits: Limits = _DEFAULTS,
) -> Query:
    """Return the query of a pattern.

    ``where`` is a condition or several that must all hold, each a term or a text such as
    ``"a.x > 1 AND [user]"``; ``within`` a length such as ``"12 hours"``, a timedelta, ``minutes(5)``,
    ``events(100)``, or a number of the time column's own units; ``returns`` the items of the result, or a
    text such as ``"a.x, b.y AS z"``, and without it the whole match; ``label`` the event type of the result.
    """
    chosen = strategy if isinstance(strategy, ast.Strategy) else rules.strategy_named(str(strategy))
    (node,) = _nodes([pattern])
    declared = [event.variable for event in ast.events(node)]
    given = [where] if isinstance(where, (Term, str)) else where
    if not isinstance(given, Iterable):
        raise QuerySyntaxError(
            f"where is a condition or a list of them, found {shown(where)}",
            remedy='Write where="a.x > 1", or where=[a.x > 1, p.same("user")].',
        )
    conditions = [each for part in given for each in _conditions(part, declared, limits)]
    items = _items(returns, declared, limits)
    return assemble(node, conditions, chosen, _window(within), items, label, None, limits)


def _conditions(part: str | Term, declared: Sequence[str], limits: Limits) -> list[ast.Expression]:
    return parse_conditions(part, declared, limits) if isinstance(part, str) else [node_of(part)]


def _items(
    returns: str | Iterable[Operand | Variable | Item] | None, declared: Sequence[str], limits: Limits
) -> list[ast.ReturnItem] | None:
    if returns is None:
        return None
    if isinstance(returns, str):
        return parse_items(returns, declared, limits)
    items = [_item(item) for item in returns]
    if not items:
        raise QuerySyntaxError("returns is empty", remedy="Leave it out to get the whole match.")
    return items


def _item(item: Operand | Variable | Item) -> ast.ReturnItem:
    return item.node if isinstance(item, Item) else ast.ReturnItem(node_of(item))


def _window(within: str | int | timedelta | Term | ast.Window | None) -> ast.Window | None:
    if within is None:
        return None
    if isinstance(within, ast.Window):
        return rules.checked_window(within)
    if isinstance(within, int) and not isinstance(within, bool):
        return rules.window(Decimal(within), None)
    if isinstance(within, (timedelta, Term)):
        length = node_of(within)
        if isinstance(length, ast.Duration):
            return rules.checked_window(ast.Window(ast.WindowKind.DURATION, length.nanoseconds))
    found = _WINDOW.fullmatch(within) if isinstance(within, str) else None
    if found is None:
        raise QuerySyntaxError(
            f"{str(within)[:40]!r} is not a window",
            remedy='A window is "12 hours", "100 events", a timedelta, minutes(5), events(100), or a number.',
        )
    return rules.window(rules.exact_number(found.group(1)), found.group(2))
