"""Long tables on several threads: how they are cut, what limits and counts mean then, and odd input."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from time import perf_counter

import numpy as np
import pyarrow as pa
import pytest

import fyke
from fyke.engine import cut, threads
from fyke.errors import LimitError, OptionError

KEYED = "PATTERN SEQ(A a, B b, C c) WHERE skip_till_next_match { [k] AND a.v < c.v } WITHIN 40"
KEYLESS = "PATTERN SEQ(A a, ~D d, B b, C c) WHERE skip_till_any_match { a.v < b.v } WITHIN 10"
COUNTED = "PATTERN SEQ(A a, B+ b[], C c) WHERE skip_till_next_match { [k] } WITHIN 6 EVENTS"
STREAK = "PATTERN A+ a[] WHERE greedy_strict_contiguity { a[i].v > a[i-1].v } WITHIN 9"
LONG = KEYED.replace("WITHIN 40", "WITHIN 90000")  # longer than the data
OPTIONS = {"time": "at", "type": "kind"}


@pytest.fixture
def short_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut tables of a thousand rows."""
    monkeypatch.setattr(cut, "LEAST_ROWS", 1_000)
    monkeypatch.setattr(cut, "PIECE_ROWS", 250)


def events(rows: int, keys: int = 20, *, hot: float = 0.0, ordered: bool = True) -> pa.Table:
    random = np.random.default_rng(rows + keys)
    key = np.where(random.random(rows) < hot, 3, random.integers(0, keys, rows))
    at = np.arange(rows) // 2
    return pa.table(
        {
            "kind": pa.array(np.array(list("ABCDE"))[random.integers(0, 5, rows)]),
            "k": key,
            "v": random.random(rows),
            "at": at if ordered else random.permutation(at),
        }
    )


