"""Conditions and bounds that nothing can satisfy, found before anything runs."""

from __future__ import annotations

from dataclasses import dataclass

from fyke.errors import ContradictionError
from fyke.language.ast import Between, Binary, Expression, Length, Literal, Reference, Window, WindowKind
from fyke.language.unparse import unparse_expression
from fyke.pattern.normal_form import Alternative

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}
_Value = int | float | str | bool


@dataclass(slots=True)
class _Range:
    """The values one reference may still take, as conjunct after conjunct narrows it."""

    low: _Value | None = None
    low_open: bool = False
    high: _Value | None = None
    high_open: bool = False
    excluded: tuple[_Value, ...] = ()

    def narrow(self, operator: str, value: _Value) -> None:
        if operator in (">", ">=", "=") and (self.low is None or value >= self.low):  # type: ignore[operator]
            self.low_open = operator == ">" or (self.low_open and value == self.low)
            self.low = value
        if operator in ("<", "<=", "=") and (self.high is None or value <= self.high):  # type: ignore[operator]
            self.high_open = operator == "<" or (self.high_open and value == self.high)
            self.high = value
        if operator == "!=":
            self.excluded += (value,)

    def empty(self) -> bool:
        if self.low is None or self.high is None:
            return False
        if self.low == self.high:
            return self.low_open or self.high_open or self.low in self.excluded
        return self.low > self.high  # type: ignore[operator]


def find_contradiction(conditions: tuple[Expression, ...], text: str | None) -> None:
    """Raise ContradictionError if the comparisons of one reference with literals exclude one another."""
    ranges: dict[tuple[str, type], tuple[_Range, list[str]]] = {}
    for condition in conditions:
        for reference, operator, value in _comparisons(condition):
            kind = str if isinstance(value, str) else float
            narrowed, written = ranges.setdefault((unparse_expression(reference), kind), (_Range(), []))
            narrowed.narrow(operator, value)
            written.append(unparse_expression(condition))
            if narrowed.empty():
                raise ContradictionError(
                    f"no event can satisfy {' and '.join(dict.fromkeys(written))}",
                    place=condition.place,
                    text=text,
                    remedy="The query could never match; correct one of the conditions.",
                )


def _comparisons(condition: Expression) -> list[tuple[Expression, str, _Value]]:
    if isinstance(condition, Between) and not condition.negated:
        bounds = ((">=", condition.low), ("<=", condition.high))
        return [
            (condition.operand, operator, bound.value)
            for operator, bound in bounds
            if isinstance(condition.operand, (Reference, Length)) and _is_value(bound)
        ]
    if not isinstance(condition, Binary) or condition.operator not in _MIRRORED:
        return []
    left, right = condition.left, condition.right
    if isinstance(left, (Reference, Length)) and _is_value(right):
        return [(left, condition.operator, right.value)]
    if isinstance(right, (Reference, Length)) and _is_value(left):
        return [(right, _MIRRORED[condition.operator], left.value)]
    return []


def _is_value(node: Expression) -> bool:
    return isinstance(node, Literal) and node.value is not None


def check_window_holds(alternatives: tuple[Alternative, ...], window: Window | None, text: str | None) -> None:
    """Raise ContradictionError if WITHIN n EVENTS is too short for every alternative."""
    if window is None or window.kind is not WindowKind.EVENTS:
        return
    needed = min(sum(variable.minimum for variable in alternative.variables) for alternative in alternatives)
    if needed > window.amount:
        raise ContradictionError(
            f"the pattern needs at least {needed} events, but WITHIN allows {window.amount}",
            place=window.place,
            text=text,
            remedy="Lengthen the window or lower the repetition bounds.",
        )
