"""Run notebooks from top to bottom: ``python -m tests.docs.notebooks examples/flights.ipynb``.

The outputs are written into the notebook, so that they can be read without running it.  With ``--check``
nothing is written: what the cells print must be what the notebook shows.  Pictures are only looked for.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient


def executed(path: Path) -> Any:
    """Return the notebook with the outputs of today; a cell that raises ends it."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": path.parent}}
    ).execute()
    for cell in notebook.cells:
        cell.metadata = {}
    return notebook


def printed(notebook: Any) -> list[list[str]]:
    """Return what each cell of code shows: texts, and the kind of everything else."""
    return [
        [_text(output) for output in cell.outputs if output.get("name") != "stderr"]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def _text(output: Any) -> str:
    if output.output_type == "stream":
        return str(output.text)
    return "an image" if "image/png" in output.data else str(output.data["text/plain"])


def main(names: list[str], *, check: bool) -> None:
    for name in names:
        path = Path(name).resolve()
        notebook = executed(path)
        if not check:
            nbformat.write(notebook, path)
            continue
        shown = printed(nbformat.read(path, as_version=4))
        for number, (now, before) in enumerate(zip(printed(notebook), shown, strict=True), 1):
            assert now == before, f"{path.name}, cell of code {number}:\n{now}\nis not\n{before}"


if __name__ == "__main__":
    main([name for name in sys.argv[1:] if name != "--check"], check="--check" in sys.argv)
