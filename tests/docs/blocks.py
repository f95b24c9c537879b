"""The code blocks of a page: run them in order, compare what they print with what the page says.

A ``python`` block is run in the namespace of its page, a ``sh`` block by bash, unless it installs, builds or
publishes (:data:`NOT_RUN`).  A ``text`` block right behind either is what it prints.  A page runs in a folder
of its own, which has the repository's ``examples`` and nothing else.
To write what the blocks of a page print into the page: ``python -m tests.docs.blocks README.md``.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
NOT_RUN = ("make", "pip", "git", "apt-get")
_BLOCK = re.compile(
    r"^```(?P<language>python|sh)\n(?P<code>.*?)^```$(?:\n+```text\n(?P<output>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)


class Block(NamedTuple):
    line: int
    language: str
    code: str
    output: str | None

    @property
    def is_run(self) -> bool:
        """Whether the tests run it: a command for readers alone is not."""
        commands = (line.split(maxsplit=1)[0] for line in self.code.splitlines() if line[:1].strip())
        return self.language == "python" or not any(command in NOT_RUN for command in commands)


def pages() -> list[Path]:
    """Return every page whose blocks must run."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text()
    for found in _BLOCK.finditer(text):
        line = text.count("\n", 0, found.start()) + 2
        yield Block(line, found["language"], found["code"], found["output"])


@contextlib.contextmanager
def folder_of_its_own() -> Iterator[None]:
    """Work in a new folder that has the examples, as a reader would."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "examples").symlink_to(ROOT / "examples")
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def run(block: Block, page: Path, namespace: dict[str, Any]) -> str:
    """Run a block and return what it prints, without spaces at the ends of lines."""
    if block.language == "sh":
        printed = _run_commands(block, page)
    else:
        stream = io.StringIO()
        code = compile("\n" * (block.line - 1) + block.code, str(page), "exec")
        with contextlib.redirect_stdout(stream):
            exec(code, namespace)
        printed = stream.getvalue()
    return "".join(line.rstrip() + "\n" for line in printed.strip("\n").split("\n"))


def _run_commands(block: Block, page: Path) -> str:
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "src"),
        "COLUMNS": "110",
        "NO_COLOR": "1",
    }
    script = f'fyke() {{ python -m fyke "$@"; }}\n{block.code}'
    command = ["bash", "-euo", "pipefail", "-c", script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{page.name}, line {block.line}: {done.stdout}{done.stderr}"
    return done.stdout


def rewrite(page: Path) -> None:
    """Write what the blocks print into the page."""
    namespace: dict[str, Any] = {"__name__": "page"}
    with folder_of_its_own():
        printed = [run(block, page, namespace) if block.is_run else None for block in blocks(page)]
    outputs = iter(printed)

    def replaced(found: re.Match[str]) -> str:
        output = next(outputs)
        if found["output"] is None or output is None:
            return found[0]
        head = found[0][: found.start("output") - found.start()]
        return f"{head}{output}```"

    page.write_text(_BLOCK.sub(replaced, page.read_text()))


if __name__ == "__main__":
    for name in sys.argv[1:]:
        rewrite(Path(name).resolve())
