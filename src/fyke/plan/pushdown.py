"""What one row alone decides: roles and derived columns ([S] 5.2.1, on Catalyst or on Arrow).

A *role* is a type together with the conditions that look at one event only; a row that can play
no role of a query is irrelevant to it.  A *derived column* is a sub-expression over one event:
evaluated by the input's own engine, so that the kernel sees plain values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from fyke.errors import TooManyVariablesError, UnsupportedQueryError
from fyke.language.ast import (
    Between,
    Binary,
    Call,
    Expression,
    In,
    Index,
    IsNull,
    Length,
    Node,
    Reference,
    children,
    map_children,
    map_references,
    walk,
)
from fyke.language.unparse import unparse_expression
from fyke.logical.analyse import Analysed
from fyke.logical.check import is_aggregate
from fyke.logical.kinds import ABOUT_NULLS, AGGREGATES, FUNCTIONS
from fyke.logical.normal_form import Absence, Alternative, Condition, Variable
from fyke.logical.partition import drop_implied
from fyke.logical.returns import Output, check_compressed_names
from fyke.plan.outputs import OUTPUTS
from fyke.techniques import Techniques

_DEFAULTS = Techniques()

EVENT = ""  # the variable of an expression over a row by itself
MAX_ROLES = 63
KERNEL_ONLY = frozenset({"corr"})  # in SQL dialects it is an aggregate over rows


@dataclass(frozen=True, slots=True)
class Role:
    """Rows of ``type`` (every row for None) for which all ``conditions`` hold; ``bit`` is its number."""

    bit: int
    type: str | None
    conditions: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Derived:
    """A column made from one row: ``expression`` refers to the variable :data:`EVENT`.

    ``types`` are the event types that need it (None in it: all); elsewhere it may be null.
    """

    name: str
    expression: Expression
    types: frozenset[str | None]


@dataclass(frozen=True, slots=True)
class Pushed:
    """An analysed query split into what rows decide alone and what only several events decide.

    The work is parted by the attributes of ``split``.  ``output`` is what RETURN asks for, with
    functions that only the input's engine knows as columns of their rows.  In ``alternatives`` each
    condition refers to derived columns by name, and ``roles_of`` gives the role bit of each variable of
    each alternative, by (alternative, variable name).  With ``filters`` rows that can play no role may
    be left out before the engine.  ``starts_of`` has the role bit that the first event of a group must
    have as well, for those groups of which conditions tell the first event apart; the conditions stay.
    ``texts`` are those by which statistics know the conditions between events, as the user wrote them.
    """

    analysed: Analysed
    roles: tuple[Role, ...]
    derived: tuple[Derived, ...]
    alternatives: tuple[Alternative, ...]
    roles_of: dict[tuple[int, str], int]
    needed: tuple[str, ...]
    split: tuple[str, ...]
    output: Output
    exported: tuple[Derived, ...] = ()
    filters: bool = True
    starts_of: Mapping[tuple[int, str], int] = field(default_factory=dict)
    texts: Mapping[Condition, str] = field(default_factory=dict)

    @property
    def made(self) -> tuple[Derived, ...]:
        """All derived columns: those of conditions, and those ``exported`` to the result."""
        return self.derived + self.exported


class _Collector:
    """Numbers roles and derived columns, each meaning once."""

    def __init__(self, analysed: Analysed) -> None:
        self.analysed = analysed
        self.roles: dict[tuple[str | None, frozenset[str]], Role] = {}
        self.derived: dict[str, Derived] = {}
        self.exported: dict[str, Derived] = {}

    def role(self, variable: Variable, conditions: Iterable[Condition]) -> int:
        own = tuple(_about_row(c.expression) for c in conditions if self.is_own(c, variable.name))
        key = (variable.type, frozenset(map(unparse_expression, own)))
        if key not in self.roles:
            if len(self.roles) == MAX_ROLES:
                raise TooManyVariablesError(
                    f"the alternatives tell more than {MAX_ROLES} kinds of events apart",
                    place=self.analysed.query.pattern.place,
                    text=self.analysed.query.text,
                    remedy="Split the query into labelled queries that feed one another.",
                )
            self.roles[key] = Role(len(self.roles), variable.type, own)
        return self.roles[key].bit

    def start_role(self, variable: Variable, conditions: Iterable[Condition]) -> int | None:
        """Return the role of the first event of a group, if conditions tell it apart and a bit is left."""
        own = tuple(_about_row(c.expression) for c in conditions if self.is_own(c, variable.name))
        first = tuple(_about_row(c.expression) for c in conditions if self.is_first(c, variable.name))
        key = (variable.type, frozenset(map(unparse_expression, own + first)))
        if not first or (key not in self.roles and len(self.roles) == MAX_ROLES):
            return None
        return self.roles.setdefault(key, Role(len(self.roles), variable.type, own + first)).bit

    def derive(self, expression: Expression, types: dict[str, str | None]) -> Expression:
        """Replace every largest sub-expression over one element by a reference to a derived column.

        An element by number may not be there.  What is not null then, the kernel must find out by itself.
        """
        element = None if self._opaque(expression) else _element(expression)
        if element is not None and (not element.offset or _is_null_of_nulls(expression)):
            return self._column(expression, element, types)
        if isinstance(expression, Call) and self._foreign(expression.function):
            self._check_mentions_event(expression)
        if is_aggregate(expression):
            return map_children(expression, lambda argument: self._aggregate_argument(argument, types))
        return map_children(expression, lambda child: self.derive(child, types))

    def export(self, expression: Expression, types: Mapping[str, frozenset[str | None]]) -> Expression:
        """Replace calls that only the input's engine knows by references to columns of prepared rows.

        ``types`` are those a variable has in any alternative; a partition attribute is one of all rows.
        """
        if isinstance(expression, Call) and self._foreign(expression.function):
            element = _element(expression)
            self._check_mentions_event(expression)
            if element is not None:
                needed = types.get(element.variable, frozenset({None}))
                made = _kept(self.exported, "e", _about_row(expression), needed)
                at = (element.index, element.offset)
                return Reference(element.variable, (physical(made),), *at, place=expression.place)
        return map_children(expression, lambda child: self.export(child, types))

    def _check_mentions_event(self, call: Call) -> None:
        """Refuse a call that the input's engine would have to evaluate for no event at all."""
        if not any(isinstance(node, (Reference, Length)) for node in walk(call)):
            raise UnsupportedQueryError(
                f"{unparse_expression(call)} mentions no event, and a function that is not Fyke's own is "
                "evaluated for one",
                place=call.place,
                text=self.analysed.query.text,
                remedy="Write its value, or compute it as a column first.",
            )

    def _foreign(self, function: str) -> bool:
        return function not in (FUNCTIONS.keys() | AGGREGATES | self.analysed.functions.keys())

    def is_own(self, condition: Condition, name: str) -> bool:
        """Say whether a condition is decided by each event of ``name`` alone, and by the input's engine."""
        if condition.variables != {name} or condition.whole or condition.lagged:
            return False
        references = [node for node in walk(condition.expression) if isinstance(node, Reference)]
        single = all(node.index in (Index.NONE, Index.EACH) for node in references)
        return single and not self._opaque(condition.expression)

    def is_first(self, condition: Condition, name: str) -> bool:
        """Say whether a condition is decided by the first event of the group ``name`` alone."""
        if condition.variables != {name} or condition.whole or condition.each:
            return False
        nodes = list(walk(condition.expression))
        if any(isinstance(node, Length) or is_aggregate(node) for node in nodes):
            return False
        references = [node for node in nodes if isinstance(node, Reference)]
        first = bool(references) and all(node.index is Index.FIRST for node in references)
        return first and not self._opaque(condition.expression)

    def _opaque(self, expression: Expression) -> bool:
        """Say whether an expression uses a function that only the kernel has."""
        calls = (node.function for node in walk(expression) if isinstance(node, Call))
        return any(name in KERNEL_ONLY or name in self.analysed.functions for name in calls)

    def _aggregate_argument(self, argument: Expression, types: dict[str, str | None]) -> Expression:
        if self._opaque(argument):
            raise UnsupportedQueryError(
                "an aggregate of a function that is not SQL is not possible in a condition",
                place=argument.place,
                text=self.analysed.query.text,
                remedy="Aggregate an attribute, or compute the value as a column first.",
            )
        first = next(node for node in walk(argument) if isinstance(node, Reference))
        return self._column(argument, first, types)

    def _column(self, expression: Expression, element: Reference, types: dict[str, str | None]) -> Expression:
        needed = frozenset({types.get(element.variable)})
        made = _kept(self.derived, "d", _about_row(expression), needed)
        at = (element.index, element.offset)
        return Reference(element.variable, (made.name,), *at, place=expression.place)


