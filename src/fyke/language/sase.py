"""The text of a query to a :class:`~fyke.language.query.Query`, by the grammar in ``sase.lark``.

>>> query = parse("PATTERN SEQ(Shelf a, ~Register b, Exit c) WHERE { [tag_id] } WITHIN 12 hours")
>>> print(query)
PATTERN SEQ(Shelf a, ~Register b, Exit c)
WHERE skip_till_next_match { [tag_id] }
WITHIN 12 hours
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from decimal import Decimal
from functools import cache
from importlib import resources
from itertools import islice
from typing import Any, NamedTuple

from lark import Lark, Token, v_args
from lark.exceptions import UnexpectedInput, VisitError
from lark.parsers.lalr_interactive_parser import InteractiveParser
from lark.tree import Meta

from fyke.errors import (
    OptionError,
    QueryError,
    QuerySyntaxError,
    QueryTooLargeError,
    UnknownVariableError,
    near_misses,
)
from fyke.language import ast, rules
from fyke.language.assemble import DEEPEST_TREE, assemble, located, too_deep
from fyke.language.query import Query
from fyke.language.sase_expression import ExpressionReader, Name, without_tokens
from fyke.language.syntax_errors import bracket_nesting, explain
from fyke.limits import Limits

_DEFAULTS = Limits()


def parse(text: str, limits: Limits = _DEFAULTS) -> Query:
    """Return the query that ``text`` states.

    Takes time linear in the text, runs no code, and raises nothing but errors of the
    :class:`~fyke.errors.QueryError` tree, each with its place in the text.
    """
    if not isinstance(text, str):
        raise OptionError(f"a query is text, found {type(text).__name__}")
    if len(text) > limits.query_characters:
        raise QueryTooLargeError(
            f"the query has {len(text)} characters; the limit is {limits.query_characters}",
            remedy="Raise the limit query_characters, or split the query.",
        )
    try:
        _check_brackets(text, limits)
        return _parsed(text, limits)
    except QueryError as error:
        raise located(error, text) from None


def _parsed(text: str, limits: Limits) -> Query:
    parser = _grammar().parse_interactive(text)
    fed = 0
    try:
        for token in _tokens(parser):
            parser.feed_token(token)
            fed += 1
        tree = parser.feed_eof()  # type: ignore[no-untyped-call]
    except UnexpectedInput as error:
        raise explain(error, text, _accepted_after(text, fed)) from None
    try:
        query: Query = _QueryReader(text, limits).transform(tree)
    except VisitError as error:
        raise error.orig_exc from None
    return query


def _accepted_after(text: str, fed: int) -> set[str]:
    """Return the terminals that can follow the first ``fed`` tokens.

    The parser that met the error may have reduced what it had before it noticed, so ask a fresh one.
    """
    parser = _grammar().parse_interactive(text)
    for token in islice(_tokens(parser), fed):
        parser.feed_token(token)
    accepted: set[str] = parser.accepts()  # type: ignore[no-untyped-call]
    return accepted


def _tokens(parser: InteractiveParser) -> Iterator[Token]:
    """Yield the tokens, each read as the parser's state at that time suggests."""
    yield from parser.lexer_thread.lex(parser.parser_state)  # type: ignore[no-untyped-call]


@cache
def _grammar() -> Lark:
    # Read as a resource: the package may lie in a zip file on a worker.
    grammar = (resources.files("fyke.language") / "sase.lark").read_text("utf-8")
    return Lark(grammar, parser="lalr", propagate_positions=True, maybe_placeholders=True)


def _check_brackets(text: str, limits: Limits) -> None:
    deepest = min(limits.query_depth, DEEPEST_TREE)
    # The braces of WHERE nest nothing, so brackets may go one deeper than the tree.
    place = bracket_nesting(text, deepest + 1)
    if place is not None:
        raise too_deep(deepest, place)


class _Quantifier(NamedTuple):
    bounds: tuple[int, int | None] | None
    optional: bool = False


class _Where(NamedTuple):
    strategy: ast.Strategy
    scope: tuple[Name, ...]
    conditions: tuple[ast.Expression, ...]


