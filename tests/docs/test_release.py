"""What a release declares: one version everywhere, bounds that `make matrix` tries, files that are there."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
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
    corners = matrix.environments(["3.10", "3.11", "3.13"])
    assert [(each.version, len(each.narrowed)) for each in corners] == [
        ("3.10", len(matrix.DECLARED["dependencies"])),
        ("3.10", 0),
        ("3.13", 2),
        ("3.13", 0),
    ]
    assert all(re.fullmatch(r"[a-z0-9-]+==[\d.]+\.\*", each) for each in corners[0].narrowed)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., int]:
    """Return the matrix as it ends where only some Pythons are there, and all that they run passes."""

    def matrix_of(pythons: list[str], *arguments: str) -> int:
        passed = subprocess.CompletedProcess([], 0, stdout="", stderr="")
        monkeypatch.setattr(matrix, "WORK", tmp_path)
        monkeypatch.setattr(matrix, "here", lambda _: dict.fromkeys(pythons, Path(sys.executable)))
        monkeypatch.setattr(matrix, "built", lambda: tmp_path / "fyke.whl")
        monkeypatch.setattr(matrix, "new_environment", lambda python, *_: python)
        monkeypatch.setattr(matrix, "run", lambda *_, **__: passed)
        return matrix.main(arguments)

    return matrix_of


@pytest.mark.parametrize("absent, there", [(0, -1), (-1, 0)])
def test_the_matrix_fails_without_the_oldest_or_the_newest_python(
    absent: int, there: int, made: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    declared = matrix.declared_pythons()
    rest = [each for each in declared if each != declared[absent]]
    assert made(declared) == 0
    assert made(rest) == 1
    said = capsys.readouterr().out
    assert f"Python {declared[absent]} is not on this machine" in said
    assert said.splitlines()[-1].startswith(f"FAILED: Python {declared[absent]}")
    assert made(rest, "--only", declared[absent]) == 1
    assert made(rest, "--only", declared[there]) == 0


def test_a_name_that_no_environment_has_is_an_error(
    made: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        made(matrix.declared_pythons(), "--only", "3.9")
    assert ended.value.code == 2
    assert "no environment has '3.9' in its name" in capsys.readouterr().err


def test_the_oldest_version_is_the_bound() -> None:
    assert matrix.oldest("pandas>=2.2,<3") == "pandas==2.2.*"
    assert matrix.oldest("lark>=1.2") == "lark==1.2.*"


def test_a_source_distribution_has_all_files_it_names() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    named = re.findall(r'"/([\w.]+)"', text)
    assert {"CITATION.cff", "SECURITY.md", "CHANGELOG.md", "src"} <= set(named)
    assert all((ROOT / name).exists() for name in named)
