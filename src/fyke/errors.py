"""The one error tree of Fyke.

Everything Fyke raises on purpose is a :class:`FykeError`.  An error about a query says where
(line, column, a caret under the place), what was found, what is allowed, and what to do.
"""

from __future__ import annotations

import difflib
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from fyke.html import code_block

_INNER = ("fyke", "pyspark", "py4j", "IPython")


@dataclass(frozen=True, slots=True)
class Place:
    """A stretch of query text: 1-based line and column of its start, and its length on that line."""

    line: int
    column: int
    length: int = 1


def near_misses(name: str, known: Iterable[str]) -> str:
    """Return ``" Did you mean 'x' or 'y'?"`` for the known names close to ``name``, or ``""``."""
    candidates = list(dict.fromkeys(known))
    by_folded = {candidate.casefold(): candidate for candidate in candidates}
    close = difflib.get_close_matches(name.casefold(), by_folded, n=3, cutoff=0.6)
    if not close:
        return ""
    return " Did you mean " + " or ".join(repr(by_folded[folded]) for folded in close) + "?"


def listed(names: Iterable[str], most: int = 20) -> str:
    """Return names as ``"a, b, c"``; of a long list the first ``most`` and how many more there are."""
    every = list(names)
    shown = ", ".join(every[:most])
    return shown if len(every) <= most else f"{shown} and {len(every) - most} more"


def shown(value: object, longest: int = 60) -> str:
    """Return a value as Python writes it, cut if it is long, for a message about what was found."""
    text = repr(value)
    return text if len(text) <= longest else f"{text[:longest]}..."


class FykeError(Exception):
    """Root of every error Fyke raises.  ``remedy`` says what to do about it."""

    def __init__(self, message: str, *, remedy: str = "") -> None:
        self.message = message
        self.remedy = remedy
        super().__init__(self._render())

    def _render(self) -> str:
        return f"{self.message}\n{self.remedy}" if self.remedy else self.message

    def _repr_html_(self) -> str:
        return f"<b>{type(self).__name__}</b>{code_block(str(self))}"

    def _render_traceback_(self) -> list[str]:
        """Return what IPython prints: the text first, and below it only the user's own lines of the calls."""
        calls = traceback.format_list(
            frame
            for frame in traceback.extract_tb(self.__traceback__)
            if not frame.filename.startswith(_inner_folders())
        )
        told = [f"{type(self).__name__}: {self}"]
        return [*told, "", "Raised by", *(call.rstrip("\n") for call in calls)] if calls else told

    def __reduce__(self) -> tuple[Callable[..., FykeError], tuple[type[FykeError], dict[str, object]]]:
        """Make errors picklable, although their arguments are given by name."""
        return _restored, (type(self), self.__dict__)


def _inner_folders() -> tuple[str, ...]:
    """Return the folders of the modules whose frames say nothing to those who call Fyke."""
    modules = (sys.modules.get(name) for name in _INNER)
    files = (getattr(module, "__file__", None) for module in modules)
    return tuple(os.path.dirname(file) + os.sep for file in files if file)


def _pointed_out(source: str, place: Place) -> list[str]:
    """Return the line of the place, at most 100 characters of it, and a line with carets below it."""
    start = max(0, place.column - 51) if len(source) > 100 else 0
    shown = "".join(char if char.isprintable() else " " for char in source[start : start + 100])
    column = place.column - 1 - start
    return [f"  {shown}".rstrip(), "  " + " " * column + "^" * max(1, min(place.length, 100 - column))]


def _restored(kind: type[FykeError], attributes: dict[str, object]) -> FykeError:
    error = kind.__new__(kind)
    error.__dict__.update(attributes)
    error.args = (error._render(),)
    return error


