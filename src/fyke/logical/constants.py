"""Conditions that events have no say in: some always hold and mean nothing, some compare with null."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import TypeGuard

from fyke.language.ast import Between, Binary, Expression, In, IsNull, Literal, Node, Unary, walk
from fyke.language.unparse import unparse_expression

Truth = bool | None
"""True, false or unknown."""

_ANY: frozenset[Truth] = frozenset({True, False, None})
_VERDICTS = {
    "=": (False, True, False),
    "!=": (True, False, True),
    "<": (True, False, False),
    "<=": (True, True, False),
    ">": (False, False, True),
    ">=": (False, True, True),
}  # for the left below, at and above the right


def always_holds(condition: Expression) -> bool:
    """Say whether a condition is true whatever the events are, as far as literals tell."""
    return _possible(condition) == {True}


def _possible(node: Expression) -> frozenset[Truth]:
    """Return what the truth of an expression can be."""
    if isinstance(node, Literal) and (node.value is None or isinstance(node.value, bool)):
        return frozenset({node.value})
    if isinstance(node, Unary) and node.operator == "NOT":
        return frozenset(None if truth is None else not truth for truth in _possible(node.operand))
    if isinstance(node, Binary) and node.operator in ("AND", "OR"):
        left, right = _possible(node.left), _possible(node.right)
        return frozenset(_joined(node.operator, one, other) for one in left for other in right)
    if isinstance(node, Binary) and node.operator in _VERDICTS:
        return _compared(node)
    return _ANY


def _joined(operator: str, left: Truth, right: Truth) -> Truth:
    deciding = operator == "OR"
    if deciding in (left, right):
        return deciding
    return None if None in (left, right) else not deciding


def _compared(node: Binary) -> frozenset[Truth]:
    if _is_null(node.left) or _is_null(node.right):
        return frozenset({None})
    if not (isinstance(node.left, Literal) and isinstance(node.right, Literal)):
        return _ANY
    left, right = node.left.value, node.right.value
    texts = isinstance(left, str) and isinstance(right, str)
    if not texts and not (_is_number(left) and _is_number(right)):
        return _ANY
    order = 0 if left == right else -1 if left < right else 1  # type: ignore[operator]
    return frozenset({_VERDICTS[node.operator][order + 1]})


def _is_null(node: Expression) -> bool:
    return isinstance(node, Literal) and node.value is None


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)


def null_comparisons(condition: Expression) -> Iterator[tuple[Expression, str]]:
    """Yield the parts of a condition that compare with NULL, which is never true, and what was meant."""
    for node in walk(condition):
        if isinstance(node, Binary) and node.operator in _VERDICTS:
            operands = [each for each in (node.left, node.right) if not _is_null(each)]
            if len(operands) == 1 and node.operator in ("=", "!="):
                yield node, unparse_expression(IsNull(operands[0], node.operator == "!="))
            elif len(operands) < 2:
                yield node, ""
        elif _is_null_among(node):
            yield node, ""


def _is_null_among(node: Node) -> TypeGuard[In | Between]:
    if isinstance(node, In):
        return node.negated and any(map(_is_null, node.options))
    return isinstance(node, Between) and not node.negated and (_is_null(node.low) or _is_null(node.high))
