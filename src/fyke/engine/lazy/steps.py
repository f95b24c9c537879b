"""Alternatives to the steps of a lazy search: which variable is next, and what is decided when it is bound.

A chain binds the variables of an alternative in a given order ([L] 4); chains of several alternatives
that begin alike share their first steps ([L] 5).  A tree leaves the order open ([L] 7): its steps list
for every variable what could be decided, and the kernel checks what is bound.  Groups come last
([L] 4.5).  An absence between bound events is checked as soon as these events, and all that its conditions
mention, are bound ([L] 4.4.2): one event among its candidates, several by a search of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from fyke.engine.candidates.keys import KeyColumn
from fyke.engine.conditions.comparison import cheapest_first, comparison_of
from fyke.engine.conditions.program import Program, Settings
from fyke.engine.kernels import layout as L
from fyke.engine.kernels.lazy import layout as Z
from fyke.logical.normal_form import Absence, Alternative, Condition, Variable
from fyke.plan.early_absences import (
    absent_variables,
    depends_on,
    early_absences,
    may_be_one,
    nearest,
    takes_one_event,
)


@dataclass(frozen=True, slots=True)
class KeyComparison:
    """A comparison ``new operator old`` of the new event with a bound one, or with the element before."""

    new: KeyColumn
    other: int
    old: KeyColumn
    operator: int
    lagged: bool = False


@dataclass(frozen=True, slots=True)
class ConditionTest:
    """Another condition: its number, mode, and (in a tree) the bits that must be bound."""

    condition: int
    mode: int
    needs: int = 0


@dataclass(frozen=True, slots=True)
class AbsentEvent:
    """An absence of one event between bound ones."""

    variable: int
    role: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    comparisons: tuple[KeyComparison, ...]
    tests: tuple[ConditionTest, ...]
    needs: int = 0


@dataclass(frozen=True, slots=True)
class AbsentEvents:
    """An absence of several events between bound ones, as a row in the program of its alternative.

    ``numbers`` maps the variables of the merged program to those of that program.  Two absences are equal
    if they mean the same (``meaning``: the absence, its order, its roles), whichever program they are in.
    """

    arena: int = field(compare=False)
    absence: int = field(compare=False)
    numbers: tuple[int, ...] = field(compare=False)
    meaning: tuple[Absence, frozenset[tuple[str, str]], tuple[int, ...]]
    needs: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """How one variable is bound: numbers are those of the merged program."""

    variable: int
    role: int
    group: bool
    minimum: int
    maximum: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    same: bool
    comparisons: tuple[KeyComparison, ...]
    tests: tuple[ConditionTest, ...]
    close: tuple[ConditionTest, ...]
    absent: tuple[AbsentEvent, ...]
    absent_together: tuple[AbsentEvents, ...]
    bit: int = 0

    @property
    def coupled(self) -> bool:
        """Whether a condition couples neighbouring elements."""
        return any(each.lagged for each in self.comparisons) or any(
            t.mode & Z.MODE_LAGGED for t in self.tests
        )

    @property
    def plain(self) -> bool:
        """Whether comparisons decide alone."""
        return not (self.group or self.same or self.tests or self.absent or self.absent_together)


@dataclass(slots=True)
class StepNode:
    """A step in the tree of chains: the steps that may follow, the alternatives it completes."""

    step: Step
    children: list[StepNode] = field(default_factory=list)
    accepts: list[int] = field(default_factory=list)


class LazyCompiler:
    """The conditions of all alternatives as one program, and the steps that use them."""

    def __init__(
        self,
        alternatives: Sequence[Alternative],
        programs: Sequence[Program],
        settings: Settings,
        names: Sequence[str],
        first_chance: bool,
    ) -> None:
        self.alternatives, self.programs = alternatives, programs
        self.roles = roles = [program.roles for program in programs]
        self.early = [early_absences(each) if first_chance else () for each in alternatives]
        self.beside = [k for k in range(len(alternatives)) if self._early(k, one=False)]
        merged = self._merged(names)
        every = {name: bit for each in reversed(roles) for name, bit in each.items()}
        self.program = Program(merged, every, settings)
        self.numbers = {condition: number for number, condition in enumerate(merged.conditions)}

    def _early(self, number: int, *, one: bool) -> list[int]:
        """Return the early absences of an alternative that take one event, or several."""
        absences = self.alternatives[number].absences
        return [k for k in self.early[number] if takes_one_event(absences[k]) == one]

    def absent_events(self, number: int) -> list[Absence]:
        """Return the early absences of one event of an alternative."""
        return [self.alternatives[number].absences[k] for k in self._early(number, one=True)]

    def _merged(self, names: Sequence[str]) -> Alternative:
        """Return all variables, those of early absences of one event last, and all conditions, each once."""
        known = {v.name: v for each in reversed(self.alternatives) for v in each.variables}
        lacking = [each for number in range(len(self.alternatives)) for each in self.absent_events(number)]
        absent = {each.variables[0].name: each.variables[0] for each in lacking}
        conditions = dict.fromkeys(c for each in self.alternatives for c in each.conditions)
        conditions |= dict.fromkeys(c for each in lacking for c in each.conditions)
        variables = [known[name] for name in names] + [v for n, v in absent.items() if n not in known]
        return Alternative(tuple(variables), frozenset(), tuple(conditions))

    # --- steps ------------------------------------------------------------------------

    def chain(self, number: int, order: Sequence[str]) -> list[Step]:
        """Return the steps of an alternative in an order of its variables."""
        bound: list[str] = []
        steps = []
        for name in order:
            steps.append(self._step(number, name, bound, bits={}))
            bound.append(name)
        return steps

    def tree(self, number: int) -> list[Step]:
        """Return the steps of an alternative whose order is chosen while searching."""
        names = [variable.name for variable in self.alternatives[number].variables]
        bits = {name: 1 << k for k, name in enumerate(names)}
        return [self._step(number, name, [n for n in names if n != name], bits) for name in names]

    def _step(self, number: int, name: str, others: Sequence[str], bits: Mapping[str, int]) -> Step:
        """Return the step that binds ``name`` when ``others`` are bound, or (in a tree) may be."""
        alternative = self.alternatives[number]
        variables = {variable.name: variable for variable in alternative.variables}
        variable = variables[name]
        present = {name, *others}
        groups = {u for u in variables if variables[u].group}
        if not variable.group:
            present -= groups  # they come last
        compared: list[KeyComparison] = []
        tests: list[ConditionTest] = []
        close: list[ConditionTest] = []
        for condition in alternative.conditions:
            if name not in condition.variables or not condition.variables <= present:
                continue
            by_key = self._key_comparison(number, condition, variable, variables)
            if by_key is not None:
                compared.append(by_key)
                continue
            test = self._test(condition, name, variable, bits)
            (close if name in condition.whole else tests).append(test)
        order = alternative.order
        apart = [u for u in others if (u, name) not in order and (name, u) not in order]
        numbers = self.program.number
        return Step(
            numbers[name],
            self.roles[number][name],
            variable.group,
            variable.minimum,
            L.UNBOUNDED if variable.maximum is None else variable.maximum,
            tuple(numbers[u] for u in nearest([u for u in others if (u, name) in order], order, bits, 1)),
            tuple(numbers[u] for u in nearest([u for u in others if (name, u) in order], order, bits, 0)),
            any(may_be_one(variables[u], variable) for u in apart),
            tuple(sorted(compared, key=lambda each: cheapest_first(each.operator))),
            tuple(sorted(tests, key=lambda each: (each.mode & Z.MODE_EVERY, self._cost(each)))),
            tuple(sorted(close, key=self._cost)),
            self._absent(number, name, present, bits),
            self._absent_together(number, name, present, bits),
            bits.get(name, 0),
        )

    def _cost(self, test: ConditionTest) -> int:
        return len(self.program.code[test.condition])

    def _key_comparison(
        self, number: int, condition: Condition, variable: Variable, variables: Mapping[str, Variable]
    ) -> KeyComparison | None:
        """Return a condition as a comparison of keys, if it compares a new event with one bound event."""
        compared = comparison_of(self.program.code[self.numbers[condition]])
        if compared is None:
            return None
        own = self.program.number[variable.name]
        new = (own, L.SLOT_CURRENT)
        if (compared.left.variable, compared.left.slot) != new:
            compared = compared.flipped()
        if (compared.left.variable, compared.left.slot) != new:
            return None
        other, slot = compared.right.variable, compared.right.slot
        roles = self.roles[number]
        column = KeyColumn(roles[variable.name], compared.store, compared.left.column)
        if other == own:
            if slot != L.SLOT_PREVIOUS or not variable.group:
                return None
            old = replace(column, number=compared.right.column)
            return KeyComparison(column, own, old, compared.operator, lagged=True)
        name = self.program.everything[other].name
        if slot != L.SLOT_CURRENT or name not in variables or variables[name].group:
            return None
        old = KeyColumn(roles[name], compared.store, compared.right.column)
        return KeyComparison(column, other, old, compared.operator)

    def _test(
        self, condition: Condition, name: str, variable: Variable, bits: Mapping[str, int]
    ) -> ConditionTest:
        """Return how a condition is decided when ``name`` is the last of its variables to be bound."""
        mode = 0
        if condition.each and condition.each != {name}:
            mode |= Z.MODE_EVERY
        if name in condition.whole:
            mode = Z.MODE_EVERY if condition.each else 0
        elif variable.group and name not in condition.each:
            mode |= Z.MODE_FIRST
        elif name in condition.lagged and not mode:
            mode |= Z.MODE_LAGGED
        needs = sum(bits.get(each, 0) for each in condition.variables)
        return ConditionTest(self.numbers[condition], mode, needs)

    def _absent(
        self, number: int, name: str, present: set[str], bits: Mapping[str, int]
    ) -> tuple[AbsentEvent, ...]:
        """Return the early absences that are decided when ``name`` is bound."""
        alternative, found = self.alternatives[number], []
        variables = {variable.name: variable for variable in alternative.variables}
        for absence in self.absent_events(number):
            needed = depends_on(alternative, absence)
            if name not in needed or not needed <= present:
                continue
            variable = absence.variables[0]
            known = {**variables, variable.name: variable}
            compared, tests = [], []
            for condition in absence.conditions:
                by_key = self._key_comparison(number, condition, variable, known)
                if by_key is not None:
                    compared.append(by_key)
                else:
                    tests.append(ConditionTest(self.numbers[condition], 0))
            order, numbers = alternative.order, self.program.number
            before = [u for u in variables if (u, variable.name) in order]
            after = [u for u in variables if (variable.name, u) in order]
            found.append(
                AbsentEvent(
                    numbers[variable.name],
                    self.roles[number][variable.name],
                    tuple(numbers[u] for u in nearest(before, order, {}, 1)),
                    tuple(numbers[u] for u in nearest(after, order, {}, 0)),
                    tuple(compared),
                    tuple(tests),
                    sum(bits.get(each, 0) for each in needed),
                )
            )
        return tuple(found)

    def _absent_together(
        self, number: int, name: str, present: set[str], bits: Mapping[str, int]
    ) -> tuple[AbsentEvents, ...]:
        """Return the early absences of several events that are decided when ``name`` is bound."""
        alternative, program, found = self.alternatives[number], self.programs[number], []
        outer = [row for row, cells in enumerate(program.absence_rows) if cells[L.ABSENCE_PARENT] < 0]
        numbers = tuple(program.number.get(each.name, -1) for each in self.program.everything)
        for k in self._early(number, one=False):
            absence = alternative.absences[k]
            needed = depends_on(alternative, absence)
            if name not in needed or not needed <= present:
                continue
            names = [variable.name for variable in absent_variables(absence)]
            about = needed.union(names)
            order = frozenset(
                (u, v) for u, v in alternative.order if {u, v} <= about and not {u, v} <= needed
            )
            meaning = (absence, order, tuple(program.roles[each] for each in names))
            needs = sum(bits.get(each, 0) for each in needed)
            found.append(AbsentEvents(self.beside.index(number), outer[k], numbers, meaning, needs))
        return tuple(found)


def share(chains: Sequence[Sequence[Step]], *, groups: bool = True) -> list[StepNode]:
    """Return the chains of all alternatives as trees that share equal beginnings ([L] 5).

    Without ``groups`` no two alternatives share the step of a group.
    """
    roots: list[StepNode] = []
    for number, steps in enumerate(chains):
        siblings = roots
        for place, step in enumerate(steps):
            alike = (each for each in siblings if each.step == step and (groups or not step.group))
            node = next(alike, None)
            if node is None:
                node = StepNode(step)
                siblings.append(node)
            siblings = node.children
            if place == len(steps) - 1:
                node.accepts.append(number)
    return roots
