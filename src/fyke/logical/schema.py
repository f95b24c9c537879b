"""What the events look like: attributes and their types, event types, the columns that order them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from fyke.errors import (
    InputError,
    MissingColumnError,
    OptionError,
    SchemaClashError,
    TimeColumnError,
    listed,
    near_misses,
    shown,
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
    touching
        Whether an event is before one that starts when it ends, unless both are points.
    unique
        Whether no two events of a partition share time and tie-breakers, so that these alone order them.
    """

    columns: Mapping[str, pa.DataType]
    time: tuple[str, str]
    type_column: str | None = None
    attributes_of: Mapping[str, tuple[str, ...]] | None = None
    tie_breaker: tuple[str, ...] = ()
    unit: int | None = field(default=None)
    touching: bool = False
    unique: bool = False

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
        """Return all columns in processing order: end time, tie-breakers, then the rest.

        Columns without an order (maps) are left out: they cannot make processing order differ in a
        way that could be reproduced.  If events that touch are before one another, one that ends at a
        time comes before the points of that time, so the start time is next to the end time.
        Columns that are not needed if the first ones order all events are left out.
        """
        start = (self.start,) if self.touching else ()
        first = dict.fromkeys((self.end, *start, *self.tie_breaker))
        if self.unique:
            return tuple(first)
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
    touching: str | None = None,
    unique_order: bool = False,
) -> EventSchema:
    """Check the columns named in a call against the events and return the schema.

    ``touching="before"``: intervals that touch are before one another.  ``unique_order``: time and
    tie-breakers tell the events of a partition apart.

    Raises
    ------
    MissingColumnError, TimeColumnError, OptionError
    """
    times, ties = time_pair(time), tie_breakers(tie_breaker)
    if type_column is not None and not isinstance(type_column, str):
        raise OptionError(
            f"type must be the name of a column, found {shown(type_column)}",
            remedy="Give type='kind', the column that says what kind of event a row is.",
        )
    for name in [*times, *ties, *([type_column] if type_column is not None else [])]:
        if name not in columns:
            raise MissingColumnError(
                f"the events have no column {name!r}",
                remedy=f"Their columns are {listed(columns)}.{near_misses(name, columns)}",
            )
    if type_column is not None:
        _check_type_column(type_column, columns[type_column])
    units = {_time_unit(name, columns[name], time_unit) for name in times}
    zoned = {getattr(columns[name], "tz", None) is not None for name in times}
    if len(units) != 1 or len(zoned) != 1:
        raise TimeColumnError(
            f"start {times[0]!r} is {columns[times[0]]} and end {times[1]!r} is {columns[times[1]]}",
            remedy="Cast both to the same type.",
        )
    before = touching_before(touching) is not None
    return EventSchema(
        columns,
        times,
        type_column,
        attributes_of,
        ties,
        units.pop(),
        touching=before,
        unique=unique_order,
    )


def time_pair(time: object) -> tuple[str, str]:
    """Return the start and end time columns that the option ``time`` names.

    Raises
    ------
    OptionError
    """
    names = (time, time) if isinstance(time, str) else time
    if isinstance(names, Sequence) and len(names) == 2:
        start, end = names
        if isinstance(start, str) and isinstance(end, str):
            return start, end
    raise OptionError(
        f"time must be the name of a column or a pair (start, end), found {shown(time)}",
        remedy="Give time='ts', or time=('start_ts', 'end_ts') for events that last.",
    )


def tie_breakers(given: object) -> tuple[str, ...]:
    """Return the columns that the option ``tie_breaker`` names.

    Raises
    ------
    OptionError
    """
    names = (given,) if isinstance(given, str) else () if given is None else given
    if isinstance(names, Sequence) and all(isinstance(name, str) for name in names):
        return tuple(names)
    raise OptionError(
        f"tie_breaker must be the name of a column or a list of names, found {shown(given)}",
        remedy="Give tie_breaker='id', or tie_breaker=['line', 'id'].",
    )


def touching_before(given: object) -> str | None:
    """Return the option ``touching``, checked.

    Raises
    ------
    OptionError
    """
    if given is None or (isinstance(given, str) and given == "before"):
        return given
    raise OptionError(
        f"touching must be 'before', or be left out, found {shown(given)}",
        remedy="With touching='before' an event is before one that starts when it ends.",
    )


def holds_text(kind: pa.DataType) -> bool:
    """Say whether a column is of strings, written out or as a dictionary."""
    value = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(value) or pa.types.is_large_string(value))


def _check_type_column(name: str, kind: pa.DataType) -> None:
    """Refuse types whose values have no text that is the same everywhere."""
    value = kind.value_type if pa.types.is_dictionary(kind) else kind
    tests = (pa.types.is_binary, pa.types.is_integer, pa.types.is_boolean, pa.types.is_date)
    if not holds_text(kind) and not any(test(value) for test in tests):
        raise InputError(
            f"type column {name!r} is {kind}; event types are text, whole numbers, booleans or dates",
            remedy="Cast it to a string, or name the column that says what kind of event a row is.",
        )


def _time_unit(name: str, kind: pa.DataType, time_unit: str | None) -> int | None:
    if time_unit is not None and (not isinstance(time_unit, str) or time_unit not in NANOSECONDS):
        raise OptionError(
            f"time_unit must be one of 's', 'ms', 'us', 'ns', found {shown(time_unit)}",
            remedy="It says what one unit of an integer time column is.",
        )
    if pa.types.is_uint64(kind):
        raise TimeColumnError(
            f"time column {name!r} is uint64, which reaches beyond the times there are",
            remedy="Cast it to int64.",
        )
    if pa.types.is_integer(kind):
        return None if time_unit is None else NANOSECONDS[time_unit]
    if not pa.types.is_timestamp(kind) and not pa.types.is_date(kind):
        raise TimeColumnError(
            f"time column {name!r} is {kind}; a time is a timestamp, a date or an integer",
            remedy="Cast it, for example with to_timestamp() or pyarrow.compute.cast.",
        )
    return NANOSECONDS[kind.unit] if pa.types.is_timestamp(kind) else DAY


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
