"""Switches of the techniques of evaluation.  None changes a result: they exist to compare and to explain."""

from __future__ import annotations

from dataclasses import dataclass, fields

from fyke.errors import OptionError, near_misses

_CHOICES = {
    "search": ("breadth_first", "backtrack"),
    "robust": ("backtracking", "post_processing"),
    "absence": ("first_chance", "post_processing", None),
}


@dataclass(frozen=True, slots=True)
class Techniques:
    """How matches are looked for; the defaults are the fastest known.

    Attributes
    ----------
    filter
        Rows that can play no role do not reach the engine ([S] 5.2.1).
    partition
        Equality chains part the work ([S] 5.2.3).
    candidate_windows
        An event whose window lacks what a match needs starts no run ([S] 5.2.2).
    merging
        Runs that agree in all that is still needed become one ([N] 5.2.3).
    search
        ``"breadth_first"``: each event is read once, by all runs ([N] 5.2); ``"backtrack"``: one run
        after the other, events are read again ([N] 5.3).
    robust
        How robust matches are found: ``"backtracking"`` ([S] 6.3), or all matches first and then
        ``"post_processing"``.
    order
        The order in which a lazy chain binds the variables; None: rare ones first ([L] 4).
    absence
        When a lazy engine checks absences: ``"first_chance"``, as soon as all they depend on is bound
        ([L] 4.4.2), or ``"post_processing"`` of whole matches ([L] 4.4.1); None: as early as is exact.
    """

    filter: bool = True
    partition: bool = True
    candidate_windows: bool = True
    merging: bool = True
    search: str = "breadth_first"
    robust: str = "backtracking"
    order: tuple[str, ...] | None = None
    absence: str | None = None

    def __post_init__(self) -> None:
        for spec in fields(self):
            value = getattr(self, spec.name)
            if spec.name == "order":
                self._check_order(value)
                continue
            if spec.name in _CHOICES:
                allowed: tuple[object, ...] = _CHOICES[spec.name]
            else:
                allowed = (True, False)
            if not any(value is each or (isinstance(value, str) and value == each) for each in allowed):
                raise OptionError(
                    f"technique {spec.name!r} must be one of {', '.join(map(repr, allowed))}, "
                    f"found {value!r}.{near_misses(str(value), [str(each) for each in allowed])}"
                )

    def _check_order(self, order: object) -> None:
        if order is None:
            return
        if isinstance(order, str) or not isinstance(order, (list, tuple)):
            raise OptionError(
                f"technique 'order' must be a tuple of names of variables, found {order!r}",
                remedy="Write order=('a', 'b'), or leave it out: then rare variables come first.",
            )
        object.__setattr__(self, "order", tuple(order))
