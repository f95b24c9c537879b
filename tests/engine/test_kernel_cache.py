"""Compiled kernels on disk: found again, and never in the way, whatever happens to the files."""

from __future__ import annotations

import errno
import logging
import os
import signal
import stat
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import fyke
from fyke.engine import warm_up
from fyke.engine.kernels import ahead, cache, jit
from fyke.engine.kernels.input.sorting import is_identity
from fyke.engine.kernels.jit import ENTRIES, seconds_compiling
from fyke.engine.kernels.modes import ENABLED

pytestmark = pytest.mark.skipif(not ENABLED, reason="FYKE_JIT=0: nothing is compiled")

# A package without its __init__: kernels need nothing of what that imports, and many interpreters start here.
KERNELS_ONLY = f"""
import sys, types
sys.modules["fyke"] = package = types.ModuleType("fyke")
package.__path__ = {list(fyke.__path__)!r}
"""
USE = """
import numpy as np
from fyke.engine.kernels.input.sorting import is_identity
print(is_identity(np.arange(5)), is_identity(np.array([1, 0])))
"""

LOGGED = """
import logging
logging.basicConfig(format="%(message)s")
logging.getLogger("fyke").setLevel("DEBUG")
"""
WATCHED = """
import os, threading
from fyke.engine.kernels.ahead import WATCHER
for thread in threading.enumerate():
    if thread.name == WATCHER:
        thread.join(timeout=300)
try:
    print(os.waitpid(-1, os.WNOHANG))
except ChildProcessError:
    print("no child is left")
"""


