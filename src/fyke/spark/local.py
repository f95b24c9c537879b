"""Spark on this machine, for programs that start it themselves: the demo and the command line."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FrameType
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from fyke.errors import FykeError, SparkError
from fyke.spark.session import is_connect

_NO_JAVA = "JAVA_GATEWAY_EXITED"
_NO_SOURCE = ("DATA_SOURCE_NOT_FOUND", "KAFKA_DATA_SOURCE_NOT_ENABLED")
_CONDITION = re.compile(r"\[[A-Z][A-Z_.]+\] ")
_ENDING = 10.0  # seconds
_STRICT = {"csv": {"header": "true", "mode": "FAILFAST"}, "json": {"mode": "FAILFAST"}}


@contextlib.contextmanager
def quiet_errors() -> Iterator[None]:
    """Send what a starting JVM writes to standard error into a file, and show it only if the start fails."""
    with tempfile.TemporaryFile() as log:
        sys.stderr.flush()
        saved = os.dup(2)
        os.dup2(log.fileno(), 2)
        try:
            yield
        except BaseException:
            log.seek(0)
            os.write(saved, log.read())
            raise
        finally:
            os.dup2(saved, 2)
            os.close(saved)


def start_spark(name: str, settings: Mapping[str, str] | None = None) -> SparkSession:
    """Start Spark on all cores of this machine, or where ``settings`` say."""
    builder = SparkSession.builder.appName(name)
    chosen = {
        "spark.master": "local[*]",
        "spark.log.level": "ERROR",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1)),
        **(settings or {}),
    }
    if "spark.remote" in chosen:  # a server has been started with settings of its own
        builder = builder.remote(chosen["spark.remote"])
        chosen = dict(settings or {})
        del chosen["spark.remote"]
    for key, value in chosen.items():
        builder = builder.config(key, value)
    with quiet_errors():
        spark: SparkSession = builder.getOrCreate()
        return spark


def start_quietly(name: str, settings: Mapping[str, str] | None = None) -> SparkSession:
    """Start Spark as :func:`start_spark` does; if it does not start, say why in one line.

    Raises
    ------
    SparkError
    """
    with tempfile.TemporaryFile() as log, _standard_error_to(log.fileno()):
        try:
            spark = start_spark(name, settings)
            _end_on_interrupts()
            return spark
        except (PySparkException, OSError, ValueError) as error:
            no_java = isinstance(error, PySparkException) and error.getCondition() == _NO_JAVA
            if no_java or isinstance(error, FileNotFoundError):
                log.seek(0)
                told = [line for line in log.read().decode(errors="replace").splitlines() if line.strip()]
                raise SparkError(
                    "Spark did not start: it needs Java 17 or newer"
                    + (f", and says {told[-1].strip()!r:.120}" if told else ""),
                    remedy="Install an OpenJDK 17, or set JAVA_HOME to the folder that holds its bin/java.",
                ) from error
            raise SparkError(f"Spark did not start: {str(error).strip().splitlines()[0]}") from error


def _end_on_interrupts() -> None:
    """Let Ctrl-C end this program with its exit code, as a termination does.

    What pyspark does instead calls the JVM on the connection on which the interrupted call still waits, and
    fails; and of a KeyboardInterrupt py4j logs a page.
    """

    def end(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, end)


@contextlib.contextmanager
def _standard_error_to(file: int) -> Iterator[None]:
    sys.stderr.flush()
    saved = os.dup(2)
    os.dup2(file, 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)


def read_frame(
    spark: SparkSession,
    kind: str,
    paths: Sequence[str],
    *,
    columns: pa.Schema | str | None = None,
    options: Mapping[str, str] | None = None,
    stream: bool = False,
) -> DataFrame:
    """Return events of any format that Spark reads, as a batch or as a stream.

    ``columns`` are those that files have, as Arrow or Spark writes them.  What comes from Kafka is
    JSON of these columns, in ``value``.

    Raises
    ------
    SparkError
        If Spark has no connector for the format, or cannot read.
    """
    given = {**_STRICT.get(kind, {}), **(options or {})}
    fields = (
        from_arrow_schema(columns, prefer_timestamp_ntz=True) if isinstance(columns, pa.Schema) else columns
    )
    if kind == "kafka" and fields is None:
        raise SparkError(
            "what comes from Kafka has no columns that are known before",
            remedy='Name them, as in "ts timestamp, kind string, user string".',
        )
    try:
        frame = _loaded(spark, kind, paths, None if kind == "kafka" else fields, given, stream)
        if kind == "kafka" and fields is not None:
            frame = frame.select(F.from_json(F.col("value").cast("string"), fields).alias("event"))
            frame = frame.select("event.*")
        frame.schema  # noqa: B018 - Connect looks for it only now
    except (PySparkException, Py4JJavaError) as error:
        said = str(error).strip().splitlines()[0]
        if (missing := no_connector(error, kind)) is not None:
            raise missing from error
        raise SparkError(f"Spark cannot read {kind} from {', '.join(paths)}: {said}") from error
    return frame


def no_connector(error: Exception, kind: str) -> SparkError | None:
    """Return what to say if an exception of Spark is about a format that it has no connector for."""
    if not any(each in str(error) for each in _NO_SOURCE):
        return None
    return SparkError(
        f"Spark has no connector for {kind!r}",
        remedy="Name its package, as in --conf spark.jars.packages=group:artifact:version.",
    )


def _loaded(
    spark: SparkSession,
    kind: str,
    paths: Sequence[str],
    fields: StructType | str | None,
    options: Mapping[str, str],
    stream: bool,
) -> DataFrame:
    if not stream:
        reader = spark.read.format(kind).options(**options)
        return (reader if fields is None else reader.schema(fields)).load(list(paths))
    if len(paths) > 1:
        raise SparkError(
            f"a stream of files is one folder, found {len(paths)} paths",
            remedy="Name the folder that the files come to.",
        )
    follower = spark.readStream.format(kind).options(**options)
    follower = follower if fields is None else follower.schema(fields)
    return follower.load(paths[0]) if paths else follower.load()


def cancel_jobs(spark: SparkSession) -> None:
    """Cancel all that a session runs, and wait for its tasks, which end a moment later; for some seconds."""
    # Each thread has a connection to the JVM, and that of this thread still waits for what was interrupted.
    canceller = threading.Thread(target=_cancel_and_wait, args=(spark,), daemon=True)
    canceller.start()
    canceller.join(_ENDING)


def _cancel_and_wait(spark: SparkSession) -> None:
    if is_connect(spark):
        spark.interruptAll()
        return
    context = spark.sparkContext
    context.cancelAllJobs()
    tracker: Any = context._jsc.sc().statusTracker()  # Python's own does not tell of tasks
    while any(each.numRunningTasks() for each in tracker.getExecutorInfos()):
        time.sleep(0.05)


def running_tasks() -> tuple[int, int]:
    """Return how many tasks of running stages have ended, and how many there are; of a server nothing."""
    context = SparkContext._active_spark_context
    if context is None:
        return 0, 0
    tracker = context.statusTracker()
    stages = [stage for each in tracker.getActiveStageIds() if (stage := tracker.getStageInfo(each))]
    return sum(stage.numCompletedTasks for stage in stages), sum(stage.numTasks for stage in stages)


def counting_rows(frame: DataFrame) -> tuple[DataFrame, Callable[[], int]]:
    """Return the same rows, and what says how many there were once an action has read them."""
    seen = Observation()
    return frame.observe(seen, F.count(F.lit(1)).alias("rows")), lambda: int(seen.get["rows"])


def spark_says(error: BaseException) -> FykeError | None:
    """Return an exception of Spark as an error of one line; None if it is none of Spark's."""
    if not isinstance(error, (PySparkException, Py4JJavaError)):
        return None
    stack = getattr(error, "_stackTrace", None) or ""  # where a failed stream keeps its cause
    lines = [line.strip() for line in f"{error}\n{stack}".splitlines() if line.strip()]
    named = [line[found[-1].start() :] for line in lines if (found := [*_CONDITION.finditer(line)])]
    return SparkError(f"Spark says: {(named or lines or [type(error).__name__])[-1 if named else 0]}")
