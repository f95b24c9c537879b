"""Draw the pictures of the documentation: ``python scripts/draw_pictures.py``.

Writes docs/pictures/strategies-*.svg, what each selection strategy takes of one stream, and example.svg, the
example of the README.  docs/pictures/drawn has what ``fyke.draw`` makes.  Everything that is drawn comes from
running the queries.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

import fyke

PICTURES = Path(__file__).resolve().parents[1] / "docs" / "pictures"
STYLE = (
    "svg.fyke{--ink:#24323d;--faint:#8a98a5;--rule:#d5dde4;--card:#fff;--taken:#00796b;--other:#c2cbd3;"
    "--mark:#d9480f}"
    "@media(prefers-color-scheme:dark){svg.fyke{--ink:#e3e8ee;--faint:#93a1b0;--rule:#465261;--card:#20252f;"
    "--taken:#4dc9b7;--other:#5b6877;--mark:#ff9a5a}}"
)
SANS = "font-family='system-ui,Segoe UI,DejaVu Sans,sans-serif'"
MONO = "font-family='ui-monospace,DejaVu Sans Mono,monospace'"
STRATEGIES = (
    "skip_till_any_match",
    "skip_till_next_match",
    "greedy_skip_till_next_match",
    "robust_skip_till_next_match",
    "partition_contiguity",
    "greedy_partition_contiguity",
    "strict_contiguity",
    "greedy_strict_contiguity",
)
STEP, LANE, LEFT, TOP = 58, 24, 236, 66


class Stream(NamedTuple):
    """A stream to draw: each letter is the type of an event, each digit its partition or its value."""

    name: str
    kinds: str
    pattern: str
    keys: str = ""
    values: str = ""
    where: str = ""
    strategies: tuple[str, ...] = STRATEGIES


STREAMS = (
    Stream("sequence", "AxBBC", "SEQ(A a, B b, C c)"),
    Stream("group", "AxBCBC", "SEQ(A a, B+ b[], C c)"),
    Stream(
        "condition", "ABBC", "SEQ(A a, B b, C c)", values="1935", where="b.x < c.x", strategies=STRATEGIES[:4]
    ),
    Stream(
        "keys",
        "ABCAC",
        "SEQ(A a, C c)",
        keys="12111",
        strategies=(STRATEGIES[1], STRATEGIES[4], STRATEGIES[6]),
    ),
    Stream("streak", "AABAAA", "A{2,} a[]", strategies=STRATEGIES[4:6]),
)


def events_of(stream: Stream) -> pa.Table:
    """Return the stream as a table: one event per moment."""
    length = len(stream.kinds)
    keys, values = stream.keys or "1" * length, stream.values or "0" * length
    columns = {"kind": list(stream.kinds), "key": list(keys), "x": [int(value) for value in values]}
    return pa.table(columns | {"at": range(length)})


def matches(stream: Stream, strategy: str) -> list[tuple[int, ...]]:
    """Return the moments of the events of each match, in order."""
    conditions = " AND ".join(filter(None, ["[key]", stream.where]))
    query = f"PATTERN {stream.pattern} WHERE {strategy} {{ {conditions} }} WITHIN 100"
    found = fyke.match(events_of(stream), query, time="at", type="kind")
    bound = [name for name in found.column_names if name not in ("match_id", "key", "start", "end")]
    moments = []
    for row in found.to_pylist():
        events = (row[name] if isinstance(row[name], list) else [row[name]] for name in bound)
        moments.append(tuple(sorted(event["at"] for group in events for event in group)))
    return sorted(moments)


def _text(x: float, y: float, text: str, colour: str, size: int, font: str = SANS, more: str = "") -> str:
    return f"<text x='{x:g}' y='{y:g}' font-size='{size}' {font} fill='var(--{colour})' {more}>{text}</text>"


def _events(stream: Stream) -> list[str]:
    parts = []
    for at, kind in enumerate(stream.kinds):
        x = LEFT + at * STEP
        relevant = kind in stream.pattern
        shown = kind + (stream.keys or stream.values or " " * len(stream.kinds))[at].strip()
        fill, ink = ("taken", "card") if relevant else ("other", "ink")
        parts.append(f"<circle cx='{x}' cy='34' r='15' fill='var(--{fill})'/>")
        parts.append(_text(x, 39, shown, ink, 14, MONO, "text-anchor='middle' font-weight='600'"))
    return parts


def _lane(match: tuple[int, ...], y: float, length: int) -> list[str]:
    first, last = LEFT + match[0] * STEP, LEFT + match[-1] * STEP
    parts = [f"<path d='M{first} {y}H{last}' stroke='var(--taken)' stroke-width='2.5'/>"]
    for at in range(length):
        x = LEFT + at * STEP
        if at in match:
            parts.append(f"<circle cx='{x}' cy='{y}' r='6' fill='var(--taken)'/>")
        elif match[0] < at < match[-1]:
            style = "fill='var(--card)' stroke='var(--mark)' stroke-width='1.6'"
            parts.append(f"<circle cx='{x}' cy='{y}' r='4' {style}/>")
    return parts


def _legend(y: float) -> list[str]:
    return [
        f"<circle cx='19' cy='{y}' r='5' fill='var(--taken)'/>",
        _text(30, y + 4, "taken", "faint", 12),
        f"<circle cx='99' cy='{y}' r='4' fill='var(--card)' stroke='var(--mark)' stroke-width='1.6'/>",
        _text(110, y + 4, "passed over", "faint", 12),
    ]


def drawing(stream: Stream) -> str:
    """Return the SVG of a stream: its events, and for each strategy a line for each match."""
    length = len(stream.kinds)
    width = max(LEFT + length * STEP, 560)
    parts = [_text(14, 31 if stream.where else 39, stream.pattern, "ink", 13, MONO), *_events(stream)]
    if stream.where:
        parts.append(_text(14, 49, stream.where.replace("<", "&lt;"), "ink", 13, MONO))
    y = TOP
    for strategy in stream.strategies:
        found = matches(stream, strategy)
        height = LANE * max(1, len(found)) + 10
        parts.append(f"<path d='M10 {y}H{width - 10}' stroke='var(--rule)'/>")
        parts.append(_text(14, y + 21, strategy, "ink", 12, MONO))
        if not found:
            parts.append(_text(LEFT - 6, y + 21, "no match", "faint", 12))
        for number, match in enumerate(found):
            parts += _lane(match, y + 17 + number * LANE, length)
        y += height
    parts.append(f"<path d='M10 {y}H{width - 10}' stroke='var(--rule)'/>")
    parts += _legend(y + 19)
    return _svg(width, y + 34, f"{stream.pattern} on {' '.join(stream.kinds)}, under each strategy", parts)


def _svg(width: int, height: int, title: str, parts: list[str]) -> str:
    box = f"viewBox='0 0 {width} {height}' width='{width}' height='{height}'"
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' class='fyke' {box}><style>{STYLE}</style>"
        f"<title>{title}</title><rect width='{width}' height='{height}' rx='8' fill='var(--card)'/>"
        + "".join(parts)
        + "</svg>\n"
    )


READINGS = (
    (0, "Shelf", "razor"),
    (1, "Shelf", "whisky"),
    (8, "Register", "whisky"),
    (13, "Exit", "whisky"),
    (17, "Exit", "razor"),
    (4, "Shelf", "cheese"),
    (11, "Register", "cheese"),
)
STOLEN = "PATTERN SEQ(Shelf a, ~Register b, Exit c) WHERE { [tag] } WITHIN 720"


def example() -> str:
    """Return the SVG of three tags in a shop, a lane for each, with what the query finds."""
    rows = [dict(zip(("minute", "kind", "tag"), reading, strict=True)) for reading in READINGS]
    found = fyke.match(rows, STOLEN, time="minute", type="kind").to_pylist()
    lanes = {tag: 66 + 46 * number for number, tag in enumerate(dict.fromkeys(tag for _, _, tag in READINGS))}
    width, height = 700, 66 + 46 * len(lanes) + 10

    def x(minute: int) -> int:
        return 130 + minute * 30

    parts = [
        _text(
            18, 30, "SEQ(Shelf a, ~Register b, Exit c)  WHERE { [tag] }", "ink", 14, MONO, "font-weight='600'"
        )
    ]
    for tag, y in lanes.items():
        parts.append(_text(18, y + 5, tag, "ink", 14))
        parts.append(f"<path d='M110 {y}H{width - 16}' stroke='var(--rule)'/>")
    for match in found:
        first, last, y = x(match["start"]), x(match["end"]), lanes[match["tag"]]
        parts.append(f"<path d='M{first} {y}H{last}' stroke='var(--taken)' stroke-width='4'/>")
        parts.append(_text((first + last) / 2, y - 8, "a match", "taken", 12, SANS, "text-anchor='middle'"))
    taken = {(event["minute"], event["tag"]) for match in found for event in (match["a"], match["c"])}
    for minute, kind, tag in READINGS:
        fill = "taken" if (minute, tag) in taken else "mark" if kind == "Register" else "other"
        ink = "card" if fill != "other" else "ink"
        wide = 20 + 7.5 * len(kind)
        box = f"x='{x(minute) - 12}' y='{lanes[tag] - 13}' width='{wide:g}' height='26' rx='13'"
        parts.append(f"<rect {box} fill='var(--{fill})'/>")
        parts.append(_text(x(minute) - 2, lanes[tag] + 5, kind, ink, 13))
    return _svg(width, height, "Three tags in a shop; one left without a register between", parts)


def drawn() -> dict[str, str]:
    """Return what ``fyke.draw`` makes of the query of the page on pictures, by the name of the file."""
    readings = pa.table(
        {
            "kind": ["Shelf", "Shelf", "Register", "Exit", "Exit"],
            "tag": ["razor", "whisky", "whisky", "whisky", "razor"],
            "minute": [0, 1, 8, 13, 17],
        }
    )
    query = "PATTERN SEQ(Shelf a, ~Register b, Exit c) WHERE { [tag] AND c.minute > a.minute + 5 } WITHIN 720"
    options = {"time": "minute", "type": "kind"}
    short = fyke.why_not(readings, query.replace("720", "15"), **options)
    return {
        "automaton": fyke.draw(query).svg,
        "plan": fyke.draw(fyke.explain(readings, query, **options)).svg,
        "timeline": fyke.draw(readings, query, **options).svg,
        "why_not": short.picture().svg,
    }


def main() -> None:
    (PICTURES / "drawn").mkdir(exist_ok=True)
    for name, text in drawn().items():
        (PICTURES / "drawn" / f"{name}.svg").write_text(text, encoding="utf-8")
    (PICTURES / "example.svg").write_text(example(), encoding="utf-8")
    for stream in STREAMS:
        (PICTURES / f"strategies-{stream.name}.svg").write_text(drawing(stream), encoding="utf-8")


if __name__ == "__main__":
    main()
