"""The page on results lists every count and every clock of ``fyke.Metrics``, and no others."""

from __future__ import annotations

import re

import pyarrow as pa

import fyke
from tests.docs.blocks import ROOT

PAGE = ROOT / "docs" / "results.md"


def test_every_count_and_clock_is_listed() -> None:
    metrics = fyke.Metrics()
    fyke.match(pa.table({"at": [1]}), "PATTERN ANY a", time="at", metrics=metrics)
    text = PAGE.read_text()
    part = text[text.index("\n## Metrics\n") : text.index("\n## Rejected rows\n")]
    assert sorted(re.findall(r"^\| `(\w+)` \|", part, re.MULTILINE)) == sorted(metrics.get())
