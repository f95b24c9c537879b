"""Errors that workers raise: Fyke's own comes back, whichever way rows are asked for; others stay Spark's."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import fyke
from fyke.errors import FykeError, LimitError, OptionError, Place, StateError, UnsupportedQueryError
from fyke.spark.worker_errors import carrying, error_in

TEXT = "PATTERN SEQ(A a, B b)\nWHERE { a.x > b.x }"
ERRORS = [
    LimitError.exceeded("runs", 10, "in the whole input", "Do less."),
    StateError.damaged("it is short"),
    UnsupportedQueryError("this cannot be compared", place=Place(2, 9, 9), text=TEXT, remedy="Leave it out."),
]


def said_by_spark(error: FykeError) -> str:
    """Return what Spark says if a worker raises an error: its traceback in a text of Java."""
    try:
        with carrying():
            raise error
    except FykeError as raised:
        lines = "".join(traceback_of(raised))
    return f"Job aborted: org.apache.spark.api.python.PythonException: {lines}\n\tat a.b.C(D:1)"


def traceback_of(error: BaseException) -> list[str]:
    return traceback.format_exception(type(error), error, error.__traceback__)


@pytest.mark.parametrize("error", ERRORS, ids=lambda each: type(each).__name__)
def test_an_error_comes_back_whole(error: FykeError) -> None:
    again = error_in(said_by_spark(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)


def test_the_text_is_enough() -> None:
    """Where only the text of an error has come, cut off before what it carries."""
    said = "PythonException: fyke.errors.StateError: the saved state is damaged: it is short\n\tat a.b.C(D:1)"
    assert str(error_in(said)) == "the saved state is damaged: it is short"
    analysed = error_in("fyke.errors.OptionError: no such thing\nDo it. SQLSTATE: 38000; line 1 pos 14")
    assert type(analysed) is OptionError
    assert str(analysed) == "no such thing\nDo it."
    limit = error_in(f"x\nfyke.errors.LimitError: {ERRORS[0]}\n\nJava")
    assert isinstance(limit, LimitError)
    assert limit.limit == "runs"
    assert error_in("ValueError: fyke is a word") is None


EVENTS = pa.table({"kind": ["A"] * 30, "t": list(range(30)), "x": [1] * 30})
QUERY = "PATTERN A+ a[] WHERE skip_till_any_match RETURN count(*) AS n"


@pytest.mark.spark
@pytest.mark.parametrize("way", ["toArrow", "count", "write"])
def test_it_is_raised_for_every_action(spark: SparkSession, way: str, tmp_path: Path) -> None:
    limits = fyke.Limits(matches=100)
    frame = spark.createDataFrame(EVENTS)
    found = fyke.match(frame, QUERY, time="t", type="kind", engine="automaton", limits=limits)
    actions: dict[str, Callable[[], Any]] = {
        "toArrow": found.toArrow,
        "count": found.count,
        "write": lambda: found.write.parquet(str(tmp_path / "out")),
    }
    with pytest.raises(LimitError) as caught:
        actions[way]()
    assert caught.value.limit == "matches"
    assert "\tat " not in str(caught.value)
    assert isinstance(caught.value, PySparkException)


@pytest.mark.spark
def test_other_errors_are_left_to_spark(spark: SparkSession) -> None:
    def fails(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        raise ValueError("not of Fyke")
        yield from batches

    with pytest.raises(PySparkException, match="not of Fyke") as caught:
        spark.range(1).mapInArrow(fails, "id long").collect()
    assert not isinstance(caught.value, FykeError)
