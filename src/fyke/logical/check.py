"""Name and type checks of expressions: each either has a kind or an error that says why not."""

from __future__ import annotations

import datetime
from dataclasses import replace
from decimal import Decimal
from typing import NoReturn

import pyarrow as pa

from fyke.errors import (
    AggregateError,
    GroupAsSingleError,
    ParameterError,
    QuerySyntaxError,
    TypeClashError,
    UnknownFunctionError,
    UnsupportedQueryError,
    near_misses,
)
from fyke.language.ast import (
    Between,
    Binary,
    Call,
    Cast,
    Duration,
    Equivalence,
    Expression,
    In,
    Index,
    IsNull,
    Length,
    Like,
    Literal,
    Parameter,
    Reference,
    Star,
    Timestamp,
    Unary,
    walk,
)
from fyke.language.rules import COUNT_DISTINCT
from fyke.language.unparse import unparse_expression
from fyke.logical.check_operators import (
    OperatorChecker,
    beside_decimal,
    is_aggregate,
    over_matches,
    over_several_events,
)
from fyke.logical.kinds import (
    AGGREGATES,
    COLLECT,
    FUNCTIONS,
    MEDIAN,
    NUMERIC,
    OF_RESULTS,
    Kind,
    comparable,
    kind_of,
)
from fyke.logical.regular_expressions import ARROW, RegularExpressionError, translated
from fyke.logical.scope import Scope
from fyke.logical.value_types import type_of

__all__ = ["Checker", "is_aggregate", "over_matches"]

_LITERALS = {
    bool: Kind.BOOLEAN,
    int: Kind.INTEGER,
    float: Kind.FLOAT,
    Decimal: Kind.DECIMAL,
    str: Kind.STRING,
    type(None): Kind.NULL,
}
_DIGITS = (-37, 300)
_COMPARING = ("min", "max", COUNT_DISTINCT)


