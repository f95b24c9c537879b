"""The pages tell the truth: their code runs and prints what they say, their links lead somewhere."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from tests.docs.blocks import ROOT, Block, blocks, folder_of_its_own, pages, run
from tests.spark.tables import settings

GRAMMAR = [ROOT / "src" / "fyke" / "language" / name for name in ("sase.lark", "expression.lark")]


def _marked(page: Path) -> Any:
    uses_spark = any("SparkSession" in block.code or _streams(block) for block in blocks(page))
    return pytest.param(page, id=_named(page), marks=pytest.mark.spark if uses_spark else ())


def _streams(block: Block) -> bool:
    """Say whether a block has commands that start Spark themselves."""
    return block.language == "sh" and ("--spark" in block.code or "stream = true" in block.code)


def _named(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", [_marked(page) for page in pages()])
def test_blocks_print_what_the_page_says(page: Path, request: pytest.FixtureRequest) -> None:
    namespace: dict[str, Any] = {"__name__": "page"}
    unchanged: AbstractContextManager[None] = nullcontext()
    if any("SparkSession" in block.code for block in blocks(page)):
        # The page's getOrCreate() finds this session, and may change its settings.
        unchanged = settings(request.getfixturevalue("spark"), {"spark.sql.shuffle.partitions": "4"})
    with folder_of_its_own(), unchanged:
        for block in blocks(page):
            if block.is_run:
                printed = run(block, page, namespace)
                if block.output is not None:
                    assert printed == block.output, f"{page.name}, line {block.line}"


def test_there_is_something_to_run() -> None:
    found = {page.name: sum(block.output is not None for block in blocks(page)) for page in pages()}
    assert found["README.md"] >= 4
    assert found["tour.md"] >= 10
    assert found["language.md"] >= 4
    assert found["results.md"] >= 4


OTHER_SYSTEMS = {"flink_cep.md": "java", "window_funnel.md": "sql"}  # their code, beside what it is in Fyke


@pytest.mark.parametrize("page", pages(), ids=_named)
def test_code_that_is_not_run_is_that_of_other_systems(page: Path) -> None:
    """A block without a language shows a form; a ``text`` block is compared with what is printed."""
    known = {"", "python", "sh", "text", "lark", OTHER_SYSTEMS.get(page.name)}
    text = page.read_text()
    languages = re.findall(r"^```(\w*)\n.*?^```$", text, re.MULTILINE | re.DOTALL)
    assert set(languages) <= known
    compared = sum(block.output is not None for block in blocks(page) if block.is_run)
    assert languages.count("text") == compared, "a text block stands behind the block that prints it"


def test_the_page_quotes_the_grammar() -> None:
    page = (ROOT / "docs" / "language.md").read_text()
    (quoted,) = re.findall(r"^```lark\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert quoted == "".join(file.read_text() for file in GRAMMAR)


@pytest.mark.parametrize("page", pages(), ids=_named)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", page.read_text()):
        path, _, heading = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), target
        if heading:
            headings = re.findall(r"^#+ (.*)$", linked.read_text(), re.MULTILINE)
            assert heading in {
                re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings
            }, target


@pytest.mark.parametrize("page", pages(), ids=_named)
def test_named_files_exist(page: Path) -> None:
    """A path such as ``logical/check.py`` is one of the package, of the repository, or of the engine."""
    bases = (ROOT, ROOT / "src" / "fyke", ROOT / "src" / "fyke" / "engine")
    for named in re.findall(r"`([a-z_./]+/[a-z_]+\.(?:py|lark|md))`", page.read_text()):
        assert any((base / named).exists() for base in bases), named
