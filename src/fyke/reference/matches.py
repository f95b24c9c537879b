"""The naive twin of every engine: it executes SEMANTICS literally and is the judge in every test.

:func:`matches` takes a normal form and the events.  ``skip_till_any_match`` and
``robust_skip_till_next_match`` come straight from the definition of a match (section 2), the other
strategies from the run of section 4 on immutable partial substitutions.  Speed is no aim: the cost
grows exponentially with group sizes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fyke.errors import InputError
from fyke.language.ast import Expression, Strategy, WindowKind
from fyke.logical.normal_form import Absence, Alternative, Condition, NormalForm, Variable
from fyke.reference.expression import NO_FUNCTIONS, Bindings, Cursors, Functions, Occurrence, evaluate
from fyke.reference.values import Value, compare

__all__ = ["Match", "Occurrence", "before", "evaluate", "matches", "non_overlap", "return_value"]

PartitionKey = tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Match:
    """A match: the first alternative that finds it, its bindings, and the time it covers."""

    alternative: int
    bindings: Bindings

    @property
    def events(self) -> tuple[Occurrence, ...]:
        """The bound events in processing order."""
        return tuple(sorted(_bound(self.bindings), key=lambda event: event.position))

    @property
    def start(self) -> int:
        """The least start of its events."""
        return min(event.start for event in self.events)

    @property
    def end(self) -> int:
        """The greatest end of its events."""
        return max(event.end for event in self.events)

    @property
    def positions(self) -> dict[str, tuple[int, ...]]:
        """The positions bound by each variable: what makes two matches the same."""
        return {name: tuple(event.position for event in events) for name, events in self.bindings.items()}


def matches(
    form: NormalForm,
    occurrences: Sequence[Occurrence],
    window: int | None,
    functions: Functions = NO_FUNCTIONS,
    *,
    touching: bool = False,
    complete_windows: bool = False,
) -> list[Match]:
    """Return the matches of ``form`` without repetition, ordered by what they bind event by event.

    ``window`` is in units of the events' times, or a number of events if ``form.window`` counts
    events; None means no window.  ``touching``: see :func:`before`.  With ``complete_windows`` a match
    with an absence that reaches past the data is none.
    """
    events = sorted(occurrences, key=lambda event: event.position)
    if len({event.position for event in events}) < len(events):
        raise InputError("two events share a position", remedy="Number the events in processing order.")
    found: dict[frozenset[tuple[str, tuple[int, ...]]], Match] = {}
    for number, alternative in enumerate(form.alternatives):
        law = _Law(form, alternative, window, functions, _partitions(form, events), touching)
        for bindings in _selected(law, events):
            match = Match(
                number, {variable.name: bindings[variable.name] for variable in alternative.variables}
            )
            if complete_windows and not _all_seen(law, match, events):
                continue
            if not any(_violated(law, absence, bindings) for absence in alternative.absences):
                found.setdefault(frozenset(match.positions.items()), match)
    return sorted(found.values(), key=lambda match: _path(match.bindings))


def non_overlap(form: NormalForm, matches: Iterable[Match], names: Sequence[str]) -> list[Match]:
    """Keep, per partition, the matches that start after the last kept one ended (SEMANTICS 4).

    They are taken :func:`in_order`; ``names`` are the variables as the pattern orders them.
    """
    last_end: dict[PartitionKey | None, int] = {}
    kept = []
    for match in in_order(matches, names):
        key = partition_key(form, match.events[0])
        if key not in last_end or match.start > last_end[key]:
            last_end[key] = match.end
            kept.append(match)
    return kept


def in_order(matches: Iterable[Match], names: Sequence[str]) -> list[Match]:
    """Return matches by end, start, more events first, then the positions variable by variable.

    A variable that is not bound comes before one that is.
    """

    def order(match: Match) -> tuple[int, int, int, list[tuple[int, ...]]]:
        positions = match.positions
        return match.end, match.start, -len(match.events), [positions.get(name, ()) for name in names]

    return sorted(matches, key=order)


def return_value(
    form: NormalForm, match: Match, expression: Expression, functions: Functions = NO_FUNCTIONS
) -> Value:
    """Return an item of RETURN for one match; a group without an index gives a list."""
    singles = _single_cursors(form.alternatives[match.alternative])
    return evaluate(expression, match.bindings, singles, functions)


# --- order, time and partitions (SEMANTICS 1) -------------------------------------------


def before(x: Occurrence, y: Occurrence, *, touching: bool = False) -> bool:
    """Say whether x ends before y starts, or a tie-breaker orders two simultaneous point events.

    With ``touching`` also whether x ends when y starts, unless both are points of that time.
    """
    if x.end < y.start or (touching and x.end == y.start and not _simultaneous(x, y)):
        return True
    return _simultaneous(x, y) and x.tie is not None and y.tie is not None and compare(x.tie, y.tie) < 0


def _simultaneous(x: Occurrence, y: Occurrence) -> bool:
    """Say whether both are point events of the same time."""
    return x.start == x.end == y.start == y.end


def partition_key(form: NormalForm, event: Occurrence) -> PartitionKey | None:
    """Return the values of the partition attributes; None if one is null, for it agrees with nothing."""
    values = [event.values.get(name) for name in form.partition]
    if any(value is None for value in values):
        return None
    # NaN agrees with NaN, which Python's equality denies.
    return tuple("NaN" if isinstance(value, float) and value != value else (value,) for value in values)


def _partitions(form: NormalForm, events: Sequence[Occurrence]) -> dict[PartitionKey, list[Occurrence]]:
    """Divide the events; those with a null partition attribute are in no match and no absence."""
    divided: dict[PartitionKey, list[Occurrence]] = {}
    for event in events:
        key = partition_key(form, event)
        if key is not None:
            divided.setdefault(key, []).append(event)
    return divided


def _bound(bindings: Bindings) -> list[Occurrence]:
    return list(itertools.chain.from_iterable(bindings.values()))


# --- what a substitution must obey (SEMANTICS 2) ----------------------------------------


@dataclass(frozen=True, slots=True)
class _Law:
    """All that one alternative asks of the events bound by a substitution, partial or complete."""

    form: NormalForm
    alternative: Alternative
    window: int | None
    functions: Functions
    partitions: Mapping[PartitionKey, list[Occurrence]]
    touching: bool = False

    def coherent(self, bindings: Bindings) -> bool:
        """Say whether distinctness, groups, partition, order and window hold for what is bound.

        If they hold for a substitution they hold for every part of it.
        """
        events = _bound(bindings)
        return (
            len({event.position for event in events}) == len(events)
            and all(self.is_group(elements) for elements in bindings.values())
            and self.in_one_partition(events)
            and all(
                before(x, y, touching=self.touching)
                for u, v in self.alternative.order
                for x in bindings.get(u, ())
                for y in bindings.get(v, ())
            )
            and self.within_window(events)
        )

    def is_group(self, elements: tuple[Occurrence, ...]) -> bool:
        """Say whether elements are in processing order, each before the next or simultaneous with it."""
        return all(
            x.position < y.position and (before(x, y, touching=self.touching) or _simultaneous(x, y))
            for x, y in itertools.pairwise(elements)
        )

    def in_one_partition(self, events: Sequence[Occurrence]) -> bool:
        """Say whether the events agree on every partition attribute, none of them null."""
        keys = {partition_key(self.form, event) for event in events}
        return len(keys) == 1 and None not in keys

    def within_window(self, events: Sequence[Occurrence]) -> bool:
        """Say whether the events fit the window, in time or in number of events of their partition."""
        if self.window is None:
            return True
        if self.form.window is None or self.form.window.kind is not WindowKind.EVENTS:
            return max(event.end for event in events) - min(event.start for event in events) <= self.window
        bound = [event.position for event in events]
        counted = [event.position for event in self.beside(events[0])]
        return sum(min(bound) <= position <= max(bound) for position in counted) <= self.window

    def beside(self, event: Occurrence) -> list[Occurrence]:
        """Return all events of the partition of ``event``."""
        key = partition_key(self.form, event)
        return self.partitions[key] if key is not None else []

    def holds(self, condition: Condition, bindings: Bindings) -> bool:
        """Say whether a condition is true for every choice of elements of the groups it ranges over."""
        groups = sorted(condition.each)
        ranges = [range(name in condition.lagged, len(bindings[name])) for name in groups]
        singles = _single_cursors(self.alternative)
        for chosen in itertools.product(*ranges):
            cursors = {**singles, **dict(zip(groups, chosen, strict=True))}
            if evaluate(condition.expression, bindings, cursors, self.functions) is not True:
                return False
        return True


def _single_cursors(part: Alternative | Absence) -> Cursors:
    """Return the cursor 0 for every single variable, those of absences included."""
    cursors = {variable.name: 0 for variable in part.variables if not variable.group}
    for absence in part.absences:
        cursors.update(_single_cursors(absence))
    return cursors


def _admits(variable: Variable, event: Occurrence) -> bool:
    return variable.type is None or variable.type == event.type


# --- substitutions and absences (SEMANTICS 2) -------------------------------------------


def _substitutions(
    law: _Law,
    bound: Bindings,
    variables: Sequence[Variable],
    conditions: Sequence[Condition],
    events: Sequence[Occurrence],
) -> Iterator[Bindings]:
    """Yield every way to bind ``variables`` beside ``bound`` so that ``conditions`` and the law hold.

    A variable gets all its events at once, so a condition is checked on the final events of every
    variable it mentions, and the last variable's check is the check of the whole substitution.
    """
    if not variables:
        yield bound
        return
    for extended in _choices(law, bound, variables[0], events):
        decided = [condition for condition in conditions if condition.variables <= extended.keys()]
        if all(law.holds(condition, extended) for condition in decided):
            yield from _substitutions(law, extended, variables[1:], conditions, events)


def _choices(
    law: _Law, bound: Bindings, variable: Variable, events: Sequence[Occurrence]
) -> Iterator[Bindings]:
    """Yield ``bound`` with every list of events for ``variable`` that obeys its bounds and the law."""
    taken = bound.get(variable.name, ())
    if len(taken) >= variable.minimum:
        yield bound
    if len(taken) == variable.maximum:
        return
    for event in events:
        if _admits(variable, event) and (not taken or event.position > taken[-1].position):
            extended = {**bound, variable.name: (*taken, event)}
            if law.coherent(extended):
                yield from _choices(law, extended, variable, events)


def _violated(law: _Law, absence: Absence, bindings: Bindings) -> bool:
    """Say whether events could be added for an absence, with none of its own absences violated."""
    events = law.beside(_bound(bindings)[0])
    return any(
        not any(_violated(law, nested, added) for nested in absence.absences)
        for added in _substitutions(law, bindings, absence.variables, absence.conditions, events)
    )


def _all_seen(law: _Law, match: Match, events: Sequence[Occurrence]) -> bool:
    """Say whether the data reach as far as the absences of a match do.

    One that is not before anything that is present reaches as far as the window behind the start of
    the match, one that is behind nothing as far as the window before its end.
    """
    window, present = law.window, {variable.name for variable in law.alternative.variables}
    absent = _absent_names(law.alternative.absences)
    order = law.alternative.order
    ahead = any(not any((name, other) in order for other in present) for name in absent)
    back = any(not any((other, name) in order for other in present) for name in absent)
    if window is None or not absent:
        return True
    if law.form.window is not None and law.form.window.kind is WindowKind.EVENTS:
        numbers = [event.position for event in law.beside(match.events[0])]
        first, last = (numbers.index(match.events[k].position) for k in (0, -1))
        return (not ahead or first + window <= len(numbers)) and (not back or last + 1 >= window)
    begin, end = min(event.start for event in events), max(event.end for event in events)
    return (not ahead or match.start + window <= end) and (not back or match.end - window >= begin)


def _absent_names(absences: Sequence[Absence]) -> list[str]:
    names = [variable.name for absence in absences for variable in absence.variables]
    return names + [name for absence in absences for name in _absent_names(absence.absences)]


# --- the selection strategies (SEMANTICS 4) ---------------------------------------------


def _selected(law: _Law, events: Sequence[Occurrence]) -> Iterator[Bindings]:
    """Yield the matches of the positive part under the query's strategy; absences come after."""
    strategy = law.form.strategy
    if strategy.strict:
        yield from _run(law, events)  # rows of other partitions break it, so it reads them all
        return
    for partition in law.partitions.values():
        if strategy is Strategy.ANY:
            yield from _positive(law, partition)
        elif strategy is Strategy.ROBUST:
            yield from _robust(list(_positive(law, partition)))
        else:
            yield from _run(law, partition)


