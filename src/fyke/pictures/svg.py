"""A small writer of SVG: shapes and texts by the names of their colours, in a light and a dark theme.

All text is in a font of fixed width, so that the room it takes is known before it is drawn.
"""

from __future__ import annotations

from html import escape

FONT = "'DejaVu Sans Mono', Menlo, Consolas, 'Liberation Mono', monospace"
SMALL, NORMAL, LARGE = 11, 13, 16
_ADVANCE = 0.603  # of the font size, for each character

LIGHT = {
    "paper": "#ffffff",
    "ink": "#1f2430",
    "faint": "#6b7280",
    "line": "#9aa3b2",
    "grid": "#e5e8ee",
    "panel": "#f4f6fa",
    "window": "#dbe7ff",
    "absence": "#ffe1dd",
    "bad": "#c0392b",
    "good": "#1b8a5a",
    "accent": "#2456c7",
    "c0": "#2456c7",
    "c1": "#c7562a",
    "c2": "#1b8a5a",
    "c3": "#8a3fb0",
    "c4": "#a07800",
    "c5": "#0c7d96",
    "c6": "#b8336a",
    "c7": "#55606e",
}
DARK = {
    "paper": "#14171f",
    "ink": "#e8eaf0",
    "faint": "#a0a8b8",
    "line": "#6d7789",
    "grid": "#2a303d",
    "panel": "#1d222d",
    "window": "#22345e",
    "absence": "#54241f",
    "bad": "#ff8a7a",
    "good": "#5fd3a0",
    "accent": "#8fb2ff",
    "c0": "#8fb2ff",
    "c1": "#ff9f73",
    "c2": "#5fd3a0",
    "c3": "#cf9af0",
    "c4": "#e6c24a",
    "c5": "#5fcbe0",
    "c6": "#ff8fb5",
    "c7": "#b5bfce",
}
THEMES = ("auto", "light", "dark")


def width_of(text: str, size: float = NORMAL) -> float:
    """Return the width that a text takes; wide characters take two places."""
    return sum(2 if ord(char) > 0x2E7F else 1 for char in text) * size * _ADVANCE


def fitted(text: str, width: float, size: float = NORMAL) -> str:
    """Return a text, cut at its end so that it fits into a width."""
    if width_of(text, size) <= width:
        return text
    most = max(1, int(width / (size * _ADVANCE)) - 1)
    return text[:most].rstrip() + "…"


def wrapped(text: str, width: float, size: float = NORMAL) -> list[str]:
    """Return a text as lines that fit into a width, broken at spaces where there are any."""
    lines, line = [], ""
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        if line and width_of(longer, size) > width:
            lines.append(line)
            line = word
        else:
            line = longer
        while width_of(line, size) > width:
            most = max(1, int(width / (size * _ADVANCE)))
            lines.append(line[:most])
            line = line[most:]
    return [*lines, line] if line or not lines else lines


