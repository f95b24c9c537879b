"""Peers that are no dependencies of Fyke: fetched once into ``build/peers``, in fixed versions."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from bench.report import CannotRun

FOLDER = Path(__file__).parent.parent / "build" / "peers"
PATIENCE = 900  # seconds for a download


def fetched(name: str, requirement: str) -> Path:
    """Return the folder that holds a package, which pip installs there if need be."""
    folder = FOLDER / name
    stamp = folder / "installed"
    if stamp.exists() and stamp.read_text() == requirement:
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder)]
    try:
        done = subprocess.run(
            [*command, requirement], capture_output=True, text=True, check=False, timeout=PATIENCE
        )
    except subprocess.TimeoutExpired:
        raise CannotRun(f"pip took more than {PATIENCE} seconds to install {requirement}") from None
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip() or "no reason given").splitlines()
        raise CannotRun(f"pip could not install {requirement}: {said[-1]}")
    stamp.write_text(requirement)
    return folder


def program(name: str) -> str:
    """Return the path of a program that must be there."""
    found = shutil.which(name)
    if found is None:
        raise CannotRun(f"there is no {name} on the PATH")
    return found
