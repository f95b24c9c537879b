"""A picture: SVG text that shows in notebooks, and saves as SVG, PNG or HTML."""

from __future__ import annotations

import os
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

from fyke.errors import InputError, OptionError, shown
from fyke.pictures.svg import THEMES, Svg

resvg: Any
try:
    import resvg_py as resvg
except ImportError:  # it is an optional dependency: pip install fyke[png]
    resvg = None


class Picture:
    """A drawing.  ``svg`` is its text; a notebook shows it, and :meth:`save` writes it to a file."""

    def __init__(self, draw: Callable[[], Svg], title: str, theme: str = "auto") -> None:
        check_theme(theme)
        self._svg, self.title, self.theme = draw(), title, theme

    @property
    def svg(self) -> str:
        """The picture as SVG text."""
        return self._svg.finish(self.theme, self.title)

    @property
    def width(self) -> float:
        """The width in pixels."""
        return self._svg.width

    @property
    def height(self) -> float:
        """The height in pixels."""
        return self._svg.height

    def png(self, scale: float = 2.0) -> bytes:
        """Return the picture as PNG, drawn so many times as large.

        Raises
        ------
        InputError
            If ``resvg-py``, which draws it, is not installed.
        """
        if resvg is None:
            raise InputError(
                "PNG needs the package resvg-py, which is not installed",
                remedy="Install it with pip install 'fyke[png]', or save the picture as SVG.",
            )
        theme = "light" if self.theme == "auto" else self.theme
        drawn: Any = resvg.svg_to_bytes(
            svg_string=self._svg.finish(theme, self.title), zoom=int(max(1, scale))
        )
        return bytes(drawn)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the picture to a file whose name ends in .svg, .png or .html, and return its path."""
        target = Path(path)
        suffix = target.suffix.lower()
        if suffix == ".png":
            return write_file(target, self.png())
        if suffix == ".svg":
            return write_file(target, self.svg.encode())
        if suffix == ".html":
            return write_file(target, page(self.title, self.svg).encode())
        raise OptionError(
            f"a picture is saved as .svg, .png or .html, found {shown(str(path))}",
            remedy="Write, for example, picture.save('picture.svg').",
        )

    def __repr__(self) -> str:
        return f"Picture of {self.title}, {self.width:.0f} by {self.height:.0f} pixels; .save('picture.svg')"

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        return f'<div style="overflow-x:auto">{self.svg}</div>'


def check_theme(theme: object) -> None:
    """Refuse a theme that is not known."""
    if theme not in THEMES:
        raise OptionError(f"theme must be one of {', '.join(map(repr, THEMES))}, found {shown(theme)}")


def write_file(target: Path, content: bytes) -> Path:
    """Write a file and return its path.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    try:
        target.write_bytes(content)
    except OSError as error:
        raise InputError(f"{str(target)!r} cannot be written: {error.strerror}") from error
    return target


def page(title: str, body: str) -> str:
    """Return a page of HTML with a drawing on it."""
    look = "body{margin:0;background:#fff}@media (prefers-color-scheme: dark){body{background:#14171f}}"
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{look}</style></head><body>{body}</body></html>"
    )
