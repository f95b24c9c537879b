"""The text of a MATCH_RECOGNIZE clause to a :class:`~fyke.language.row_patterns.RowPatternQuery`.

>>> print(parse("MATCH_RECOGNIZE (ORDER BY ts PATTERN (s down+) DEFINE down AS price < PREV(price))"))
MATCH_RECOGNIZE (
  ORDER BY ts
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (S DOWN+)
  DEFINE
      DOWN AS price < PREV(price)
)
"""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import replace
from decimal import Decimal
from functools import cache
from typing import Any, NoReturn

from lark import Lark, Token
from lark.tree import Meta

from fyke.errors import (
    AggregateError,
    NavigationError,
    Place,
    QuantifierError,
    QueryError,
    QuerySyntaxError,
    TooManyAlternativesError,
    WindowError,
)
from fyke.language import ast, rules
from fyke.language import row_patterns as rp
from fyke.language.assemble import check_depth, located
from fyke.language.clauses import ClauseReader, check_size, grammar, read
from fyke.language.row_pattern_messages import ROW_PATTERNS
from fyke.language.row_pattern_rules import check_clause
from fyke.language.sase_expression import Name, reads_rules, unquoted, without_tokens
from fyke.limits import Limits

_DEFAULTS = Limits()
_NAVIGATIONS = ("first", "last", "prev", "next")
_MOST_OFFSET = 2**31 - 1
_CLOCK = re.compile(r"(?:(\d+)\s+)?(\d+):(\d+)(?::(\d+(?:\.\d+)?))?")
_CLOCK_UNITS = ("days", "hours", "minutes", "seconds")


def parse(text: str, limits: Limits = _DEFAULTS) -> rp.RowPatternQuery:
    """Return the clause that ``text`` states.

    Takes time linear in the text, runs no code, and raises nothing but errors of the
    :class:`~fyke.errors.QueryError` tree, each with its place in the text.
    """
    check_size(text, limits)
    try:
        query: rp.RowPatternQuery = read(_grammar(), text, _ClauseReader(text, limits), limits, ROW_PATTERNS)
    except QueryError as error:
        raise located(error, text) from None
    return query


@cache
def _grammar() -> Lark:
    return grammar("expression.lark", "row_pattern.lark")


def folded(name: Name) -> str:
    """Return the name of a variable: in capitals, unless it was quoted."""
    return name.text if name.quote else name.text.upper()


# --- the parts of the clause ------------------------------------------------------------------