class Checker(OperatorChecker):
    """Checks expressions of one clause: conditions, or RETURN items (``returning``)."""

    def condition(self, expression: Expression) -> None:
        """Check a conjunct of WHERE: it must be boolean."""
        kind = self.kind(expression)
        if kind not in (Kind.BOOLEAN, Kind.NULL):
            self._fail(
                TypeClashError,
                expression,
                f"a condition is true or false, but {unparse_expression(expression)} is {kind.value}",
                "Compare it with something, as in a.x > 0.",
            )

    def kind(self, node: Expression) -> Kind:
        """Return the kind of an expression, or raise the error that says what is wrong with it."""
        if isinstance(node, Literal):
            return _LITERALS[type(node.value)]
        if isinstance(node, Duration):
            return Kind.DURATION
        if isinstance(node, Timestamp):
            return self._timestamp(node)
        if isinstance(node, Reference):
            return self._reference(node)
        if isinstance(node, Length):
            return self._length(node)
        if isinstance(node, Unary):
            return self._unary(node)
        if isinstance(node, Binary):
            return self._binary(node)
        if isinstance(node, Call):
            return self._aggregate(node) if node.function in AGGREGATES else self._call(node)
        if isinstance(node, Cast):
            return self._cast(node)
        if isinstance(node, (In, Between, Like, IsNull)):
            return self._predicate(node)
        if isinstance(node, Parameter):
            example = f"Give it one, as in params={{{node.name!r}: 5}}."
            self._fail(ParameterError, node, f"the parameter :{node.name} has no value", example)
        assert isinstance(node, (Star, Equivalence))
        self._fail(
            AggregateError,
            node,
            f"{unparse_expression(node)} has no meaning here",
            "'*' stands in count(*) only, and [x] is a condition of its own.",
        )

    def _timestamp(self, node: Timestamp) -> Kind:
        try:
            datetime.datetime.fromisoformat(node.text.strip().replace("Z", "+00:00"))
        except ValueError:
            written = "Write, for example, TIMESTAMP '2026-01-31 12:00:00'."
            self._fail(QuerySyntaxError, node, f"{node.text[:40]!r} is not a point in time", written)
        return Kind.TIMESTAMP

    # --- functions --------------------------------------------------------------------

    def _call(self, node: Call) -> Kind:
        kinds = [self.kind(argument) for argument in node.arguments]
        if self.scope.functions is not None and node.function in self.scope.functions:
            return self._registered(node, kinds)
        function = FUNCTIONS.get(node.function)
        if function is None:
            return self._foreign(node)
        self._check_count(node, function.least, function.most)
        for position, (argument, kind) in enumerate(zip(node.arguments, kinds, strict=True)):
            allowed = function.arguments[min(position, len(function.arguments) - 1)]
            self._need(argument, kind, allowed, node.function)
        if node.function == "round" and len(node.arguments) == 2:
            self._check_digits(node.arguments[1])
        if node.function == "rlike":
            self._check_regular_expression(node.arguments[1])
        if not function.across:
            self._check_one_event(node, node.function)
        if function.result is not None:
            return function.result
        if node.function == "element_at":
            listed = type_of(node.arguments[0], self.scope.type_at)
            return Kind.NULL if listed is None or pa.types.is_null(listed) else kind_of(listed.value_type)
        valued = {"if": slice(1, None), "round": slice(0, 1)}.get(node.function, slice(None))
        return self._common(node, node.arguments[valued], kinds[valued])

    def _check_digits(self, digits: Expression) -> None:
        value = digits.value if isinstance(digits, Literal) else None
        if not isinstance(value, int) or not _DIGITS[0] <= value <= _DIGITS[1]:
            self._fail(
                TypeClashError,
                digits,
                f"round takes a number of digits from {_DIGITS[0]} to {_DIGITS[1]} that is written out, "
                f"found {unparse_expression(digits)}",
                "Write, for example, round(a.x, 2).",
            )

    def _check_regular_expression(self, pattern: Expression) -> None:
        if not (isinstance(pattern, Literal) and isinstance(pattern.value, str)):
            self._fail(
                TypeClashError,
                pattern,
                f"RLIKE takes a regular expression in quotes, found {unparse_expression(pattern)}",
                "Write, for example, a.x RLIKE '^shelf [0-9]+$'.",
            )
        try:
            translated(pattern.value, ARROW)
        except RegularExpressionError as error:
            remedy = (
                "There are . [a-z] [^a-z] \\d \\w \\s ^ $ | ( ) and the repetitions * + ? {2} {2,} {2,5}."
            )
            self._fail(QuerySyntaxError, pattern, f"not a regular expression: {error}", remedy)

    def _check_count(self, node: Call, least: int, most: int | None) -> None:
        found = len(node.arguments)
        if least <= found and (most is None or found <= most):
            return
        number = f"{least} or more" if most is None else f"{least}" if least == most else f"{least} to {most}"
        noun = "argument" if number == "1" else "arguments"
        self._fail(
            TypeClashError,
            node,
            f"{node.function} takes {number} {noun}, found {found}",
            f"Write {node.function}({', '.join('xyz'[:least])}).",
        )

    def _common(self, node: Call, arguments: tuple[Expression, ...], kinds: list[Kind]) -> Kind:
        if Kind.DECIMAL in kinds:
            kinds = [beside_decimal(*each) for each in zip(arguments, kinds, strict=True)]
        result, source = kinds[0], arguments[0]
        for argument, kind in zip(arguments, kinds, strict=True):
            if not comparable(result, kind) and result is not kind:
                self._clash(node, source, result, argument, kind, f"{node.function} needs one type")
            if Kind.NULL not in (result, kind) and result in (Kind.LIST, Kind.STRUCT):
                self._check_same_type(node, source, argument)
            if result is Kind.NULL or (result in NUMERIC and kind in (Kind.FLOAT, Kind.DECIMAL)):
                result = Kind.FLOAT if Kind.FLOAT in (result, kind) else kind
                source = argument
        return result

    def _check_same_type(self, node: Call, left: Expression, right: Expression) -> None:
        one, other = (type_of(each, self.scope.type_at) for each in (left, right))
        if one != other:
            self._fail(
                TypeClashError,
                node,
                f"{unparse_expression(left)} is {one} and {unparse_expression(right)} is {other}: "
                f"{node.function} needs one type",
                "Convert one of the columns before matching.",
            )

    def _registered(self, node: Call, kinds: list[Kind]) -> Kind:
        assert self.scope.functions is not None
        arity = self.scope.functions[node.function]
        self._check_count(node, arity, arity)
        for argument, kind in zip(node.arguments, kinds, strict=True):
            self._need(argument, kind, NUMERIC | {Kind.NULL}, node.function)
        return Kind.FLOAT

    def _foreign(self, node: Call) -> Kind:
        """Ask the input's SQL dialect about a function of one event that Fyke does not know."""
        several = over_several_events(node)
        if self.scope.infer is not None and not several:
            arrow = self.scope.infer(node, self.scope.schema.attributes(None))
            if arrow is not None:
                return kind_of(arrow)
        known = [*FUNCTIONS, *AGGREGATES, *(self.scope.functions or ())]
        self._fail(
            UnknownFunctionError,
            node,
            f"unknown function {node.function!r}{' over several events' if several else ''}",
            "Register a function of numbers with functions={'name': callable}; on a DataFrame any Spark SQL "
            f"function may be used on the attributes of one event.{near_misses(node.function, known)}",
        )

    def _aggregate(self, node: Call) -> Kind:
        if len(node.arguments) != 1:
            self._fail(
                AggregateError,
                node,
                f"{node.function} takes one argument, found {len(node.arguments)}",
                f"Write {node.function}(a[].x).",
            )
        if not self.returning and node.function in OF_RESULTS:
            written = unparse_expression(node)
            self._fail(
                UnsupportedQueryError,
                node,
                f"{written} is known when a match is, and a condition is decided event by event",
                "Use it in RETURN; conditions have avg, sum, min, max, count, stddev, first and last.",
            )
        if over_matches(node):
            return self._over_matches(node)
        argument = node.arguments[0]
        kind = _AggregateArgument(self.scope, self.returning, node).kind(argument)
        return self._aggregate_result(node, argument, kind)

    def _aggregate_result(self, node: Call, argument: Expression, kind: Kind) -> Kind:
        if node.function == "count":
            return Kind.INTEGER
        if node.function == COLLECT:
            return Kind.LIST
        if node.function in ("avg", "sum", "stddev", MEDIAN):
            self._need(argument, kind, NUMERIC | {Kind.NULL}, node.function)
            return kind if node.function == "sum" else Kind.FLOAT
        if kind in (Kind.LIST, Kind.STRUCT, Kind.EVENT, Kind.OTHER) and node.function in _COMPARING:
            self._fail(
                TypeClashError,
                node,
                f"{node.function} takes values that can be compared, but {unparse_expression(argument)} "
                f"is {kind.value}",
                "Name one attribute, as in max(a[].x).",
            )
        return Kind.INTEGER if node.function == COUNT_DISTINCT else kind

    def _over_matches(self, node: Call) -> Kind:
        argument = node.arguments[0]
        if not self.returning:
            self._fail_outside_group(node, argument)
        if isinstance(argument, Star):
            if node.function != "count":
                self._fail(AggregateError, node, f"{node.function}(*) has no meaning", "Only count(*) has.")
            return Kind.INTEGER
        if node.function in ("first", "last", COLLECT):
            self._fail(
                AggregateError,
                node,
                f"{node.function} over matches has no meaning: matches have no order",
                "Use min or max.",
            )
        if any(over_matches(inner) for inner in walk(argument) if isinstance(inner, Call)):
            self._fail(
                AggregateError,
                node,
                f"{unparse_expression(node)} puts an aggregate over matches into another one",
                "Aggregate an attribute, as in max(c.x), or an aggregate of a group, as in avg(sum(b[].x)).",
            )
        return self._aggregate_result(node, argument, self.kind(argument))

    def _fail_outside_group(self, node: Call, argument: Expression) -> NoReturn:
        if isinstance(argument, Star):
            self._fail(
                AggregateError,
                node,
                f"{unparse_expression(node)} counts matches, but a condition is about one match",
                "Use it in RETURN; in a condition a.len counts the events of a group.",
            )
        if any(is_aggregate(inner) for inner in walk(argument)):
            self._fail(
                AggregateError,
                node,
                f"{unparse_expression(node)} puts an aggregate into another one",
                "An aggregate in a condition is over attributes, as in avg(a[].x).",
            )
        for reference in walk(argument):
            if isinstance(reference, Reference):
                self.scope.require_variable(reference.variable, reference.place)
                if self.scope.is_group(reference.variable):
                    whole, earlier = (
                        unparse_expression(replace(reference, index=index))
                        for index in (Index.ALL, Index.BEFORE)
                    )
                    group = f"the group {reference.variable!r}"
                    self._fail(
                        GroupAsSingleError,
                        node,
                        f"{unparse_expression(node)} does not say which elements of {group} it is over",
                        f"Write {node.function}({whole}) for the whole group, or {node.function}({earlier}) "
                        "for the elements before.",
                    )
        self._fail(
            AggregateError,
            node,
            f"{node.function} is an aggregate, and {unparse_expression(argument)} is no group",
            "An aggregate in a condition is over a group, as in avg(a[].x) or avg(a[..i-1].x).",
        )


