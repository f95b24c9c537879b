"""What one row decides alone: roles, derived columns, and the columns a row must bring along."""

from __future__ import annotations

import pyarrow as pa
import pytest

from fyke.errors import TooManyVariablesError, UnsupportedQueryError
from fyke.language.ast import Expression, Index, Reference, map_references
from fyke.language.sase import parse
from fyke.language.unparse import unparse_expression
from fyke.logical.analyse import analyse
from fyke.logical.schema import EventSchema, make_schema
from fyke.plan.pushdown import EVENT, Pushed, push_down

COLUMNS = {
    "ts": pa.timestamp("us"),
    "kind": pa.string(),
    "seq": pa.int64(),
    "id": pa.int64(),
    "x": pa.int64(),
    "y": pa.float64(),
    "name": pa.string(),
    "loc": pa.struct([("lat", pa.float64())]),
    "unused": pa.string(),
}
SCHEMA = make_schema(COLUMNS, time="ts", type_column="kind", tie_breaker="seq")
INPUTS = EventSchema(
    COLUMNS, ("ts", "ts"), "kind", {"A": ("ts", "id", "x"), "B": ("ts", "id", "y")}, ("seq",)
)


def pushed(text: str, schema: EventSchema = SCHEMA) -> Pushed:
    return push_down(analyse(parse(text), schema))


def about_row(expression: Expression) -> str:
    """Return an expression over a row, which refers to no variable, with ``row`` in its place."""
    named = map_references(expression, lambda ref: Reference("row", ref.path, ref.index))
    assert all(ref.variable == EVENT for ref in _references(expression))
    return unparse_expression(named)


def _references(expression: Expression) -> list[Reference]:
    found: list[Reference] = []
    map_references(expression, lambda reference: found.append(reference) or reference)  # type: ignore[func-returns-value]
    return found


def roles(result: Pushed) -> list[str]:
    """Return each role as ``type: conditions``."""
    shown = []
    for number, role in enumerate(result.roles):
        assert role.bit == number
        conditions = " AND ".join(map(about_row, role.conditions))
        shown.append(f"{role.type or 'ANY'}{': ' if conditions else ''}{conditions}")
    return shown


def derived(result: Pushed) -> dict[str, str]:
    return {column.name: about_row(column.expression) for column in result.derived}


def residual(result: Pushed, alternative: int = 0) -> list[str]:
    return [unparse_expression(c.expression) for c in result.alternatives[alternative].conditions]


# --- roles --------------------------------------------------------------------------------

ROLES: list[tuple[str, str, list[str], dict[str, int]]] = [
    # pattern, conditions, roles, role of each variable
    ("SEQ(A a, B b)", "a.x > 1", ["A: row.x > 1", "B"], {"a": 0, "b": 1}),
    ("SEQ(A a, A b)", "[id]", ["A"], {"a": 0, "b": 0}),
    ("SEQ(A a, A b)", "a.x > 1 AND b.x > 1", ["A: row.x > 1"], {"a": 0, "b": 0}),
    ("SEQ(A a, A b)", "a.x > 1 AND b.x > 2", ["A: row.x > 1", "A: row.x > 2"], {"a": 0, "b": 1}),
    (
        "SEQ(A a, A b)",
        "a.x > 1 AND a.y < 2 AND b.y < 2 AND b.x > 1",
        ["A: row.x > 1 AND row.y < 2"],
        {"a": 0, "b": 0},
    ),
    ("SEQ(A a, ANY b)", "b.x = 1", ["A", "ANY: row.x = 1"], {"a": 0, "b": 1}),
    ("SEQ(A a, B+ b[])", "b.x > 1 AND b[i].y < 2", ["A", "B: row.x > 1 AND row.y < 2"], {"a": 0, "b": 1}),
    ("SEQ(A a, ~B b, C c)", "b.x > 1 AND a.x = b.x", ["A", "C", "B: row.x > 1"], {"a": 0, "c": 1, "b": 2}),
    (
        "SEQ(A a, ~SEQ(B b, ~D d, C c), E e)",
        "d.x = 1 AND c.x = 2",
        ["A", "E", "B", "C: row.x = 2", "D: row.x = 1"],
        {"a": 0, "e": 1, "b": 2, "c": 3, "d": 4},
    ),
    ("A a", "a.x > 1 OR upper(a.name) = 'X'", ["A: row.x > 1 OR upper(row.name) = 'X'"], {"a": 0}),
    # what looks at more than one event, or at one element of a group, is no part of a role
    ("SEQ(A a, B b)", "a.x < b.x", ["A", "B"], {"a": 0, "b": 1}),
    # the first event of a group may have a role of its own
    ("A+ a[]", "a[1].x > 1", ["A", "A: row.x > 1"], {"a": 0}),
    ("A+ a[]", "a[a.len].x > 1", ["A"], {"a": 0}),
    ("A+ a[]", "a[i].x > a[i-1].x", ["A"], {"a": 0}),
    ("A+ a[]", "a[i-1].x > 1", ["A"], {"a": 0}),
    ("A+ a[]", "a.len > 1", ["A"], {"a": 0}),
    ("A+ a[]", "avg(a[].x) > 1", ["A"], {"a": 0}),
    ("A+ a[]", "a.x > 1 OR a.len > 3", ["A"], {"a": 0}),
]


