"""Switches for the techniques of evaluation, to compare and to explain; none changes a result."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from fyke.errors import OptionError, near_misses

_CHOICES = {
    "search": ("breadth_first", "backtrack"),
    "robust": ("backtracking", "post_processing"),
    "absence": ("first_chance", "post_processing", None),
    "propagation": ("pull", "push"),
    "pass_down": (True, False, None),
}
_APART = ("order", "tree", "thresholds", "chunk")  # checked by separate functions


@dataclass(frozen=True, slots=True)
class Techniques:
    """How matches are searched for; the defaults are the fastest known.

    Attributes
    ----------
    filter
        Rows that can play no role do not reach the engine ([S] 5.2.1).
    partition
        Equality chains divide the work ([S] 5.2.3).  Without it lazy engines evaluate these chains as
        conditions, but cannot run a query with ``[x]``, since they search one partition at a time.
    candidate_windows
        An event whose window lacks what a match needs starts no run ([S] 5.2.2).
    merging
        Runs that agree on all values still needed are merged ([N] 5.2.2).
    search
        ``"breadth_first"``: all runs read each event once ([N] 5.2).  ``"backtrack"``: one run after another
        reads the events again ([N] 5.2.3).
    robust
        How robust matches are found: by ``"backtracking"`` ([S] 6.3), or by ``"post_processing"`` of all
        matches.
    order
        The order in which a lazy chain binds the variables; None: rare ones first ([L] 4).
    absence
        When a lazy engine checks absences: ``"first_chance"``, as soon as all they depend on is bound
        ([L] 4.4.2), or ``"post_processing"`` of whole matches ([L] 4.4.1); None: as early as is exact.
    tree
        The shape of a join tree as nested pairs of variables, ``(("a", "b"), "c")``; None: the cheapest
        ([T] 3.5).
    propagation
        ``"pull"``: a join tree does nothing until an event comes that can end a match ([T] 4.1).
        ``"push"``: it joins every event at once.
    pass_down
        Whether a join tree passes conditions with the triggering event down ([T] 4.4); None: if that event is
        rare enough (appendix A).
    thresholds
        When a join tree is replanned ([T] 3.5.5): after a relative change of p in a condition, or i in an
        input, if the new tree saves the share t of the cost (below zero: always); None: never.
    chunk
        The number of rows after which a join tree looks at its statistics; None: a few windows, if these were
        much work.
    """

    filter: bool = True
    partition: bool = True
    candidate_windows: bool = True
    merging: bool = True
    search: str = "breadth_first"
    robust: str = "backtracking"
    order: tuple[str, ...] | None = None
    absence: str | None = None
    tree: Any = None
    propagation: str = "pull"
    pass_down: bool | None = None
    thresholds: tuple[float, float, float] | None = (0.5, 0.5, 0.3)
    chunk: int | None = None

    def __post_init__(self) -> None:
        for spec in fields(self):
            value = getattr(self, spec.name)
            if spec.name in _APART:
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

        self._check_order(self.order)
        self._check_thresholds(self.thresholds)
        if self.chunk is not None and (not _is_number(self.chunk, int) or self.chunk < 1):
            raise OptionError(
                f"technique 'chunk' must be a number of rows, 1 or more, found {self.chunk!r}",
                remedy="Leave it out: then statistics are looked at every few windows.",
            )
        if self.tree is not None and not _is_tree(self.tree):
            raise OptionError(
                f"technique 'tree' must be nested pairs of names of variables, found {self.tree!r}",
                remedy="Write tree=(('a', 'b'), 'c'), or leave it out: then the cheapest is searched for.",
            )

    def _check_thresholds(self, thresholds: object) -> None:
        if thresholds is None:
            return
        three = isinstance(thresholds, (list, tuple)) and len(thresholds) == 3
        if not three or not all(_is_number(each, (int, float)) for each in thresholds):  # type: ignore[attr-defined]
            raise OptionError(
                f"technique 'thresholds' must be three numbers (p, i, t) or None, found {thresholds!r}",
                remedy="Write thresholds=(0.5, 0.5, 0.3): changes of conditions and inputs, and the saving.",
            )
        object.__setattr__(self, "thresholds", tuple(thresholds))  # type: ignore[arg-type]

    def _check_order(self, order: object) -> None:
        if order is None:
            return
        if isinstance(order, str) or not isinstance(order, (list, tuple)):
            raise OptionError(
                f"technique 'order' must be a tuple of names of variables, found {order!r}",
                remedy="Write order=('a', 'b'), or leave it out: then rare variables come first.",
            )
        object.__setattr__(self, "order", tuple(order))


def _is_number(value: object, kind: type | tuple[type, ...]) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def _is_tree(tree: object) -> bool:
    if isinstance(tree, str):
        return True
    return isinstance(tree, tuple) and len(tree) == 2 and all(map(_is_tree, tree))
