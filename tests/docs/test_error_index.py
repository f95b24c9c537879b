"""The page of errors is what the code says: every class is there, and each example is what it says today."""

from __future__ import annotations

from fyke.errors import FykeError, QueryError, UnknownNameError
from tests.docs.test_drawings import load

error_index = load("error_index")
ROOTS = {FykeError, QueryError, UnknownNameError}  # raised as one of their subclasses


def test_the_page_is_up_to_date() -> None:
    assert error_index.PAGE.read_text() == error_index.page(), "python scripts/error_index.py writes it anew"


def test_every_class_has_an_example() -> None:
    """A new class needs a call that raises it, in scripts/error_index.py."""
    without = {kind for _, kind in error_index.classes()} - ROOTS
    assert {kind.__name__ for kind in without} == set(error_index.EXAMPLES)