@pytest.mark.parametrize("pattern, conditions, expected, numbers", ROLES)
def test_roles(pattern: str, conditions: str, expected: list[str], numbers: dict[str, int]) -> None:
    result = pushed(f"PATTERN {pattern} WHERE {{ {conditions} }} WITHIN 1 hour")
    assert roles(result) == expected
    assert result.roles_of == {(0, name): number for name, number in numbers.items()}


def test_the_first_event_of_a_group_has_a_role_of_its_own() -> None:
    result = pushed("PATTERN SEQ(A+ a[], B+ b[]) WHERE { a[1].x > 1 AND a.y < 2 AND b[1].x > a[1].x }")
    assert roles(result) == ["A: row.y < 2", "B", "A: row.y < 2 AND row.x > 1"]
    assert result.starts_of == {(0, "a"): 2}
    assert residual(result) == ["a[1].d0", "b[1].d1 > a[1].d1"]


def test_alternatives_share_roles() -> None:
    result = pushed("PATTERN SEQ(A a, OR(B b, A c)) WHERE { a.x > 1 AND c.x > 1 }")
    assert roles(result) == ["A: row.x > 1", "B"]
    assert result.roles_of == {(0, "a"): 0, (0, "b"): 1, (1, "a"): 0, (1, "c"): 0}


def test_what_a_role_decides_is_no_condition_any_more() -> None:
    result = pushed("PATTERN SEQ(A a, ~C c, B+ b[]) WHERE { a.x > 1 AND b.x > 2 AND c.x > 3 AND a.x < b.x }")
    assert residual(result) == ["a.d0 < b[i].d0"]
    assert result.alternatives[0].absences[0].conditions == ()


def test_there_are_at_most_63_roles() -> None:
    alternatives = ", ".join(f"T{n} a{n}" for n in range(64))
    with pytest.raises(TooManyVariablesError) as caught:
        pushed(f"PATTERN OR(\n{alternatives})")
    assert caught.value.message == "the alternatives tell more than 63 kinds of events apart"
    assert caught.value.remedy == "Split the query into labelled queries that feed one another."
    assert caught.value.line == 1


# --- derived columns ----------------------------------------------------------------------

