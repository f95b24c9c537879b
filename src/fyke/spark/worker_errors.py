"""Errors of Fyke that workers raise, brought back whole to whoever asked Spark for rows.

Spark makes one long text of a worker's traceback and of its own Java stack.  A worker therefore raises its
error from a cause that carries the error's fields (:func:`carrying`), and where pyspark turns what Spark says
into exceptions, on classic sessions and on Connect, that error is made again (:func:`bring_errors_back`).  It
is both Fyke's error and the exception that Spark would raise, so whatever catches either one catches it.
"""

from __future__ import annotations

import base64
import contextlib
import json
import logging
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

from pyspark import SparkContext
from pyspark.errors import PySparkException, UnknownException
from pyspark.errors.exceptions import captured
from pyspark.logger import PySparkLogger

from fyke import errors
from fyke.errors import FykeError, LimitError, Place, QueryError

_CONNECT = "pyspark.sql.connect.client.core"  # it can be imported only where Connect's dependencies are
_OPEN, _CLOSE = "fyke-error<", ">"
_CARRIED = re.compile(rf"{_OPEN}([A-Za-z0-9+/=]+){_CLOSE}")
_TOLD = re.compile(r"fyke\.errors\.(\w+): (.*?)(?=\n\s*\n|\n\s*at [\w.$/]+\(|\Z)", re.DOTALL)
_STATE = re.compile(r" SQLSTATE: \w+(; line \d+ pos \d+)?\s*\Z")  # what Spark adds to a text
_LOGGER = "SQLQueryContextLogger"  # pyspark writes a page about each statement that fails
_CONVERT, _MARK = "convert_exception", "_fyke_brings_errors_back"
# What Spark logs on this machine for a task that fails, before the driver raises what it says.  For an error
# that is not Fyke's, a warning with all of its text is left.
_LOGGED = r"(?s)Exception in task .*|Aborting (job|task).*|.*fyke\.errors\..*"


class Carried(Exception):
    """The fields of an error, in the text of its cause."""


@contextlib.contextmanager
def carrying() -> Iterator[None]:
    """Let an error of Fyke that is raised in a worker carry its fields to the driver."""
    try:
        yield
    except FykeError as error:
        raise error from Carried(f"{_OPEN}{encoded(error)}{_CLOSE}")


def encoded(error: FykeError) -> str:
    """Return an error as a short text without blanks, from which :func:`decoded` makes it again."""
    fields = {
        name: {"place": asdict(value)} if isinstance(value, Place) else value
        for name, value in vars(error).items()
        if isinstance(value, (str, int, float, Place, type(None)))
    }
    text = json.dumps({"kind": type(error).__name__, "fields": fields})
    return base64.b64encode(text.encode()).decode()


def error_in(text: str) -> FykeError | None:
    """Return the error of Fyke that is in what Spark says, if there is one."""
    if found := _CARRIED.search(text):
        with contextlib.suppress(ValueError, TypeError, KeyError):
            return decoded(found[1])
    told = _TOLD.search(text)
    if told is None:
        return None
    kind, message = _kind(told[1]), _STATE.sub("", told[2]).strip()
    if kind is LimitError:
        return LimitError.found_in(FykeError(message))
    nothing = {"place": None, "text": None} if issubclass(kind, QueryError) else {}
    return errors._restored(kind, {"message": message, "remedy": "", **nothing})


def decoded(text: str) -> FykeError:
    """Return the error that :func:`encoded` has written."""
    said = json.loads(base64.b64decode(text))
    fields = {
        name: Place(**value["place"]) if isinstance(value, dict) else value
        for name, value in said["fields"].items()
    }
    return errors._restored(_kind(said["kind"]), fields)


def _kind(name: str) -> type[FykeError]:
    kind = getattr(errors, name, FykeError)
    return kind if isinstance(kind, type) and issubclass(kind, FykeError) else FykeError


# --- on the driver --------------------------------------------------------------------------------


def bring_errors_back() -> None:
    """Let pyspark raise errors of Fyke that workers have raised, as they are; once is enough."""
    logger = PySparkLogger.getLogger(_LOGGER)
    if _not_of_fyke not in logger.filters:
        logger.addFilter(_not_of_fyke)
    for module in (captured, sys.modules.get(_CONNECT)):
        convert = getattr(module, _CONVERT, None)
        if convert is not None and not hasattr(convert, _MARK):
            setattr(module, _CONVERT, _bringing_back(convert))


def _not_of_fyke(record: logging.LogRecord) -> bool:
    """Say whether pyspark is to log a failed statement: Fyke's own errors are raised, and that is enough."""
    return "fyke.errors." not in str(record.msg)


def _bringing_back(convert: Callable[..., PySparkException]) -> Callable[..., PySparkException]:
    def converted(*arguments: Any, **named: Any) -> PySparkException:
        said = convert(*arguments, **named)
        if isinstance(said, FykeError):
            return said
        texts = (str(said), getattr(said, "_stackTrace", None), getattr(said, "_stacktrace", None))
        found = next((error for text in texts if text and (error := error_in(text))), None)
        return said if found is None else _both(found, said)

    setattr(converted, _MARK, True)
    return converted


def _both(error: FykeError, said: PySparkException) -> PySparkException:
    """Return an error of Fyke that is an exception of Spark, too."""
    kind, text, fields = type(error), str(error), dict(vars(error))
    spark = PySparkException if isinstance(said, UnknownException) else type(said)

    def reduced(_: object) -> tuple[Any, ...]:
        return errors._restored, (kind, fields)

    members = {"__str__": lambda _: text, "__reduce__": reduced, "__module__": kind.__module__}
    both: Any = type(kind.__name__, (kind, spark), {**members, "__doc__": kind.__doc__})
    result: PySparkException = both.__new__(both)
    vars(result).update({**vars(said), **fields})
    result.args = (text,)
    return result


def hush_workers() -> None:
    """Keep Spark on this machine from logging what the driver raises anyway: pages for each failed task."""
    jvm = SparkContext._jvm
    if jvm is None:
        return
    with contextlib.suppress(Exception):  # other logging than Spark's own says what it says
        core = jvm.org.apache.logging.log4j.core
        context = jvm.org.apache.logging.log4j.LogManager.getContext(False)
        deny, neutral = core.Filter.Result.DENY, core.Filter.Result.NEUTRAL
        hushing = core.filter.RegexFilter.createFilter(_LOGGED, None, False, deny, neutral)
        for appender in context.getConfiguration().getRootLogger().getAppenders().values():
            appender.addFilter(hushing)
