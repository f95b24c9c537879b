"""A statement of Spark SQL with MATCH_RECOGNIZE clauses: Fyke runs the clauses, Spark all the rest."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from fyke.call.events import take_events
from fyke.call.metrics import Metrics
from fyke.call.options import RowOptions, checked_limits, named_options
from fyke.call.row_patterns import RowPatternCall
from fyke.errors import OptionError, QueryError, SparkError, UnsupportedQueryError, near_misses
from fyke.language import row_pattern_text
from fyke.language.assemble import located
from fyke.language.ast import Parameter, walk
from fyke.language.clauses import check_size
from fyke.language.row_patterns import RowPatternQuery
from fyke.language.sql_statement import StatedClause, Statement, read_statement, unreadable_table
from fyke.limits import Limits
from fyke.spark.prepare import by_bytes
from fyke.spark.pushed_filters import filters_above
from fyke.spark.session import is_connect
from fyke.spark.sql_text import named_frame, placeholder, plain_text, read_table, run_sql

_MAKES_A_VIEW = re.compile(r"\s*(?:create\b.*\bview|alter\s+view|cache)\b", re.IGNORECASE | re.DOTALL)


def stated(text: str, options: Mapping[str, Any]) -> Statement | None:
    """Return a text as a statement with clauses; None if it is something else.

    Raises
    ------
    QueryError
        If a clause stands where none can.
    """
    check_size(text, checked_limits(options.get("limits")))
    return read_statement(text)


def run_statement(spark: Any, statement: Statement, options: Mapping[str, Any]) -> Any:
    """Return the DataFrame of a statement.

    A query is analysed twice if its filters reach a clause: Spark's optimizer brings them down to the
    clause, and those on partition columns then hold for the rows that the clause reads.

    Raises
    ------
    FykeError
        About a clause, with its place in the statement; about the rest Spark raises its own errors.
    """
    call = _StatementCall(spark, statement, options)
    if statement.command is not None:
        return call.run({}, observed=False)
    result = call.run({}, observed=False)
    filters = {} if result.isStreaming else call.filters(result)
    if call.metrics is None:
        return call.run(filters, observed=False) if filters else result
    # Spark looks for observations in a plan as it was given, and in that of a text there are none yet.
    return call.run(filters, observed=True).select("*")


class _StatementCall:
    """A statement whose clauses are parsed and whose options are checked."""

    def __init__(self, spark: Any, statement: Statement, options: Mapping[str, Any]) -> None:
        self.spark, self.statement = spark, statement
        _check_names(statement)
        limits = checked_limits(options.get("limits"))
        queries = [_parsed(statement, each, limits) for each in statement.clauses]
        self.given = self._parameters(queries, options.get("params"))
        self.options = [self._options(query, options) for query in queries]
        self.metrics = self.options[0].metrics
        if self.metrics is not None:
            self._check_metrics()
        self.calls: list[RowPatternCall] = []

    def _check_metrics(self) -> None:
        """Refuse metrics where Spark would tell nothing to fill them with."""
        command = self.statement.command
        if command is None and not is_connect(self.spark):
            return
        found = "the session is of Spark Connect" if command is None else f"this statement is {command}"
        raise OptionError(
            f"metrics of a statement are filled by queries on classic sessions, and {found}",
            remedy="Leave metrics out, or call fyke.match on a DataFrame, which fills them everywhere.",
        )

    def _options(self, query: RowPatternQuery, options: Mapping[str, Any]) -> RowOptions:
        values = {name: self.given[name] for name in _parameters_of(query) if name in self.given}
        checked = named_options("sql", query, {**options, "params": values or None})
        assert isinstance(checked, RowOptions)
        return checked

    def _parameters(self, queries: list[RowPatternQuery], given: Any) -> dict[str, Any]:
        """Return the values of parameters, which clauses or the rest of the statement name."""
        if given is not None and not isinstance(given, Mapping):
            raise OptionError(f"params must be a dict of values by name, found {given!r:.60}")
        known = set(self.statement.parameters).union(*map(_parameters_of, queries))
        for name in given or {}:
            if name not in known:
                raise OptionError(f"the statement has no parameter {name!r}.{near_misses(str(name), known)}")
        return dict(given or {})

    def run(self, filters: Mapping[int, list[str]], *, observed: bool) -> Any:
        """Return the result, where the rows that some clauses read are filtered first."""
        metrics = self._metrics() if observed else [None] * len(self.options)
        frames: dict[str, Any] = {}
        text = _Rewritten(self.statement.text)
        self.calls = []
        for number, clause in enumerate(self.statement.clauses):
            rows = self._table(clause, text, frames)
            for condition in filters.get(number, ()):
                rows = by_bytes(rows).where(condition)
            options = replace(self.options[number], metrics=metrics[number])
            call = RowPatternCall(take_events(rows), options)
            self.calls.append(call)
            frames[named_frame(number)] = call.run(_function(number))
            text.replace(clause, number)
        return run_sql(self.spark, text.all(), self._spark_parameters(), frames)

    def _spark_parameters(self) -> dict[str, Any]:
        return {name: self.given[name] for name in self.statement.parameters if name in self.given}

    def _metrics(self) -> list[Metrics | None]:
        if self.metrics is None or len(self.options) == 1:
            return [self.metrics] * len(self.options)
        labels: dict[str, Metrics] = {}
        for number, clause in enumerate(self.statement.clauses, start=1):
            label = clause.label if clause.label not in (None, *labels) else f"clause {number}"
            labels[str(label)] = Metrics()
        self.metrics.set_queries(labels)
        return list(labels.values())

    def _table(self, clause: StatedClause, text: _Rewritten, frames: Mapping[str, Any]) -> Any:
        """Return the rows that a clause is over, a DataFrame."""
        sql = f"SELECT * FROM {text.between(*clause.table)}"
        for scope in reversed(clause.scopes):
            inner = sql if scope == clause.scopes[-1] else f"SELECT * FROM ({sql})"
            sql = f"WITH {text.between(*scope)} {inner}"
        try:
            return read_table(self.spark, sql, self._spark_parameters(), frames)
        except SparkError as error:
            raise unreadable_table(self.statement, clause, error.message) from error.__cause__

    def filters(self, result: Any) -> dict[int, list[str]]:
        """Return, by number of a clause, the filters of the statement on its partition columns."""
        found = {}
        for number, call in enumerate(self.calls):
            analysed = call.plan.analysed
            # 0.0 and -0.0 are in one partition, and a filter may tell them apart.
            exact = [name for name in analysed.partition if not pa.types.is_floating(analysed.columns[name])]
            conditions = filters_above(result, _function(number), exact) if exact else []
            if conditions:
                found[number] = conditions
        return found


def _function(number: int) -> str:
    """Return the name that the function of a clause has in Spark's plans."""
    return f"match_recognize_{number + 1}"


