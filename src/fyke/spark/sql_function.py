"""The table function ``fyke_match`` for Spark SQL: analysed in Python, fed with Arrow batches.

Spark calls ``analyze`` when it resolves a statement, and on workers ``eval`` with the batches of a partition
and ``terminate`` at its end.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType
from pyspark.sql.udtf import AnalyzeArgument, AnalyzeResult, UserDefinedTableFunction
from pyspark.util import PythonEvalType

from fyke.errors import InputError, OptionError, SparkError
from fyke.spark.prepare import arrow_fields
from fyke.spark.session import arrange_workers, is_connect
from fyke.spark.worker_errors import carrying

Arguments = Mapping[str, Any]
Analyse = Callable[[Mapping[str, pa.DataType], Arguments], pa.Schema]
Run = Callable[[pa.Table, Arguments], pa.Table]

_NAME = "fyke_match"
_BY_PARTITION = "ArrowUDTFWithPartition"  # the class of pyspark's worker that calls once a partition
_EXAMPLE = (
    "Write SELECT * FROM fyke_match(TABLE(events) PARTITION BY user ORDER BY ts, query => 'PATTERN ...', "
    "time => 'ts', type => 'kind')."
)


def register_function(spark: SparkSession, analyse: Analyse, run: Run) -> None:
    """Register the table function in a session.

    Raises
    ------
    SparkError
        If this version of Spark has no table functions over Arrow batches.
    """
    arrow = getattr(PythonEvalType, "SQL_ARROW_UDTF", None)
    if arrow is None:
        raise SparkError(
            "fyke_match needs table functions over Arrow batches, which Spark has since 4.1",
            remedy="Use fyke.match on DataFrames, or a newer Spark.",
        )
    arrange_workers(spark)
    # Spark's own decorator refuses ``analyze`` for such functions; what it makes of a class is this.
    kind: Any = UserDefinedTableFunction
    if is_connect(spark):
        kind = sys.modules["pyspark.sql.connect.udtf"].UserDefinedTableFunction
    function = kind(_handler(analyse, run), returnType=None, name=_NAME, evalType=arrow, deterministic=True)
    spark.udtf.register(_NAME, function)


def _handler(analyse: Analyse, run: Run) -> type:
    """Return the class that Spark makes an instance of for each partition."""

    class FykeMatch:
        def __init__(self) -> None:
            caller = sys._getframe(1).f_locals.get("self")
            self.apart = type(caller).__name__ == _BY_PARTITION
            self.batches: list[pa.RecordBatch] = []
            self.arguments: dict[str, Any] = {}

        @staticmethod
        def analyze(events: AnalyzeArgument, **named: AnalyzeArgument) -> AnalyzeResult:
            with carrying():
                if not events.isTable or not isinstance(events.dataType, StructType):
                    raise OptionError("the first argument of fyke_match is TABLE(events)", remedy=_EXAMPLE)
                schema = analyse(arrow_fields(events.dataType.fields), _constants(named))
            return AnalyzeResult(schema=from_arrow_schema(schema, prefer_timestamp_ntz=True))

        def eval(self, events: pa.RecordBatch, **named: pa.Array) -> Iterator[pa.Table]:
            with carrying():
                self.arguments = self.arguments or {name: _value(each) for name, each in named.items()}
                self.batches.append(events)
                task = TaskContext.get()
                if events.num_rows and not self.apart and task is not None and task.partitionId() > 0:
                    raise InputError(
                        "without PARTITION BY the events are in several tasks, and matches would be missing",
                        remedy="Write TABLE(events) PARTITION BY ..., or WITH SINGLE PARTITION.",
                    )
            return iter(())

        def terminate(self) -> Iterator[pa.Table]:
            if self.batches:
                with carrying():
                    yield run(pa.Table.from_batches(self.batches), self.arguments)

    return FykeMatch


def _constants(named: Mapping[str, AnalyzeArgument]) -> dict[str, Any]:
    for name, argument in named.items():
        if not argument.isConstantExpression:
            raise OptionError(f"{name} of fyke_match is a constant, as in {name} => '...'", remedy=_EXAMPLE)
    values = {name: argument.value for name, argument in named.items()}
    return {name: value.asDict() if isinstance(value, Row) else value for name, value in values.items()}


def _value(argument: pa.Array) -> Any:
    """Return the value of a constant argument on a worker, as :func:`_constants` has it at analysis."""
    value = argument[0].as_py()
    return dict(value) if pa.types.is_map(argument.type) and value is not None else value


def table_of_view(spark: SparkSession, name: str) -> Any | None:
    """Return a view or table of a session by its name; None if there is none."""
    try:
        frame = spark.table(name)
        frame.schema  # noqa: B018 - Connect looks for it only now
    except PySparkException:
        return None
    return frame


def make_view(frame: Any, name: str) -> None:
    """Let a session know a DataFrame by a name."""
    frame.createOrReplaceTempView("`" + name.replace("`", "``") + "`")
