"""What was worked out for a query over tables of one schema, kept for the next such table."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from threading import Lock

import pyarrow as pa

from fyke.engine.prepare import derived_types
from fyke.language.query import Query
from fyke.limits import Limits
from fyke.pattern.analyse import analyse
from fyke.pattern.schema import EventSchema
from fyke.plan.pushdown import Pushed, push_down
from fyke.techniques import Techniques

Known = tuple[Query, Pushed, Mapping[str, pa.DataType]]

_MOST = 256  # queries that are kept
_known: dict[Hashable, Known] = {}
_lock = Lock()


def push_for_table(
    query: Query,
    schema: EventSchema,
    output: str,
    limits: Limits,
    techniques: Techniques,
    arities: Mapping[str, int],
) -> tuple[Pushed, Mapping[str, pa.DataType]]:
    """Return a query pushed down over tables of a schema, and the types of its derived columns.

    The same query comes again and again, with every file or batch, and small ones take less time than
    this.  Nobody changes what is returned.
    """
    # By identity: parsed texts are kept, and equal queries may have other places in other texts.
    key = (id(query), _key(schema), output, limits, techniques, tuple(arities.items()))
    found = _known.get(key)
    if found is None:
        pushed = push_down(analyse(query, schema, limits, functions=dict(arities)), output, techniques)
        found = query, pushed, derived_types(pushed)  # with the query, lest another one gets its identity
        with _lock:
            if len(_known) >= _MOST:
                _known.pop(next(iter(_known)))
            _known[key] = found
    return found[1], found[2]


def _key(schema: EventSchema) -> Hashable:
    attributes = None if schema.attributes_of is None else tuple(schema.attributes_of.items())
    ordering = (schema.time, schema.type_column, schema.tie_breaker, schema.unit)
    return (tuple(schema.columns.items()), ordering, attributes)
