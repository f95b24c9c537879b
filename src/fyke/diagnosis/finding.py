"""What a diagnosis finds: a cause in words, and a change of the query with the matches it gives."""

from __future__ import annotations

from dataclasses import dataclass

from fyke.diagnosis.probe import Bindings
from fyke.diagnosis.setup import Setup


@dataclass(frozen=True, slots=True)
class Finding:
    """A cause, what it did, and the change that gives matches.

    Attributes
    ----------
    cause
        Its name, see :data:`CAUSES`.
    text
        What happened, in a sentence.
    change
        What to change; empty if nobody knows.
    matches
        How many matches the change gives; None if it was not tried.
    setup, example, culprits
        The changed query, the nearest attempt as the rows of its variables, and rows that stood in its way.
    part
        The part of the query that is to blame, as it is written.
    """

    cause: str
    cost: float
    text: str
    change: str = ""
    matches: int | None = None
    exact: bool = True
    setup: Setup | None = None
    example: Bindings | None = None
    culprits: tuple[int, ...] = ()
    part: str = ""

    @property
    def counted(self) -> str:
        """How many matches the change gives, in words."""
        if self.matches is None:
            return ""
        matches = "1 match" if self.matches == 1 else f"{self.matches:,} matches"
        return matches if self.exact else f"{matches} or more"


CAUSES = {
    "matched": "there are matches",
    "no_events": "there are no events to match",
    "not_in_selection": "the key or the interval has no event of a type that the query needs",
    "between": "the match is not within the interval alone",
    "no_time": "the events of a variable have no time",
    "missing_type": "no event has a type that the query names",
    "contradiction": "nothing can satisfy the query, whatever the events are",
    "condition": "a condition does not hold",
    "null_value": "a condition compares with null",
    "null_key": "the attribute of [x] is null",
    "key": "the events do not agree on [x]",
    "window": "the window is too short",
    "tie": "events of one time are not in sequence",
    "touching": "events that touch are not in sequence",
    "order": "the events come in another order",
    "count": "a group has too few events, or too many",
    "strategy": "the strategy does not pass over an event, or passes over none",
    "absence": "an event is there that must not be",
    "complete_windows": "the window reaches past the data",
    "type": "an event of another type is in the place",
    "unknown": "no change that was tried gives a match",
}
"""The names of causes, and what each means."""
