"""What a timeline shows, as plain data: events in lanes, matches, windows and absences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Mark:
    """An event: its row, its times in units of the time column, its lane, type and key, and what it holds."""

    row: int
    start: int
    end: int
    lane: int
    type: str
    key: str
    attributes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Bound:
    """A match: the marks of each variable, by number, and how far its window reaches; None without one."""

    variables: Mapping[str, Sequence[int]]
    window: tuple[int, int] | None = None

    @property
    def marks(self) -> list[int]:
        """The numbers of all its marks."""
        return [number for numbers in self.variables.values() for number in numbers]


@dataclass(frozen=True, slots=True)
class Stretch:
    """A time in which something must not be, in a lane; ``broken``: it is there."""

    start: int
    end: int
    lane: int
    text: str
    broken: bool = False


@dataclass(frozen=True, slots=True)
class Timeline:
    """Events in lanes and the matches among them; ``hidden`` says what is left out."""

    lanes: Sequence[str]
    marks: Sequence[Mark]
    matches: Sequence[Bound]
    absences: Sequence[Stretch] = ()
    culprits: frozenset[int] = frozenset()
    unit: int | None = None
    dated: bool = False
    title: str = "events"
    notes: Sequence[str] = field(default_factory=tuple)
    of_match: frozenset[int] = frozenset()

    @property
    def span(self) -> tuple[int, int]:
        """The first and the last moment that is shown."""
        starts = [mark.start for mark in self.marks]
        ends = [mark.end for mark in self.marks]
        for match in self.matches:
            if match.window is not None:
                starts.append(match.window[0])
        if not starts:
            return 0, 1
        first, last = min(starts), max(ends)
        return (first, last) if last > first else (first - 1, last + 1)
