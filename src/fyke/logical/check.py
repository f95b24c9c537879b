"""Name and type checks of expressions: each either has a kind or an error that says why not."""

from __future__ import annotations

import datetime
from dataclasses import replace
from typing import NoReturn

from fyke.errors import (
    AggregateError,
    GroupAsSingleError,
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
    Duration,
    Equivalence,
    Expression,
    In,
    Index,
    IsNull,
    Length,
    Like,
    Literal,
    Reference,
    Star,
    Timestamp,
    Unary,
    walk,
)
from fyke.language.unparse import unparse_expression
from fyke.logical.check_reference import ReferenceChecker
from fyke.logical.kinds import AGGREGATES, FUNCTIONS, NUMERIC, TEMPORAL, Kind, comparable, kind_of
from fyke.logical.scope import Scope

COMPARISONS = frozenset({"=", "!=", "<", "<=", ">", ">="})
_LITERALS = {
    bool: Kind.BOOLEAN,
    int: Kind.INTEGER,
    float: Kind.FLOAT,
    str: Kind.STRING,
    type(None): Kind.NULL,
}
_TRUTH = "Write a comparison, as in a.x > 0."
_REMEDIES = {
    "AND": _TRUTH,
    "OR": _TRUTH,
    "NOT": _TRUTH,
    "LIKE": "Use =, <, > or BETWEEN for what is not text.",
    "a minus sign": "Leave it out.",
}


def _names(kinds: frozenset[Kind] | set[Kind]) -> str:
    """Return kinds in words: ``"a number or a duration"``."""
    if kinds >= NUMERIC | TEMPORAL | {Kind.STRING, Kind.BOOLEAN}:
        return "a value"
    names = ["a number"] if kinds >= NUMERIC else []
    names += sorted(f"a {kind.value}" for kind in kinds - NUMERIC - {Kind.NULL})
    if not kinds >= NUMERIC and Kind.INTEGER in kinds:
        names.append("an integer")
    return " or ".join(names)


def is_aggregate(node: object) -> bool:
    """Say whether a node is a call of an aggregate function."""
    return isinstance(node, Call) and node.function in AGGREGATES


def over_matches(node: Expression) -> bool:
    """Say whether a node is an aggregate over matches: of ``*``, or of no whole group ``a[]``."""
    if not (isinstance(node, Call) and node.function in AGGREGATES):
        return False
    inner = [child for argument in node.arguments for child in walk(argument)]
    own = [
        child for child in inner if isinstance(child, Reference) and child.index in (Index.ALL, Index.BEFORE)
    ]
    return not own or any(is_aggregate(child) for child in inner)


def _over_several_events(node: Expression) -> bool:
    elements = {(ref.variable, ref.index) for ref in walk(node) if isinstance(ref, Reference)}
    return len(elements) > 1 or any(isinstance(part, Length) or is_aggregate(part) for part in walk(node))


