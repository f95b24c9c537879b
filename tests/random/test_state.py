"""State is data: a fresh engine for every event, bytes and back, cut and joined by partition."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st

import fyke
from fyke.engine.input.order import times
from fyke.engine.state_bytes import (
    checksum_of,
    decode_state,
    encode_state,
    matches_from_message,
    matches_to_message,
)
from fyke.errors import LimitError, StateError
from fyke.language.ast import Strategy
from fyke.techniques import Techniques
from tests.golden.test_golden import CASES, IDS, GoldenCase, check, query_under
from tests.random.restarts import MemoryStore, RescaledStream, RestartedStream, StoredStream
from tests.random.results import difference
from tests.random.streams import Case, cases
from tests.random.test_advance import Stream, feed, in_one_batch, splits
from tests.random.test_engine_against_reference import SETTINGS

ENGINES = {
    Strategy.ANY: ("automaton", "lazy_chain", "lazy_tree", "tree"),
    Strategy.STRICT: ("automaton", "tree"),
}
SWITCHES = (Techniques(), Techniques(), Techniques(merging=False), Techniques(chunk=2, thresholds=(0, 0, -1)))


def engines_of(strategy: Strategy) -> tuple[str, ...]:
    return ENGINES.get(strategy, ("automaton",))


# What is run: a strategy, an engine that evaluates it, an output format.
Kind = tuple[Strategy, str, str]
KINDS: list[Kind] = [
    (strategy, engine, output)
    for strategy in Strategy
    for engine in engines_of(strategy)
    for output in ("all", "non_overlap", "compressed")
]


@st.composite
def runs_of(draw: st.DrawFn, kind: Kind | None = None) -> tuple[Case, dict[str, Any]]:
    """A case, with an engine, an output and switches under which it can run."""
    strategy, engine, output = kind or draw(st.sampled_from(KINDS))
    case = draw(cases(strategy, judged=False))
    assume(output != "compressed" or case.query.returns is None)
    return replace(case, output=output), {"engine": engine, "techniques": draw(st.sampled_from(SWITCHES))}


def stream_of(kind: type[Stream], case: Case, options: dict[str, Any], **more: Any) -> Any:
    named = {**case.order, **options, **more}
    return kind(case.table.schema, case.query, case.time, case.tie_breaker, case.output, **named)


def rows_of(stream: Stream) -> pa.Table:
    """Return all matches of a stream, one row each."""
    result = stream.result()
    if stream.output != "compressed":
        return result
    batches = list(fyke.enumerate_matches(result))
    return pa.Table.from_batches(batches) if batches else pa.table({})


def ids_of(rows: pa.Table) -> list[Any]:
    """Return the identifiers of matches, in order."""
    return sorted(rows["match_id"].to_pylist()) if rows.num_rows else []


def mismatch(stream: Stream, expected: pa.Table) -> str | None:
    """Say in what the matches of a stream are not those expected; of a compressed result by identifier."""
    if stream.output != "compressed":
        return difference(stream.result(), expected)
    found, wanted = ids_of(rows_of(stream)), ids_of(expected)
    return None if found == wanted else f"{found} instead of {wanted}"


@pytest.mark.parametrize("case, strategy", CASES, ids=IDS)
def test_golden_with_a_fresh_engine_for_every_event(case: GoldenCase, strategy: str) -> None:
    query = query_under(case, strategy)
    for engine in engines_of(query.strategy):
        stream = RestartedStream(
            case.table.schema,
            query,
            case.time,
            case.tie_breaker or None,
            case.output,
            engine=engine,
            type_column=case.type,
        )
        end = case.time if isinstance(case.time, str) else case.time[1]
        moments = case.table.column(end).to_numpy()
        for moment in np.unique(moments):
            rows = np.flatnonzero(moments == moment)
            for row in rows:  # every event by itself; those of one time are complete with the last
                stream.advance(case.table.take(pa.array([row])), int(moment) - (row != rows[-1]))
        stream.advance(case.table.slice(0, 0), None)
        check(case, strategy, stream.result())


@pytest.mark.parametrize("case, strategy", CASES, ids=IDS)
def test_golden_in_any_split_and_any_order_of_arrival(case: GoldenCase, strategy: str) -> None:
    """Micro-batches in which an event may be as late as the watermark allows, and state in a store."""
    query = query_under(case, strategy)
    end = case.time if isinstance(case.time, str) else case.time[1]
    moments = times(case.table.column(end))
    chance = np.random.default_rng(len(case.name) + len(strategy))
    for engine in engines_of(query.strategy):
        for parts in (2, 3, 5):
            watermarks = np.sort(chance.choice(moments, parts - 1))
            latest = np.searchsorted(watermarks, moments, "left")  # in later batches it would be late
            batch_of = chance.integers(0, latest + 1)
            stream = StoredStream(
                case.table.schema,
                query,
                case.time,
                case.tie_breaker or None,
                case.output,
                engine=engine,
                type_column=case.type,
            )
            for batch, watermark in enumerate([*watermarks.tolist(), None]):
                rows = chance.permutation(np.flatnonzero(batch_of == batch))
                stream.advance(case.table.take(pa.array(rows)), watermark)
            assert stream.late == 0
            check(case, strategy, stream.result())


def judge_restarts(examples: int, kind: Kind, *, derandomize: bool) -> None:
    matched = []

    @settings(SETTINGS, max_examples=examples, derandomize=derandomize)
    @given(st.data())
    def run(data: st.DataObject) -> None:
        case, options = data.draw(runs_of(kind))
        batches, watermarks = data.draw(splits(case))
        stream = stream_of(RestartedStream, case, options)
        plain = replace(case, output="all") if case.output == "compressed" else case
        try:
            feed(case, stream, batches, watermarks)
            expected = in_one_batch(plain, case.table)
        except LimitError:  # groups without a window explode, and not for all engines alike
            reject()
        wrong = mismatch(stream, expected)
        assert wrong is None, f"{options}: {wrong}"
        matched.append(expected.num_rows > 0)

    run()
    assert sum(matched) >= len(matched) / 6


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind[0].value}-{kind[1]}-{kind[2]}")
def test_a_fresh_engine_and_bytes_for_every_batch(kind: Kind) -> None:
    judge_restarts(8, kind, derandomize=True)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind[0].value}-{kind[1]}-{kind[2]}")
def test_a_fresh_engine_and_bytes_for_every_batch_for_long(kind: Kind) -> None:
    judge_restarts(60, kind, derandomize=False)


def judge_rescaling(examples: int, *, derandomize: bool) -> None:
    told, compressed = [], []

    @settings(SETTINGS, max_examples=examples, derandomize=derandomize)
    @given(st.data())
    def run(data: st.DataObject) -> None:
        case, options = data.draw(runs_of())
        options["techniques"] = Techniques()
        plan = stream_of(Stream, case, options).plan
        assume(plan.split and plan.reads_apart)
        assume(case.output != "non_overlap" or plan.split == plan.partition)
        batches, watermarks = data.draw(splits(case))
        calls = st.dictionaries(st.integers(0, len(watermarks)), st.integers(1, 5), min_size=1, max_size=4)
        stream = stream_of(RescaledStream, case, options, parts=data.draw(calls))
        packed = case.output == "compressed"
        plain = replace(case, output="all") if packed else case
        try:
            feed(case, stream, batches, watermarks)
            expected = in_one_batch(plain, case.table)
        except LimitError:  # as above
            reject()
        wrong = mismatch(stream, expected)
        assert wrong is None, f"{options} {stream.parts}: {wrong}"
        told.append(expected.num_rows > 0)
        compressed.append(packed and expected.num_rows > 0)

    run()
    assert len(told) >= examples / 2
    assert sum(told) >= len(told) / 3
    assert sum(compressed) >= len(told) / 20


def test_state_is_cut_and_joined_by_partition() -> None:
    judge_rescaling(60, derandomize=True)


@pytest.mark.long
def test_state_is_cut_and_joined_by_partition_for_long() -> None:
    judge_rescaling(500, derandomize=False)


def judge_stores(examples: int, *, derandomize: bool) -> None:
    """A stream that is called only when there is something to do reports the same matches, as early."""
    told, saved = [], 0

    @settings(SETTINGS, max_examples=examples, derandomize=derandomize)
    @given(st.data())
    def run(data: st.DataObject) -> None:
        nonlocal saved
        case, options = data.draw(runs_of())
        case = replace(case, output="all" if case.output == "compressed" else case.output)
        batches, watermarks = data.draw(splits(case))
        expected = in_one_batch(case, case.table)
        lazy, eager = (
            stream_of(StoredStream, case, options, eager=each, remembers=each) for each in (False, True)
        )
        try:
            for stream in (lazy, eager):
                feed(case, stream, batches, watermarks)
        except LimitError:  # an engine that makes more of a pattern without a window than others do
            reject()
        for early, here in zip(eager.found, lazy.found, strict=True):
            differing = difference(here, early)
            assert differing is None, f"{options}: {differing}"
        differing = difference(lazy.result(), expected)
        assert differing is None, f"{options}: {differing}"
        assert lazy.store.value is None or case.output == "non_overlap"
        assert lazy.store.value is not None or not lazy.store.stored
        told.append(expected.num_rows > 0)
        saved += eager.calls - lazy.calls

    run()
    assert sum(told) >= len(told) / 3
    assert saved >= examples / 30


def test_a_state_in_a_store() -> None:
    judge_stores(100, derandomize=True)


@pytest.mark.long
def test_a_state_in_a_store_for_long() -> None:
    judge_stores(2_000, derandomize=False)


def judge_written(window: int, step: int, keys: int) -> None:
    """What batches write after the first windows is bounded by what they bring and by what is alive."""
    where = "[k] AND a.x < b.x AND c.x = a.x"
    query = fyke.parse(f"PATTERN SEQ(A a, B b, ~C c) WHERE {{ {where} }} WITHIN {window}")
    rng, rows = np.random.default_rng(1), 100
    stream: StoredStream | None = None
    written, brought, held, runs = [], [], [], []
    for second in range(0, 11 * window // 10, step):
        batch = pa.table(
            {
                "kind": rng.choice(["A", "B", "C"], rows, p=[0.1, 0.1, 0.8]),
                "t": np.sort(rng.integers(second, second + step, rows)),
                "k": rng.integers(0, keys, rows),
                "x": rng.integers(0, 10, rows),
            }
        )
        stream = stream or StoredStream(batch.schema, query, "t", remembers=True)
        before = stream.store.written
        stream.advance(batch, second)
        written.append(stream.store.written - before)
        brought.append(batch.nbytes)
        held.append(stream.state.rows.nbytes)
        runs.append(sum(each.integers.nbytes + each.nodes.nbytes for each in stream.state.memory))
    assert stream is not None
    assert max(held) > 50 * max(brought)  # a window holds far more than a batch brings
    assert sum(written[-100:]) <= 3 * (sum(brought[-100:]) + sum(runs[-100:]))
    assert len(stream.store.stored) < 500  # chunks are dropped and merged
    assert any(found.num_rows for found in stream.found)


def test_a_batch_writes_what_it_brings_and_not_what_a_window_holds() -> None:
    judge_written(900, 10, keys=500)


@pytest.mark.long
def test_a_second_of_a_window_of_an_hour_writes_what_it_brings() -> None:
    judge_written(3_600, 1, keys=20_000)


# --- damage -----------------------------------------------------------------------------------------

QUERIES = {
    "automaton": "PATTERN SEQ(A a, B+ b[], ~C c) WHERE { [k] AND b[i].x > b[i-1].x AND b.len < 5 } WITHIN 9",
    "set": "PATTERN SEQ({A a, B b}, {A c, B d}) WHERE skip_till_any_match { [k] } WITHIN 40",
    "robust": "PATTERN SEQ(A a, B b, C c) WHERE robust_skip_till_next_match { [k] } WITHIN 40",
    "lazy_chain": "PATTERN SEQ(A a, B b, ~C c) WHERE skip_till_any_match { [k] AND a.x < b.x } WITHIN 40",
    "lazy_tree": "PATTERN SEQ(A a, B b, ~C c) WHERE skip_till_any_match { [k] AND a.x > b.x } WITHIN 40",
    "tree": "PATTERN SEQ(A a, B b, C c) WHERE skip_till_any_match { [k] AND a.x < b.x } WITHIN 40",
    "compressed": "PATTERN SEQ(A a, B+ b[], C c) WHERE skip_till_any_match { [k] } WITHIN 20",
    "greedy": "PATTERN SEQ(A a, B+ b[], C c) WHERE greedy_skip_till_next_match { [k] } WITHIN 40",
    "non_overlap": "PATTERN SEQ(A a, B b) WHERE { [k] } WITHIN 40",
    "events": "PATTERN SEQ(A a, B b, ~C c) WHERE { [k] } WITHIN 12 EVENTS",
}


def events_of(seed: int, rows: int = 60) -> pa.Table:
    drawn = np.random.default_rng(seed)
    return pa.table(
        {
            "kind": drawn.choice(["A", "B", "C"], rows),
            "t": np.sort(drawn.integers(0, rows, rows)),
            "k": drawn.integers(0, 3, rows),
            "x": drawn.integers(0, 10, rows),
        }
    )


def stream_for(name: str, seed: int = 1) -> tuple[Stream, pa.Table]:
    """Return a stream in its middle, and the events still to come."""
    table, query = events_of(seed), fyke.parse(QUERIES[name])
    engine = name if name in ("lazy_chain", "lazy_tree", "tree") else "automaton"
    output = name if name in ("non_overlap", "compressed") else "all"
    stream = Stream(table.schema, query, "t", output=output, engine=engine)
    stream.advance(table.slice(0, 30), 25)
    return stream, table.slice(30)


def outcome(stream: Stream, data: bytes, rest: pa.Table) -> list[Any]:
    """Return what comes of a state's bytes and the rest of the events."""
    schema = stream.state.rows.schema
    after = replace(stream)
    after.state = decode_state(after.door, data, schema)
    after.found = []
    after.advance(rest, None)
    return ids_of(rows_of(after))


