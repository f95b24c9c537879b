"""Query to normal form: alternatives, order, absences, where conditions go, partitions, fingerprints.

An alternative is shown as text: its variables, its order, its conditions, its absences, as in
``A a, C+ c[] | a<b a<c b<c | a.x = c[i].x | ~(B b)``; parts that are empty are left out.
"""

from __future__ import annotations

import pyarrow as pa
import pytest

from fyke.language.ast import Event, Strategy
from fyke.language.sase import parse
from fyke.language.unparse import unparse_expression, unparse_pattern
from fyke.logical.analyse import Analysed, analyse
from fyke.logical.normal_form import Absence, Alternative, Condition, Variable
from fyke.logical.schema import make_schema

SCHEMA = make_schema(
    {"t": pa.int64(), "kind": pa.string(), "x": pa.int64(), "y": pa.int64(), "z": pa.float64()},
    time="t",
    type_column="kind",
)


def analysed(text: str) -> Analysed:
    return analyse(parse(text), SCHEMA)


def shown(alternative: Alternative) -> str:
    order = " ".join(f"{u}<{v}" for u, v in sorted(alternative.order))
    parts = [_variables(alternative.variables), order, _conditions(alternative.conditions)]
    return " | ".join(part for part in (*parts, *map(_absence, alternative.absences)) if part)


def _variables(variables: tuple[Variable, ...]) -> str:
    return ", ".join(unparse_pattern(Event(v.type, v.name, v.minimum, v.maximum, v.group)) for v in variables)


def _conditions(conditions: tuple[Condition, ...]) -> str:
    return ", ".join(unparse_expression(condition.expression) for condition in conditions)


def _absence(absence: Absence) -> str:
    parts = [_variables(absence.variables), _conditions(absence.conditions), *map(_absence, absence.absences)]
    return f"~({' | '.join(part for part in parts if part)})"


# --- patterns to alternatives, order and absences -------------------------------------------

