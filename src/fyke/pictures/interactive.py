"""A timeline as a page of HTML to look around in: one file that needs no server and nothing from outside."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any

from fyke.errors import OptionError, shown
from fyke.pictures.picture import write_file
from fyke.pictures.svg import DARK, FONT, LIGHT
from fyke.pictures.timeline_data import Timeline

_SCRIPT = Path(__file__).with_name("timeline.js")
_STYLE = """
body{margin:0;background:var(--paper);color:var(--ink);font-family:%(font)s;font-size:13px}
header{padding:14px 18px 6px}h1{font-size:16px;margin:0 0 6px}
pre{margin:0 0 8px;color:var(--faint);white-space:pre-wrap}
nav{display:flex;flex-wrap:wrap;gap:6px;align-items:center;padding:4px 18px 10px}
button,select,input{font:inherit;color:var(--ink);background:var(--panel);border:1px solid var(--line);
border-radius:5px;padding:4px 9px}
button{cursor:pointer}select,input{max-width:15em}
#info{color:var(--faint)}main{position:relative;margin:0 18px}
canvas{display:block;width:100%%;border:1px solid var(--grid);cursor:grab;touch-action:none}
#tip{position:absolute;pointer-events:none;background:var(--paper);border:1px solid var(--line);
border-radius:6px;padding:6px 9px;max-width:26em;
overflow-wrap:anywhere;box-shadow:0 2px 9px rgba(0,0,0,.25);z-index:2}
#matches{display:flex;flex-wrap:wrap;gap:6px;padding:12px 18px;max-height:12em;overflow:auto}
#matches button{border-left-width:5px}
"""


class TimelinePage:
    """A page of events and matches.  ``html`` is its text; notebooks show it, and :meth:`save` writes it."""

    def __init__(self, timeline: Timeline, query: str) -> None:
        self.timeline, self.query = timeline, query

    @property
    def html(self) -> str:
        """The page as text."""
        title = (
            f"{self.timeline.title}: {', '.join(self.timeline.notes)}"
            if self.timeline.notes
            else self.timeline.title
        )
        buttons = [("left", "←"), ("right", "→"), ("in", "+"), ("out", "-"), ("all", "all of the time")]
        made = "".join(f'<button id="{name}" type="button">{text}</button>' for name, text in buttons)
        return (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f'<link rel="icon" href="data:,"><title>{escape(title)}</title>'
            f"<style>{_variables()}{_STYLE % {'font': FONT}}</style></head><body>"
            f"<header><h1>{escape(title)}</h1><pre>{escape(self.query)}</pre></header>"
            f'<nav>{made}<select id="key" aria-label="key"></select>'
            '<input id="find" type="search" placeholder="find a key" aria-label="find a key">'
            '<span id="info" role="status"></span></nav>'
            '<main><canvas id="canvas"></canvas><div id="tip" hidden></div></main>'
            '<section id="matches" aria-label="matches"></section>'
            f"<script>{self._script()}</script></body></html>\n"
        )

    def _script(self) -> str:
        # What could end the script early is written so that it does not.
        text = json.dumps(self._data(), separators=(",", ":")).replace("<", "\\u003c")
        return _SCRIPT.read_text(encoding="utf-8").replace("const data = DATA;", f"const data = {text};")

    def _data(self) -> dict[str, Any]:
        """Return what the page shows; times count from the first one, so that JavaScript has them exactly."""
        timeline = self.timeline
        first, last = timeline.span
        order = sorted(range(len(timeline.marks)), key=lambda each: (timeline.marks[each].end, each))
        marks = [timeline.marks[each] for each in order]
        places = {old: new for new, old in enumerate(order)}
        types, type_numbers = _numbered(mark.type for mark in marks)
        keys, key_numbers = _numbered(mark.key for mark in marks)
        columns = list(marks[0].attributes) if marks else []
        return {
            "lanes": list(timeline.lanes),
            "origin": first,
            "first": 0,
            "last": last - first,
            "unit": timeline.unit or 1,
            "dated": timeline.dated,
            "start": [mark.start - first for mark in marks],
            "end": [mark.end - first for mark in marks],
            "lane": [mark.lane for mark in marks],
            "types": types,
            "type": type_numbers,
            "keys": keys,
            "key": key_numbers,
            "columns": columns,
            "values": [[str(mark.attributes[name]) for mark in marks] for name in columns],
            "matches": [self._match(number, places, first) for number in range(len(timeline.matches))],
            "absences": [[each.start - first, each.end - first, each.lane] for each in timeline.absences],
        }

    def _match(self, number: int, places: dict[int, int], first: int) -> dict[str, Any]:
        match, marks = self.timeline.matches[number], self.timeline.marks
        bound = sorted(match.marks, key=lambda each: (marks[each].end, marks[each].row))
        window = None if match.window is None else [match.window[0] - first, match.window[1] - first]
        return {
            "marks": [places[each] for each in bound],
            "first": min(marks[each].start for each in bound) - first,
            "last": max(marks[each].end for each in bound) - first,
            "window": window,
        }

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file whose name ends in .html, and return its path."""
        target = Path(path)
        if target.suffix.lower() not in (".html", ".htm"):
            raise OptionError(
                f"a timeline is saved as .html, found {shown(str(path))}",
                remedy="fyke.draw(events, query, ...) gives a picture that saves as .svg or .png.",
            )
        return write_file(target, self.html.encode())

    def __repr__(self) -> str:
        return f"Timeline of {self.timeline.title}; .save('timeline.html')"

    def _repr_html_(self) -> str:
        high = 240 + 52 * len(self.timeline.lanes)
        return (
            f'<iframe srcdoc="{escape(self.html)}" style="width:100%;height:{high}px;border:0" '
            'sandbox="allow-scripts"></iframe>'
        )


def _numbered(values: Iterable[str]) -> tuple[list[str], list[int]]:
    known: dict[str, int] = {}
    numbers = [known.setdefault(value, len(known)) for value in values]
    return list(known), numbers


def _variables() -> str:
    def rules(theme: dict[str, str]) -> str:
        return ":root{" + "".join(f"--{name}:{value};" for name, value in theme.items()) + "}"

    return rules(LIGHT) + f"@media (prefers-color-scheme: dark){{{rules(DARK)}}}"
