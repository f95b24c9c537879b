"""A row pattern to a program: instructions that say in which order its ways are tried.

A quantifier is a counter and a PERMUTE a set of the parts that are left, whatever their bounds; nothing
is unrolled.  A program is run by :mod:`fyke.plan.row_patterns.automaton`.

Registers hold what a way has come to.  A *counter* is the number of repetitions behind the current one,
or, where there is no upper bound, the number that must still follow it: so ``A+`` is in one state
however long it gets. A *guard* is 1 from the begin of a repetition that need not be made until a row is
taken: if none is, the loop is left.  An *order* is the parts of a PERMUTE that are left: as a set, taken
in the order of the list, if each part can be matched in one way; otherwise as a sequence that is chosen
before the first part, since all ways of one permutation come before those of the next.
"""

from __future__ import annotations

from dataclasses import dataclass

from fyke.errors import Place
from fyke.language.row_patterns import (
    Alternation,
    Anchor,
    Concatenation,
    Empty,
    Excluded,
    Permutation,
    Quantified,
    RowPattern,
    Variable,
)


@dataclass(frozen=True, slots=True)
class TakeRow:
    """Take the next row with label number ``label``; in the output unless ``excluded``."""

    label: int
    excluded: bool
    place: Place | None


@dataclass(frozen=True, slots=True)
class Either:
    """Go on at the first of ``targets``; if that leads to no match, at the next."""

    targets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class AtAnchor:
    """Go on only before the first row of the partition (``start``), or behind its last."""

    start: bool


@dataclass(frozen=True, slots=True)
class Enter:
    """Begin a loop: with its first repetition, or by leaving it, as its bounds and its greed say."""

    loop: Loop


@dataclass(frozen=True, slots=True)
class Repeat:
    """End a repetition of a loop: begin the next, or leave."""

    loop: Loop


@dataclass(frozen=True, slots=True)
class Loop:
    """A quantified part: its ``body`` and ``exit``, its bounds, its registers (-1: it needs none)."""

    body: int
    exit: int
    minimum: int
    maximum: int | None
    greedy: bool
    counter: int
    guard: int
    place: Place | None


@dataclass(frozen=True, slots=True)
class Permute:
    """Begin the next part of a PERMUTE, or leave it if none is left; ``ordered``: choose an order first."""

    bodies: tuple[int, ...]
    exit: int
    register: int
    ordered: bool
    place: Place | None


@dataclass(frozen=True, slots=True)
class Accept:
    """The rows taken so far are a match."""


Instruction = TakeRow | Either | AtAnchor | Enter | Repeat | Permute | Accept


@dataclass(frozen=True, slots=True)
class Program:
    """Instructions, from the first to :class:`Accept`; what no instruction says goes on with the next one.

    ``guards`` are the registers that every row sets to 0.
    """

    instructions: tuple[Instruction, ...]
    registers: int
    guards: tuple[int, ...]


def compile_pattern(pattern: RowPattern, labels: tuple[str, ...]) -> Program:
    """Return the program of a pattern; ``labels`` numbers its variables."""
    return _Compiler({name: number for number, name in enumerate(labels)}).program(pattern)


class _Compiler:
    def __init__(self, labels: dict[str, int]) -> None:
        self._labels = labels
        self._code: list[Instruction] = []
        self._registers = 0
        self._guards: list[int] = []
        self._excluded = 0

    def program(self, pattern: RowPattern) -> Program:
        self._compile(pattern)
        self._code.append(Accept())
        return Program(tuple(self._code), self._registers, tuple(self._guards))

    def _compile(self, node: RowPattern) -> None:
        if isinstance(node, Variable):
            self._code.append(TakeRow(self._labels[node.name], self._excluded > 0, node.place))
        elif isinstance(node, Anchor):
            self._code.append(AtAnchor(node.start))
        elif isinstance(node, Concatenation):
            for part in node.parts:
                self._compile(part)
        elif isinstance(node, Excluded):
            self._excluded += 1
            self._compile(node.part)
            self._excluded -= 1
        elif isinstance(node, Alternation):
            self._alternation(node)
        elif isinstance(node, Quantified):
            self._loop(node)
        elif isinstance(node, Permutation):
            self._permutation(node)

    def _reserve(self) -> int:
        """Leave the place of an instruction that is known later, and return it."""
        self._code.append(Accept())
        return len(self._code) - 1

    def _alternation(self, node: Alternation) -> None:
        split = self._reserve()
        targets, ends = [], []
        for part in node.parts:
            targets.append(len(self._code))
            self._compile(part)
            ends.append(self._reserve())
        self._code[split] = Either(tuple(targets))
        for end in ends:
            self._code[end] = Either((len(self._code),))

    def _loop(self, node: Quantified) -> None:
        counted = node.minimum > 1 if node.maximum is None else node.maximum > 1
        counter = self._register() if counted else -1
        guard = -1
        if _takes_no_row(node.part) and (node.maximum is None or node.maximum > node.minimum):
            guard = self._register()
            self._guards.append(guard)
        enter = self._reserve()
        self._compile(node.part)
        end = self._reserve()
        loop = Loop(
            enter + 1, end + 1, node.minimum, node.maximum, node.greedy, counter, guard, node.place
        )  # fmt: skip
        self._code[enter], self._code[end] = Enter(loop), Repeat(loop)

    def _permutation(self, node: Permutation) -> None:
        register = self._register()
        begin = self._reserve()
        bodies, ends = [], []
        for part in node.parts:
            bodies.append(len(self._code))
            self._compile(part)
            ends.append(self._reserve())
        next_part = self._reserve()
        # With two parts the order is known when the first has been chosen.
        ordered = len(node.parts) > 2 and not all(map(_has_one_way, node.parts))
        self._code[next_part] = Permute(tuple(bodies), next_part + 1, register, ordered, node.place)
        for end in (begin, *ends):
            self._code[end] = Either((next_part,))

    def _register(self) -> int:
        self._registers += 1
        return self._registers - 1


def _takes_no_row(node: RowPattern) -> bool:
    """Say whether a pattern can be matched without a row."""
    if isinstance(node, (Concatenation, Permutation)):
        return all(map(_takes_no_row, node.parts))
    if isinstance(node, Alternation):
        return any(map(_takes_no_row, node.parts))
    if isinstance(node, Quantified):
        return node.minimum == 0 or _takes_no_row(node.part)
    if isinstance(node, Excluded):
        return _takes_no_row(node.part)
    return isinstance(node, (Empty, Anchor))


def _has_one_way(node: RowPattern) -> bool:
    """Say whether a pattern can be matched in one way at most from a given row."""
    if isinstance(node, Concatenation):
        return all(map(_has_one_way, node.parts))
    if isinstance(node, Quantified):
        return node.minimum == node.maximum and _has_one_way(node.part)
    if isinstance(node, Excluded):
        return _has_one_way(node.part)
    return isinstance(node, (Variable, Empty, Anchor))