@reads_rules
class _RowExpressionReader(ClauseReader):
    """Expressions of row patterns: columns, navigation, aggregates, intervals."""

    def reference(self, meta: Meta, parts: list[Any]) -> ast.Expression:
        name, index, path = parts
        if index is not None:
            self._no_index(meta)
        rules.checked_name(name.text, "a column", name.place)
        steps = tuple(step.text for step in path)
        # Whether A.x is a column of a variable or a field of a column is known at the end of the clause.
        place = self._place(meta)
        self._names[place] = name
        return ast.Column((name.text, *steps), place=place)

    def __init__(self, text: str, limits: Limits) -> None:
        super().__init__(text, limits)
        self._names: dict[Place | None, Name] = {}

    def _no_index(self, meta: Meta) -> NoReturn:
        raise QuerySyntaxError(
            "a row pattern has no indices",
            place=self._place(meta),
            remedy="FIRST(A.x, 1) is the second row of A, LAST(A.x, 1) the last but one, "
            "PREV(x) the row before; an element of a list is element_at(x, 2).",
        )

    def equivalence(self, meta: Meta, parts: list[Name]) -> ast.Equivalence:
        raise QuerySyntaxError(
            "a row pattern has no [x]",
            place=self._place(meta),
            remedy="Rows that agree on columns are asked for with PARTITION BY.",
        )

    def rows_of(self, meta: Meta, parts: list[Any]) -> ast.Column:
        return ast.Column((), folded(parts[0]), place=self._place(meta))

    def call(self, meta: Meta, parts: list[Any]) -> ast.Expression:
        name, arguments, path = parts
        if path:
            raise QuerySyntaxError(f"a call of {name.text} has no fields", place=path[0].place)
        return self._called(name.text.lower(), arguments, self._place(meta))

    def seen(self, meta: Meta, parts: list[Any]) -> ast.Seen:
        word, name, arguments = parts
        place = self._place(meta)
        made = self._called(name.text.lower(), arguments, place)
        return ast.Seen(made, word.lower() == "final", place=place)

    def _called(self, function: str, arguments: tuple[ast.Expression, ...], place: Place) -> ast.Expression:
        if any(isinstance(each, ast.Call) and each.function == rules.DISTINCT for each in arguments):
            raise AggregateError(
                "an aggregate of a row pattern takes no DISTINCT",
                place=place,
                remedy="Collect the values with array_agg, and count the different ones behind the clause.",
            )
        if function in _NAVIGATIONS:
            return self._navigation(function.upper(), arguments, place)
        if function == "classifier":
            return self._classifier(arguments, place)
        if function == "collect":
            function = "array_agg"
        return rules.call(function, arguments, place)

    def _classifier(self, arguments: tuple[ast.Expression, ...], place: Place) -> ast.Call:
        if not arguments:
            return ast.Call("classifier", (), place=place)
        named = arguments[0]
        if len(arguments) > 1 or not isinstance(named, ast.Column) or len(named.path) != 1:
            raise NavigationError(
                "CLASSIFIER takes a variable of the pattern, or nothing",
                place=place,
                remedy="Write CLASSIFIER() or CLASSIFIER(A).",
            )
        variable = folded(self._names[named.place])
        return ast.Call("classifier", (ast.Column((), variable, place=named.place),), place=place)

    def _navigation(
        self, function: str, arguments: tuple[ast.Expression, ...], place: Place
    ) -> ast.Navigation:
        operand, *rest = arguments or (ast.Star(),)
        default = 1 if function in ("PREV", "NEXT") else 0
        offset = rest[0].value if rest and isinstance(rest[0], ast.Literal) else default if not rest else None
        counts = type(offset) is int and 0 <= offset <= _MOST_OFFSET
        if not counts or len(rest) > 1 or isinstance(operand, ast.Star):
            raise NavigationError(
                f"{function} takes an expression and a number of rows that is written out, from 0",
                place=place,
                remedy=f"Write {function}(price) or {function}(price, 2).",
            )
        assert isinstance(offset, int)
        return ast.Navigation(function, operand, offset, place=place)

    def interval(self, meta: Meta, parts: list[Any]) -> ast.Duration:
        place = self._place(meta)
        amount, *units = parts
        if amount.type != "STRING":
            return rules.duration(rules.exact_number(amount, place), units[0].text, place, units[0].place)
        written = unquoted(amount).strip()
        unit, last_unit = units
        if unit is None or last_unit is not None or _CLOCK.fullmatch(written):
            return self._written_interval(written, place)
        return rules.duration(rules.exact_number(written, place), unit.text, place, unit.place)

    def _written_interval(self, written: str, place: Place) -> ast.Duration:
        """Read ``'1 hour'``, ``'1 day 2 hours'`` and ``'1 02:03:04'``."""
        clock = _CLOCK.fullmatch(written)
        words = written.split()
        pairs = (
            [(number or "0", unit) for number, unit in zip(clock.groups(), _CLOCK_UNITS, strict=True)]
            if clock
            else list(zip(words[::2], words[1::2], strict=False))
        )
        if not pairs or (clock is None and len(words) % 2):
            raise QuerySyntaxError(
                f"{written[:40]!r} is not a length of time",
                place=place,
                remedy="Write INTERVAL '1' HOUR, INTERVAL '90 minutes' or INTERVAL '1 12:00:00'.",
            )
        total = sum(
            rules.duration(rules.exact_number(number, place), unit, place).nanoseconds
            for number, unit in pairs
        )
        return rules.duration(Decimal(total), "ns", place)


