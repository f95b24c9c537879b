"""Every page of the site in a real browser: light and dark, wide and narrow."""

from __future__ import annotations

import contextlib
import functools
import http.server
import json
import queue
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.docs.blocks import ROOT
from tests.docs.test_site import built

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.long,  # builds the site and opens each of its pages four times
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed: apt-get install chromium"),
]
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--window-size=1500,1000")
DARK = ("--force-dark-mode", "--blink-settings=preferredColorScheme=0")
WIDTHS = {"wide": 1400, "narrow": 400}

# Opens the pages one after the other in a frame, so that one browser is enough, and tells what it sees.
VISIT = """
<!doctype html><body><iframe id="frame" width="WIDTH" height="900"></iframe><script>
const frame = document.getElementById("frame");
const shown = (each) => each !== null && each.getBoundingClientRect().height > 0;
const light = (colour) => colour.match(/\\d+/g).slice(0, 3).map(Number).reduce((a, b) => a + b) / 3;
async function visit(page) {
  const loaded = new Promise((done) => frame.addEventListener("load", done, { once: true }));
  frame.src = page;
  await loaded;
  const there = frame.contentDocument, root = there.documentElement;
  const article = there.querySelector("article");
  for (const each of there.images) each.loading = "eager";
  await Promise.all([...there.images].map((each) => each.decode().catch(() => null)));
  const scrolls = ".md-typeset__scrollwrap, pre, .drawing";
  const beyond = [...article.querySelectorAll("p, li, h1, h2, h3, pre, table")].filter((each) => {
    const box = each.getBoundingClientRect();
    return box.width > 0 && box.right > root.clientWidth + 1 && !each.closest(scrolls);
  });
  return {
    page,
    heading: shown(there.querySelector("article h1")),
    overflow: root.scrollWidth - root.clientWidth,
    beyond: beyond.map((each) => each.textContent.trim().slice(0, 60)),
    broken: [...there.images].filter((each) => each.naturalWidth === 0).map((each) => each.src),
    paper: light(frame.contentWindow.getComputedStyle(there.body).backgroundColor),
    ink: light(frame.contentWindow.getComputedStyle(article.querySelector("h1, p")).color),
  };
}
(async () => {
  const told = [];
  for (const page of PAGES) told.push(await visit(page));
  await fetch("/told", { method: "POST", body: JSON.stringify(told) });
})();
</script></body>
"""


class _Site(http.server.SimpleHTTPRequestHandler):
    """Serves the site, and a page that visits all others and posts what it has seen."""

    def __init__(self, *given: Any, visit: str, told: queue.Queue[Any], **options: Any) -> None:
        self.visit, self.told = visit, told
        super().__init__(*given, **options)

    def do_GET(self) -> None:
        if self.path != "/visit":
            super().do_GET()
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(self.visit.encode())

    def do_POST(self) -> None:
        self.told.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextlib.contextmanager
def served(site: Path, visit: str) -> Iterator[tuple[str, queue.Queue[Any]]]:
    told: queue.Queue[Any] = queue.Queue()
    handler = functools.partial(_Site, directory=str(site), visit=visit, told=told)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", told
        server.shutdown()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = built(ROOT / "docs", folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def seen(site: Path, scheme: str, width: int, profile: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """Return what is seen on each page, and what the browser's console says."""
    pages = sorted(str(each.relative_to(site)) for each in site.rglob("*.html") if each.name != "404.html")
    visit = VISIT.replace("WIDTH", str(width)).replace("PAGES", json.dumps(pages))
    flags = [*FLAGS, *(DARK if scheme == "dark" else ()), f"--user-data-dir={profile}"]
    with served(site, visit) as (address, told), open(profile.with_suffix(".log"), "w+") as log:
        browser = subprocess.Popen([str(CHROMIUM), *flags, f"{address}/visit"], stdout=log, stderr=log)
        try:
            found = told.get(timeout=300)
        finally:
            browser.terminate()
            browser.wait(timeout=30)
        log.seek(0)
        return found, [line for line in log if "CONSOLE" in line]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_looks_as_it_should(scheme: str, width: str, site: Path, tmp_path: Path) -> None:
    found, said = seen(site, scheme, WIDTHS[width], tmp_path / "profile")
    assert len(found) > 40
    assert said == []
    assert [each["page"] for each in found if not each["heading"]] == []
    assert {each["page"]: each["overflow"] for each in found if each["overflow"] > 0} == {}
    assert {each["page"]: each["beyond"] for each in found if each["beyond"]} == {}
    assert {each["page"]: each["broken"] for each in found if each["broken"]} == {}
    for each in found:
        contrast = each["paper"] - each["ink"]
        assert (contrast if scheme == "light" else -contrast) > 100, each["page"]


def test_what_is_wrong_with_a_page_is_seen(tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "bad.html").write_text(
        "<article><h1></h1><p style='width: 2000px'>wide</p><img src='nowhere.png'></article>"
        "<script>console.error('no')</script>"
    )
    (found,), said = seen(site, "light", WIDTHS["narrow"], tmp_path / "profile")
    assert not found["heading"]
    assert found["overflow"] > 1500
    assert found["beyond"] == ["wide"]
    assert [Path(each).name for each in found["broken"]] == ["nowhere.png"]
    assert any('"no"' in line for line in said)
