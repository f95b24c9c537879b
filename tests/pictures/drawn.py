"""What an SVG shows, read back: its shapes by name, its texts with the room they take."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass

from fyke.pictures.svg import width_of

SVG = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True)
class Text:
    left: float
    right: float
    top: float
    bottom: float
    text: str

    def meets(self, other: Text) -> bool:
        across = self.left < other.right - 1 and other.left < self.right - 1
        return across and self.top < other.bottom - 1 and other.top < self.bottom - 1


class Drawn:
    def __init__(self, svg: str) -> None:
        self.root = ElementTree.fromstring(svg)
        self.width, self.height = float(self.root.get("width", "0")), float(self.root.get("height", "0"))

    def named(self, name: str) -> list[ElementTree.Element]:
        return [each for each in self.root.iter() if name in (each.get("class") or "").split()]

    def words(self, name: str) -> list[str]:
        return [each.text or "" for each in self.named(name)]

    def texts(self) -> list[Text]:
        return [_text(each) for each in self.root.iter(f"{SVG}text")]

    def cut(self) -> list[Text]:
        """Return the texts that leave the paper."""
        return [
            each
            for each in self.texts()
            if each.left < -0.5
            or each.right > self.width + 0.5
            or each.top < -0.5
            or each.bottom > self.height + 0.5
        ]

    def overlapping(self) -> list[tuple[str, str]]:
        """Return the texts that are written over one another."""
        texts = self.texts()
        return [(a.text, b.text) for k, a in enumerate(texts) for b in texts[k + 1 :] if a.meets(b)]


def _text(element: ElementTree.Element) -> Text:
    x, y, size = (float(element.get(name, "0")) for name in ("x", "y", "font-size"))
    text = element.text or ""
    wide = width_of(text, size)
    left = {"start": x, "middle": x - wide / 2, "end": x - wide}[element.get("text-anchor", "start")]
    return Text(left, left + wide, y - size * 0.78, y + size * 0.22, text)
