"""MATCH_RECOGNIZE on batch DataFrames: one shuffle by PARTITION BY, one sort, whole partitions searched."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema, from_arrow_type

from fyke.engine.counters import Counters
from fyke.engine.measure.clock import Clock
from fyke.engine.row_patterns.order import row_partition_codes
from fyke.engine.row_patterns.run import match_rows
from fyke.errors import RowOrderError, UnsupportedQueryError
from fyke.language import ast
from fyke.language.ast import Expression, Reference, map_children, walk
from fyke.language.row_pattern_rules import ROW_AGGREGATES
from fyke.language.row_patterns import OrderItem, RowPatternQuery
from fyke.logical.returns import OWN
from fyke.logical.row_patterns.analysed import AnalysedRowPattern
from fyke.plan.row_patterns.plan import RowPlan
from fyke.plan.row_patterns.pushdown import TRUTH, PushedRows, RowColumn, is_foreign, push_rows
from fyke.plan.statistics import Sums
from fyke.spark.expression import quote, to_sql
from fyke.spark.observe import ObservedRows, counts_of_task, with_metrics, without_counts
from fyke.spark.prepare import by_bytes, infer_type
from fyke.spark.session import arrange_workers
from fyke.spark.worker_errors import carrying

FUNCTION = "match_recognize"
_CHUNK_ROWS = 1 << 19
_RESULT_ROWS = 1 << 14
_NUMBER = f"{OWN}number"
_NO_SUMS = Sums((), ())

_Function = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def match_row_frame(
    frame: DataFrame, plan: RowPlan, observed: ObservedRows | None = None, name: str = FUNCTION
) -> DataFrame:
    """Return the result of a clause on a DataFrame; nothing runs until Spark is asked for rows.

    The first action on the result fills ``observed``, if it is given.  In Spark's plans the function that
    searches has a ``name``.
    """
    arrange_workers(frame.sparkSession)
    pushed = pushed_rows(frame, plan)
    schema = from_arrow_schema(plan.analysed.schema, prefer_timestamp_ntz=True)
    if observed is None:
        rows = arranged_rows(together_rows(prepared_rows(frame, pushed), pushed), pushed)
        return rows.mapInArrow(row_matcher(pushed, name), schema)
    rows = together_rows(prepared_rows(observed.input(frame), pushed), pushed)
    rows = arranged_rows(observed.moved(rows), pushed)
    told = rows.mapInArrow(row_matcher(pushed, name, metrics=True), with_metrics(schema, observed.sums))
    return observed.matches(told)


# --- what Catalyst does ---------------------------------------------------------------------------


def check_row_order(query: RowPatternQuery) -> None:
    """Refuse a clause without ORDER BY: on a table the rows are in some order, in a DataFrame in none.

    Raises
    ------
    RowOrderError
    """
    if not query.order:
        raise RowOrderError(
            "the clause has no ORDER BY, and the rows of a DataFrame are in no order",
            place=query.pattern.place,
            text=query.text,
            remedy="Add ORDER BY in front of PATTERN, as in ORDER BY ts.",
        )


def infer_row_type(frame: DataFrame, node: Expression, text: str | None) -> pa.DataType | None:
    """Ask Spark for the type of a function of one row that Fyke does not know; None if there is none.

    Raises
    ------
    UnsupportedQueryError
        If it is over values of several rows, which Spark never sees together.
    TypeClashError
        If Spark refuses its arguments.
    """
    row = _in_row(node)
    if any(_is_of_matches(each) for each in walk(row)):
        raise _not_of_one_row(node, text)
    return infer_type(frame, row, text)


def check_row_functions(analysed: AnalysedRowPattern) -> None:
    """Refuse functions that only Spark knows where they are not about one row.

    Raises
    ------
    UnsupportedQueryError
    """
    for value in (*analysed.conditions.values(), *analysed.measures):
        for node in walk(value.expression):
            if isinstance(node, ast.Call) and node.function != "match_number" and is_foreign(node):
                raise _not_of_one_row(node, analysed.query.text)


def _in_row(node: Expression) -> Expression:
    """Return an expression with columns of the row in place of those of variables, wherever they look."""
    if isinstance(node, ast.Column):
        return Reference("", node.path, place=node.place)
    if isinstance(node, (ast.Navigation, ast.Seen)):
        return _in_row(node.operand)
    return map_children(node, _in_row)


def _is_of_matches(node: ast.Node) -> bool:
    if isinstance(node, ast.Call):
        return node.function in (*ROW_AGGREGATES, "classifier", "match_number")
    return isinstance(node, Reference) and node.path[:1] != () and node.path[0].startswith("$")


def _not_of_one_row(node: Expression, text: str | None) -> UnsupportedQueryError:
    assert isinstance(node, ast.Call)
    return UnsupportedQueryError(
        f"Spark evaluates {node.function} row by row, before there are matches, and here it is about a match",
        place=node.place,
        text=text,
        remedy=f"Write LAST({node.function}(A.x)) with columns of one row, or apply it to the result.",
    )


def pushed_rows(frame: DataFrame, plan: RowPlan) -> PushedRows:
    """Return a plan with what one row decides as columns, which Catalyst computes."""
    text = plan.analysed.query.text
    return push_rows(plan, lambda node, _: infer_row_type(frame, node, text))


def prepared_rows(frame: DataFrame, pushed: PushedRows) -> DataFrame:
    """Return the rows with the columns that are needed to sort and to match, and no others.

    Rows are numbered as they come, so that those that ORDER BY does not tell apart stay as they are.
    """
    columns = [F.col(quote(name)) for name in (*pushed.carried, *pushed.order_only)]
    known = pushed.plan.analysed.columns
    made = [_computed(each, known).alias(each.name) for each in pushed.columns]
    if TRUTH in pushed.sent:
        bits = [
            f"CASE WHEN {to_sql(each.expression, known)} THEN {1 << number}L ELSE 0L END"
            for number, each in enumerate(pushed.truths)
        ]
        made.append(F.expr(" | ".join(bits) or "0L").alias(TRUTH))
    number = F.monotonically_increasing_id().alias(_NUMBER)
    return by_bytes(frame).select(*columns, *made, number)


def computed_rows(frame: DataFrame, pushed: PushedRows) -> DataFrame:
    """Return the rows with the columns that a stream sends: a column for each condition on one row, too."""
    names = (*pushed.carried, *pushed.order_only)
    known = pushed.plan.analysed.columns
    made = [_computed(each, known).alias(each.name) for each in pushed.columns]
    made += [
        F.coalesce(F.expr(to_sql(each.expression, known)), F.lit(False)).alias(each.name)
        for each in pushed.truths
    ]
    return by_bytes(frame).select(*(F.col(quote(name)) for name in names), *made)


def _computed(each: RowColumn, known: Any) -> Column:
    kind = from_arrow_type(each.type, prefer_timestamp_ntz=True)
    return F.expr(to_sql(each.expression, known)).cast(kind)


def together_rows(frame: DataFrame, pushed: PushedRows) -> DataFrame:
    """Bring the rows of each partition together."""
    keys = _keys(pushed)
    return frame.repartition(*keys) if keys else frame.repartition(1)


def arranged_rows(frame: DataFrame, pushed: PushedRows) -> DataFrame:
    """Sort rows within their partitions, and keep only the columns that the engine reads.

    They are those of ``pushed.sent`` by position: ``mapInArrow`` takes a dot or a backtick in a name for
    syntax, so here they have plain names.
    """
    order = [_order(item) for item in pushed.plan.analysed.order]
    frame = frame.sortWithinPartitions(*_keys(pushed), *order, F.col(_NUMBER))
    return frame.select(*(F.col(quote(name)).alias(f"c{n}") for n, name in enumerate(pushed.sent)))


def _keys(pushed: PushedRows) -> list[Column]:
    return [F.col(quote(name)) for name in pushed.plan.analysed.partition]


def _order(item: OrderItem) -> Column:
    column = F.col(quote(item.column))
    if item.descending:
        return column.desc_nulls_first() if item.nulls_first else column.desc_nulls_last()
    return column.asc_nulls_first() if item.nulls_first else column.asc_nulls_last()


# --- what workers do ------------------------------------------------------------------------------


def row_matcher(pushed: PushedRows, name: str = FUNCTION, *, metrics: bool = False) -> _Function:
    """Return the function that workers run over the sorted rows of a Spark partition.

    With ``metrics`` its rows have one more column, and a last row holds the counts.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with carrying():
            walk = _RowWalk(pushed)
            for batch in walk.results(batches):
                yield without_counts(batch, _NO_SUMS) if metrics else batch
            if metrics:
                schema = pushed.plan.analysed.schema
                yield from counts_of_task(schema, walk.counters, walk.clock, _NO_SUMS)

    run.__name__ = name
    return run


