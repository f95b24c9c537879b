"""What a release declares: one version everywhere, bounds that `make matrix` tries, files that are there."""

from __future__ import annotations

import re
import sys

from scripts import matrix

import fyke
from tests.docs.blocks import ROOT


def test_there_is_one_version() -> None:
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert cited is not None
    assert cited[1] == matrix.DECLARED["version"] == fyke.__version__


def test_the_oldest_python_is_declared_and_tried() -> None:
    pythons = matrix.declared_pythons()
    assert matrix.DECLARED["requires-python"] == f">={pythons[0]}"
    assert pythons == sorted(pythons, key=lambda each: int(each.split(".")[1]))
    assert ".".join(map(str, sys.version_info[:2])) in pythons


def test_the_matrix_has_the_corners() -> None:
    python = matrix.Path(sys.executable)
    corners = matrix.environments({"3.10": python, "3.13": python})
    assert [(each.version, len(each.narrowed)) for each in corners] == [
        ("3.10", len(matrix.DECLARED["dependencies"])),
        ("3.10", 0),
        ("3.13", 2),
        ("3.13", 0),
    ]
    assert all(re.fullmatch(r"[a-z0-9-]+==[\d.]+\.\*", each) for each in corners[0].narrowed)
    assert len(matrix.environments({"3.12": python})) == 3, "one Python has three corners"


def test_the_oldest_version_is_the_bound() -> None:
    assert matrix.oldest("pandas>=2.2,<3") == "pandas==2.2.*"
    assert matrix.oldest("lark>=1.2") == "lark==1.2.*"


def test_a_source_distribution_has_all_files_it_names() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    named = re.findall(r'"/([\w.]+)"', text)
    assert {"CITATION.cff", "SECURITY.md", "CHANGELOG.md", "src"} <= set(named)
    assert all((ROOT / name).exists() for name in named)
