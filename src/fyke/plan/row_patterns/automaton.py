"""A program run ahead of any row: an automaton whose moves are in order of preference.

A *state* is an instruction that takes a row, with the registers a way has there.  What a way can do
behind its row is a list of moves, most preferred first: to states, or :data:`END`, where the rows taken
are a match. Two ways to one state in one list are one, since whatever follows follows both: that is what
keeps the lists short, whatever the nesting.  So is what decides an anchor, since only the first row
follows the begin of a partition and only the last precedes its end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from math import factorial
from typing import Any, NoReturn

from fyke.errors import QueryTooLargeError
from fyke.plan.row_patterns.program import (
    Accept,
    AtAnchor,
    Either,
    Enter,
    Instruction,
    Loop,
    Permute,
    Program,
    Repeat,
    TakeRow,
)

END = -1
MOST_STATES = 1 << 14  # their numbers fit 16 bits
MOST_MOVES = 1 << 18

Registers = tuple[Any, ...]
Point = tuple[int, Registers]


@dataclass(frozen=True, slots=True)
class Automaton:
    """The states of a pattern, by number: their labels, whether their rows are excluded, and their moves.

    ``first`` are the moves from the first row of a partition on, ``start`` those from any other row.
    ``moves[s]`` are those behind a row of state ``s`` that is not the last of its partition; ``ends[s]`` says
    whether a match can end with it if it is.
    """

    labels: tuple[int, ...]
    excluded: tuple[bool, ...]
    first: tuple[int, ...]
    start: tuple[int, ...]
    moves: tuple[tuple[int, ...], ...]
    ends: tuple[bool, ...]

    @property
    def longest(self) -> int | None:
        """The most rows a match can have; None: any number."""
        depth: dict[int, int] = {}
        for state in _bottom_up(self):
            if state is None:
                return None
            depth[state] = 1 + max((depth[to] for to in self.moves[state] if to != END), default=0)
        return max((depth[to] for to in (*self.first, *self.start) if to != END), default=0)


def make_automaton(program: Program, text: str | None = None, *, every: bool = False) -> Automaton:
    """Return the automaton of a program; ``every``: with the moves behind an end, for all matches.

    Raises
    ------
    QueryTooLargeError
        If bounds or a PERMUTE multiply to more states than can be told apart.
    """
    return _Expansion(program, text, every).automaton()


class _Expansion:
    def __init__(self, program: Program, text: str | None, every: bool) -> None:
        self._program, self._text, self._every = program, text, every
        self._numbers: dict[Point, int] = {}
        self._points: list[Point] = []
        self._moves = 0

    def automaton(self) -> Automaton:
        if any(_multiplies(each) > MOST_STATES for each in self._program.instructions):
            self._refuse()
        begin: Registers = (0,) * self._program.registers
        first = self._moves_from((0, begin), at_begin=True)
        start = self._moves_from((0, begin))
        moves: list[tuple[int, ...]] = []
        ends: list[bool] = []
        while len(moves) < len(self._points):
            at, registers = self._points[len(moves)]
            values = list(registers)
            for guard in self._program.guards:
                values[guard] = 0
            behind = (at + 1, tuple(values))
            moves.append(self._moves_from(behind))
            ends.append(any(True for to in self._reached(behind, False, True) if to is None))
        taken = [self._program.instructions[at] for at, _ in self._points]
        assert all(isinstance(each, TakeRow) for each in taken)
        return Automaton(
            tuple(each.label for each in taken if isinstance(each, TakeRow)),
            tuple(each.excluded for each in taken if isinstance(each, TakeRow)),
            first, start, tuple(moves), tuple(ends),
        )  # fmt: skip

    def _moves_from(self, point: Point, *, at_begin: bool = False) -> tuple[int, ...]:
        """Return the moves from a point before some row."""
        found = []
        for to in self._reached(point, at_begin, False):
            found.append(END if to is None else self._number(to))
            if to is None and not self._every:
                break  # nothing is preferred to what follows an end but the end itself
        self._moves += len(found)
        if self._moves > MOST_MOVES:
            self._refuse()
        return tuple(found)

    def _number(self, point: Point) -> int:
        if point not in self._numbers:
            if len(self._points) == MOST_STATES:
                self._refuse()
            self._numbers[point] = len(self._points)
            self._points.append(point)
        return self._numbers[point]

    def _reached(self, point: Point, at_begin: bool, at_end: bool) -> Iterator[Point | None]:
        """Yield where ways from a point take their next row, None where one ends, preferred ones first."""
        seen: set[Point] = set()
        waiting = [point]
        while waiting:
            here = waiting.pop()
            if here in seen:
                continue
            seen.add(here)
            at, registers = here
            instruction = self._program.instructions[at]
            if isinstance(instruction, TakeRow):
                if not at_end:
                    yield here
            elif isinstance(instruction, Accept):
                yield None
            elif isinstance(instruction, AtAnchor):
                if at_begin if instruction.start else at_end:
                    waiting.append((at + 1, registers))
            else:
                waiting += reversed(_ways(instruction, registers))

    def _refuse(self) -> NoReturn:
        """Raise for the loop or the PERMUTE that multiplies most."""
        worst = max(self._program.instructions, key=_multiplies)
        assert isinstance(worst, (Enter, Permute))
        place = worst.place if isinstance(worst, Permute) else worst.loop.place
        what = (
            "a PERMUTE of that many parts"
            if isinstance(worst, Permute)
            else "a quantifier that counts that far"
        )
        raise QueryTooLargeError(
            f"the pattern has too many states to tell apart, by {what}; {MOST_STATES:,} are allowed",
            place=place,
            text=self._text,
            remedy="Give a smaller bound, or none: A+ costs less than A{1,100000}. PERMUTE takes up to 11 "
            "parts of a fixed number of rows, and up to 6 others.",
        )


def _multiplies(instruction: Instruction) -> int:
    """Return by how many values of its register an instruction multiplies the states inside it."""
    if isinstance(instruction, Enter):
        loop = instruction.loop
        return loop.minimum if loop.maximum is None else loop.maximum
    if isinstance(instruction, Permute):
        parts = len(instruction.bodies)
        return factorial(parts) if instruction.ordered else parts << (parts - 1)
    return 1


def _ways(instruction: Either | Enter | Repeat | Permute, registers: Registers) -> list[Point]:
    """Return the points behind an instruction, preferred ones first."""
    if isinstance(instruction, Either):
        return [(target, registers) for target in instruction.targets]
    if isinstance(instruction, Permute):
        return _parts(instruction, registers)
    loop = instruction.loop
    if isinstance(instruction, Enter):
        if loop.minimum > 0:
            needed = loop.minimum - 1 if loop.maximum is None else 0
            return [_again(loop, registers, needed, 0)]
        return _choice(loop, registers, 0)
    if loop.guard >= 0 and registers[loop.guard]:
        return [_leave(loop, registers)]
    count = registers[loop.counter] if loop.counter >= 0 else 0
    if loop.maximum is None:
        return [_again(loop, registers, count - 1, 0)] if count else _choice(loop, registers, 0)
    done = count + 1
    if done < loop.minimum:
        return [_again(loop, registers, done, 0)]
    return _choice(loop, registers, done) if done < loop.maximum else [_leave(loop, registers)]


def _choice(loop: Loop, registers: Registers, count: int) -> list[Point]:
    ways = [_again(loop, registers, count, 1), _leave(loop, registers)]
    return ways if loop.greedy else ways[::-1]


def _again(loop: Loop, registers: Registers, count: int, guard: int) -> Point:
    return loop.body, _set(registers, {loop.counter: count, loop.guard: guard})


def _leave(loop: Loop, registers: Registers) -> Point:
    return loop.exit, _set(registers, {loop.counter: 0, loop.guard: 0})


def _parts(permute: Permute, registers: Registers) -> list[Point]:
    """Return the parts of a PERMUTE that may come next; its register is 0 outside, then the parts left."""
    left = registers[permute.register]
    if left == ():
        return [(permute.exit, _set(registers, {permute.register: 0}))]
    orders: list[tuple[int, tuple[int, ...]]]
    if not permute.ordered:
        parts = tuple(range(len(permute.bodies))) if left == 0 else left
        orders = [(part, tuple(each for each in parts if each != part)) for part in parts]
    elif left == 0:
        orders = [(order[0], order[1:]) for order in permutations(range(len(permute.bodies)))]
    else:
        orders = [(left[0], left[1:])]
    return [(permute.bodies[part], _set(registers, {permute.register: rest})) for part, rest in orders]


def _set(registers: Registers, values: dict[int, Any]) -> Registers:
    changed = list(registers)
    for register, value in values.items():
        if register >= 0:
            changed[register] = value
    return tuple(changed)


def _bottom_up(automaton: Automaton) -> Iterator[int | None]:
    """Yield the states, each behind those it moves to; None if there is a cycle."""
    done: set[int] = set()
    open_states: set[int] = set()
    stack = [(state, False) for state in (*automaton.first, *automaton.start) if state != END]
    while stack:
        state, left = stack.pop()
        if left:
            open_states.discard(state)
            done.add(state)
            yield state
        elif state in open_states:
            yield None
        elif state not in done:
            open_states.add(state)
            stack.append((state, True))
            stack += [(to, False) for to in automaton.moves[state] if to != END]
