"""Progress on a terminal: rules that have run, and tasks of Spark that have ended; nothing elsewhere."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from rich.console import Console

import fyke
from fyke.command import show
from fyke.command.main import main
from fyke.spark.local import running_tasks
from tests.command.test_matching import COLUMNS, EVENTS, RULES


def test_rules_are_counted_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "events.csv").write_text(EVENTS)
    (tmp_path / "rules.csv").write_text(RULES)
    monkeypatch.chdir(tmp_path)
    screens = {shown: Console(file=io.StringIO(), force_terminal=shown, width=120) for shown in (True, False)}
    for shown, screen in screens.items():
        monkeypatch.setattr(show, "console", lambda *, errors=False, screen=screen: screen)
        main(["match", "--rules", "rules.csv", "events.csv", *COLUMNS, "-o", "found.csv"])
        written = screen.file.getvalue()  # type: ignore[attr-defined]
        assert ("2/2 rules" in written) is shown


def test_rules_say_how_many_have_run() -> None:
    events = pa.table({"kind": ["A", "B"], "t": [1, 2]})
    texts = {"good": "PATTERN SEQ(A a, B b)", "bad": "PATTERN SEQ(A a, B b) WHERE { a.x > 5 }"}
    told: list[tuple[int, int]] = []
    texts["also"] = "PATTERN A a"
    fyke.rules(texts).run(events, time="t", type="kind", done=lambda *each: told.append(each))
    assert told == [(1, 2), (2, 2)]


@pytest.mark.spark
def test_tasks_of_spark_are_counted(spark: SparkSession) -> None:
    def slowly(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        time.sleep(0.7)
        yield from batches

    frame = spark.range(0, 4, 1, 4).mapInArrow(slowly, "id long")
    job = threading.Thread(target=frame.count)
    job.start()
    seen = set()
    while job.is_alive():
        seen.add(running_tasks())
        time.sleep(0.05)
    job.join()
    assert any(total >= 4 for _, total in seen)
    assert all(done <= total for done, total in seen)
