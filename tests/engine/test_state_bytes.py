"""The bytes of a state: what each refusal says, and that every format ever written can still be read.

``states/v1/*.state`` were written by format 1 and are never written anew.  When the format changes, the new
version gets a folder of its own (``python -m tests.engine.test_state_bytes v2``), and the old ones stay.
For a new query the same command writes the file that the folder lacks.
"""

from __future__ import annotations

import gzip
import json
import pickle
import struct
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import fyke
from fyke.engine.state_bytes import FORMAT, checksum_of, decode_state, encode_state
from fyke.errors import StateError
from tests.random.test_advance import Stream
from tests.random.test_state import QUERIES, ids_of, outcome, rows_of, stream_for

STATES = Path(__file__).parent / "states"
WRITTEN = sorted(STATES.glob("*/*.state"))


def refusal(stream: Stream, data: bytes, schema: pa.Schema | None = None) -> str:
    with pytest.raises(StateError) as caught:
        decode_state(stream.door, data, schema or stream.state.rows.schema)
    return str(caught.value)


def written(name: str = "automaton") -> tuple[Stream, bytes]:
    stream, _ = stream_for(name)
    return stream, encode_state(stream.door, stream.state)


def test_an_empty_file() -> None:
    stream, _ = written()
    assert refusal(stream, b"") == (
        "the saved state is empty: nothing was written there\nStart again without it."
    )


def arrow_stream() -> bytes:
    sink = pa.BufferOutputStream()
    table = pa.table({"x": [1]})
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize(
    "data, what",
    [
        (b"PAR1" + b"\0" * 100, "a Parquet file"),
        (arrow_stream(), "an Arrow stream"),
        (pickle.dumps({"state": 1}), "a pickle"),
        (gzip.compress(b"state"), "a gzip file"),
        (b'{"offset": 1}', "JSON"),
    ],
)
def test_bytes_of_another_program(data: bytes, what: str) -> None:
    stream, _ = written()
    assert refusal(stream, data) == (
        f"these bytes are {what}, and not a saved state of Fyke\n"
        "Give the path of the state: another program has written this file. Or start again without it."
    )


@pytest.mark.parametrize("data", [b"hello", bytes(range(256))])
def test_random_bytes(data: bytes) -> None:
    stream, _ = written()
    assert refusal(stream, data) == (
        f"these bytes are not a saved state of Fyke: they begin with {data[:8]!r}\n"
        "Check the path, and whether something else has written there. Or start again without it."
    )


@pytest.mark.parametrize("length", [1, 5, 8, 13])
def test_a_state_of_which_only_the_begin_is_left(length: int) -> None:
    stream, data = written()
    assert refusal(stream, data[:length]) == (
        f"the saved state is damaged: it ends after {length} bytes\n"
        "Restore it from a copy, or start again without it."
    )


def test_a_newer_format() -> None:
    stream, data = written()
    newer = data[:8] + struct.pack("<H", FORMAT + 1) + data[10:]
    assert refusal(stream, newer) == (
        f"the saved state has format {FORMAT + 1}, and this version of Fyke reads formats up to {FORMAT}\n"
        "Use the version of Fyke that wrote it, or a newer one. Or start again without it."
    )


def test_an_older_format() -> None:
    stream, data = written()
    assert refusal(stream, data[:8] + struct.pack("<H", 0) + data[10:]) == (
        "the saved state has format 0, and this version of Fyke reads formats from 1 on\n"
        "Use the version of Fyke that wrote it, or an older one than this. Or start again without it."
    )


def test_another_query() -> None:
    _, data = written("automaton")
    stream, _ = written("set")
    assert refusal(stream, data) == (
        "the saved state belongs to another query: its pattern, conditions, window or RETURN differ\n"
        "Run the query that wrote it; layout, label and order of conditions do not matter. "
        "Or start again without it."
    )


def test_the_same_query_in_another_layout() -> None:
    stream, data = written("lazy_chain")
    text = QUERIES["lazy_chain"].replace("[k] AND a.x < b.x", "a.x < b.x\n AND [k]")
    other = Stream(stream.schema, fyke.parse(text), "t", engine="lazy_chain")
    assert decode_state(other.door, data, stream.state.rows.schema).rows == stream.state.rows


def test_another_engine() -> None:
    stream, data = written("lazy_chain")
    other = Stream(stream.schema, stream.query, "t", engine="tree")
    assert refusal(other, data) == (
        "the saved state was made by engine 'lazy_chain', and this plan uses 'tree'\n"
        "Write engine='lazy_chain': every engine gives the same rows. Or start again without it."
    )


def test_another_output() -> None:
    stream, data = written("non_overlap")
    other = Stream(stream.schema, stream.query, "t")
    assert refusal(other, data) == (
        "the saved state was made for output='non_overlap', and this is 'all'\n"
        "Ask for the same output. Or start again without it."
    )


