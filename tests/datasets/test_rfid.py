"""The planted shoplifters are exactly those the query finds, by a check that knows nothing of the plan."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from fyke.datasets import rfid


def find_shoplifters(table: pa.Table) -> Counter[int]:
    """Return the matches of each tag: a Shelf reading, the next Exit, no Register between, 12 hours."""
    readings: dict[int, list[tuple[datetime, str]]] = {}
    for row in table.to_pylist():
        readings.setdefault(row["tag_id"], []).append((row["ts"], row["kind"]))
    found: Counter[int] = Counter()
    for tag, events in readings.items():
        for picked in (time for time, kind in events if kind == "Shelf"):
            exits = [time for time, kind in events if kind == "Exit" and time > picked]
            if not exits or min(exits) - picked > timedelta(hours=12):
                continue
            left = min(exits)
            if not any(kind == "Register" and picked < time < left for time, kind in events):
                found[tag] += 1
    return found


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("options", [{}, {"shoplifted": 0.3, "readings_per_tag": 6, "days": 0.1}])
def test_the_truth_is_what_the_query_finds(seed: int, options: dict[str, Any]) -> None:
    shop = rfid.generate(4_000, seed, **options)
    truth = shop.truth.to_pydict()
    assert find_shoplifters(shop.table) == dict(zip(truth["tag_id"], truth["matches"], strict=True))


def test_the_truth_gives_the_times_of_the_theft() -> None:
    shop = rfid.generate(4_000)
    rows = shop.table.to_pylist()
    for theft in shop.truth.to_pylist():
        times = {
            kind: [row["ts"] for row in rows if row["tag_id"] == theft["tag_id"] and row["kind"] == kind]
            for kind in ("Shelf", "Exit")
        }
        assert theft["picked"] == min(times["Shelf"])
        assert [theft["left"]] == times["Exit"]
        assert theft["matches"] == len(times["Shelf"])


def test_relevant_readings_of_a_tag_have_different_times() -> None:
    relevant = [
        (row["tag_id"], row["ts"])
        for row in rfid.generate(8_000).table.to_pylist()
        if row["kind"] in ("Shelf", "Register", "Exit")
    ]
    assert len(set(relevant)) == len(relevant)


def test_every_decoy_is_there() -> None:
    shop = rfid.generate(20_000, shoplifted=0.05)
    stories: dict[int, list[dict[str, Any]]] = {}
    for row in shop.table.to_pylist():
        if row["kind"] in ("Shelf", "Register", "Exit"):
            stories.setdefault(row["tag_id"], []).append(row)
    stolen = set(shop.truth["tag_id"].to_pylist())
    shapes = Counter(
        (tag in stolen, "".join(row["kind"][0] for row in story)) for tag, story in stories.items()
    )
    assert shapes[False, "SRE"] > 0.2 * len(stories), "bought"
    assert shapes[False, "RS"] > 0, "returned, and stays"
    assert shapes[True, "RSE"] > 0, "returned, then stolen"
    assert shapes[False, "SE"] > 0, "left unpaid after more than 12 hours"
    assert shapes[False, "SS"] > 0, "put back"
    assert len(stolen) == round(0.05 * len(stories))


def test_no_shoplifters_on_request() -> None:
    shop = rfid.generate(4_000, shoplifted=0.0)
    assert shop.truth.num_rows == 0
    assert not find_shoplifters(shop.table)


def test_columns_fit_one_another() -> None:
    for row in rfid.generate(2_000).table.to_pylist():
        assert row["area"].startswith(row["kind"].lower() + "-")
