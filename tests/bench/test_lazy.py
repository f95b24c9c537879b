"""The lazy benchmark compares rows with DuckDB's, and holds whole rows to DuckDB's time at window 30 too."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from bench import lazy
from bench.lazy import Scenario
from bench.peers_duckdb import connect

SKEWED = lazy.skewed(6_000)
EQUAL = lazy.equal_rates(2_000)
SCENARIOS = [(each, SKEWED) for each in lazy.skewed_scenarios()]
SCENARIOS += [(each, EQUAL) for each in lazy.equal_scenarios((30,))]


@pytest.mark.parametrize("scenario, events", SCENARIOS, ids=lambda each: getattr(each, "name", "events"))
def test_duckdb_finds_the_same_rows(scenario: Scenario, events: pa.Table) -> None:
    connection = connect(events, 1)
    (count,) = connection.execute(scenario.sql).fetchall()[0]
    assert count > 0
    assert lazy.whole_rows(scenario, events, 2) == count
    lazy.same_rows(scenario, events, connection)


def test_as_many_rows_that_are_others_are_an_error() -> None:
    scenario, events = SCENARIOS[0]
    other = replace(scenario, sql=scenario.sql.replace("count(*)", "a.t + 1 AS a, b.t AS b, c.t AS c"))
    with pytest.raises(AssertionError, match="SEQ of 3: DuckDB finds other matches"):
        lazy.same_rows(other, events, connect(events, 1))


def test_whole_rows_have_a_bar_beside_duckdb() -> None:
    scenario, events = SCENARIOS[-1]
    bars = {line.what: line.bar for line in lazy.compare(scenario, events, eager=None)}
    bars |= {line.what: line.bar for line in [lazy.on_two_threads(scenario, events)]}
    assert bars[f"{scenario.name}: whole rows / DuckDB"] == 1
    assert bars[f"{scenario.name}, two threads: whole rows / DuckDB"] == 1
