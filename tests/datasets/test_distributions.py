"""The streams without planted answers have the distributions their papers describe."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from itertools import pairwise

import numpy as np
import pyarrow.compute as pc
import pytest

from fyke.datasets import chemo, companies, regions, stocks


@pytest.mark.parametrize("rising", [0.7, 0.5, 0.9])
def test_stock_prices_walk_by_one_on_a_ring(rising: float) -> None:
    table = stocks.generate(40_000, rising=rising)
    assert pc.min_max(table["price"]).as_py() == {"min": 1, "max": 1000}
    assert pc.min_max(table["volume"]).as_py() == {"min": 1, "max": 1000}
    steps: Counter[int] = Counter()
    for symbol in (1, 2):
        prices = table.filter(pc.equal(table["symbol"], symbol))["price"].to_pylist()
        assert abs(len(prices) - 20_000) < 600
        steps.update((after - before + 500) % 1000 - 500 for before, after in pairwise(prices))
    assert set(steps) == {-1, 0, 1}
    assert steps[1] / 40_000 == pytest.approx(rising, abs=0.01)
    assert steps[-1] / 40_000 == pytest.approx((1 - rising) / 2, abs=0.01)
    assert steps[0] / 40_000 == pytest.approx((1 - rising) / 2, abs=0.01)


def test_stock_ticks_of_many_symbols_walk_by_themselves() -> None:
    table = stocks.generate(20_000, symbols=50, seconds=0.5)
    for symbol in range(1, 51):
        prices = table.filter(pc.equal(table["symbol"], symbol))["price"].to_pylist()
        assert all((after - before) % 1000 in (0, 1, 999) for before, after in pairwise(prices))
    times = table["ts"].to_pylist()
    assert times[1] - times[0] == timedelta(seconds=0.5)


@pytest.mark.parametrize("skewed,pair", [("first", 0), ("middle", 2), ("last", 4)])
@pytest.mark.parametrize("ratio", [10.0, 0.1])
def test_a_skewed_pair_of_companies(skewed: companies.Part, pair: int, ratio: float) -> None:
    table = companies.generate(60_000, skewed=skewed, ratio=ratio)
    counts = Counter(table["name"].to_pylist())
    whole = 4 + 2 * ratio
    for number, name in enumerate(companies.NAMES):
        weight = ratio if number in (pair, pair + 1) else 1
        assert counts[name] / 60_000 == pytest.approx(weight / whole, abs=0.01)


def test_companies_without_skew_and_with_two_prices() -> None:
    table = companies.generate(60_000, highest=1)
    assert all(abs(count - 10_000) < 500 for count in Counter(table["name"].to_pylist()).values())
    assert set(table["price"].to_pylist()) == {0, 1}
    assert pc.mean(table["price"]).as_py() == pytest.approx(0.5, abs=0.01)


def test_companies_change_every_batch() -> None:
    table = companies.generate(40_000, change_every=5_000)
    fixed = [("IBM", "volume", 950), ("Google", "type", 950), ("Sun", "price", 950), ("Yahoo", "type", 50)]
    for number in range(8):
        batch = table.slice(number * 5_000, 5_000)
        for (name, column, value), turn in zip(fixed, [0, 1, 2, 1], strict=True):
            values = set(batch.filter(pc.equal(batch["name"], name))[column].to_pylist())
            assert (values == {value}) == (number % 3 == turn)


@pytest.mark.parametrize("patients", [None, 1, 50])
def test_every_course_of_chemotherapy_holds_a_match(patients: int | None) -> None:
    table = chemo.generate(6_000, patients=patients)
    treated: dict[int, list[tuple[datetime, str]]] = {}
    for row in table.to_pylist():
        treated.setdefault(row["PID"], []).append((row["T"], row["L"]))
    assert sorted(treated) == list(range(1, (patients or 150) + 1))
    courses = 0
    for events in treated.values():
        for given in (time for time, kind in events if kind == "C"):
            near = [(time, kind) for time, kind in events if abs(time - given) <= timedelta(days=15)]
            assert _holds_a_match(near, given)
            courses += 1
    assert courses == 6_000 // 12


def _holds_a_match(events: list[tuple[datetime, str]], given: datetime) -> bool:
    """Return whether the C at ``given`` has a P and a D, and a B after the three, within 15 days."""
    for dose in (time for time, kind in events if kind == "P"):
        for other in (time for time, kind in events if kind == "D"):
            first, last = min(given, dose, other), max(given, dose, other)
            if any(kind == "B" and last < time <= first + timedelta(days=15) for time, kind in events):
                return True
    return False


def test_chemotherapy_has_all_orders_noise_and_mostly_rising_doses() -> None:
    table = chemo.generate(12_000, patients=1_000)
    kinds = Counter(table["L"].to_pylist())
    assert kinds["C"] == kinds["D"] == 1_000
    assert 2_300 < kinds["P"] < 2_700
    assert min(kinds["H"], kinds["N"], kinds["R"]) > 500
    units = dict(zip(table["L"].to_pylist(), table["U"].to_pylist(), strict=True))
    assert (units["C"], units["D"], units["B"]) == ("mg", "mg/l", "1/µl")
    courses: dict[int, list[tuple[str, float]]] = {}
    for row in table.to_pylist():
        courses.setdefault(row["PID"], []).append((row["L"], row["V"]))
    orders = Counter("".join(kind for kind, _ in course if kind in "CD") for course in courses.values())
    assert min(orders["CD"], orders["DC"]) > 400
    doses = [[value for kind, value in course if kind == "P"] for course in courses.values()]
    rises = [after > before for course in doses for before, after in pairwise(course)]
    assert 0.7 < sum(rises) / len(rises) < 0.9


def test_regions_have_their_rates() -> None:
    table = regions.generate(60_000)
    counts = Counter(table["region"].to_pylist())
    whole = sum(regions.RATES.values())
    for region, rate in regions.RATES.items():
        assert counts[region] / 60_000 == pytest.approx(rate / whole, rel=0.1, abs=0.001)
    times = table["ts"].to_pylist()
    assert (times[-1] - times[0]) / timedelta(minutes=1_000) == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("correlated", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("threshold", [0.5, 0.7, 0.8])
def test_correlated_histories_are_the_asked_share(correlated: float, threshold: float) -> None:
    table = regions.generate(3_000, correlated=correlated)
    histories = np.array(table["history"].to_pylist())
    assert histories.shape == (3_000, regions.HISTORY)
    assert histories.min() > 0
    assert (histories[:, -1] == table["price"].to_numpy()).all()
    above = np.corrcoef(histories)[np.triu_indices(3_000, k=1)] > threshold
    assert above.mean() == pytest.approx(correlated, rel=0.05)


def test_regions_of_your_own() -> None:
    table = regions.generate(1_000, rates={"Near": 9, "Far": 1}, per_minute=6)
    assert set(table["region"].to_pylist()) == {"Near", "Far"}
    assert pc.max(table["company"]).as_py() == 9
