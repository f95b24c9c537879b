"""The report: records of benchmarks as one page, in Markdown and in HTML, with its plots beside it."""

from __future__ import annotations

import html
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import papers
from bench.machine import describe
from bench.pictures import draw, draw_bars
from bench.record import Record
from bench.report import Section

STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; display: block; overflow-x: auto; }
th, td { border-bottom: 1px solid #8884; padding: .25rem .6rem; text-align: left; vertical-align: top; }
td { font-variant-numeric: tabular-nums; }
figure { margin: 1rem 0; background: #fff; overflow-x: auto; }
.holds, .agrees { color: #2e9a3b; } .fails { color: #d33; font-weight: 600; } .differs { color: #b28704; }
"""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of a level from 1 on."""

    text: str
    level: int


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Text."""

    text: str


@dataclass(frozen=True, slots=True)
class Grid:
    """A table."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Picture:
    """An SVG file beside the page."""

    file: str
    svg: str
    title: str


Block = Heading | Paragraph | Grid | Picture


def write_pages(records: Sequence[Record], folder: Path, *, quick: bool) -> list[Path]:
    """Write ``report.md``, ``index.html`` and the plots to a folder; return the two pages."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.svg"):
        old.unlink()
    blocks = list(_blocks(records, quick=quick))
    for block in blocks:
        if isinstance(block, Picture):
            (folder / block.file).write_text(block.svg)
    markdown, page = folder / "report.md", folder / "index.html"
    markdown.write_text("\n\n".join(map(_markdown, blocks)) + "\n")
    body = "\n".join(map(_html, blocks))
    page.write_text(
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Fyke: benchmarks</title>\n'
        f"<style>{STYLE}</style></head><body>\n{body}\n</body></html>\n"
    )
    return [markdown, page]


# --- what the page says ---------------------------------------------------------------------


def _blocks(records: Sequence[Record], *, quick: bool) -> Iterator[Block]:
    yield Heading("Fyke: benchmarks", 1)
    mode = "Quick run, on smaller data" if quick else "Full run"
    minutes = sum(record.seconds for record in records) / 60
    yield Paragraph(
        f"{mode}, {time.strftime('%Y-%m-%d')}, {minutes:.0f} minutes. A figure with rounds is their median, "
        "and their least and most stand beside it; one without is a count, or was taken once."
    )
    yield Grid(["", ""], list(describe().items()))
    yield from _summary(records)
    if compared := list(papers.rows(records)):
        yield Heading("The papers' experiments", 2)
        yield Paragraph(
            "What each experiment of the papers reports, what was measured here, and whether the shape "
            "agrees: whether every line is within the values that are taken as agreeing. They were set by "
            "hand, wider than the paper's own figures, as machines, languages and data differ."
        )
        yield Grid(
            ["experiment", "the paper reports", "measured", "taken as agreeing", "shape", "why it differs"],
            compared,
        )
    for record in records:
        yield from _benchmark(record)


def _summary(records: Sequence[Record]) -> Iterator[Block]:
    yield Heading("Summary", 2)
    rows = []
    for record in records:
        bars = [
            line.holds for s in record.sections if not s.claims for line in s.lines if line.bar is not None
        ]
        skipped = [section.skipped for section in record.sections if section.skipped]
        said = record.broken or "; ".join(skipped) or ("" if record.holds else "a bar does not hold")
        rows.append([record.name, f"{sum(bars)} of {len(bars)}", f"{record.seconds:,.0f} s", said])
    yield Grid(["benchmark", "bars that hold", "time", ""], rows)
    missed = [
        [record.name, line.what, line.measured, line.spread, line.asked]
        for record in records
        for section in record.sections
        if not section.holds
        for line in section.lines
        if not line.holds
    ]
    if missed:
        yield Heading("Bars that do not hold", 3)
        yield Grid(["benchmark", "what", "measured", "rounds", "bar"], missed)


def _benchmark(record: Record) -> Iterator[Block]:
    yield Heading(record.name, 2)
    if record.broken:
        yield Paragraph(f"FAILS: {record.broken}")
    for number, section in enumerate(record.sections):
        yield from _section(record.name, number, section)


def _section(name: str, number: int, section: Section) -> Iterator[Block]:
    if section.title != name:
        yield Heading(section.title, 3)
    if section.skipped:
        yield Paragraph(f"Not run: {section.skipped}")
    if section.lines:
        rows = [
            [line.what, line.measured, line.spread, line.asked, section.verdict(line), line.note]
            for line in section.lines
        ]
        yield Grid(["what", "measured", "rounds", "bar", "", "note"], rows)
    if section.remarks:
        yield Paragraph(section.remarks)
    if (svg := draw_bars(section)) is not None:
        yield Picture(f"{_file(name)}-{number}.svg", svg, f"{section.title}: measured against the bars")
    for place, plot in enumerate(section.plots):
        yield Picture(f"{_file(name)}-{number}-{place}.svg", draw(plot), plot.title)


def _file(name: str) -> str:
    return re.sub(r"\W+", "-", name.lower()).strip("-")


# --- how it is written ----------------------------------------------------------------------


def _markdown(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"{'#' * level} {text}"
        case Paragraph(text):
            return text
        case Grid(head, rows):
            lines = [head, ["---"] * len(head), *rows]
            return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)
        case Picture(file, _, title):
            return f"![{title}]({file})"


def _html(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"<h{level}>{html.escape(text)}</h{level}>"
        case Paragraph(text):
            return f"<p>{html.escape(text).replace(chr(10), '<br>')}</p>"
        case Grid(head, rows):
            titles = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
            cells = "\n".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
            return f"<table><thead><tr>{titles}</tr></thead>\n<tbody>{cells}</tbody></table>"
        case Picture(_, svg, title):
            return f'<figure role="img" aria-label="{html.escape(title)}">{svg}</figure>'


def _cell(text: str) -> str:
    words = {"holds", "FAILS", "agrees", "differs"}
    marked = f' class="{text.lower()}"' if text in words else ""
    return f"<td{marked}>{html.escape(text)}</td>"