def _parsed(statement: Statement, clause: StatedClause, limits: Limits) -> RowPatternQuery:
    """Return a clause with its places in the whole statement."""
    start, end = clause.clause
    blank = re.sub(r"[^\n]", " ", statement.text[:start])
    try:
        query = row_pattern_text.parse(blank + statement.text[start:end], limits)
    except QueryError as error:
        raise located(error, statement.text) from None
    return replace(query, text=statement.text)


def _parameters_of(query: RowPatternQuery) -> set[str]:
    trees = [*(each.expression for each in query.measures), *(each.condition for each in query.define)]
    return {node.name for tree in trees for node in walk(tree) if isinstance(node, Parameter)}


def _check_names(statement: Statement) -> None:
    """Refuse a statement that keeps the text of a query: the results of clauses have no name for later."""
    if _MAKES_A_VIEW.match(statement.text, 0, statement.clauses[0].table[0]):
        raise UnsupportedQueryError(
            "the text of a view is analysed whenever the view is read, and MATCH_RECOGNIZE is not Spark's",
            remedy="Run the query alone, and name its result: fyke.sql(...).createOrReplaceTempView('name').",
        )


class _Rewritten:
    """The text of a statement in which placeholders stand for tables with clauses, line by line as it was."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.done: list[tuple[int, int, int]] = []

    def replace(self, clause: StatedClause, number: int) -> None:
        """Let the result of a clause stand for its table and itself."""
        start, end = clause.table[0], clause.clause[1]
        self.done = [each for each in self.done if not start <= each[0] < end]
        self.done.append((start, end, number))

    def between(self, start: int, end: int) -> str:
        """Return a stretch of the text."""
        parts, at = [], start
        for first, last, number in sorted(self.done):
            if start <= first and last <= end:
                lines = self.text[first:last].split("\n")
                # What follows stays in its line and column, where Spark looks for its errors.
                gap = "\n" * (len(lines) - 1) + " " * len(lines[-1]) if len(lines) > 1 else ""
                parts += [plain_text(self.text[at:first]), placeholder(number), gap]
                at = last
        return "".join([*parts, plain_text(self.text[at:end])])

    def all(self) -> str:
        """Return the whole text."""
        return self.between(0, len(self.text))
