"""Name and type checks of expressions: each either has a kind or an error that says why not."""

from __future__ import annotations

from typing import NoReturn

from fyke.errors import (
    AbsenceReferenceError,
    AggregateError,
    GroupAsSingleError,
    PreviousOfSingleError,
    QueryError,
    SingleAsGroupError,
    TypeClashError,
    UnknownFunctionError,
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
from fyke.pattern.kinds import AGGREGATES, FUNCTIONS, NUMERIC, TEMPORAL, Kind, comparable, kind_of
from fyke.pattern.scope import Scope

COMPARISONS = frozenset({"=", "!=", "<", "<=", ">", ">="})
_LITERALS = {bool: Kind.BOOLEAN, int: Kind.INTEGER, float: Kind.FLOAT, str: Kind.STRING, type(None): Kind.NULL}
_GROUP_INDEX = {Index.EACH, Index.FIRST, Index.LAST, Index.ALL, Index.BEFORE, Index.PREVIOUS}


def is_aggregate(node: object) -> bool:
    """Say whether a node is a call of an aggregate function."""
    return isinstance(node, Call) and node.function in AGGREGATES


def over_matches(node: Expression) -> bool:
    """Say whether a node is an aggregate over matches: of ``*``, or of no whole group ``a[]``."""
    if not (isinstance(node, Call) and node.function in AGGREGATES):
        return False
    inner = [child for argument in node.arguments for child in walk(argument)]
    own = [child for child in inner if isinstance(child, Reference) and child.index in (Index.ALL, Index.BEFORE)]
    return not own or any(is_aggregate(child) for child in inner)


class Checker:
    """Checks expressions of one clause: conditions, or RETURN items (``returning``)."""

    def __init__(self, scope: Scope, *, returning: bool = False) -> None:
        self.scope = scope
        self.returning = returning

    def condition(self, expression: Expression) -> None:
        """Check a conjunct of WHERE: it must be boolean."""
        kind = self.kind(expression)
        if kind not in (Kind.BOOLEAN, Kind.NULL):
            self._fail(TypeClashError, expression, f"a condition must be boolean, found {kind.value}")

    def kind(self, node: Expression) -> Kind:
        """Return the kind of an expression, or raise the error that says what is wrong with it."""
        if isinstance(node, Literal):
            return _LITERALS[type(node.value)]
        if isinstance(node, Duration):
            return Kind.DURATION
        if isinstance(node, Timestamp):
            return Kind.TIMESTAMP
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
        self._fail(AggregateError, node, "this stands only where the language gives it a meaning: count(*), [x]")

    def _fail(self, error: type[QueryError], node: Expression, message: str, remedy: str = "") -> NoReturn:
        raise error(message, place=node.place, text=self.scope.text, remedy=remedy)

    # --- references -------------------------------------------------------------------

    def _reference(self, node: Reference) -> Kind:
        name = node.variable
        self.scope.require_variable(name, node.place)
        group = self.scope.is_group(name)
        self._check_index(node, group)
        if self.returning:
            self._check_returned(node, group)
        if not node.path:
            if not self.returning:
                self._fail(TypeClashError, node, f"{name!r} is an event, not a value", f"Name an attribute: {name}.x")
            return Kind.EVENT
        return kind_of(self.scope.attribute_type(name, node.path, node.place))

    def _check_index(self, node: Reference, group: bool) -> None:
        name, written = node.variable, unparse_expression(node)
        attribute = written.rpartition(".")[2]
        if not group and node.index is Index.PREVIOUS:
            self._fail(
                PreviousOfSingleError,
                node,
                f"{written} asks for the element before, but {name!r} binds one event",
                f"Declare it as a group (Type+ {name}[]), or write {name}.{attribute}.",
            )
        if not group and node.index in _GROUP_INDEX:
            self._fail(
                SingleAsGroupError,
                node,
                f"{written} uses {name!r} as a group, but it binds one event",
                f"Write {name}.{attribute}, or declare it as a group: Type+ {name}[].",
            )
        if node.index in (Index.ALL, Index.BEFORE):
            self._fail(
                GroupAsSingleError,
                node,
                f"{written} is many values where one is needed",
                f"Put it into an aggregate, as in avg({written}).",
            )

    def _check_returned(self, node: Reference, group: bool) -> None:
        name, written = node.variable, unparse_expression(node)
        if name in self.scope.absent:
            self._fail(
                AbsenceReferenceError,
                node,
                f"{name!r} is absent from every match, so RETURN cannot use it",
                "Return attributes of the events that are present.",
            )
        if group and node.path and node.index in (Index.NONE, Index.EACH, Index.PREVIOUS):
            attribute = node.path[0]
            self._fail(
                GroupAsSingleError,
                node,
                f"{written} is one value for each element of the group {name!r}",
                f"Choose one, as in {name}[1].{attribute} or {name}[{name}.len].{attribute}, aggregate them, "
                f"as in max({name}[].{attribute}), or return {name} whole.",
            )

    def _length(self, node: Length) -> Kind:
        self.scope.require_variable(node.variable, node.place)
        if not self.scope.is_group(node.variable):
            self._fail(
                SingleAsGroupError,
                node,
                f"{node.variable}.len counts a group, but {node.variable!r} binds one event",
                f'An attribute of that name is written {node.variable}."len".',
            )
        if self.returning and node.variable in self.scope.absent:
            self._fail(AbsenceReferenceError, node, f"{node.variable!r} is absent from every match")
        return Kind.INTEGER

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
            names = sorted(kind.value for kind in allowed - {Kind.NULL})
            self._fail(
                TypeClashError, node, f"{by} takes {' or '.join(names)}, found {found.value} in {unparse_expression(node)}"
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
        remedy = ""
        if {lk, rk} == {Kind.STRING, Kind.TIMESTAMP}:
            remedy = "A point in time is written TIMESTAMP '2026-01-31 12:00:00'."
        elif {lk, rk} == {Kind.INTEGER, Kind.DURATION}:
            remedy = "Compare with a plain number in the units of the column."
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
                self._fail(TypeClashError, node.pattern, "the pattern of LIKE is a string literal")
        return Kind.BOOLEAN

    # --- functions --------------------------------------------------------------------

    def _call(self, node: Call) -> Kind:
        kinds = [self.kind(argument) for argument in node.arguments]
        if self.scope.functions is not None and node.function in self.scope.functions:
            return self._registered(node, kinds)
        function = FUNCTIONS.get(node.function)
        if function is None:
            return self._foreign(node)
        most = function.most
        if len(kinds) < function.least or (most is not None and len(kinds) > most):
            takes = f"{function.least}" if function.least == most else f"{function.least} to {most or 'any number of'}"
            self._fail(TypeClashError, node, f"{node.function} takes {takes} arguments, found {len(kinds)}")
        for position, (argument, kind) in enumerate(zip(node.arguments, kinds, strict=True)):
            self._need(argument, kind, function.arguments[min(position, len(function.arguments) - 1)], node.function)
        if function.result is not None:
            return function.result
        valued = kinds[1:] if node.function == "if" else kinds[:1] if node.function == "round" else kinds
        return self._common(node, valued)

    def _common(self, node: Call, kinds: list[Kind]) -> Kind:
        result = Kind.NULL
        for argument, kind in zip(node.arguments[-len(kinds) :], kinds, strict=True):
            if not comparable(result, kind) and result is not kind:
                self._clash(node, node.arguments[0], result, argument, kind, "one type is needed")
            if result is Kind.NULL or (kind is Kind.FLOAT and result in NUMERIC):
                result = kind
        return result

    def _registered(self, node: Call, kinds: list[Kind]) -> Kind:
        assert self.scope.functions is not None
        arity = self.scope.functions[node.function]
        if len(kinds) != arity:
            self._fail(TypeClashError, node, f"{node.function} takes {arity} arguments, found {len(kinds)}")
        for argument, kind in zip(node.arguments, kinds, strict=True):
            self._need(argument, kind, NUMERIC | {Kind.NULL}, node.function)
        return Kind.FLOAT

    def _foreign(self, node: Call) -> Kind:
        """Ask the input's SQL dialect about a function of one event that Fyke does not know."""
        references = {(ref.variable, ref.index) for ref in walk(node) if isinstance(ref, Reference)}
        if self.scope.infer is not None and len(references) <= 1:
            attributes = self.scope.schema.attributes(None)
            arrow = self.scope.infer(node, attributes)
            if arrow is not None:
                return kind_of(arrow)
        known = [*FUNCTIONS, *AGGREGATES, *(self.scope.functions or ())]
        several = " over several events" if len(references) > 1 else ""
        self._fail(
            UnknownFunctionError,
            node,
            f"unknown function {node.function!r}{several}.{near_misses(node.function, known)}",
            "Register a function of numbers with functions={name: callable}; on a DataFrame any Spark SQL "
            "function may be used on the attributes of one event.",
        )

    def _aggregate(self, node: Call) -> Kind:
        if len(node.arguments) != 1:
            self._fail(AggregateError, node, f"{node.function} takes one argument, found {len(node.arguments)}")
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
            self._fail(TypeClashError, node, f"{node.function} does not take {kind.value}")
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
            self._fail(AggregateError, node, "an aggregate over matches cannot stand inside another one")
        return self._aggregate_result(node, argument, self.kind(argument))

    def _fail_outside_group(self, node: Call, argument: Expression) -> NoReturn:
        for reference in walk(argument):
            if isinstance(reference, Reference):
                self.scope.require_variable(reference.variable, reference.place)
                if self.scope.is_group(reference.variable):
                    name, attribute = reference.variable, ".".join(reference.path)
                    self._fail(
                        GroupAsSingleError,
                        node,
                        f"{node.function} needs to know which elements of the group {name!r} it is over",
                        f"Write {node.function}({name}[].{attribute}) for the whole group, or "
                        f"{node.function}({name}[..i-1].{attribute}) for the elements before.",
                    )
        self._fail(
            AggregateError,
            node,
            f"{node.function} is an aggregate, and there is no group to aggregate",
            "Aggregates in conditions are over a group: avg(a[].x), avg(a[..i-1].x).",
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
            self._fail(AggregateError, self.node, "a[..i-1] has a meaning in conditions only", "Write a[].")
        if (node.variable, node.index) != (self.group, self.range) or not node.path:
            self._fail(
                AggregateError,
                self.node,
                f"{unparse_expression(self.node)} mixes elements of different groups or ranges",
                "An aggregate is over the attributes of one group, all written a[] or all a[..i-1].",
            )

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
