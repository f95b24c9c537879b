"""The values that a condition has compared, and how near it came to holding."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fyke.diagnosis.probe import Bindings, Found
from fyke.engine.conditions.columns import Column
from fyke.engine.conditions.evaluate import evaluate
from fyke.engine.input.single_array import one_array
from fyke.language.ast import (
    Between,
    Binary,
    Call,
    Expression,
    In,
    Index,
    IsNull,
    Length,
    Like,
    Literal,
    Reference,
    map_references,
    walk,
)
from fyke.language.unparse import unparse_expression
from fyke.logical.check_operators import COMPARISONS

_MOST = 20_000  # combinations of elements that are looked at


@dataclass(frozen=True, slots=True)
class Compared:
    """What a condition compared, where it did not hold: both sides of each case, and the rows behind it."""

    condition: Expression
    left: tuple[Any, ...]
    right: tuple[Any, ...]
    cases: tuple[Bindings, ...]

    @property
    def nulls(self) -> int:
        """How many cases have a null on one side."""
        return sum(a is None or b is None for a, b in zip(self.left, self.right, strict=True))

    def nearest(self) -> int | None:
        """Return the case that came nearest to holding; None if no case says how near."""
        distances = [distance(a, b) for a, b in zip(self.left, self.right, strict=True)]
        known = [(value, place) for place, value in enumerate(distances) if value is not None]
        return min(known)[1] if known else None


def distance(left: Any, right: Any) -> float | None:
    """Return how far two values are apart, from 0 to about 1 by their size; None if nobody can say."""
    if left is None or right is None or isinstance(left, bool) or isinstance(right, bool):
        return None
    if isinstance(left, str) and isinstance(right, str):
        alike = difflib.SequenceMatcher(None, left.strip().casefold(), right.strip().casefold())
        return 1.0 - alike.ratio()
    if isinstance(left, (datetime, date)) and isinstance(right, type(left)):
        if isinstance(left, datetime) and isinstance(right, datetime):
            left, right = left.replace(tzinfo=None), right.replace(tzinfo=None)  # both are of UTC
        return min(1.0, float(abs((left - right) / timedelta(days=1))) / 365.0)
    if isinstance(left, timedelta) and isinstance(right, timedelta):
        size = max(abs(left), abs(right)) or timedelta(microseconds=1)
        return abs(left - right) / size
    if isinstance(left, (int, float, Decimal)) and isinstance(right, (int, float, Decimal)):
        a, b = float(left), float(right)
        if a != a or b != b:
            return None
        return abs(a - b) / (max(abs(a), abs(b)) or 1.0)
    return None


def sides(condition: Expression) -> tuple[Expression, Expression] | None:
    """Return the two sides of a comparison, or an operand and what it is tested against."""
    if isinstance(condition, Binary) and condition.operator in COMPARISONS:
        return condition.left, condition.right
    if isinstance(condition, (In, Between, Like, IsNull)):
        return condition.operand, Literal(None)
    return None


def compared_in_rows(condition: Expression, table: pa.Table, variable: str) -> Compared | None:
    """Return the values that a condition on one event compares in rows of a table, one case a row."""
    parts = sides(condition)
    if parts is None or not is_plain(condition):
        return None
    both = [column_of(part, table) for part in parts]
    if any(each is None for each in both):
        return None
    left, right = (each.slice(0, _MOST).to_pylist() for each in both if each is not None)
    return Compared(condition, tuple(left), tuple(right), tuple({variable: [i]} for i in range(len(left))))


def column_of(expression: Expression, table: pa.Table) -> pa.Array | None:
    """Return the value of an expression about one event for every row; None if that cannot be computed."""

    def resolve(node: Expression) -> Column | None:
        return _read(table, node) if isinstance(node, Reference) else None

    try:
        value = evaluate(expression, resolve)
    except (pa.ArrowException, KeyError):
        return None
    return value if isinstance(value, pa.Array) else pa.repeat(value, table.num_rows)


def _read(table: pa.Table, node: Reference) -> Column:
    array = one_array(table.column(node.path[0]))
    for name in node.path[1:]:
        array = pc.struct_field(array, name)
    return array


def compared_in_matches(
    condition: Expression, found: Found, events: pa.Table, groups: Sequence[str]
) -> Compared | None:
    """Return the values that a condition compares in matches of a query that does not have it."""
    parts = sides(condition)
    if parts is None or not is_plain(condition):
        return None
    condition = map_references(
        condition,
        lambda each: (
            replace(each, index=Index.EACH) if each.index is Index.NONE and each.variable in groups else each
        ),
    )
    parts = sides(condition)
    assert parts is not None
    wanted = {_element(node): None for node in walk(condition) if isinstance(node, (Reference, Length))}
    cases: list[dict[tuple[str, Index, int], int]] = []
    rows: list[Bindings] = []
    for match in found.matches:
        for case in _cases(match, list(wanted)):
            cases.append(case)
            rows.append(match)
        if len(cases) >= _MOST:
            break
    if not cases:
        return None
    left, right = (_side(part, cases, events) for part in parts)
    if left is None or right is None:
        return None
    return Compared(condition, tuple(left), tuple(right), tuple(rows))


def is_plain(condition: Expression) -> bool:
    """Say whether a condition looks at elements, and not at sums of them."""
    aggregates = (Index.ALL, Index.BEFORE)
    return not any(
        (isinstance(node, Reference) and (node.index in aggregates or not node.path))
        for node in walk(condition)
    )


def _element(node: Reference | Length) -> tuple[str, Index, int]:
    if isinstance(node, Length):
        return node.variable, Index.ALL, 0
    return node.variable, node.index, node.offset


def _cases(
    match: Bindings, wanted: Sequence[tuple[str, Index, int]]
) -> list[dict[tuple[str, Index, int], int]]:
    """Return the rows that each element of a condition stands for, for every choice of elements."""
    each = {name for name, index, _ in wanted if index in (Index.EACH, Index.PREVIOUS)}
    if any(name not in match for name, _, _ in wanted):
        return []
    lagged = {name for name, index, _ in wanted if index is Index.PREVIOUS}
    choices: list[dict[str, int]] = [{}]
    for name in sorted(each):
        first = 1 if name in lagged else 0
        choices = [{**choice, name: at} for choice in choices for at in range(first, len(match[name]))]
    found = []
    for choice in choices[:_MOST]:
        case = {}
        for name, index, offset in wanted:
            rows = match[name]
            at = {
                Index.NONE: 0,
                Index.EACH: choice.get(name, 0),
                Index.PREVIOUS: choice.get(name, 1) - 1,
                Index.FIRST: offset,
                Index.LAST: len(rows) - 1 - offset,
                Index.ALL: 0,
            }[index]
            case[name, index, offset] = (
                len(rows) if index is Index.ALL else (rows[at] if 0 <= at < len(rows) else -1)
            )
        found.append(case)
    return found


def _side(
    part: Expression, cases: Sequence[dict[tuple[str, Index, int], int]], events: pa.Table
) -> list[Any] | None:
    def resolve(node: Expression) -> Column | None:
        if isinstance(node, Call):
            return None
        assert isinstance(node, (Reference, Length))
        rows = np.array([case[_element(node)] for case in cases], np.int64)
        if isinstance(node, Length):
            return pa.array(rows)
        numbers = pa.array(rows, mask=rows < 0)
        column = one_array(events.column(node.path[0])).take(numbers)
        for name in node.path[1:]:
            column = pc.struct_field(column, name)
        return column

    try:
        value = evaluate(part, resolve)
    except (pa.ArrowException, KeyError):
        return None
    values: list[Any] = value.to_pylist() if isinstance(value, pa.Array) else [value.as_py()] * len(cases)
    return values


def common(values: Sequence[Any], most: int = 3) -> str:
    """Return the values that come most often, as text."""
    counted = Counter(map(written, values))
    shown = [
        f"{value} ({count:,} times)" if count > 1 else value for value, count in counted.most_common(most)
    ]
    rest = len(counted) - len(shown)
    return ", ".join(shown) + (f" and {rest:,} more" if rest > 0 else "")


def written(value: Any) -> str:
    """Return a value as a query would write it."""
    if isinstance(value, (datetime, date)):
        return str(value)
    if isinstance(value, (bool, int, float, str, Decimal)) or value is None:
        return unparse_expression(Literal(value))
    return str(value)
