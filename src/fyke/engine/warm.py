"""Compiling the kernels once a process, under a lock, before the first real call."""

from __future__ import annotations

import pyarrow as pa

from fyke.engine.engine import Engine
from fyke.engine.kernels.jit import ENABLED, compile_lock
from fyke.engine.prepare import derived_types, prepare
from fyke.engine.result import ResultBuilder
from fyke.language.sase import parse
from fyke.pattern.analyse import analyse
from fyke.pattern.schema import make_schema
from fyke.plan.plan import Plan
from fyke.plan.pushdown import push_down

# Between them these reach every kernel; types never differ from query to query.
_QUERIES = (
    "PATTERN SEQ(A a, A+ b[], ~B c) WHERE { [k] AND b.x > a.x AND b[i].x > b[i-1].x AND a.s < b.s } WITHIN 5",
    "PATTERN SEQ(A a, B b) WITHIN 5",
)
_LAZY_QUERY = (
    "PATTERN SEQ(A a, ~B c, A d, A+ b[]) WHERE skip_till_any_match { b.x > a.x AND b[i].x > b[i-1].x "
    "AND a.s < d.s AND a.x = d.x } WITHIN 5 RETURN count(*), sum(sum(b[].x))"
)
_warm: set[bool] = set()


def warm_up(*, lazy: bool = False) -> None:
    """Compile the kernels, or load them from the cache, if this process has not done so yet.

    Several processes that compile into one cache at the same time have crashed: hence the lock.  The
    kernels of the lazy engines are taken up when a plan needs them.
    """
    if not ENABLED or lazy in _warm:
        return
    with compile_lock():
        if False not in _warm:
            for query in _QUERIES:
                for output in ("all", "non_overlap"):
                    _run(query, output)
        if lazy:
            _run(_LAZY_QUERY, "all", "lazy_chain")
    _warm.update({False, lazy})


def _run(query: str, output: str, engine_name: str = "automaton") -> None:
    events = pa.table(
        {"t": [3, 1, 2], "e": ["A", "A", "A"], "k": [2, 1, 1], "x": [1.0, 1.0, 2.0], "s": ["u", "v", "w"]}
    )
    columns = dict(zip(events.schema.names, events.schema.types, strict=True))
    pushed = push_down(analyse(parse(query), make_schema(columns, time="t", type_column="e")))
    plan = Plan(pushed, derived_types(pushed), output, engine=engine_name)
    engine, builder = Engine(plan), ResultBuilder(plan)
    rows = prepare(events, pushed)
    state, _ = engine.advance(engine.start(rows.schema), rows, 1)
    _, found = engine.advance(state, rows.slice(0, 0), None)
    builder.rows(found)
