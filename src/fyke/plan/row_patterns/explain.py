"""What a clause means and how it is run, in words."""

from __future__ import annotations

from fyke.language.ast import Call, Column, Expression, Navigation, Reference, Star, map_references
from fyke.language.row_patterns import OrderItem, RowPatternQuery, unparse_row_pattern
from fyke.language.unparse import unparse_expression
from fyke.logical.row_patterns.analysed import Aggregated, From, Input, RowValue
from fyke.plan.row_patterns.automaton import END
from fyke.plan.row_patterns.cut import how_to_cut
from fyke.plan.row_patterns.plan import RowPlan


def explain_row_plan(plan: RowPlan, rows_by: str) -> str:
    """Return the explanation of a plan; ``rows_by`` evaluates what is about rows: Arrow, or Spark."""
    analysed, automaton = plan.analysed, plan.automaton
    lines = [str(analysed.query), "", f"before matching, by {rows_by}", f"{'-' * 20}{'-' * len(rows_by)}"]
    across = []
    for name, condition in zip(analysed.variables, plan.conditions, strict=True):
        if condition is None:
            lines.append(f"  {name:<8} true of every row")
            continue
        if condition.column is not None:
            lines.append(f"  {name:<8} {_written(condition.column, analysed.query)}")
        if condition.across is not None:
            across.append(f"  {name:<8} {_written(condition.across, analysed.query)}")
    lines += [f"  carry    {', '.join(analysed.needed)}", "", "matching", "--------"]
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
        lines += across
    lines.append(f"  pieces   partitions side by side; a long one is {how_to_cut(plan).reason}")
    target = " or ".join(sorted(analysed.skip_labels or ()))
    lines.append(f"  skip     {analysed.skip_to.value.lower()} {target}".rstrip())
    if analysed.window is not None:
        lines.append(f"  window   {analysed.window} units of {analysed.order[0].column}")
    if END in automaton.start:
        lines.append("  empty    a match may have no rows")
    lines.append(f"  output   {analysed.rows.value}: {', '.join(each.name for each in analysed.output)}")
    return "\n".join(lines)


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
