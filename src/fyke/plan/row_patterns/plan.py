"""All that an engine is told about a clause: its automaton, and of each condition what decides it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pyarrow as pa

from fyke.language.ast import Binary, Expression, Reference, map_references, walk
from fyke.language.row_patterns import Rows, SkipTo
from fyke.limits import Limits
from fyke.logical.row_patterns.analysed import (
    AnalysedRowPattern,
    RowValue,
    asks_for_label,
    input_name,
)
from fyke.plan.row_patterns.automaton import Automaton, make_automaton
from fyke.plan.row_patterns.nodes import NodeTables, node_tables
from fyke.plan.row_patterns.program import compile_pattern


@dataclass(frozen=True, slots=True)
class RowCondition:
    """The condition of a variable in two parts, both of which must be true; None: nothing is left to decide.

    ``column`` is decided by the row and its neighbours: it is a column, evaluated once a row.  ``across``
    looks at other rows of the match, and is decided while a match is searched.
    """

    column: RowValue | None
    across: RowValue | None


@dataclass(frozen=True, slots=True)
class RowPlan:
    """A clause ready to run.

    ``conditions`` are in the order of ``analysed.variables``, None for a variable that is true of every row.
    ``nodes`` are the tables of a linear search without a window, unless they would be too large.
    """

    analysed: AnalysedRowPattern
    automaton: Automaton
    conditions: tuple[RowCondition | None, ...]
    limits: Limits
    nodes: NodeTables | None = field(default=None, compare=False)

    @property
    def columns(self) -> dict[RowValue, int]:
        """The conditions that become columns, each once, numbered."""
        found: dict[RowValue, int] = {}
        for each in self.conditions:
            if each is not None and each.column is not None:
                found.setdefault(each.column, len(found))
        return found

    @property
    def column_of(self) -> dict[int, int]:
        """The number of the column of each label that has one."""
        numbers = self.columns
        return {
            label: numbers[each.column]
            for label, each in enumerate(self.conditions)
            if each is not None and each.column is not None
        }

    @property
    def linear(self) -> bool:
        """Whether the rows and their neighbours decide everything: then no walk ever goes back."""
        alone = all(each is None or each.across is None for each in self.conditions)
        return alone and self.analysed.rows is not Rows.MATCHES

    @property
    def keeps_labels(self) -> bool:
        """Whether the labels of the rows of a match matter once it is found."""
        analysed = self.analysed
        if analysed.skip_to in (SkipTo.FIRST, SkipTo.LAST) or (
            not analysed.rows.per_match and any(self.automaton.excluded)
        ):
            return True
        inputs = [each for measure in analysed.measures for each in measure.inputs]
        return any(
            each.labels is not None or (each.value is not None and asks_for_label(each.value))
            for each in inputs
        )


def make_row_plan(analysed: AnalysedRowPattern, limits: Limits) -> RowPlan:
    """Return the plan of an analysed clause.

    Raises
    ------
    QueryTooLargeError
        If its pattern has too many states.
    """
    program = compile_pattern(analysed.pattern, analysed.variables)
    every = analysed.rows is Rows.MATCHES
    automaton = make_automaton(program, analysed.query.text, every=every)
    conditions = tuple(_split(analysed.conditions.get(name)) for name in analysed.variables)
    plan = RowPlan(analysed, automaton, conditions, limits)
    if not plan.linear or analysed.window is not None:
        return plan
    return replace(plan, nodes=node_tables(automaton, plan.column_of, len(plan.columns)))


def _split(condition: RowValue | None) -> RowCondition | None:
    """Return a condition as what the row and its neighbours decide, and the rest."""
    if condition is None:
        return None
    near: list[Expression] = []
    far: list[Expression] = []
    for conjunct in conjuncts(condition.expression):
        alone = _restricted(condition, conjunct)
        (near if alone.of_neighbours else far).append(conjunct)
    return RowCondition(_joined(condition, near), _joined(condition, far))


def conjuncts_of(condition: RowValue) -> list[RowValue]:
    """Return the parts of a condition that must all be true."""
    return [_restricted(condition, each) for each in conjuncts(condition.expression)]


def conjuncts(node: Expression) -> list[Expression]:
    """Return the conditions that AND joins."""
    if isinstance(node, Binary) and node.operator == "AND":
        return [*conjuncts(node.left), *conjuncts(node.right)]
    return [node]


def _joined(condition: RowValue, conjuncts: list[Expression]) -> RowValue | None:
    if not conjuncts:
        return None
    joined = conjuncts[0]
    for each in conjuncts[1:]:
        joined = Binary("AND", joined, each)
    return _restricted(condition, joined)


def _restricted(condition: RowValue, expression: Expression) -> RowValue:
    """Return a part of a condition, with the inputs it needs and no others."""
    used = {
        int(node.path[0][1:]): None for node in walk(expression) if isinstance(node, Reference)
    }  # in the order they come
    numbers = {old: new for new, old in enumerate(used)}

    def renamed(reference: Reference) -> Expression:
        return Reference("", (input_name(numbers[int(reference.path[0][1:])]),), place=reference.place)

    inputs = tuple(condition.inputs[old] for old in numbers)
    return RowValue(map_references(expression, renamed), inputs, pa.bool_())
