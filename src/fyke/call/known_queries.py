"""What was worked out for a query over tables of one schema, kept for the next such table."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from threading import Lock

from fyke.engine.input.prepare import derived_types
from fyke.engine.measure.sample import Measuring
from fyke.language.query import Query
from fyke.limits import Limits
from fyke.logical.analyse import analyse
from fyke.logical.schema import EventSchema
from fyke.plan.plan import Plan, make_plan
from fyke.techniques import Techniques

_MOST = 256  # queries that are kept


@dataclass(slots=True)
class KnownQuery:
    """A query planned for tables of a schema, all but the functions, the engine and the statistics of a call.

    Nobody changes it, and what measures holds no events: threads may share all of it.
    """

    plan: Plan
    measuring: Measuring | None = None

    def measured_by(self, plan: Plan) -> Measuring:
        """Return what measures the conditions of the query; ``plan`` is a plan of it."""
        if self.measuring is None:
            self.measuring = Measuring(plan)
        return self.measuring


_known: dict[Hashable, KnownQuery] = {}
_lock = Lock()


def known_query(
    query: Query,
    schema: EventSchema,
    output: str,
    limits: Limits,
    techniques: Techniques,
    arities: Mapping[str, int],
) -> KnownQuery:
    """Return a query planned for tables, as it was the last time or for the first time.

    The same query comes again and again, with every file or batch, and small ones take less time to match.
    """
    # By identity: parsed texts are kept, and equal queries may have other places in other texts.
    key = (id(query), _key(schema), output, limits, techniques, tuple(arities.items()))
    found = _known.get(key)
    if found is None:
        analysed = analyse(query, schema, limits, functions=dict(arities))
        # The plan holds the query, so that no other query gets its identity.
        found = KnownQuery(make_plan(analysed, derived_types, output, limits, techniques))
        with _lock:
            if len(_known) >= _MOST:
                _known.pop(next(iter(_known)))
            _known[key] = found
    return found


def _key(schema: EventSchema) -> Hashable:
    attributes = None if schema.attributes_of is None else tuple(schema.attributes_of.items())
    ordering = (schema.time, schema.type_column, schema.tie_breaker, schema.unit)
    return (tuple(schema.columns.items()), ordering, schema.touching, schema.unique, attributes)
