"""Python objects that stand for expressions: ``a.price > b.price`` makes a tree, not a truth."""

from __future__ import annotations

import numbers
from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Union

from fyke.errors import QueryError, QuerySyntaxError, TypeClashError
from fyke.language import ast, rules
from fyke.language.unparse import unparse_expression

Operand = Union["Term", int, float, Decimal, str, bool, date, datetime, timedelta, None]
"""What can stand beside a term: another term, or a Python value that has a literal."""


class Term:
    """An expression.  Operators, and the methods below, make larger ones.

    ``&``, ``|`` and ``~`` are AND, OR and NOT; they bind tighter than comparisons in Python, so
    comparisons around them need parentheses.  An attribute of a term that is a column is a field of
    it: ``a.loc.lat``; a field with the name of a method is ``a.loc["like"]``.
    """

    __slots__ = ("_node",)

    def __init__(self, node: ast.Expression) -> None:
        self._node = node

    def isin(self, *options: Operand | list[Operand] | tuple[Operand, ...] | set[Operand]) -> Term:
        """Return ``self IN (options)``; the options may also be one list."""
        listed = options[0] if len(options) == 1 and isinstance(options[0], (list, tuple, set)) else options
        if not listed:
            raise QuerySyntaxError("isin() needs a value", remedy="Write x.isin(1, 2, 3).")
        return Term(ast.In(self._node, tuple(node_of(option) for option in listed)))  # type: ignore[arg-type]

    def between(self, low: Operand, high: Operand) -> Term:
        """Return ``self BETWEEN low AND high``, both bounds inclusive."""
        return Term(ast.Between(self._node, node_of(low), node_of(high)))

    def like(self, pattern: Operand) -> Term:
        """Return ``self LIKE pattern``: ``%`` is any text, ``_`` one character."""
        return Term(ast.Like(self._node, node_of(pattern)))

    def rlike(self, pattern: Operand) -> Term:
        """Return ``self RLIKE pattern``: a regular expression that is found somewhere in the text."""
        return Term(rules.call("rlike", (self._node, node_of(pattern))))

    def is_null(self) -> Term:
        """Return ``self IS NULL``."""
        return Term(ast.IsNull(self._node))

    def is_not_null(self) -> Term:
        """Return ``self IS NOT NULL``."""
        return Term(ast.IsNull(self._node, negated=True))

    def alias(self, name: str) -> Item:
        """Return ``self AS name``, for ``returns``."""
        return Item(ast.ReturnItem(self._node, rules.checked_name(name, "an item of RETURN")))

    def __getattr__(self, name: str) -> Term:
        _check_public(name)
        if not isinstance(self._node, ast.Reference):
            raise AttributeError(f"{self} has no field {name!r}")
        return Term(_extended(self._node, name))

    def __getitem__(self, name: str) -> Term:
        if not isinstance(self._node, ast.Reference):
            raise QuerySyntaxError(f"{self} has no fields")
        return Term(_extended(self._node, name))

    # The comparisons of a term are terms, as those of a Spark column are columns.
    def __eq__(self, other: Operand) -> Term:  # type: ignore[override]
        return _binary("=", self, other)

    def __ne__(self, other: Operand) -> Term:  # type: ignore[override]
        return _binary("!=", self, other)

    def __lt__(self, other: Operand) -> Term:
        return _binary("<", self, other)

    def __le__(self, other: Operand) -> Term:
        return _binary("<=", self, other)

    def __gt__(self, other: Operand) -> Term:
        return _binary(">", self, other)

    def __ge__(self, other: Operand) -> Term:
        return _binary(">=", self, other)

    def __add__(self, other: Operand) -> Term:
        return _binary("+", self, other)

    def __radd__(self, other: Operand) -> Term:
        return _binary("+", other, self)

    def __sub__(self, other: Operand) -> Term:
        return _binary("-", self, other)

    def __rsub__(self, other: Operand) -> Term:
        return _binary("-", other, self)

    def __mul__(self, other: Operand) -> Term:
        return _binary("*", self, other)

    def __rmul__(self, other: Operand) -> Term:
        return _binary("*", other, self)

    def __truediv__(self, other: Operand) -> Term:
        return _binary("/", self, other)

    def __rtruediv__(self, other: Operand) -> Term:
        return _binary("/", other, self)

    def __mod__(self, other: Operand) -> Term:
        return _binary("%", self, other)

    def __rmod__(self, other: Operand) -> Term:
        return _binary("%", other, self)

    def __neg__(self) -> Term:
        return Term(rules.negative(self._node))

    def __and__(self, other: Operand) -> Term:
        return _binary("AND", self, other)

    def __rand__(self, other: Operand) -> Term:
        return _binary("AND", other, self)

    def __or__(self, other: Operand) -> Term:
        return _binary("OR", self, other)

    def __ror__(self, other: Operand) -> Term:
        return _binary("OR", other, self)

    def __invert__(self) -> Term:
        if isinstance(self._node, (ast.In, ast.Between, ast.Like, ast.IsNull)):
            return Term(replace(self._node, negated=not self._node.negated))
        return Term(ast.Unary("NOT", self._node))

    def __bool__(self) -> bool:
        raise QueryError(
            f"the condition {self} is neither true nor false before the query runs",
            remedy="Use & for and, | for or, ~ for not, .isin(...) for in, .between(...) for chains. "
            "Comparisons need parentheses: (a.x < 3) & (b.y > 1).",
        )

    def __str__(self) -> str:
        return unparse_expression(self._node)

    def __repr__(self) -> str:
        return f"<term {self}>"


