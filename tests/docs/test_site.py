"""The documentation as a site: it builds without a warning, has every page, and loads from no other host."""

from __future__ import annotations

import html
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import fyke
from tests.docs.blocks import ROOT

BUILD = """
import logging, sys
from mkdocs.commands.build import build
from mkdocs.config import load_config
logging.basicConfig()
build(load_config("mkdocs.yml", docs_dir=sys.argv[1], site_dir=sys.argv[2]))
"""


def built(pages: Path, site: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-c", BUILD, str(pages), str(site)]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = built(ROOT / "docs", folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_page_is_there(site: Path) -> None:
    pages = [page.relative_to(ROOT / "docs").with_suffix(".html") for page in (ROOT / "docs").rglob("*.md")]
    assert len(pages) > 10
    for page in [*pages, Path("contributing.html"), Path("changelog.html")]:
        assert (site / page).is_file(), page


def test_links_between_built_pages_lead_somewhere(site: Path) -> None:
    """Those that the build made, too: of the API, of pages from the root, of the navigation."""
    anchors = {page: set(re.findall(r'\bid="([^"]+)"', page.read_text())) for page in site.rglob("*.html")}
    links = 0
    for page, own in anchors.items():
        for target in re.findall(r'<a [^>]*?href="(?!https?:|mailto:|/)([^"]+)"', page.read_text()):
            path, _, anchor = target.partition("#")
            linked = (page.parent / path).resolve() if path else page
            links += 1
            if linked.is_dir() or page.name == "404.html":
                continue
            assert linked.is_file(), f"{page.name}: {target}"
            if anchor and not anchor.startswith("__"):
                assert anchor in (own if linked == page else anchors[linked]), f"{page.name}: {target}"
    assert links > 500


def test_the_api_has_every_public_name(site: Path) -> None:
    page = (site / "api" / "index.html").read_text()
    for name in fyke.__all__:
        thing = getattr(fyke, name)
        if not inspect.ismodule(thing):
            assert f'id="fyke.{name}"' in page, name
            said = re.split(r":\w+:|`|'", (thing.__doc__ or "").split("\n")[0])[0].strip()
            assert html.escape(said) in page, name


def test_examples_of_docstrings_are_shown_as_code(site: Path) -> None:
    """Without a heading ``Examples`` they would be quotations of quotations."""
    pages = list((site / "api").glob("*.html"))
    assert len(pages) >= 4
    for page in pages:
        assert "<blockquote>" not in page.read_text(), page.name


def test_a_page_loads_nothing_from_another_host(site: Path) -> None:
    for page in site.rglob("*.html"):
        loaded = re.findall(r'<(?:script|img|link)[^>]+(?:src|href)="(https?:[^"]+)"', page.read_text())
        assert loaded == [], page.name


def test_a_broken_link_fails_the_build(tmp_path: Path) -> None:
    pages = tmp_path / "docs"
    shutil.copytree(ROOT / "docs", pages)
    (pages / "new.md").write_text("# New\n\n[This](nowhere.md) and [that](language.md#no-such-heading).\n")
    done = built(pages, tmp_path / "site")
    assert done.returncode != 0
    assert "nowhere.md" in done.stderr
    assert "language.md#no-such-heading" in done.stderr


@pytest.mark.long  # builds the site twice
@pytest.mark.skipif(
    not (ROOT / ".git").exists(), reason="mike commits to a branch, and this is no git checkout"
)
def test_versions_stand_beside_each_other(tmp_path: Path) -> None:
    """As `make docs-version` does it, in a clone."""
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(clone)], check=True)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    names = {
        f"GIT_{who}_{what}": "docs@example.org"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    environment = os.environ | names | {"PATH": path, "NO_MKDOCS_2_WARNING": "1"}
    for version in ("0.1", "0.2"):
        command = ["mike", "deploy", "--update-aliases", version, "latest"]
        done = subprocess.run(
            command, cwd=clone, env=environment, capture_output=True, text=True, timeout=600
        )
        assert done.returncode == 0, done.stderr
    shown = subprocess.run(
        ["git", "show", "gh-pages:versions.json"], cwd=clone, capture_output=True, text=True, check=True
    )
    known = {each["version"]: each["aliases"] for each in json.loads(shown.stdout)}
    assert known == {"0.2": ["latest"], "0.1": []}