EXPANSIONS: list[tuple[str, list[str]]] = [
    ("A a", ["A a"]),
    ("ANY a", ["ANY a"]),
    ("SEQ(A a, B b, C c)", ["A a, B b, C c | a<b a<c b<c"]),
    ("AND(A a, B b)", ["A a, B b"]),
    ("{A a, B b}", ["A a, B b"]),
    ("SEQ({A a, B+ b[]}, C c)", ["A a, B+ b[], C c | a<c b<c"]),
    ("AND(SEQ(A a, B b), SEQ(C c, D d), E e)", ["A a, B b, C c, D d, E e | a<b c<d"]),
    ("SEQ(A a, AND(B b, SEQ(C c, D d)), E e)", ["A a, B b, C c, D d, E e | a<b a<c a<d a<e b<e c<d c<e d<e"]),
    # OR
    ("OR(A a, B b)", ["A a", "B b"]),
    ("OR(A a, B a)", ["A a", "B a"]),
    ("OR(A a, A a)", ["A a"]),
    ("OR(OR(A a, B b), C c)", ["A a", "B b", "C c"]),
    ("SEQ(A a, OR(B b, SEQ(C c, D d)))", ["A a, B b | a<b", "A a, C c, D d | a<c a<d c<d"]),
    (
        "SEQ(OR(A a, B b), OR(C c, D d))",
        ["A a, C c | a<c", "A a, D d | a<d", "B b, C c | b<c", "B b, D d | b<d"],
    ),
    # optional parts: without first, then with
    ("SEQ(A a, B? b, C c)", ["A a, C c | a<c", "A a, B b, C c | a<b a<c b<c"]),
    ("SEQ(A a, B* b[])", ["A a", "A a, B+ b[] | a<b"]),
    ("SEQ(A a, B{0,3} b[])", ["A a", "A a, B{1,3} b[] | a<b"]),
    ("SEQ(A? a, B? b)", ["B b", "A a", "A a, B b | a<b"]),
    ("A? a", ["A a"]),
    ("OR(A? a, B b)", ["A a", "B b"]),
    # bounds are kept
    ("SEQ(A{2} a[], B{2,} b[], C{2,4} c[])", ["A{2} a[], B{2,} b[], C{2,4} c[] | a<b a<c b<c"]),
    # absences
    ("SEQ(A a, ~B b, C c)", ["A a, C c | a<b a<c b<c | ~(B b)"]),
    ("SEQ(A a, NOT B+ b[], C c)", ["A a, C c | a<b a<c b<c | ~(B+ b[])"]),
    ("AND(A a, ~B b)", ["A a | ~(B b)"]),
    ("SEQ(A a, ~AND(B b, C c), D d)", ["A a, D d | a<b a<c a<d b<d c<d | ~(B b, C c)"]),
    ("SEQ(A a, ~SEQ(B b, C c), D d)", ["A a, D d | a<b a<c a<d b<c b<d c<d | ~(B b, C c)"]),
    ("SEQ(A a, ~B b, ~C c, D d)", ["A a, D d | a<b a<c a<d b<c b<d c<d | ~(B b) | ~(C c)"]),
    ("SEQ(A a, ~OR(B b, C c), D d)", ["A a, D d | a<b a<c a<d b<d c<d | ~(B b) | ~(C c)"]),
    (
        "SEQ(A a, ~OR(B b, SEQ(C c, D d)), E e)",
        ["A a, E e | a<b a<c a<d a<e b<e c<d c<e d<e | ~(B b) | ~(C c, D d)"],
    ),
    (
        "SEQ(A a, ~SEQ(B b, ~C c, D d), E e)",
        ["A a, E e | a<b a<c a<d a<e b<c b<d b<e c<d c<e d<e | ~(B b, D d | ~(C c))"],
    ),
    ("AND(A a, ~AND(B b, ~AND(C c, ~D d)))", ["A a | ~(B b | ~(C c | ~(D d)))"]),
    # an optional part inside an absence says nothing: without it the absence is violated already
    ("SEQ(A a, ~SEQ(B? b, C c), D d)", ["A a, D d | a<c a<d c<d | ~(C c)"]),
    ("SEQ(A a, ~OR(B b, SEQ(B b, C c)), D d)", ["A a, D d | a<b a<d b<d | ~(B b)"]),
    # an absence beside an optional part reaches to what is then its neighbour
    (
        "SEQ(A a, ~B b, C? c, D d)",
        ["A a, D d | a<b a<d b<d | ~(B b)", "A a, C c, D d | a<b a<c a<d b<c b<d c<d | ~(B b)"],
    ),
    ("SEQ(OR(A a, SEQ(B b, ~C c)), D d)", ["A a, D d | a<d", "B b, D d | b<c b<d c<d | ~(C c)"]),
]


@pytest.mark.parametrize("pattern, expected", EXPANSIONS)
def test_expansion(pattern: str, expected: list[str]) -> None:
    form = analysed(f"PATTERN {pattern} WITHIN 10").form
    assert [shown(alternative) for alternative in form.alternatives] == expected


# --- conditions find their place ------------------------------------------------------------

PLACEMENTS: list[tuple[str, str, list[str]]] = [
    ("SEQ(A a, B b)", "a.x > 1 AND a.x < b.x", ["A a, B b | a<b | a.x > 1, a.x < b.x"]),
    # about a variable that an alternative lacks: dropped there
    ("OR(A a, B b)", "a.x > 1 AND b.x > 2", ["A a | a.x > 1", "B b | b.x > 2"]),
    ("OR(A a, B b)", "a.x < b.x", ["A a", "B b"]),
    ("OR(A a, B a)", "a.x > 1", ["A a | a.x > 1", "B a | a.x > 1"]),
    (
        "SEQ(A a, B? b, C c)",
        "a.x < b.x AND b.x < c.x AND a.x < c.x AND b.y = 1",
        [
            "A a, C c | a<c | a.x < c.x",
            "A a, B b, C c | a<b a<c b<c | a.x < b.x, b.x < c.x, a.x < c.x, b.y = 1",
        ],
    ),
    (
        "SEQ(A a, B* b[])",
        "a.x < b.x AND b.len > 2",
        ["A a", "A a, B+ b[] | a<b | a.x < b[i].x, b.len > 2"],
    ),
    # about an absence: into it
    (
        "SEQ(A a, ~B b, C c)",
        "a.x < c.x AND b.x > 1 AND a.x < b.x AND a.x + b.x = c.x",
        ["A a, C c | a<b a<c b<c | a.x < c.x | ~(B b | b.x > 1, a.x < b.x, a.x + b.x = c.x)"],
    ),
    (
        "SEQ(A a, ~OR(B b, C c), D d)",
        "b.x = d.x AND c.x = a.x",
        ["A a, D d | a<b a<c a<d b<d c<d | ~(B b | b.x = d.x) | ~(C c | c.x = a.x)"],
    ),
    (
        "SEQ(A a, ~SEQ(B b, ~C c, D d), E e)",
        "b.x < d.x AND c.x = b.x AND c.y = a.y AND d.y = 1",
        [
            "A a, E e | a<b a<c a<d a<e b<c b<d b<e c<d c<e d<e"
            " | ~(B b, D d | b.x < d.x, d.y = 1 | ~(C c | c.x = b.x, c.y = a.y))"
        ],
    ),
    (
        "SEQ(OR(A a, SEQ(B b, ~C c)), D d)",
        "c.x = a.x AND c.y = b.y",
        ["A a, D d | a<d", "B b, D d | b<c b<d c<d | ~(C c | c.y = b.y)"],
    ),
    # [x] is no condition
    ("SEQ(A a, B b)", "[x] AND a.y < b.y", ["A a, B b | a<b | a.y < b.y"]),
]


