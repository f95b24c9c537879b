"""Compiles the kernels, or loads them, once per process and under a lock."""

from __future__ import annotations

import pyarrow as pa

from fyke.engine.engine import Engine
from fyke.engine.input.prepare import derived_types, prepare
from fyke.engine.kernels.jit import ENABLED, compile_lock
from fyke.engine.measure.sample import measure_rows
from fyke.engine.output.builders import builder_of
from fyke.engine.output.compressed import enumerate_batch
from fyke.language.ast import Strategy
from fyke.language.sase import parse
from fyke.logical.analyse import analyse
from fyke.logical.schema import make_schema
from fyke.plan.counting import Counting
from fyke.plan.plan import Plan, make_plan
from fyke.techniques import Techniques

# Between them these reach every kernel; types never differ from query to query.
_QUERIES = (
    "PATTERN SEQ(A a, A+ b[], ~B c) WHERE { [k] AND b.x > a.x AND b[i].x > b[i-1].x AND a.s < b.s } WITHIN 5",
    "PATTERN SEQ(A a, B b) WITHIN 5",
)
_ROADS = {
    "breadth first": [("all", Techniques()), ("non_overlap", Techniques())],
    "backtrack": [("all", Techniques(search="backtrack"))],
    "compressed": [("compressed", Techniques())],
    "lazy": [("all", Techniques())],
    "lazy counting": [("all", Techniques())],
    "tree": [("all", Techniques())],
    "statistics": [("all", Techniques())],
}
_ENGINES = {"lazy": "lazy_chain", "lazy counting": "lazy_chain", "tree": "tree"}
_PATTERN = (
    "PATTERN SEQ(A a, ~B c, A d, A+ b[]) WHERE skip_till_any_match { b.x > a.x AND b[i].x > b[i-1].x "
    "AND a.s < d.s AND a.x = d.x } WITHIN 5"
)
_ANY_MATCH = (_PATTERN, "PATTERN SEQ(A a, A b, ~B c) WHERE skip_till_any_match { a.x < b.x } WITHIN 5")
_COUNTING = (f"{_PATTERN} RETURN count(*), sum(sum(b[].x))",)
_warm: set[str] = set()


def warm_up(plan: Plan | None = None, *, statistics: bool = False) -> None:
    """Compile the kernels a plan needs, or load them from the cache, if this process has not done so yet.

    Several processes that compile into one cache at the same time have crashed: hence the lock.
    Without a plan the kernels for reading compressed results are among them, with ``statistics`` those
    that look at events for statistics.
    """
    wanted = (_roads(plan) | ({"statistics"} if statistics else set())) - _warm
    if not wanted or not ENABLED:
        return
    with compile_lock():
        for road in sorted(wanted):
            for output, techniques in _ROADS[road]:
                for query in _queries(road):
                    _run(query, output, techniques, road)
    _warm.update(wanted)


def _queries(road: str) -> tuple[str, ...]:
    if road == "lazy counting":
        return _COUNTING
    return _ANY_MATCH if road in _ENGINES else _QUERIES


def _roads(plan: Plan | None) -> set[str]:
    if plan is None:
        return {"breadth first", "compressed"}
    if plan.engine == "tree":
        return {"tree"}
    if plan.stores:
        counts = isinstance(plan.counting, Counting) and plan.counting.subsets
        return {"lazy counting"} if counts else {"lazy"}
    roads = {"breadth first"} | ({"compressed"} if plan.format.shared else set())
    robust = plan.strategy is Strategy.ROBUST
    return roads | ({"backtrack"} if robust or plan.techniques.search == "backtrack" else set())


def _run(query: str, output: str, techniques: Techniques, road: str) -> None:
    events = pa.table(
        {"t": [3, 1, 2], "e": ["A", "A", "A"], "k": [2, 1, 1], "x": [1.0, 1.0, 2.0], "s": ["u", "v", "w"]}
    )
    columns = dict(zip(events.schema.names, events.schema.types, strict=True))
    analysed = analyse(parse(query), make_schema(columns, time="t", type_column="e"))
    engine_name = _ENGINES.get(road, "automaton")
    plan = make_plan(analysed, derived_types, output, techniques=techniques, engine=engine_name)
    engine, builder = Engine(plan), builder_of(plan)
    rows = prepare(events, plan)
    if road == "statistics":
        measure_rows(plan, rows)
        return
    state, _ = engine.advance(engine.start(rows.schema), rows, 1)
    _, found = engine.advance(state, rows.slice(0, 0), None)
    table = builder.rows(found)
    if plan.format.shared:
        for batch in table.to_batches():
            list(enumerate_batch(batch))
