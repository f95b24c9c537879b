"""Random small streams for a query: mostly what its pattern asks for, with all that goes wrong in data."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import assume
from hypothesis import strategies as st

from fyke.engine.input.order import times
from fyke.errors import QueryError
from fyke.language.ast import And, Event, Not, Or, Pattern, Seq, Strategy, events, walk
from fyke.language.query import Query
from fyke.logical.analyse import analyse
from fyke.logical.schema import make_schema
from tests.random.queries import queries

_EPOCH = datetime.datetime(2024, 2, 28, 23, 59, 57)
_VALUES: dict[str, tuple[pa.DataType, tuple[Any, ...]]] = {
    "k": (pa.int64(), (1, 1, 1, 1, 1, 1, 2, None)),
    "s": (pa.string(), ("p", "p", "p", "p", "q", "é", None)),
    "x": (pa.int64(), (1, 2, 0, 3, 2, 1, -1, None, None, 2**63 - 1)),
    "v": (pa.float64(), (1.0, 0.0, 1.5, 2.0, -0.0, math.nan, math.nan, math.inf, -math.inf, None)),
    "f": (pa.bool_(), (True, True, True, False, None)),
    "d": (pa.decimal128(9, 2), (Decimal("1.25"), Decimal("0.50"), Decimal("2.00"), Decimal("-1.75"), None)),
    "n": (pa.int64(), (1, 2, 3, 4, 5, 1, None)),
}
_DEFAULTS = {"k": 1, "s": "p", "x": 1, "v": 1.0, "f": True, "d": Decimal("1.25"), "n": 1}
_HINDERED = (False, False, False, True)
_CLOCKS = ("int", "int", "int", "interval", "interval", "us", "ms", "date", "interval us")


@dataclass(frozen=True, slots=True)
class Case:
    """A legal query, events, and the other arguments of ``match``."""

    query: Query
    table: pa.Table
    time: str | tuple[str, str]
    tie_breaker: str | tuple[str, ...] | None
    output: str
    touching: str | None = None
    complete_windows: bool = False

    @property
    def options(self) -> dict[str, Any]:
        named = {"time": self.time, "type": "kind", "tie_breaker": self.tie_breaker, "output": self.output}
        return {**named, "touching": self.touching, "complete_windows": self.complete_windows}

    @property
    def order(self) -> dict[str, Any]:
        """What a stream must know of the options beyond its columns, and of the events still to come."""
        first, last = (self.time, self.time) if isinstance(self.time, str) else self.time
        covered = None
        if self.table.num_rows:
            covered = (int(times(self.table[first]).min()), int(times(self.table[last]).max()))
        return {"touching": self.touching, "complete_windows": self.complete_windows, "covered": covered}

    def __repr__(self) -> str:
        rows = "\n".join(f"    {row}," for row in self.table.to_pylist())
        return f"Case:\n{self.query}\noptions = {self.options}\nrows = [\n{rows}\n]\n{self.table.schema}"


def _wanted(draw: st.DrawFn, pattern: Pattern, hindered: Sequence[bool]) -> list[str]:
    """Draw event types in an order that a pattern accepts, but for absences that do not hold, as drawn."""
    if isinstance(pattern, Event):
        count = max(pattern.minimum, 1)
        if pattern.group and (pattern.maximum is None or pattern.maximum > count):
            count += draw(st.sampled_from((0, 1, 0, 2)))
        return [pattern.type or draw(st.sampled_from("ABCX"))] * count
    if isinstance(pattern, Not):
        return _wanted(draw, pattern.part, hindered) if draw(st.sampled_from(hindered)) else []
    parts = [_wanted(draw, part, hindered) for part in pattern.parts]
    if isinstance(pattern, Or):
        return draw(st.sampled_from(parts))
    if isinstance(pattern, And):
        parts = draw(st.permutations(parts))
    assert isinstance(pattern, (Seq, And))
    return [kind for part in parts for kind in part]


def _most_rows(query: Query, *, judged: bool) -> int:
    """Return how many rows the naive twin can take, which tries every subset for a group, or the engine."""
    if not judged:
        many = query.strategy in (Strategy.ANY, Strategy.ROBUST) and any(
            e.group for e in events(query.pattern)
        )
        return 10 if many else 24
    groups = sum(event.group and event.maximum != 1 for event in events(query.pattern))
    absences = sum(isinstance(node, Not) for node in walk(query.pattern))
    if query.strategy not in (Strategy.ANY, Strategy.ROBUST):
        groups = groups - 1 if not absences else groups
    return {0: 9, 1: 9, 2: 7, 3: 6}.get(groups, 5)


def _kinds(draw: st.DrawFn, query: Query, hindered: Sequence[bool], *, judged: bool) -> list[str | None]:
    kinds: list[str | None] = []
    for _ in range(1 if judged else 3):
        kinds += _wanted(draw, query.pattern, hindered)
    noise = draw(
        st.lists(st.sampled_from(("A", "B", "C", "A", "B", "C", "X", None)), max_size=3 if judged else 6)
    )
    for kind in noise:
        kinds.insert(draw(st.integers(0, len(kinds))), kind)
    return kinds[: _most_rows(query, judged=judged)]


def _attributes(draw: st.DrawFn) -> dict[str, Any]:
    """Draw the attributes of one row; a third of the rows are plain."""
    row = dict(_DEFAULTS)
    odd = draw(st.sampled_from((False, True, True)))
    changed = draw(st.lists(st.sampled_from(tuple(_VALUES)), max_size=4)) if odd else ["x", "n"]
    for name in changed:
        row[name] = draw(st.sampled_from(_VALUES[name][1]))
    return row


def _columns(clock: str) -> tuple[dict[str, pa.DataType], str | tuple[str, str], int | None]:
    """Return the time columns, their names as ``match`` wants them, and their unit in nanoseconds."""
    if clock in ("us", "ms", "interval us"):
        kind, unit = pa.timestamp(clock[-2:], tz="UTC" if clock == "ms" else None), 1_000_000_000
    elif clock == "date":
        kind, unit = pa.date32(), 86_400 * 1_000_000_000
    else:
        kind, unit = pa.int64(), None
    if clock.startswith("interval"):
        return {"from": kind, "to": kind}, ("from", "to"), unit
    return {"t": kind}, "t", unit


def _moment(clock: str, tick: int) -> Any:
    if clock == "date":
        return (_EPOCH + datetime.timedelta(days=tick)).date()
    moment = _EPOCH + datetime.timedelta(seconds=tick)
    if clock == "ms":
        return moment.replace(tzinfo=datetime.timezone.utc)
    return moment if clock in ("us", "interval us") else tick - 3


@st.composite
def tables(
    draw: st.DrawFn, query: Query, clock: str, judged: bool, hindered: Sequence[bool] = _HINDERED
) -> pa.Table:
    """A few rows in any order: ties, nulls, odd floats, twins, types that the query does not know."""
    rows: list[dict[str, Any]] = []
    clocks, _, _ = _columns(clock)
    tick = 0
    for kind in _kinds(draw, query, hindered, judged=judged):
        tick += draw(st.sampled_from((1, 1, 1, 1, 0, 2)))
        row = {"kind": kind}
        if len(clocks) == 2:
            row["from"] = _moment(clock, tick - draw(st.sampled_from((0, 0, 0, 0, 1, 2))))
        row[list(clocks)[-1]] = _moment(clock, tick)
        row |= _attributes(draw)
        if rows and draw(st.sampled_from((*[False] * 15, True))):
            row = dict(rows[-1])
        rows.append(row)
    rows = [rows[place] for place in draw(st.permutations(range(len(rows))))]
    kinds = {"kind": pa.string(), **clocks, **{name: kind for name, (kind, _) in _VALUES.items()}}
    return pa.Table.from_pylist(rows, pa.schema(list(kinds.items())))


@st.composite
def cases(
    draw: st.DrawFn,
    strategy: Strategy | None = None,
    *,
    judged: bool = True,
    made_of: st.SearchStrategy[Query] | None = None,
    hindered: Sequence[bool] = _HINDERED,
) -> Case:
    """A legal query with a stream for it; ``judged``: short enough for the naive twin.

    ``made_of``: the query instead of any, with times that are plain numbers; ``hindered``: drawn from for
    each absence, whether its events are put where they must not be.
    """
    clock = draw(st.sampled_from(_CLOCKS if made_of is None else ("int", "interval")))
    _, time, unit = _columns(clock)
    query = draw(queries(unit, strategy) if made_of is None else made_of)
    tie_breaker = draw(st.sampled_from((None, None, "n", ("v", "n"))))
    output = draw(st.sampled_from(("all", "all", "all", "non_overlap")))
    lasting, absent = clock.startswith("interval"), any(isinstance(node, Not) for node in walk(query.pattern))
    touching = draw(st.sampled_from((None, "before"))) if lasting else None
    complete = draw(st.sampled_from((False, False, True))) if absent else False
    table = draw(tables(query, clock, judged, hindered))
    columns = dict(zip(table.schema.names, table.schema.types, strict=True))
    try:
        analyse(query, make_schema(columns, time=time, type_column="kind", tie_breaker=tie_breaker))
    except QueryError:
        assume(False)
    return Case(query, table, time, tie_breaker, output, touching, complete)