@pytest.mark.parametrize("pattern, conditions, expected", PLACEMENTS)
def test_placement(pattern: str, conditions: str, expected: list[str]) -> None:
    form = analysed(f"PATTERN {pattern} WHERE {{ {conditions} }} WITHIN 10").form
    assert [shown(alternative) for alternative in form.alternatives] == expected


RANGES: list[tuple[str, str, str, str, str]] = [
    # condition, variables, each, lagged, whole; a and b are groups, c is single
    ("c.x > 1", "c", "", "", ""),
    ("a.x > 1", "a", "a", "", ""),
    ("a[i].x > c.x", "ac", "a", "", ""),
    ("a.x < b.x", "ab", "ab", "", ""),
    ("a[i-1].x < a[i].x", "a", "a", "a", ""),
    ("prev(a.x) < a.x", "a", "a", "a", ""),
    ("a[i-1].x < b.x", "ab", "ab", "a", ""),
    ("a[i].x > avg(a[..i-1].x)", "a", "a", "a", ""),
    ("sum(a[..i-1].x) < c.x", "ac", "a", "a", ""),
    ("a[1].x > 1", "a", "", "", ""),
    ("a[a.len].x > 1", "a", "", "", "a"),
    ("a[a.len-2].x > 1", "a", "", "", "a"),
    ("a[2].x < c.x", "ac", "", "", "a"),
    ("a[i].x < b[3].x", "ab", "a", "", "b"),
    ("a[1].x < a[a.len].x", "a", "", "", "a"),
    ("a.len > 2", "a", "", "", "a"),
    ("avg(a[].x) < 5", "a", "", "", "a"),
    ("avg(a[].x) < c.x", "ac", "", "", "a"),
    ("sum(a[].x) = sum(b[].x)", "ab", "", "", "ab"),
    ("a[i].x < avg(a[].x)", "a", "a", "", "a"),
    ("a[i-1].x < b.len", "ab", "a", "a", "b"),
    ("a[i-1].x < a[i].x OR a.len = 1", "a", "a", "a", "a"),
]


@pytest.mark.parametrize(
    "text, reached",
    [
        ("a[1].x > 1", {}),
        ("a[2].x < a[3].x", {"a": 3}),
        ("a[2].x < b[4].x", {"a": 2, "b": 4}),
        ("a[2].x < b[b.len-1].x", {"a": 2}),
        ("a[2].x < a[a.len].x", {}),
        ("a[2].x < a.len", {}),
    ],
)
def test_how_many_elements_are_enough(text: str, reached: dict[str, int]) -> None:
    form = analysed(f"PATTERN SEQ(A+ a[], B+ b[], C c) WHERE {{ {text} }}").form
    assert dict(form.alternatives[0].conditions[0].reached) == reached


