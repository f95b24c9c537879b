"""RETURN items, or every variable without RETURN, to named and typed columns of the result (SEMANTICS 5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fyke.errors import AggregateError, OutputNameError, Place, listed
from fyke.language.ast import (
    Call,
    Equivalence,
    Expression,
    Funnel,
    Index,
    Length,
    Reference,
    ReturnItem,
    children,
    events,
    map_children,
    map_references,
    walk,
)
from fyke.language.query import Query
from fyke.language.relational import RelationalQuery
from fyke.language.unparse import unparse_expression
from fyke.logical.check import Checker, is_aggregate, over_matches
from fyke.logical.funnel import REACHED, reached, spell_out_reached
from fyke.logical.kinds import COLLECT, Kind
from fyke.logical.scope import Scope
from fyke.logical.value_types import spell_out_decimals

OWN = "__fyke_"  # how columns begin that Fyke adds on the way
MATCH_ID, START, END = "match_id", "start", "end"
MATCHES, QUERY, LAST, NODES = "matches", "query", "last", "nodes"  # of a compressed result
PREVIOUS, HASH = "previous", "hash"  # of its nodes


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


def analyse_returns(query: Query, scope: Scope, names: tuple[str, ...], partition: tuple[str, ...]) -> Output:
    """Check RETURN and name its columns; without it there is one for each of the variables ``names``.

    Raises
    ------
    AbsenceReferenceError, AggregateError, GroupAsSingleError, OutputNameError, TypeClashError
    """
    if query.returns is None:
        columns = tuple(OutputColumn(name, Reference(name, ()), Kind.EVENT) for name in names)
        if isinstance(query.pattern, Funnel):
            columns += (OutputColumn(REACHED, reached(query.pattern, scope.schema), Kind.INTEGER),)
        return _named(Output(columns, over_matches=False), partition, query, ())
    over = any(over_matches(node) for item in query.returns for node in walk(item.expression))  # type: ignore[arg-type]
    checker = Checker(scope, returning=True)
    items = tuple(spell_out_reached(item, query.pattern, scope.schema) for item in query.returns)
    columns = tuple(_column(item, checker, partition, over) for item in items)
    columns = tuple(column for column in columns if not _repeats_partition(column, partition))
    return _named(Output(columns, over), partition, query, items)


def _column(item: ReturnItem, checker: Checker, partition: tuple[str, ...], over: bool) -> OutputColumn:
    expression = _with_partition(_with_lists(item.expression), checker.scope, partition, over)
    kind = _kind(expression, checker)
    if over:
        _check_constant_per_partition(expression, item, checker.scope, partition)
    name = item.alias or _default_name(item.expression)
    return OutputColumn(name, spell_out_decimals(expression, checker.scope.type_at), kind)


def _with_lists(node: Expression) -> Expression:
    """Write ``a[].x`` outside aggregates, which is the list of all values, as an aggregate of its own."""
    if is_aggregate(node):
        return node
    if isinstance(node, Reference) and node.index is Index.ALL and node.path:
        return Call(COLLECT, (node,), place=node.place)
    return map_children(node, _with_lists)


def _kind(expression: Expression, checker: Checker) -> Kind:
    """Check an item, with partition attributes standing in as attributes of some variable."""
    some_variable = next(name for name in checker.scope.variables if name not in checker.scope.absent)
    index = Index.FIRST if checker.scope.is_group(some_variable) else Index.NONE

    def stand_in(reference: Reference) -> Expression:
        return (
            replace(reference, variable=some_variable, index=index) if reference.variable == "" else reference
        )

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
        if isinstance(node, Reference) and _is_partition_value(node, scope, partition):
            return Reference("", node.path, place=node.place)
        return map_children(node, outside_aggregates)

    expression = map_references(expression, change)
    return outside_aggregates(expression) if over else expression


def _is_partition_value(reference: Reference, scope: Scope, partition: tuple[str, ...]) -> bool:
    """Say whether a reference to a bound event is to a partition attribute, the same in all of them."""
    name = reference.variable
    bound = name in scope.variables and name not in scope.absent
    one_event = reference.index in (
        (Index.FIRST, Index.LAST) if bound and scope.is_group(name) else (Index.NONE,)
    )
    one_event = one_event and not reference.offset
    return bound and one_event and len(reference.path) == 1 and reference.path[0] in partition


def _check_constant_per_partition(
    expression: Expression, item: ReturnItem, scope: Scope, partition: tuple[str, ...]
) -> None:
    if over_matches(expression) or (isinstance(expression, Reference) and expression.variable == ""):
        return
    if isinstance(expression, Call) and expression.function in (scope.functions or {}):
        raise AggregateError(
            f"{unparse_expression(item.expression)} calls a function of yours on aggregates over matches",
            place=item.expression.place,
            text=scope.text,
            remedy="Return the aggregates, and compute it from the result.",
        )
    if isinstance(expression, (Reference, Length)):
        known = f" ({listed(partition)})" if partition else "; this query has none"
        raise AggregateError(
            f"{unparse_expression(item.expression)} differs from match to match, "
            "but another item aggregates over matches",
            place=item.expression.place,
            text=scope.text,
            remedy=f"Aggregate it too, or return beside it partition attributes only{known}.",
        )
    for child in children(expression):
        _check_constant_per_partition(child, item, scope, partition)  # type: ignore[arg-type]


def _repeats_partition(column: OutputColumn, partition: tuple[str, ...]) -> bool:
    return column.name in partition and column.expression == Reference("", (column.name,))


def _default_name(expression: Expression) -> str:
    if isinstance(expression, Reference) and expression.index is Index.NONE:
        return "_".join((expression.variable, *expression.path))
    if isinstance(expression, Length):
        return f"{expression.variable}_len"
    return unparse_expression(expression)


def _named(output: Output, partition: tuple[str, ...], query: Query, items: tuple[ReturnItem, ...]) -> Output:
    fixed = list(partition) if output.over_matches else [MATCH_ID, *partition, START, END]
    check_partition_names(query, fixed)
    names = Counter([*fixed, *(column.name for column in output.columns)])
    for column in output.columns:
        check_free(column.name, query.text, _places(column.name, query, items))
        if names[column.name] > 1:
            made = any((i.alias or _default_name(i.expression)) == column.name for i in items)
            own = "Give the item a name of its own, as in RETURN a.x AS first_x"
            rename = own if made else "Rename the variable"
            raise two_of_one_name(column.name, fixed, query.text, _places(column.name, query, items), rename)
    return output


def _places(name: str, query: Query, items: tuple[ReturnItem, ...]) -> list[Place | None]:
    """Return where variables and items make a column of that name."""
    declared = [event.place for event in events(query.pattern) if event.variable == name]
    made = [item.place for item in items if (item.alias or _default_name(item.expression)) == name]
    return [*declared, *made]


def check_partition_names(query: Query | RelationalQuery, fixed: Sequence[str]) -> None:
    """Raise OutputNameError if an attribute in ``[x]`` has the name of another of the ``fixed`` columns."""
    names = Counter(fixed)
    for condition in query.conditions:
        for attribute in condition.attributes if isinstance(condition, Equivalence) else ():
            if names[attribute] > 1:
                rename = f"Rename the column {attribute!r} of the events"
                raise two_of_one_name(attribute, fixed, query.text, [condition.place], rename)


def check_compressed_names(query: Query, partition: tuple[str, ...], groups: Mapping[str, bool]) -> None:
    """Raise OutputNameError if a compressed result could not hold these variables, by name: group or not."""
    check_partition_names(query, [*partition, END, MATCHES, QUERY, LAST, NODES])
    taken = {PREVIOUS, START, HASH}
    for name, group in groups.items():
        field = f"{name}[]" if group else name
        if field in taken:
            raise OutputNameError(
                f"the nodes of a compressed result would have two fields named {field!r}",
                place=next(event.place for event in events(query.pattern) if event.variable == name),
                text=query.text,
                remedy="Rename the variable.",
            )
        taken.add(field)


def check_free(name: str, text: str | None, places: Sequence[Place | None]) -> None:
    """Refuse a column of the result whose name Fyke may use on the way, at the last place that makes it."""
    if name.lower().startswith(OWN):
        raise OutputNameError(
            f"the result would have a column {name!r}, and names that begin with {OWN} are Fyke's own",
            place=places[-1],
            text=text,
            remedy="Give it another name.",
        )


def two_of_one_name(
    name: str, fixed: Sequence[str], text: str | None, places: Sequence[Place | None], rename: str
) -> OutputNameError:
    """Return the error of a result with two columns of one name, at the last place that makes one."""
    taken = f"; {listed(dict.fromkeys(fixed))} are taken" if name in fixed else ""
    return OutputNameError(
        f"the result would have two columns named {name!r}",
        place=places[-1],
        text=text,
        remedy=f"{rename}{taken}.",
    )
