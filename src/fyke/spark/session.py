"""What Spark's Python workers need: the driver's interpreter, and this package."""

from __future__ import annotations

import os
import sys
import tempfile
import weakref
import zipfile
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from fyke.engine.warm_up import compile_for_workers
from fyke.errors import InputError, StreamError, shown
from fyke.spark.worker_errors import bring_errors_back, hush_workers

_IN_PIPELINE = "ATTEMPT_ANALYSIS_IN_PIPELINE_QUERY_FUNCTION"
_PACKAGE = Path(__file__).resolve().parents[1]
_shipped: weakref.WeakSet[SparkSession] = weakref.WeakSet()


def prefer_own_interpreter() -> None:
    """Make sessions started from now on run workers with this interpreter, unless the user chose one."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


def is_frame(thing: object) -> bool:
    """Say whether something is a Spark DataFrame, classic or Connect."""
    return isinstance(thing, DataFrame)


def is_streaming(frame: DataFrame) -> bool:
    """Say whether a DataFrame is a stream.

    Raises
    ------
    StreamError
        If Spark does not say so: inside the functions of a declarative pipeline nothing is analysed.
    """
    try:
        return frame.isStreaming
    except PySparkException as error:
        if error.getCondition() != _IN_PIPELINE:
            raise
        raise StreamError(
            "Spark analyses no DataFrame inside a function of a pipeline, and a pattern needs its columns",
            remedy="Call Fyke above the function, and let the function return what that returned.",
        ) from None


def view(name: str) -> DataFrame | None:
    """Return the table or view of a name in the session that is there; None if there is no session.

    Raises
    ------
    InputError
        If the session has no such view.
    """
    session = SparkSession.getActiveSession()
    if session is None:
        return None
    try:
        frame = session.table(name)
        frame.schema  # noqa: B018 - Connect looks for it only now
    except PySparkException as error:
        raise InputError(
            f"the Spark session has no view or table {shown(name)}",
            remedy=f"It says: {str(error).splitlines()[0]}",
        ) from None
    return frame


def is_connect(spark: SparkSession) -> bool:
    """Say whether a session talks to a Spark Connect server."""
    # By name: the class can be imported only where Connect's own dependencies are installed.
    return type(spark).__module__.startswith("pyspark.sql.connect.")


def arrange_workers(spark: SparkSession) -> None:
    """Make sure that the workers of a session can run Fyke's functions.

    On one machine they get the driver's interpreter.  On a cluster, and behind Connect, this package
    is shipped to them once a session; its dependencies (numba, pyarrow) must be installed there.
    """
    bring_errors_back()
    if spark in _shipped:
        return
    if _is_local(spark):
        hush_workers()
        compile_for_workers()
    else:
        spark.addArtifacts(str(package_archive()), pyfile=True)
    _shipped.add(spark)


def _is_local(spark: SparkSession) -> bool:
    """Say whether the workers run on this machine; then let them have this interpreter."""
    if is_connect(spark):
        # Set by pyspark where it has started the server itself, with this process' environment.
        return "SPARK_LOCAL_REMOTE" in os.environ
    context = spark.sparkContext
    master = context.master or ""
    if not master.startswith("local") or master.startswith("local-cluster"):
        return False
    if context.pythonExec == "python3":
        # The session was started before Fyke was imported, and nobody chose an interpreter.
        context.pythonExec = sys.executable
    return True


def package_archive() -> Path:
    """Write this package as a zip file that workers can import from, and return its path."""
    target = Path(tempfile.mkdtemp(prefix="fyke-")) / "fyke.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(_PACKAGE.rglob("*")):
            if path.suffix in (".py", ".lark", ".typed"):
                archive.write(path, Path("fyke") / path.relative_to(_PACKAGE))
    return target