class _RowWalk:
    """Feeds sorted rows to the engine, some whole partitions of the clause at a time."""

    def __init__(self, pushed: PushedRows) -> None:
        self.pushed, self.plan = pushed, pushed.plan
        self.schema = pa.schema(list(pushed.sent.items()))
        self.counters, self.clock = Counters(), Clock()

    def results(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield result batches while reading the rows of a Spark partition."""
        open_rows: list[pa.Table] = []  # of the partition that may go on
        for chunk in self._chunks(batches):
            last = self._last_start(chunk, open_rows[-1] if open_rows else None)
            if last is not None:
                yield from self._matched([*open_rows, chunk.slice(0, last)])
                open_rows, chunk = [], chunk.slice(last)
            open_rows.append(chunk)
        if open_rows:
            yield from self._matched(open_rows)

    def _chunks(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
        """Yield the rows, many at a time, with the names and types of the plan."""
        waiting: list[pa.RecordBatch] = []
        rows = 0
        for batch in batches:
            waiting.append(batch)
            rows += batch.num_rows
            if rows >= _CHUNK_ROWS:
                yield self._named(waiting)
                waiting, rows = [], 0
        if rows:
            yield self._named(waiting)

    def _named(self, batches: list[pa.RecordBatch]) -> pa.Table:
        table = pa.Table.from_batches(batches).rename_columns(self.schema.names).cast(self.schema)
        if TRUTH not in self.schema.names:
            return table
        truth = table.column(TRUTH).to_numpy()
        for number, each in enumerate(self.pushed.truths):
            table = table.append_column(each.name, pa.array((truth >> number & 1).astype(bool)))
        return table

    def _last_start(self, chunk: pa.Table, before: pa.Table | None) -> int | None:
        """Return where the last partition that begins in a chunk does; None if the open one goes on."""
        names = self.plan.analysed.partition
        if not names:
            return None
        keys = chunk.select(names)
        if before is not None:
            keys = pa.concat_tables([before.slice(before.num_rows - 1).select(names), keys])
        codes, _ = row_partition_codes(keys, names)
        changes = np.flatnonzero(codes[1:] != codes[:-1])
        if len(changes) == 0:
            return None
        return int(changes[-1]) + (1 if before is None else 0)

    def _matched(self, tables: list[pa.Table]) -> Iterator[pa.RecordBatch]:
        self.clock.restart()
        rows = pa.concat_tables(tables)
        result, counters = match_rows(self.plan, rows, self.clock, sorted_rows=True)
        self.counters.merge(counters)
        yield from result.to_batches(max_chunksize=_RESULT_ROWS)
