"""The error tree: places shown under the text, near misses, and errors that travel between processes."""

from __future__ import annotations

import pickle

import pytest

import fyke
from fyke.errors import FykeError, LimitError, Place, UnknownVariableError, near_misses
from fyke.limits import Limits


def test_a_place_is_shown_under_its_line() -> None:
    error = UnknownVariableError("unknown variable 'q'", place=Place(2, 7), text="PATTERN A a\nWHERE q.x > 1")
    assert str(error).splitlines()[1:3] == ["  WHERE q.x > 1", "        ^"]
    assert (error.line, error.column) == (2, 7)


@pytest.mark.parametrize(
    "error",
    [
        FykeError("plain", remedy="do this"),
        LimitError("limit 'runs'", limit="runs", value=3, remedy="less"),
        UnknownVariableError("unknown", place=Place(1, 1), text="PATTERN"),
    ],
)
def test_errors_travel_between_processes(error: FykeError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert again.__dict__ == error.__dict__


def test_a_limit_error_is_found_in_the_text_of_another_error() -> None:
    error = Limits(runs=2_000).exceeded("runs", "in the partition k = 'x' by a", "Wait.")
    again = LimitError.found_in(RuntimeError(f"Spark says:\n  fyke.errors.LimitError: {error}\n\tat Java"))
    assert again is not None
    assert (type(again), again.__dict__) == (LimitError, error.__dict__)
    assert LimitError.found_in(error) is error
    assert LimitError.found_in(RuntimeError("limit 'x' was exceeded")) is None


def test_near_misses_ignore_case() -> None:
    assert "'tag_id'" in near_misses("TAGID", ["tag_id", "kind"])
    assert near_misses("zzz", ["tag_id"]) == ""


def test_every_error_of_a_query_is_a_fyke_error() -> None:
    with pytest.raises(fyke.FykeError):
        fyke.parse("PATTERN SEQ(")


def test_ipython_shows_the_text_first_and_the_calls_of_the_user() -> None:
    with pytest.raises(FykeError) as caught:
        fyke.parse("PATTERN SEQ(A a B b)")
    told = caught.value._render_traceback_()
    assert told[0].startswith("QuerySyntaxError: ")
    assert "\n  PATTERN SEQ(A a B b)\n                  ^" in told[0]
    (call,) = told[3:]
    assert __file__ in call
    assert 'fyke.parse("PATTERN SEQ(A a B b)")' in call
    assert FykeError("never raised")._render_traceback_() == ["FykeError: never raised"]
