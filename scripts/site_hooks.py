"""What MkDocs does to the pages besides: see ``hooks`` in mkdocs.yml.

Pages that live at the root of the repository, where people look for them, are pages of the site as well.
Drawings stand in the pages themselves, so that they take the colours of the page, light or dark.
The page of the API has whatever ``fyke.__all__`` has.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
FROM_ROOT = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
}
MODULES = (
    "datasets",
    "pattern",
    "reference",
    "testing",
)  # have pages of their own, or are no concern of users
_DRAWING = re.compile(r'<img alt="([^"]*)" src="([^"]+/)?pictures/([\w-]+\.svg)"[^>]*>')
_CELL = re.compile(r"<t[dh][ >].*?</t[dh]>", re.DOTALL)
_CODE = re.compile(r"(?<=<code>)[^<]*(?=</code>)")
_ROLE = re.compile(r":(?:class|func|meth|mod|data|attr|exc):<code>~?([^<]+)</code>")


def on_files(files: Any, config: Any, **_: Any) -> Any:
    """Add the pages of the root, with their links as seen from docs/."""
    for name, page in FROM_ROOT.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        text = re.sub(r"\]\(docs/", "](", text)
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Let links to the pages of the root lead to their place in the site."""
    up = "../" * page.file.src_uri.count("/")
    for name, target in FROM_ROOT.items():
        markdown = markdown.replace(f"](../{up}{name}", f"]({up}{target}")
    for marker, directives in public_names().items():
        markdown = markdown.replace(marker, directives)
    return markdown


def public_names() -> dict[str, str]:
    """Return what takes the place of each marker on the page of the API: functions, and classes."""
    tree = ast.parse((ROOT / "src" / "fyke" / "__init__.py").read_text(encoding="utf-8"))
    (names,) = (
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    )
    wanted = [name for name in names if name not in MODULES]
    functions = sorted(
        (name for name in wanted if name[0].islower()), key=lambda name: (name != "match", name)
    )
    classes = [name for name in wanted if name[0].isupper()]
    listed = {"<!-- functions -->": functions, "<!-- classes -->": classes}
    return {marker: "\n\n".join(f"::: fyke.{name}" for name in each) for marker, each in listed.items()}


def on_page_content(html: str, **_: Any) -> str:
    """Put drawings into the page, take the roles of Sphinx out of docstrings, let names in tables break."""

    def drawn(found: re.Match[str]) -> str:
        drawing = (ROOT / "docs" / "pictures" / found[3]).read_text(encoding="utf-8")
        return f'<span class="drawing" role="img" aria-label="{found[1]}">{drawing}</span>'

    html = _ROLE.sub(r"<code>\1</code>", _DRAWING.sub(drawn, html))
    return _CELL.sub(lambda cell: _CODE.sub(_breakable, cell[0]), html)


def _breakable(code: re.Match[str]) -> str:
    """Say where a name may be broken: after ``::``, and on a narrow screen after ``_`` and ``/`` as well."""
    return re.sub(r"([_/])", r'\1<wbr class="narrow">', code[0].replace("::", "::<wbr>"))
