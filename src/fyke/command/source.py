"""The events that a command names: files that fit become a table, and Spark reads the rest."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fyke.call.files import bytes_of, common_format, found_files, read_files
from fyke.errors import InputError, OptionError
from fyke.spark.local import read_frame, start_quietly

_UNPACKED = {"parquet": 6, "ipc": 2, "csv": 2, "json": 2}  # bytes in memory for one in the file, about
_PACKED = 6
_SHARE = 4  # of the memory that is free, a fourth is for the events
_BY_TYPE = re.compile(r"([^\W\d]\w*)=(.+)", re.DOTALL)
OWN_FORMATS = ("parquet", "csv", "json", "ipc")


@dataclass(frozen=True, slots=True)
class Named:
    """Events by name: files, folders and globs; or a format that Spark reads, with its options.

    ``columns`` is a schema in Spark's words, for streams and Kafka.
    """

    paths: tuple[str, ...]
    format: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    columns: str | None = None

    def files(self) -> list[Path]:
        """Return the files and folders, which exist.

        Raises
        ------
        InputError
        """
        files: list[Path] = []
        for path in self.paths:
            found = found_files(path)
            if not found:
                raise InputError(f"there is no file {path!r}")
            files += found
        return files

    @property
    def for_spark(self) -> bool:
        """Whether only Spark can read them: they are of another format, or on another machine."""
        return self.format not in (None, *OWN_FORMATS) or any("://" in path for path in self.paths)

    def fits(self) -> bool:
        """Say whether the events fit into the memory of this machine, several times over."""
        files = self.files()
        factor = _UNPACKED[common_format(files)]
        if any(file.suffix in (".gz", ".bz2", ".zst") for file in files):
            factor *= _PACKED
        return bytes_of(files) * factor <= free_memory() / _SHARE


def free_memory() -> int:
    """Return the bytes of memory that a program may take here."""
    try:
        text = Path("/proc/meminfo").read_text()
        return int(re.search(r"MemAvailable:\s+(\d+)", text)[1]) * 1024  # type: ignore[index]
    except (OSError, TypeError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


def named_events(
    paths: Sequence[str],
    *,
    format: str | None = None,
    options: Mapping[str, str] | None = None,
    columns: str | None = None,
) -> dict[str, Named]:
    """Return the events of the arguments of a command, by type; under ``""`` if they are of all types.

    ``Login=logins.csv`` is a file of events of one type.
    """
    kinds: dict[str, list[str]] = {}
    for path in paths:
        typed = None if found_files(path) else _BY_TYPE.fullmatch(path)
        name, value = ("", path) if typed is None else typed.groups()
        kinds.setdefault(name, []).append(value)
    if "" in kinds and len(kinds) > 1:
        raise OptionError(
            f"either all events are named by their type, as in Login=logins.csv, or none: {kinds[''][0]!r}"
        )
    if not kinds and format is not None:
        kinds[""] = []
    return {
        name: Named(tuple(values), format, dict(options or {}), columns) for name, values in kinds.items()
    }


def on_spark(named: Mapping[str, Named], wanted: bool | None) -> bool:
    """Say whether Spark is to match: because it was asked for, or since nothing else can."""
    if any(each.for_spark for each in named.values()):
        return True
    return wanted if wanted is not None else not all(each.fits() for each in named.values())


def take_tables(named: Mapping[str, Named], *, rows: bool = True) -> Any:
    """Return events as a table, or as a dict of tables by type; without ``rows`` only the columns."""
    tables = {name: read_files(each.files(), rows=rows) for name, each in named.items()}
    return tables.get("", tables)


def as_spark_sees(path: str) -> str:
    """Return a path for Spark, which may have been started in another folder."""
    return path if "://" in path else str(Path(path).absolute())


def take_frames(
    named: Mapping[str, Named], settings: Mapping[str, str] | None = None, *, stream: bool = False
) -> Any:
    """Return events as a DataFrame, or as a dict of DataFrames by type; this starts Spark."""
    described: dict[str, tuple[str, list[str], Any]] = {}
    for name, each in named.items():  # what is wrong with files is told before Spark starts
        if each.for_spark:
            kind = each.format or common_format([Path(path) for path in each.paths])
            described[name] = (kind, [as_spark_sees(path) for path in each.paths], each.columns)
        else:
            files = each.files()
            kind = each.format or common_format(files)
            columns = each.columns or read_files(files, rows=False).schema
            seen = [as_spark_sees(str(file)) for file in files]
            described[name] = (kind, seen, columns if kind in ("csv", "json") or stream else each.columns)
    spark = start_quietly("fyke", settings)
    frames = {
        name: read_frame(spark, kind, paths, columns=columns, options=named[name].options, stream=stream)
        for name, (kind, paths, columns) in described.items()
    }
    return frames.get("", frames)
