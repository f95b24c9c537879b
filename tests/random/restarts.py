"""A stream whose engine is made anew for every call, from the plan and the bytes of its state alone."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from fyke.engine.engine import Engine
from fyke.engine.input.prepare import prepare
from fyke.engine.partition_state import merge_states, part_of_rows, split_state
from fyke.engine.state import State
from fyke.engine.state_bytes import decode_state, encode_state
from fyke.engine.stored_state import Held, StoredStates, next_call
from tests.random.test_advance import Stream


@dataclass
class RestartedStream(Stream):
    """Before every call the state is written down, the engine dropped, and both are made anew."""

    written: list[bytes] = field(default_factory=list)

    def advance(self, batch: pa.Table, watermark: int | None) -> pa.Table:
        self.written.append(encode_state(self.door, self.state))
        self.door = Engine(self.plan)
        self.state = decode_state(self.door, self.written[-1], self.state.rows.schema)
        return super().advance(batch, watermark)


@dataclass
class RescaledStream(Stream):
    """At given calls the state is merged and cut into another number of parts, which go on by themselves."""

    parts: dict[int, int] = field(default_factory=dict)
    states: list[State] = field(default_factory=list)
    calls: int = 0

    def advance(self, batch: pa.Table, watermark: int | None) -> pa.Table:
        self.states = self.states or [self.state]
        if self.calls in self.parts:
            whole = merge_states(self.door, self.states)
            self.states = split_state(self.door, whole, self.parts[self.calls])
        self.calls += 1
        found, part_of = [], part_of_rows(batch, self.plan.split, len(self.states))
        for part, state in enumerate(self.states):
            self.state = state
            found.append(super().advance(batch.filter(pa.array(part_of == part)), watermark))
            self.states[part] = self.state
        return pa.concat_tables(found)


class MemoryStore:
    """A store in memory that counts the bytes written to it."""

    def __init__(self, value: bytes | None = None, stored: dict[int, bytes] | None = None) -> None:
        self.value = value
        self.stored = stored or {}
        self.written = 0

    def small(self) -> bytes | None:
        return self.value

    def set_small(self, data: bytes | None) -> None:
        self.value = data
        self.written += len(data or b"")

    def chunks(self) -> dict[int, bytes]:
        return self.stored

    def add_chunk(self, number: int, data: bytes) -> None:
        assert number not in self.stored
        self.stored[number] = data
        self.written += len(data)

    def drop_chunk(self, number: int) -> None:
        del self.stored[number]


@dataclass
class StoredStream(Stream):
    """The state lives in a store; the engine is called only with rows, or when there is something to do."""

    store: MemoryStore = field(default_factory=MemoryStore)
    eager: bool = False
    remembers: bool = False
    known: Held | None = None
    wake: int | None = None
    calls: int = 0

    def advance(self, batch: pa.Table, watermark: int | None) -> pa.Table:
        rows = prepare(batch, self.plan)
        due = watermark is None or (self.wake is not None and watermark >= self.wake)
        if not rows.num_rows and not due and not self.eager:
            self.found.append(self.builder.schema.empty_table())
            return self.found[-1]
        self.calls += 1
        states = StoredStates(Engine(self.plan), rows.schema)
        held = states.load(self.store, self.known)
        after, found = states.advance(held, rows, watermark)
        self.late += found.counters.late_rows
        self.wake = next_call(states.engine, after)
        held, _ = states.save(self.store, held, after)
        self.known = held if self.remembers else None
        self.state = held.state
        self.found.append(self.builder.rows(found))
        return self.found[-1]