@pytest.mark.parametrize("text, variables, each, lagged, whole", RANGES)
def test_what_a_condition_ranges_over(text: str, variables: str, each: str, lagged: str, whole: str) -> None:
    form = analysed(f"PATTERN SEQ(A+ a[], B+ b[], C c) WHERE {{ {text} }}").form
    (condition,) = form.alternatives[0].conditions
    assert condition.variables == frozenset(variables)
    assert condition.each == frozenset(each)
    assert condition.lagged == frozenset(lagged)
    assert condition.whole == frozenset(whole)


# --- partition attributes -------------------------------------------------------------------

ANY, NEXT, GREEDY = Strategy.ANY, Strategy.NEXT, Strategy.GREEDY
ROBUST = Strategy.ROBUST
CONTIGUOUS = tuple(strategy for strategy in Strategy if "contiguity" in strategy.value)
READING = (NEXT, GREEDY)
DEFINED = (ANY, ROBUST)
SKIPPING = (*READING, *DEFINED)
EVERY = tuple(Strategy)

PARTITIONS: list[tuple[str, str, tuple[Strategy, ...], tuple[str, ...]]] = [
    # pattern, conditions, strategies, partition attributes
    ("SEQ(A a, B b)", "[x]", EVERY, ("x",)),
    ("SEQ(A a, B b)", "[y, x] AND [y]", EVERY, ("y", "x")),
    ("SEQ(A a, ~B b, C c)", "[x]", EVERY, ("x",)),
    ("A a", "a.x = a.x", EVERY, ()),
    # chains
    ("SEQ(A a, B b)", "a.x = b.x", SKIPPING, ("x",)),
    ("SEQ(A a, B b)", "b.x = a.x AND a.y = b.y", SKIPPING, ("x", "y")),
    ("SEQ(A a, B b, C c)", "a.x = b.x AND b.x = c.x", SKIPPING, ("x",)),
    ("SEQ(A a, B b, C c)", "a.x = c.x AND a.x = b.x", SKIPPING, ("x",)),
    ("SEQ(A a, B b, C c)", "a.x = b.x AND b.y = c.y", EVERY, ()),
    ("SEQ(A a, B b, C c)", "a.x = b.x", EVERY, ()),
    ("SEQ(A a, B b)", "[y] AND a.x = b.x", SKIPPING, ("y", "x")),
    # what is no chain
    ("SEQ(A a, B b)", "a.x = b.y", EVERY, ()),
    ("SEQ(A a, B b)", "a.x <= b.x", EVERY, ()),
    ("SEQ(A a, B b)", "a.x = b.x + 0", EVERY, ()),
    ("SEQ(A a, B b)", "a.x = b.x OR a.y = 1", EVERY, ()),
    # contiguity and counted windows mean the events of [x] alone
    ("SEQ(A a, B b)", "a.x = b.x", CONTIGUOUS, ()),
    ("SEQ(A a, B b)", "[y] AND a.x = b.x", CONTIGUOUS, ("y",)),
    # a run must meet its chain on the way
    ("SEQ(A a, B b, C c)", "a.x = c.x AND b.x = c.x", DEFINED, ("x",)),
    ("SEQ(A a, B b, C c)", "a.x = c.x AND b.x = c.x", READING, ()),
    ("AND(A a, B b)", "a.x = b.x", SKIPPING, ("x",)),
    ("AND(A a, B b, C c)", "a.x = b.x AND b.x = c.x", DEFINED, ("x",)),
    ("AND(A a, B b, C c)", "a.x = b.x AND b.x = c.x", READING, ()),  # a and c may meet first
    ("AND(A a, B b, C c)", "a.x = b.x AND b.x = c.x AND a.x = c.x", SKIPPING, ("x",)),
    ("SEQ({A a, B b}, C c)", "a.x = c.x AND b.x = c.x", READING, ()),
    ("SEQ({A a, B b}, C c)", "a.x = b.x AND b.x = c.x", SKIPPING, ("x",)),
    # groups
    ("SEQ(A a, B+ b[])", "a.x = b.x", SKIPPING, ("x",)),
    ("SEQ(A a, B+ b[])", "a.x = b[i].x", SKIPPING, ("x",)),
    ("SEQ(A a, B+ b[])", "a.x = b[1].x", EVERY, ()),
    ("SEQ(A a, B+ b[])", "a.x = b[b.len].x", EVERY, ()),
    ("SEQ(A+ a[], B b)", "a.x = b.x", DEFINED, ("x",)),
    ("SEQ(A+ a[], B b)", "a.x = b.x", READING, ()),  # a could grow across partitions before b comes
    ("SEQ(A+ a[], B b)", "a.x = b.x AND a[i].x = a[i-1].x", SKIPPING, ("x",)),
    ("SEQ(A+ a[], B b)", "a.x = b.x AND prev(a.x) = a.x", SKIPPING, ("x",)),
    ("A+ a[]", "a[i].x = a[i-1].x", EVERY, ()),  # a group of one event, whose x may be null
    ("A{2,} a[]", "a[i].x = a[i-1].x", SKIPPING, ("x",)),
    # absences
    ("SEQ(A a, ~B b, C c)", "a.x = c.x", EVERY, ()),
    ("SEQ(A a, ~B b, C c)", "a.x = c.x AND b.x = a.x", SKIPPING, ("x",)),
    ("SEQ(A a, ~B b, C c)", "a.x = b.x AND b.x = c.x", EVERY, ()),  # says nothing of a and c
    ("SEQ(A a, ~SEQ(B b, C c), D d)", "a.x = d.x AND b.x = a.x AND c.x = b.x", SKIPPING, ("x",)),
    ("SEQ(A a, ~SEQ(B b, C c), D d)", "a.x = d.x AND b.x = a.x", EVERY, ()),
    ("SEQ(A a, ~OR(B b, C c), D d)", "a.x = d.x AND b.x = a.x AND c.x = a.x", SKIPPING, ("x",)),
    ("SEQ(A a, ~OR(B b, C c), D d)", "a.x = d.x AND b.x = a.x", EVERY, ()),
    (
        "SEQ(A a, ~SEQ(B b, ~C c, D d), E e)",
        "a.x = e.x AND b.x = a.x AND d.x = a.x AND c.x = b.x",
        SKIPPING,
        ("x",),
    ),
    ("SEQ(A a, ~SEQ(B b, ~C c, D d), E e)", "a.x = e.x AND b.x = a.x AND c.x = b.x AND d.x = c.x", EVERY, ()),
    # alternatives: in every one of them
    ("SEQ(A a, OR(B b, C c))", "a.x = b.x AND a.x = c.x", SKIPPING, ("x",)),
    ("SEQ(A a, OR(B b, C c))", "a.x = b.x AND a.y = c.y", EVERY, ()),
    ("SEQ(A a, B? b, C c)", "a.x = b.x AND b.x = c.x", EVERY, ()),
    ("SEQ(A a, B? b, C c)", "a.x = b.x AND a.x = c.x", SKIPPING, ("x",)),
    ("SEQ(A a, B? b)", "a.x = b.x", EVERY, ()),
]


