"""The code blocks of a page: run them in order, compare what they print with what the page says.

A ``python`` block is run in the namespace of its page.  A ``text`` block right behind it is what it prints.
To write what the blocks of a page print into the page: ``python -m tests.docs.blocks README.md``.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(
    r"^```python\n(?P<code>.*?)^```$(?:\n+```text\n(?P<output>.*?)^```$)?", re.MULTILINE | re.DOTALL
)


class Block(NamedTuple):
    line: int
    code: str
    output: str | None


def pages() -> list[Path]:
    """Return every page whose blocks must run."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text()
    for found in _BLOCK.finditer(text):
        yield Block(text.count("\n", 0, found.start()) + 2, found["code"], found["output"])


def run(block: Block, page: Path, namespace: dict[str, Any]) -> str:
    """Run a block and return what it prints, without spaces at the ends of lines."""
    printed = io.StringIO()
    code = compile("\n" * (block.line - 1) + block.code, str(page), "exec")
    with contextlib.redirect_stdout(printed):
        exec(code, namespace)
    return "".join(line.rstrip() + "\n" for line in printed.getvalue().strip("\n").split("\n"))


def rewrite(page: Path) -> None:
    """Write what the blocks print into the page."""
    namespace: dict[str, Any] = {"__name__": "page"}
    printed = [run(block, page, namespace) for block in blocks(page)]
    outputs = iter(printed)

    def replaced(found: re.Match[str]) -> str:
        output = next(outputs)
        if found["output"] is None:
            return found[0]
        head = found[0][: found.start("output") - found.start()]
        return f"{head}{output}```"

    page.write_text(_BLOCK.sub(replaced, page.read_text()))


if __name__ == "__main__":
    for name in sys.argv[1:]:
        rewrite(Path(name))
