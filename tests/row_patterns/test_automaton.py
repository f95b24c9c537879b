"""The automaton of a row pattern: its ways, in order of preference, against the definitions executed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import permutations

import pytest

from fyke.errors import QueryTooLargeError
from fyke.language import row_patterns as rp
from fyke.language.row_pattern_text import parse
from fyke.plan.row_patterns.automaton import END, Automaton, make_automaton
from fyke.plan.row_patterns.program import compile_pattern

LABELS = ("A", "B", "C")
Behind = Callable[[str], Iterator[str]]


def automaton_of(pattern: str) -> Automaton:
    return make_automaton(compile_pattern(parsed(pattern), LABELS), pattern)


def parsed(pattern: str) -> rp.RowPattern:
    name = next(label for label in LABELS if label in pattern)
    return parse(f"MATCH_RECOGNIZE (PATTERN ({pattern}) DEFINE {name} AS x > 0)").pattern


def naive_ways(node: rp.RowPattern, rows: int) -> Iterator[str]:
    """Yield the labels of every way to match a pattern from the first of so many rows, in order."""

    def run(node: rp.RowPattern, taken: str, behind: Behind) -> Iterator[str]:
        if isinstance(node, rp.Variable):
            if len(taken) < rows:
                yield from behind(taken + node.name)
        elif isinstance(node, rp.Empty):
            yield from behind(taken)
        elif isinstance(node, rp.Anchor):
            if len(taken) == (0 if node.start else rows):
                yield from behind(taken)
        elif isinstance(node, rp.Concatenation):
            yield from sequence(node.parts, taken, behind)
        elif isinstance(node, rp.Alternation):
            for part in node.parts:
                yield from run(part, taken, behind)
        elif isinstance(node, rp.Permutation):
            for order in permutations(node.parts):
                yield from sequence(order, taken, behind)
        elif isinstance(node, rp.Excluded):
            yield from run(node.part, taken, behind)
        else:
            yield from repeat(node, 0, taken, behind)

    def sequence(parts: tuple[rp.RowPattern, ...], taken: str, behind: Behind) -> Iterator[str]:
        if not parts:
            return behind(taken)
        return run(parts[0], taken, lambda so_far: sequence(parts[1:], so_far, behind))

    def repeat(node: rp.Quantified, done: int, taken: str, behind: Behind) -> Iterator[str]:
        def again(so_far: str) -> Iterator[str]:
            if so_far == taken and done >= node.minimum:
                return behind(so_far)
            return repeat(node, done + 1, so_far, behind)

        if done < node.minimum:
            yield from run(node.part, taken, again)
            return
        more = node.maximum is None or done < node.maximum
        if not node.greedy:
            yield from behind(taken)
        if more:
            yield from run(node.part, taken, again)
        if node.greedy:
            yield from behind(taken)

    return run(node, "", lambda taken: iter((taken,)))


def ways(automaton: Automaton, rows: int) -> Iterator[str]:
    """Yield the labels of every way of an automaton that stops at its first end, preferred ones first."""

    def follow(moves: tuple[int, ...], taken: str) -> Iterator[str]:
        for to in moves:
            if to == END:
                yield taken
            elif len(taken) < rows:
                here = taken + LABELS[automaton.labels[to]]
                if len(here) < rows:
                    yield from follow(automaton.moves[to], here)
                elif automaton.ends[to]:
                    yield here

    return follow(automaton.first, "")


def chosen(found: Iterator[str], allowed: Callable[[str], bool]) -> str | None:
    return next((way for way in found if allowed(way)), None)


PATTERNS = """
A B; A+ B; (A+)+ B; (A|B)* C; A{3,5} B?; A{2,}? B; (A?)* B; (A*)*; (A? B?){2,3} C; (A|()){2} B; (() | A)+ B
^ A+ B; A+ $; ^ (A | B)* $; (^ A)? B; A (B | $); (A ^)* B; PERMUTE(A, B, C); PERMUTE(A+, B?)
PERMUTE(A+, B?, C); PERMUTE(A, B B, C?) A; (PERMUTE(A, B)){2}; {- A+ -} B; (A {- B -})+; (A{2}){2} B
((A{1,2}){1,2} B){1,2}
A*? B*? C; (A+?|B)+? C; (A?){2,}? B; ((A?)? B?)* C; (A{0,2} | B C?){2,4}
"""


@pytest.mark.parametrize(
    "pattern", [each.strip() for each in PATTERNS.replace("\n", ";").split(";") if each.strip()]
)
def test_ways_are_those_of_the_definition_in_their_order(pattern: str) -> None:
    """Whatever rows allow, the first way that they allow is the same."""
    automaton, node = automaton_of(pattern), parsed(pattern)
    found = 0
    for rows in range(1, 6):
        naive = list(naive_ways(node, rows))
        # What comes twice adds nothing the second time.
        expected = list(dict.fromkeys(naive))
        stopped = list(dict.fromkeys(ways(automaton, rows)))
        assert stopped == [way for way in expected if way in set(stopped)]
        for seed in range(20):
            draw = random.Random(f"{pattern} {rows} {seed}")
            allowed = [{label for label in LABELS if draw.random() < 0.6} for _ in range(rows)]

            def holds(way: str, allowed: list[set[str]] = allowed) -> bool:
                return all(label in here for label, here in zip(way, allowed, strict=False))

            first = chosen(iter(expected), holds)
            assert chosen(ways(automaton, rows), holds) == first
            found += first is not None
    assert found > 2


def test_a_loop_without_an_upper_bound_is_one_state() -> None:
    assert len(automaton_of("A+").labels) == 1
    assert len(automaton_of("(A+)+ B").labels) == 2
    assert len(automaton_of("A{3,}").labels) == 3


def test_counters_multiply_only_where_they_are_needed() -> None:
    assert len(automaton_of("A{1000}").labels) == 1000
    assert len(automaton_of("A{500} B{500}").labels) == 1000
    assert len(automaton_of("(A{3} B){4}").labels) == 16


def test_a_permutation_of_single_rows_has_a_state_for_each_set_and_next_row() -> None:
    parts = ", ".join("ABC"[k % 3] for k in range(10))
    assert len(automaton_of(f"PERMUTE({parts})").labels) == 10 * 2**9


@pytest.mark.parametrize(
    "pattern, longest",
    [("A B", 2), ("A{2,4} B?", 5), ("A | B C", 2), ("A+", None), ("() | A+", 0), ("PERMUTE(A, B, C) A?", 4)],
)
def test_longest_match(pattern: str, longest: int | None) -> None:
    assert automaton_of(pattern).longest == longest


@pytest.mark.parametrize(
    "pattern, culprit",
    [
        ("A{1,100000}", "a quantifier that counts that far"),
        ("((A{1,30} B){1,30} C){1,30}", "a quantifier that counts that far"),
        (f"PERMUTE({', '.join(['A'] * 16)})", "a PERMUTE of that many parts"),
        (f"PERMUTE({', '.join(['A+'] * 8)})", "a PERMUTE of that many parts"),
    ],
)
def test_what_explodes_is_refused_with_its_place(pattern: str, culprit: str) -> None:
    with pytest.raises(QueryTooLargeError, match=culprit) as caught:
        automaton_of(pattern)
    assert caught.value.line == 1