class QueryError(FykeError):
    """The query itself is wrong; nothing has run."""

    def __init__(
        self,
        message: str,
        *,
        place: Place | None = None,
        text: str | None = None,
        remedy: str = "",
    ) -> None:
        self.place = place
        self.text = text
        super().__init__(message, remedy=remedy)

    @property
    def line(self) -> int | None:
        """1-based line in the query text, or None if the query was built in Python."""
        return self.place.line if self.place else None

    @property
    def column(self) -> int | None:
        """1-based column in the query text, or None if the query was built in Python."""
        return self.place.column if self.place else None

    def _render(self) -> str:
        parts = [self.message]
        if self.place is not None:
            parts[0] += f" (line {self.place.line}, column {self.place.column})"
            lines = (self.text or "").split("\n")  # as places count lines: not at every Unicode line break
            if self.text and 0 < self.place.line <= len(lines):
                parts += _pointed_out(lines[self.place.line - 1], self.place)
        if self.remedy:
            parts.append(self.remedy)
        return "\n".join(parts)


class QuerySyntaxError(QueryError):
    """The text is not in the language."""


class UnknownNameError(QueryError):
    """A name that nothing defines."""


class UnknownTypeError(UnknownNameError):
    """An event type that the input does not have."""


class UnknownVariableError(UnknownNameError):
    """A variable that the pattern does not declare."""


class UnknownAttributeError(UnknownNameError):
    """An attribute that the events of a variable do not have."""


class AmbiguousNameError(QueryError):
    """A name that stands for an attribute of more than one stream."""


class UnknownFunctionError(UnknownNameError):
    """A function that is neither built in nor registered."""


class DuplicateVariableError(QueryError):
    """A variable declared twice where both declarations can be bound in one match."""


class TypeClashError(QueryError):
    """An operator or function applied to types it does not take."""


class GroupAsSingleError(QueryError):
    """A group variable used where one event is needed."""


class SingleAsGroupError(QueryError):
    """A single variable used where a group is needed."""


class PreviousOfSingleError(SingleAsGroupError):
    """``a[i-1]`` or ``prev(a.x)`` on a variable that binds one event."""


class AbsenceReferenceError(QueryError):
    """An absent variable used where a bound event is needed, as in RETURN."""


class AggregateError(QueryError):
    """An aggregate where it has no meaning, or mixed with what it cannot be mixed with."""


class WindowError(QueryError):
    """A WITHIN clause that is wrong or missing."""


class WindowLengthError(WindowError):
    """A window of zero or negative length."""


class WindowUnitError(WindowError):
    """A window whose unit does not fit the time column."""


class MissingWindowError(WindowError):
    """No window where the query needs one."""


class QuantifierError(QueryError):
    """Repetition bounds that no number of events satisfies, or bounds on the wrong kind of variable."""


class EmptyPatternError(QueryError):
    """A pattern, or an alternative of it, that binds no event."""


class ContradictionError(QueryError):
    """Conditions that no events can satisfy."""


class TooManyVariablesError(QueryError):
    """More variables than an engine state can hold."""


class TooManyAlternativesError(QueryError):
    """OR and optional parts multiply into more alternatives than the limit."""


class QueryTooLargeError(QueryError):
    """A query text longer or nested deeper than the limit."""


class NavigationError(QueryError):
    """FIRST, LAST, PREV, NEXT, RUNNING or FINAL where a row pattern gives them no meaning."""


class MissingDefineError(QueryError):
    """A row pattern without DEFINE: every row would match it."""


class RowsPerMatchError(QueryError):
    """Rows asked for, or a way on after a match, that a row pattern cannot have."""


class RowOrderError(QueryError):
    """A row pattern without ORDER BY on rows that are in no order."""


class TableError(QueryError):
    """A table in front of a MATCH_RECOGNIZE clause that Spark cannot read."""


class OutputNameError(QueryError):
    """Two columns of the result would have one name."""


class ParameterError(QueryError):
    """A parameter without a value, or with one that cannot stand in its place."""


class LabelError(QueryError):
    """A query of a program without a label, or with one that another query has."""


