"""The part of the parse tree of ``sase.lark`` that is expressions, to nodes."""

# ruff: noqa: D102 - a method is the grammar rule of its name, and the grammar is the description.

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import isfunction
from typing import Any, NamedTuple, TypeVar

from lark import Token
from lark.tree import Meta
from lark.visitors import Transformer_NonRecursive

from fyke.errors import Place, QuerySyntaxError
from fyke.language import ast, rules
from fyke.limits import Limits

_COMPARISONS = {"==": "=", "<>": "!=", "≠": "!=", "≤": "<=", "≥": ">="}


Reader = TypeVar("Reader", bound=type)


def reads_rules(reader: Reader) -> Reader:
    """Let the public methods of a class be called with the place of their grammar rule and its parts.

    Lark's own decorator makes a new wrapper for each rule that is read, which takes longer than the rule.
    """
    for name, method in vars(reader).items():
        if isfunction(method) and not name.startswith("_"):
            method.visit_wrapper = _with_place  # type: ignore[attr-defined]
    return reader


def _with_place(method: Callable[[Meta, list[Any]], Any], _rule: str, parts: list[Any], meta: Meta) -> Any:
    return method(meta, parts)


class Name(NamedTuple):
    """A name as written: its text without quotes, its place, and the quote it had, or ``""``."""

    text: str
    place: Place
    quote: str


class _Subscript(NamedTuple):
    element: ast.Index
    offset: int = 0
    owner: Name | None = None  # the v of [v.len]


def without_tokens(parts: Sequence[Any]) -> list[Any]:
    """Return the nodes among the children of a rule whose operators are still there."""
    return [part for part in parts if not isinstance(part, Token)]


def unquoted(token: str) -> str:
    """Return what stands between the quotes; a doubled quote is one."""
    quote = token[0]
    return token[1:-1].replace(quote * 2, quote)


