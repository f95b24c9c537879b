"""The planted contaminations are exactly those the query finds, by a walk over the shipments."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest

from fyke.datasets import food


def find_matches(table: pa.Table) -> list[tuple[int, int, int]]:
    """Return (alert, last shipment, hops) of every path of shipments from a contaminated site."""
    rows = table.to_pylist()
    shipments: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if row["kind"] == "Shipment":
            shipments.setdefault(row["from"], []).append(row)
    found = []
    for alert in rows:
        if alert["kind"] != "Alert" or alert["type"] != "contaminated":
            continue
        paths = [(alert["site"], alert["ts"], 0)]
        while paths:
            place, time, hops = paths.pop()
            for shipment in shipments.get(place, ()):
                if time < shipment["ts"] <= alert["ts"] + timedelta(hours=3):
                    found.append((alert["id"], shipment["id"], hops + 1))
                    paths.append((shipment["to"], shipment["ts"], hops + 1))
    return found


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("options", [{}, {"contaminations": 200, "hops": 8, "sites": 5}, {"hops": 1}])
def test_the_truth_is_what_the_query_finds(seed: int, options: dict[str, Any]) -> None:
    chain = food.generate(4_000, seed, **options)
    truth = [(row["alert"], row["shipment"], row["hops"]) for row in chain.truth.to_pylist()]
    assert truth
    assert sorted(find_matches(chain.table)) == sorted(truth)


def test_contaminations_branch_and_chain() -> None:
    chain = food.generate(20_000, contaminations=500)
    hops = chain.truth["hops"].to_pylist()
    shipments: dict[int, int] = {}
    for alert in chain.truth["alert"].to_pylist():
        shipments[alert] = shipments.get(alert, 0) + 1
    assert len(shipments) == 500
    assert set(shipments.values()) == {1, 2, 3, 4, 5}
    assert max(hops) == 5
    deepest = {
        alert: max(row["hops"] for row in chain.truth.to_pylist() if row["alert"] == alert)
        for alert in list(shipments)[:50]
    }
    assert any(deepest[alert] < shipments[alert] for alert in deepest), "some branch"


def test_decoys_and_noise_are_there() -> None:
    chain = food.generate(5_000, contaminations=20)
    rows = chain.table.to_pylist()
    contaminated = [row["id"] for row in rows if row["type"] == "contaminated"]
    assert len(contaminated) == 40
    assert len(set(chain.truth["alert"].to_pylist())) == 20
    others = [row for row in rows if row["type"] in ("delayed", "recalled")]
    assert 0.01 < len(others) / len(rows) < 0.03


def test_no_contamination_on_request() -> None:
    chain = food.generate(1_000, contaminations=0)
    assert chain.truth.num_rows == 0
    assert not find_matches(chain.table)


def test_columns_are_null_where_they_have_no_meaning() -> None:
    for row in food.generate(1_000).table.to_pylist():
        alert = row["kind"] == "Alert"
        missing = {column for column, value in row.items() if value is None}
        assert missing == ({"from", "to"} if alert else {"site", "type"})
