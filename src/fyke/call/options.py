"""The options of a call, checked: what is wrong with one is told before any event is read."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fyke.call.metrics import Metrics
from fyke.engine.conditions.user_functions import MAX_ARGUMENTS, compile_external
from fyke.engine.threads import usual_threads
from fyke.errors import OptionError, near_misses, shown
from fyke.language.parameters import bind_parameters, bind_row_parameters
from fyke.language.query import Query
from fyke.language.relational import RelationalQuery
from fyke.language.row_patterns import RowPatternQuery
from fyke.language.text import AnyQuery, parse
from fyke.limits import Limits
from fyke.logical.schema import tie_breakers, time_pair, touching_before
from fyke.plan.engines import ENGINES
from fyke.plan.outputs import OUTPUTS
from fyke.plan.statistics import Statistics
from fyke.techniques import Techniques

Functions = Mapping[str, Callable[..., float]]

_MANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@dataclass(frozen=True, slots=True)
class Options:
    """What a call asks for; the parameters of :func:`fyke.match` describe each."""

    query: AnyQuery
    time: tuple[str, str]
    type_column: str | None
    tie_breaker: tuple[str, ...]
    output: str
    engine: str
    limits: Limits
    techniques: Techniques
    time_unit: str | None
    functions: Functions
    arities: Mapping[str, int]
    statistics: Statistics | None
    metrics: Metrics | None
    watermark: str | None = None
    touching: str | None = None
    complete_windows: bool = False
    unique_order: bool = False
    timeouts: bool = False
    threads: int = 1


@dataclass(frozen=True, slots=True)
class RowOptions:
    """What a call of a MATCH_RECOGNIZE clause asks for."""

    query: RowPatternQuery
    limits: Limits
    metrics: Metrics | None
    threads: int = 1
    watermark: str | None = None
    timeouts: bool = False


def check_options(
    query: object,
    *,
    time: object = None,
    type: str | None = None,
    tie_breaker: object = None,
    output: str = "all",
    engine: str = "auto",
    limits: Limits | None = None,
    techniques: Techniques | None = None,
    time_unit: str | None = None,
    functions: Functions | None = None,
    statistics: Statistics | None = None,
    metrics: Metrics | None = None,
    watermark: str | None = None,
    touching: str | None = None,
    complete_windows: bool = False,
    unique_order: bool = False,
    timeouts: bool = False,
    params: Mapping[str, Any] | None = None,
    threads: int | None = None,
) -> Options | RowOptions:
    """Return the options of a call; columns are looked for once the events are known.

    Raises
    ------
    OptionError, QueryError
    """
    _check_kind("metrics", metrics, Metrics | None, "metrics=metrics, after metrics = fyke.Metrics()")
    _check_kind("statistics", statistics, Statistics | None, "statistics=fyke.statistics(events, query, ...)")
    _check_choice("output", output, tuple(OUTPUTS))
    _check_choice("engine", engine, ("auto", *ENGINES))
    bounds = checked_limits(limits)
    techniques = Techniques() if techniques is None else techniques
    _check_kind("techniques", techniques, Techniques, "techniques=fyke.Techniques(merging=False)")
    _check_switch(
        "complete_windows", complete_windows, "matches are left out whose absence reaches past the data"
    )
    _check_switch("unique_order", unique_order, "columns that the query does not need are not read for order")
    _check_switch("timeouts", timeouts, "attempts that expire are rows too")
    asked = checked_query(query, bounds)
    if isinstance(asked, RowPatternQuery):
        given: dict[str, object] = {
            "time": time, "type": type, "tie_breaker": tie_breaker, "time_unit": time_unit,
            "functions": functions, "statistics": statistics, "touching": touching,
            "output": None if OUTPUTS[output].independent else output,
            "engine": None if engine == "auto" else engine,
            "complete_windows": complete_windows or None, "unique_order": unique_order or None,
        }  # fmt: skip
        _refuse_for_rows(given)
        bound = bind_row_parameters(asked, params)
        return RowOptions(bound, bounds, metrics, _checked_threads(threads), watermark, timeouts)
    known, arities = _checked_functions(functions)
    return Options(
        query=bind_parameters(asked, params),
        time=time_pair(time),
        type_column=type,
        tie_breaker=tie_breakers(tie_breaker),
        output=output,
        engine=engine,
        limits=bounds,
        techniques=techniques,
        time_unit=time_unit,
        functions=known,
        arities=arities,
        statistics=statistics,
        metrics=metrics,
        watermark=watermark,
        touching=touching_before(touching),
        complete_windows=complete_windows,
        unique_order=unique_order,
        timeouts=timeouts,
        threads=_checked_threads(threads),
    )


_INSTEAD = {
    "time": "ORDER BY says in which order rows come.",
    "tie_breaker": "ORDER BY says in which order rows come.",
}


def _refuse_for_rows(given: Mapping[str, object]) -> None:
    """Refuse options that have a meaning for queries over events only."""
    for name, value in given.items():
        if value is not None:
            remedy = _INSTEAD.get(name, "")
            raise OptionError(
                f"{name} has a meaning for queries over events, and this is a MATCH_RECOGNIZE clause",
                remedy=f"Leave {name} out. {remedy}".rstrip(),
            )


NAMES = tuple(inspect.signature(check_options).parameters)[1:]


def event_options(caller: str, query: object, options: Mapping[str, Any], *without: str) -> Options:
    """Return what :func:`named_options` returns for a query over events; a clause over rows is refused."""
    checked = named_options(caller, query, options, *without)
    if isinstance(checked, RowOptions):
        raise OptionError(
            f"{caller} takes queries over events, and this is a MATCH_RECOGNIZE clause",
            remedy="Run it with fyke.match.",
        )
    return checked


def named_options(
    caller: str, query: object, options: Mapping[str, Any], *without: str
) -> Options | RowOptions:
    """Return the options that were given by name to a function that takes those of ``match``.

    ``without``: those that this function does not take.
    """
    names = [name for name in NAMES if name not in without]
    unknown = [name for name in options if name not in names]
    if unknown:
        raise OptionError(f"{caller} takes no option {unknown[0]!r}.{near_misses(unknown[0], names)}")
    return check_options(query, **options)


def checked_limits(limits: object) -> Limits:
    """Return the limits of a call, the defaults for None."""
    given = Limits() if limits is None else limits
    _check_kind("limits", given, Limits, "limits=fyke.Limits(runs=10_000)")
    assert isinstance(given, Limits)
    return given


def checked_query(query: object, limits: Limits) -> AnyQuery | RowPatternQuery:
    """Return a query, parsed if it is a text."""
    if isinstance(query, str):
        return parse(query, limits)
    if isinstance(query, (Query, RelationalQuery, RowPatternQuery)):
        return query
    raise OptionError(
        f"query must be a text or a fyke.Query, found {query!r:.60}",
        remedy="Write, for example, fyke.match(events, 'PATTERN SEQ(A a, B b)', time='ts', type='kind').",
    )


def _check_choice(name: str, value: object, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise OptionError(
            f"{name} must be one of {', '.join(map(repr, allowed))}, found {shown(value)}."
            f"{near_misses(str(value), allowed)}"
        )


def _check_switch(name: str, value: object, effect: str) -> None:
    if not isinstance(value, bool):
        raise OptionError(
            f"{name} must be True or False, found {shown(value)}", remedy=f"With {name}=True {effect}."
        )


def _check_kind(name: str, value: object, kind: Any, example: str) -> None:
    if not isinstance(value, kind):
        raise OptionError(
            f"{name} must be a fyke.{name.capitalize()}, found {value!r:.60}",
            remedy=f"Write, for example, {example}.",
        )


def _checked_threads(threads: object) -> int:
    """Return the number of threads of a call; None: as many as the environment allows."""
    if threads is None:
        return usual_threads()
    if not isinstance(threads, int) or isinstance(threads, bool) or threads < 1:
        raise OptionError(
            f"threads must be a whole number above zero, found {shown(threads)}",
            remedy="Leave it out to take all cores; threads=1 takes one.",
        )
    return threads


def _checked_functions(functions: object) -> tuple[Functions, dict[str, int]]:
    """Return the functions by name, as queries write it, and the number of arguments of each."""
    if functions is None:
        return {}, {}
    example = "Write, for example, functions={'distance': lambda x, y: (x * x + y * y) ** 0.5}."
    if not isinstance(functions, Mapping):
        raise OptionError(
            f"functions must be a dict of functions by name, found {shown(functions)}", remedy=example
        )
    known: dict[str, Callable[..., float]] = {}
    arities: dict[str, int] = {}
    for name, function in functions.items():
        if not isinstance(name, str) or not callable(function):
            raise OptionError(
                f"functions must be a dict of functions by name, found {shown(name)}: {shown(function)}",
                remedy=example,
            )
        known[name.lower()], arities[name.lower()] = function, _arity(name, function)
        compile_external(name.lower(), function, arities[name.lower()])
    return known, arities


def _arity(name: str, function: Callable[..., float]) -> int:
    """Return how many numbers a function takes."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some functions of C have none
        parameters = None
    if parameters is None or any(each.kind in _MANY for each in parameters):
        raise OptionError(
            f"function {name!r} does not say how many numbers it takes",
            remedy=f"Wrap it, as in functions={{{name!r}: lambda x, y: f(x, y)}}.",
        )
    count = len(parameters)
    if not 1 <= count <= MAX_ARGUMENTS:
        raise OptionError(
            f"function {name!r} takes {count} arguments; one to {MAX_ARGUMENTS} numbers are possible"
        )
    return count
