"""CONTRIBUTING.md keeps its promise: an engine and an output format touch few existing files."""

from __future__ import annotations

import re

import pytest

from tests.docs.blocks import ROOT

PAGE = (ROOT / "CONTRIBUTING.md").read_text()
MOST = 6


def existing(kind: str) -> list[str]:
    """Return the existing files of the package that adding a kind of thing touches."""
    (part,) = re.findall(rf"^### An? {kind}\n(.*?)^##", PAGE, re.MULTILINE | re.DOTALL)
    listed = re.findall(r"^\d+\. .*?(?=^\d+\. |^\n|^\S)", part, re.MULTILINE | re.DOTALL)
    return re.findall(r"`(src/fyke/[\w/.]+)`", "".join(listed))


@pytest.mark.parametrize("kind", ["engine", "output format"])
def test_few_existing_files_are_touched(kind: str) -> None:
    files = existing(kind)
    assert 2 <= len(files) <= MOST, files


@pytest.mark.parametrize(
    "kind",
    ["engine", "output format", "selection strategy", "function for conditions", "operator for patterns"],
)
def test_listed_files_exist(kind: str) -> None:
    files = existing(kind)
    assert files
    assert [file for file in files if not (ROOT / file).is_file()] == []
