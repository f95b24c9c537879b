"""What a MATCH_RECOGNIZE clause must keep to whatever its rows are: names, navigation, aggregates, output."""

from __future__ import annotations

from typing import NoReturn

from fyke.errors import (
    AggregateError,
    DuplicateVariableError,
    MissingDefineError,
    NavigationError,
    OutputNameError,
    Place,
    QueryError,
    QuerySyntaxError,
    RowsPerMatchError,
    UnknownVariableError,
    listed,
    near_misses,
)
from fyke.language.ast import Call, Column, Expression, Navigation, Node, Seen, Star, children, walk
from fyke.language.row_patterns import (
    Excluded,
    RowPatternQuery,
    Rows,
    row_pattern_parts,
)
from fyke.language.unparse import unparse_expression

ROW_AGGREGATES = frozenset({"count", "sum", "avg", "min", "max", "stddev", "median", "array_agg"})
"""The aggregates of row patterns, over rows of the match."""

_LOGICAL = ("FIRST", "LAST")


def check_clause(query: RowPatternQuery, *, skips: bool) -> None:
    """Raise unless a clause is in order; ``skips`` says whether it has AFTER MATCH SKIP."""
    _check_define(query)
    _check_names(query)
    _check_rows(query, skips)
    for measure in query.measures:
        _Checker(query, "MEASURES").check(measure.expression)
    for definition in query.define:
        _Checker(query, "DEFINE").check(definition.condition)


def _check_define(query: RowPatternQuery) -> None:
    if not query.define:
        raise MissingDefineError(
            "the clause has no DEFINE, so every row would match",
            place=query.pattern.place,
            remedy="Give at least one variable a condition, as in DEFINE A AS price > PREV(price).",
        )


def _check_names(query: RowPatternQuery) -> None:
    variables = query.variables
    seen: set[str] = set()
    for definition in query.define:
        _require(definition.variable, variables, "DEFINE", definition.place)
        if definition.variable in seen:
            _twice(f"{definition.variable} is defined twice", definition.place)
        seen.add(definition.variable)
    names: set[str] = set()
    for subset in query.subsets:
        if subset.name in variables:
            _twice(f"{subset.name} is both a variable of the pattern and a SUBSET", subset.place)
        if subset.name in names:
            _twice(f"the SUBSET {subset.name} is defined twice", subset.place)
        names.add(subset.name)
        for member in subset.members:
            _require(member, variables, f"SUBSET {subset.name}", subset.place)
    if query.skip.variable is not None:
        _require(query.skip.variable, (*variables, *names), "AFTER MATCH SKIP", query.skip.place)
    measures: set[str] = set()
    for measure in query.measures:
        if measure.name.lower() in measures:
            raise OutputNameError(
                f"two measures are named {measure.name!r}", place=measure.place, remedy="Rename one of them."
            )
        measures.add(measure.name.lower())


def _require(name: str, known: tuple[str, ...], clause: str, place: Place | None) -> None:
    if name not in known:
        raise UnknownVariableError(
            f"{clause} names {name}, which is not in the pattern",
            place=place,
            remedy=f"The pattern has {listed(known) or 'no variables'}.{near_misses(name, known)}",
        )


def _twice(message: str, place: Place | None) -> NoReturn:
    raise DuplicateVariableError(message, place=place, remedy="Rename one of them, or join their conditions.")


def _check_rows(query: RowPatternQuery, skips: bool) -> None:
    excluded = [part for part in row_pattern_parts(query.pattern) if isinstance(part, Excluded)]
    if excluded and query.rows is Rows.WITH_UNMATCHED:
        raise RowsPerMatchError(
            "with unmatched rows nothing can be excluded: an excluded row would look unmatched",
            place=excluded[0].place,
            remedy="Leave {- -} out and filter by CLASSIFIER(), or ask for ALL ROWS PER MATCH alone.",
        )
    if skips and query.rows is Rows.MATCHES:
        raise RowsPerMatchError(
            "ALL MATCHES are searched from every row, so there is nothing to skip",
            place=query.skip.place,
            remedy="Leave AFTER MATCH SKIP out, or ask for ONE ROW PER MATCH.",
        )


