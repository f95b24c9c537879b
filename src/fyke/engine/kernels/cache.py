"""Compiled kernels on disk: one file a kernel, good for certain sources, versions and processors.

A file is written beside its name and then renamed, and carries a checksum: whatever happens to other
processes, a file is whole or it is not used.  What cannot be read is compiled anew, what cannot be written
here is written elsewhere, at last nowhere; the logger ``fyke`` says so once.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import logging
import os
import pickle
import platform
import stat
import sys
import tempfile
import threading
import time
import uuid
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import llvmlite
import numba
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows: processes may compile the same kernel at the same time
    fcntl = None  # type: ignore[assignment]

CACHE_DIR = "NUMBA_CACHE_DIR"  # the setting that Numba has
SHIPPED = Path(__file__).parent / "compiled"  # what a wheel brings along
_MAGIC = b"fyke kernel 1\n"
_PATIENCE = 120.0  # seconds to wait for another process that compiles
_log = logging.getLogger("fyke")


@functools.cache
def say_once(text: str) -> None:
    """Tell the user something, once a process."""
    _log.warning(text)


# --- folders --------------------------------------------------------------------------------------


def _user_folder() -> Path:
    """Return the folder for caches of this user; there may be no home."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "fyke" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "fyke"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fyke"


def _candidates() -> Iterator[Path]:
    """Yield folders in the order in which they are tried: a given one, beside the sources, the user's."""
    if given := os.environ.get(CACHE_DIR):
        yield Path(given) / "fyke"
    else:
        yield Path(__file__).parent / "__pycache__"
        with contextlib.suppress(RuntimeError, KeyError):
            yield _user_folder()


def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _private_folder() -> Path | None:
    """Return a folder of this user alone in the temporary one, the same for all processes if that can be."""
    if not hasattr(os, "getuid"):  # pragma: no cover - Windows has a temporary folder for each user
        return Path(tempfile.gettempdir()) / "fyke"
    path = Path(tempfile.gettempdir()) / f"fyke-{os.getuid()}"
    try:
        with contextlib.suppress(FileExistsError):
            path.mkdir(mode=0o700)
        found = path.lstat()
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077:
            return path
        return Path(tempfile.mkdtemp(prefix="fyke-"))
    except OSError:
        return None


@functools.cache
def writable_folder() -> Path | None:
    """Return the folder that compiled kernels are written to, if there is any."""
    tried = list(_candidates())
    for folder in tried:
        if _is_writable(folder):
            return folder
    private = _private_folder()
    where = " or ".join(map(str, tried))
    if private is not None and _is_writable(private):
        say_once(f"Fyke cannot write compiled kernels to {where}; they are kept in {private}.")
        return private
    say_once(
        f"Fyke cannot write compiled kernels to {where}, nor to a temporary folder: every process compiles "
        f"them anew. Let {CACHE_DIR} name a folder that can be written to."
    )
    return None


def _readable_folders() -> Iterator[Path]:
    seen = [SHIPPED, *_candidates()]
    yield from seen
    folder = writable_folder()
    if folder is not None and folder not in seen:
        yield folder


# --- files ----------------------------------------------------------------------------------------


def _is_trusted(status: os.stat_result) -> bool:
    """Say whether a file is of this user, of root, or of whom Fyke itself belongs to: loading it runs it."""
    if not hasattr(os, "getuid"):  # pragma: no cover - Windows
        return True
    trusted = {os.getuid(), 0}
    with contextlib.suppress(OSError):  # Fyke may lie in an archive
        trusted.add(os.stat(__file__).st_uid)
    return stat.S_ISREG(status.st_mode) and status.st_uid in trusted


