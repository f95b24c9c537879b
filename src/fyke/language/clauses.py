"""What reading a query takes in both languages: text to parse tree, and the clauses the two share."""

# ruff: noqa: D102 - a method is the grammar rule of its name, and the grammar is the description.

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from functools import cache
from importlib import resources
from itertools import islice
from typing import Any, NamedTuple

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput, VisitError
from lark.parsers.lalr_interactive_parser import InteractiveParser
from lark.tree import Meta

from fyke.errors import OptionError, Place, QueryTooLargeError
from fyke.language import ast, rules
from fyke.language.assemble import DEEPEST_TREE, too_deep
from fyke.language.sase_expression import ExpressionReader, Name, reads_rules
from fyke.language.syntax_errors import SASE, Dialect, bracket_nesting, explain, place_at
from fyke.limits import Limits


@cache
def grammar(*files: str, starts: tuple[str, ...] = ("start",)) -> Lark:
    """Return the parser of a language, whose grammar is the text of these files one after another.

    ``starts`` are the rules that a text may be read by.
    """
    # Read as resources: the package may lie in a zip file on a worker.
    texts = [(resources.files("fyke.language") / name).read_text("utf-8") for name in files]
    return Lark(
        "".join(texts), parser="lalr", start=list(starts), propagate_positions=True, maybe_placeholders=True
    )


def check_size(text: str, limits: Limits) -> None:
    """Raise unless ``text`` is text of whole characters, of a length within the limits."""
    if not isinstance(text, str):
        raise OptionError(f"a query is text, found {type(text).__name__}")
    if len(text) > limits.query_characters:
        raise QueryTooLargeError(
            f"the query has {len(text)} characters; the limit is {limits.query_characters}",
            remedy="Raise the limit query_characters, or split the query.",
        )
    at = rules.half_character(text)
    if at is not None:
        rules.checked_text(text, place_at(text, at, 1))


def read(
    language: Lark,
    text: str,
    reader: ExpressionReader,
    limits: Limits,
    dialect: Dialect = SASE,
    start: str = "start",
) -> Any:
    """Return what ``reader`` makes of the text, read by the rule ``start``."""
    deepest = min(limits.query_depth, DEEPEST_TREE)
    # The braces of WHERE nest nothing, so brackets may go one deeper than the tree.
    place = bracket_nesting(text, deepest + 1)
    if place is not None:
        raise too_deep(deepest, place)
    tree = _tree(language, text, dialect, start)
    try:
        return reader.transform(tree)
    except VisitError as error:
        raise error.orig_exc from None


def _tree(language: Lark, text: str, dialect: Dialect, start: str) -> Tree[Token]:
    parser = language.parse_interactive(text, start)
    fed = 0
    try:
        for token in _tokens(parser):
            parser.feed_token(token)
            fed += 1
        tree: Tree[Token] = parser.feed_eof()  # type: ignore[no-untyped-call]
    except UnexpectedInput as error:
        raise explain(error, text, _accepted_after(language, text, fed, start), dialect) from None
    return tree


def _accepted_after(language: Lark, text: str, fed: int, start: str) -> set[str]:
    """Return the terminals that can follow the first ``fed`` tokens.

    The parser that met the error may have reduced what it had before it noticed, so ask a fresh one.
    """
    parser = language.parse_interactive(text, start)
    for token in islice(_tokens(parser), fed):
        parser.feed_token(token)
    accepted: set[str] = parser.accepts()  # type: ignore[no-untyped-call]
    return accepted


def _tokens(parser: InteractiveParser) -> Iterator[Token]:
    """Yield the tokens, each read as the parser's state at that time suggests."""
    yield from parser.lexer_thread.lex(parser.parser_state)  # type: ignore[no-untyped-call]


class Where(NamedTuple):
    """A WHERE clause as written; ``strategy`` and ``place`` are None if it names no strategy."""

    strategy: ast.Strategy | None
    scope: tuple[Name, ...]
    conditions: tuple[ast.Expression, ...]
    place: Place | None = None


@reads_rules
class ClauseReader(ExpressionReader):
    """The rules of the clauses that both languages have, on top of those of expressions."""

    def label(self, meta: Meta, parts: list[Name]) -> str:
        return rules.checked_name(parts[0].text, "the query", parts[0].place)

    def where(self, meta: Meta, parts: list[Any]) -> Where:
        head = parts.pop(0) if parts and isinstance(parts[0], Where) else Where(None, (), ())
        return head._replace(conditions=tuple(parts))

    def strategy(self, meta: Meta, parts: list[Any]) -> Where:
        return Where(self._strategy(parts[0]), tuple(parts[1:]), (), self._place(parts[0]))

    scoped = strategy

    def _strategy(self, name: str) -> ast.Strategy:
        return rules.strategy_named(name)

    def conditions(self, meta: Meta, parts: list[ast.Expression]) -> list[ast.Expression]:
        return parts

    def items(self, meta: Meta, parts: list[ast.ReturnItem]) -> list[ast.ReturnItem]:
        return parts

    def signed(self, meta: Meta, parts: list[Any]) -> Decimal:
        sign, number = parts
        return rules.exact_number((sign or "") + number, self._place(meta))

    def item(self, meta: Meta, parts: list[Any]) -> ast.ReturnItem:
        expression, alias = parts
        if alias is not None:
            rules.checked_name(alias.text, "an item of RETURN", alias.place)
        return ast.ReturnItem(expression, alias and alias.text, place=self._place(meta))
