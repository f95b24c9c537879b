"""State to bytes and back: a header, Arrow messages, and a checksum over all of it.

::

    magic (8 bytes) | format version (2) | length of the header (4) | header | parts | checksum (16)

The header is JSON: what the state belongs to (query, schema, engine, output), its watermark, the arrays with
their shapes, and the lengths of the parts.  The parts are record batches in Arrow's IPC format without their
schemas, which the plan knows: the rows, the arrays (one row of lists), the ends of ``non_overlap``.
Nothing is ever unpickled.  What is read is validated before any kernel sees it, because kernels check
no bounds.
"""

from __future__ import annotations

import functools
import hashlib
import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from fyke.engine.engine import Engine
from fyke.engine.kernels.arrays import NUMBER, Array
from fyke.engine.matchset import MatchSet, no_matches
from fyke.engine.searcher import Dump
from fyke.engine.state import State
from fyke.errors import StateError
from fyke.plan.plan import ROLES, Plan

MAGIC, FORMAT = b"\xf5FykeSt\n", 1
_OLDEST = 1  # the first format that this version still reads
_HEAD, CHECKSUM = struct.Struct("<8sHI"), 16
_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)  # other cores have tasks of their own
_READING = pa.ipc.IpcReadOptions(use_threads=False)
_MATCHES = ("positions", "variables", "offsets", "alternative")
_KINDS = {"int64": np.int64, "int16": np.int16, "float64": np.float64, "bool": np.bool_}
_START_AGAIN = "Or start again without it."
_FOREIGN = {  # how files of other programs begin
    b"PAR1": "a Parquet file",
    b"ARROW1": "an Arrow file",
    b"\xff\xff\xff\xff": "an Arrow stream",
    b"\x80\x04": "a pickle",
    b"\x80\x05": "a pickle",
    b"PK\x03\x04": "a zip archive",
    b"\x1f\x8b": "a gzip file",
    b"Obj\x01": "an Avro file",
    b"ORC": "an ORC file",
    b"SQLite format 3\0": "an SQLite database",
    b"{": "JSON",
    b"[": "JSON",
}
_FIELDS = {"query", "schema", "engine", "output", "watermark", "rows", "arrays", "notes", "parts"}
BESIDE = "beside."  # before the names of arrays that are written beside a state


def encode_state(
    engine: Engine,
    state: State,
    *,
    with_rows: bool = True,
    beside: Mapping[str, Array] | None = None,
    lineage: str = "",
) -> bytes:
    """Return a state as bytes that any engine of the same plan can read, in any process.

    Without rows it is the part that every batch changes.  A caller that stores the rows elsewhere must give
    them to :func:`decode_state` in the same order.  Arrays ``beside`` the state are written with it, and
    :class:`OpenedState` has them.  A ``lineage`` tells states apart whose rows are stored elsewhere.
    """
    dump = engine.searcher.dump(state.memory)
    arrays: dict[str, Array] = {"read": state.read}
    if engine.plan.window.counts_events:
        arrays["index"] = state.index
    for name, matches in (("waiting", state.waiting), ("chosen", state.chosen)):
        if len(matches):
            arrays |= {f"{name}.{field}": getattr(matches, field) for field in _MATCHES}
    arrays |= {f"memory.{name}": array for name, array in dump.arrays.items()}
    arrays |= {f"{BESIDE}{name}": array for name, array in (beside or {}).items()}
    rows = plain_rows(state.rows if with_rows else state.rows.slice(0, 0))
    ends = [] if state.last_ends is None else [state.last_ends]
    parts = [to_message(table) for table in (rows, as_row(arrays), *ends)]
    header = {
        **state_identity(engine.plan, state.rows.schema),
        "watermark": state.watermark,
        "rows": state.rows.num_rows,
        "arrays": shapes_of(arrays),
        "notes": dump.notes,
        "lineage": lineage,
    }
    return sealed(header, parts)


def sealed(header: Mapping[str, Any], parts: Sequence[bytes]) -> bytes:
    """Return a header and parts as bytes with a checksum; :func:`open_state` takes them apart."""
    told = {**header, "parts": [len(part) for part in parts]}
    text = json.dumps(told, separators=(",", ":")).encode()
    body = b"".join([_HEAD.pack(MAGIC, FORMAT, len(text)), text, *parts])
    return body + checksum_of(body)


@dataclass(frozen=True, slots=True)
class OpenedState:
    """The bytes of a state taken apart: as they were written, but not yet validated."""

    header: dict[str, Any]
    parts: list[bytes]
    arrays: dict[str, Array]

    @property
    def beside(self) -> dict[str, Array]:
        """The arrays that were written beside the state."""
        found = {name: array for name, array in self.arrays.items() if name.startswith(BESIDE)}
        return {name.removeprefix(BESIDE): array for name, array in found.items()}