def test_another_schema() -> None:
    stream, data = written()
    fields = [pa.field("x", pa.float64()) if f.name == "x" else f for f in stream.schema]
    other = Stream(pa.schema(fields), stream.query, "t")
    assert refusal(other, data, other.state.rows.schema) == (
        "the saved state is for events with another schema: columns that the query needs, their types, or "
        "the columns and options that order and divide the events differ\n"
        "Give the events the schema they had. Or start again without it."
    )


@pytest.mark.parametrize("option", [{"touching": "before"}, {"complete_windows": True}])
def test_another_order_or_other_windows(option: dict[str, Any]) -> None:
    stream, data = written()
    other = Stream(stream.schema, stream.query, "t", **option)
    assert refusal(other, data).startswith("the saved state is for events with another schema")


def test_a_truncated_state() -> None:
    stream, data = written()
    assert refusal(stream, data[:-1]) == (
        "the saved state is damaged: its checksum does not match its bytes\n"
        "Restore it from a copy, or start again without it."
    )


def forged(data: bytes, change: Callable[[dict[str, object]], None]) -> bytes:
    """Return a state with another header and a checksum that fits: only validation can notice."""
    length = struct.unpack_from("<I", data, 10)[0]
    header = json.loads(data[14 : 14 + length])
    change(header)
    text = json.dumps(header).encode()
    body = data[:10] + struct.pack("<I", len(text)) + text + data[14 + length : -16]
    return body + checksum_of(body)


@pytest.mark.parametrize(
    "change",
    [
        lambda header: header.update(arrays=header["arrays"][:-1]),
        lambda header: header.update(arrays=[["read", "int64", [3]], *header["arrays"][1:]]),
        lambda header: header.update(arrays=[[n, k, [2, *s]] for n, k, s in header["arrays"]]),
        lambda header: header.update(parts=[5, *header["parts"][1:]]),
        lambda header: header.update(parts=[]),
        lambda header: header.update(watermark="yesterday"),
        lambda header: header.update(watermark=2**80),
        lambda header: header.update(notes=["more"]),
        lambda header: header.pop("arrays"),
    ],
)
def test_a_forged_header_is_refused(change: Callable[[dict[str, object]], None]) -> None:
    stream, data = written()
    assert refusal(stream, forged(data, change)).startswith("the saved state is damaged: ")


@pytest.mark.parametrize("name", ["automaton", "set", "events"])  # a robust search saves no runs
def test_positions_that_are_not_there_are_refused(name: str) -> None:
    stream, _ = stream_for(name)
    memory = list(stream.state.memory)
    tried = 0
    for field in ("integers", "nodes", "states"):
        array = getattr(memory[0], field)
        for column in range(array.shape[1] if len(array) else 0):
            wrong = array.copy()
            wrong[:, column] = 2**40
            state = replace(stream.state, memory=(replace(memory[0], **{field: wrong}),))
            data = encode_state(stream.door, state)
            try:
                outcome(stream, data, stream.schema.empty_table())
            except StateError:
                tried += 1
    assert tried >= 5


def test_waiting_matches_are_checked() -> None:
    stream, _ = stream_for("automaton")
    waiting = stream.state.waiting
    assert len(waiting)
    for wrong in (
        replace(waiting, positions=waiting.positions + 10_000),
        replace(waiting, variables=waiting.variables + 100),
        replace(waiting, alternative=waiting.alternative - 1),
        replace(waiting, offsets=waiting.offsets[::-1].copy()),
    ):
        data = encode_state(stream.door, replace(stream.state, waiting=wrong))
        assert refusal(stream, data).startswith("the saved state is damaged: its waiting matches")


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: f"{path.parent.name} {path.stem}")
def test_states_of_every_format_are_read(path: Path) -> None:
    stream, rest = stream_for(path.stem)
    expected = outcome(stream, encode_state(stream.door, stream.state), rest)
    reported = ids_of(rows_of(stream))
    # A state of an earlier version also holds the matches that this one reports sooner.
    found = [each for each in outcome(stream, path.read_bytes(), rest) if each not in reported]
    assert found == expected
    assert expected


def test_the_current_format_has_its_states() -> None:
    assert {path.stem for path in WRITTEN if path.parent.name == f"v{FORMAT}"} == QUERIES.keys()


def test_an_idle_state_costs_nothing() -> None:
    stream, rest = stream_for("automaton")
    stream.advance(rest, 10_000)
    assert stream.state.idle
    assert len(encode_state(stream.door, stream.state)) < 1_000


if __name__ == "__main__":
    folder = STATES / sys.argv[1]
    folder.mkdir(exist_ok=True)
    for query in QUERIES:
        target = folder / f"{query}.state"
        if not target.exists():
            running, _ = stream_for(query)
            target.write_bytes(encode_state(running.door, running.state))
