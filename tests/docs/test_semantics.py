"""The page that says what a query means: its sections are numbered, and every reference finds its section."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, pages

PAGE = ROOT / "docs" / "semantics.md"
FILES = [
    path
    for folder in ("src", "tests", "bench", "examples")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in (".py", ".lark", ".golden", ".txt") and path != Path(__file__)
]
NUMBER = r"\d+(?:\.\d+)*"
REFERENCE = re.compile(rf"SEMANTICS(?:\s+({NUMBER}(?:(?:,|\s+and|,\s+and)\s+{NUMBER}\b)*))?")


@cache
def sections() -> list[str]:
    return re.findall(rf"^##+ ({NUMBER})\.? \S", PAGE.read_text(), re.MULTILINE)


def references(file: Path) -> list[str]:
    """Return the numbers of the sections that a file cites."""
    return [
        number for found in REFERENCE.findall(file.read_text()) for number in re.findall(NUMBER, found or "")
    ]


def test_sections_are_numbered_in_order() -> None:
    headings = re.findall(r"^##+ .*$", PAGE.read_text(), re.MULTILINE)
    assert len(sections()) == len(headings), headings
    assert [number for number in sections() if "." not in number] == ["1", "2", "3", "4", "5", "6"]
    assert sections() == sorted(sections(), key=lambda number: [int(part) for part in number.split(".")])


@pytest.mark.parametrize("files", [FILES, pages()], ids=["code", "pages"])
def test_references_find_their_section(files: list[Path]) -> None:
    cited = {(file, number) for file in files for number in references(file)}
    assert cited
    for file, number in cited:
        assert number in sections(), f"{file.relative_to(ROOT)}: SEMANTICS {number}"


def test_the_page_has_one_name() -> None:
    """``SEMANTICS 2`` in code, a link on a page: no reference leads to a file that is not there."""
    for file in [*FILES, *pages()]:
        text = file.read_text()
        assert "SEMANTICS.md" not in text, file
        for named in re.findall(r"[\w./]*semantics\.md", text):
            bases = (ROOT, ROOT / "docs", file.parent)
            assert any((base / named).exists() for base in bases), f"{file}: {named}"
