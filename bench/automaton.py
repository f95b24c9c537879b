"""The bars of the automaton engine: near the hand-written loop for six queries, and level with DuckDB."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import fyke
from bench import floors
from bench.foundation import ASOF, ROOM, SEQUENCE, stream
from bench.report import Line, interleaved, keep_memory, show
from fyke.datasets import chemo, stocks

TEMPLATE = """
    PATTERN SEQ(Stock+ a[], Stock b)
    WHERE {strategy}(a[], b) {{ [symbol] AND a[1].price % 500 = 0 {iterator} AND b.volume < 150 }}
    WITHIN {window} EVENTS
"""
ITERATORS = {
    "p1": "",
    "p2": "AND a[i].price > a[i-1].price",
    "p3": "AND a[i].price > min(a[..i-1].price)",
}
CONTIGUITY, NEXT_MATCH = "partition_contiguity", "skip_till_next_match"
AT_MOST = 3.0  # times the floor


def template(predicate: str, strategy: str, window: int = 500) -> str:
    """Return the query of [N] 6 for an iterator predicate and a strategy."""
    return TEMPLATE.format(strategy=strategy, iterator=ITERATORS[predicate], window=window)


@dataclass(frozen=True, slots=True)
class Case:
    """A query, its events, and the loop written for it alone."""

    name: str
    events: pa.Table
    query: str
    floor: Callable[[pa.Table], pa.Table]
    time: str
    type: str
    id: str

    def match(self) -> pa.Table:
        """Return Fyke's matches, found on one thread as those of the floor are."""
        return fyke.match(self.events, self.query, time=self.time, type=self.type, threads=1, limits=ROOM)

    def by_hand(self) -> pa.Table:
        """Return those of the floor."""
        return self.floor(self.events)

    def verify(self) -> tuple[int, bool]:
        """Return the number of matches, and whether both find the same ones, attribute by attribute."""
        mine, floor = self.match(), self.by_hand()
        if mine.num_rows != floor.num_rows:
            return mine.num_rows, False
        mine = mine.select(floor.column_names).cast(floor.schema)
        return mine.num_rows, _in_order(mine, self.id).equals(_in_order(floor, self.id))


def _in_order(matches: pa.Table, attribute: str) -> pa.Table:
    """Sort matches by the events they bind."""
    keys: dict[str, pa.Array] = {}
    for name in matches.column_names:
        column = matches.column(name).combine_chunks()
        if pa.types.is_list(column.type):
            keys[f"{name} first"] = pc.struct_field(pc.list_element(column, 0), attribute)
            keys[f"{name} length"] = pc.list_value_length(column)
        else:
            keys[name] = pc.struct_field(column, attribute)
    order = pc.sort_indices(pa.table(keys), [(name, "ascending") for name in keys])
    return matches.take(order).combine_chunks()


def cases(*, quick: bool = False) -> list[Case]:
    """Return the six queries; ``quick`` is for a quick look."""
    scale = 5 if quick else 1
    sequence = stream(5_000_000 // scale)
    long, short = stocks.generate(2_000_000 // scale), stocks.generate(200_000 // scale)
    courses = chemo.generate(1_000_000 // scale)

    def stock(predicate: str, strategy: str, events: pa.Table) -> Case:
        def floor(table: pa.Table) -> pa.Table:
            return floors.stocks(table, predicate, contiguous=strategy == CONTIGUITY)

        name = f"{predicate}, {strategy.replace('_', ' ')}"
        return Case(name, events, template(predicate, strategy), floor, "ts", "kind", "id")

    return [
        Case("sequence of three", sequence, SEQUENCE, floors.sequence, "t", "kind", "t"),
        stock("p2", CONTIGUITY, long),
        stock("p1", NEXT_MATCH, short),
        stock("p2", NEXT_MATCH, short),
        stock("p3", NEXT_MATCH, short),
        Case("chemo: set with a group, greedy", courses, chemo.QUERY, floors.chemo, "T", "L", "id"),
    ]


def beside_floor(case: Case, times: int = 5, seconds: float = 4) -> Line:
    """Measure one query as rows beside its floor."""
    found, same = case.verify()
    timed = interleaved(times, {"floor": case.by_hand, "fyke": case.match}, seconds=seconds)
    note = (
        f"{found:,} matches in {case.events.num_rows:,} events, "
        f"at best {timed.best('fyke') * 1e3:.0f} ms beside {timed.best('floor') * 1e3:.0f} ms"
    )
    if not same:
        return Line(f"{case.name}: NOT THE MATCHES OF ITS FLOOR", float("inf"), AT_MOST, "x", note)
    return Line(f"{case.name}, against its floor", timed.ratio("fyke", "floor"), AT_MOST, "x", note)


def beside_duckdb(case: Case, times: int = 5) -> list[Line]:
    """Measure the sequence of three, counted and as rows, beside DuckDB's two ASOF joins that count."""
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    connection.register("source", case.events)
    connection.execute("CREATE TABLE events AS SELECT * FROM source")
    counted = f"{case.query} RETURN count(*) AS n"

    def count() -> int:
        found = fyke.match(case.events, counted, time="t", type="kind", threads=1, limits=ROOM)
        return int(np.sum(found.column("n").to_numpy()))

    def duck() -> int:
        return int(connection.execute(ASOF).fetchall()[0][0])

    assert count() == duck(), "DuckDB counts other matches"
    timed = interleaved(times, {"duck": duck, "count": count, "rows": case.match})
    milliseconds = {name: f"{timed.best(name) * 1e3:.0f} ms" for name in timed.rounds}
    note = f"at best {milliseconds['count']} and {milliseconds['rows']} beside {milliseconds['duck']}"
    return [
        Line("sequence of three, counted, against DuckDB", timed.ratio("count", "duck"), 1.0, "x", note),
        Line("sequence of three, as rows, against DuckDB counting", timed.ratio("rows", "duck"), 1.0, "x"),
    ]


def main(*, quick: bool = False) -> bool:
    """Run the benchmark; return whether every bar holds."""
    pa.set_cpu_count(1)
    keep_memory()
    measured = cases(quick=quick)
    lines = [beside_floor(case, seconds=1 if quick else 4) for case in measured]
    return show("automaton", [*lines, *beside_duckdb(measured[0])])