def _kept(
    columns: dict[str, Derived], prefix: str, row: Expression, needed: frozenset[str | None]
) -> Derived:
    """Return the column of an expression over a row, made once and kept for every type that needs it."""
    key = unparse_expression(row)
    known = columns.get(key, Derived(f"{prefix}{len(columns)}", row, frozenset()))
    columns[key] = replace(known, types=known.types | needed)
    return columns[key]


def physical(derived: Derived) -> str:
    """Return the column of a prepared batch that holds a derived column: an attribute is its own."""
    expression = derived.expression
    if isinstance(expression, Reference) and len(expression.path) == 1:
        return expression.path[0]
    return f"__fyke_{derived.name}"


def push_down(analysed: Analysed, output: str = "all", techniques: Techniques = _DEFAULTS) -> Pushed:
    """Split an analysed query into roles, derived columns and conditions over several events.

    Raises
    ------
    OutputNameError, TooManyVariablesError, UnsupportedQueryError
    """
    if OUTPUTS[output].shared:
        groups = {v.name: v.group for each in analysed.form.alternatives for v in each.variables}
        check_compressed_names(analysed.query, analysed.form.partition, groups)
    collector = _Collector(analysed)
    # Matches overlap within the partition that [x] names, so it must stay in one piece for that.
    whole = OUTPUTS[output].apart or not techniques.partition
    split = analysed.form.partition if whole else analysed.form.split
    roles_of: dict[tuple[int, str], int] = {}
    alternatives = []
    for number, given in enumerate(analysed.form.alternatives):
        alternative = drop_implied(given, split)
        types = {variable.name: variable.type for variable in alternative.variables}
        for variable in alternative.variables:
            roles_of[number, variable.name] = collector.role(variable, alternative.conditions)
        kept = _residual(alternative.conditions, alternative.variables, collector, types)
        absences = tuple(
            _push_absence(absence, number, collector, types, roles_of) for absence in alternative.absences
        )
        alternatives.append(replace(alternative, conditions=kept, absences=absences))
    starts_of = _start_roles(analysed, collector, split)
    every: dict[str, frozenset[str | None]] = {}
    for variable in (v for each in analysed.form.alternatives for v in each.variables):
        every[variable.name] = every.get(variable.name, frozenset()) | {variable.type}
    columns = tuple(
        replace(column, expression=collector.export(column.expression, every))
        for column in analysed.output.columns
    )
    return Pushed(
        analysed,
        tuple(collector.roles.values()),
        tuple(collector.derived.values()),
        tuple(alternatives),
        roles_of,
        needed_columns(analysed, split),
        split,
        replace(analysed.output, columns=columns),
        tuple(collector.exported.values()),
        techniques.filter,
        starts_of,
        _condition_texts(alternatives, collector.derived.values()),
    )


