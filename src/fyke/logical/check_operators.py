"""Type checks of operators, predicates and casts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NoReturn

from fyke.errors import TypeClashError, UnsupportedQueryError
from fyke.language.ast import (
    Between,
    Binary,
    Call,
    Cast,
    Duration,
    Expression,
    In,
    Index,
    IsNull,
    Length,
    Like,
    Literal,
    Reference,
    Unary,
    walk,
)
from fyke.language.unparse import unparse_expression
from fyke.logical.check_reference import ReferenceChecker
from fyke.logical.kinds import AGGREGATES, CASTS, FUNCTIONS, NUMERIC, TEMPORAL, Kind, comparable, kind_of
from fyke.logical.value_types import cast_type, exact_value

COMPARISONS = frozenset({"=", "!=", "<", "<=", ">", ">="})
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


def beside_decimal(node: Expression, kind: Kind) -> Kind:
    """Return the kind of an operand beside a decimal: a number that is written out is a decimal too."""
    value = node.value if isinstance(node, Literal) else None
    return Kind.DECIMAL if isinstance(value, float) and exact_value(value) is not None else kind


def over_several_events(node: Expression) -> bool:
    """Say whether an expression looks at more than one event."""
    elements = {(ref.variable, ref.index, ref.offset) for ref in walk(node) if isinstance(ref, Reference)}
    return len(elements) > 1 or any(isinstance(part, Length) or is_aggregate(part) for part in walk(node))


class OperatorChecker(ReferenceChecker, ABC):
    """Checks what operators stand between; :meth:`kind` is that of the whole language."""

    @abstractmethod
    def kind(self, node: Expression) -> Kind:
        """Return the kind of an expression, or raise the error that says what is wrong with it."""

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
        if Kind.DECIMAL in (left, right):
            left, right = beside_decimal(node.left, left), beside_decimal(node.right, right)
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

    def _cast(self, node: Cast) -> Kind:
        kind, made = self.kind(node.operand), kind_of(cast_type(node.type))
        if kind not in CASTS[made]:
            remedy = "Convert the column before matching."
            if made is Kind.STRING and kind is Kind.FLOAT:
                remedy = "Say how many digits: CAST(CAST(a.x AS DECIMAL(18, 2)) AS STRING)."
            self._fail(
                TypeClashError,
                node,
                f"CAST makes {_names({made})} of {_names(CASTS[made])}, but "
                f"{unparse_expression(node.operand)} is {kind.value}",
                remedy,
            )
        if node.type != "DOUBLE" or kind not in NUMERIC:
            self._check_one_event(node, f"CAST AS {node.type}")
        return made

    def _check_one_event(self, node: Expression, by: str) -> None:
        """Check, in a condition, that a function the engines do not have is over one event only."""
        if not self.returning and over_several_events(node):
            across = sorted(name for name, function in FUNCTIONS.items() if function.across)
            self._fail(
                UnsupportedQueryError,
                node,
                f"{by} takes the attributes of one event, but {unparse_expression(node)} is over several",
                f"Over several events there are arithmetic, comparisons and {', '.join(across)}.",
            )


def _arithmetic(operator: str, left: Kind, right: Kind) -> Kind | None:
    """Return the kind of ``left operator right``, or None if it has no meaning."""
    if Kind.NULL in (left, right):
        return right if left is Kind.NULL else left
    if left in NUMERIC and right in NUMERIC:
        if Kind.FLOAT in (left, right):
            return Kind.FLOAT
        if Kind.DECIMAL in (left, right):
            return Kind.DECIMAL
        return Kind.FLOAT if operator == "/" else Kind.INTEGER
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