def _positive(law: _Law, events: Sequence[Occurrence]) -> Iterator[Bindings]:
    alternative = law.alternative
    for bindings in _substitutions(law, {}, alternative.variables, alternative.conditions, events):
        if bindings:
            yield bindings


def _robust(positive: Sequence[Bindings]) -> Iterator[Bindings]:
    """Drop a match if a prefix of it, taking an earlier event next, begins another match."""
    paths = [_path(bindings) for bindings in positive]
    prefixes: dict[tuple[tuple[int, str], ...], int] = {}  # to the earliest event that any match takes next
    for path in paths:
        for length in range(1, len(path)):
            taken, following = path[:length], path[length][0]
            prefixes[taken] = min(following, prefixes.get(taken, following))
    for bindings, path in zip(positive, paths, strict=True):
        if all(prefixes[path[:length]] == path[length][0] for length in range(1, len(path))):
            yield bindings


def _path(bindings: Bindings) -> tuple[tuple[int, str], ...]:
    """Return the bindings one by one in processing order: position and variable."""
    return tuple(sorted((event.position, name) for name, events in bindings.items() for event in events))


# --- the run ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Step:
    """A satisfied binding: the run after it, and whether it starts a variable that closes a group."""

    bindings: Bindings
    closes_group: bool


def _run(law: _Law, events: Sequence[Occurrence]) -> Iterator[Bindings]:
    """Read events in processing order and yield what the runs report.

    The empty run meets every event, so each one that can begins a run of its own.  A greedy run is
    reported when it ends: at an event that it can neither take nor pass over, or with the input.
    """
    strategy = law.form.strategy
    runs: list[Bindings] = []
    for event in events:
        going_on: list[Bindings] = []
        for run in [{}, *runs]:
            steps = list(_steps(law, run, event))
            going_on += [step.bindings for step in steps]
            if run and _passes_over(strategy, steps):
                going_on.append(run)
            elif strategy.greedy and run and not steps and _complete(law, run):
                yield run
            if not strategy.greedy:
                yield from (step.bindings for step in steps if _complete(law, step.bindings))
        runs = going_on
    if strategy.greedy:
        yield from (run for run in runs if _complete(law, run))


