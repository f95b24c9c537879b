"""What rules have found: the rows of each rule, all of them in one table, and what each rule has cost."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from fyke.call.row_texts import row_texts
from fyke.engine.counters import Counters
from fyke.engine.measure.clock import Clock
from fyke.errors import FykeError, OptionError, listed, near_misses
from fyke.html import html_table
from fyke.logical.returns import END, START

Key = tuple[str, str]  # the name and the version of a rule

_ID = "match_id"
_FIGURES = ("matches", "events", "seconds")


class RuleResults(ABC):
    """The results of rules that ran together.

    ``failed`` has the errors of rules that are no queries, do not fit the events or failed, by name and
    version.  On a DataFrame, those that fail on workers are there after the first action.
    """

    def __init__(self, names: Mapping[int, Key], failed: dict[Key, FykeError]) -> None:
        self.names, self._failed = names, failed

    @property
    def failed(self) -> dict[Key, FykeError]:
        """The errors of the rules that have none or not all of their rows, by name and version."""
        return self._failed

    def of(self, name: str, version: object = None) -> Any:
        """Return the rows of one rule, as :func:`fyke.match` would; if it has one version, name none.

        Raises
        ------
        OptionError
            If there is no such rule.
        FykeError
            Its own error, if it has failed.
        """
        wanted = None if version is None else str(version)
        known = [key for key in (*self.names.values(), *self.failed) if key[0] == name]
        keys = dict.fromkeys(key for key in known if wanted in (None, key[1]))
        if not keys:
            names = sorted({key[0] for key in (*self.names.values(), *self.failed)})
            raise OptionError(
                f"no rule is {name!r}{f', {wanted!r}' if wanted else ''}.{near_misses(name, names)}",
                remedy=f"The rules are {listed(names)}.",
            )
        if len(keys) > 1:
            raise OptionError(
                f"the rule {name!r} has several versions: {listed(key[1] for key in keys)}",
                remedy=f"Name one, as in of({name!r}, {next(iter(keys))[1]!r}).",
            )
        (key,) = keys
        if key in self.failed:
            raise self.failed[key]
        return self._rows(next(number for number, each in self.names.items() if each == key))

    def _repr_html_(self) -> str:
        """Return a row for each rule: what is known of it without asking for rows."""
        counts = self._counted()
        failed = {key: str(error).splitlines()[0] for key, error in self.failed.items()}
        rows = [
            (*key, *(_figure(counts.get(key, {}), name) for name in _FIGURES), failed.get(key, ""))
            for key in dict.fromkeys([*self.names.values(), *failed])
        ]
        return html_table(("rule", "version", *_FIGURES, ""), rows)

    def _counted(self) -> dict[Key, dict[str, int | float]]:
        """Return the metrics of the rules that have any by now."""
        return self.metrics()

    def cache(self) -> RuleResults:
        """Keep what the rules find once it has been asked for, so that each can be asked for its own rows."""
        return self

    @abstractmethod
    def _rows(self, number: int) -> Any:
        """Return the rows of a rule by its number."""

    @abstractmethod
    def all(self) -> Any:
        """Return the rows of all rules together.

        Its columns are ``rule`` and ``version``, the identifier and the times of the match, which are null
        where a row is about several matches, and ``row``: the whole row of the rule as JSON.
        """

    @abstractmethod
    def metrics(self) -> dict[Key, dict[str, int | float]]:
        """Return what each rule has counted and cost, by name and version."""


class TableResults(RuleResults):
    """Results on tables: all rules have run."""

    def __init__(
        self, names: Mapping[int, Key], failed: dict[Key, FykeError], back: Callable[[pa.Table], Any]
    ) -> None:
        super().__init__(names, failed)
        self._back = back
        self._tables: dict[int, pa.Table] = {}
        self._counts: dict[int, dict[str, int | float]] = {}

    def add(
        self, number: int, rows: pa.Table, counters: Counters | None = None, clock: Clock | None = None
    ) -> None:
        """Take the result of a rule."""
        self._tables[number] = rows
        read = 0 if counters is None else counters.events_read
        seconds = 0.0 if clock is None else sum(clock.seconds.values())
        matches = rows.num_rows if counters is None else counters.matches
        self._counts[number] = {"matches": matches, "events": read, "seconds": seconds}

    def _rows(self, number: int) -> Any:
        return self._back(self._tables[number])

    def all(self) -> Any:
        """Return the rows of all rules together, see :class:`RuleResults`."""
        parts = [united(*self.names[number], table) for number, table in self._tables.items()]
        times = {part.schema.field(START).type for part in parts} - {pa.null()}
        schema = united_schema(times.pop() if times else pa.null())
        return self._back(pa.concat_tables([schema.empty_table(), *(part.cast(schema) for part in parts)]))

    def metrics(self) -> dict[Key, dict[str, int | float]]:
        """Return what each rule has counted and cost, by name and version."""
        return {self.names[number]: counts for number, counts in self._counts.items()}


def _figure(counts: Mapping[str, int | float], name: str) -> str:
    value = counts.get(name)
    if value is None:
        return ""
    return f"{value:.3f}" if isinstance(value, float) else f"{value:,}"


def united_schema(time: pa.DataType) -> pa.Schema:
    """Return the columns of the rows of all rules, whose times are of one type."""
    texts = [(name, pa.string()) for name in ("rule", "version", _ID)]
    return pa.schema([*texts, (START, time), (END, time), ("row", pa.string())])


def united(name: str, version: str, rows: pa.Table) -> pa.Table:
    """Return the rows of a rule with the columns that those of all rules have."""
    count = rows.num_rows
    fixed = {"rule": pa.repeat(pa.scalar(name), count), "version": pa.repeat(pa.scalar(version), count)}
    told = {
        each: rows.column(each) if each in rows.column_names else pa.nulls(count)
        for each in (_ID, START, END)
    }
    return pa.table({**fixed, **told, "row": pa.array(row_texts(rows), pa.string())})
