"""A plan: everything an engine needs to know of a query, as plain data that travels to workers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from fyke.language.ast import Strategy, WindowKind
from fyke.limits import Limits
from fyke.plan.counting import Counting, plan_counting
from fyke.plan.pushdown import Pushed, physical
from fyke.plan.statistics import Statistics
from fyke.techniques import Techniques

ROLES = "__fyke_roles"
LAZY_ENGINES = ("lazy_chain", "lazy_tree")


@dataclass(frozen=True, slots=True)
class Plan:
    """A pushed-down query with the types of its derived columns and the options of the call.

    A *prepared* batch, which engines read, has the ``pushed.needed`` attributes, :data:`ROLES` (the
    roles a row can play, as bits) and the derived columns under their :func:`physical` names.
    ``counting`` says how aggregates over matches are computed without rows of matches, or why they are
    not.
    """

    pushed: Pushed
    types: Mapping[str, pa.DataType]
    output: str = "all"
    limits: Limits = field(default_factory=Limits)
    functions: Mapping[str, Callable[..., float]] = field(default_factory=dict)
    techniques: Techniques = field(default_factory=Techniques)
    engine: str = "automaton"
    statistics: Statistics | None = None
    order: tuple[str, ...] | None = None  # of a lazy chain, as planned; one that is given comes first
    counting: Counting | str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "counting", self._counting())

    def _counting(self) -> Counting | str:
        if self.engine not in LAZY_ENGINES:
            return f"the {self.engine} lists matches"
        first_chance = self.techniques.absence != "post_processing"
        return plan_counting(self.pushed, self.output, first_chance=first_chance)


def every_row_counts(pushed: Pushed) -> bool:
    """Say whether rows that can play no role must still reach the engine."""
    form = pushed.analysed.form
    contiguous = form.strategy in (Strategy.PARTITION, Strategy.STRICT)
    counted = form.window is not None and form.window.kind is WindowKind.EVENTS
    return contiguous or counted or not pushed.filters


def reads_apart(plan: Plan) -> bool:
    """Say whether the engine reads partition after partition, and not all of them together.

    Strict contiguity looks at the whole input.  Without the technique of partitions ([S] 5.2.3) other
    strategies do too, unless contiguity or WITHIN n EVENTS speaks of the partition itself.
    """
    form = plan.pushed.analysed.form
    if form.strategy is Strategy.STRICT:
        return False
    counted = form.window is not None and form.window.kind is WindowKind.EVENTS
    lazy = plan.engine in LAZY_ENGINES  # they search a partition at a time
    return plan.techniques.partition or counted or lazy or form.strategy is Strategy.PARTITION


def prepared_columns(pushed: Pushed) -> tuple[str, ...]:
    """Return the columns of a prepared batch, in order."""
    made = (physical(derived) for derived in pushed.made)
    return tuple(dict.fromkeys((*pushed.needed, ROLES, *made)))
