"""The text of a query to a :class:`~fyke.language.query.Query`, by the grammar in ``sase.lark``.

>>> query = parse("PATTERN SEQ(Shelf a, ~Register b, Exit c) WHERE { [tag_id] } WITHIN 12 hours")
>>> print(query)
PATTERN SEQ(Shelf a, ~Register b, Exit c)
WHERE skip_till_next_match { [tag_id] }
WITHIN 12 hours
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

from lark import Lark, Token
from lark.tree import Meta

from fyke.errors import QueryError, QuerySyntaxError, UnknownVariableError, near_misses
from fyke.language import ast, rules
from fyke.language.assemble import assemble, check_depth, located
from fyke.language.clauses import ClauseReader, Where, check_size, grammar, read
from fyke.language.query import Query
from fyke.language.sase_expression import Name, reads_rules, without_tokens
from fyke.limits import Limits

_DEFAULTS = Limits()


def parse(text: str, limits: Limits = _DEFAULTS) -> Query:
    """Return the query that ``text`` states.

    Takes time linear in the text, runs no code, and raises nothing but errors of the
    :class:`~fyke.errors.QueryError` tree, each with its place in the text.
    """
    check_size(text, limits)
    try:
        query: Query = read(_grammar(), text, _QueryReader(text, limits), limits)
    except QueryError as error:
        raise located(error, text) from None
    return query


def parse_conditions(text: str, declared: Container[str], limits: Limits) -> list[ast.Expression]:
    """Return the conditions that stand between the braces of WHERE; the pattern has declared variables."""
    return [_unplaced(each) for each in _parse_part(text, "conditions", declared, limits)]


def parse_items(text: str, declared: Container[str], limits: Limits) -> list[ast.ReturnItem]:
    """Return the items that stand behind RETURN; the pattern has declared variables."""
    items = _parse_part(text, "items", declared, limits)
    return [replace(each, expression=_unplaced(each.expression), place=None) for each in items]


def _parse_part(text: str, rule: str, declared: Container[str], limits: Limits) -> list[Any]:
    check_size(text, limits)
    reader = _QueryReader(text, limits)
    try:
        parts: list[Any] = read(_grammar(), text, reader, limits, start=rule)
        if rule == "conditions":
            parts = [conjunct for part in parts for conjunct in rules.operands_of("AND", part)]
        for part in parts:
            expression = part.expression if isinstance(part, ast.ReturnItem) else part
            check_depth(expression, limits)  # before anything goes down it by recursion
            reader.check_strings(expression, declared)
    except QueryError as error:
        raise located(error, text) from None
    return parts


def _unplaced(expression: ast.Expression) -> ast.Expression:
    """Return an expression without places: a query that is built has no text they could be in."""
    return ast.map_children(replace(expression, place=None), _unplaced)


@cache
def _grammar() -> Lark:
    return grammar("expression.lark", "sase.lark", starts=("start", "conditions", "items"))


class _Quantifier(NamedTuple):
    bounds: tuple[int, int | None] | None
    optional: bool = False


@reads_rules
class _QueryReader(ClauseReader):
    """The rules of a query and its pattern, on top of those of clauses and expressions."""

    # --- the query and its clauses

    def start(self, meta: Meta, parts: list[Any]) -> Query:
        label, pattern, where, window, returns = parts
        where = where or Where(None, (), ())
        strategy = where.strategy or ast.Strategy.NEXT
        query = assemble(
            pattern, where.conditions, strategy, window, returns, label, self._text, self._limits
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
            self.check_strings(expression, declared)
        return query

    def check_strings(self, expression: ast.Expression, declared: Container[str]) -> None:
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

    def within(self, meta: Meta, parts: list[Any]) -> ast.Window:
        amount, unit = parts
        place = self._place(meta)
        if unit is None:
            return rules.window(amount, None, place)
        return rules.window(amount, unit.text, place, unit.place)

    def return_clause(self, meta: Meta, parts: list[Any]) -> list[ast.ReturnItem] | None:
        return None if isinstance(parts[0], Token) else parts

    # --- patterns

    def seq(self, meta: Meta, parts: list[ast.Pattern]) -> ast.Pattern:
        return rules.composite(ast.Seq, parts, self._place(meta))

    def conjoined(self, meta: Meta, parts: list[Any]) -> ast.Pattern:
        return rules.composite(ast.And, without_tokens(parts), self._place(meta))

    def disjoined(self, meta: Meta, parts: list[Any]) -> ast.Pattern:
        return rules.composite(ast.Or, without_tokens(parts), self._place(meta))

    def perhaps(self, meta: Meta, parts: list[Any]) -> ast.Pattern:
        return rules.optional(parts[0], self._place(meta))

    def funnel(self, meta: Meta, parts: list[ast.Pattern]) -> ast.Funnel:
        return rules.funnel(parts, self._place(meta))

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
