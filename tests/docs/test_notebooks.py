"""The notebooks run from top to bottom and print what they show."""

from __future__ import annotations

import subprocess
import sys

import nbformat
import pytest

from tests.docs.blocks import ROOT

NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_it_shows(notebook: object) -> None:
    command = [sys.executable, "-m", "tests.docs.notebooks", "--check", str(notebook)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr


def test_notebooks_have_outputs_and_no_traces_of_a_machine() -> None:
    assert len(NOTEBOOKS) >= 3
    for path in NOTEBOOKS:
        notebook = nbformat.read(path, as_version=4)
        code = [cell for cell in notebook.cells if cell.cell_type == "code"]
        assert all(cell.execution_count for cell in code), path.name
        assert sum(bool(cell.outputs) for cell in code) >= 4, path.name
        assert "/home/" not in path.read_text()
        assert "/work/" not in path.read_text()