@pytest.mark.parametrize("pattern, conditions, strategies, partition", PARTITIONS)
def test_partition(
    pattern: str, conditions: str, strategies: tuple[Strategy, ...], partition: tuple[str, ...]
) -> None:
    for strategy in strategies:
        form = analysed(f"PATTERN {pattern} WHERE {strategy.value} {{ {conditions} }} WITHIN 10").form
        assert form.split == partition, strategy


def test_a_window_of_events_counts_those_of_the_written_partition() -> None:
    assert analysed("PATTERN SEQ(A a, B b) WHERE { a.x = b.x } WITHIN 5 EVENTS").form.partition == ()
    assert analysed("PATTERN SEQ(A a, B b) WHERE { [x] } WITHIN 5 EVENTS").form.partition == ("x",)


def test_what_the_partition_guarantees_is_no_condition_any_more() -> None:
    form = analysed(
        "PATTERN SEQ(A a, ~B b, C+ c[])"
        " WHERE { [x] AND a.x = c.x AND b.x = a.x AND c[i].x = c[i-1].x AND a.y = c.y } WITHIN 10"
    ).form
    assert [shown(each) for each in form.alternatives] == [
        "A a, C+ c[] | a<b a<c b<c | a.y = c[i].y | ~(B b)"
    ]


# --- window and fingerprint -----------------------------------------------------------------


