"""What ``why_not`` returns: causes and changes as text, as a table, and as HTML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from fyke.diagnosis.candidates import Candidates
from fyke.diagnosis.diagnose import Diagnosis
from fyke.diagnosis.finding import CAUSES, Finding
from fyke.diagnosis.numbered import Numbered
from fyke.diagnosis.setup import absences
from fyke.diagnosis.values import written
from fyke.errors import shown
from fyke.html import code_block
from fyke.language.ast import WindowKind, events
from fyke.language.query import Query
from fyke.pictures.picture import Picture
from fyke.pictures.timeline import draw_timeline
from fyke.pictures.timeline_data import Bound, Mark, Timeline

_SCHEMA = pa.schema(
    [("part", pa.string()), ("what", pa.string()), ("rows", pa.int64()), ("told", pa.string())]
)
_IN_THE_WAY = "in the way"
_OTHERS = 5  # changes that are told beside the first


@dataclass(frozen=True, slots=True)
class Selection:
    """The events that were asked about; ``whole`` is how many there are of all keys and times."""

    key: Mapping[str, Any]
    between: Any
    whole: int
    note: str = ""

    def __str__(self) -> str:
        parts = [f"{name} = {written(value)}" for name, value in self.key.items()]
        if self.between is not None:
            first, last = self.between
            open_end = f"a time up to {last}" if first is None else f"a time from {first} on"
            parts.append(open_end if None in self.between else f"a time between {first} and {last}")
        return " and ".join(parts)


class WhyNot:
    """Why a query has no match.

    Attributes
    ----------
    query
        The query that was asked about.
    cause
        The name of the cause, one of :data:`fyke.diagnosis.finding.CAUSES`; ``"matched"`` if there are
        matches.
    findings
        All that was found, the likeliest first; each has ``cause``, ``text``, ``change`` and ``matches``.
    searches
        How many queries were run to find it.
    """

    def __init__(
        self, query: Query, told: Diagnosis, events: Numbered, selection: Selection, searches: int = 0
    ) -> None:
        self.query, self.events, self.selection, self.searches = query, events, selection, searches
        self.findings: tuple[Finding, ...] = tuple(told.findings)
        self.together = told.together
        self._told = told

    @property
    def cause(self) -> str:
        """The name of the likeliest cause."""
        return self.findings[0].cause

    @property
    def causes(self) -> tuple[str, ...]:
        """The names of the causes: of one, or of all that must be mended together."""
        if not self.together:
            return (self.cause,)
        return tuple(dict.fromkeys(each.cause for each in self.findings if each.matches))

    @property
    def changed_query(self) -> Query | None:
        """The query with the smallest change that gives a match; None if it is no change of the query."""
        setup = self.findings[0].setup
        return None if setup is None or setup.query == self.query else setup.query

    # --- text -------------------------------------------------------------------------------

    def __str__(self) -> str:
        lines = [self._head(), ""]
        first = self.findings[0]
        lines += [f"Cause: {first.cause} ({CAUSES[first.cause]})", f"  {first.text}"]
        if first.change:
            given = f" gives {first.counted}" if first.matches else ""
            lines.append(f"  Change: {first.change}{given}.")
        others = self.findings[1:]
        if others:
            lines += ["", "Together with" if self.together else "Also"]
            lines += [f"  {_line(each)}" for each in others[:_OTHERS]]
            if len(others) > _OTHERS:
                lines.append(f"  and {len(others) - _OTHERS} more, see .findings")
        if self._told.candidates:
            lines += ["", "Rows for each variable"]
            lines += [f"  {_tests(each)}" for each in self._told.candidates]
        if self._told.attempts:
            lines += ["", "Attempts that came so far"]
            width = max(len(", ".join(steps)) for steps, _ in self._told.attempts)
            lines += [
                f"  {', '.join(steps):<{width}}  {'not counted' if count is None else f'{count:,}'}"
                for steps, count in self._told.attempts
            ]
        if self._told.untried:
            lines += ["", f"Not decided in time: {', '.join(self._told.untried[:4])}."]
        return "\n".join(lines)

    __repr__ = __str__

    def _head(self) -> str:
        count = self.events.full.num_rows if self.events.inside is None else int(self.events.inside.sum())
        events = "1 event" if count == 1 else f"{count:,} events"
        chosen = str(self.selection)
        where = f"{events} with {chosen}" if chosen else events
        note = f" {self.selection.note}" if self.selection.note else ""
        first = self.findings[0]
        if first.cause == "matched":
            return f"{first.counted} in {where}.{note}"
        if self._told.matches is not None and not self._told.matches.decided:
            return f"No match seen in {where}; to search all of them takes longer.{note}"
        return f"No match in {where}.{note}"

    # --- a table ----------------------------------------------------------------------------

    def rows(self) -> list[dict[str, Any]]:
        """Return all that was found as rows: ``part``, ``what``, ``rows``, ``told``."""
        found: list[dict[str, Any]] = []
        for each in self.findings:
            found.append({"part": "cause", "what": each.cause, "rows": None, "told": each.text})
            if each.change:
                found.append(
                    {"part": "change", "what": each.change, "rows": each.matches, "told": each.cause}
                )
        for candidate in self._told.candidates:
            for step in candidate.steps:
                name = candidate.event.variable
                found.append({"part": "variable", "what": name, "rows": step.left, "told": step.test})
        for steps, count in self._told.attempts:
            found.append(
                {
                    "part": "attempt",
                    "what": ", ".join(steps),
                    "rows": count,
                    "told": "started and came so far",
                }
            )
        return found

    def to_table(self) -> pa.Table:
        """Return the rows as a table of Arrow."""
        return pa.Table.from_pylist(self.rows(), _SCHEMA)

    # --- a picture --------------------------------------------------------------------------

    def picture(self, theme: str = "auto") -> Picture:
        """Return the nearest attempt on a timeline, with what stood in its way in red."""
        return Picture(lambda: draw_timeline(self._timeline()), "the nearest attempt", theme)

    def _timeline(self) -> Timeline:
        first, events_ = self.findings[0], self.events
        named = {each.variable: each for each in events(self.query.pattern)}
        absent = [each.variable for absence in absences(self.query.pattern) for each in events(absence)]
        bound = {name: rows for name, rows in (first.example or {}).items() if name in named}
        lanes = [*named, _IN_THE_WAY]
        lane_of = {row: name for name, rows in bound.items() for row in rows}
        absent_types = {named[name].type: name for name in absent}
        for row in first.culprits:
            lane_of.setdefault(row, absent_types.get(self._type_of(row), _IN_THE_WAY))
        rows = sorted(lane_of)
        shown_lanes = [name for name in lanes if name in named or name in lane_of.values()]
        marks = [self._mark(row, shown_lanes.index(lane_of[row])) for row in rows]
        places = {row: number for number, row in enumerate(rows)}
        match = Bound(
            {name: [places[row] for row in each] for name, each in bound.items()}, self._window(rows)
        )
        schema = events_.schema
        labels = {name: f"{name}: {event.type or 'ANY'}" for name, event in named.items()}
        labels |= {name: f"~{labels[name]}" for name in absent}
        notes = [first.text, f"Change: {first.change}" if first.change else ""]
        return Timeline(
            [labels.get(name, name) for name in shown_lanes],
            marks,
            [match] if bound else [],
            culprits=frozenset(places[row] for row in first.culprits),
            unit=schema.unit,
            dated=not pa.types.is_integer(schema.columns[schema.end]),
            title=f"{first.cause}: {CAUSES[first.cause]}",
            notes=[note for note in notes if note],
            of_match=frozenset(range(len(marks))),
        )

    def _mark(self, row: int, lane: int) -> Mark:
        events_, schema = self.events, self.events.schema
        values = events_.row(row)
        kind = self._type_of(row) or ""
        told = {
            name: shown(value, 40)
            for name, value in values.items()
            if name not in (*schema.time, schema.type_column)
        }
        return Mark(row, int(events_.starts[row]), int(events_.ends[row]), lane, kind, "", told)

    def _type_of(self, row: int) -> str | None:
        column = self.events.schema.type_column
        value = None if column is None else self.events.full.column(column)[row].as_py()
        return None if value is None else str(value)

    def _window(self, rows: list[int]) -> tuple[int, int] | None:
        """Return how far the window of the query reaches from the first event of the attempt."""
        window = self.query.window
        if window is None or window.kind is WindowKind.EVENTS or not rows:
            return None
        unit = self.events.schema.unit or 1
        length = window.amount // unit if window.kind is WindowKind.DURATION else window.amount
        first = min(int(self.events.starts[row]) for row in rows)
        return first, first + length

    def _repr_html_(self) -> str:
        drawn = self.picture()._repr_html_() if self.findings[0].example else ""
        return code_block(str(self)) + drawn


def _line(finding: Finding) -> str:
    change = ""
    if finding.change:
        change = f" {finding.change}: {finding.counted}." if finding.matches else f" {finding.change}."
    return f"{finding.cause}: {finding.text}{change}"


def _tests(found: Candidates) -> str:
    steps = [f"{step.left:,} {step.test}" for step in found.steps]
    return f"{found.event.variable}: {', '.join(steps)}"
