"""A plan: everything an engine must know about a query, as plain data that travels to workers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from fyke.language.ast import Strategy
from fyke.language.query import Query
from fyke.limits import Limits
from fyke.logical.analyse import Analysed
from fyke.logical.normal_form import Alternative, Condition
from fyke.logical.returns import Output
from fyke.logical.schema import EventSchema
from fyke.plan.counting import Counting, plan_counting
from fyke.plan.engines import DEFAULT_ENGINE, ENGINES
from fyke.plan.open_absences import open_sides
from fyke.plan.outputs import OUTPUTS, OutputFormat
from fyke.plan.pushdown import Derived, Role, physical, push_down
from fyke.plan.statistics import Statistics, Sums
from fyke.plan.window import Extent, measure_extent
from fyke.techniques import Techniques

ROLES = "__fyke_roles"

_DEFAULT_LIMITS = Limits()
_DEFAULT_TECHNIQUES = Techniques()

# Gives the types of derived columns; Arrow or Spark, whichever evaluates them, knows these.
DerivedTypes = Callable[[EventSchema, Sequence[Derived]], Mapping[str, pa.DataType]]


@dataclass(frozen=True, slots=True)
class Plan:
    """A query pushed down over the schema of its events, with the options of the call.

    A *prepared* batch, which engines read, has the :attr:`prepared_columns`: the ``needed`` attributes,
    :data:`ROLES` (the roles a row can play, as bits) and the derived columns under their
    :func:`~fyke.plan.pushdown.physical` names.

    Attributes
    ----------
    query
        The query as it was written, for messages and ``explain``.
    fingerprint
        A hash of its meaning.
    schema
        The attributes of the events, and how they are ordered.
    strategy, window
        Which events a match may skip, and how long it may be.
    partition
        The attributes of ``[x]``, which are columns of the result; matches overlap within a partition.
    split
        The attributes that divide the work: equality chains may add to ``partition``.
    names
        The variables that some alternative binds, in the order in which the pattern names them.
    stated
        The alternatives with all their conditions, as the query states them.
    alternatives
        The same with only the conditions on several events, over derived columns.
    roles, roles_of, starts_of
        The roles of rows; the role bit of each variable, by (alternative, name); and the role bit that the
        first event of a group must also have, if conditions single it out.
    derived, exported, types
        The columns computed from one row for conditions, those computed for the result, and their types.
    needed
        The attributes that rows of the result are made of.
    filters
        Whether rows that can play no role may be left out before the engine.
    texts
        The conditions between events as the user wrote them, by which statistics refer to them.
    result
        What RETURN asks for.
    output
        The name of the output format, see :mod:`fyke.plan.outputs`.
    functions, arities
        The user's functions by name, and how many numbers each takes.
    engine, order, statistics
        Which engine searches; the planned order of a lazy chain, unless ``techniques`` has one; what is known
        about the data.
    complete_windows, covered
        Whether matches are left out whose absences reach past the data; the first start and the last end of
        these, where they are known before anything is read.
    counting
        How aggregates over matches are computed without rows of matches, or why they are not.
    """

    query: Query
    fingerprint: str
    schema: EventSchema
    strategy: Strategy
    window: Extent
    partition: tuple[str, ...]
    split: tuple[str, ...]
    names: tuple[str, ...]
    stated: tuple[Alternative, ...]
    alternatives: tuple[Alternative, ...]
    roles: tuple[Role, ...]
    roles_of: Mapping[tuple[int, str], int]
    starts_of: Mapping[tuple[int, str], int]
    derived: tuple[Derived, ...]
    exported: tuple[Derived, ...]
    types: Mapping[str, pa.DataType]
    needed: tuple[str, ...]
    filters: bool
    texts: Mapping[Condition, str]
    result: Output
    arities: Mapping[str, int]
    output: str = "all"
    limits: Limits = _DEFAULT_LIMITS
    functions: Mapping[str, Callable[..., float]] = field(default_factory=dict)
    techniques: Techniques = _DEFAULT_TECHNIQUES
    engine: str = DEFAULT_ENGINE
    statistics: Statistics | None = None
    order: tuple[str, ...] | None = None
    complete_windows: bool = False
    covered: tuple[int, int] | None = None
    counting: Counting | str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "counting", self._counting())

    def _counting(self) -> Counting | str:
        if not self.stores:
            return f"the {self.engine} lists matches"
        first_chance = self.techniques.absence != "post_processing"
        return plan_counting(
            self.result,
            self.alternatives,
            self.schema,
            self.output,
            first_chance=first_chance,
            whole=self.looks_past_data,
        )

    @property
    def text(self) -> str | None:
        """The text of the query, for the places of errors; None if it was built in Python."""
        return self.query.text

    @property
    def format(self) -> OutputFormat:
        """What the output format does with the matches."""
        return OUTPUTS[self.output]

    @property
    def stores(self) -> bool:
        """Whether the engine stores events and searches them later, as the lazy ones do."""
        return ENGINES[self.engine].stores

    @property
    def made(self) -> tuple[Derived, ...]:
        """All derived columns: those of conditions, and those ``exported`` to the result."""
        return self.derived + self.exported

    @property
    def prepared_columns(self) -> tuple[str, ...]:
        """The columns of a prepared batch, in order."""
        return tuple(dict.fromkeys((*self.needed, ROLES, *map(physical, self.made))))

    @property
    def keys(self) -> tuple[str, ...]:
        """The attributes in which a null puts a row in no partition; strict contiguity sees one stream."""
        return () if self.strategy.strict else self.split

    @property
    def every_row_counts(self) -> bool:
        """Whether rows that can play no role must still reach the engine."""
        return self.strategy.contiguous or self.window.counts_events or not self.filters

    @property
    def reads_apart(self) -> bool:
        """Whether the engine reads one partition after another, and not all of them together.

        Strict contiguity looks at the whole input.  Without the technique of partitions ([S] 5.2.3) other
        strategies do too, unless contiguity or WITHIN n EVENTS refers to the partition itself; lazy engines
        always search one partition at a time.
        """
        if self.strategy.strict:
            return False
        within = self.window.counts_events or self.strategy.contiguous
        return self.techniques.partition or within or self.stores

    @property
    def looks_past_data(self) -> bool:
        """Whether some absence may reach past the data, and matches are left out where one does."""
        return self.complete_windows and any(any(open_sides(each)) for each in self.alternatives)

    def sums(self) -> Sums:
        """Return empty sums for the statistics of this plan's events."""
        return Sums([name for _, name in self.roles_of], list(self.texts.values()))