@pytest.mark.parametrize(
    "columns, options, window, units",
    [
        ({"t": pa.timestamp("us")}, {}, "1 minute", 60_000_000),
        ({"t": pa.timestamp("s")}, {}, "1500 ms", 1),
        ({"t": pa.date32()}, {}, "36 hours", 1),
        ({"t": pa.date32()}, {}, "1 hour", 0),
        ({"t": pa.int64()}, {}, "15", 15),
        ({"t": pa.int64()}, {"time_unit": "ms"}, "2 s", 2_000),
        ({"t": pa.int64()}, {}, "15 EVENTS", 15),
        ({"t": pa.timestamp("ns")}, {}, "15 EVENTS", 15),
    ],
)
def test_window_in_units_of_the_time_column(
    columns: dict[str, pa.DataType], options: dict[str, str], window: str, units: int
) -> None:
    schema = make_schema(columns, time="t", **options)  # type: ignore[arg-type]
    assert analyse(parse(f"PATTERN A a WITHIN {window}"), schema).window == units


BASE = "PATTERN SEQ(A a, B+ b[]) WHERE { a.x = 1 AND b[i].x > b[i-1].x AND b.y = a.y AND [z] } WITHIN 60"

SAME = [
    "pattern seq(A a, B + b [ ])\nwhere{a.x=1 AND b[i].x>b[i-1].x AND b.y=a.y AND [z]}\nwithin 60 -- so",
    "PATTERN SEQ(A a, B+ b[]) WHERE { [z] AND b.y = a.y AND b[i].x > b[i-1].x AND a.x = 1 } WITHIN 60",
    "PATTERN SEQ(A a, B+ b[]) WHERE { a.x = 1, b.x > prev(b.x), b[i].y = a.y, [z], [z] } WITHIN 60",
    "PATTERN SEQ(A a, B{1,} b[]) WHERE a.x=1 AND a.x=1 AND b.x > b[i-1].x AND b.y = a.y AND [z] WITHIN 60",
    BASE.replace("SEQ", "").replace("WHERE", "WHERE skip_till_next_match(a, b[])"),
    "Result: " + BASE,
    "Other: " + BASE,
]

DIFFERENT = [
    BASE.replace("SEQ", "AND"),
    BASE.replace("A a", "C a"),
    BASE.replace("B+ b[]", "B{2,} b[]"),
    BASE.replace("B+ b[]", "B* b[]"),
    BASE.replace("a.x = 1", "a.x = 2"),
    BASE.replace("a.x = 1", "a.x = 1.0"),
    BASE.replace("a.x = 1", "a.x >= 1"),
    BASE.replace("b[i-1]", "b[1]"),
    BASE.replace(" AND [z]", ""),
    BASE.replace("[z]", "[z, y]"),
    BASE.replace("WITHIN 60", "WITHIN 61"),
    BASE.replace("WITHIN 60", "WITHIN 60 EVENTS"),
    BASE.replace(" WITHIN 60", ""),
    BASE.replace("WHERE", "WHERE skip_till_any_match"),
    BASE + " RETURN a.x",
    BASE + " RETURN count(*)",
]


@pytest.mark.parametrize("text", SAME)
def test_fingerprint_of_the_same_meaning(text: str) -> None:
    assert analysed(text).form.fingerprint == analysed(BASE).form.fingerprint


def test_fingerprints_of_different_meanings() -> None:
    fingerprints = [analysed(text).form.fingerprint for text in (BASE, *DIFFERENT)]
    assert len(set(fingerprints)) == len(fingerprints)


def test_fingerprint_is_stable() -> None:
    """It is part of ``match_id`` and of saved state: a change here is a change of format."""
    assert analysed(BASE).form.fingerprint == "67b7fc5b1a90bc54de980d3a3c05aaf4"


def test_fingerprint_of_braces_is_that_of_and() -> None:
    braces, words = "PATTERN {A a, B b} WITHIN 5", "PATTERN AND(A a, B b) WITHIN 5"
    assert analysed(braces).form.fingerprint == analysed(words).form.fingerprint


def test_fingerprint_of_a_window_in_another_unit() -> None:
    schema = make_schema({"t": pa.timestamp("us")}, time="t")
    hour, minutes = (
        analyse(parse(f"PATTERN A a WITHIN {w}"), schema).form.fingerprint for w in ("1 hour", "60 minutes")
    )
    assert hour == minutes