def whole(table: pa.Table, query: str, **options: object) -> pa.Table:
    """Return the rows of a table that is not cut."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cut, "LEAST_ROWS", 2**60)
        return fyke.match(table, query, **OPTIONS, **options)


def pieces(table: pa.Table, query: str) -> list[cut.Piece]:
    call = fyke.api.make_call(fyke.api.take_events(table), fyke.api.check_options(query, **OPTIONS))
    return call._reader(call.plan(), table, None).cut.pieces  # type: ignore[union-attr]


def ids(table: pa.Table) -> list[str]:
    return sorted(table["match_id"].to_pylist())


INPUTS = {
    "in order": events(5_000),
    "unsorted": events(5_000, ordered=False),
    "one hot key": events(5_000, hot=0.8),
    "one key has everything": events(5_000, keys=1),
    "a million keys": events(5_000, keys=10**6),
    "no two of a key": events(5_000).set_column(1, "k", pa.array(np.arange(5_000))),
    "all at one time": events(300).set_column(3, "at", pa.array(np.zeros(300, np.int64))),
    "tiny": events(3),
    "empty": events(0),
    "keys that are null": events(5_000).set_column(
        1, "k", pa.array([None if k % 3 else k for k in range(5_000)])
    ),
}


@pytest.mark.usefixtures("short_pieces")
@pytest.mark.parametrize("query", [KEYED, KEYLESS, COUNTED, STREAK, LONG])
@pytest.mark.parametrize("name", INPUTS)
def test_every_number_of_threads_gives_the_same_rows_in_the_same_order(name: str, query: str) -> None:
    table = INPUTS[name]
    one = fyke.match(table, query, threads=1, **OPTIONS)
    for number in (2, 5):
        assert fyke.match(table, query, threads=number, **OPTIONS).equals(one)
    assert ids(one) == ids(whole(table, query))
    batches = [batch for batch in fyke.match_batches(table, query, **OPTIONS) if batch.num_rows]
    assert [each for batch in batches for each in batch["match_id"].to_pylist()] == one[
        "match_id"
    ].to_pylist()


@pytest.mark.usefixtures("short_pieces")
def test_keys_are_hashed_and_hot_ones_sliced_by_time() -> None:
    found = pieces(events(5_000, hot=0.8), KEYED)
    assert sum(not each.sliced for each in found) > 1
    assert sum(each.sliced for each in found) > 3
    assert all(not each.sliced for each in pieces(events(5_000), KEYED))
    assert all(each.sliced for each in pieces(events(5_000), KEYLESS))


@pytest.mark.usefixtures("short_pieces")
@pytest.mark.parametrize(
    "query",
    [
        KEYLESS.replace("WITHIN 10", "WITHIN 5000"),  # longer than the data
        KEYLESS.replace("WITHIN 10", ""),
        COUNTED.replace("[k]", "a.v > 0").replace("6 EVENTS", "6000 EVENTS"),
    ],
)
def test_what_no_time_divides_is_one_piece(query: str) -> None:
    table = events(1_200).filter(pa.array(np.arange(1_200) % 12 == 0))
    table = pa.concat_tables([table] * 20)
    assert len(pieces(table.set_column(3, "at", pa.array(np.arange(2_000))), query)) == 1


def test_a_short_table_is_not_cut() -> None:
    assert len(pieces(events(5_000), KEYED)) == 1


@pytest.mark.usefixtures("short_pieces")
@pytest.mark.parametrize("query", [KEYED, KEYLESS, COUNTED])
def test_counts_are_the_same_for_every_number_of_threads(query: str) -> None:
    table, counts = events(5_000, hot=0.5), []
    for number in (1, 3):
        metrics = fyke.Metrics()
        fyke.match(table, query, threads=number, metrics=metrics, **OPTIONS)
        counts.append({name: n for name, n in metrics.get().items() if not name.startswith("seconds")})
    assert counts[0] == counts[1]
    metrics = fyke.Metrics()
    whole(table, query, metrics=metrics)
    for name in ("rows", "events_read", "events_filtered", "tied_rows", "tied_successors", "matches"):
        assert counts[0][name] == metrics.get()[name], name


@pytest.mark.usefixtures("short_pieces")
@pytest.mark.parametrize("number", [1, 3])
@pytest.mark.parametrize(
    "limit, value", [("matches", 300), ("steps", 5_000), ("buffer_bytes", 100_000), ("seconds", 1e-9)]
)
def test_limits_hold_for_all_pieces_together(number: int, limit: str, value: float) -> None:
    """No piece alone reaches them."""
    query = "PATTERN SEQ(A a, B b, C c) WHERE skip_till_any_match { a.v < b.v } WITHIN 10"
    assert len(pieces(events(5_000), query)) > 5
    options = {**OPTIONS, "threads": number, "engine": "automaton"}
    with pytest.raises(LimitError, match=f"limit '{limit}' of .* was exceeded in the whole input"):
        fyke.match(events(5_000), query, limits=fyke.Limits(**{limit: value}), **options)
    assert fyke.match(events(900), query, **options).num_rows > 0


@pytest.mark.usefixtures("short_pieces")
def test_an_interrupt_ends_all_threads() -> None:
    """The search would take minutes."""
    query = "PATTERN SEQ(A a, B b, C c, D d, E e, A f, B g) WHERE skip_till_any_match { a.v < g.v } WITHIN 60"
    limits = fyke.Limits(steps=2**62, matches=2**62, buffer_bytes=2**62)
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    begin = perf_counter()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        fyke.match(events(20_000), query, threads=2, limits=limits, engine="automaton", **OPTIONS)
    assert perf_counter() - begin < 60
    assert not [each for each in threading.enumerate() if each.name.startswith("fyke")]


@pytest.mark.parametrize("number", [0, -1, 1.5, True, "2"])
def test_a_number_of_threads_that_is_none(number: object) -> None:
    with pytest.raises(OptionError, match="threads must be a whole number above zero, found"):
        fyke.match(events(3), KEYED, threads=number, **OPTIONS)  # type: ignore[arg-type]


def test_the_environment_says_how_many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FYKE_THREADS", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(12)), raising=False)
    monkeypatch.setattr(threads, "_GROUP", Path("nowhere"))
    assert threads.usual_threads() == 12
    monkeypatch.setenv("OMP_NUM_THREADS", "4,2")
    assert threads.usual_threads() == 4
    monkeypatch.setenv("FYKE_THREADS", "7")
    assert threads.usual_threads() == 7
    monkeypatch.setenv("FYKE_THREADS", "many")
    with pytest.raises(OptionError, match="FYKE_THREADS must be a whole number above zero, found 'many'"):
        fyke.match(events(3), KEYED, **OPTIONS)


@pytest.mark.parametrize("quota, cores", [("150000 100000", 2), ("max 100000", 12), ("nonsense", 12)])
def test_a_container_has_a_share_of_the_cores(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, quota: str, cores: int
) -> None:
    monkeypatch.delenv("FYKE_THREADS", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    (tmp_path / "cpu.max").write_text(quota)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(12)), raising=False)
    monkeypatch.setattr(threads, "_GROUP", tmp_path)
    assert threads.usual_threads() == cores


PIECES = {
    "by k; a hot key by time, with a window of overlap": (KEYED, "all"),
    "by time, with a window of overlap on both sides": (KEYLESS, "all"),
    "by k; a hot key is not cut: which matches overlap depends on all that came before": (
        KEYED,
        "non_overlap",
    ),
    "one: without WITHIN a match may be of any length": (KEYLESS.replace("WITHIN 10", ""), "all"),
}


@pytest.mark.parametrize("text", PIECES)
def test_explain_says_how_a_table_is_cut(text: str) -> None:
    query, output = PIECES[text]
    assert f"\n  pieces   {text}\n" in fyke.explain(events(100), query, output=output, **OPTIONS)
