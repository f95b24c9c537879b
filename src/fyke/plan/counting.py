"""How aggregates over matches are computed: from rows, in chunks, by counting, or without listing subsets.

A pure function of the plan.  In chunks, rows of matches are made, tallied and dropped.  By counting, no row
is made.  Groups whose conditions couple at most neighbouring elements need not even be enumerated: the
number of subsets follows from a recurrence over the candidates, in polynomial time.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from fyke.language.ast import Call, Index, Length, Reference, walk
from fyke.logical.check import is_aggregate
from fyke.logical.normal_form import Alternative, Condition, Variable
from fyke.logical.returns import Output
from fyke.logical.schema import EventSchema
from fyke.plan.early_absences import early_absences, may_be_one
from fyke.plan.match_aggregates import MERGEABLE, MatchAggregate, split_aggregates
from fyke.plan.outputs import OUTPUTS

_MOST_ELEMENTS = 64  # up to this repetition bound, lists of elements are counted by length
_VISITED = "every match is visited, none is kept"
_BEST = {"min": ("min", "max", "sum", "count", "len", "single"), "sum": ("sum", "count", "len", "single")}
_BEST |= {"max": _BEST["min"], "avg": _BEST["sum"]}


@dataclass(frozen=True, slots=True)
class TalliedValue:
    """A value of a match that lists of elements add up to.

    ``source`` is "single" (an attribute of a single variable), "len", or the aggregate of ``attribute``
    over the group ``variable``.
    """

    source: str
    variable: str
    attribute: str | None


@dataclass(frozen=True, slots=True)
class Counting:
    """How matches are tallied.

    Attributes
    ----------
    aggregates
        The aggregates over matches, in the order of their columns, each with its value; None: their number.
    subsets
        Whether groups are counted by a recurrence; otherwise every match is visited, but none is kept.
    reason
        Why, for ``explain``.
    chunks
        Whether rows of matches are tallied chunk by chunk, outside the search.
    """

    aggregates: tuple[tuple[MatchAggregate, TalliedValue | None], ...]
    subsets: bool
    reason: str
    chunks: bool = False


def plan_counting(
    result: Output,
    alternatives: Sequence[Alternative],
    schema: EventSchema,
    output: str,
    *,
    first_chance: bool,
    whole: bool = False,
) -> Counting | str:
    """Return how a lazy engine tallies the matches of a query, or why it must make a row of each.

    ``result`` is what RETURN asks for; with ``first_chance`` absences are checked as soon as they can
    be; ``whole``: something about whole matches decides which are left out.
    """
    if not result.over_matches:
        return "RETURN asks for matches"
    if not OUTPUTS[output].independent:
        return f"output is {output!r}"
    found, _ = split_aggregates(result)
    if any(may_repeat(*pair) for pair in itertools.combinations(alternatives, 2)):
        return "two alternatives may find the same match"
    counted = all(each.argument is None for each in found)
    groups = any(variable.group for each in alternatives for variable in each.variables)
    coupled = [why for why in map(coupling, alternatives) if why]
    variables = {v.name: v for each in alternatives for v in each.variables}
    values = tuple((each, _value(each, variables, schema)) for each in found)
    why = _needs_rows(alternatives, values, groups=groups, first_chance=first_chance)
    why = "windows must be complete" if whole else why
    if not why and groups and not coupled:
        return Counting(values, True, "conditions couple neighbouring elements at most")
    if not why and (counted or not groups):
        reason = f"{_VISITED}{': ' + coupled[0] if coupled else ''}"
        return Counting(values, False, reason)
    unmergeable = [each.function for each in found if each.function not in MERGEABLE]
    if unmergeable:
        return f"{unmergeable[0]} needs all values at once"
    reason = f"{_VISITED}: {why or coupled[0]}"
    return Counting(tuple((each, None) for each in found), False, reason, chunks=True)


def _needs_rows(
    alternatives: Sequence[Alternative],
    values: Sequence[tuple[MatchAggregate, TalliedValue | None]],
    *,
    groups: bool,
    first_chance: bool,
) -> str:
    """Return why the search cannot tally matches by itself, or an empty text."""
    for alternative in alternatives:
        if len(early_absences(alternative) if first_chance else ()) < len(alternative.absences):
            return "an absence is checked on whole matches"
    valued = [value for each, value in values if each.argument is not None]
    if None in valued:
        of = "lists of elements do not add up to" if groups else "is not a number of one event"
        return f"an aggregate needs a value that {of}"
    if valued and groups and len(alternatives) > 1:
        return "an aggregate needs values, and there are several alternatives"
    return ""


def unbounded_groups(alternative: Alternative, *, window: bool) -> bool:
    """Say whether no single variable bounds the window of the groups, so that their first element must."""
    singles = [variable.name for variable in alternative.variables if not variable.group]
    groups = [variable.name for variable in alternative.variables if variable.group]
    before = any(all((s, g) in alternative.order for g in groups) for s in singles)
    after = any(all((g, s) in alternative.order for g in groups) for s in singles)
    return window and not before and not after


def _value(
    aggregate: MatchAggregate, variables: Mapping[str, Variable], schema: EventSchema
) -> TalliedValue | None:
    """Return the value an aggregate is over, if a recurrence can carry it."""
    argument = aggregate.argument
    if isinstance(argument, Length):
        value = TalliedValue("len", argument.variable, None)
    elif isinstance(argument, Reference) and argument.variable in variables:
        if variables[argument.variable].group or len(argument.path) != 1:
            return None
        value = TalliedValue("single", argument.variable, argument.path[0])
    elif isinstance(argument, Call) and is_aggregate(argument):
        inner = argument.arguments[0]
        if not isinstance(inner, Reference) or len(inner.path) != 1:
            return None
        value = TalliedValue(argument.function, inner.variable, inner.path[0])
    else:
        return None
    if value.source not in _BEST.get(aggregate.function, ()):
        return None
    kind = schema.columns.get(value.attribute or "", pa.int64())
    numeric = pa.types.is_signed_integer(kind) or pa.types.is_float64(kind) or value.source == "count"
    return value if numeric else None


def coupling(alternative: Alternative) -> str:
    """Return what couples elements of an alternative's groups beyond neighbours, or an empty text."""
    groups = [variable for variable in alternative.variables if variable.group]
    for first, second in itertools.pairwise(groups):
        if (first.name, second.name) not in alternative.order:
            return f"{first.name} and {second.name} are not in sequence"
    for group in groups:
        if max(group.minimum, group.maximum or 1) > _MOST_ELEMENTS:
            return f"{group.name} has bounds above {_MOST_ELEMENTS}"
        for condition in alternative.conditions:
            if group.name in condition.variables and _couples(condition, group, groups):
                return f"a condition looks at more of {group.name} than neighbouring elements"
    return ""


def _couples(condition: Condition, group: Variable, groups: list[Variable]) -> bool:
    if condition.whole or sum(each.name in condition.variables for each in groups) > 1:
        return True
    nodes = list(walk(condition.expression))
    if any(isinstance(node, Length) or is_aggregate(node) for node in nodes):
        return True
    indices = {node.index for node in nodes if isinstance(node, Reference) and node.variable == group.name}
    return not (indices <= {Index.EACH, Index.PREVIOUS} or indices == {Index.FIRST})


def may_repeat(left: Alternative, right: Alternative) -> bool:
    """Say whether two alternatives can find a match with the same bindings."""
    others = {variable.name: variable for variable in right.variables}
    if {variable.name for variable in left.variables} != others.keys():
        return False
    return all(may_be_one(variable, others[variable.name]) for variable in left.variables)
