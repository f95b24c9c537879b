"""What a fresh machine waits for: the first match of a simple query, and all kernels ahead of any query.

These are seconds, not ratios: nothing else on the machine does the same work.  What counts is the processor's
time, since compiling takes one core, and other programs must not count.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

from bench.report import Line, show

FIRST_MATCH, ALL_KERNELS = 10.0, 40.0  # seconds, on two cores

_TIMED = """
import json, time
import pyarrow as pa
import fyke
events = pa.table({"t": [1, 2], "kind": ["A", "B"]})
wall, cpu = time.perf_counter(), time.process_time()
%s
print(json.dumps([time.perf_counter() - wall, time.process_time() - cpu]))
"""
_MATCH = _TIMED % 'fyke.match(events, "PATTERN SEQ(A a, B b)", time="t", type="kind")'
_AND_OTHERS = """
import threading
from fyke.engine.kernels.ahead import WATCHER
for thread in threading.enumerate():
    if thread.name == WATCHER:
        thread.join()
"""
_WARM_UP = _TIMED % "fyke.warm_up(progress=False)"


def seconds(script: str, folder: str) -> tuple[float, float]:
    """Run a script in a fresh interpreter; return its seconds by the clock, and of the processor.

    Kernels are kept in ``folder``.
    """
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "NUMBA_CACHE_DIR": folder},
        capture_output=True,
        text=True,
        check=True,
    )
    wall, cpu = json.loads(done.stdout.splitlines()[0])
    return wall, cpu


def main() -> bool:
    """Run the benchmark; return whether every bar holds."""
    lines = []
    with tempfile.TemporaryDirectory(prefix="bench-") as first, tempfile.TemporaryDirectory() as other:
        for what, script, folder, bar in (
            ("first match of a simple query, nothing compiled", _MATCH + _AND_OTHERS, first, FIRST_MATCH),
            ("first match in a second process, kernels on disk", _MATCH, first, None),
            ("warm_up(): all kernels, nothing compiled", _WARM_UP, other, ALL_KERNELS),
        ):
            wall, cpu = seconds(script, folder)
            lines.append(Line(what, cpu, bar, "s", f"{wall:.1f} s by the clock"))
    return show("compiling", lines)