def make_plan(
    analysed: Analysed,
    derived_types: DerivedTypes,
    output: str = "all",
    limits: Limits = _DEFAULT_LIMITS,
    techniques: Techniques = _DEFAULT_TECHNIQUES,
    *,
    engine: str = DEFAULT_ENGINE,
) -> Plan:
    """Push an analysed query down and write all that engines need into one flat plan.

    Raises
    ------
    TooManyVariablesError, UnsupportedQueryError
    """
    pushed = push_down(analysed, output, techniques)
    form = analysed.form
    return Plan(
        query=analysed.query,
        fingerprint=form.fingerprint,
        schema=analysed.schema,
        strategy=form.strategy,
        window=measure_extent(form.window, analysed.window),
        partition=form.partition,
        split=pushed.split,
        names=form.names,
        stated=form.alternatives,
        alternatives=pushed.alternatives,
        roles=pushed.roles,
        roles_of=pushed.roles_of,
        starts_of=pushed.starts_of,
        derived=pushed.derived,
        exported=pushed.exported,
        types=derived_types(analysed.schema, pushed.made),
        needed=pushed.needed,
        filters=pushed.filters,
        texts=pushed.texts,
        result=pushed.output,
        arities=analysed.functions,
        output=output,
        limits=limits,
        techniques=techniques,
        engine=engine,
    )