class Item:
    """A term with a name, for ``returns``."""

    __slots__ = ("node",)

    def __init__(self, node: ast.ReturnItem) -> None:
        self.node = node


class Element:
    """The event of a variable, or some of the events of a group: ``.x`` or ``["x"]`` is its column."""

    __slots__ = ("_index", "_name", "_offset")

    def __init__(self, name: str, index: ast.Index = ast.Index.NONE, offset: int = 0) -> None:
        if not isinstance(name, str):
            raise QuerySyntaxError(f"the name of a variable is a string, found {name!r}")
        self._name = rules.checked_name(name, "a variable")
        self._index, self._offset = index, offset

    def __getattr__(self, column: str) -> Term:
        _check_public(column)
        return self[column]

    def __getitem__(self, column: str) -> Term:
        return Term(_extended(ast.Reference(self._name, (), self._index, self._offset), column))

    def __repr__(self) -> str:
        return f"<variable {unparse_expression(node_of(self))}>"


class Variable(Element):
    """A variable of the pattern.  ``a.x`` is a column; the names below are not, so write ``a["len"]``."""

    __slots__ = ()

    @property
    def each(self) -> Element:
        """Every element of the group: ``a[i]``."""
        return Element(self._name, ast.Index.EACH)

    @property
    def prev(self) -> Element:
        """The element before: ``a[i-1]``."""
        return Element(self._name, ast.Index.PREVIOUS)

    @property
    def first(self) -> Element:
        """The first element: ``a[1]``."""
        return Element(self._name, ast.Index.FIRST)

    @property
    def last(self) -> Element:
        """The last element: ``a[a.len]``."""
        return Element(self._name, ast.Index.LAST)

    def element(self, number: int) -> Element:
        """Return an element of the group by its number, from 1, or back from -1: ``a[2]``, ``a[a.len-1]``."""
        if not isinstance(number, int) or number == 0:
            raise QuerySyntaxError(
                f"an element has a number from 1, or back from -1, found {number!r}"[:80],
                remedy="Write a.element(2) for the second, a.element(-2) for the one before the last.",
            )
        index = ast.Index.FIRST if number > 0 else ast.Index.LAST
        return Element(self._name, index, abs(number) - 1)

    @property
    def all(self) -> Element:
        """The whole group, for an aggregate: ``a[]``."""
        return Element(self._name, ast.Index.ALL)

    @property
    def before(self) -> Element:
        """The elements before, for an aggregate: ``a[..i-1]``."""
        return Element(self._name, ast.Index.BEFORE)

    @property
    def len(self) -> Term:
        """The number of events in the group: ``a.len``."""
        return Term(ast.Length(self._name))


def term(value: Operand | Element) -> Term:
    """Return a value as a term; a variable is its whole event."""
    return value if isinstance(value, Term) else Term(node_of(value))


def node_of(value: Operand | Element) -> ast.Expression:
    """Return the tree that a term, a variable or a Python value stands for."""
    if isinstance(value, Term):
        return value._node
    if isinstance(value, Element):
        return ast.Reference(value._name, (), value._index, value._offset)
    if value is None or isinstance(value, bool):
        return ast.Literal(value)
    if isinstance(value, str):
        return ast.Literal(rules.checked_text(str.__str__(value)))
    if isinstance(value, timedelta):
        whole = (value.days * 86_400 + value.seconds) * 10**9 + value.microseconds * 1000
        return rules.duration(rules.exact_number(str(whole)), "ns")
    if isinstance(value, date):
        return ast.Timestamp(value.isoformat(" ") if isinstance(value, datetime) else value.isoformat())
    return _number(value)


def _number(value: object) -> ast.Expression:
    if isinstance(value, numbers.Integral):  # those of numpy too
        return rules.integer(int(value))
    if isinstance(value, Decimal) and value.is_finite():
        text = format(value, "f")
        number = rules.number(text.lstrip("-"), whole="." not in text)
        return rules.negative(number) if value < 0 else number
    if isinstance(value, numbers.Real):
        return rules.real(float(value))
    raise TypeClashError(
        f"a query cannot hold a value of type {type(value).__name__}",
        remedy="Values are numbers, strings, bools, None, dates, datetimes and timedeltas.",
    )


def _binary(operator: str, left: Operand, right: Operand) -> Term:
    return Term(ast.Binary(operator, node_of(left), node_of(right)))


def _check_public(name: str) -> None:
    # Python itself asks objects for names that start with an underscore, and must be told they have none.
    if name.startswith("_"):
        raise AttributeError(f"a column whose name starts with '_' is written [{name!r}]")


def _extended(node: ast.Reference, name: str) -> ast.Reference:
    if not isinstance(name, str):
        raise QuerySyntaxError(
            f"a column is named by a string, found {name!r}",
            remedy="The elements of a group are a.first, a.last, a.each, a.prev, a.all and a.before.",
        )
    path = (*node.path, rules.checked_name(name, "a column"))
    return ast.Reference(node.variable, path, node.index, node.offset)
