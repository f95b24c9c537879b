"""What Spark's Python workers need: the driver's interpreter, and this package."""

from __future__ import annotations

import os
import sys
import tempfile
import weakref
import zipfile
from pathlib import Path

import pyspark.sql.connect.session
from pyspark.sql import SparkSession

_PACKAGE = Path(__file__).resolve().parents[1]
_shipped: weakref.WeakSet[SparkSession] = weakref.WeakSet()


def prefer_own_interpreter() -> None:
    """Let sessions that are started from now on run workers with this interpreter, unless the user chose one."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


def is_connect(spark: SparkSession) -> bool:
    """Say whether a session talks to a Spark Connect server."""
    return isinstance(spark, pyspark.sql.connect.session.SparkSession)


def arrange_workers(spark: SparkSession) -> None:
    """Make sure that the workers of a session can run Fyke's functions.

    On one machine they get the driver's interpreter.  On a cluster, and behind Connect, this package
    is shipped to them once a session; its dependencies (numba, pyarrow) must be installed there.
    """
    if spark in _shipped:
        return
    _shipped.add(spark)
    local = False
    if not is_connect(spark):
        context = spark.sparkContext
        local = context.master.startswith("local") and not context.master.startswith("local-cluster")
        if local and context.pythonExec == "python3":
            # The session was started before Fyke was imported, and nobody chose an interpreter.
            context.pythonExec = sys.executable
    elif os.environ.get("SPARK_LOCAL_REMOTE") or spark.conf.get("spark.master", "").startswith("local["):
        local = True
    if not local:
        spark.addArtifacts(str(package_archive()), pyfile=True)


def package_archive() -> Path:
    """Write this package as a zip file that workers can import from, and return its path."""
    target = Path(tempfile.mkdtemp(prefix="fyke-")) / "fyke.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(_PACKAGE.rglob("*")):
            if path.suffix in (".py", ".lark", ".typed"):
                archive.write(path, Path("fyke") / path.relative_to(_PACKAGE))
    return target
