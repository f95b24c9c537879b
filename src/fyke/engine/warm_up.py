"""Compiling every kernel ahead, for images and nodes of a cluster."""

from __future__ import annotations

import os

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from fyke.engine.kernels.ahead import compile_the_others
from fyke.engine.kernels.cache import alone
from fyke.engine.kernels.jit import ENTRIES


def warm_up(*, progress: bool = True) -> None:
    """Compile all kernels for this machine, or load those that have been compiled before.

    Otherwise the first query that needs a kernel waits for it.  Call this when an image is built or a node
    starts, as the user who will run queries, or with ``NUMBA_CACHE_DIR`` naming a folder that this user may
    read.  ``progress=False`` shows nothing.
    """
    columns = (
        TextColumn("Compiling the kernels of Fyke"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, disable=not progress, transient=True) as bar:
        for kernel in bar.track(ENTRIES):
            kernel.compile(announced=True)


def compile_for_workers() -> None:
    """Let all kernels be compiled in the background if any is missing: workers on this machine need them."""
    if not all(kernel.compiled or kernel.is_on_disk() for kernel in ENTRIES):
        compile_the_others()


def compile_in_background() -> None:
    """Compile all kernels with the lowest priority, unless another process is doing that."""
    if hasattr(os, "nice"):
        os.nice(19)
    with alone("ahead.lock") as is_alone:
        # The query that started this process compiles the first ones itself: begin with the last.
        for kernel in reversed(ENTRIES) if is_alone else ():
            kernel.compile(announced=True, background=True)