def _condition_texts(alternatives: Iterable[Alternative], derived: Iterable[Derived]) -> dict[Condition, str]:
    """Return the texts of conditions, with expressions in place of the columns made from them."""
    made = {column.name: column.expression for column in derived}

    def written(reference: Reference) -> Expression:
        if reference.path[0] not in made:
            return reference
        return map_references(
            made[reference.path[0]],
            lambda own: replace(own, variable=reference.variable, index=reference.index),
        )

    conditions = (c for each in alternatives for c in each.conditions)
    return {c: unparse_expression(map_references(c.expression, written)) for c in conditions}


def _start_roles(
    analysed: Analysed, collector: _Collector, split: tuple[str, ...]
) -> dict[tuple[int, str], int]:
    """Return the roles of first events of groups, after all others have theirs."""
    found: dict[tuple[int, str], int] = {}
    for number, given in enumerate(analysed.form.alternatives):
        conditions = drop_implied(given, split).conditions
        for variable in given.variables:
            role = collector.start_role(variable, conditions) if variable.group else None
            if role is not None:
                found[number, variable.name] = role
    return found


def _push_absence(
    absence: Absence,
    number: int,
    collector: _Collector,
    outer: dict[str, str | None],
    roles_of: dict[tuple[int, str], int],
) -> Absence:
    types = {**outer, **{variable.name: variable.type for variable in absence.variables}}
    for variable in absence.variables:
        roles_of[number, variable.name] = collector.role(variable, absence.conditions)
    kept = _residual(absence.conditions, absence.variables, collector, types)
    nested = tuple(_push_absence(each, number, collector, types, roles_of) for each in absence.absences)
    return replace(absence, conditions=kept, absences=nested)


