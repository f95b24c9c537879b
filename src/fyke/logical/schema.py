"""What the events look like: attributes and their types, event types, the columns that order them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from fyke.errors import (
    MissingColumnError,
    OptionError,
    SchemaClashError,
    TimeColumnError,
    listed,
    near_misses,
)

NANOSECONDS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
DAY = 86_400 * NANOSECONDS["s"]


@dataclass(frozen=True, slots=True)
class EventSchema:
    """The attributes of the events and how they are ordered (SEMANTICS 1).

    Attributes
    ----------
    columns
        Every attribute and its Arrow type, in schema order.
    time
        The start and end time columns; the same name twice for point events.
    type_column
        The column that holds the event type, or None if there is one type only.
    attributes_of
        For a dict of inputs, the attributes each type has; None if all types share ``columns``.
    tie_breaker
        Columns that order events of equal time.
    unit
        Nanoseconds in one unit of the time column, or None for plain numbers.
    """

    columns: Mapping[str, pa.DataType]
    time: tuple[str, str]
    type_column: str | None = None
    attributes_of: Mapping[str, tuple[str, ...]] | None = None
    tie_breaker: tuple[str, ...] = ()
    unit: int | None = field(default=None)

    @property
    def start(self) -> str:
        """Name of the start time column."""
        return self.time[0]

    @property
    def end(self) -> str:
        """Name of the end time column."""
        return self.time[1]

    @property
    def points(self) -> bool:
        """Whether every event is a point in time."""
        return self.time[0] == self.time[1]

    def attributes(self, event_type: str | None) -> tuple[str, ...]:
        """Return the attributes that events of a type have (every attribute for ANY)."""
        if event_type is not None and self.attributes_of is not None:
            return self.attributes_of[event_type]
        return tuple(self.columns)

    def order_columns(self) -> tuple[str, ...]:
        """Return all columns in processing order: end time, tie-breakers, start time, then the rest.

        Columns without an order (maps) are left out: they cannot make processing order differ in a
        way that could be reproduced.
        """
        first = dict.fromkeys((self.end, *self.tie_breaker))
        rest = (name for name, kind in self.columns.items() if name not in first and orderable(kind))
        return (*first, *rest)


def orderable(kind: pa.DataType) -> bool:
    """Say whether values of an Arrow type can be sorted."""
    if pa.types.is_map(kind):
        return False
    if pa.types.is_nested(kind):
        return all(orderable(kind.field(i).type) for i in range(kind.num_fields))
    return not pa.types.is_union(kind)


def make_schema(
    columns: Mapping[str, pa.DataType],
    *,
    time: str | Sequence[str],
    type_column: str | None = None,
    attributes_of: Mapping[str, tuple[str, ...]] | None = None,
    tie_breaker: str | Sequence[str] | None = None,
    time_unit: str | None = None,
) -> EventSchema:
    """Check the columns named in a call against the events and return the schema.

    Raises
    ------
    MissingColumnError, TimeColumnError, OptionError
    """
    times = (time, time) if isinstance(time, str) else tuple(time)
    if len(times) != 2:
        raise OptionError(
            f"time must be one column or a pair (start, end), found {time!r}",
            remedy="Give time='ts', or time=('start_ts', 'end_ts') for events that last.",
        )
    ties = (tie_breaker,) if isinstance(tie_breaker, str) else tuple(tie_breaker or ())
    named = [*times, *ties, *([type_column] if type_column is not None else [])]
    for name in named:
        if name not in columns:
            raise MissingColumnError(
                f"the events have no column {name!r}",
                remedy=f"Their columns are {listed(columns)}.{near_misses(name, columns)}",
            )
    units = {_time_unit(name, columns[name], time_unit) for name in times}
    if len(units) != 1:
        raise TimeColumnError(
            f"start {times[0]!r} is {columns[times[0]]} and end {times[1]!r} is {columns[times[1]]}",
            remedy="Cast both to the same type.",
        )
    return EventSchema(columns, (times[0], times[1]), type_column, attributes_of, ties, units.pop())


def _time_unit(name: str, kind: pa.DataType, time_unit: str | None) -> int | None:
    if pa.types.is_timestamp(kind):
        return NANOSECONDS[kind.unit]
    if pa.types.is_date(kind):
        return DAY
    if pa.types.is_integer(kind) and not pa.types.is_uint64(kind):
        if time_unit is None:
            return None
        if time_unit not in NANOSECONDS:
            raise OptionError(
                f"time_unit must be one of 's', 'ms', 'us', 'ns', found {time_unit!r}",
                remedy="It says what one unit of an integer time column is.",
            )
        return NANOSECONDS[time_unit]
    raise TimeColumnError(
        f"time column {name!r} is {kind}; a time is a timestamp, a date or an integer",
        remedy="Cast it, for example with to_timestamp() or pyarrow.compute.cast.",
    )


def unite_columns(inputs: Mapping[str, Mapping[str, pa.DataType]]) -> dict[str, pa.DataType]:
    """Return the columns of several inputs together, in order of first appearance.

    Raises
    ------
    SchemaClashError
        If a column has types in two inputs that do not unite (numbers widen, nulls fit everything).
    """
    united: dict[str, pa.DataType] = {}
    origin: dict[str, str] = {}
    for event_type, columns in inputs.items():
        for name, kind in columns.items():
            if name not in united or pa.types.is_null(united[name]):
                united[name], origin[name] = kind, event_type
                continue
            wider = _widen(united[name], kind)
            if wider is None:
                raise SchemaClashError(
                    f"column {name!r} is {united[name]} in {origin[name]!r} and {kind} in {event_type!r}",
                    remedy="Cast or rename it in one of them.",
                )
            united[name] = wider
    return united


def _widen(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    if left == right or pa.types.is_null(right):
        return left
    if pa.types.is_integer(left) and pa.types.is_integer(right):
        return left if left.bit_width >= right.bit_width else right
    numeric = (pa.types.is_integer, pa.types.is_floating)
    if any(test(left) for test in numeric) and any(test(right) for test in numeric):
        return pa.float64()
    if pa.types.is_timestamp(left) and pa.types.is_timestamp(right) and left.tz == right.tz:
        return left if NANOSECONDS[left.unit] <= NANOSECONDS[right.unit] else right
    return None
