"""What a clause means and how it is run, in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from fyke.language.ast import Call, Column, Expression, Navigation, Reference, Star, map_references
from fyke.language.row_patterns import OrderItem, RowPatternQuery, unparse_row_pattern
from fyke.language.unparse import unparse_expression
from fyke.logical.row_patterns.analysed import Aggregated, From, Input, RowValue
from fyke.plan.row_patterns.automaton import END
from fyke.plan.row_patterns.cut import how_to_cut
from fyke.plan.row_patterns.plan import RowPlan, conjuncts
from fyke.plan.row_patterns.pushdown import PushedRows


def explain_row_plan(plan: RowPlan, pushed: PushedRows | None = None) -> str:
    """Return the explanation of a plan; ``pushed`` if Spark prepares the rows."""
    analysed, automaton = plan.analysed, plan.automaton
    lines = [str(analysed.query), "", *(_by_arrow(plan) if pushed is None else _by_spark(pushed))]
    lines += ["", "matching", "--------"]
    lines.append(f"  split by {', '.join(analysed.partition) or 'nothing: one partition'}")
    lines.append(f"  order    {', '.join(map(_order, analysed.order)) or 'as the rows come'}")
    lines.append(f"  pattern  {unparse_row_pattern(analysed.pattern)}")
    moves = sum(len(each) for each in automaton.moves) + len(automaton.start)
    longest = automaton.longest
    lines.append(
        f"  states   {len(automaton.labels)}, with {moves} moves; a match has "
        + ("any number of rows" if longest is None else f"at most {longest} rows")
    )
    if plan.linear:
        lines.append("  search   linear: a pass back marks what leads to a match, a walk on never goes back")
    else:
        lines.append("  search   depth first in order of preference, with a memory of what has failed")
        lines += _across(plan if pushed is None else pushed.plan)
    if pushed is None:
        lines.append(f"  pieces   partitions side by side; a long one is {how_to_cut(plan).reason}")
    else:
        lines.append("  pieces   tasks side by side, each with whole partitions")
    target = " or ".join(sorted(analysed.skip_labels or ()))
    lines.append(f"  skip     {analysed.skip_to.value.lower()} {target}".rstrip())
    if analysed.window is not None:
        lines.append(f"  window   {analysed.window} units of {analysed.order[0].column}")
    if analysed.timeouts:
        lines.append(
            "  timeouts an attempt without a match that its window cut off is a row, as far as it came"
        )
    if END in automaton.start:
        lines.append("  empty    a match may have no rows")
    lines.append(f"  output   {analysed.rows.value}: {', '.join(each.name for each in analysed.output)}")
    return "\n".join(lines)


def _by_arrow(plan: RowPlan) -> list[str]:
    query = plan.analysed.query
    lines = _titled("before matching, by Arrow")
    for name, condition in zip(plan.analysed.variables, plan.conditions, strict=True):
        if condition is None:
            lines.append(f"  {name:<8} true of every row")
        elif condition.column is not None:
            lines.append(f"  {name:<8} {_written(condition.column, query)}")
    return [*lines, f"  carry    {', '.join(plan.analysed.needed)}"]


def _by_spark(pushed: PushedRows) -> list[str]:
    """Say what Catalyst computes, moves and sorts, and what is left to Arrow in the tasks."""
    analysed = pushed.plan.analysed
    truths = {each.name: each.expression for each in pushed.truths}
    catalyst, arrow = [], []
    for name, condition in zip(analysed.variables, pushed.plan.conditions, strict=True):
        if condition is None:
            catalyst.append(f"  {name:<8} true of every row")
        if condition is None or condition.column is None:
            continue
        for conjunct in conjuncts(condition.column.expression):
            part = replace(condition.column, expression=conjunct)
            made = _truth(part, truths)
            if made is None:
                arrow.append(f"  {name:<8} {_written(part, analysed.query)}")
            else:
                catalyst.append(f"  {name:<8} {unparse_expression(_in_row(made))}")
    catalyst += [
        f"  column   {each.name} = {unparse_expression(_in_row(each.expression))}" for each in pushed.columns
    ]
    keys = ", ".join(analysed.partition)
    order = ", ".join([*analysed.partition, *map(_order, analysed.order)])
    lines = [*_titled("before matching, by Spark"), *catalyst]
    lines.append(f"  carry    {', '.join([*pushed.carried, *pushed.order_only])}")
    lines.append(f"  shuffle  {f'by {keys}' if keys else 'to one task'}")
    lines.append(f"  sort     {order}, then as the rows come")
    return [*lines, "", *_titled("in the tasks, by Arrow"), *arrow] if arrow else lines


def _titled(title: str) -> list[str]:
    return [title, "-" * len(title)]


def _truth(part: RowValue, truths: Mapping[str, Expression]) -> Expression | None:
    """Return what a conjunct was before it became a bit of a column; None if it is none."""
    if not isinstance(part.expression, Reference):
        return None
    value = part.inputs[int(part.expression.path[0][1:])].value
    return truths.get(value.path[0]) if isinstance(value, Reference) else None


def _across(plan: RowPlan) -> list[str]:
    return [
        f"  {name:<8} {_written(condition.across, plan.analysed.query)}"
        for name, condition in zip(plan.analysed.variables, plan.conditions, strict=True)
        if condition is not None and condition.across is not None
    ]


def _in_row(expression: Expression) -> Expression:
    return map_references(expression, lambda reference: Column(reference.path))


def _order(item: OrderItem) -> str:
    return f"{item.column}{' descending' * item.descending}{', nulls first' * item.nulls_first}"


def _written(value: RowValue, query: RowPatternQuery) -> str:
    """Return a condition as it might have been written."""

    def written(reference: Reference) -> Expression:
        return _input(value.inputs[int(reference.path[0][1:])], query)

    return unparse_expression(map_references(value.expression, written))


def _input(each: Input, query: RowPatternQuery) -> Expression:
    names = [*query.variables, *(subset.name for subset in query.subsets)]
    variable = (
        None if each.labels is None else next(name for name in names if query.labels(name) == each.labels)
    )
    if each.value is None:
        return Call("count", (Star() if variable is None else Column((), variable),))
    operand = map_references(each.value, lambda reference: Column(reference.path, variable))
    if isinstance(each, Aggregated):
        return Call(each.function, (operand,))
    if each.start is not From.CURRENT:
        operand = Navigation(each.start.name, operand, each.logical)
    if each.physical:
        operand = Navigation("PREV" if each.physical < 0 else "NEXT", operand, abs(each.physical))
    return operand
