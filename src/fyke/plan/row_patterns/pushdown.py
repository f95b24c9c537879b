"""What one row decides, taken out of a plan: columns that are computed before rows are brought together.

Where rows are sent from one process to another, a condition on one row can be sent as one bit, and an
expression in place of the columns it is made of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from fyke.language.ast import Call, Expression, Reference, walk
from fyke.logical.kinds import FUNCTIONS
from fyke.logical.returns import OWN
from fyke.logical.row_patterns.analysed import (
    AnalysedRowPattern,
    From,
    Input,
    Located,
    RowValue,
    asks_for_label,
)
from fyke.logical.scope import InferType
from fyke.logical.value_types import type_of
from fyke.plan.row_patterns.plan import RowPlan, conjuncts

TRUTH = f"{OWN}truth"
_MOST_TRUTHS = 63  # bits of one column


@dataclass(frozen=True, slots=True)
class RowColumn:
    """A column that one row decides: an expression over the columns of the row."""

    name: str
    expression: Expression
    type: pa.DataType


@dataclass(frozen=True, slots=True)
class PushedRows:
    """A plan over rows that carry what one row decides.

    ``plan`` looks at ``columns`` and ``truths`` in place of expressions.  Truths are conditions, which are
    false where they are null: bit k of the column :data:`TRUTH` is that of ``truths[k]``.  ``carried`` are
    the columns of the input that the engine reads, in the order of the input.
    """

    plan: RowPlan
    columns: tuple[RowColumn, ...]
    truths: tuple[RowColumn, ...]
    carried: tuple[str, ...]

    @property
    def sent(self) -> dict[str, pa.DataType]:
        """The columns that are sent, at least one: truths are bits of one column."""
        known = self.plan.analysed.columns
        names = [*self.carried, *(each.name for each in self.columns)]
        truth = {TRUTH: pa.int64()} if self.truths or not names else {}
        return {name: known[name] for name in names} | truth

    @property
    def order_only(self) -> tuple[str, ...]:
        """The columns of ORDER BY that nobody reads once the rows are sorted."""
        names = (item.column for item in self.plan.analysed.order)
        return tuple(name for name in dict.fromkeys(names) if name not in self.carried)


def push_rows(plan: RowPlan, infer: InferType | None = None) -> PushedRows:
    """Return a plan with what one row decides as columns.

    A condition on one row is always one.  Other expressions are if there are no more of them than columns
    that need not be carried then, or if they have functions that Fyke does not know; ``infer`` tells the
    types of these.
    """
    analysed = plan.analysed
    truths = _truths(plan)
    values = [each.value for each in _inputs(plan) if each.value is not None and each.value not in truths]
    kept = _kept(analysed, values)
    made = [value for value in dict.fromkeys(values) if is_foreign(value)]
    rest = [
        value
        for value in dict.fromkeys(values)
        if value not in made and not asks_for_label(value) and set(columns_in(value)) - kept
    ]
    if len(rest) <= len({name for value in rest for name in columns_in(value)} - kept):
        made += rest
    columns = tuple(
        RowColumn(f"{OWN}d{number}", value, _type(value, analysed.columns, infer))
        for number, value in enumerate(made)
    )
    bits = tuple(RowColumn(f"{OWN}t{number}", value, pa.bool_()) for number, value in enumerate(truths))
    used = kept.union(*(columns_in(value) for value in values if value not in made))
    carried = tuple(name for name in analysed.columns if name in used)
    return PushedRows(_over(plan, (*columns, *bits)), columns, bits, carried)


def is_foreign(expression: Expression) -> bool:
    """Say whether an expression has a function that Fyke does not know, so that only the input's SQL can."""
    return any(
        isinstance(node, Call) and node.function not in FUNCTIONS and node.function not in _OF_MATCHES
        for node in walk(expression)
    )


_OF_MATCHES = ("classifier", "match_number")


def columns_in(expression: Expression) -> Iterator[str]:
    """Yield the columns of the row that an expression is over."""
    return (node.path[0] for node in walk(expression) if isinstance(node, Reference))


def _parts(plan: RowPlan) -> Iterator[RowValue]:
    for condition in plan.conditions:
        if condition is not None:
            yield from (part for part in (condition.column, condition.across) if part is not None)
    yield from plan.analysed.measures


def _inputs(plan: RowPlan) -> Iterator[Input]:
    return (each for part in _parts(plan) for each in part.inputs)


def _truths(plan: RowPlan) -> list[Expression]:
    """Return the conditions on one row that are a variable's whole condition, or joined to others by AND.

    If the same condition stands anywhere else, null and false may not be the same there.
    """
    joined: dict[Expression, None] = {}
    elsewhere: set[Expression | None] = set()
    for part in _parts(plan):
        decides = part.of_neighbours and pa.types.is_boolean(part.type)
        parts = conjuncts(part.expression) if decides else []
        alone = [int(each.path[0][1:]) for each in parts if isinstance(each, Reference)]
        inside = [node for each in parts if not isinstance(each, Reference) for node in walk(each)]
        again = {int(node.path[0][1:]) for node in inside if isinstance(node, Reference)}
        for number, each in enumerate(part.inputs):
            if number in alone and number not in again and isinstance(each, Located) and _is_own(each):
                joined[each.value] = None
            else:
                elsewhere.add(each.value)
    return [value for value in joined if value not in elsewhere][:_MOST_TRUTHS]


def _is_own(each: Located) -> bool:
    """Say whether an input is something computed from the row whose condition it is part of."""
    return each.start is From.CURRENT and each.physical == 0 and not isinstance(each.value, Reference)


def _kept(analysed: AnalysedRowPattern, values: list[Expression]) -> set[str]:
    """Return the columns that are carried whatever is pushed down."""
    kept = {*analysed.partition, *(each.column for each in analysed.output if each.column is not None)}
    if analysed.window is not None:
        kept.add(analysed.order[0].column)
    for value in values:
        if asks_for_label(value) or (isinstance(value, Reference) and len(value.path) == 1):
            kept.update(columns_in(value))
    return kept


def _type(value: Expression, columns: Mapping[str, pa.DataType], infer: InferType | None) -> pa.DataType:
    def resolve(node: Expression) -> pa.DataType | None:
        if not isinstance(node, Reference):
            return None if infer is None else infer(node, tuple(columns))
        kind = columns[node.path[0]]
        for step in node.path[1:]:
            kind = kind.field(step).type
        return kind

    found = type_of(value, resolve)
    assert found is not None  # analysis has asked for it
    return found


def _over(plan: RowPlan, made: tuple[RowColumn, ...]) -> RowPlan:
    """Return the plan with columns in the places of the expressions that they are the values of."""
    names = {each.expression: each.name for each in made}

    def changed(value: RowValue) -> RowValue:
        inputs = tuple(
            each
            if each.value is None or each.value not in names
            else replace(each, value=Reference("", (names[each.value],)))
            for each in value.inputs
        )
        return replace(value, inputs=inputs)

    conditions = tuple(
        each
        and replace(
            each,
            column=each.column and changed(each.column),
            across=each.across and changed(each.across),
        )
        for each in plan.conditions
    )
    analysed = replace(
        plan.analysed,
        columns={**plan.analysed.columns, **{each.name: each.type for each in made}},
        conditions={name: changed(each) for name, each in plan.analysed.conditions.items()},
        measures=tuple(changed(each) for each in plan.analysed.measures),
    )
    return replace(plan, analysed=analysed, conditions=conditions)