class CycleError(QueryError):
    """Labelled queries that need one another's results before their own."""


class UnsupportedQueryError(QueryError):
    """A legal query that the chosen engine or input cannot run; the text says what can."""


class InputError(FykeError):
    """The events, or the way they are described, do not fit."""


class MissingColumnError(InputError):
    """A column named in the call that the events do not have."""


class TimeColumnError(InputError):
    """A time column of a type that has no order or no distance."""


class SchemaClashError(InputError):
    """Inputs of one query whose columns of one name have types that cannot be united."""


class OptionError(InputError):
    """An option of the call with a value it does not take."""


class RuleError(InputError):
    """A rule without a name or a text, or two that cannot be told apart."""


class SparkError(FykeError):
    """Spark does not start, or cannot read or write what it was asked to."""


class SinkError(FykeError):
    """A result that cannot be written where it was asked for."""


class LimitError(FykeError):
    """A resource limit was exceeded; ``limit`` names it and ``value`` is its setting.

    The process can go on as before.  If a worker of Spark raises it, the action that asked for rows does,
    too.  Where only the text of another exception is left of it, :meth:`found_in` recovers the error.
    """

    def __init__(self, message: str, *, limit: str, value: float, remedy: str = "") -> None:
        self.limit = limit
        self.value = value
        super().__init__(message, remedy=remedy)

    @classmethod
    def exceeded(cls, limit: str, value: float, where: str, remedy: str) -> LimitError:
        """Return the error for a limit that was exceeded ``where``, for example ``in the whole input``."""
        message = f"limit {limit!r} of {value:,} was exceeded {where}"
        return cls(message, limit=limit, value=value, remedy=remedy)

    @classmethod
    def found_in(cls, error: BaseException) -> LimitError | None:
        """Return the error whose text, written by :meth:`exceeded`, is in that of another one, if any."""
        if isinstance(error, cls):
            return error
        found = re.search(r"(limit '(\w+)' of ([\d,.e+-]+) was exceeded .*)\n(.*)", str(error))
        if found is None:
            return None
        message, limit, value, remedy = found.groups()
        number = float(value.replace(",", ""))
        whole = value.replace(",", "").isdigit()
        return cls(
            message, limit=limit, value=int(value.replace(",", "")) if whole else number, remedy=remedy
        )


class CountTooLargeError(FykeError):
    """More matches than a 64-bit count can hold."""

    def __init__(self) -> None:
        super().__init__(
            "there are more than 2^63 - 1 matches, more than count(*) can say",
            remedy="Shorten the window, add conditions, or bound the repetition, as in A{1,20} a[].",
        )


class SkipError(FykeError):
    """AFTER MATCH SKIP TO a row that a match does not have, or from which the search would not go on."""

    @classmethod
    def missing(cls, skip: str, partition: str) -> SkipError:
        """Return the error for a match, in that partition, that has no row to skip to."""
        return cls(
            f"AFTER MATCH SKIP {skip} finds no such row in a match {partition}",
            remedy="Skip to a variable that every match has, or PAST LAST ROW.",
        )

    @classmethod
    def stays(cls, skip: str, partition: str) -> SkipError:
        """Return the error for a match, in that partition, whose first row it is."""
        return cls(
            f"AFTER MATCH SKIP {skip} leads back to the first row of a match {partition}",
            remedy="Skip to a variable that comes later in every match, or TO NEXT ROW.",
        )


class NotRunError(FykeError):
    """What only a run can tell, asked for before anything has run."""


class StateError(FykeError):
    """Saved state that cannot be used: damaged, of a newer version, or of another query."""

    @classmethod
    def damaged(cls, why: str) -> StateError:
        """Return the error for a state whose bytes were changed."""
        return cls(
            f"the saved state is damaged: {why}",
            remedy="Restore it from a copy, or start again without it.",
        )


class StreamError(InputError):
    """A query, or an option, that cannot be decided on a stream."""
