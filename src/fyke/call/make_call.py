"""Events and options to the call that runs them: patterns, relational queries, clauses, here or on Spark."""

from __future__ import annotations

from fyke.call.events import Given
from fyke.call.inputs import Streams
from fyke.call.null_comparisons import warn_of_null_comparisons
from fyke.call.options import Options, RowOptions
from fyke.call.pattern import PatternCall
from fyke.call.relational import RelationalCall
from fyke.call.row_patterns import RowPatternCall
from fyke.call.source import Source, spell_options
from fyke.language.relational import RelationalQuery


def make_call(
    given: Given, options: Options | RowOptions, source: Source | None = None
) -> PatternCall | RelationalCall | RowPatternCall:
    """Return the call of a query on given events, checked: nothing has run yet.

    ``source``: what the events of a pattern come to, if another call with these options knows it.

    Raises
    ------
    FykeError
        If the events, the options and the query do not fit one another.
    """
    if isinstance(options, RowOptions):
        return RowPatternCall(given, options)
    options = spell_options(given, options)
    warn_of_null_comparisons(options.query)
    if isinstance(options.query, RelationalQuery):
        streams = Streams(given, time=options.time, type_column=options.type_column)
        return RelationalCall(streams, options)
    return PatternCall(given, options, source)
