"""RETURN items, or every variable without RETURN, to named and typed columns of the result (SEMANTICS 5)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fyke.errors import AggregateError, OutputNameError
from fyke.language.ast import Expression, Index, Length, Reference, ReturnItem, children, map_children, map_references, walk
from fyke.language.query import Query
from fyke.language.unparse import unparse_expression
from fyke.pattern.check import Checker, over_matches
from fyke.pattern.kinds import Kind
from fyke.pattern.normal_form import Alternative
from fyke.pattern.scope import Scope

MATCH_ID, START, END = "match_id", "start", "end"


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """A column after the fixed ones.  A reference to variable ``""`` is a partition attribute."""

    name: str
    expression: Expression
    kind: Kind


@dataclass(frozen=True, slots=True)
class Output:
    """The columns of the result.

    With ``over_matches`` there is one row per value of the partition attributes, and ``columns``
    are aggregates over matches; otherwise there is one row per match.
    """

    columns: tuple[OutputColumn, ...]
    over_matches: bool


def analyse_returns(
    query: Query, scope: Scope, alternatives: tuple[Alternative, ...], partition: tuple[str, ...]
) -> Output:
    """Check RETURN and name its columns.

    Raises
    ------
    AbsenceReferenceError, AggregateError, GroupAsSingleError, OutputNameError, TypeClashError
    """
    if query.returns is None:
        names = dict.fromkeys(variable.name for each in alternatives for variable in each.variables)
        columns = tuple(OutputColumn(name, Reference(name, ()), Kind.EVENT) for name in names)
        return _named(Output(columns, over_matches=False), partition, query, ())
    over = any(over_matches(node) for item in query.returns for node in walk(item.expression))  # type: ignore[arg-type]
    checker = Checker(scope, returning=True)
    columns = tuple(_column(item, checker, partition, over) for item in query.returns)
    if over:
        columns = tuple(column for column in columns if not _repeats_partition(column, partition))
    return _named(Output(columns, over), partition, query, query.returns)


def _column(item: ReturnItem, checker: Checker, partition: tuple[str, ...], over: bool) -> OutputColumn:
    expression = _with_partition(item.expression, checker.scope, partition, over)
    kind = _kind(expression, checker)
    if over:
        _check_constant_per_partition(expression, item, checker.scope, partition)
    name = item.alias or _default_name(item.expression)
    return OutputColumn(name, expression, kind)


def _kind(expression: Expression, checker: Checker) -> Kind:
    """Check an item, with partition attributes standing in as attributes of some variable."""
    some_variable = next(name for name in checker.scope.variables if name not in checker.scope.absent)
    index = Index.FIRST if checker.scope.is_group(some_variable) else Index.NONE

    def stand_in(reference: Reference) -> Expression:
        return replace(reference, variable=some_variable, index=index) if reference.variable == "" else reference

    return checker.kind(map_references(expression, stand_in))


def _with_partition(
    expression: Expression, scope: Scope, partition: tuple[str, ...], over: bool
) -> Expression:
    """Write bare names of partition attributes, and over matches also ``a.x``, as references to ``""``."""

    def change(reference: Reference) -> Expression:
        bare = not reference.path and reference.variable not in scope.variables
        if bare and reference.variable in partition:
            return Reference("", (reference.variable,), place=reference.place)
        return reference

    def outside_aggregates(node: Expression) -> Expression:
        if over_matches(node):
            return node
        if isinstance(node, Reference) and node.path and node.path[0] in partition and len(node.path) == 1:
            return Reference("", node.path, place=node.place)
        return map_children(node, outside_aggregates)

    expression = map_references(expression, change)
    return outside_aggregates(expression) if over else expression


def _check_constant_per_partition(
    expression: Expression, item: ReturnItem, scope: Scope, partition: tuple[str, ...]
) -> None:
    if over_matches(expression) or (isinstance(expression, Reference) and expression.variable == ""):
        return
    if isinstance(expression, Reference):
        known = ", ".join(partition) if partition else "none here"
        raise AggregateError(
            f"{unparse_expression(item.expression)} differs from match to match, "
            "but another item aggregates over matches",
            place=item.expression.place,
            text=scope.text,
            remedy=f"Aggregate it too, or return partition attributes only ({known}).",
        )
    for child in children(expression):
        _check_constant_per_partition(child, item, scope, partition)  # type: ignore[arg-type]


def _repeats_partition(column: OutputColumn, partition: tuple[str, ...]) -> bool:
    expression = column.expression
    return isinstance(expression, Reference) and expression.variable == "" and column.name in partition


def _default_name(expression: Expression) -> str:
    if isinstance(expression, Reference) and expression.index is Index.NONE:
        return "_".join((expression.variable, *expression.path))
    if isinstance(expression, Length):
        return f"{expression.variable}_len"
    return unparse_expression(expression)


def _named(output: Output, partition: tuple[str, ...], query: Query, items: tuple[ReturnItem, ...]) -> Output:
    fixed = list(partition) if output.over_matches else [MATCH_ID, *partition, START, END]
    names = [*fixed, *(column.name for column in output.columns)]
    for column in output.columns:
        if names.count(column.name) > 1:
            place = next((i.place for i in items if (i.alias or _default_name(i.expression)) == column.name), None)
            raise OutputNameError(
                f"the result would have two columns named {column.name!r}",
                place=place or query.pattern.place,
                text=query.text,
                remedy="Rename the variable, or give the item a name of its own: RETURN a.x AS first_x.",
            )
    return output