def open_state(data: bytes) -> OpenedState:
    """Take the bytes of a state apart.

    Raises
    ------
    StateError
        If they are not a state, are damaged, or have a format that this version does not read.
    """
    header, parts = _open(data)
    arrays = _arrays(header["arrays"], from_message(parts[1], _row_schema(header["arrays"])))
    return OpenedState(header, parts, arrays)


def decode_state(engine: Engine, data: bytes, schema: pa.Schema) -> State:
    """Return the state that :func:`encode_state` has written for prepared batches with ``schema``.

    Raises
    ------
    StateError
        If the bytes are not a state, are damaged, have a format that this version does not read, or belong
        to something else.
    """
    return validated_state(engine, open_state(data), schema)


def check_whose(opened: OpenedState, plan: Plan, schema: pa.Schema) -> None:
    """Refuse, with a StateError, a state of another query, output, engine or schema."""
    check_identity(opened.header, state_identity(plan, schema))


def validated_state(
    engine: Engine, opened: OpenedState, schema: pa.Schema, kept_rows: pa.Table | None = None
) -> State:
    """Return what :func:`decode_state` does; ``kept_rows`` are its rows, if they were stored elsewhere."""
    header, parts, arrays = opened.header, opened.parts, dict(opened.arrays)
    check_identity(header, state_identity(engine.plan, schema))
    rows = kept_rows
    if rows is None:
        rows = rows_as_given(from_message(parts[0], plain_rows(schema.empty_table()).schema), schema)
    count = rows.num_rows
    if count != header["rows"]:
        raise StateError.damaged(f"it has {header['rows']} rows, and {count} are there")
    _check_rows(rows, engine.plan)
    read = array_of(arrays, "read", np.bool_, count)
    index = np.zeros(count, np.int64)
    if engine.plan.window.counts_events:
        index = array_of(arrays, "index", np.int64, count)
    waiting, chosen = (_matches(arrays, name, engine, count) for name in ("waiting", "chosen"))
    kept = {name.removeprefix("memory."): arrays.pop(name) for name in list(arrays) if "memory." in name}
    if any(not name.startswith(BESIDE) for name in arrays):
        raise StateError.damaged(f"it holds {next(iter(arrays))!r}, which this query does not keep")
    memory = engine.searcher.load(Dump(kept, header["notes"]), count)
    ends = _last_ends(parts[2:], engine.plan, schema)
    return State(rows, read, index, memory, waiting, chosen, header["watermark"], ends)


# --- header ---------------------------------------------------------------------------------------


def checksum_of(body: bytes) -> bytes:
    """Return the checksum that is written after bytes, so that any change of them is noticed."""
    return hashlib.blake2b(body, digest_size=CHECKSUM).digest()


def _open(data: bytes) -> tuple[dict[str, Any], list[bytes]]:
    """Return the header and the parts of a state whose bytes are as they were written."""
    if not data:
        raise StateError(
            "the saved state is empty: nothing was written there", remedy="Start again without it."
        )
    if not data.startswith(MAGIC):
        raise _no_state(data)
    if len(data) < _HEAD.size:
        raise StateError.damaged(f"it ends after {len(data)} bytes")
    _, version, length = _HEAD.unpack_from(data)
    _check_format(version)
    body, checksum = data[:-CHECKSUM], data[-CHECKSUM:]
    if len(data) < _HEAD.size + length + CHECKSUM or checksum_of(body) != checksum:
        raise StateError.damaged("its checksum does not match its bytes")
    try:
        header = json.loads(body[_HEAD.size : _HEAD.size + length])
        lengths = [int(size) for size in header["parts"]]
        known = header.keys() >= _FIELDS
        watermark = header["watermark"]
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise StateError.damaged("its header cannot be read") from error
    begin = _HEAD.size + length
    sound = known and len(lengths) in (2, 3) and min(lengths) >= 0 and begin + sum(lengths) == len(body)
    if not sound or not (watermark is None or _is_time(watermark)):
        raise StateError.damaged("its header does not match what follows")
    parts = []
    for size in lengths:
        parts.append(body[begin : begin + size])
        begin += size
    return header, parts


def _no_state(data: bytes) -> StateError:
    """Return the error for bytes that do not begin as a state does."""
    if MAGIC.startswith(data):
        return StateError.damaged(f"it ends after {len(data)} bytes")
    known = next((kind for begin, kind in _FOREIGN.items() if data.startswith(begin)), None)
    if known is None:
        return StateError(
            f"these bytes are not a saved state of Fyke: they begin with {data[: len(MAGIC)]!r}",
            remedy=f"Check the path, and whether something else has written there. {_START_AGAIN}",
        )
    return StateError(
        f"these bytes are {known}, and not a saved state of Fyke",
        remedy=f"Give the path of the state: another program has written this file. {_START_AGAIN}",
    )


