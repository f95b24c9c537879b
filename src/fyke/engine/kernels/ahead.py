"""One wait: while the first query compiles its kernels, another process compiles those of all others.

That process has the lowest priority, outlives this one, and is there once per user and folder of kernels.
A thread waits for its end, so that it leaves no zombie, and the logger ``fyke`` tells whether it failed.
``FYKE_COMPILE_AHEAD=0`` keeps it away.  Workers of Spark start none: their memory and processors are counted
by whoever runs the cluster, where ``fyke.warm_up()`` belongs into the image.
"""

from __future__ import annotations

import functools
import logging
import os
import subprocess
import sys
import threading
from pathlib import Path

from fyke.engine.kernels.cache import CACHE_DIR, writable_folder

SWITCH = "FYKE_COMPILE_AHEAD"
WATCHER = "fyke-compile-ahead"  # the name of the thread that waits for the process
_COMMAND = "from fyke.engine.warm_up import compile_in_background; compile_in_background()"
_log = logging.getLogger("fyke")


@functools.cache
def compile_the_others() -> bool:
    """Start the process that compiles all kernels, unless it is not wanted; say whether it was started."""
    folder = writable_folder()
    if os.environ.get(SWITCH) == "0" or folder is None or _is_worker_of_spark() or not _is_python():
        return False
    try:
        process = subprocess.Popen(
            [sys.executable, "-c", _COMMAND],
            cwd=folder,  # Python looks for modules here first, so it must be a folder of this user
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        _log.debug("No kernels are compiled in the background: %s", error)
        return False
    threading.Thread(target=_watch, args=(process,), name=WATCHER, daemon=True).start()
    return True


def _watch(process: subprocess.Popen[bytes]) -> None:
    """Wait for the process, and tell the log how it ended."""
    lines = process.communicate()[1].decode(errors="replace").strip().splitlines()
    if process.returncode == 0:
        _log.debug("The process in the background has ended: the kernels are compiled.")
    else:
        _log.warning(
            "Compiling kernels in the background failed with status %d%s. Queries compile what they need; "
            "fyke.warm_up() compiles all of them and shows what is wrong.",
            process.returncode,
            f" ({lines[-1]})" if lines else "",
        )


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
