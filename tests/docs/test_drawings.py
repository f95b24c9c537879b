"""The drawings show what the queries return today."""

from __future__ import annotations

import importlib.util
import re
import xml.etree.ElementTree as ElementTree
from types import ModuleType

import pytest

from tests.docs.blocks import ROOT


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


draw_pictures = load("draw_pictures")


@pytest.mark.parametrize("stream", draw_pictures.STREAMS, ids=lambda stream: stream.name)
def test_a_drawing_is_what_the_queries_return(stream: object) -> None:
    file = ROOT / "docs" / "pictures" / f"strategies-{stream.name}.svg"  # type: ignore[attr-defined]
    assert file.read_text() == draw_pictures.drawing(stream), "python scripts/draw_pictures.py draws it anew"


@pytest.mark.parametrize("stream", draw_pictures.STREAMS, ids=lambda stream: stream.name)
def test_each_match_has_a_line_through_its_events(stream: object) -> None:
    root = ElementTree.fromstring(draw_pictures.drawing(stream))
    space = "{http://www.w3.org/2000/svg}"
    lines = {
        float(found[2]): (float(found[1]), float(found[3]))
        for path in root.iter(f"{space}path")
        if path.get("stroke") == "var(--taken)"
        and (found := re.match(r"M(\S+) (\S+)H(\S+)", path.get("d", "")))
    }
    expected = [
        match
        for strategy in stream.strategies  # type: ignore[attr-defined]
        for match in draw_pictures.matches(stream, strategy)
    ]
    assert len(lines) == len(expected) > 0
    x = [draw_pictures.LEFT + at * draw_pictures.STEP for at in range(len(stream.kinds))]  # type: ignore[attr-defined]
    assert [lines[y] for y in sorted(lines)] == [(x[match[0]], x[match[-1]]) for match in expected]


def test_every_strategy_is_drawn() -> None:
    page = (ROOT / "docs" / "semantics.md").read_text()
    defined = re.findall(r"^\| `(\w*(?:match|contiguity))` \|", page, re.MULTILINE)
    assert sorted(defined) == sorted(draw_pictures.STRATEGIES)


def test_the_example_is_what_its_query_returns() -> None:
    drawn = (ROOT / "docs" / "pictures" / "example.svg").read_text()
    assert drawn == draw_pictures.example(), "python scripts/draw_pictures.py draws it anew"
    assert drawn.count(">a match<") == 1


def test_what_fyke_draws_is_drawn_today() -> None:
    for name, text in draw_pictures.drawn().items():
        file = ROOT / "docs" / "pictures" / "drawn" / f"{name}.svg"
        assert file.read_text(encoding="utf-8") == text, "python scripts/draw_pictures.py draws it anew"
