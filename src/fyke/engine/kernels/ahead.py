"""One wait: while the first query compiles its kernels, another process compiles those of all others.

That process has the lowest priority, outlives this one, and is there once per user and folder of kernels.
``FYKE_COMPILE_AHEAD=0`` keeps it away.  Workers of Spark start none: their memory and processors are counted
by whoever runs the cluster, where ``fyke.warm_up()`` belongs into the image.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from pathlib import Path

from fyke.engine.kernels.cache import CACHE_DIR, writable_folder

SWITCH = "FYKE_COMPILE_AHEAD"
_COMMAND = "from fyke.engine.warm_up import compile_behind_others; compile_behind_others()"
_started: list[subprocess.Popen[bytes]] = []  # kept, so that nobody takes the process for forgotten


@functools.cache
def compile_the_others() -> bool:
    """Start the process that compiles all kernels, unless it is not wanted; say whether it was started."""
    folder = writable_folder()
    if os.environ.get(SWITCH) == "0" or folder is None or _is_worker_of_spark() or not _is_python():
        return False
    try:
        _started.append(
            subprocess.Popen(
                [sys.executable, "-c", _COMMAND],
                cwd=folder,  # Python looks for modules here first, so it must be a folder of this user
                env=_environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        )
    except OSError:
        return False
    return True


def _environment() -> dict[str, str]:
    """Return this process' environment for one that starts in another folder."""
    changed = {SWITCH: "0", "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}
    if given := os.environ.get(CACHE_DIR):
        changed[CACHE_DIR] = os.path.abspath(given)
    return {**os.environ, **changed}


def _is_worker_of_spark() -> bool:
    main = getattr(sys.modules["__main__"], "__spec__", None)
    return "pyspark.worker" in sys.modules or getattr(main, "name", "") == "pyspark.worker"


def _is_python() -> bool:
    """Say whether the running program is an interpreter, and not one that embeds it."""
    return Path(sys.executable or "").stem.lower().startswith(("python", "pypy"))