def damaged(data: bytes, others: list[bytes], drawn: random.Random) -> bytes:
    """Return bytes with one thing wrong."""
    kind = drawn.randrange(6)
    at = drawn.randrange(len(data))
    if kind == 0:
        return data[:at] + bytes([data[at] ^ 1 << drawn.randrange(8)]) + data[at + 1 :]
    if kind == 1:
        return data[:at]
    if kind == 2:
        other = drawn.choice(others)
        return data[:at] + other[drawn.randrange(len(other)) :]
    if kind == 3:
        return drawn.choice(others)
    if kind == 4:
        return data[:at] + drawn.randbytes(drawn.randrange(1, 9)) + data[at:]
    return data[:at] + data[at + drawn.randrange(1, 50) :]


def judge_damage(examples: int) -> None:
    drawn = random.Random(2_026)
    streams = {name: stream_for(name) for name in QUERIES}
    written = {name: encode_state(stream.door, stream.state) for name, (stream, _) in streams.items()}
    expected = {name: outcome(stream, written[name], rest) for name, (stream, rest) in streams.items()}
    assert sum(map(bool, expected.values())) >= 5
    refused = 0
    for _ in range(examples):
        name = drawn.choice(list(QUERIES))
        stream, rest = streams[name]
        others = [data for other, data in written.items() if other != name]
        data = damaged(written[name], others, drawn)
        if data == written[name]:
            continue
        try:
            decode_state(stream.door, data, stream.state.rows.schema)
        except StateError:
            refused += 1
        else:
            assert outcome(stream, data, rest) == expected[name]
    assert refused >= 0.99 * examples


