"""Growth: the same matches from a file as from a table, and bars where they belong."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

import fyke
from bench import growth
from bench.peer_cases import OPTIONS
from bench.spark_floor import write_events


def test_a_file_read_in_batches_has_the_matches_of_its_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "events.parquet"
    write_events(file, 30_000)
    monkeypatch.setattr(growth, "BATCH", 7_000)
    whole = fyke.match(pq.read_table(file), f"{growth.SEQUENCE.query}", **OPTIONS)
    # The last window stays open: what is still uncertain at the end of the file is no match yet.
    certain = growth.in_batches(file).matches
    assert 0 < certain <= whole.num_rows
    assert whole.num_rows - certain < whole.num_rows / 2
    assert growth.at_once(file) == whole.num_rows


def test_bars_stand_at_ten_times_the_events_and_a_million_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "BATCH", 500)
    monkeypatch.setattr(growth, "AT_ONCE", 10_000)
    monkeypatch.setattr(growth, "MANY_BATCHES", 10)
    lines, plot = growth.of_events((1_000, 10_000, 100_000), 1)
    assert [(line.what.split(", ")[-1], line.bar) for line in lines] == [
        ("fyke.match on the file: time", 11.0),
        *[("in batches: time", 11.0)] * 2,
        ("in batches: peak memory", None),
        ("in batches: peak memory", 1.2),
    ]
    assert {name: len(points) for name, points in plot.curves.items()} == {"in batches": 3, "fyke.match": 2}
    lines, _ = growth.of_keys(2_000, (1, 1_000, 1_000_000), 1)
    assert {line.what: line.bar for line in lines} == {
        "1 keys / 1,000 keys: time": None,
        "1,000,000 keys / 1,000 keys: time": 1.5,
    }