class Checker(ReferenceChecker):
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
        if isinstance(node, (In, Between, Like, IsNull)):
            return self._predicate(node)
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

    # --- operators --------------------------------------------------------------------

    def _unary(self, node: Unary) -> Kind:
        kind = self.kind(node.operand)
        if node.operator == "NOT":
            self._need(node.operand, kind, {Kind.BOOLEAN, Kind.NULL}, "NOT")
            return Kind.BOOLEAN
        self._need(node.operand, kind, NUMERIC | {Kind.DURATION, Kind.NULL}, "a minus sign")
        return kind

    def _need(self, node: Expression, found: Kind, allowed: set[Kind] | frozenset[Kind], by: str) -> None:
        if found not in allowed:
            self._fail(
                TypeClashError,
                node,
                f"{by} takes {_names(allowed)}, but {unparse_expression(node)} is {found.value}",
                _REMEDIES.get(by, f"Use {by} on {_names(allowed)}, or convert the column before matching."),
            )

    def _binary(self, node: Binary) -> Kind:
        left, right = self.kind(node.left), self.kind(node.right)
        if node.operator in ("AND", "OR"):
            self._need(node.left, left, {Kind.BOOLEAN, Kind.NULL}, node.operator)
            self._need(node.right, right, {Kind.BOOLEAN, Kind.NULL}, node.operator)
            return Kind.BOOLEAN
        if node.operator in COMPARISONS:
            self._comparable(node, node.left, left, node.right, right)
            return Kind.BOOLEAN
        result = _arithmetic(node.operator, left, right)
        if result is None:
            self._clash(node, node.left, left, node.right, right, f"{node.operator!r} does not take them")
        return result

    def _comparable(self, node: Expression, left: Expression, lk: Kind, right: Expression, rk: Kind) -> None:
        if not comparable(lk, rk):
            self._clash(node, left, lk, right, rk, "they cannot be compared")

    def _clash(
        self, node: Expression, left: Expression, lk: Kind, right: Expression, rk: Kind, why: str
    ) -> NoReturn:
        kinds = {lk, rk}
        remedy = "Numbers go with numbers, strings with strings, times with times and durations."
        if kinds == {Kind.STRING, Kind.TIMESTAMP}:
            remedy = "A point in time is written TIMESTAMP '2026-01-31 12:00:00'."
        elif Kind.DURATION in kinds and kinds & NUMERIC:
            written = any(isinstance(side, Duration) for side in (left, right))
            remedy = (
                "Write a plain number in the units of the column."
                if written
                else "Give the number a unit, as in 5 minutes."
            )
        elif Kind.EVENT in kinds:
            remedy = "Name an attribute of the event, as in a.x."
        elif kinds & {Kind.LIST, Kind.STRUCT, Kind.OTHER}:
            remedy = "Compare a field of it, or convert the column before matching."
        self._fail(
            TypeClashError,
            node,
            f"{unparse_expression(left)} is {lk.value} and {unparse_expression(right)} is {rk.value}: {why}",
            remedy,
        )

    def _predicate(self, node: In | Between | Like | IsNull) -> Kind:
        kind = self.kind(node.operand)
        if isinstance(node, In):
            for option in node.options:
                self._comparable(node, node.operand, kind, option, self.kind(option))
        elif isinstance(node, Between):
            for bound in (node.low, node.high):
                self._comparable(node, node.operand, kind, bound, self.kind(bound))
        elif isinstance(node, Like):
            self._need(node.operand, kind, {Kind.STRING, Kind.NULL}, "LIKE")
            if not (isinstance(node.pattern, Literal) and isinstance(node.pattern.value, str)):
                self._fail(
                    TypeClashError,
                    node.pattern,
                    f"LIKE takes a pattern in quotes, found {unparse_expression(node.pattern)}",
                    "Write, for example, a.x LIKE 'shelf%'; to compare two attributes, use =.",
                )
            self._check_one_event(node, "LIKE")
        return Kind.BOOLEAN

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
        if not function.across:
            self._check_one_event(node, node.function)
        if function.result is not None:
            return function.result
        valued = {"if": slice(1, None), "round": slice(0, 1)}.get(node.function, slice(None))
        return self._common(node, node.arguments[valued], kinds[valued])

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

    def _check_one_event(self, node: Expression, by: str) -> None:
        """Check, in a condition, that a function the engines do not have is over one event only."""
        if not self.returning and _over_several_events(node):
            across = sorted(name for name, function in FUNCTIONS.items() if function.across)
            self._fail(
                UnsupportedQueryError,
                node,
                f"{by} takes the attributes of one event, but {unparse_expression(node)} is over several",
                f"Over several events there are arithmetic, comparisons and {', '.join(across)}.",
            )

    def _common(self, node: Call, arguments: tuple[Expression, ...], kinds: list[Kind]) -> Kind:
        result, source = kinds[0], arguments[0]
        for argument, kind in zip(arguments, kinds, strict=True):
            if not comparable(result, kind) and result is not kind:
                self._clash(node, source, result, argument, kind, f"{node.function} needs one type")
            if result is Kind.NULL or (result in NUMERIC and kind in (Kind.FLOAT, Kind.DECIMAL)):
                result = Kind.FLOAT if Kind.FLOAT in (result, kind) else kind
                source = argument
        return result

    def _registered(self, node: Call, kinds: list[Kind]) -> Kind:
        assert self.scope.functions is not None
        arity = self.scope.functions[node.function]
        self._check_count(node, arity, arity)
        for argument, kind in zip(node.arguments, kinds, strict=True):
            self._need(argument, kind, NUMERIC | {Kind.NULL}, node.function)
        return Kind.FLOAT

    def _foreign(self, node: Call) -> Kind:
        """Ask the input's SQL dialect about a function of one event that Fyke does not know."""
        several = _over_several_events(node)
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
        if over_matches(node):
            return self._over_matches(node)
        argument = node.arguments[0]
        kind = _AggregateArgument(self.scope, self.returning, node).kind(argument)
        return self._aggregate_result(node, argument, kind)

    def _aggregate_result(self, node: Call, argument: Expression, kind: Kind) -> Kind:
        if node.function == "count":
            return Kind.INTEGER
        if node.function in ("avg", "sum", "stddev"):
            self._need(argument, kind, NUMERIC | {Kind.NULL}, node.function)
            return kind if node.function == "sum" else Kind.FLOAT
        if kind in (Kind.LIST, Kind.STRUCT, Kind.EVENT, Kind.OTHER) and node.function in ("min", "max"):
            self._fail(
                TypeClashError,
                node,
                f"{node.function} takes values that have an order, but {unparse_expression(argument)} "
                f"is {kind.value}",
                "Name one attribute, as in max(a[].x).",
            )
        return kind

    def _over_matches(self, node: Call) -> Kind:
        argument = node.arguments[0]
        if not self.returning:
            self._fail_outside_group(node, argument)
        if isinstance(argument, Star):
            if node.function != "count":
                self._fail(AggregateError, node, f"{node.function}(*) has no meaning", "Only count(*) has.")
            return Kind.INTEGER
        if node.function in ("first", "last"):
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


def _arithmetic(operator: str, left: Kind, right: Kind) -> Kind | None:
    """Return the kind of ``left operator right``, or None if it has no meaning."""
    if Kind.NULL in (left, right):
        return right if left is Kind.NULL else left
    if left in NUMERIC and right in NUMERIC:
        if operator == "/" or Kind.FLOAT in (left, right):
            return Kind.FLOAT
        return Kind.DECIMAL if Kind.DECIMAL in (left, right) else Kind.INTEGER
    if operator == "-" and left in TEMPORAL and right in TEMPORAL:
        return Kind.DURATION
    if operator in "+-" and left in TEMPORAL and right is Kind.DURATION:
        return Kind.TIMESTAMP
    if operator == "+" and left is Kind.DURATION and right in TEMPORAL:
        return Kind.TIMESTAMP
    if operator in "+-" and left is right is Kind.DURATION:
        return Kind.DURATION
    if operator in "*/" and left is Kind.DURATION and right in NUMERIC:
        return Kind.DURATION
    if operator == "*" and right is Kind.DURATION and left in NUMERIC:
        return Kind.DURATION
    return None
