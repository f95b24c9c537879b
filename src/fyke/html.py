"""Texts and tables for notebooks: small pieces of HTML in the colours of the page around them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

_PRE = "margin:0;padding:.6em .8em;overflow-x:auto;line-height:1.45;border-left:3px solid #2456c7"
_CELL = "padding:.2em .8em;text-align:left;border-bottom:1px solid rgba(128,128,128,.35)"


class ShownText(str):
    """A text that notebooks show as it is laid out."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return code_block(str(self))


def code_block(text: str) -> str:
    """Return a text that is laid out in lines."""
    return f'<pre style="{_PRE}">{escape(text)}</pre>'


def marked_block(text: str, words: Iterable[str]) -> str:
    """Return a text that is laid out in lines, with some words at the beginning of a line in bold."""
    known, lines = tuple(words), []
    for line in escape(text).split("\n"):
        indent = line[: len(line) - len(line.lstrip(" "))]
        first, space, rest = line.strip(" ").partition(" ")
        lines.append(f"{indent}<b>{first}</b>{space}{rest}" if first in known else line)
    return f'<pre style="{_PRE}">{chr(10).join(lines)}</pre>'


def html_table(head: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """Return a table."""
    top = "".join(f'<th style="{_CELL}">{escape(name)}</th>' for name in head)
    body = "".join(
        "<tr>" + "".join(f'<td style="{_CELL}">{escape(str(value))}</td>' for value in row) + "</tr>"
        for row in rows
    )
    said = f"<caption>{escape(caption)}</caption>" if caption else ""
    inner = f"{said}<thead><tr>{top}</tr></thead><tbody>{body}</tbody>"
    return f'<table style="border-collapse:collapse">{inner}</table>'


def paragraph(text: str) -> str:
    """Return a paragraph."""
    return f"<p>{escape(text)}</p>"
