"""The public call: events of any kind and a query in, matches of the same kind out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from fyke.engine.engine import Engine
from fyke.engine.prepare import derived_types, prepare
from fyke.engine.result import ResultBuilder
from fyke.language.query import Query
from fyke.language.sase import parse
from fyke.limits import Limits
from fyke.pattern.analyse import analyse
from fyke.pattern.schema import make_schema
from fyke.plan.plan import Plan
from fyke.plan.pushdown import push_down


def match(
    events: Any,
    query: str | Query,
    *,
    time: str | Sequence[str],
    type: str | None = None,
    tie_breaker: str | Sequence[str] | None = None,
    output: str = "all",
    engine: str = "auto",
    limits: Limits | None = None,
    time_unit: str | None = None,
    functions: Mapping[str, Callable[..., float]] | None = None,
) -> Any:
    limits = limits or Limits()
    parsed = parse(query, limits) if isinstance(query, str) else query
    columns = dict(zip(events.schema.names, events.schema.types))
    schema = make_schema(columns, time=time, type_column=type, tie_breaker=tie_breaker, time_unit=time_unit)
    analysed = analyse(parsed, schema, limits)
    pushed = push_down(analysed)
    plan = Plan(pushed, derived_types(pushed), output, limits, functions or {})
    eng = Engine(plan)
    prepared = prepare(events, pushed)
    _, found = eng.advance(eng.start(prepared.schema), prepared, None)
    builder = ResultBuilder(plan)
    return builder.finish(builder.rows(found))
