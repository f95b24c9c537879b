"""Conditions and bounds that nothing can satisfy, found before anything runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from fyke.errors import ContradictionError
from fyke.language.ast import (
    Between,
    Binary,
    Event,
    Expression,
    Funnel,
    In,
    Index,
    IsNull,
    Length,
    Literal,
    Not,
    Opt,
    Pattern,
    Reference,
    Seq,
)
from fyke.language.unparse import unparse_expression, unparse_pattern
from fyke.limits import Limits
from fyke.logical.expand import declarations, expand
from fyke.logical.kinds import Kind, kind_of
from fyke.logical.normal_form import Condition
from fyke.logical.scope import Scope

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}
_Value = int | float | str | bool | Decimal
_Operand = Reference | Length


@dataclass(slots=True)
class _Range:
    """The values one operand may still take, and the text of the conjunct that set each bound."""

    low: tuple[_Value, bool, str] | None = None  # value, whether it is itself excluded, text
    high: tuple[_Value, bool, str] | None = None
    excluded: dict[_Value, str] = field(default_factory=dict)
    options: tuple[frozenset[_Value], str] | None = None
    null: str = ""
    not_null: str = ""
    written: dict[str, int] = field(default_factory=dict)  # the texts, numbered as they came

    def narrow(self, condition: Expression, text: str) -> None:
        """Take in what a conjunct says."""
        self.written.setdefault(text, len(self.written))
        if isinstance(condition, IsNull) and not condition.negated:
            self.null = text
        else:
            self.not_null = text
        for _, operator, value in _comparisons(condition):
            self._compare(operator, value, text)
        values = [_value(option) for option in condition.options] if isinstance(condition, In) else []
        known = frozenset(value for value in values if value is not None)
        if len(known) == len(values) > 0:
            both = known if self.options is None else self.options[0] & known
            self.options = (both, text if self.options is None else f"{self.options[1]} and {text}")

    def _compare(self, operator: str, value: _Value, text: str) -> None:
        if operator == "!=":
            self.excluded.setdefault(value, text)
        if operator in (">", ">=", "=") and (
            self.low is None or _tighter(value, operator == ">", self.low, 1)
        ):
            self.low = (value, operator == ">", text)
        if operator in ("<", "<=", "=") and (
            self.high is None or _tighter(value, operator == "<", self.high, -1)
        ):
            self.high = (value, operator == "<", text)

    def clash(self) -> list[str]:
        """Return the texts that exclude one another; none if some value is left."""
        if self.null and self.not_null:
            return [self.null, self.not_null]
        if self.low is None or self.high is None:
            return []
        (low, low_open, low_text), (high, high_open, high_text) = self.low, self.high
        if low == high and not low_open and not high_open:
            return [low_text, high_text, self.excluded[low]] if low in self.excluded else []
        return [low_text, high_text] if low >= high else []  # type: ignore[operator]

    def clash_of_options(self) -> list[str]:
        """Return the texts that exclude every option of IN."""
        if self.options is None or any(self._admits(option) for option in self.options[0]):
            return []
        bounds = [bound[2] for bound in (self.low, self.high) if bound is not None]
        return [self.options[1], *bounds, *(self.excluded[v] for v in self.options[0] if v in self.excluded)]

    def _admits(self, value: _Value) -> bool:
        probe = _Range(self.low, self.high, self.excluded)
        probe._compare("=", value, "")
        return not probe.clash()


def _tighter(value: _Value, is_open: bool, bound: tuple[_Value, bool, str], direction: int) -> bool:
    if value == bound[0]:
        return is_open and not bound[1]
    return (value > bound[0]) == (direction > 0)  # type: ignore[operator]


def find_contradiction(
    pattern: Pattern, conditions: Sequence[Condition], scope: Scope, limits: Limits
) -> None:
    """Raise ContradictionError if what conjuncts say of one attribute or length excludes one another.

    An alternative of OR may be impossible as long as another one is not; a part that is optional may not.
    """
    found: ContradictionError | None = None
    if not any(_operand(condition.expression) is not None for condition in conditions):
        return
    for shape in expand(_with_all_parts(pattern), limits, scope.text):
        names = set(shape.names())
        here = [condition.expression for condition in conditions if condition.variables <= names]
        clash = _contradiction(here, {each.variable: each for each in declarations(shape)}, scope)
        if clash is None:
            return
        found = found or clash
    if found is not None:
        raise found


def _with_all_parts(pattern: Pattern) -> Pattern:
    """Return a pattern in which nothing is optional."""
    if isinstance(pattern, Event):
        return replace(pattern, minimum=max(1, pattern.minimum))
    if isinstance(pattern, Not):
        return replace(pattern, part=_with_all_parts(pattern.part))
    if isinstance(pattern, Opt):
        return _with_all_parts(pattern.part)
    if isinstance(pattern, Funnel):
        return Seq(tuple(map(_with_all_parts, pattern.parts)), place=pattern.place)
    return replace(pattern, parts=tuple(map(_with_all_parts, pattern.parts)))


def _contradiction(
    conditions: Iterable[Expression], declared: Mapping[str, Event], scope: Scope
) -> ContradictionError | None:
    ranges: dict[str, _Range] = {}
    last: dict[str, Expression] = {}
    for condition in conditions:
        operand = _operand(condition)
        if operand is None or not _has_values(operand, scope):
            continue
        name = unparse_expression(operand)
        if name not in ranges:
            ranges[name] = _Range()
            if isinstance(operand, Length):
                known = scope.variables[operand.variable]
                written = known[0] if len(known) == 1 else declared[operand.variable]
                ranges[name] = _possible_lengths(written)
        ranges[name].narrow(condition, unparse_expression(condition))
        last[name] = condition
        clash = ranges[name].clash()
        if clash:
            return _refusal(clash, ranges[name], condition, scope)
    for name, found in ranges.items():
        clash = found.clash_of_options()
        if clash:
            return _refusal(clash, found, last[name], scope)
    return None


def _has_values(operand: _Operand, scope: Scope) -> bool:
    """Say whether conjuncts about an operand can clash: of ``a[i-1]`` they say nothing to a group of one."""
    if isinstance(operand, Length):
        return True
    kind = kind_of(scope.attribute_type(operand.variable, operand.path, operand.place))
    return operand.index is not Index.PREVIOUS and kind is not Kind.NULL


def _refusal(clash: list[str], found: _Range, condition: Expression, scope: Scope) -> ContradictionError:
    texts = sorted(set(clash), key=lambda text: found.written.get(text, -1))
    return ContradictionError(
        f"nothing can satisfy {' and '.join(texts)}",
        place=condition.place,
        text=scope.text,
        remedy="They exclude one another: correct one of them.",
    )


def _possible_lengths(declared: Event) -> _Range:
    """Return the lengths of a group by its declaration; an optional one that is there has an event."""
    text = unparse_pattern(declared)
    most = None if declared.maximum is None else (declared.maximum, False, text)
    return _Range((max(1, declared.minimum), False, text), most)


def _operand(condition: Expression) -> _Operand | None:
    """Return the attribute or length that a conjunct compares with literals, if it is such a one."""
    if isinstance(condition, IsNull) or (isinstance(condition, In) and not condition.negated):
        return condition.operand if isinstance(condition.operand, (Reference, Length)) else None
    return next((operand for operand, _, _ in _comparisons(condition)), None)


def _comparisons(condition: Expression) -> list[tuple[_Operand, str, _Value]]:
    if isinstance(condition, Between) and not condition.negated:
        pairs = [(condition.operand, ">=", condition.low), (condition.operand, "<=", condition.high)]
    elif isinstance(condition, Binary) and condition.operator in _MIRRORED:
        mirrored = _MIRRORED[condition.operator]
        pairs = [
            (condition.left, condition.operator, condition.right),
            (condition.right, mirrored, condition.left),
        ]
    else:
        return []
    found = [(operand, operator, _value(other)) for operand, operator, other in pairs]
    return [
        (operand, operator, value)
        for operand, operator, value in found
        if isinstance(operand, (Reference, Length)) and value is not None
    ]


def _value(node: Expression) -> _Value | None:
    return node.value if isinstance(node, Literal) else None