class Svg:
    """Shapes and texts in the order in which they are drawn, over a paper of some size."""

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height
        self.parts: list[str] = []

    def text(
        self, x: float, y: float, text: str, colour: str = "ink", *, size: float = NORMAL,
        anchor: str = "start", bold: bool = False, name: str = "",
    ) -> None:  # fmt: skip
        """Write a text; ``y`` is its base line."""
        weight = ' font-weight="700"' if bold else ""
        at = f'x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"'
        self.parts.append(
            f'<text {at} class="f-{colour}{_named(name)}"{weight} xml:space="preserve">{_shown(text)}</text>'
        )

    def rect(
        self, x: float, y: float, width: float, height: float, fill: str = "none", stroke: str = "none",
        *, round_: float = 0, dashed: bool = False, opacity: float = 1, tip: str = "", name: str = "",
    ) -> None:  # fmt: skip
        """Draw a rectangle."""
        at = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{round_}"'
        self._add("rect", at, fill, stroke, dashed=dashed, opacity=opacity, tip=tip, name=name)

    def circle(
        self, x: float, y: float, radius: float, fill: str = "none", stroke: str = "none", *,
        tip: str = "", name: str = "", width: float = 1.5,
    ) -> None:  # fmt: skip
        """Draw a circle."""
        at = f'cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"'
        self._add("circle", at, fill, stroke, tip=tip, name=name, width=width)

    def line(
        self, x1: float, y1: float, x2: float, y2: float, stroke: str = "line", *, width: float = 1,
        dashed: bool = False, arrow: bool = False, name: str = "",
    ) -> None:  # fmt: skip
        """Draw a line, with an arrow at its end if that is asked for."""
        at = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
        end = f' marker-end="url(#arrow-{stroke})"' if arrow else ""
        self._add("line", at + end, "none", stroke, dashed=dashed, width=width, name=name)

    def path(
        self, d: str, stroke: str = "line", *, fill: str = "none", width: float = 1.5, dashed: bool = False,
        arrow: bool = False, opacity: float = 1, name: str = "", tip: str = "",
    ) -> None:  # fmt: skip
        """Draw a path."""
        end = f' marker-end="url(#arrow-{stroke})"' if arrow else ""
        self._add(
            "path",
            f'd="{d}"{end}',
            fill,
            stroke,
            dashed=dashed,
            width=width,
            opacity=opacity,
            name=name,
            tip=tip,
        )

    def _add(
        self, tag: str, at: str, fill: str, stroke: str, *, dashed: bool = False, width: float = 1,
        opacity: float = 1, tip: str = "", name: str = "",
    ) -> None:  # fmt: skip
        look = f'class="{_class("f", fill)} {_class("s", stroke)}{_named(name)}"'
        look += f' stroke-width="{width}"' if stroke != "none" else ""
        look += ' stroke-dasharray="5 4"' if dashed else ""
        look += f' opacity="{opacity}"' if opacity != 1 else ""
        inner = f"<title>{_shown(tip)}</title>" if tip else ""
        self.parts.append(f"<{tag} {at} {look}>{inner}</{tag}>" if inner else f"<{tag} {at} {look}/>")

    def finish(self, theme: str = "auto", title: str = "") -> str:
        """Return the document; with the theme auto it follows the settings of whoever looks at it."""
        wide, high = f"{self.width:.0f}", f"{self.height:.0f}"
        size = f'width="{wide}" height="{high}" viewBox="0 0 {wide} {high}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="{FONT}" role="img">'
        named = f"<title>{_shown(title)}</title>" if title else ""
        style = _rules(DARK if theme == "dark" else LIGHT)
        if theme == "auto":
            style += f"@media (prefers-color-scheme: dark){{{_rules(DARK)}}}"
        paper = f'<rect width="{wide}" height="{high}" class="f-paper s-none"/>'
        return "".join([head, named, f"<style>{style}</style>", _arrows(), paper, *self.parts, "</svg>"])


def _arrows() -> str:
    shape = (
        'viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto-start-reverse"'
    )
    tip = '<path d="M0 1L10 5L0 9z" class="f-{}"/>'
    colours = ("line", "accent", "bad", "faint")
    made = [f'<marker id="arrow-{name}" {shape}>{tip.format(name)}</marker>' for name in colours]
    return f"<defs>{''.join(made)}</defs>"


def _rules(theme: dict[str, str]) -> str:
    fills = "".join(f".f-{name}{{fill:{value}}}.s-{name}{{stroke:{value}}}" for name, value in theme.items())
    return ".f-none{fill:none}.s-none{stroke:none}" + fills


def _class(kind: str, colour: str) -> str:
    return f"{kind}-{colour}"


def _named(name: str) -> str:
    return f" {name}" if name else ""


def _shown(text: str) -> str:
    """Return a text for SVG: escaped, and without what XML cannot hold."""
    plain = "".join(
        char if char.isprintable() or char == " " else "\N{REPLACEMENT CHARACTER}" for char in text
    )
    return escape(plain, quote=True)


def colour_of(number: int) -> str:
    """Return the colour of the n-th of several things."""
    return f"c{number % 8}"
