"""Where a report comes from: the machine, and the versions of all that was measured."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import subprocess
from pathlib import Path

PACKAGES = ("fyke", "numba", "numpy", "pyarrow", "pyspark", "duckdb")


def describe() -> dict[str, str]:
    """Return what a reader must know to judge the figures, by name."""
    return {
        "processor": _processor(),
        "cores": f"{len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count()}",
        "memory": _memory(),
        "system": f"{platform.system()} {platform.release()}",
        "Python": platform.python_version(),
        "Java": _java(),
        **{name: _version(name) for name in PACKAGES},
        "commit": _commit(),
    }


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _memory() -> str:
    try:
        return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"
    except (AttributeError, OSError, ValueError):
        return "unknown"


def _java() -> str:
    java = shutil.which("java")
    if java is None:
        return "none"
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    return said.splitlines()[0] if said else "unknown"


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _commit() -> str:
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return "unknown"
    return found.stdout.strip() or "unknown"
