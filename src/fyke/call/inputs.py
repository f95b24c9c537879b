"""Given events taken apart into the streams that queries name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from fyke.call.events import Given
from fyke.call.source import check_no_types, check_values, columns_of
from fyke.call.warn_user import warn_of_types
from fyke.engine.input.prepare import in_plain_types
from fyke.engine.measure.types_seen import types_in
from fyke.errors import Place, UnknownTypeError, UnsupportedQueryError, listed, near_misses
from fyke.logical.schema import make_schema
from fyke.plan.missing_types import missing_types
from fyke.spark.relational import of_type


@dataclass(frozen=True, slots=True)
class Input:
    """The events of one stream, a table or a DataFrame, and their start and end time columns."""

    events: Any
    time: tuple[str, str]


class Streams:
    """Given events by stream: by the key of a dict, or by the value of a type column."""

    def __init__(self, given: Given, *, time: tuple[str, str], type_column: str | None) -> None:
        self.given, self.events, self.time, self.type_column = given, given.events, time, type_column
        if type_column is None:
            return
        if isinstance(given.events, Mapping):
            check_no_types(type_column)
        make_schema(columns_of(given.events), time=time, type_column=type_column)  # names what is missing
        if not given.on_spark:
            check_values(given.events, (), type_column)
            self.events = in_plain_types(given.events)  # others cannot be taken apart

    def stream(
        self,
        name: str,
        *,
        place: Place | None = None,
        text: str | None = None,
        timed: Callable[[Input], Input] = lambda given: given,
    ) -> Input:
        """Return the events of one type.

        ``timed`` gives events their watermark: before types are told apart, since an event of another type
        says what time it is, too ([T] 2.1.2).

        Raises
        ------
        UnknownTypeError
            If the events are a dict without that key.
        """
        if isinstance(self.events, Mapping):
            if name not in self.events:
                raise UnknownTypeError(
                    f"the stream {name!r} is not given",
                    place=place,
                    text=text,
                    remedy=f"Given are {listed(self.events)}: add {name!r} to the dict, or label a query "
                    f"of the program with it.{near_misses(name, self.events)}",
                )
            return timed(Input(self.events[name], self.time))
        if self.type_column is None:
            return timed(Input(self.events, self.time))
        if self.given.on_spark:
            whole = timed(Input(self.events, self.time))
            return replace(whole, events=of_type(whole.events, self.type_column, [name]))
        column = self.events.column(self.type_column)
        found = self.events.filter(pc.equal(column.cast(pa.string()), name))
        if found.num_rows == 0 and self.events.num_rows:
            warn_of_types(missing_types({name: ()}, types_in(column)))
        return timed(Input(found, self.time))

    def check_named(self, named: Mapping[str, Place | None], text: str | None) -> None:
        """Raise if a query names several streams of events that have no types."""
        if self.type_column is None and not isinstance(self.events, Mapping) and len(named) > 1:
            raise UnsupportedQueryError(
                f"the query names the streams {', '.join(map(repr, named))}, "
                "but the events have no type column",
                place=list(named.values())[1],
                text=text,
                remedy="Give type='column', or a dict {stream: events}; without either a query names one.",
            )

    def others(self, names: Sequence[str]) -> dict[str, Any]:
        """Return the events of all other types than these, as a dict."""
        if isinstance(self.events, Mapping):
            return {name: each for name, each in self.events.items() if name not in names}
        if self.type_column is None:
            return {}
        if self.given.on_spark:
            return {"": of_type(self.events, self.type_column, names, negated=True)}
        column = self.events.column(self.type_column).cast(pa.string())
        named = pc.is_in(column, pa.array(list(names), pa.string()))
        return {"": self.events.filter(pc.invert(named))}