@reads_rules
class _RowPatternReader(_RowExpressionReader):
    """The rules of PATTERN."""

    def row_pattern(self, meta: Meta, parts: list[rp.RowPattern]) -> rp.RowPattern:
        if len(parts) == 1:
            return parts[0]
        flat = [
            inner for part in parts for inner in (part.parts if isinstance(part, rp.Alternation) else (part,))
        ]
        return rp.Alternation(tuple(flat), place=self._place(meta))

    def alternative(self, meta: Meta, parts: list[rp.RowPattern]) -> rp.RowPattern:
        if len(parts) == 1:
            return parts[0]
        flat = [
            inner
            for part in parts
            for inner in (part.parts if isinstance(part, rp.Concatenation) else (part,))
        ]
        return rp.Concatenation(tuple(flat), place=self._place(meta))

    def pattern_variable(self, meta: Meta, parts: list[Name]) -> rp.Variable:
        rules.checked_name(parts[0].text, "a variable", parts[0].place)
        return rp.Variable(folded(parts[0]), place=self._place(meta))

    def empty(self, meta: Meta, parts: list[Any]) -> rp.Empty:
        return rp.Empty(place=self._place(meta))

    def anchor(self, meta: Meta, parts: list[Token]) -> rp.Anchor:
        return rp.Anchor(parts[0] == "^", place=self._place(meta))

    def excluded(self, meta: Meta, parts: list[rp.RowPattern]) -> rp.Excluded:
        return rp.Excluded(parts[0], place=self._place(meta))

    def permutation(self, meta: Meta, parts: list[rp.RowPattern]) -> rp.RowPattern:
        if len(parts) > rp.MOST_PERMUTED:
            raise TooManyAlternativesError(
                f"PERMUTE has {len(parts)} parts; the most are {rp.MOST_PERMUTED}",
                place=self._place(meta),
                remedy="Permute fewer parts, or write (A | B | C)* and count the rows of each in MEASURES.",
            )
        return parts[0] if len(parts) == 1 else rp.Permutation(tuple(parts), place=self._place(meta))

    def quantified(self, meta: Meta, parts: list[Any]) -> rp.Quantified:
        part, (minimum, maximum), reluctant = parts
        place = self._place(meta)
        if maximum is not None and (maximum < minimum or maximum < 1):
            written = self._text[: meta.end_pos].rpartition("{")[2].partition("}")[0]
            raise QuantifierError(
                f"no number of rows satisfies the quantifier {{{''.join(written.split())}}}",
                place=place,
                remedy="Bounds are {n}, {n,}, {,m} or {n,m} with 0 <= n <= m and m above 0.",
            )
        if max(minimum, maximum or 0) > rules.LARGEST_COUNT:
            raise QuantifierError(f"a quantifier is above {rules.LARGEST_COUNT}", place=place)
        return rp.Quantified(part, minimum, maximum, reluctant is None, place=place)

    def star(self, meta: Meta, parts: list[Any]) -> tuple[int, int | None]:
        return 0, None

    def plus(self, meta: Meta, parts: list[Any]) -> tuple[int, int | None]:
        return 1, None

    def optional(self, meta: Meta, parts: list[Any]) -> tuple[int, int | None]:
        return 0, 1

    def exactly(self, meta: Meta, parts: list[Token]) -> tuple[int, int | None]:
        return self._count(parts[0]), self._count(parts[0])

    def at_least(self, meta: Meta, parts: list[Token]) -> tuple[int, int | None]:
        return self._count(parts[0]), None

    def at_most(self, meta: Meta, parts: list[Token]) -> tuple[int, int | None]:
        return 0, self._count(parts[0])

    def between_bounds(self, meta: Meta, parts: list[Token]) -> tuple[int, int | None]:
        return self._count(parts[0]), self._count(parts[1])

    def _count(self, token: Token) -> int:
        return int(rules.exact_number(token, self._place(token)))