def _check_format(version: int) -> None:
    """Refuse a state of a format that this version of Fyke does not read."""
    if version > FORMAT:
        raise StateError(
            f"the saved state has format {version}, and this version of Fyke reads formats up to {FORMAT}",
            remedy=f"Use the version of Fyke that wrote it, or a newer one. {_START_AGAIN}",
        )
    if version < _OLDEST:
        raise StateError(
            f"the saved state has format {version}, and this version of Fyke reads formats from {_OLDEST} on",
            remedy=f"Use the version of Fyke that wrote it, or an older one than this. {_START_AGAIN}",
        )


def _is_time(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63


def state_identity(plan: Plan, schema: pa.Schema) -> dict[str, str]:
    """Return what a state belongs to."""
    known = plan.schema
    ordering: tuple[object, ...] = (known.time, known.type_column, known.tie_breaker, known.unit, plan.split)
    if known.touching or plan.complete_windows:
        ordering += (known.touching, plan.complete_windows)
    digest = hashlib.blake2b(repr((_plain_columns(schema), ordering)).encode(), digest_size=8).hexdigest()
    return {"query": plan.fingerprint, "schema": digest, "engine": plan.engine, "output": plan.output}


@functools.lru_cache(maxsize=64)
def _plain_columns(schema: pa.Schema) -> list[tuple[str, str]]:
    return [(field.name, str(field.type)) for field in plain_rows(schema.empty_table()).schema]


def check_identity(
    header: Mapping[str, Any], own: Mapping[str, str], parts: str = "pattern, conditions, window or RETURN"
) -> None:
    """Refuse a state that belongs to something else, each with its own text."""
    if header["query"] != own["query"]:
        raise StateError(
            f"the saved state belongs to another query: its {parts} differ",
            remedy=f"Run the query that wrote it; layout, label and order of conditions do not matter. "
            f"{_START_AGAIN}",
        )
    if header["output"] != own["output"]:
        raise StateError(
            f"the saved state was made for output={header['output']!r}, and this is {own['output']!r}",
            remedy=f"Ask for the same output. {_START_AGAIN}",
        )
    if header["engine"] != own["engine"]:
        raise StateError(
            f"the saved state was made by engine {header['engine']!r}, and this plan uses {own['engine']!r}",
            remedy=f"Write engine={header['engine']!r}: every engine gives the same rows. {_START_AGAIN}",
        )
    if header["schema"] != own["schema"]:
        raise StateError(
            "the saved state is for events with another schema: columns that the query needs, their types, "
            "or the columns and options that order and divide the events differ",
            remedy=f"Give the events the schema they had. {_START_AGAIN}",
        )


# --- parts ----------------------------------------------------------------------------------------


def to_message(table: pa.Table) -> bytes:
    """Return the rows of a table as one message in Arrow's IPC format, without the schema before it."""
    if table.num_rows == 0:
        return b""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_OPTIONS) as writer:
        writer.write_batch(table.combine_chunks().to_batches()[0])
        end = sink.tell()
    return bytes(memoryview(sink.getvalue())[table.schema.serialize().size : end])


def from_message(part: bytes, schema: pa.Schema) -> pa.Table:
    """Return the rows of a message of :func:`to_message`; a StateError if Arrow cannot read it."""
    if not part:
        return schema.empty_table()
    try:
        batch = pa.ipc.open_stream(bytes(schema.serialize()) + part, options=_READING).read_next_batch()
        batch.validate(full=True)
    except (pa.ArrowException, OSError, StopIteration) as error:
        raise StateError.damaged(f"Arrow cannot read it ({error})") from error
    return pa.Table.from_batches([batch], schema)


def plain_rows(table: pa.Table) -> pa.Table:
    """Return a table without dictionaries: in a message they would be apart from the rows."""
    fields = [
        field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
        for field in table.schema
    ]
    plain = pa.schema([field.with_nullable(True).remove_metadata() for field in fields])
    return table.cast(plain)


