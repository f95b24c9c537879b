"""The interactive timeline in a real browser: it draws, pans, tells of events, and its console is empty."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import fyke
from tests.diagnosis.cases import POINTS, SHOP, THEFT

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="Chromium is not installed: apt-get install chromium"
)
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--enable-logging=stderr")
REPORT = """
<script>
const errors = [];
window.addEventListener("error", (event) => errors.push(String(event.message)));
</script>
"""
ACT = """
<script>
const told = {};
ACTIONS
document.documentElement.dataset.report = JSON.stringify({ ...told, errors });
</script>
"""
PANS = """
const view = window.fykeTimeline;
told.before = view.view();
told.seen = Number(document.documentElement.dataset.seen);
for (let i = 0; i < 50; i++) view.pan(0.02);
for (let i = 0; i < 20; i++) view.zoom(0.8, view.view()[0] + 10);
told.after = view.view();
const canvas = document.getElementById("canvas");
canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: -120, offsetX: 300, cancelable: true }));
told.wheeled = view.view();
canvas.dispatchEvent(new PointerEvent("pointermove", { clientX: 200, clientY: 100 }));
window.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }));
told.keyed = view.view();
document.getElementById("all").click();
told.whole = view.view();
told.pixels = canvas.width * canvas.height;
const ink = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
const colours = new Set();
for (let i = 0; i < ink.length; i += 4) colours.add(ink[i] * 65536 + ink[i + 1] * 256 + ink[i + 2]);
told.colours = colours.size;
"""
HOVERS = """
const view = window.fykeTimeline, tip = document.getElementById("tip");
view.point(view.x(9), view.y(2));
told.tip = tip.innerText;
told.hidden = tip.hidden;
view.point(view.x(20), view.y(2));
told.gone = tip.hidden;
const keys = [...document.querySelectorAll("#key option")].map((each) => each.textContent);
told.keys = keys;
told.matches = document.querySelectorAll("#matches button").length;
const pick = document.getElementById("key");
pick.value = "1"; pick.dispatchEvent(new Event("change"));
told.ofKey = document.querySelectorAll("#matches button").length;
view.point(view.x(9), view.y(2));
told.filtered = tip.hidden;
const find = document.getElementById("find");
find.value = "t3"; find.dispatchEvent(new Event("input"));
told.found = [...document.querySelectorAll("#key option")].map((each) => each.textContent);
"""


def browse(page: Path, actions: str, *flags: str) -> tuple[dict[str, Any], list[str]]:
    """Open a page in the browser, act on it, and return its report and what the console says."""
    text = page.read_text().replace("<head>", f"<head>{REPORT}", 1)
    acted = page.with_name("acted.html")
    acted.write_text(text.replace("</body>", ACT.replace("ACTIONS", actions) + "</body>"))
    profile = f"--user-data-dir={page.parent / 'profile'}"
    command = [str(CHROMIUM), *FLAGS, profile, *flags, "--dump-dom", acted.as_uri()]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    found = re.search(r'data-report="([^"]*)"', ran.stdout)
    assert found, f"no report: {ran.stderr[-2000:]}"
    said = [line for line in ran.stderr.splitlines() if "CONSOLE" in line]
    return json.loads(unescape(found[1])), said


def test_twenty_thousand_events_pan_without_script_errors(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    events = pa.table(
        {
            "kind": random.choice(list("ABCD"), 20_000),
            "user": [f"user {number}" for number in random.integers(0, 500, 20_000)],
            "at": np.sort(random.integers(0, 1_000_000, 20_000)),
        }
    )
    query = "PATTERN SEQ(A a, B b, C c) WHERE { [user] } WITHIN 20000"
    page = fyke.timeline(events, query, **POINTS)
    report, said = browse(page.save(tmp_path / "page.html"), PANS)
    assert report["errors"] == []
    assert said == []
    assert report["seen"] == 20_000
    first, last = report["before"]
    assert last - first > 900_000
    assert report["after"][0] > first
    assert report["after"][1] - report["after"][0] < (last - first) / 50
    assert report["wheeled"] != report["after"]
    assert report["keyed"][0] > report["wheeled"][0]
    assert report["whole"] == report["before"]
    assert report["colours"] > 20


def test_hover_tells_of_an_event_and_keys_filter(tmp_path: Path) -> None:
    page = fyke.timeline(SHOP, THEFT, **POINTS).save(tmp_path / "page.html")
    report, said = browse(page, HOVERS)
    assert report["errors"] == said == []
    assert not report["hidden"]
    assert report["tip"].split("\n")[:4] == ["Exit", "9", "tag: 't1'", "price: 9.5"]
    assert report["gone"]
    assert report["keys"] == ["all keys (3)", "t1", "t2", "t3"]
    assert (report["matches"], report["ofKey"]) == (1, 0)
    assert report["filtered"]
    assert report["found"] == ["all keys (3)", "t3"]


def test_what_events_hold_is_never_taken_for_html(tmp_path: Path) -> None:
    hostile = "</script><script>window.broken = 1; throw 'no'</script>"
    events = pa.table({"kind": ["A", "B"], "user": [hostile] * 2, "at": [1, 2]})
    page = fyke.timeline(events, "PATTERN SEQ(A a, B b) WHERE { [user] }", **POINTS).save(
        tmp_path / "page.html"
    )
    report, said = browse(page, "told.broken = window.broken === 1; told.text = document.body.innerText;")
    assert report["errors"] == said == []
    assert not report["broken"]
    assert hostile in report["text"]


def test_the_page_follows_the_dark_theme(tmp_path: Path) -> None:
    page = fyke.timeline(SHOP, THEFT, **POINTS).save(tmp_path / "page.html")
    act = "told.paper = getComputedStyle(document.body).backgroundColor;"
    light, _ = browse(page, act)
    dark, _ = browse(page, act, "--force-dark-mode", "--blink-settings=preferredColorScheme=0")
    assert light["paper"] == "rgb(255, 255, 255)"
    assert dark["paper"] == "rgb(20, 23, 31)"


def test_the_drawing_of_an_automaton_shows_in_a_browser(tmp_path: Path) -> None:
    page = fyke.draw(THEFT).save(tmp_path / "page.html")
    act = """
    told.texts = [...document.querySelectorAll("text")].map((each) => each.textContent);
    const paper = document.querySelector("svg").getBoundingClientRect();
    told.outside = [...document.querySelectorAll("text")].filter((each) => {
      const box = each.getBoundingClientRect();
      return box.left < paper.left - 1 || box.right > paper.right + 1;
    }).length;
    """
    report, said = browse(page, act)
    assert report["errors"] == said == []
    assert "a: Shelf" in report["texts"]
    assert report["outside"] == 0