def test_damaged_states_are_refused() -> None:
    judge_damage(5_000)


@pytest.mark.long
def test_damaged_states_are_refused_for_long() -> None:
    judge_damage(200_000)


def test_every_changed_byte_is_noticed() -> None:
    stream, _ = stream_for("automaton")
    data = encode_state(stream.door, stream.state)
    for at in range(len(data)):
        changed = data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]
        with pytest.raises(StateError):
            decode_state(stream.door, changed, stream.state.rows.schema)


def stored_stream() -> tuple[StoredStream, pa.Table]:
    """Return a stream with several chunks of rows and of matches that wait, and the events still to come."""
    query = fyke.parse("PATTERN SEQ(A a, B b, ~C c) WHERE skip_till_any_match { [k] } WITHIN 40")
    table = events_of(3, 90)
    stream = StoredStream(table.schema, query, "t", engine="automaton")
    for at in range(0, 60, 10):
        stream.advance(table.slice(at, 10), at + 5)
    return stream, table.slice(60)


def test_damaged_chunks_are_refused() -> None:
    stream, rest = stored_stream()
    kept = dict(stream.store.stored)
    assert sum(number % 2 for number in kept) >= 2  # of matches, too
    small = stream.store.small()
    others = list(kept)
    drawn = random.Random(7)
    expected = sorted(replaced(stream, kept, small).advance(rest, None)["match_id"].to_pylist())
    assert expected
    refused = 0
    for turn in range(2_000):
        number = others[turn % len(others)]
        broken = dict(kept)
        broken[number] = damaged(kept[number], [kept[each] for each in others if each != number], drawn)
        if turn % 7 == 0:
            del broken[number]
        if broken == kept:
            continue
        with pytest.raises(StateError):
            replaced(stream, broken, small).advance(rest, None)
        refused += 1
    assert refused > 1_900


def test_chunks_with_a_fitting_checksum_are_validated() -> None:
    stream, rest = stored_stream()
    kept, small = dict(stream.store.stored), stream.store.small()
    number = next(number for number in kept if number % 2)
    found = matches_from_message(kept[number][:-16])
    for wrong in (
        replace(found, positions=found.positions + 10**6),
        replace(found, variables=found.variables + 9),
        replace(found, alternative=found.alternative + 9),
        replace(found, offsets=found.offsets[::-1].copy()),
        replace(found, offsets=found.offsets + 1),
        found.select(np.arange(len(found)) > 0),
    ):
        message = matches_to_message(wrong)
        broken = {**kept, number: message + checksum_of(number.to_bytes(8, "little") + message)}
        with pytest.raises(StateError):
            replaced(stream, broken, small).advance(rest, None)


def replaced(stream: StoredStream, chunks: dict[int, bytes], small: bytes | None) -> StoredStream:
    """Return the stream as another process would find it, with these chunks."""
    store = MemoryStore(small, dict(chunks))
    return replace(stream, store=store, found=[], known=None)
