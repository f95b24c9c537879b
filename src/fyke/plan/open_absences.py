"""Absences that only the window bounds, so that they may reach past the data (SEMANTICS 2.1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fyke.logical.normal_form import Absence, Alternative


def open_sides(alternative: Alternative) -> tuple[bool, bool]:
    """Say whether an absence reaches ahead as far as the window, and whether one reaches back as far.

    One that is before nothing that is present reaches ahead, one that is behind nothing reaches back.
    """
    present, order = [variable.name for variable in alternative.variables], alternative.order
    absent = list(_names(alternative.absences))
    ahead = any(not any((name, other) in order for other in present) for name in absent)
    back = any(not any((other, name) in order for other in present) for name in absent)
    return ahead, back


def _names(absences: Iterable[Absence]) -> Iterator[str]:
    for absence in absences:
        yield from (variable.name for variable in absence.variables)
        yield from _names(absence.absences)