@reads_rules
class ExpressionReader(Transformer_NonRecursive):  # type: ignore[type-arg]
    """Turns parse trees into nodes, leaves first and without recursion: one method per grammar rule."""

    def __init__(self, text: str, limits: Limits) -> None:
        super().__init__()
        self._text = text
        self._limits = limits
        self._double_quoted: set[Place | None] = set()

    def _place(self, meta: Meta | Token) -> Place:
        start, end = meta.start_pos or 0, meta.end_pos or 0
        newline = self._text.find("\n", start, end)
        length = (end if newline < 0 else newline) - start
        return Place(meta.line or 1, meta.column or 1, max(1, length))

    # --- expressions

    def disjunction(self, meta: Meta, parts: list[Any]) -> ast.Expression:
        return rules.chain("OR", without_tokens(parts), self._place(meta))

    def conjunction(self, meta: Meta, parts: list[Any]) -> ast.Expression:
        return rules.chain("AND", without_tokens(parts), self._place(meta))

    def not_(self, meta: Meta, parts: list[Any]) -> ast.Unary:
        return ast.Unary("NOT", parts[1], place=self._place(meta))

    def comparison(self, meta: Meta, parts: list[Any]) -> ast.Binary:
        left, operator, right = parts
        return ast.Binary(_COMPARISONS.get(operator, str(operator)), left, right, place=self._place(meta))

    def in_(self, meta: Meta, parts: list[Any]) -> ast.In:
        operand, negation, *options = parts
        return ast.In(operand, tuple(options), negation is not None, place=self._place(meta))

    def between(self, meta: Meta, parts: list[Any]) -> ast.Between:
        operand, negation, low, _, high = parts
        return ast.Between(operand, low, high, negation is not None, place=self._place(meta))

    def like(self, meta: Meta, parts: list[Any]) -> ast.Like:
        operand, negation, pattern = parts
        return ast.Like(operand, pattern, negation is not None, place=self._place(meta))

    def rlike(self, meta: Meta, parts: list[Any]) -> ast.Expression:
        operand, negation, pattern = parts
        place = self._place(meta)
        made = ast.Call("rlike", (operand, pattern), place=place)
        return made if negation is None else ast.Unary("NOT", made, place=place)

    def is_null(self, meta: Meta, parts: list[Any]) -> ast.IsNull:
        return ast.IsNull(parts[0], parts[1] is not None, place=self._place(meta))

    def sum(self, meta: Meta, parts: list[Any]) -> ast.Expression:
        tree: ast.Expression = parts[0]
        place = self._place(meta)
        for operator, operand in zip(parts[1::2], parts[2::2], strict=True):
            tree = ast.Binary(str(operator), tree, operand, place=place)
        return tree

    product = sum

    def negative(self, meta: Meta, parts: list[Any]) -> ast.Expression:
        return rules.negative(parts[1], self._place(meta))

    # --- literals

    def true(self, meta: Meta, parts: list[Any]) -> ast.Literal:
        return ast.Literal(True, place=self._place(meta))

    def false(self, meta: Meta, parts: list[Any]) -> ast.Literal:
        return ast.Literal(False, place=self._place(meta))

    def null(self, meta: Meta, parts: list[Any]) -> ast.Literal:
        return ast.Literal(None, place=self._place(meta))

    def string(self, meta: Meta, parts: list[Token]) -> ast.Literal:
        return ast.Literal(unquoted(parts[0]), place=self._place(meta))

    def number(self, meta: Meta, parts: list[Token]) -> ast.Literal:
        return rules.number(parts[0], whole=parts[0].type == "INT", place=self._place(meta))

    def percentage(self, meta: Meta, parts: list[Token]) -> ast.Literal:
        place = self._place(meta)
        return rules.real(float(rules.exact_number(parts[0].rstrip("% \t\r\n"), place) / 100), place)

    def duration(self, meta: Meta, parts: list[Any]) -> ast.Duration:
        amount, unit = parts
        place = self._place(meta)
        return rules.duration(rules.exact_number(amount, place), unit.text, place, unit.place)

    def parameter(self, meta: Meta, parts: list[Token]) -> ast.Parameter:
        return ast.Parameter(parts[0][1:], place=self._place(meta))

    def timestamp(self, meta: Meta, parts: list[Any]) -> ast.Timestamp:
        return ast.Timestamp(unquoted(parts[1]), place=self._place(meta))

    # --- names, references and calls

    def _name(self, token: Token) -> Name:
        quote = token[0] if token[0] in '"`' else ""
        return Name(unquoted(token) if quote else str(token), self._place(token), quote)

    TYPE = VARIABLE = WORD = QUOTED = UNIT = TIMESTAMP = DATE = _name

    def equivalence(self, meta: Meta, parts: list[Name]) -> ast.Equivalence:
        names = tuple(rules.checked_name(part.text, "a column", part.place) for part in parts)
        return ast.Equivalence(names, place=self._place(meta))

    def path(self, meta: Meta, parts: list[Name]) -> tuple[Name, ...]:
        for part in parts:
            rules.checked_name(part.text, "a column", part.place)
        return tuple(parts)

    def reference(self, meta: Meta, parts: list[Any]) -> ast.Expression:
        name, index, path = parts
        rules.checked_name(name.text, "a variable", name.place)
        if index is None and len(path) == 1 and path[0].text.lower() == "len" and not path[0].quote:
            return ast.Length(name.text, place=self._place(meta))
        if name.quote == '"' and index is None and not path:
            self._double_quoted.add(self._place(meta))
        chosen, offset, owner = index or _Subscript(ast.Index.NONE)
        if owner is not None and owner.text != name.text:
            raise QuerySyntaxError(
                f"the index of {name.text!r} is the length of {owner.text!r}",
                place=owner.place,
                remedy=f"Write {name.text}[{name.text}.len].",
            )
        steps = tuple(step.text for step in path)
        return ast.Reference(name.text, steps, chosen, offset, place=self._place(meta))

    def element_of(self, meta: Meta, parts: list[Any]) -> ast.Expression:
        name, index, *steps, number = parts
        listed = self.reference(meta, [name, index, tuple(steps)])
        return ast.Call("element_at", (listed, number), place=self._place(meta))

    def call(self, meta: Meta, parts: list[Any]) -> ast.Expression:
        name, arguments, path = parts
        made = rules.call(name.text, arguments, self._place(meta))
        if not path:
            return made
        if not isinstance(made, ast.Reference) or made.path:
            raise QuerySyntaxError(
                f"a call of {name.text} has no attributes",
                place=path[0].place,
                remedy="Only first(a), last(a) and prev(a) of a group variable can be followed by '.x'.",
            )
        return ast.Reference(
            made.variable, tuple(step.text for step in path), made.index, made.offset, place=self._place(meta)
        )

    def cast(self, meta: Meta, parts: list[Any]) -> ast.Cast:
        operand, target = parts
        return ast.Cast(operand, target, place=self._place(meta))

    def branch(self, meta: Meta, parts: list[ast.Expression]) -> tuple[ast.Expression, ...]:
        return tuple(parts)

    def case(self, meta: Meta, parts: list[Any]) -> ast.Expression:
        subject, *branches, otherwise = parts
        return rules.case(subject, branches, otherwise, self._place(meta))

    def cast_type(self, meta: Meta, parts: list[Any]) -> str:
        name, digits, scale = parts
        return rules.cast_type(name.text, digits and int(digits), scale and int(scale), self._place(meta))

    def arguments(self, meta: Meta, parts: list[ast.Expression]) -> tuple[ast.Expression, ...]:
        return tuple(parts)

    def star_argument(self, meta: Meta, parts: list[Token]) -> tuple[ast.Expression, ...]:
        return (ast.Star(place=self._place(meta)),)

    def distinct_argument(self, meta: Meta, parts: list[ast.Expression]) -> tuple[ast.Expression, ...]:
        return (ast.Call(rules.DISTINCT, tuple(parts), place=self._place(meta)),)

    # --- the element of a group

    def index_all(self, meta: Meta, parts: list[Any]) -> _Subscript:
        return _Subscript(ast.Index.ALL)

    def index_word(self, meta: Meta, parts: list[Name]) -> _Subscript:
        self._expect(meta, parts[0].text in ("i", "I"))
        return _Subscript(ast.Index.EACH)

    def index_number(self, meta: Meta, parts: list[Token]) -> _Subscript:
        return _Subscript(ast.Index.FIRST, self._element(meta, parts[0]) - 1)

    def index_offset(self, meta: Meta, parts: list[Any]) -> _Subscript:
        word, sign, number = parts
        self._expect(meta, word.text in ("i", "I") and sign == "-" and number == "1")
        return _Subscript(ast.Index.PREVIOUS)

    def index_length(self, meta: Meta, parts: list[Any]) -> _Subscript:
        owner, word, *back = parts
        self._expect(meta, word.text.lower() == "len")
        return _Subscript(ast.Index.LAST, self._element(meta, back[-1]) if back else 0, owner)

    def _element(self, meta: Meta, number: Token) -> int:
        """Return the number of an element, from 1."""
        self._expect(meta, len(number) < 10 and int(number) > 0)
        return int(number)

    def index_before(self, meta: Meta, parts: list[Any]) -> _Subscript:
        _, word, sign, number = parts
        self._expect(meta, word.text in ("i", "I") and sign == "-" and number == "1")
        return _Subscript(ast.Index.BEFORE)

    def _expect(self, meta: Meta, known: bool) -> None:
        if not known:
            found = self._text[meta.start_pos or 0 : meta.end_pos or 0]
            raise QuerySyntaxError(
                f"there is no index {found[:40]}", place=self._place(meta), remedy=rules.INDEX_REMEDY
            )