def _read(path: Path) -> bytes | None:
    """Return what stands in a file; None if it is not there, damaged, or of another user."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    try:
        with open(path, "rb", opener=lambda name, _: os.open(name, flags)) as file:
            if not _is_trusted(os.fstat(file.fileno())):
                say_once(
                    f"{path} belongs to another user; Fyke does not load it and compiles that kernel anew."
                )
                return None
            text = file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        say_once(f"Fyke cannot read {path} ({error.strerror}); that kernel is compiled anew.")
        return None
    head = len(_MAGIC) + hashlib.sha256().digest_size
    if text[: len(_MAGIC)] != _MAGIC or text[len(_MAGIC) : head] != hashlib.sha256(text[head:]).digest():
        say_once(f"{path} is damaged; that kernel is compiled anew.")
        return None
    return text[head:]


def _write(path: Path, payload: bytes) -> None:
    """Write a file as a whole, or not at all."""
    beside = path.with_name(f"{path.name}.{uuid.uuid4().hex[:12]}")
    try:
        with beside.open("xb") as file:
            file.write(_MAGIC + hashlib.sha256(payload).digest() + payload)
        beside.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            beside.unlink()
        say_once(f"Fyke cannot write {path} ({error.strerror}); that kernel will be compiled again.")


# --- kernels --------------------------------------------------------------------------------------


class KernelCache:
    """The cache of one kernel, as a dispatcher of Numba wants it.

    ``sources`` returns a digest of all that can be compiled into the kernel.
    """

    cache_path = None

    def __init__(self, name: str, sources: Callable[[], str]) -> None:
        self.name, self._sources = name, sources

    def _file(self, signature: Any, codegen: Any) -> str:
        """Return the name of a file: with everything that a compiled kernel depends on."""
        versions = (numba.__version__, llvmlite.__version__, sys.implementation.cache_tag, platform.machine())
        made = (*versions, *map(str, codegen.magic_tuple()), str(signature), self._sources())
        digest = hashlib.blake2b("\0".join(made).encode(), digest_size=16).hexdigest()
        return f"{self.name}-{digest}.kernel"

    def is_there(self, signature: Any, target_context: Any) -> bool:
        """Say whether there is a file for it."""
        name = self._file(signature, target_context.codegen())
        return any((folder / name).exists() for folder in _readable_folders())

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return a compiled kernel, or None."""
        target_context.refresh()
        name = self._file(signature, target_context.codegen())
        for folder in _readable_folders():
            payload = _read(folder / name)
            if payload is not None:
                try:
                    return CompileResult._rebuild(target_context, *pickle.loads(payload))
                except Exception as error:
                    say_once(f"{folder / name} cannot be loaded ({error}); that kernel is compiled anew.")
        return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Write a compiled kernel."""
        folder = writable_folder()
        if folder is not None:
            _write(folder / self._file(signature, compiled.codegen), dumps(compiled._reduce()))

    def flush(self) -> None:
        """Do nothing: what is not current is not found."""


# --- one at a time --------------------------------------------------------------------------------

_threads, _depth = threading.RLock(), [0]


@contextlib.contextmanager
def compile_lock(kernel: str) -> Iterator[None]:
    """Let one process at a time compile a kernel, so that the others find it compiled.

    It only saves work: where there can be no lock, or its owner takes too long, one goes on without it.
    """
    with _threads:
        _depth[0] += 1
        try:
            if _depth[0] > 1 or fcntl is None or (folder := writable_folder()) is None:
                yield
            else:
                with _locked(folder / "compile.lock", kernel):
                    yield
        finally:
            _depth[0] -= 1


@contextlib.contextmanager
def _locked(path: Path, kernel: str) -> Iterator[None]:
    handle = _opened(path)
    try:
        if handle is not None:
            _wait_for(handle, zlib.crc32(kernel.encode()))
        yield
    finally:
        if handle is not None:
            os.close(handle)  # and with it the lock


def _opened(path: Path) -> int | None:
    """Open a file to lock it; None if it is another user's, or a link."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        return os.open(path, flags, 0o600)
    except OSError:
        return None


def _wait_for(handle: int, byte: int) -> None:
    """Wait until no other process has locked a byte of the file, which need not be there."""
    until, pause = time.monotonic() + _PATIENCE, 0.001
    while time.monotonic() < until:
        if _may_go_on(handle, byte):
            return
        time.sleep(pause)
        pause = min(2 * pause, 0.1)


def _may_go_on(handle: int, byte: int) -> bool:
    """Lock a byte of a file unless another process has; on a file system without locks all may go on."""
    try:
        fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
    except OSError as error:
        return error.errno not in (errno.EACCES, errno.EAGAIN)  # POSIX lets a system say either
    return True


@contextlib.contextmanager
def alone(name: str) -> Iterator[bool]:
    """Say whether no other process has the lock of this name, and keep it meanwhile.

    Without a folder, or with a file of another user in its place, it cannot be had.  Where there are no
    locks, every process is told that it is alone.
    """
    folder = writable_folder()
    handle = None if folder is None else _opened(folder / name)
    try:
        yield handle is not None and (fcntl is None or _may_go_on(handle, 0))
    finally:
        if handle is not None:
            os.close(handle)
