"""Files of events to tables: one file, a folder, or all files that a glob names."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from fyke.errors import InputError, listed, shown

FORMATS = {
    "parquet": "parquet",
    "pq": "parquet",
    "csv": "csv",
    "json": "json",
    "jsonl": "json",
    "ndjson": "json",
    "arrow": "ipc",
    "feather": "ipc",
}
_GUESS = ": Invalid: "  # what Arrow writes between its guess at the format and the reason
_PACKED = ("gz", "bz2", "zst")


def found_files(name: str | os.PathLike[str]) -> list[Path]:
    """Return the file or the folder of a name, or what a glob such as ``logs/*.csv`` names; all exist."""
    if os.path.exists(name):
        return [Path(name)]
    text = os.fspath(name)
    return sorted(map(Path, glob.glob(text, recursive=True))) if glob.has_magic(text) else []


def read_files(paths: Sequence[Path], *, rows: bool = True) -> pa.Table:
    """Return the events of files and folders of one format; without ``rows``, only their columns.

    Raises
    ------
    InputError
        If they cannot be read.
    """
    known = common_format(paths)
    try:
        if known == "json" and paths[0].is_file() and (first := _json_rows(paths[0])) is not None:
            lists = [first, *(_json_rows(path) for path in paths[1:])]
            table = from_rows([row for each in lists for row in each or ()])
            return table if rows else table.slice(0, 0)
        files = [file for path in paths for file in _files(path)] if len(paths) > 1 else paths[0]
        events = ds.dataset(files, format=known, partitioning="hive")
        return events.to_table() if rows else events.schema.empty_table()
    except (pa.ArrowException, OSError, ValueError) as error:
        name = str(paths[0]) if len(paths) == 1 else listed(map(str, paths), most=3)
        why = first_line(error).rpartition(_GUESS)[2]
        raise InputError(f"{shown(name, 200)} cannot be read as {known}: {why}") from error


def common_format(paths: Sequence[Path]) -> str:
    """Return the format of all files, by how their names end.

    Raises
    ------
    InputError
        If there are none, or several formats, or one that nobody knows.
    """
    formats = {format_of(each) for path in paths for each in _files(path)}
    known = formats.pop() if len(formats) == 1 else None
    if known is None:
        raise InputError(
            f"Fyke cannot tell what is in {listed(repr(str(path)) for path in paths)}",
            remedy=f"It reads files, and folders of files, that end in {listed(FORMATS)}.",
        )
    return known


def bytes_of(paths: Sequence[Path]) -> int:
    """Return the size of all files."""
    return sum(file.stat().st_size for path in paths for file in _files(path))


def _files(path: Path) -> list[Path]:
    """Return the files of a folder, or the file itself; names that begin with . or _ hold no events."""
    if not path.is_dir():
        return [path]
    return sorted(each for each in path.rglob("*") if each.is_file() and each.name[0] not in "._")


def _json_rows(path: Path) -> list[Mapping[str, Any]] | None:
    """Return the rows of a file that is one list of objects; None if it has an object a line."""
    with path.open("rb") as file:
        if not file.read(64).lstrip().startswith(b"["):
            return None
    rows = json.loads(path.read_bytes())
    if not is_rows(rows):
        raise ValueError(f"it is {described(rows)}, and no list of objects")
    return list(rows)


def format_of(path: Path) -> str | None:
    """Return the format of a file by how its name ends."""
    parts = path.name.lower().split(".")[1:]
    if parts and parts[-1] in _PACKED:
        parts.pop()
    return FORMATS.get(parts[-1]) if parts else None


def is_rows(events: Sequence[Any]) -> bool:
    """Say whether something is a list of dicts, with at least one."""
    return len(events) > 0 and all(isinstance(row, Mapping) for row in events)


def from_rows(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return a table of dicts; one that lacks a key has null there, wherever it stands."""
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.table({name: [row.get(name) for row in rows] for name in names})


def described(events: object) -> str:
    """Return what something given as events is, for a message."""
    if isinstance(events, Mapping):
        kinds = sorted({type(each).__name__ for each in events.values()})
        return f"a dict of {', '.join(kinds)}" if kinds else "an empty dict"
    if isinstance(events, Sequence) and not isinstance(events, (str, bytes)):
        kinds = sorted({type(each).__name__ for each in events})
        kind = type(events).__name__
        return f"a {kind} of {', '.join(kinds[:3])}" if kinds else f"an empty {kind}"
    library = type(events).__module__.partition(".")[0]
    return shown(events) if library == "builtins" else f"a {library} {type(events).__name__}"


def first_line(error: Exception) -> str:
    """Return the first line of what an error says, or its name."""
    return (str(error).splitlines() or [type(error).__name__])[0]
