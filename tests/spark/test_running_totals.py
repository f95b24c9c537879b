"""Running totals in a store, without Spark: which query they are of, and that changes are noticed."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import fyke
from fyke.engine.input.prepare import prepare
from fyke.engine.output.builders import builder_of
from fyke.engine.state_bytes import state_identity
from fyke.errors import StateError
from fyke.spark.stream.totals import RunningTotals
from tests.random.test_advance import Stream

EVENTS = pa.table({"kind": ["A", "B"], "t": [1, 2], "k": [1, 1]})
QUERY = "PATTERN SEQ(A a, B b) WHERE { [k] } WITHIN 10 RETURN count(*) AS n"


class MapStore(dict[bytes, bytes]):
    """A map as Spark's state store has it."""

    def getValue(self, key: tuple[bytes]) -> tuple[bytes] | None:
        return (self[key[0]],) if key[0] in self else None

    def updateValue(self, key: tuple[bytes], value: tuple[bytes]) -> None:
        self[key[0]] = value[0]


def totals_of(store: MapStore, query: str = QUERY, **options: Any) -> tuple[RunningTotals, Any]:
    """Return the totals of a query, and the matches of the events."""
    stream = Stream(EVENTS.schema, fyke.parse(query), "t", **options)
    own = state_identity(stream.plan, stream.state.rows.schema)
    _, found = stream.door.advance(stream.state, prepare(EVENTS, stream.plan), None)
    return RunningTotals(store, builder_of(stream.plan), own), found


def test_totals_of_another_query_are_refused() -> None:
    store = MapStore()
    totals, found = totals_of(store)
    totals.check_whose()
    assert not store  # nothing is written before there is a total
    assert totals.add(found)["n"].to_pylist() == [1]
    totals.check_whose()
    assert totals.add(found)["n"].to_pylist() == [2]
    with pytest.raises(StateError, match="belongs to another query"):
        totals_of(store, QUERY.replace("B b", "A b"))[0].check_whose()


def test_totals_are_of_any_engine() -> None:
    store = MapStore()
    any_match = QUERY.replace("WHERE {", "WHERE skip_till_any_match {")
    for count, engine in enumerate(("automaton", "lazy_chain", "tree"), 1):
        totals, found = totals_of(store, any_match, engine=engine)
        totals.check_whose()
        assert totals.add(found)["n"].to_pylist() == [count]


def test_a_changed_total_is_noticed() -> None:
    store = MapStore()
    totals, found = totals_of(store)
    totals.add(found)
    (key,) = (key for key in store if key.startswith(b"["))
    for at in range(1, len(store[key])):
        changed = MapStore(store)
        changed[key] = store[key][:at] + bytes([store[key][at] ^ 1]) + store[key][at + 1 :]
        with pytest.raises(StateError, match="total is changed"):
            totals_of(changed)[0].add(found)


def test_totals_of_earlier_versions_are_read() -> None:
    """They had no checksum, and did not say which query they were of."""
    store = MapStore()
    totals, found = totals_of(store)
    totals.add(found)
    (key,) = (key for key in store if key.startswith(b"["))
    old = MapStore({key: store[key][1:-16]})
    totals, found = totals_of(old)
    totals.check_whose()
    assert totals.add(found)["n"].to_pylist() == [2]