@v_args(meta=True)
class _QueryReader(ExpressionReader):
    """The rules of clauses and patterns, on top of those of expressions."""

    # --- the query and its clauses

    def start(self, meta: Meta, parts: list[Any]) -> Query:
        label, pattern, where, window, returns = parts
        where = where or _Where(ast.Strategy.NEXT, (), ())
        query = assemble(
            pattern, where.conditions, where.strategy, window, returns, label, self._text, self._limits
        )
        declared = {event.variable: None for event in ast.events(query.pattern)}
        for name in where.scope:
            if name.text not in declared:
                raise UnknownVariableError(
                    f"the pattern declares no variable {name.text!r}",
                    place=name.place,
                    remedy=f"It declares {', '.join(declared)}." + near_misses(name.text, declared),
                )
        for expression in [*query.conditions, *(item.expression for item in query.returns or ())]:
            self._check_strings(expression, declared)
        return query

    def _check_strings(self, expression: ast.Expression, declared: Container[str]) -> None:
        """Raise for double-quoted text that can only have been meant as a string."""
        for node in ast.walk(expression):
            if not isinstance(node, ast.Reference) or node.place not in self._double_quoted:
                continue
            if node.variable not in declared:
                raise QuerySyntaxError(
                    f"double quotes are for names, and {node.variable!r} names no variable",
                    place=node.place,
                    remedy="For a string use single quotes: '" + node.variable.replace("'", "''") + "'.",
                )

    def label(self, meta: Meta, parts: list[Name]) -> str:
        return rules.checked_name(parts[0].text, "the query", parts[0].place)

    def where(self, meta: Meta, parts: list[Any]) -> _Where:
        head = parts.pop(0) if parts and isinstance(parts[0], _Where) else _Where(ast.Strategy.NEXT, (), ())
        return head._replace(conditions=tuple(parts))

    def strategy(self, meta: Meta, parts: list[Any]) -> _Where:
        return _Where(rules.strategy_named(parts[0]), tuple(parts[1:]), ())

    scoped = strategy

    def within(self, meta: Meta, parts: list[Any]) -> ast.Window:
        amount, unit = parts
        place = self._place(meta)
        if unit is None:
            return rules.window(amount, None, place)
        return rules.window(amount, unit.text, place, unit.place)

    def signed(self, meta: Meta, parts: list[Any]) -> Decimal:
        sign, number = parts
        return rules.exact_number((sign or "") + number, self._place(meta))

    def return_clause(self, meta: Meta, parts: list[Any]) -> list[ast.ReturnItem] | None:
        return None if isinstance(parts[0], Token) else parts

    def item(self, meta: Meta, parts: list[Any]) -> ast.ReturnItem:
        expression, alias = parts
        if alias is not None:
            rules.checked_name(alias.text, "an item of RETURN", alias.place)
        return ast.ReturnItem(expression, alias and alias.text, place=self._place(meta))

    # --- patterns

    def seq(self, meta: Meta, parts: list[ast.Pattern]) -> ast.Pattern:
        return rules.composite(ast.Seq, parts, self._place(meta))

    def conjoined(self, meta: Meta, parts: list[Any]) -> ast.Pattern:
        return rules.composite(ast.And, without_tokens(parts), self._place(meta))

    def disjoined(self, meta: Meta, parts: list[Any]) -> ast.Pattern:
        return rules.composite(ast.Or, without_tokens(parts), self._place(meta))

    def absence(self, meta: Meta, parts: list[Any]) -> ast.Not:
        return ast.Not(parts[-1], place=self._place(meta))

    def event(self, meta: Meta, parts: list[Any]) -> ast.Event:
        type_, quantifier, variable, brackets = parts
        bounds, optional = quantifier or _Quantifier(None)
        group = brackets is not None
        return rules.event(
            type_, variable.text, bounds, group=group, optional=optional, place=self._place(meta)
        )

    def type(self, meta: Meta, parts: list[Any]) -> str | None:
        return parts[0].text if isinstance(parts[0], Name) else None

    def brackets(self, meta: Meta, parts: list[Any]) -> bool:
        return True

    def optional(self, meta: Meta, parts: list[Any]) -> _Quantifier:
        return _Quantifier(None, optional=True)

    def plus(self, meta: Meta, parts: list[Any]) -> _Quantifier:
        return _Quantifier((1, None))

    def star(self, meta: Meta, parts: list[Any]) -> _Quantifier:
        return _Quantifier((0, None))

    def exactly(self, meta: Meta, parts: list[Token]) -> _Quantifier:
        return _Quantifier((self._count(parts[0]), self._count(parts[0])))

    def at_least(self, meta: Meta, parts: list[Token]) -> _Quantifier:
        return _Quantifier((self._count(parts[0]), None))

    def between_bounds(self, meta: Meta, parts: list[Token]) -> _Quantifier:
        return _Quantifier((self._count(parts[0]), self._count(parts[1])))

    def _count(self, token: Token) -> int:
        return int(rules.exact_number(token, self._place(token)))