class _AggregateArgument(Checker):
    """Checks what stands inside an aggregate of a group: one group, one range."""

    def __init__(self, scope: Scope, returning: bool, node: Call) -> None:
        super().__init__(scope, returning=returning)
        self.node = node
        references = [ref for ref in walk(node.arguments[0]) if isinstance(ref, Reference)]
        self.range = references[0].index
        self.group = references[0].variable

    def _check_index(self, node: Reference, group: bool) -> None:
        if not group:
            super()._check_index(node, group)
        if node.index is Index.BEFORE and self.returning:
            whole = unparse_expression(replace(node, index=Index.ALL))
            self._fail(
                AggregateError,
                self.node,
                f"{unparse_expression(node)} has a meaning in conditions only",
                f"Write {whole} for the whole group.",
            )
        if not node.path:
            self._fail(
                AggregateError,
                self.node,
                f"{unparse_expression(self.node)} is over whole events",
                f"Name an attribute, as in {self.node.function}({node.variable}[].x); "
                f"{node.variable}.len counts the events.",
            )
        if (node.variable, node.index) != (self.group, self.range):
            self._fail_mixed()

    def _fail_mixed(self) -> NoReturn:
        self._fail(
            AggregateError,
            self.node,
            f"{unparse_expression(self.node)} mixes elements of different groups or ranges",
            "An aggregate is over the attributes of one group, all written a[] or all a[..i-1].",
        )

    def _length(self, node: Length) -> Kind:
        super()._length(node)
        self._fail_mixed()

    def _check_returned(self, node: Reference, group: bool) -> None:
        if node.variable in self.scope.absent:
            super()._check_returned(node, group)
