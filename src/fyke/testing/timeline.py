"""A stream as a line of text: ``"a@0 b(k=1)@3 | b@1 | crash | d@12"``.

Events are written as ``type@time``, ``type(attribute=value, ...)@time`` or, for events that last,
``type@start..end``, in the order in which they arrive.  A bar ends a micro-batch.  A batch that is the word
``crash`` is no batch: the process dies in the middle of the one that follows, and starts again.
"""

from __future__ import annotations

import re
from ast import literal_eval
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from fyke.errors import InputError

CRASH = "crash"
_EVENT = re.compile(
    r"\s*(?P<type>[A-Za-z_]\w*)\s*(?:\((?P<attributes>(?:[^()'\"]|'[^']*'|\"[^\"]*\")*)\))?"
    r"@(?P<start>-?\d+)(?:\.\.(?P<end>-?\d+))?(?=\s|$)"
)
_ATTRIBUTE = re.compile(r"\s*(?P<name>[A-Za-z_]\w*)\s*=\s*(?P<value>'[^']*'|\"[^\"]*\"|[^,]+?)\s*(?:,|$)")
_WORDS = {"null": None, "true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Timeline:
    """Micro-batches of events in the order of their arrival, and before which of them the process dies."""

    batches: list[pa.Table]
    crashes: frozenset[int]
    lasting: bool

    @property
    def events(self) -> pa.Table:
        """All events, in the order of their arrival."""
        return pa.concat_tables(self.batches)

    @property
    def time(self) -> str | tuple[str, str]:
        """The time column, or the two of events that last."""
        return ("start_time", "time") if self.lasting else "time"


def parse_timeline(text: str) -> Timeline:
    """Return a timeline; its columns are ``type``, ``time`` and the attributes of its events.

    Raises
    ------
    InputError
        If the text is not a timeline, with the place.
    """
    rows: list[dict[str, Any]] = []
    sizes: list[int] = []
    crashes = set()
    lasting = ".." in text
    begin = 0
    for part in text.split("|"):
        if part.strip() == CRASH:
            crashes.add(len(sizes))
        else:
            found = _events(text, begin, begin + len(part), lasting=lasting)
            rows += found
            sizes.append(len(found))
        begin += len(part) + 1
    names = ["type", *(["start_time"] if lasting else []), "time"]
    names += [name for name in dict.fromkeys(key for row in rows for key in row) if name not in names]
    try:
        columns = {name: pa.array([row.get(name) for row in rows]) for name in names}
    except pa.ArrowInvalid as error:
        raise InputError(f"an attribute of the timeline has values of several types: {error}") from None
    if not rows:
        columns = {name: pa.array([], pa.string() if name == "type" else pa.int64()) for name in names}
    table, batches, first = pa.table(columns), [], 0
    for size in sizes:
        batches.append(table.slice(first, size))
        first += size
    return Timeline(batches, frozenset(crashes), lasting)


def _events(text: str, begin: int, end: int, *, lasting: bool) -> list[dict[str, Any]]:
    """Return the events of one micro-batch."""
    found: list[dict[str, Any]] = []
    while text[begin:end].strip():
        event = _EVENT.match(text, begin, end)
        if event is None:
            at = begin + len(text[begin:end]) - len(text[begin:end].lstrip())
            raise InputError(
                f"a timeline has an event here, found {text[at:end].strip()[:30]!r}\n  {text}\n  {' ' * at}^",
                remedy="Write events as a@3, a(k=1, name='x')@3 or a@3..5, with spaces between them; "
                "| ends a micro-batch, and crash stands alone in one.",
            )
        start, last = int(event["start"]), int(event["end"] or event["start"])
        row = {"type": event["type"], "time": last, **_attributes(event["attributes"] or "")}
        found.append({**row, "start_time": start} if lasting else row)
        begin = event.end()
    return found


def _attributes(text: str) -> dict[str, Any]:
    found, at = {}, 0
    while text[at:].strip():
        item = _ATTRIBUTE.match(text, at)
        if item is None:
            raise InputError(
                f"attributes of an event are written as (k=1, name='x'), found {text[at:].strip()!r}"
            )
        found[item["name"]] = _value(item["value"])
        at = item.end()
    return found


def _value(text: str) -> Any:
    """Return a value: a number, a text in quotes, true, false or null; any other word is a text."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    try:
        return literal_eval(text)
    except (ValueError, SyntaxError):
        return text