def _residual(
    conditions: tuple[Condition, ...],
    variables: tuple[Variable, ...],
    collector: _Collector,
    types: dict[str, str | None],
) -> tuple[Condition, ...]:
    names = [variable.name for variable in variables]
    kept = [c for c in conditions if not any(collector.is_own(c, name) for name in names)]
    return tuple(replace(c, expression=collector.derive(c.expression, types)) for c in kept)


def _element(expression: Expression) -> Reference | None:
    """Return a reference to the one element an expression is a function of, or None."""
    found: Reference | None = None
    for node in walk(expression):
        if isinstance(node, Length) or is_aggregate(node):
            return None
        if isinstance(node, Reference):
            if found is not None and _at(node) != _at(found):
                return None
            found = node
    return found


def _is_null_of_nulls(node: Node) -> bool:
    """Say whether an expression is null if the event that it is about is not there."""
    if isinstance(node, Reference):
        return True
    if isinstance(node, IsNull) or (isinstance(node, Binary) and node.operator in ("AND", "OR")):
        return False
    if isinstance(node, Call) and node.function in ABOUT_NULLS:
        return False
    parts = [node.operand] if isinstance(node, (In, Between)) else children(node)
    return any(map(_is_null_of_nulls, parts))


def _at(reference: Reference) -> tuple[str, Index, int]:
    return reference.variable, reference.index, reference.offset


def _about_row(expression: Expression) -> Expression:
    return map_references(expression, lambda r: replace(r, variable=EVENT, index=Index.NONE, offset=0))


def needed_columns(analysed: Analysed, split: tuple[str, ...]) -> tuple[str, ...]:
    """Return the attributes that rows of the result are made of, in schema order.

    They are also what identifies a bound row in ``match_id``: the partition attributes, the order
    key, the type, and whatever the conditions and RETURN mention.  Without RETURN, every attribute.
    """
    schema = analysed.schema
    mentioned = {*split, *schema.time, *schema.tie_breaker}
    if schema.type_column is not None:
        mentioned.add(schema.type_column)
    expressions: list[Expression] = [column.expression for column in analysed.output.columns]
    for expression in (*expressions, *_all_conditions(analysed)):
        for node in walk(expression):
            if isinstance(node, Reference):
                if not node.path:
                    return tuple(schema.columns)
                mentioned.add(node.path[0])
    return tuple(name for name in schema.columns if name in mentioned)


def _all_conditions(analysed: Analysed) -> Iterable[Expression]:
    def of_absences(absences: tuple[Absence, ...]) -> Iterable[Expression]:
        for absence in absences:
            yield from (condition.expression for condition in absence.conditions)
            yield from of_absences(absence.absences)

    for alternative in analysed.form.alternatives:
        yield from (condition.expression for condition in alternative.conditions)
        yield from of_absences(alternative.absences)
