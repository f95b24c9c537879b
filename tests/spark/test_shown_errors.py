"""What a terminal and a notebook show of an error in a worker: Fyke's text, and no pages of Java."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.command.test_matching import COLUMNS, EVENTS

pytestmark = [pytest.mark.spark, pytest.mark.long]  # each starts Spark in a process of its own

SESSION = """\
from pyspark.sql import SparkSession

import fyke

builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
spark = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
events = spark.range(30).selectExpr("'A' AS kind", "id AS t", "CAST(id AS timestamp) AS ts")
many = "PATTERN A+ a[] WHERE skip_till_any_match RETURN count(*) AS n"
options = {"time": "t", "type": "kind", "engine": "automaton", "limits": fyke.Limits(matches=100)}
fyke.register(spark)
events.createOrReplaceTempView("events")
wrong = "PATTERN SEQ(A a, A b) WHERE { a.y > 5 }"
statement = f"SELECT * FROM fyke_match(TABLE(events) PARTITION BY kind, query => '{wrong}')"
"""
RAISES = [
    ("LimitError", "matches", "fyke.match(events, many, **options).show()"),
    ("LimitError", "matches", "fyke.match(events, many, **options).toArrow()"),
    ("LimitError", "matches", "fyke.match(events, many, **options).write.parquet('found')"),
    ("UnknownAttributeError", "  PATTERN SEQ(A a, A b) WHERE { a.y > 5 }\n", "spark.sql(statement).show()"),
]
OF_JAVA = ("\tat ", "org.apache.spark.", "Exception in task", "ERROR Executor", "WARN TaskSetManager")


@pytest.mark.parametrize("error, text, line", RAISES)
def test_a_terminal_shows_fykes_text(error: str, text: str, line: str, tmp_path: Path) -> None:
    script = [sys.executable, "-c", f"{SESSION}{line}\n"]
    done = subprocess.run(script, capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert done.returncode == 1
    raised = done.stderr.partition("Traceback (most recent call last):")[2]
    assert text in raised.partition(f"\nfyke.errors.{error}: ")[2], done.stderr
    assert [each for each in OF_JAVA if each in done.stderr] == [], done.stderr


@pytest.mark.parametrize("error, text, line", [RAISES[1], RAISES[3]])
def test_a_notebook_shows_fykes_text_first(error: str, text: str, line: str) -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(each) for each in (SESSION, line)])
    NotebookClient(notebook, timeout=300, allow_errors=True).execute()
    (shown,) = [each for each in notebook.cells[1].outputs if each["output_type"] == "error"]
    told = "\n".join(shown["traceback"])
    assert shown["ename"] == error
    assert told.startswith(f"{error}: ")
    assert text in told
    assert f"\n    {line}" in told
    said = "\n".join([told, *(each.get("text", "") for cell in notebook.cells for each in cell.outputs)])
    assert [each for each in (*OF_JAVA, "py4j", "pyspark/") if each in said] == [], said


def test_the_command_line_shows_fykes_text_first(tmp_path: Path) -> None:
    (tmp_path / "events.csv").write_text(EVENTS)
    query = "PATTERN Shelf+ a[] WHERE skip_till_any_match RETURN count(*) AS n"
    given = ["match", "-q", query, "events.csv", *COLUMNS, "--spark", "--limit", "matches=1"]
    done = subprocess.run(
        [sys.executable, "-m", "fyke", *given, "--engine", "automaton"],
        capture_output=True, text=True, timeout=300, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.startswith("error: limit 'matches'"), done.stderr
    assert done.stderr.count("\n") == 1