DERIVED: list[tuple[str, str, list[str], dict[str, str]]] = [
    # pattern, conditions, conditions left, derived columns
    ("SEQ(A a, B b)", "a.x < b.x", ["a.d0 < b.d0"], {"d0": "row.x"}),
    ("SEQ(A a, B b)", "a.x < b.y", ["a.d0 < b.d1"], {"d0": "row.x", "d1": "row.y"}),
    ("SEQ(A a, B b)", "a.x * 2 + a.y < b.x", ["a.d0 < b.d1"], {"d0": "row.x * 2 + row.y", "d1": "row.x"}),
    ("SEQ(A a, B b)", "a.x * 2 < b.x * 2", ["a.d0 < b.d0"], {"d0": "row.x * 2"}),
    (
        "SEQ(A a, B b)",
        "upper(a.name) = lower(b.name)",
        ["a.d0 = b.d1"],
        {"d0": "upper(row.name)", "d1": "lower(row.name)"},
    ),
    ("SEQ(A a, B b)", "abs(a.x - b.x) < 2", ["abs(a.d0 - b.d0) < 2"], {"d0": "row.x"}),
    ("SEQ(A a, B b)", "a.loc.lat < b.loc.lat", ["a.d0 < b.d0"], {"d0": "row.loc.lat"}),
    # the largest part over one event is one column, truth included
    ("SEQ(A a, B b)", "a.x > 1 OR b.x > 2", ["a.d0 OR b.d1"], {"d0": "row.x > 1", "d1": "row.x > 2"}),
    (
        "SEQ(A a, B b)",
        "a.name LIKE 'x%' OR b.x = 1",
        ["a.d0 OR b.d1"],
        {"d0": "row.name LIKE 'x%'", "d1": "row.x = 1"},
    ),
    ("SEQ(A a, B b)", "a.x IN (1, b.x)", ["a.d0 IN (1, b.d0)"], {"d0": "row.x"}),
    ("SEQ(A a, B b)", "a.x BETWEEN 0 AND b.x", ["a.d0 BETWEEN 0 AND b.d0"], {"d0": "row.x"}),
    # elements of groups
    ("A+ a[]", "a[1].x > 1", ["a[1].d0"], {"d0": "row.x > 1"}),
    ("A+ a[]", "a[1].x > a[a.len].x", ["a[1].d0 > a[a.len].d0"], {"d0": "row.x"}),
    ("A+ a[]", "a[i].x + 1 > prev(a.x)", ["a[i].d0 > a[i-1].d1"], {"d0": "row.x + 1", "d1": "row.x"}),
    ("A+ a[]", "a[i-1].x > 1", ["a[i-1].d0"], {"d0": "row.x > 1"}),
    ("A+ a[]", "a.len > 1", ["a.len > 1"], {}),
    ("A+ a[]", "a.x > a.len", ["a[i].d0 > a.len"], {"d0": "row.x"}),
    ("A+ a[]", "avg(a[].x) > 1", ["avg(a[].d0) > 1"], {"d0": "row.x"}),
    ("A+ a[]", "sum(a[].x * a[].y) > 1", ["sum(a[].d0) > 1"], {"d0": "row.x * row.y"}),
    ("A+ a[]", "a[i].x > 2 * avg(a[..i-1].x)", ["a[i].d0 > 2 * avg(a[..i-1].d0)"], {"d0": "row.x"}),
]


@pytest.mark.parametrize("pattern, conditions, left, columns", DERIVED)
def test_derived_columns(pattern: str, conditions: str, left: list[str], columns: dict[str, str]) -> None:
    result = pushed(f"PATTERN {pattern} WHERE {{ {conditions} }}")
    assert residual(result) == left
    assert derived(result) == columns


def test_conditions_of_absences_use_derived_columns_too() -> None:
    result = pushed("PATTERN SEQ(A a, ~B b, C c) WHERE { b.x = a.x + 1 AND b.y > 0 AND a.y < c.y }")
    assert residual(result) == ["a.d0 < c.d0"]
    (absence,) = result.alternatives[0].absences
    assert [unparse_expression(c.expression) for c in absence.conditions] == ["b.d1 = a.d2"]
    assert derived(result) == {"d0": "row.y", "d1": "row.x", "d2": "row.x + 1"}


def test_a_derived_column_knows_which_types_need_it() -> None:
    result = pushed("PATTERN SEQ(A a, ~B b, C c, ANY d) WHERE { a.x = c.x AND b.x = a.x AND a.y < d.y }")
    types = {about_row(column.expression): column.types for column in result.derived}
    assert types == {"row.x": {"A", "B", "C"}, "row.y": {"A", None}}


