"""A word of warning where a condition compares with NULL: it reads as a test, and is never true."""

from __future__ import annotations

from fyke.call.warn_user import warn_user
from fyke.language.ast import Equivalence
from fyke.language.text import AnyQuery
from fyke.language.unparse import unparse_expression
from fyke.logical.constants import null_comparisons


class NullComparisonWarning(UserWarning):
    """A condition compares with NULL, which is never true."""


def warn_of_null_comparisons(query: AnyQuery) -> None:
    """Warn once for each comparison with NULL in WHERE."""
    if query.text is not None and "null" not in query.text.lower():
        return
    for condition in query.conditions:
        if isinstance(condition, Equivalence):
            continue
        for comparison, meant in null_comparisons(condition):
            written = unparse_expression(comparison)
            place = comparison.place
            where = "" if place is None else f" (line {place.line}, column {place.column})"
            remedy = f"; write {meant}" if meant else "; leave NULL out, or test with IS NULL"
            warn_user(
                f"{written} is never true, for nothing equals NULL{where}{remedy}", NullComparisonWarning
            )
