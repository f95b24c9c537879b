"""Compiling every kernel ahead, for images and nodes of a cluster."""

from __future__ import annotations

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

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
