"""The order in which a lazy chain binds the variables of an alternative ([L] 4: ascending frequency)."""

from __future__ import annotations

from collections.abc import Mapping

from fyke.pattern.normal_form import Alternative


def chain_order(
    alternative: Alternative,
    rates: Mapping[str, int],
    given: tuple[str, ...] | None,
    *,
    groups_in_sequence: bool = False,
) -> tuple[str, ...]:
    """Return the names of an alternative's variables, the first to be bound first.

    A given order is kept as far as it names variables of this alternative; otherwise ``rates``, the
    number of candidates of each variable, decide.  Groups come last in either case ([L] 4.5), as the
    pattern has them if ``groups_in_sequence``.
    """
    names = [variable.name for variable in alternative.variables]
    groups = {variable.name for variable in alternative.variables if variable.group}
    if given is not None:
        ordered = [name for name in given if name in names]
    else:
        ordered = sorted(names, key=lambda name: (rates[name], names.index(name)))
    if groups_in_sequence:
        return (*(n for n in ordered if n not in groups), *(n for n in names if n in groups))
    return (*(n for n in ordered if n not in groups), *(n for n in ordered if n in groups))
