"""The order in which a lazy chain binds the variables of an alternative ([L] 4: ascending frequency)."""

from __future__ import annotations

from collections.abc import Mapping

from fyke.logical.normal_form import Alternative


def chain_order(
    alternative: Alternative,
    rates: Mapping[str, int],
    given: tuple[str, ...] | None,
    *,
    groups_in_sequence: bool = False,
) -> tuple[str, ...]:
    """Return the names of an alternative's variables in the order in which they are bound.

    A given order is kept as far as it names variables of this alternative.  Otherwise ``rates``, the
    number of candidates of each variable, decide (see :func:`_rare_first`).  In either case groups come last
    ([L] 4.5), in the order of the pattern if ``groups_in_sequence``.
    """
    names = [variable.name for variable in alternative.variables]
    groups = {variable.name for variable in alternative.variables if variable.group}
    if given is not None:
        ordered = [name for name in given if name in names]
    else:
        ordered = _rare_first(alternative, rates)
    if groups_in_sequence:
        return (*(n for n in ordered if n not in groups), *(n for n in names if n in groups))
    return (*(n for n in ordered if n not in groups), *(n for n in ordered if n in groups))


def _rare_first(alternative: Alternative, rates: Mapping[str, int]) -> list[str]:
    """Return the variables by ascending frequency; each condition with earlier variables divides it by four.

    So among about equally frequent variables, the one that is related to those already bound comes next.
    """
    left = [variable.name for variable in alternative.variables if not variable.group]
    ordered: list[str] = []

    def expected(name: str) -> float:
        bound = {*ordered, name}
        related = (c for c in alternative.conditions if name in c.variables and len(c.variables) > 1)
        return rates[name] * 0.25 ** sum(c.variables <= bound for c in related)

    while left:
        ordered.append(min(left, key=expected))
        left.remove(ordered[-1])
    groups = [variable.name for variable in alternative.variables if variable.group]
    return [*ordered, *sorted(groups, key=lambda name: rates[name])]