class _Checker:
    """Checks the expressions of one clause, MEASURES or DEFINE."""

    def __init__(self, query: RowPatternQuery, clause: str) -> None:
        self.query, self.clause = query, clause
        self.known = (*query.variables, *(subset.name for subset in query.subsets))

    def check(self, node: Node) -> None:
        """Raise unless all navigation, aggregates and functions of the match below a node are in order."""
        if isinstance(node, Column):
            self._check_column(node)
        elif isinstance(node, Star):
            self._fail(AggregateError, node, "'*' has a meaning in count(*) only", "Name a column.")
        elif isinstance(node, Seen):
            self._check_seen(node)
        elif isinstance(node, Navigation):
            self._check_navigation(node)
        elif isinstance(node, Call) and node.function in ROW_AGGREGATES:
            self._check_aggregate(node)
        elif isinstance(node, Call) and node.function == "classifier":
            for argument in node.arguments:
                self._check_variable(argument)
        elif isinstance(node, Call) and node.function == "match_number":
            self._check_match_number(node)
        else:
            for child in children(node):
                self.check(child)

    def _fail(self, error: type[QueryError], node: Node, message: str, remedy: str) -> NoReturn:
        raise error(message, place=node.place, remedy=remedy)

    def _check_column(self, node: Column) -> None:
        if not node.path:
            written = unparse_expression(node)
            remedy = f"Write count({written}), or name a column of it."
            self._fail(AggregateError, node, f"{written} has a meaning in count({written}) only", remedy)

    def _check_variable(self, node: Expression) -> None:
        if isinstance(node, Column) and node.variable is not None:
            place = node.place
            if node.variable not in self.known:
                raise UnknownVariableError(
                    f"the pattern has no variable {node.variable}",
                    place=place,
                    remedy=f"It has {listed(self.known)}.{near_misses(node.variable, self.known)}",
                )

    def _check_match_number(self, node: Call) -> None:
        if node.arguments:
            self._fail(QuerySyntaxError, node, "MATCH_NUMBER takes no argument", "Write MATCH_NUMBER().")
        if self.clause == "DEFINE":
            self._fail(
                NavigationError,
                node,
                "MATCH_NUMBER() has no meaning in DEFINE: the match is not found yet",
                "Use it in MEASURES.",
            )

    def _check_seen(self, node: Seen) -> None:
        word = "FINAL" if node.final else "RUNNING"
        if node.final and self.clause == "DEFINE":
            self._fail(
                NavigationError,
                node,
                "FINAL has no meaning in DEFINE: a condition sees the rows up to its own",
                "Leave FINAL out, or use it in MEASURES.",
            )
        inner = node.operand
        logical = isinstance(inner, Navigation) and inner.function in _LOGICAL
        if not logical and not (isinstance(inner, Call) and inner.function in ROW_AGGREGATES):
            self._fail(
                NavigationError,
                node,
                f"{word} goes with FIRST, LAST or an aggregate, found {unparse_expression(inner)}",
                f"Write {word} LAST(A.x), or PREV({word} LAST(A.x)).",
            )
        self.check(inner)

    def _check_navigation(self, node: Navigation) -> None:
        operand: Expression = node.operand
        if node.function not in _LOGICAL:
            if isinstance(operand, Seen):
                self._check_seen(operand)
                operand = operand.operand
            if isinstance(operand, Navigation) and operand.function in _LOGICAL:
                self._check_navigation(operand)
                return
        for inner in walk(operand):
            if isinstance(inner, (Navigation, Seen)):
                self._fail(
                    NavigationError,
                    inner,
                    f"{unparse_expression(inner)} stands inside {node.function}",
                    "Only PREV and NEXT hold another one, and it is a FIRST or LAST: PREV(LAST(A.x), 2).",
                )
        self._check_rows_of(node, operand, node.function)

    def _check_aggregate(self, node: Call) -> None:
        if len(node.arguments) != 1:
            self._fail(
                AggregateError,
                node,
                f"{node.function} takes one argument, found {len(node.arguments)}",
                f"Write {node.function}(A.x).",
            )
        argument = node.arguments[0]
        if node.function == "count" and isinstance(argument, Star):
            return
        if node.function == "count" and isinstance(argument, Column) and not argument.path:
            self._check_variable(argument)
            return
        for inner in walk(argument):
            if isinstance(inner, (Navigation, Seen)):
                self._fail(
                    NavigationError,
                    inner,
                    f"{unparse_expression(inner)} stands inside an aggregate",
                    "An aggregate is over columns, as in avg(A.x).",
                )
        self._check_rows_of(node, argument, node.function, needed=False)

    def _check_rows_of(self, node: Node, operand: Expression, by: str, *, needed: bool = True) -> None:
        """Check that all of an operand speaks of the rows of one variable, or of no variable."""
        found: dict[str | None, None] = {}
        for inner in walk(operand):
            if isinstance(inner, Call) and inner.function in ROW_AGGREGATES:
                self._fail(
                    AggregateError,
                    inner,
                    f"the aggregate {unparse_expression(inner)} stands inside {by}",
                    f"{by} takes columns, as in {by}(A.x).",
                )
            if isinstance(inner, Column):
                found[inner.variable] = None
            elif isinstance(inner, Call) and inner.function == "classifier" and not inner.arguments:
                found[None] = None
        if len(found) > 1:
            spoken = " and ".join("all rows" if name is None else name for name in found)
            self._fail(
                NavigationError,
                node,
                f"{by} speaks of {spoken}: it is over the rows of one variable",
                f"Write one {by} for each, or define a SUBSET of the variables.",
            )
        if needed and not found:
            self._fail(NavigationError, node, f"{by} speaks of no column", f"Name one, as in {by}(A.x).")
        self._check_inside(operand)

    def _check_inside(self, operand: Expression) -> None:
        if isinstance(operand, Column):
            self._check_column(operand)
        self.check(operand)