@reads_rules
class _ClauseReader(_RowPatternReader):
    """The rules of the clause itself."""

    def start(self, meta: Meta, parts: list[Any]) -> rp.RowPatternQuery:
        partition, order, measures, rows, skip, (pattern, window), subsets, define = parts
        for each in [*(measures or ()), *(define or ())]:
            check_depth(each.expression if isinstance(each, rp.Measure) else each.condition, self._limits)
        query = rp.RowPatternQuery(
            pattern,
            tuple(define or ()),
            tuple(part.text for part in partition or ()),
            tuple(order or ()),
            tuple(measures or ()),
            rows or rp.Rows.ONE,
            skip or rp.Skip(),
            window,
            tuple(subsets or ()),
            text=self._text,
            partition_places=tuple(part.place for part in partition or ()),
        )
        names = {*query.variables, *(each.name for each in query.subsets)}
        query = replace(
            query,
            measures=tuple(
                replace(each, expression=self._resolved(each.expression, names)) for each in query.measures
            ),
            define=tuple(
                replace(each, condition=self._resolved(each.condition, names)) for each in query.define
            ),
        )
        check_clause(query, skips=skip is not None)
        return query

    def _resolved(self, node: ast.Expression, names: Set[str]) -> ast.Expression:
        """Return an expression whose columns know their variable."""
        if isinstance(node, ast.Column):
            name = self._names.get(node.place)
            if name is not None and len(node.path) > 1 and folded(name) in names:
                return replace(node, path=node.path[1:], variable=folded(name))
            return node
        return ast.map_children(node, lambda child: self._resolved(child, names))

    def partition_by(self, meta: Meta, parts: list[Name]) -> list[Name]:
        for part in parts:
            rules.checked_name(part.text, "a column", part.place)
        return parts

    def order_by(self, meta: Meta, parts: list[rp.OrderItem]) -> list[rp.OrderItem]:
        return parts

    def order_item(self, meta: Meta, parts: list[Any]) -> rp.OrderItem:
        name, direction, nulls = parts
        rules.checked_name(name.text, "a column", name.place)
        descending = direction is not None and direction.type == "DESC"
        first = nulls is not None and nulls.type == "NULLS_FIRST"
        return rp.OrderItem(name.text, descending, first, place=self._place(meta))

    def measures(self, meta: Meta, parts: list[rp.Measure]) -> list[rp.Measure]:
        return parts

    def measure(self, meta: Meta, parts: list[Any]) -> rp.Measure:
        expression, name = parts
        rules.checked_name(name.text, "a measure", name.place)
        return rp.Measure(expression, name.text, place=name.place)

    def one_row(self, meta: Meta, parts: list[Any]) -> rp.Rows:
        return rp.Rows.ONE

    def all_rows(self, meta: Meta, parts: list[Any]) -> rp.Rows:
        return parts[0] or rp.Rows.ALL

    def all_matches(self, meta: Meta, parts: list[Any]) -> rp.Rows:
        return rp.Rows.MATCHES

    def show_empty(self, meta: Meta, parts: list[Any]) -> rp.Rows:
        return rp.Rows.ALL

    def omit_empty(self, meta: Meta, parts: list[Any]) -> rp.Rows:
        return rp.Rows.OMIT_EMPTY

    def with_unmatched(self, meta: Meta, parts: list[Any]) -> rp.Rows:
        return rp.Rows.WITH_UNMATCHED

    def after_match(self, meta: Meta, parts: list[rp.Skip]) -> rp.Skip:
        return replace(parts[0], place=self._place(meta))

    def skip_past_last(self, meta: Meta, parts: list[Any]) -> rp.Skip:
        return rp.Skip()

    def skip_to_next(self, meta: Meta, parts: list[Any]) -> rp.Skip:
        return rp.Skip(rp.SkipTo.NEXT_ROW)

    def skip_to_first(self, meta: Meta, parts: list[Name]) -> rp.Skip:
        return rp.Skip(rp.SkipTo.FIRST, folded(parts[0]))

    def skip_to_last(self, meta: Meta, parts: list[Name]) -> rp.Skip:
        return rp.Skip(rp.SkipTo.LAST, folded(parts[0]))

    def pattern_clause(self, meta: Meta, parts: list[Any]) -> tuple[rp.RowPattern, ast.Window | None]:
        pattern, window = parts
        return pattern or rp.Empty(place=self._place(meta)), window

    def within(self, meta: Meta, parts: list[Any]) -> ast.Window:
        amount, unit = parts
        place = self._place(meta)
        made = rules.window(amount, unit and unit.text, place, unit and unit.place)
        if made.kind is ast.WindowKind.EVENTS:
            raise WindowError(
                "WITHIN of a row pattern is a length of time",
                place=place,
                remedy="Bound the rows with a quantifier, as in (A | B){1,100}.",
            )
        return made

    def within_interval(self, meta: Meta, parts: list[ast.Duration]) -> ast.Window:
        made = ast.Window(ast.WindowKind.DURATION, parts[0].nanoseconds, place=self._place(meta))
        return rules.checked_window(made)

    def subsets(self, meta: Meta, parts: list[rp.Subset]) -> list[rp.Subset]:
        return parts

    def subset(self, meta: Meta, parts: list[Any]) -> rp.Subset:
        if parts[1] != "=":
            raise QuerySyntaxError(
                f"unexpected {parts[1]}; expected '='",
                place=self._place(parts[1]),
                remedy="Write U = (A, B).",
            )
        name, *members = (folded(part) for part in without_tokens(parts))
        return rp.Subset(name, tuple(dict.fromkeys(members)), place=self._place(meta))

    def define(self, meta: Meta, parts: list[rp.Definition]) -> list[rp.Definition]:
        return parts

    def definition(self, meta: Meta, parts: list[Any]) -> rp.Definition:
        name, condition = parts
        return rp.Definition(folded(name), condition, place=name.place)
