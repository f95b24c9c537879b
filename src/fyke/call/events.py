"""Whatever users hold their events in, to tables or DataFrames, and results back to what they hold.

Tables of Arrow and DataFrames of Spark are taken as they are.  pandas and polars are not imported here:
their frames can exist only where somebody else has.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from fyke.call.files import described, first_line, format_of, found_files, from_rows, is_rows, read_files
from fyke.errors import InputError, shown
from fyke.plan.outputs import OUTPUTS
from fyke.spark.session import is_frame, is_streaming, view

Events = Any  # a table or DataFrame of any kind, a path, the name of a view, or a dict {type: events}

_TAKEN = (
    "a Spark DataFrame or the name of a view, a table of pyarrow, pandas, polars or anything with "
    "__arrow_c_stream__, a list of dicts, the path of a file, or a dict of these"
)


class Kind(Enum):
    """Who evaluates: Arrow and Fyke's engine here, Spark once, or Spark as the events come."""

    TABLE = "table"
    BATCH = "batch"
    STREAM = "stream"


@dataclass(frozen=True, slots=True)
class Given:
    """The events of a call: a table or a DataFrame, or a dict of tables or DataFrames by type.

    ``back`` makes of a table what the events were, where that is more than a table.
    """

    events: Any
    kind: Kind
    back: Callable[[pa.Table], Any]

    @property
    def on_spark(self) -> bool:
        """Whether the events are DataFrames."""
        return self.kind is not Kind.TABLE

    def returned(self, result: Any, output: str) -> Any:
        """Return a result as what the events were; a compressed one is for ``enumerate_matches`` only."""
        return result if self.on_spark or OUTPUTS[output].shared else self.back(result)


def take_events(events: Events) -> Given:
    """Return the events that were given as tables or DataFrames.

    Raises
    ------
    InputError
        If they are no events, or cannot be read.
    """
    if not isinstance(events, Mapping):
        taken, back = _taken(events)
        return Given(taken, _kind([taken]), back)
    if not events:
        raise _refused(events)
    for name, each in events.items():
        if not isinstance(name, str):
            raise InputError(f"the keys of a dict of events are event types, found {shown(name)}")
        if isinstance(each, Sequence) and not isinstance(each, str) and not is_rows(each):
            raise InputError(
                f"a dict of events is {{type: events}}, and {name!r} is {described(each)}",
                remedy="Make a table of columns with pyarrow.table(columns).",
            )
    several = {name: _taken(each) for name, each in events.items()}
    tables = {name: taken for name, (taken, _) in several.items()}
    kinds = {type(each) for each in events.values()}
    back = next(iter(several.values()))[1] if len(kinds) == 1 else _as_it_is
    if len({is_frame(each) for each in tables.values()}) > 1:
        raise _refused(events)
    return Given(tables, _kind(list(tables.values())), back)


def _kind(inputs: Sequence[Any]) -> Kind:
    if not is_frame(inputs[0]):
        return Kind.TABLE
    return Kind.STREAM if any(map(is_streaming, inputs)) else Kind.BATCH


def _as_it_is(table: Any) -> Any:
    return table


def _taken(events: Any) -> tuple[Any, Callable[[pa.Table], Any]]:
    """Return events as a table or DataFrame, and what makes of a table what they were."""
    if is_frame(events) or isinstance(events, pa.Table):
        return events, _as_it_is
    if isinstance(events, (str, os.PathLike)):
        return _named(events), _as_it_is
    try:
        if _is_of("pandas", "DataFrame", events):
            return _from_pandas(events)
        if _is_of("polars", "LazyFrame", events):
            frame = type(events.collect())
            return pa.table(events.collect()), lambda table: frame(table).lazy()
        if _is_of("polars", "DataFrame", events):
            return pa.table(events), type(events)
        if isinstance(events, ds.Dataset):
            return events.to_table(), _as_it_is
        if isinstance(events, pa.RecordBatch):
            return pa.Table.from_batches([events]), _as_it_is
        if hasattr(events, "__arrow_c_stream__"):
            return pa.table(events), _as_it_is
        if hasattr(events, "__arrow_c_array__"):
            return pa.Table.from_batches([pa.record_batch(events)]), _as_it_is
        if isinstance(events, Sequence) and is_rows(events):
            return from_rows(events), _as_it_is
    except (pa.ArrowException, ValueError, TypeError, OSError) as error:
        raise InputError(
            f"the events, {described(events)}, cannot be made a table: {first_line(error)}",
            remedy="Give each column values of one type and a name of its own.",
        ) from error
    raise _refused(events)


def _is_of(library: str, name: str, events: object) -> bool:
    """Say whether something is of a class in a library, if that has been imported."""
    known = getattr(sys.modules.get(library), name, None)
    return known is not None and isinstance(events, known)


def _from_pandas(frame: Any) -> tuple[pa.Table, Callable[[pa.Table], Any]]:
    """Return a table of the columns; an index is a number or a name of rows, and no attribute."""
    table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
    backed = getattr(sys.modules["pandas"], "ArrowDtype")  # noqa: B009 - not of the module's type for mypy
    if any(isinstance(each, backed) for each in frame.dtypes):
        return table, lambda result: result.to_pandas(types_mapper=backed)
    return table, lambda result: result.to_pandas()


# --- names of files and views -----------------------------------------------------------------


def _named(name: str | os.PathLike[str]) -> Any:
    """Return the events of files or a folder, or else those of a view of Spark."""
    if files := found_files(name):
        return read_files(files)
    if not isinstance(name, str) or format_of(Path(name)) is not None or os.sep in name:
        raise InputError(f"there is no file {shown(os.fspath(name))}")
    found = view(name)
    if found is None:
        raise InputError(
            f"events={shown(name)} is neither a file that exists nor, without a Spark session, a view",
            remedy="Give the path of a file, or start a session that has the view.",
        )
    return found


# --- messages -----------------------------------------------------------------------------------


def _refused(events: object) -> InputError:
    return InputError(
        f"events must be {_TAKEN}, found {described(events)}",
        remedy="All inputs of a dict must be tables, or all DataFrames." if _is_mixed(events) else "",
    )


def _is_mixed(events: object) -> bool:
    return isinstance(events, Mapping) and any(map(is_frame, events.values()))
