"""The examples in docstrings run, in every module of the package that has some, and print what they say."""

from __future__ import annotations

import doctest
import importlib
import re
from pathlib import Path
from typing import Any

import pytest

import fyke
from tests.docs.blocks import ROOT

SOURCES = sorted((ROOT / "src").rglob("*.py"))
WITH_EXAMPLES = [file for file in SOURCES if re.search(r"^ *>>> ", file.read_text(), re.MULTILINE)]
ON_SPARK = {"fyke.call.sql"}


def _module(file: Path) -> str:
    return ".".join(file.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")


def _marked(file: Path) -> Any:
    name = _module(file)
    return pytest.param(name, marks=pytest.mark.spark if name in ON_SPARK else (), id=name)


@pytest.mark.parametrize("name", [_marked(file) for file in WITH_EXAMPLES])
def test_the_examples_in_docstrings_run(name: str, request: pytest.FixtureRequest) -> None:
    there: dict[str, Any] = {"fyke": fyke}
    if name in ON_SPARK:
        there["spark"] = request.getfixturevalue("spark")
    result = doctest.testmod(importlib.import_module(name), extraglobs=there)
    assert result.attempted > 0
    assert result.failed == 0


def test_no_example_is_left_out() -> None:
    assert len(WITH_EXAMPLES) > 15
    assert [_module(file) for file in SOURCES if "doctest: +SKIP" in file.read_text()] == []
