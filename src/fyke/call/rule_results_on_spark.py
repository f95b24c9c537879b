"""What rules find in DataFrames: lazy, from one scan and one shuffle for those that run together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import pyarrow as pa

from fyke.call.rule_results import Key, RuleResults, united, united_schema
from fyke.errors import FykeError, NotRunError
from fyke.logical.returns import START
from fyke.plan.plan import Plan
from fyke.spark.prepare import arrow_columns
from fyke.spark.rules import COUNTS, Seen, match_together, rows_of_all, rows_of_rule, united_frame

_SECOND = 1_000_000


class FrameResults(RuleResults):
    """Results on DataFrames: nothing has run yet."""

    def __init__(self, names: Mapping[int, Key], failed: dict[Key, FykeError]) -> None:
        super().__init__(names, failed)
        self._alone: dict[int, Any] = {}
        self._together: list[tuple[Any, Seen, dict[int, pa.Schema]]] = []

    def add(self, number: int, rows: Any) -> None:
        """Take the result of a rule that runs by itself."""
        self._alone[number] = rows

    def add_together(
        self, frame: Any, plans: Mapping[int, Plan], keys: Sequence[str], schemas: dict[int, pa.Schema]
    ) -> None:
        """Take rules that share a scan and a shuffle of a DataFrame."""
        seen = Seen()
        told = seen.watch(match_together(frame, plans, keys))
        self._together.append((told, seen, schemas))

    def cache(self) -> RuleResults:
        """Keep what the rules find once it is asked for, so that each rule can be asked for its rows."""
        self._together = [(told.cache(), seen, schemas) for told, seen, schemas in self._together]
        return self

    @property
    def failed(self) -> dict[Key, FykeError]:
        """The errors of the rules that have none or not all of their rows, by name and version."""
        found = dict(self._failed)
        for _, seen, _ in self._together:
            found |= {self.names[number]: error for number, error in seen.failures().items()}
        return found

    def _rows(self, number: int) -> Any:
        if number in self._alone:
            return self._alone[number]
        told, schema = next((told, known[number]) for told, _, known in self._together if number in known)
        return rows_of_rule(told, number, schema)

    def all(self) -> Any:
        """Return the rows of all rules together, see :class:`RuleResults`."""
        times = {
            schema.field(START).type
            for _, _, schemas in self._together
            for schema in schemas.values()
            if START in schema.names
        }
        times |= {kinds[START] for rows in self._alone.values() if START in (kinds := arrow_columns(rows))}
        schema = united_schema(times.pop() if times else pa.int64())
        names = dict(self.names)
        frames = [
            rows_of_all(told, schema, lambda number, rows: united(*names[number], rows))
            for told, _, _ in self._together
        ]
        for number, rows in self._alone.items():
            name, version = names[number]
            frames.append(united_frame(rows, name, version, schema))
        return reduce(lambda one, other: one.union(other), frames)

    def _counted(self) -> dict[Key, dict[str, int | float]]:
        """Return the metrics, of which there are none before the first action."""
        try:
            return self.metrics()
        except NotRunError:
            return {}

    def metrics(self) -> dict[Key, dict[str, int | float]]:
        """Return what each rule has counted and cost on all workers, after the first action.

        Rules that run by themselves, such as those over the whole input, are not among them.

        Raises
        ------
        NotRunError
            If nothing has run.
        """
        result: dict[Key, dict[str, int | float]] = {}
        for _, seen, schemas in self._together:
            if seen.get() is None:
                raise NotRunError(
                    "nothing has run yet: on a DataFrame the first action on a result fills the metrics",
                    remedy="Ask the results for rows first, as in results.all().count().",
                )
            counted = seen.counts()
            for number in schemas:
                counts = dict(counted.get(number, dict.fromkeys(COUNTS, 0)))
                seconds = counts.pop("microseconds") / _SECOND
                result[self.names[number]] = {**counts, "seconds": seconds}
        return result