def rows_as_given(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return rows in the schema of prepared batches: with the dictionaries that these have."""
    columns = [
        column.dictionary_encode().cast(field.type) if pa.types.is_dictionary(field.type) else column
        for column, field in zip(table.columns, schema, strict=True)
    ]
    return pa.table(columns, schema=schema)


def matches_to_message(matches: MatchSet) -> bytes:
    """Return matches as one message."""
    return to_message(as_row({field: getattr(matches, field) for field in _MATCHES}))


def matches_from_message(part: bytes) -> MatchSet:
    """Return the matches of a message; what they refer to is not checked.  A StateError if it has none."""
    kinds = (pa.int64(), pa.from_numpy_dtype(NUMBER), pa.int64(), pa.from_numpy_dtype(NUMBER))
    fields = [(name, pa.list_(kind)) for name, kind in zip(_MATCHES, kinds, strict=True)]
    row = from_message(part, pa.schema(fields))
    if row.num_rows != 1 or any(column.combine_chunks().flatten().null_count for column in row.columns):
        raise StateError.damaged("a chunk of its matches has another form")
    return MatchSet(*(column.combine_chunks().flatten().to_numpy().copy() for column in row.columns))


def shapes_of(arrays: Mapping[str, Array]) -> list[list[Any]]:
    """Return what a header says of arrays: their names, types and shapes."""
    return [[name, array.dtype.name, list(array.shape)] for name, array in arrays.items()]


def as_row(arrays: Mapping[str, Array]) -> pa.Table:
    """Return arrays as one row of lists."""
    columns = [
        pa.ListArray.from_arrays(pa.array([0, array.size], pa.int32()), pa.array(array.reshape(-1)))
        for array in arrays.values()
    ]
    return pa.table(columns, names=list(arrays))


def _row_schema(specs: Any) -> pa.Schema:
    try:
        fields = [(str(name), pa.list_(pa.from_numpy_dtype(_KINDS[kind]))) for name, kind, _ in specs]
    except (ValueError, TypeError, KeyError) as error:
        raise StateError.damaged("its arrays have an unknown type") from error
    return pa.schema(fields)


def _arrays(specs: Any, row: pa.Table) -> dict[str, Array]:
    """Return the arrays of a row of lists, in the shapes given in the header."""
    found: dict[str, Array] = {}
    for (name, kind, shape), column in zip(specs, row.columns, strict=True):
        values = column.combine_chunks().flatten()
        sizes = [int(size) for size in shape] if isinstance(shape, list) else []
        fits = len(sizes) in (1, 2) and min(sizes) >= 0 and int(np.prod(sizes)) == len(values)
        if row.num_rows != 1 or values.null_count or not fits or name in found:
            raise StateError.damaged(f"the array {name!r} does not fit its shape")
        found[name] = np.array(values.to_numpy(zero_copy_only=False), _KINDS[kind]).reshape(sizes)
    return found


def array_of(arrays: dict[str, Array], name: str, kind: Any, length: int) -> Array:
    """Take an array of a type and length out of those of a state; a StateError if it is not there."""
    array = arrays.pop(name, None)
    if array is None or array.dtype != kind or array.shape != (length,):
        raise StateError.damaged(f"the array {name!r} is missing or does not fit")
    return array


def _check_rows(rows: pa.Table, plan: Plan) -> None:
    """Refuse rows without a time or without roles."""
    for name in (plan.schema.start, plan.schema.end, ROLES):
        if rows.column(name).null_count:
            raise StateError.damaged(f"rows lack their {name!r}")


def _matches(arrays: dict[str, Array], name: str, engine: Engine, rows: int) -> MatchSet:
    """Return matches that wait, if every position and number fits these rows and this query."""
    if f"{name}.positions" not in arrays:
        return no_matches()
    found = MatchSet(*(arrays.pop(f"{name}.{field}", np.zeros(0)) for field in _MATCHES))
    check_matches(found, name, engine, rows)
    return found


def check_matches(found: MatchSet, name: str, engine: Engine, rows: int) -> None:
    """Refuse matches, with a StateError, that do not fit the query or so many rows."""
    kinds = (np.int64, NUMBER, np.int64, NUMBER)
    fields = (found.positions, found.variables, found.offsets, found.alternative)
    sound = all(a.ndim == 1 and a.dtype == kind for a, kind in zip(fields, kinds, strict=True))
    sound = sound and len(found.offsets) == len(found.alternative) + 1 >= 2
    sound = sound and len(found.positions) == len(found.variables) == found.offsets[-1]
    sound = sound and found.offsets[0] == 0 and bool((np.diff(found.offsets) > 0).all())
    limits = (
        (found.positions, rows),
        (found.variables, len(engine.compiled.names)),
        (found.alternative, len(engine.plan.alternatives)),
    )
    if not sound or any(bool(((a < 0) | (a >= end)).any()) for a, end in limits):
        raise StateError.damaged(f"its {name} matches refer to what is not there")


def _last_ends(parts: list[bytes], plan: Plan, schema: pa.Schema) -> pa.Table | None:
    """Return the ends of the last matches reported, by partition."""
    if not parts:
        return None
    kinds = [(name, schema.field(name).type) for name in plan.partition]
    table = from_message(parts[0], pa.schema([*kinds, ("end", pa.int64())]))
    if table.column("end").null_count:
        raise StateError.damaged("an end of a match is missing")
    return table
