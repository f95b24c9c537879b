"""The page of papers: every citation in the code names a paper and a section, and its file is listed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.docs.blocks import ROOT

PACKAGE = ROOT / "src" / "fyke"
PAGE = ROOT / "docs" / "papers.md"
NUMBER = r"\d+(?:\.\d+)*"
# A letter in brackets by itself, not an index or a type argument; then, if there are, numbers of sections.
CITATION = re.compile(
    rf"(?<![\w\]\[])\[([A-Z])\](?:'s)?"
    rf"(?:\s+(?:(?:sections?|chapters?)\s+)?({NUMBER}(?:(?:,|\s+and)\s+{NUMBER})*))?"
)


class Citation(NamedTuple):
    file: Path
    paper: str
    sections: tuple[str, ...]


def citations(root: Path = PACKAGE) -> Iterator[Citation]:
    for file in sorted(path for path in root.rglob("*") if path.suffix in (".py", ".lark", ".golden")):
        for found in CITATION.finditer(file.read_text()):
            yield Citation(file, found[1], tuple(re.findall(NUMBER, found[2] or "")))


@cache
def tables() -> dict[str, list[tuple[list[str], list[str]]]]:
    """Return of each paper the rows of its table: the sections and the files they name."""
    found = {}
    for part in PAGE.read_text().split("\n## ")[1:]:
        rows = re.findall(r"^\| (?!section|---)([^|]+) \| ([^|]+) \|(.*)\|$", part, re.MULTILINE)
        found[part[1]] = [
            (re.findall(rf"(?<![\w.]){NUMBER}(?![\w.])", about), re.findall(r"`([\w/]+\.\w+)`", files + more))
            for about, files, more in rows
        ]
    return found


def test_the_page_describes_every_paper_it_has_a_table_for() -> None:
    described = re.findall(r"^\| \*\*\[(.)\]\*\* \| .*\*.+\*\.", PAGE.read_text(), re.MULTILINE)
    assert described == list(tables()) == ["N", "S", "T", "L"]


@pytest.mark.parametrize("root", [PACKAGE, ROOT / "tests", ROOT / "bench"], ids=lambda root: root.name)
def test_every_citation_names_a_paper_and_a_section(root: Path) -> None:
    cited = list(citations(root))
    assert len(cited) > 10
    for file, paper, sections in cited:
        assert paper in tables(), f"{file}: [{paper}] is none of docs/papers.md"
        known = {section for row, _ in tables()[paper] for section in row}
        for section in sections:
            within = any(each == section or each.startswith(f"{section}.") for each in known)
            assert within, f"{file}: docs/papers.md has no section {section} of [{paper}]"


def test_every_file_that_cites_a_paper_is_listed() -> None:
    for file, paper, _ in citations():
        if file.parent != PACKAGE:  # the options of a call cite what they switch
            listed = {name for _, names in tables()[paper] for name in names}
            name = str(file.relative_to(PACKAGE))
            assert name in listed, f"{name} cites [{paper}] and is not in its table of docs/papers.md"


def test_listed_files_exist() -> None:
    for rows in tables().values():
        for _, names in rows:
            assert names
            for name in names:
                assert (PACKAGE / name).exists() or (ROOT / name).exists(), name