def start(script: str, folder: Path | None, **environment: str | None) -> subprocess.Popen[str]:
    """Start a script in a fresh interpreter whose kernels lie in a folder."""
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **environment}
    if folder is not None:
        variables["NUMBA_CACHE_DIR"] = str(folder)
    return subprocess.Popen(
        [sys.executable, "-c", script],
        env={name: value for name, value in variables.items() if value is not None},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(process: subprocess.Popen[str]) -> tuple[list[str], str]:
    """Wait for a script; return what it printed and what was said."""
    with process:
        printed, said = process.communicate(timeout=600)
    assert process.returncode == 0, said
    return printed.splitlines(), said


def use(folder: Path | None, before: str = "", **environment: str | None) -> str:
    """Call a kernel in a fresh interpreter, see that it is right, and return what was said."""
    printed, said = finished(start(KERNELS_ONLY + textwrap.dedent(before) + USE, folder, **environment))
    assert printed == ["True False"], said
    return said


def kernels(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.kernel"))


# --- a good cache ---------------------------------------------------------------------------------


def test_the_first_call_says_that_it_compiles_and_the_second_finds_it(tmp_path: Path) -> None:
    said = use(tmp_path)
    assert said.splitlines() == [
        "Fyke compiles its kernels for this machine, which takes some seconds and is kept for the next time. "
        "Queries of other kinds may need more of them; fyke.warm_up() compiles all of them ahead."
    ]
    (file,) = kernels(tmp_path)
    written = file.stat().st_mtime_ns
    assert use(tmp_path) == ""
    assert file.stat().st_mtime_ns == written


def test_one_message_for_all_kernels_of_a_call(tmp_path: Path) -> None:
    script = """
    import logging, pyarrow as pa, fyke
    table = pa.table({"t": [1, 2], "kind": ["A", "B"]})
    said = []
    logging.getLogger("fyke").addHandler(handler := logging.Handler())
    handler.emit = lambda record: said.append(record.getMessage())
    print(fyke.match(table, "PATTERN SEQ(A a, B b)", time="t", type="kind").num_rows, len(said))
    """
    printed, said = finished(start(textwrap.dedent(script), tmp_path))
    assert printed == ["1 1"], said
    assert len(kernels(tmp_path)) > 5


def test_kernels_that_come_with_the_package_are_used(tmp_path: Path) -> None:
    use(tmp_path / "built")
    (file,) = kernels(tmp_path / "built")
    before = f"""
    from pathlib import Path
    from fyke.engine.kernels import cache, jit
    cache.SHIPPED = Path({str(file.parent)!r})
    """
    assert use(tmp_path / "own", before) == ""
    assert kernels(tmp_path / "own") == []


def test_two_processes_at_once_leave_one_good_file(tmp_path: Path) -> None:
    both = [start(KERNELS_ONLY + USE, tmp_path) for _ in range(2)]
    assert [finished(process)[0] for process in both] == [["True False"]] * 2
    assert len(kernels(tmp_path)) == 1
    assert use(tmp_path) == ""


def test_a_killed_process_leaves_the_lock_to_the_next(tmp_path: Path) -> None:
    before = """
    import time
    from fyke.engine.kernels import linking
    linking._Compiler.compile_extra = lambda self, function: time.sleep(1000)
    """
    stuck = start(KERNELS_ONLY + textwrap.dedent(before) + USE, tmp_path)
    lock = tmp_path / "fyke" / "compile.lock"
    until = time.monotonic() + 120
    while not lock.exists() and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(0.5)
    assert stuck.poll() is None
    (lock.parent / "half-written.kernel.0123456789ab").write_bytes(b"fyke")
    with stuck:
        stuck.send_signal(signal.SIGKILL)
        stuck.communicate(timeout=60)
    use(tmp_path)
    assert use(tmp_path) == ""


# --- one wait -------------------------------------------------------------------------------------


def test_the_first_kernel_starts_the_process_that_compiles_the_others(tmp_path: Path) -> None:
    before = """
    from fyke.engine.kernels import ahead
    ahead._COMMAND = "import fyke.limits; open('started', 'w').close()"
    """
    script = KERNELS_ONLY + LOGGED + textwrap.dedent(before) + USE + WATCHED
    printed, said = finished(start(script, tmp_path, FYKE_COMPILE_AHEAD="1"))
    assert printed == ["True False", "no child is left"], said
    assert "compiled in the background; fyke.warm_up() compiles all of them ahead." in said
    assert "has ended: the kernels are compiled" in said
    assert (tmp_path / "fyke" / "started").exists()  # it can import what this process can


def test_the_process_in_the_background_outlives_the_one_that_started_it(tmp_path: Path) -> None:
    before = """
    from fyke.engine.kernels import ahead
    ahead._COMMAND = "import time; time.sleep(3); print('late', file=open('ended', 'w'))"
    """
    script = KERNELS_ONLY + textwrap.dedent(before) + USE
    printed, said = finished(start(script, tmp_path, FYKE_COMPILE_AHEAD="1"))
    assert printed == ["True False"], said
    assert len(said.splitlines()) == 1
    ended = tmp_path / "fyke" / "ended"
    assert not ended.exists()
    until = time.monotonic() + 60
    while not ended.exists() and time.monotonic() < until:
        time.sleep(0.1)
    assert ended.exists()


@pytest.mark.parametrize(
    "command, told",
    [
        ("import sys; sys.exit('no room is left')", "with status 1 (no room is left). Queries compile"),
        ("import os; os.kill(os.getpid(), 9)", "with status -9. Queries compile"),
    ],
)
def test_a_failure_in_the_background_is_logged(tmp_path: Path, command: str, told: str) -> None:
    before = f"""
    from fyke.engine.kernels import ahead
    ahead._COMMAND = {command!r}
    """
    script = KERNELS_ONLY + textwrap.dedent(before) + USE + WATCHED
    printed, said = finished(start(script, tmp_path, FYKE_COMPILE_AHEAD="1"))
    assert printed == ["True False", "no child is left"], said
    assert f"Compiling kernels in the background failed {told}" in said
    assert "fyke.warm_up() compiles all of them and shows what is wrong." in said


@pytest.mark.long
def test_the_first_query_has_all_other_kernels_compiled_in_the_background(tmp_path: Path) -> None:
    script = """
    import pyarrow as pa, fyke
    table = pa.table({"t": [1, 2], "kind": ["A", "B"]})
    print(fyke.match(table, "PATTERN SEQ(A a, B b)", time="t", type="kind").num_rows)
    """
    printed, said = finished(start(textwrap.dedent(script) + WATCHED, tmp_path, FYKE_COMPILE_AHEAD="1"))
    assert printed == ["1", "no child is left"], said
    assert said.splitlines() == [
        "Fyke compiles its kernels for this machine, which takes some seconds and is kept for the next time. "
        "Those of other queries are compiled in the background; fyke.warm_up() compiles all of them ahead."
    ]
    script = (
        "from fyke.engine.warm_up import ENTRIES; print(len(ENTRIES), all(e.is_on_disk() for e in ENTRIES))"
    )
    assert finished(start(script, tmp_path)) == ([f"{len(ENTRIES)} True"], "")


def test_one_process_compiles_in_the_background(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "writable_folder", lambda: tmp_path)
    script = """
    from pathlib import Path
    from fyke.engine.kernels import cache
    cache.writable_folder = lambda: Path.cwd()
    with cache.alone("ahead.lock") as alone:
        print(alone)
    """
    other = [sys.executable, "-c", textwrap.dedent(script)]
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with cache.alone("ahead.lock") as alone:
        assert alone
        assert subprocess.check_output(other, cwd=tmp_path, env=variables, text=True) == "False\n"
    assert subprocess.check_output(other, cwd=tmp_path, env=variables, text=True) == "True\n"


@pytest.mark.parametrize(
    "reason", ["switched off", "a worker of Spark", "an embedded interpreter", "no folder"]
)
def test_nothing_is_compiled_in_the_background(monkeypatch: pytest.MonkeyPatch, reason: str) -> None:
    monkeypatch.setenv("FYKE_COMPILE_AHEAD", "0" if reason == "switched off" else "1")
    if reason == "a worker of Spark":
        monkeypatch.setitem(sys.modules, "pyspark.worker", sys)
    elif reason == "an embedded interpreter":
        monkeypatch.setattr(sys, "executable", "/usr/bin/blender")
    elif reason == "no folder":
        monkeypatch.setattr(ahead, "writable_folder", lambda: None)
    monkeypatch.setattr(ahead.subprocess, "Popen", lambda *_, **__: pytest.fail(f"started: {reason}"))
    assert not ahead.compile_the_others.__wrapped__()


def test_kernels_for_workers_are_compiled_in_the_background_if_any_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started = []
    monkeypatch.setattr(warm_up, "compile_the_others", lambda: started.append(True))
    there, missing = (SimpleNamespace(compiled=False, is_on_disk=lambda x=x: x) for x in (True, False))
    monkeypatch.setattr(warm_up, "ENTRIES", [there])
    warm_up.compile_for_workers()
    assert started == []
    monkeypatch.setattr(warm_up, "ENTRIES", [there, missing])
    warm_up.compile_for_workers()
    assert started == [True]


# --- a bad cache ----------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", ["half", "empty", "altered", "foreign", "folder"])
def test_what_is_damaged_is_compiled_anew(tmp_path: Path, damage: str) -> None:
    use(tmp_path)
    (file,) = kernels(tmp_path)
    whole = file.read_bytes()
    if damage == "folder":
        file.unlink()
        file.mkdir()
    else:
        altered = bytearray(whole)
        altered[len(whole) // 2] ^= 1
        changed = {
            "half": whole[: len(whole) // 2],
            "empty": b"",
            "altered": altered,
            "foreign": b"\x80\x04K*.",
        }
        file.write_bytes(changed[damage])
    said = use(tmp_path)
    assert "compiled anew" in said
    assert str(file) in said
    if damage != "folder":  # nothing can be put in its place
        assert len(said.splitlines()) == 1
        assert use(tmp_path) == ""


def test_bytes_that_cannot_be_loaded_are_compiled_anew(tmp_path: Path) -> None:
    use(tmp_path)
    (file,) = kernels(tmp_path)
    cache._write(file, b"no pickle, but with the right checksum")
    assert "cannot be loaded" in use(tmp_path)
    assert use(tmp_path) == ""


def test_a_lock_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "fyke").mkdir()
    (tmp_path / "fyke" / "compile.lock").symlink_to(victim)
    use(tmp_path)
    assert victim.read_text() == "precious"
    assert len(kernels(tmp_path)) == 1


def test_a_kernel_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    use(tmp_path)
    (file,) = kernels(tmp_path)
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    assert f"cannot read {file}" in use(tmp_path)
    assert not file.is_symlink()


def test_kernels_go_to_a_private_temporary_folder_if_there_is_no_other(tmp_path: Path) -> None:
    nowhere = tmp_path / "file"
    nowhere.write_text("no folder can be here")
    said = use(nowhere, TMPDIR=str(tmp_path))
    (file,) = kernels(tmp_path)
    assert said.splitlines()[0] == (
        f"Fyke cannot write compiled kernels to {nowhere / 'fyke'}; they are kept in {file.parent}."
    )
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert len(use(nowhere, TMPDIR=str(tmp_path)).splitlines()) == 1  # it is found there again


def test_a_temporary_folder_of_someone_else_is_not_used(tmp_path: Path) -> None:
    nowhere, elsewhere = tmp_path / "file", tmp_path / "elsewhere"
    nowhere.write_text("")
    elsewhere.mkdir()
    (tmp_path / f"fyke-{os.getuid()}").symlink_to(elsewhere)
    use(nowhere, TMPDIR=str(tmp_path))
    assert kernels(elsewhere) == []
    (file,) = kernels(tmp_path)
    assert file.parent.name != f"fyke-{os.getuid()}"


def test_without_any_folder_kernels_are_compiled_and_forgotten(tmp_path: Path) -> None:
    before = """
    from fyke.engine.kernels import cache, jit
    cache._private_folder = lambda: None
    """
    nowhere = tmp_path / "file"
    nowhere.write_text("")
    said = use(nowhere, before)
    assert "every process compiles them anew. Let NUMBA_CACHE_DIR name a folder" in said


def test_importing_needs_no_home_and_no_folder(tmp_path: Path) -> None:
    nowhere = tmp_path / "file"
    nowhere.write_text("")
    lost = start("import fyke", nowhere, HOME="/nonexistent", TMPDIR=str(nowhere), XDG_CACHE_HOME=None)
    assert finished(lost) == ([], "")


def test_a_file_of_another_user_is_not_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "a.kernel"
    cache._write(file, b"payload")
    assert cache._read(file) == b"payload"
    theirs = os.stat_result((*file.stat()[:4], 54_321, *file.stat()[5:10]))
    monkeypatch.setattr(cache.os, "fstat", lambda _: theirs)
    with caplog.at_level(logging.WARNING, "fyke"):
        assert cache._read(file) is None
    assert caplog.messages == [
        f"{file} belongs to another user; Fyke does not load it and compiles that kernel anew."
    ]


def test_a_lock_that_cannot_be_had_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "compile.lock").mkdir()  # cannot be opened, as one of another user
    monkeypatch.setattr(cache, "writable_folder", lambda: tmp_path)
    with cache.compile_lock("a.kernel"), cache.compile_lock("a.kernel"):
        pass


@pytest.mark.parametrize("number", [errno.EACCES, errno.EAGAIN])  # POSIX allows both
def test_a_lock_that_another_has_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    tried = []

    def taken_twice(*_: object) -> None:
        tried.append(True)
        if len(tried) < 3:
            raise OSError(number, os.strerror(number))

    monkeypatch.setattr(cache, "writable_folder", lambda: tmp_path)
    monkeypatch.setattr(cache.fcntl, "lockf", taken_twice)
    with cache.alone("ahead.lock") as alone:
        assert not alone
    with cache.compile_lock("a.kernel"):
        assert len(tried) == 3


def test_where_there_are_no_locks_all_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(cache, "writable_folder", lambda: tmp_path)
    monkeypatch.setattr(cache.fcntl, "lockf", unsupported)
    with cache.compile_lock("a.kernel"), cache.alone("ahead.lock") as alone:
        assert alone


# --- kernels --------------------------------------------------------------------------------------


def test_everything_can_be_compiled_ahead_and_then_nothing_is_left_to_compile() -> None:
    script = """
    import pyarrow as pa, fyke
    from fyke.engine.kernels.jit import ENTRIES, seconds_compiling
    fyke.warm_up(progress=False)
    assert all(each.compiled for each in ENTRIES)
    ahead = seconds_compiling()
    table = pa.table({"t": [1, 2, 3], "kind": ["A", "B", "C"], "x": [1.0, None, 2.0], "s": ["u", "v", None]})
    for engine in ("automaton", "lazy_chain", "lazy_tree", "tree"):
        for output in ("all", "non_overlap", "compressed"):
            query = "PATTERN SEQ(A a, ~B b, C+ c[]) WHERE skip_till_any_match { c.x > a.x } WITHIN 9"
            fyke.match(table, query, time="t", type="kind", engine=engine, output=output)
    assert seconds_compiling() == ahead
    print(len(ENTRIES))
    """
    printed, _ = finished(start(textwrap.dedent(script), None))
    assert int(printed[-1]) == len(ENTRIES) > 30


@pytest.mark.parametrize(
    "module, reached",
    [
        ("automaton.breadth_first", True),
        ("automaton.runs", True),
        ("conditions.predicate", True),  # of another room, by way of others
        ("layout", True),
        ("lazy.layout", False),
        ("tree.layout", False),
    ],
)
def test_a_kernel_is_named_by_all_sources_that_it_reaches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, reached: bool
) -> None:
    kernel, changed = "fyke.engine.kernels.automaton.breadth_first", f"fyke.engine.kernels.{module}"
    digest, path_of = jit.digest_of_sources.__wrapped__, jit._path_of
    before = digest(kernel)
    (tmp_path / "changed.py").write_bytes(path_of(changed).read_bytes() + b"# changed")
    monkeypatch.setattr(
        jit, "_path_of", lambda name: tmp_path / "changed.py" if name == changed else path_of(name)
    )
    assert (digest(kernel) != before) == reached


def test_each_function_is_compiled_once(tmp_path: Path) -> None:
    """Constants, and the arenas of several engines, are no reason to compile a function again."""
    script = """
    from collections import Counter
    from fyke.engine.kernels import linking
    from fyke.engine.kernels.automaton.backtrack import run_backtrack
    from fyke.engine.kernels.automaton.breadth_first import run_automaton
    from fyke.engine.kernels.selection.absence import filter_absences
    compiled, compile_extra = Counter(), linking._Compiler.compile_extra
    def counted(self, function):
        compiled[f"{function.__module__}.{function.__name__}".removeprefix("fyke.engine.kernels.")] += 1
        return compile_extra(self, function)
    linking._Compiler.compile_extra = counted
    for kernel in (run_automaton, run_backtrack, filter_absences):
        kernel.compile(announced=True)
    print(len(compiled) > 100, [name for name, times in compiled.items() if times > 1])
    """
    printed, _ = finished(start(KERNELS_ONLY + textwrap.dedent(script), tmp_path))
    assert printed == ["True ['rows.copy_row']"]  # of integers, and of floats


@pytest.mark.parametrize("wrong", [np.arange(4.0), np.arange(8)[::2], np.arange(4).reshape(2, 2)])
def test_a_kernel_refuses_arrays_of_another_kind(wrong: np.ndarray) -> None:
    with pytest.raises(
        TypeError, match=r"input\.sorting\.is_identity: argument 0 is not contiguous int64 of 1"
    ):
        is_identity(wrong)


def test_compiling_is_timed() -> None:
    assert is_identity(np.arange(3))
    assert seconds_compiling() > 0


def test_an_index_out_of_bounds_is_an_error_where_bounds_are_checked(tmp_path: Path) -> None:
    script = """
    import numpy as np
    from fyke.engine.kernels.output.hashing import mark_rows
    for row in (3, -1):
        try:
            mark_rows(np.array([row]), np.zeros(3, bool))
        except IndexError as error:
            print(error)
    """
    printed, _ = finished(start(KERNELS_ONLY + textwrap.dedent(script), tmp_path, FYKE_BOUNDSCHECK="1"))
    assert printed == ["an index of an array is out of bounds"] * 2