def test_ranges_of_conditions_are_kept() -> None:
    result = pushed("PATTERN SEQ(A+ a[], B b) WHERE { a[i].x > a[i-1].x AND avg(a[].x) < b.x }")
    steps, whole = result.alternatives[0].conditions
    assert (steps.each, steps.lagged, steps.whole) == ({"a"}, {"a"}, frozenset())
    assert (whole.each, whole.lagged, whole.whole) == (frozenset(), frozenset(), {"a"})
    assert {ref.index for ref in _references(steps.expression)} == {Index.EACH, Index.PREVIOUS}


def test_a_function_that_only_the_kernel_has_stays_in_the_condition() -> None:
    text = "PATTERN SEQ(A a, B b) WHERE { twice(a.x + 1) > 2 AND twice(b.x) > a.x }"
    result = push_down(analyse(parse(text), SCHEMA, functions={"twice": 1}))
    assert roles(result) == ["A", "B"]
    assert residual(result) == ["twice(a.d0) > 2", "twice(b.d1) > a.d1"]
    assert derived(result) == {"d0": "row.x + 1", "d1": "row.x"}


def test_a_function_that_only_the_kernel_has_is_not_aggregated() -> None:
    query = parse("PATTERN A+ a[] WHERE { avg(twice(a[].x)) > 2 }")
    with pytest.raises(UnsupportedQueryError, match="an aggregate of a function that is not SQL"):
        push_down(analyse(query, SCHEMA, functions={"twice": 1}))


# --- needed columns -----------------------------------------------------------------------

ALL = tuple(COLUMNS)
NEEDED: list[tuple[str, tuple[str, ...]]] = [
    # without RETURN, or with a whole event, every column; else what is mentioned, in schema order
    ("PATTERN A a", ALL),
    ("PATTERN A a RETURN a", ALL),
    ("PATTERN A+ a[] RETURN a[1]", ALL),
    ("PATTERN A a RETURN a.x", ("ts", "kind", "seq", "x")),
    ("PATTERN A a RETURN a.y, a.x", ("ts", "kind", "seq", "x", "y")),
    ("PATTERN A a WHERE { [id] } RETURN a.x", ("ts", "kind", "seq", "id", "x")),
    ("PATTERN A a WHERE { [id] } RETURN id", ("ts", "kind", "seq", "id")),
    ("PATTERN A a RETURN count(*)", ("ts", "kind", "seq")),
    ("PATTERN A a WHERE { a.x > 1 } RETURN count(*)", ("ts", "kind", "seq", "x")),
    ("PATTERN SEQ(A a, B b) WHERE { a.id = b.id } RETURN count(*)", ("ts", "kind", "seq", "id")),
    ("PATTERN A+ a[] RETURN sum(a[].x), a.len", ("ts", "kind", "seq", "x")),
    ("PATTERN A a RETURN a.loc.lat", ("ts", "kind", "seq", "loc")),
    ("PATTERN SEQ(A a, ~B b, C c) WHERE { b.y > 1 } RETURN a.x", ("ts", "kind", "seq", "x", "y")),
    (
        "PATTERN SEQ(A a, ~SEQ(B b, ~D d, E e), C c) WHERE { d.name = 'n' } RETURN a.x",
        ("ts", "kind", "seq", "x", "name"),
    ),
]


@pytest.mark.parametrize("text, columns", NEEDED)
def test_needed_columns(text: str, columns: tuple[str, ...]) -> None:
    assert pushed(text).needed == columns


def test_a_start_column_is_part_of_the_order() -> None:
    schema = make_schema({"s": pa.int64(), "e": pa.int64(), "x": pa.int64()}, time=("s", "e"))
    assert pushed("PATTERN A a RETURN count(*)", schema).needed == ("s", "e")


def test_inputs_of_several_tables_need_no_column_of_other_types() -> None:
    result = pushed("PATTERN SEQ(A a, B b) WHERE { a.x < b.y } RETURN a.id", INPUTS)
    assert {about_row(column.expression): column.types for column in result.derived} == {
        "row.x": {"A"},
        "row.y": {"B"},
    }
