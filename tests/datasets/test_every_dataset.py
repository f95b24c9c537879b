"""What holds for each generator: exact size, one seed one table, order by time, typed refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from fyke import datasets
from fyke.datasets import chemo, companies, food, regions, rfid, stocks
from fyke.errors import OptionError

GENERATORS: dict[str, Callable[..., pa.Table]] = {
    "rfid": lambda *args, **options: rfid.generate(*args, **options).table,
    "food": lambda *args, **options: food.generate(*args, **options).table,
    "stocks": stocks.generate,
    "companies": companies.generate,
    "chemo": chemo.generate,
    "regions": regions.generate,
}
every_generator = pytest.mark.parametrize("name", GENERATORS)


@every_generator
@pytest.mark.parametrize("rows", [12, 100, 1_001, 20_000])
def test_the_size_is_exact(name: str, rows: int) -> None:
    table = GENERATORS[name](rows)
    assert table.num_rows == rows
    assert table["id"].to_pylist() == list(range(rows))


@every_generator
def test_one_seed_gives_one_table(name: str) -> None:
    generate = GENERATORS[name]
    assert generate(2_000, seed=3).equals(generate(2_000, seed=3))
    assert not generate(2_000, seed=3).equals(generate(2_000, seed=4))
    assert generate(2_000).equals(generate(2_000, seed=0))


@every_generator
def test_rows_are_ordered_by_a_utc_time(name: str) -> None:
    table = GENERATORS[name](5_000)
    times = table["T" if name == "chemo" else "ts"]
    assert times.type == pa.timestamp("us", tz="UTC")
    assert times.null_count == 0
    assert times.to_pylist() == sorted(times.to_pylist())
    assert pc.min(pc.year(times)).as_py() >= 2025


@pytest.mark.parametrize(
    "name,options,message",
    [
        ("rfid", {"rows": 7}, "rows must be at least readings_per_tag, found 7"),
        ("rfid", {"rows": 100, "readings_per_tag": 5}, "readings_per_tag must be at least 6"),
        ("rfid", {"rows": 100, "shoplifted": 0.6}, "shoplifted must be from 0 to 0.5"),
        ("food", {"rows": 8}, "1 contaminations of up to 5 hops need 9 rows, found 8"),
        ("food", {"rows": 100, "hops": 0}, "hops must be from 1 to 1000"),
        ("food", {"rows": 100, "sites": 1}, "sites must be at least 2"),
        ("food", {"rows": 100, "contaminations": -1}, "contaminations must not be negative"),
        ("stocks", {"rows": 0}, "rows must be at least 1"),
        ("stocks", {"rows": 1, "symbols": 0}, "symbols must be at least 1"),
        ("stocks", {"rows": 1, "rising": 1.1}, "rising must be from 0 to 1"),
        ("stocks", {"rows": 1, "seconds": 0}, "seconds must be at least a microsecond"),
        ("companies", {"rows": 0}, "rows must be at least 1"),
        ("companies", {"rows": 1, "ratio": 0}, "ratio must be above 0"),
        ("companies", {"rows": 1, "highest": 0}, "highest must be at least 1"),
        ("companies", {"rows": 1, "change_every": 0}, "change_every must be at least 1"),
        ("companies", {"rows": 1, "skewed": "start"}, "one of first, middle, last, found 'start'"),
        ("chemo", {"rows": 11}, "rows must be at least 12"),
        ("chemo", {"rows": 12, "patients": 0}, "patients must be at least 1"),
        ("regions", {"rows": 0}, "rows must be at least 1"),
        ("regions", {"rows": 1, "rates": {}}, "rates must name regions"),
        ("regions", {"rows": 1, "correlated": 0.01}, "correlated must be from 1/19 to 1"),
        ("regions", {"rows": 1, "noise": -1}, "noise must not be negative"),
        ("regions", {"rows": 1, "per_minute": 0}, "per_minute must be above 0"),
    ],
)
def test_a_useless_parameter_is_refused(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        GENERATORS[name](**options)


def test_as_dataframe_hands_the_table_to_the_session() -> None:
    class Session:
        def createDataFrame(self, data: Any) -> Any:
            return ("frame of", data)

    table = stocks.generate(3)
    assert datasets.as_dataframe(Session(), table) == ("frame of", table)