def _passes_over(strategy: Strategy, steps: Sequence[_Step]) -> bool:
    """Say whether a run also goes on without the event that offers these satisfied bindings."""
    if strategy is Strategy.NEXT:
        return all(step.closes_group for step in steps)
    return strategy is Strategy.GREEDY and not steps


def _steps(law: _Law, run: Bindings, event: Occurrence) -> Iterator[_Step]:
    """Yield the enabled bindings of ``event`` that are satisfied."""
    for variable in law.alternative.variables:
        if not (_admits(variable, event) and _enabled(law, run, variable)):
            continue
        after = {**run, variable.name: (*run.get(variable.name, ()), event)}
        if law.coherent(after) and all(
            law.holds(condition, after)
            for condition in law.alternative.conditions
            if _decidable(law, condition, after)
        ):
            yield _Step(after, _closes_group(law, run, variable))


def _enabled(law: _Law, run: Bindings, variable: Variable) -> bool:
    """Say whether the variable is an open group, or unbound with every predecessor bound far enough."""
    if variable.name in run:
        return not _closed(law, run, variable)
    return all(len(run.get(other.name, ())) >= other.minimum for other in _predecessors(law, variable))


def _closes_group(law: _Law, run: Bindings, variable: Variable) -> bool:
    """Say whether binding the variable starts it and closes a group that is open in ``run``."""
    return variable.name not in run and any(
        other.group and not _closed(law, run, other) for other in _predecessors(law, variable)
    )


def _predecessors(law: _Law, variable: Variable) -> list[Variable]:
    order = law.alternative.order
    return [other for other in law.alternative.variables if (other.name, variable.name) in order]


def _closed(law: _Law, run: Bindings, variable: Variable) -> bool:
    """Say whether a bound variable is full, or something ordered after it is bound."""
    return len(run[variable.name]) == variable.maximum or any(
        (variable.name, other) in law.alternative.order for other in run
    )


def _decidable(law: _Law, condition: Condition, run: Bindings) -> bool:
    """Say whether every variable of a condition is bound and every group it needs whole is closed.

    If it needs only some elements of a group, by number, these are enough.
    """
    enough = dict(condition.reached)
    return condition.variables <= run.keys() and all(
        _closed(law, run, variable) or len(run[variable.name]) >= enough.get(variable.name, math.inf)
        for variable in law.alternative.variables
        if variable.name in condition.whole
    )


def _complete(law: _Law, run: Bindings) -> bool:
    """Say whether a run is a match of the positive part if its open groups are closed now."""
    return all(
        len(run.get(variable.name, ())) >= variable.minimum for variable in law.alternative.variables
    ) and all(law.holds(condition, run) for condition in law.alternative.conditions)
