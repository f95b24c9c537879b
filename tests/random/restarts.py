"""A stream whose engine is made anew for every call, from the plan and the bytes of its state alone."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from fyke.engine.engine import Engine
from fyke.engine.partition_state import merge_states, part_of_rows, split_state
from fyke.engine.state import State
from fyke.engine.state_bytes import decode_state, encode_state
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
